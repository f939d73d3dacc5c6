"""Permutation walks of Algorithm 1, ours and sage-importance's, with the same examples, orders and background rows.

    make bench-walks
    python benchmarks/walks.py --case "bike lightgbm" --case exact

Both walk the same examples in the same orders with all 512 background rows, in one process on one thread, and the
gains are compared entry by entry. "difference" is the largest difference as a share of the largest gain; XGBoost itself
sums in single precision. Times are processor time per walk, the minimum over interleaved rounds. "set-up" is the work
that is done once per run: reading the model, the decisions of the trees on the examples, tables of leaves, and
compilation on a new machine.

Then complete runs: the default call to a tolerance, and what sage-importance would need to reach the same; exact
values; and the first call in a process. Tables of the paper come from the directory that CLARYSAGE_DATA names, or are
downloaded (``experiments.data``). Where neither is possible their cases are skipped. ``--write`` stores the table in
docs/appendix/speed.md, if no case is skipped.
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

import games
import numpy as np
from doc_tables import ROOT, provenance, replace_block, table, table_row
from games import BenchmarkGame, bike, read_table, split_rows
from threadpoolctl import threadpool_limits

import clarysage as cs
from experiments.data import MissingDataError

PAGE = ROOT / "docs" / "appendix" / "speed.md"
COLUMNS = ("model", "features", "sage-importance, ms a walk", "clarysage", "times faster")
ROUNDS = 4
TOLERANCE, WALKS_OF_TRUTH, WALKS_TIMED = 0.01, 8192, 64


@dataclass(frozen=True)
class WalkCase:
    """A game, the number of walks to time, and by which factor our walk must be faster (0: no requirement)."""

    make: Callable[[], BenchmarkGame]
    walks: int
    required: float = 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", action="append", choices=[*CASES, *RUNS], help="only these")
    parser.add_argument("--write", action="store_true", help="store the table in docs/")
    options = parser.parse_args()
    if options.write and options.case:
        parser.error("--write stores all lines of the table: leave out --case")
    names = options.case or [*CASES, *RUNS]
    columns = ("reference", 13), ("clarysage", 13), ("ratio", 8), ("required", 10), ("difference", 12), ("set-up", 9)
    print(f"{'case':<44}{'d':>4}{'m':>5}" + "".join(f"{name:>{width}}" for name, width in columns))
    rows = []
    with threadpool_limits(1):
        for name in names:
            try:
                if name in CASES:
                    rows.append(report(CASES[name]))
                else:
                    RUNS[name]()
            except MissingDataError as error:
                if options.write:
                    raise
                print(f"{name}: {error}")
    if options.write:
        how = provenance("walks.py", 0)
        made = f"Made by `{how['command']}` at commit {how['commit']}."
        replace_block(PAGE, f"{made}\n\n{table(COLUMNS, map(table_row, rows))}", "walks")


def report(case: WalkCase) -> tuple[Any, ...]:
    """Prints milliseconds per walk of both libraries, their ratio, and the largest difference of the gains.

    Returns the line as a row of the table.
    """
    game = case.make()
    begun = time.process_time()
    v = predictive_power(game)
    our_gains(v, np.arange(2), draw_orders(2, v.n_players, 0))
    setup = time.process_time() - begun
    times: dict[str, list[float]] = {"reference": [], "clarysage": []}
    difference = 0.0
    for number in range(ROUNDS):
        examples = np.random.default_rng(number).integers(len(game.X), size=case.walks)
        begun = time.process_time()
        theirs = reference_gains(game, examples, number)
        between = time.process_time()
        ours = our_gains(v, examples, draw_orders(case.walks, v.n_players, number))
        times["reference"].append(between - begun)
        times["clarysage"].append(time.process_time() - between)
        difference = max(difference, float(np.abs(ours - theirs).max() / np.abs(theirs).max()))
    slow, fast = (min(seconds) / case.walks * 1e3 for seconds in times.values())
    ratio, required = slow / fast, f"{case.required:.0f}x" if case.required else "-"
    d, m = game.X.shape[1], len(game.background)
    print(
        f"{game.name:<44}{d:>4}{m:>5}{slow:>10.3f} ms{fast:>10.4f} ms{ratio:>7.1f}x{required:>10}"
        f"{difference:>12.1e}{setup:>7.2f} s{'' if ratio >= case.required else '  below the requirement'}",
        flush=True,
    )
    return game.name, d, f"{slow:,.3g}", f"{fast:.2g}", f"{ratio:.3g}"


def predictive_power(game: BenchmarkGame) -> cs.PredictivePower:
    """Returns v_f of a game, with withheld features drawn from its background."""
    f_S = cs.Marginal(game.background).restrict(cs.as_predictor(game.model), game.X)
    return cs.PredictivePower.of(f_S, game.loss, game.X, game.y)


def default_run() -> None:
    """Times the default call to a tolerance, and predicts sage-importance's time to the same from its time per walk."""
    game = games.bike_xgboost()
    v = predictive_power(game)
    rng = np.random.default_rng(0)
    gains = our_gains(v, rng.integers(len(game.X), size=WALKS_OF_TRUTH), draw_orders(WALKS_OF_TRUTH, v.n_players, 0))
    gap = np.ptp(gains.mean(axis=0))
    needed = float(gains.var(axis=0, ddof=1).max() / (TOLERANCE * gap) ** 2)
    theirs, ours = [], []
    for number in range(ROUNDS):
        begun = time.process_time()
        reference_gains(game, rng.integers(len(game.X), size=WALKS_TIMED), number)
        between = time.process_time()
        explanation = cs.sage(game.model, game.X, game.y, background=game.background, tolerance=TOLERANCE, rng=number)
        theirs.append((between - begun) / WALKS_TIMED * needed)
        ours.append(time.process_time() - between)
    error = gains.std(axis=0) / np.sqrt(len(gains))
    off = np.abs(np.asarray(explanation.values) - gains.mean(axis=0))[error > 0] / error[error > 0]
    slow, fast = min(theirs), min(ours)
    print(
        f"\n{game.name}, default call to tolerance {TOLERANCE:g}: {fast:.2f} s ({explanation.method}, "
        f"{explanation.draws:,} pairs);"
        f"\n    sage-importance {slow:.0f} s ({needed:,.0f} walks of {slow / needed * 1e3:.2f} ms); "
        f"{slow / fast:.0f} times faster, required 500;"
        f"\n    values differ by at most {off.max():.1f} standard errors of {len(gains):,} walks"
    )


def exact_run() -> None:
    """Times the exact values of a model of shallow trees with 200 features."""
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
    seconds = time.process_time() - begun
    print(
        f"\nd = 200, depth 3 x 100, 2,000 rows, squared error: exact values in {min(times):.2f} s, required 2 s; their "
        f"sum differs from the total by {abs(values.sum() - total) / total:.0e} of it; with intervals for populations "
        f"{seconds:.2f} s"
    )


def first_run() -> None:
    """Times the first call in a process minus the second, with kernels to compile and with kernels from the cache."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
        times = [
            float(
                subprocess.run([sys.executable, "-c", FIRST], env=environment, capture_output=True, check=True).stdout
            )
            for _ in range(3)
        ]
    print(
        f"\nThe first call takes {times[0]:.1f} s more than the second when it compiles kernels, required 10 s; "
        f"{min(times[1:]):.1f} s more when they are cached, required 1.5 s"
    )


FIRST = """
import time, numpy as np, clarysage as cs
from sklearn.ensemble import GradientBoostingRegressor
X = np.random.default_rng(0).normal(size=(400, 16))
y = X[:, 0] * X[:, 1] + X[:, 2]
model = GradientBoostingRegressor(max_depth=5).fit(X, y)
seconds = []
for number in range(2):
    begun = time.perf_counter()
    cs.sage(model, X, y, rng=0)
    seconds.append(time.perf_counter() - begun)
print(seconds[0] - seconds[1])
"""


def draw_orders(walks: int, players: int, seed: int) -> np.ndarray:
    """Draws permutations (walks, players) as sage-importance does."""
    rng = np.random.default_rng(seed)
    orders = np.tile(np.arange(players), (walks, 1))
    for order in orders:
        rng.shuffle(order)
    return orders


def reference_gains(game: BenchmarkGame, examples: np.ndarray, seed: int) -> np.ndarray:
    """Returns by how much each feature (n, d) reduces the loss along walks of sage-importance."""
    import sage

    imputer = sage.MarginalImputer(game.model, game.background)
    loss = "mse" if game.loss == "squared error" else game.loss
    estimator = sage.PermutationEstimator(imputer, loss)
    estimator.rng = np.random.default_rng(seed)
    d = game.X.shape[1]
    gains, _ = estimator._process_sample(game.X[examples], game.y[examples], d, 0, d)
    return np.asarray(gains)


def our_gains(v: Any, examples: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Returns the gains (n, d) along our walks: v(S) grows by as much as the loss falls."""
    steps = np.diff(v.walk(examples, orders, np.random.default_rng(0))[:, :, 0], axis=1)
    gains = np.empty_like(steps)
    np.put_along_axis(gains, orders, steps, axis=1)
    return gains


def bike_lightgbm() -> BenchmarkGame:
    from lightgbm import LGBMRegressor

    return bike("bike, LightGBM 31 leaves x 200", LGBMRegressor(n_estimators=200, n_jobs=1, verbose=-1))


def bike_xgboost() -> BenchmarkGame:
    from xgboost import XGBRegressor

    return bike("bike, XGBoost depth 6 x 200", XGBRegressor(max_depth=6, n_estimators=200, n_jobs=1))


def bank_classifier() -> BenchmarkGame:
    """The bank table, with categories as numbers."""
    from xgboost import XGBClassifier

    table, y = read_table("bank")
    numbers = table.apply(lambda column: column if column.dtype.kind in "iuf" else column.astype("category").cat.codes)
    X_train, y_train, _, _, X, y = split_rows(numbers.to_numpy(float), np.asarray(y), random_state=123)
    y_train, y = (np.unique(part, return_inverse=True)[1] for part in (y_train, y))
    model = XGBClassifier(max_depth=6, n_estimators=200, n_jobs=1).fit(X_train, y_train)
    return BenchmarkGame("bank, XGBoost classifier depth 6 x 200", model, "cross entropy", X, y, X_train[:512])


def cancer_logistic() -> BenchmarkGame:
    from sklearn.datasets import load_breast_cancer
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LogisticRegression().fit(X, y)
    return BenchmarkGame("breast cancer, logistic regression", model, "cross entropy", X, y, np.vstack([X, X])[:512])


def bike_catboost() -> BenchmarkGame:
    from catboost import CatBoostRegressor

    options = {"iterations": 500, "depth": 6, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    return bike("bike, CatBoost depth 6 x 500", CatBoostRegressor(**options))


def bike_forest() -> BenchmarkGame:
    from sklearn.ensemble import RandomForestRegressor

    return bike("bike, random forest x 30", RandomForestRegressor(30, n_jobs=1, random_state=0))


def digits_network() -> BenchmarkGame:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    network = MLPClassifier(hidden_layer_sizes=(128, 64), max_iter=400, random_state=0).fit(X[:1200], y[:1200])
    return BenchmarkGame("digits, network 64-128-64-10", network, "cross entropy", X[1200:], y[1200:], X[:512])


def mnist_network() -> BenchmarkGame:
    """MNIST after a few epochs of training; a walk of the reference takes seconds."""
    from sklearn.neural_network import MLPClassifier

    table, y = read_table("mnist")
    X = table.to_numpy(float) / 255
    network = MLPClassifier(hidden_layer_sizes=(256, 256), max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ConvergenceWarning
        network.fit(X[:20_000], y[:20_000])
    return BenchmarkGame("MNIST, network 784-256-256-10", network, "cross entropy", X[-1000:], y[-1000:], X[:512])


def wide_classifier() -> BenchmarkGame:
    """A simulated problem with 200 columns."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 200))
    y = (X[:, :20].sum(axis=1) + 2 * X[:, 20] * X[:, 21] + rng.normal(size=6000) > 0).astype(int)
    model = LGBMClassifier(n_estimators=200, n_jobs=1, verbose=-1).fit(X[:4000], y[:4000])
    return BenchmarkGame(
        "simulated, LightGBM classifier 31 leaves x 200", model, "cross entropy", X[4000:], y[4000:], X[:512]
    )


CASES = {
    "bike lightgbm": WalkCase(bike_lightgbm, 32, 100),
    "bike xgboost": WalkCase(bike_xgboost, 48, 30),
    "bike deep": WalkCase(games.bike_xgboost, 64),
    "bike catboost": WalkCase(bike_catboost, 128),
    "bike forest": WalkCase(bike_forest, 32),
    "bank": WalkCase(bank_classifier, 32, 20),
    "logistic": WalkCase(cancer_logistic, 256, 30),
    "wide": WalkCase(wide_classifier, 4, 200),
    "digits": WalkCase(digits_network, 16, 2),
    "mnist": WalkCase(mnist_network, 1, 8),
}
RUNS = {"whole run": default_run, "exact": exact_run, "first run": first_run}


if __name__ == "__main__":
    main()
