"""Comparison of measures with scikit-learn and shap: equality of the values, and cost.

    make bench-measures
    python benchmarks/measures.py --rounds 3

Gradient boosting on 20 columns, 2,000 examples, 200 background rows, one thread. First the permutation test and
scikit-learn's permutation_importance with the same number of repeats: model rows, seconds, and differences of values
in standard errors over repeats. Then mean absolute SHAP and the exact tree values of shap, if it is installed. Last,
mean loss SHAP and SAGE, which is its mean: model rows for the same tolerance. Times are minima over interleaved rounds.
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


class RowCounter(RegressorMixin, BaseEstimator):
    """A model that counts the rows it predicts."""

    def __init__(self, model: Any) -> None:
        self.model, self.rows, self.is_fitted_ = model, 0, True

    def fit(self, X: np.ndarray, y: np.ndarray) -> RowCounter:
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        self.rows += len(X)
        return np.asarray(self.model.predict(X))


@dataclass(frozen=True)
class FittedModels:
    """Examples, background rows, and two models."""

    X: np.ndarray
    y: np.ndarray
    background: np.ndarray
    trees: Any
    network: Any


def data(seed: int) -> FittedModels:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(EXAMPLES + BACKGROUND + FITTED, COLUMNS))
    y = X[:, :6] @ np.arange(6.0, 0.0, -1.0) + 2 * X[:, 6] * X[:, 7] + rng.normal(size=len(X))
    training = slice(EXAMPLES + BACKGROUND, None)
    trees = GradientBoostingRegressor(n_estimators=100, max_depth=4, random_state=seed).fit(X[training], y[training])
    network = MLPRegressor(hidden_layer_sizes=(64, 64), max_iter=200, early_stopping=True, random_state=seed).fit(
        X[training], y[training]
    )
    return FittedModels(X[:EXAMPLES], y[:EXAMPLES], X[EXAMPLES : EXAMPLES + BACKGROUND], trees, network)


def timed(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, tuple[float, Any]]:
    """Returns the minimal seconds of each call, made in turn, and the last result."""
    timings: dict[str, tuple[float, Any]] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            result = call()
            seconds = time.perf_counter() - begun
            timings[name] = (min(seconds, timings[name][0]) if name in timings else seconds, result)
    return timings


def permutation(of: FittedModels, rounds: int) -> None:
    print(f"\npermutation test, {REPEATS} repeats, {EXAMPLES:,} examples, {COLUMNS} columns")
    for name, model in (("gradient boosting", of.trees), ("network", of.network)):
        black_box, theirs = RowCounter(model), RowCounter(model)
        timings = timed(_shuffles(of, model, black_box, theirs), rounds)
        shuffled = timings["scikit-learn"][1]
        for who, (seconds, result) in timings.items():
            if who == "scikit-learn":
                values, error, rows = result.importances_mean, 0.0, theirs.rows // rounds
            else:
                values, error, rows = result.values, result.std_error, result.model_rows
            noise = np.hypot(error, shuffled.importances_std / np.sqrt(REPEATS))
            difference = np.abs(values - shuffled.importances_mean) / np.maximum(noise, 1e-12)
            ratio = timings["scikit-learn"][0] / seconds
            print(
                f"  {name:18} {who:24} {rows:9,} rows {seconds:7.2f} s, {ratio:5.1f} times as fast, "
                f"at most {difference.max():.1f} errors difference"
            )
        print(f"  {name:18} rows that a callable predicted: {black_box.rows // rounds:,}")


def _shuffles(of: FittedModels, model: Any, black_box: RowCounter, theirs: RowCounter) -> dict[str, Callable[[], Any]]:
    shared: dict[str, Any] = {"X": of.X, "y": of.y, "background": of.X, "repeats": REPEATS, "rng": 0}
    score = "neg_mean_squared_error"
    return {
        "clarysage": lambda: cs.permutation_test(model, **shared),
        "clarysage, any callable": lambda: cs.permutation_test(black_box.predict, **shared, loss="squared error"),
        "scikit-learn": lambda: permutation_importance(
            theirs, of.X, of.y, n_repeats=REPEATS, random_state=0, scoring=score
        ),
    }


def sizes(of: FittedModels, rounds: int) -> None:
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
    timings = timed(calls, rounds)
    ours = timings["clarysage"][1]
    off = np.abs(ours.values - timings["shap"][1]).max() / timings["shap"][1].max()
    for who in calls:
        print(f"  {who:24} {timings[who][0]:7.2f} s, {timings['shap'][0] / timings[who][0]:5.1f} times as fast")
    print(f"  largest difference {off:.2%} of the largest value; largest standard error {ours.std_error.max():.2g}")


def examples(of: FittedModels) -> None:
    print(f"\nmean loss SHAP and SAGE, {EXPLAINED} examples, {BACKGROUND} background rows, network")
    shared: dict[str, Any] = {"X": of.X[:EXPLAINED], "y": of.y[:EXPLAINED], "background": of.background, "rng": 0}
    combined, single = (measure(of.network.predict, **shared) for measure in (cs.sage, cs.mean_loss_shap))
    difference = np.abs(combined.values - single.values) / np.hypot(combined.std_error, single.std_error).clip(1e-12)
    for explanation in (combined, single):
        print(
            f"  {explanation.measure:24} {explanation.model_rows:11,} model rows, "
            f"largest error {explanation.std_error.max():.3g}"
        )
    ratio = single.model_rows / combined.model_rows
    print(f"  {ratio:.1f} times the rows; values differ by at most {difference.max():.1f} errors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with threadpool_limits(1):
        models = data(options.seed)
        permutation(models, options.rounds)
        sizes(models, options.rounds)
        examples(models)


if __name__ == "__main__":
    main()
