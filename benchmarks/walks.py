"""Walks of Algorithm 1 beside sage-importance: the same rows, orders and background, one process, one thread.

    make bench-walks
    python benchmarks/walks.py --case "bike lightgbm" --case exact

Both walk the same examples in the same orders with all 512 background rows; scores are compared entry by entry.
"apart" is the largest difference as a share of the largest score: XGBoost itself adds up in single precision. Times are
processor time a walk, the minimum of interleaved rounds. What is done once a run (reading the model, decisions on the
examples, tables of leaves, compiling on a new machine) is listed apart, as "set-up". Then whole runs: the default call
to a tolerance beside what sage-importance would take to the same, exact values, and the first call in a process. Tables
of the paper come from the directory that CLARYSAGE_DATA names, or are downloaded (``clarysage.datasets``); where
neither is possible their cases are left out.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import paper_tables
from games import Case
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.errors import MissingDataError

ROUNDS = 4
TOLERANCE, WALKS_TO_JUDGE_BY, WALKS_TIMED = 0.01, 8192, 64


@dataclass(frozen=True)
class Bar:
    """A case, the number of walks to time, and by how many times a walk is to be faster, where that is asked for."""

    make: Callable[[], Case]
    walks: int
    least: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=[*BARS, *RUNS], help="only these")
    wanted = parser.parse_args().case or [*BARS, *RUNS]
    columns = ("reference", 13), ("clarysage", 13), ("ratio", 8), ("wanted", 8), ("apart", 10), ("set-up", 9)
    print(f"{'case':<44}{'d':>4}{'m':>5}" + "".join(f"{name:>{width}}" for name, width in columns))
    with threadpool_limits(1):
        for name in wanted:
            try:
                report(BARS[name]) if name in BARS else RUNS[name]()
            except MissingDataError as error:
                print(f"{name}: {error}")


def report(bar: Bar) -> None:
    """One line: milliseconds a walk of each, their ratio, and how far apart scores are."""
    case = bar.make()
    begun = time.process_time()
    f_S = cs.Marginal(case.background).restrict(cs.as_predictor(case.model), case.X)
    v = cs.PredictivePower.of(f_S, case.loss, case.X, case.y)
    ours(v, np.arange(2), orders_of(2, v.n_players, 0))
    setup = time.process_time() - begun
    times: dict[str, list[float]] = {"reference": [], "clarysage": []}
    apart = 0.0
    for number in range(ROUNDS):
        examples = np.random.default_rng(number).integers(len(case.X), size=bar.walks)
        begun = time.process_time()
        theirs = reference(case, examples, number)
        between = time.process_time()
        scores = ours(v, examples, orders_of(bar.walks, v.n_players, number))
        times["reference"].append(between - begun)
        times["clarysage"].append(time.process_time() - between)
        apart = max(apart, float(np.abs(scores - theirs).max() / np.abs(theirs).max()))
    slow, fast = (min(taken) / bar.walks * 1e3 for taken in times.values())
    ratio, wanted = slow / fast, f"{bar.least:.0f}x" if bar.least else "-"
    d, m = case.X.shape[1], len(case.background)
    print(
        f"{case.name:<44}{d:>4}{m:>5}{slow:>10.3f} ms{fast:>10.4f} ms{ratio:>7.1f}x{wanted:>8}"
        f"{apart:>10.1e}{setup:>7.2f} s{'' if ratio >= bar.least else '  below the bar'}",
        flush=True,
    )


def whole_run() -> None:
    """The default call, to a tolerance, beside what sage-importance would take to the same, from its time a walk."""
    case = bike_deep()
    f_S = cs.Marginal(case.background).restrict(cs.as_predictor(case.model), case.X)
    v = cs.PredictivePower.of(f_S, case.loss, case.X, case.y)
    rng = np.random.default_rng(0)
    scores = ours(v, rng.integers(len(case.X), size=WALKS_TO_JUDGE_BY), orders_of(WALKS_TO_JUDGE_BY, v.n_players, 0))
    gap = np.ptp(scores.mean(axis=0))
    needed = float(scores.var(axis=0, ddof=1).max() / (TOLERANCE * gap) ** 2)
    theirs, mine = [], []
    for number in range(ROUNDS):
        begun = time.process_time()
        reference(case, rng.integers(len(case.X), size=WALKS_TIMED), number)
        between = time.process_time()
        found = cs.sage(case.model, case.X, case.y, background=case.background, tolerance=TOLERANCE, rng=number)
        theirs.append((between - begun) / WALKS_TIMED * needed)
        mine.append(time.process_time() - between)
    error = scores.std(axis=0) / np.sqrt(len(scores))
    off = np.abs(np.asarray(found.values) - scores.mean(axis=0))[error > 0] / error[error > 0]
    slow, fast = min(theirs), min(mine)
    print(
        f"\n{case.name}, default call to tolerance {TOLERANCE:g}: {fast:.2f} s ({found.method}, {found.draws:,} pairs);"
        f"\n    sage-importance {slow:.0f} s ({needed:,.0f} walks at {slow / needed * 1e3:.2f} ms); "
        f"{slow / fast:.0f} times less, 500 wanted;"
        f"\n    values differ by at most {off.max():.1f} standard errors of {len(scores):,} walks"
    )


def exact_run() -> None:
    """Exact values of a wide model of shallow trees."""
    from lightgbm import LGBMRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 200))
    y = X[:, :30].sum(axis=1) + 2 * X[:, 30] * X[:, 31] + rng.normal(size=6000)
    model = LGBMRegressor(max_depth=3, n_estimators=100, n_jobs=1, verbose=-1).fit(X[:4000], y[:4000])
    times = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        f_S = cs.Marginal(X[:512]).restrict(cs.as_predictor(model), X[4000:])
        v = cs.PredictivePower.of(f_S, "squared error", X[4000:], y[4000:])
        values = v.closed_form.solve(np.arange(2000)).values[0]
        times.append(time.process_time() - begun)
    total = float((v.weights @ (v.ends[1] - v.ends[0]))[0])
    begun = time.process_time()
    cs.sage(model, X[4000:], y[4000:], background=X[:512], rng=0)
    whole = time.process_time() - begun
    print(
        f"\nd = 200, depth 3 x 100, 2,000 rows, squared error: exact values in {min(times):.2f} s, 2 s wanted; they "
        f"add up to the total but for {abs(values.sum() - total) / total:.0e} of it; with intervals about populations "
        f"{whole:.2f} s"
    )


def first_run() -> None:
    """What the first call in a process takes beyond the second: when kernels are compiled, and when they are kept."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        times = [
            float(
                subprocess.run([sys.executable, "-c", FIRST], env=environment, capture_output=True, check=True).stdout
            )
            for _ in range(3)
        ]
    print(
        f"\nThe first call takes {times[0]:.1f} s more than the second where kernels are compiled, 10 s wanted; "
        f"{min(times[1:]):.1f} s where they were kept, 1.5 s wanted"
    )


FIRST = """
import time, numpy as np, clarysage as cs
from sklearn.ensemble import GradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(400, 16))
y = X[:, 0] * X[:, 1] + X[:, 2]
model = GradientBoostingRegressor(max_depth=5).fit(X, y)
taken = []
for number in range(2):
    begun = time.perf_counter()
    cs.sage(model, X, y, rng=0)
    taken.append(time.perf_counter() - begun)
print(taken[0] - taken[1])
"""


def orders_of(walks: int, players: int, seed: int) -> np.ndarray:
    """Orders as sage-importance draws them."""
    rng = np.random.default_rng(seed)
    orders = np.tile(np.arange(players), (walks, 1))
    for order in orders:
        rng.shuffle(order)
    return orders


def reference(case: Case, examples: np.ndarray, seed: int) -> np.ndarray:
    """Scores (n, d) of walks by sage-importance."""
    import sage

    imputer = sage.MarginalImputer(case.model, case.background)
    loss = "mse" if case.loss == "squared error" else case.loss
    estimator = sage.PermutationEstimator(imputer, loss)
    estimator.rng = np.random.default_rng(seed)
    d = case.X.shape[1]
    scores, _ = estimator._process_sample(case.X[examples], case.y[examples], d, 0, d)
    return np.asarray(scores)


def ours(v: Any, examples: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """The same by our walk: v(S) grows by what a loss falls."""
    gains = np.diff(v.walk(examples, orders, np.random.default_rng(0))[:, :, 0], axis=1)
    scores = np.empty_like(gains)
    np.put_along_axis(scores, orders, gains, axis=1)
    return scores


def bike(name: str, model: Any) -> Case:
    table, y = paper_tables.read("bike")
    X_train, y_train, _, _, X, y = paper_tables.split(table.to_numpy(float), y.astype(float), random_state=123)
    return Case(name, model.fit(X_train, y_train), "squared error", X, y, X_train[:512])


def bike_lightgbm() -> Case:
    from lightgbm import LGBMRegressor

    return bike("bike, LightGBM 31 leaves x 200", LGBMRegressor(n_estimators=200, n_jobs=1, verbose=-1))


def bike_xgboost() -> Case:
    from xgboost import XGBRegressor

    return bike("bike, XGBoost depth 6 x 200", XGBRegressor(max_depth=6, n_estimators=200, n_jobs=1))


def bike_deep() -> Case:
    from xgboost import XGBRegressor

    return bike("bike, XGBoost depth 10 x 50", XGBRegressor(max_depth=10, n_estimators=50, n_jobs=1))


def bank_classifier() -> Case:
    """The bank's calls with numbers for categories."""
    from xgboost import XGBClassifier

    table, y = paper_tables.read("bank")
    numbers = table.apply(lambda column: column if column.dtype.kind in "iuf" else column.astype("category").cat.codes)
    X_train, y_train, _, _, X, y = paper_tables.split(numbers.to_numpy(float), np.asarray(y), random_state=123)
    y_train, y = (np.unique(part, return_inverse=True)[1] for part in (y_train, y))
    model = XGBClassifier(max_depth=6, n_estimators=200, n_jobs=1).fit(X_train, y_train)
    return Case("bank, XGBoost classifier depth 6 x 200", model, "cross entropy", X, y, X_train[:512])


def cancer_logistic() -> Case:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, y)
    return Case("breast cancer, logistic regression", model, "cross entropy", X, y, np.vstack([X, X])[:512])


def bike_catboost() -> Case:
    from catboost import CatBoostRegressor

    options = {"iterations": 500, "depth": 6, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return bike("bike, CatBoost depth 6 x 500", CatBoostRegressor(**options))


def bike_forest() -> Case:
    from sklearn.ensemble import RandomForestRegressor

    return bike("bike, random forest x 30", RandomForestRegressor(30, n_jobs=1, random_state=0))


def digits_network() -> Case:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    network = MLPClassifier(hidden_layer_sizes=(128, 64), max_iter=400, random_state=0).fit(X[:1200], y[:1200])
    return Case("digits, network 64-128-64-10", network, "cross entropy", X[1200:], y[1200:], X[:512])


def mnist_network() -> Case:
    """MNIST, trained for a few epochs; a walk of the reference takes seconds."""
    from sklearn.neural_network import MLPClassifier

    table, y = paper_tables.read("mnist")
    X = table.to_numpy(float) / 255
    network = MLPClassifier(hidden_layer_sizes=(256, 256), max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        network.fit(X[:20_000], y[:20_000])
    return Case("MNIST, network 784-256-256-10", network, "cross entropy", X[-1000:], y[-1000:], X[:512])


def wide_classifier() -> Case:
    """A made-up problem of 200 columns."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 200))
    y = (X[:, :20].sum(axis=1) + 2 * X[:, 20] * X[:, 21] + rng.normal(size=6000) > 0).astype(int)
    model = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1).fit(X[:4000], y[:4000])
    return Case("made up, LightGBM classifier 31 leaves x 200", model, "cross entropy", X[4000:], y[4000:], X[:512])


BARS = {
    "bike lightgbm": Bar(bike_lightgbm, 32, 100),
    "bike xgboost": Bar(bike_xgboost, 48, 30),
    "bike deep": Bar(bike_deep, 64),
    "bike catboost": Bar(bike_catboost, 128),
    "bike forest": Bar(bike_forest, 32),
    "bank": Bar(bank_classifier, 32, 20),
    "logistic": Bar(cancer_logistic, 256, 30),
    "wide": Bar(wide_classifier, 4, 200),
    "digits": Bar(digits_network, 16, 2),
    "mnist": Bar(mnist_network, 1, 8),
}
RUNS = {"whole run": whole_run, "exact": exact_run, "first run": first_run}


if __name__ == "__main__":
    main()
