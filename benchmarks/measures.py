"""Measures beside the libraries that have them: the same numbers, and what they cost.

    make bench-measures
    python benchmarks/measures.py --rounds 3

Gradient boosting on 20 columns, 2,000 examples, 200 background rows, one thread. The permutation test beside
scikit-learn's permutation_importance, as many repeats each: model rows, seconds, and how far values are apart in
standard errors over repeats. Mean absolute SHAP beside the exact tree values of shap, where that is installed. Last,
mean loss SHAP beside SAGE, which is its mean: model rows for the same tolerance. Times are the minimum of interleaved
rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.neural_network import MLPRegressor
from threadpoolctl import threadpool_limits

import clarysage as cs

COLUMNS, EXAMPLES, BACKGROUND, FITTED = 20, 2000, 200, 2000
REPEATS = 10
EXPLAINED = 200  # examples for SHAP values of single ones


class Counted(RegressorMixin, BaseEstimator):
    """A model that counts the rows it is asked for."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows, self.is_fitted_ = model, 0, True

    def fit(self, X: np.ndarray, y: np.ndarray) -> Counted:
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        return np.asarray(self.model.predict(X))


@dataclass(frozen=True)
class Data:
    """Rows to judge by, background rows, and models of them."""

    X: np.ndarray
    y: np.ndarray
    background: np.ndarray
    trees: Any
    network: Any


def data(seed: int) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EXAMPLES + BACKGROUND + FITTED, COLUMNS))
    y = X[:, :6] @ np.arange(6.0, 0.0, -1.0) + 2 * X[:, 6] * X[:, 7] + rng.normal(size=len(X))
    told = slice(EXAMPLES + BACKGROUND, None)
    trees = GradientBoostingRegressor(n_estimators=100, max_depth=4, random_state=seed).fit(X[told], y[told])
    network = MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=200, early_stopping=True, random_state=seed).fit(
        X[told], y[told]
    )
    return Data(X[:EXAMPLES], y[:EXAMPLES], X[EXAMPLES : EXAMPLES + BACKGROUND], trees, network)


def timed(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, Any]]:
    """Least seconds of each of the calls, made in turn, and what the last gave."""
    found: dict[str, tuple[float, Any]] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - begun
            found[name] = (min(seconds, found[name][0]) if name in found else seconds, result)
    return found


def permutation(of: Data, rounds: int) -> None:
    print(f"\npermutation test, {REPEATS} repeats, {EXAMPLES:,} examples, {COLUMNS} columns")
    for name, model in (("gradient boosting", of.trees), ("network", of.network)):
        black_box, theirs = Counted(model), Counted(model)
        found = timed(_shuffles(of, model, black_box, theirs), rounds)
        shuffled = found["scikit-learn"][1]
        for who, (seconds, result) in found.items():
            if who == "scikit-learn":
                values, error, rows = result.importances_mean, 0.0, theirs.rows // rounds
            else:
                values, error, rows = result.values, result.std_error, result.model_rows
            noise = np.hypot(error, shuffled.importances_std / np.sqrt(REPEATS))
            apart = np.abs(values - shuffled.importances_mean) / np.maximum(noise, 1e-12)
            ratio = found["scikit-learn"][0] / seconds
            print(
                f"  {name:18} {who:24} {rows:9,} rows {seconds:7.2f} s, {ratio:5.1f} times as fast, "
                f"at most {apart.max():.1f} errors apart"
            )
        print(f"  {name:18} rows that a callable was asked for: {black_box.rows // rounds:,}")


def _shuffles(of: Data, model: Any, black_box: Counted, theirs: Counted) -> dict[str, Callable[[], Any]]:
    shared: dict[str, Any] = {"X": of.X, "y": of.y, "background": of.X, "repeats": REPEATS, "rng": 0}
    score = "neg_mean_squared_error"
    return {
        "clarysage": lambda: cs.permutation_test(model, **shared),
        "clarysage, any callable": lambda: cs.permutation_test(black_box.predict, **shared, loss="squared error"),
        "scikit-learn": lambda: permutation_importance(
            theirs, of.X, of.y, n_repeats=REPEATS, random_state=0, scoring=score
        ),
    }


def sizes(of: Data, rounds: int) -> None:
    try:
        import shap
    except ImportError:
        print("\nmean absolute SHAP: shap is not installed")
        return
    print(f"\nmean absolute SHAP, {EXPLAINED} examples, {BACKGROUND} background rows, gradient boosting")
    X = of.X[:EXPLAINED]

    def theirs() -> np.ndarray:
        masker = shap.maskers.Independent(of.background, max_samples=BACKGROUND)
        explainer = shap.TreeExplainer(of.trees, masker, feature_perturbation="interventional")
        return np.abs(explainer.shap_values(X)).mean(axis=0)

    calls: dict[str, Callable[[], Any]] = {
        "clarysage": lambda: cs.mean_absolute_shap(of.trees, X, background=of.background, backend="own", rng=0),
        "shap": theirs,
    }
    found = timed(calls, rounds)
    ours = found["clarysage"][1]
    off = np.abs(ours.values - found["shap"][1]).max() / found["shap"][1].max()
    for who in calls:
        print(f"  {who:24} {found[who][0]:7.2f} s, {found['shap'][0] / found[who][0]:5.1f} times as fast")
    print(f"  values at most {off:.2%} of the largest apart; largest standard error {ours.std_error.max():.2g}")


def examples(of: Data) -> None:
    print(f"\nmean loss SHAP beside SAGE, {EXPLAINED} examples, {BACKGROUND} background rows, network")
    shared: dict[str, Any] = {"X": of.X[:EXPLAINED], "y": of.y[:EXPLAINED], "background": of.background, "rng": 0}
    whole, single = (measure(of.network.predict, **shared) for measure in (cs.sage, cs.mean_loss_shap))
    apart = np.abs(whole.values - single.values) / np.hypot(whole.std_error, single.std_error).clip(1e-12)
    for one in (whole, single):
        print(f"  {one.measure:24} {one.model_rows:11,} model rows, largest error {one.std_error.max():.3g}")
    print(f"  {single.model_rows / whole.model_rows:.1f} times the rows; values at most {apart.max():.1f} errors apart")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with threadpool_limits(1):
        found = data(given.seed)
        permutation(found, given.rounds)
        sizes(found, given.rounds)
        examples(found)


if __name__ == "__main__":
    main()
