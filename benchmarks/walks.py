"""Walks per second of Algorithm 1: clarysage beside sage-importance, the same work, one process, one thread.

    make bench-walks

Both make the same number of walks (an example, an order of the features, the loss at every step, averaged over the
same background rows) for the same fitted model. Times are processor time, the minimum of several interleaved rounds.
"variance" is the ratio of the variances per walk, with its standard error: one, since both draw from the same
distribution. MNIST is read from the directory that CLARYSAGE_DATA names, and left out without it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import paper_tables
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.estimators import estimate

ROUNDS = 5
ENOUGH_WALKS = 32  # a round, for a ratio of variances
SEEDS = {"reference": 100, "clarysage": 200}


@dataclass(frozen=True)
class Case:
    """A fitted model, its examples, and how many walks to time."""

    name: str
    model: Any
    loss: str
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray
    walks: int


def main() -> None:
    print(f"{'case':<38}{'d':>4}{'m':>5}{'walks':>7}{'reference':>12}{'clarysage':>12}{'ratio':>8}   variance")
    with threadpool_limits(1):
        for make in (bike_xgboost, bike_lightgbm, bike_forest, bike_gradient_boosting, cancer_logistic, cancer_network,
                     digits_network, mnist_network):  # fmt: skip
            try:
                report(make())
            except paper_tables.MissingTableError as error:
                print(f"{make.__name__}: {error}")


def report(case: Case) -> None:
    """One line: milliseconds a walk of each, their ratio, and the ratio of variances per walk."""
    runs = {"reference": reference_run(case), "clarysage": our_run(case)}
    times: dict[str, list[float]] = {name: [] for name in runs}
    spreads: dict[str, list[np.ndarray]] = {name: [] for name in runs}
    for number in range(ROUNDS):
        for name, run in runs.items():
            begun = time.process_time()
            spreads[name].append(run(SEEDS[name] + number))
            times[name].append((time.process_time() - begun) / case.walks * 1e3)
    best = {name: min(taken) for name, taken in times.items()}
    d, m = case.X.shape[1], len(case.background)
    print(
        f"{case.name:<38}{d:>4}{m:>5}{case.walks:>7}{best['reference']:>9.3f} ms{best['clarysage']:>9.3f} ms"
        f"{best['reference'] / best['clarysage']:>7.1f}x   {variance(case, spreads)}",
        flush=True,
    )


def variance(case: Case, spreads: dict[str, list[np.ndarray]]) -> str:
    """The ratio of variances per walk and its standard error, in words."""
    if case.walks < ENOUGH_WALKS:
        return "too few walks"
    means = {name: np.mean(spread, axis=0) for name, spread in spreads.items()}
    used = means["reference"] > 0  # features that the model uses
    ratio = float(np.median(means["clarysage"][used] / means["reference"][used]))
    error = float(np.sqrt(2 * 2 / (ROUNDS * case.walks)) * kurtosis_allowance(case))
    return f"{ratio:.2f} +- {error:.2f}"


def reference_run(case: Case) -> Callable[[int], np.ndarray]:
    """Variances per walk by sage-importance's PermutationEstimator."""
    import sage

    imputer = sage.MarginalImputer(case.model, case.background)

    def run(seed: int) -> np.ndarray:
        estimator = sage.PermutationEstimator(
            imputer, "mse" if case.loss == "squared error" else case.loss, random_state=seed
        )
        found = estimator(
            case.X,
            case.y,
            batch_size=min(case.walks, 32),
            detect_convergence=False,
            n_permutations=case.walks,
            bar=False,
        )
        return np.asarray(found.std) ** 2 * case.walks

    return run


def our_run(case: Case) -> Callable[[int], np.ndarray]:
    """Variances per walk by our Algorithm 1; the ends of the game, N + m rows, are part of every run."""

    def run(seed: int) -> np.ndarray:
        f_S = cs.Marginal(case.background).restrict(cs.as_predictor(case.model), case.X)
        v = cs.PredictivePower.of(f_S, case.loss, case.X, case.y)
        rows = v.rows_spent + cs.Permutation().rows(v, case.walks)
        found = estimate(v, cs.Permutation(), stop=[cs.Budget(rows)], seed=seed)
        assert found.draws == case.walks
        return np.asarray(found.std_error[0] ** 2 * found.draws)

    return run


def kurtosis_allowance(case: Case) -> float:
    """Factor by which the heavy tails of gains widen the error of a sample variance, measured on a run of ours."""
    f_S = cs.Marginal(case.background).restrict(cs.as_predictor(case.model), case.X)
    v = cs.PredictivePower.of(f_S, case.loss, case.X, case.y)
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(v.n_players) for _ in range(case.walks)])
    gains = np.diff(v.walk(rng.integers(len(case.X), size=case.walks), orders, rng)[:, :, 0], axis=1)
    by_player = np.take_along_axis(gains, np.argsort(orders, axis=1), axis=1)
    by_player = by_player[:, by_player.std(axis=0) > 0]
    z = (by_player - by_player.mean(axis=0)) / by_player.std(axis=0)
    return float(np.median(np.sqrt(np.maximum((z**4).mean(axis=0) - 1, 0) / 2)))


def bike_sized(seed: int = 0, rows: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Twelve features like those of a bike demand table, and hourly counts that depend on them with interactions."""
    rng = np.random.default_rng(seed)
    hour, month, workingday = rng.integers(24, size=rows), rng.integers(1, 13, size=rows), rng.integers(2, size=rows)
    temperature = 15 - 12 * np.cos(month / 12 * 2 * np.pi) + rng.normal(scale=4, size=rows)
    X = np.column_stack([
        rng.integers(2011, 2013, size=rows), month, rng.integers(1, 20, size=rows), hour, (month - 1) // 3 + 1,
        rng.random(rows) < 0.03, workingday, rng.integers(1, 5, size=rows), temperature,
        temperature + rng.normal(size=rows), rng.uniform(20, 100, size=rows), rng.gamma(2, 6, size=rows),
    ]).astype(np.float64)  # fmt: skip
    rush = np.where(workingday == 1, np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17) ** 2) / 8), 0.5)
    y = 60 * (X[:, 0] - 2010) * (0.3 + rush) * (1 + temperature / 20) * (1.3 - X[:, 10] / 150)
    return X, y + rng.normal(scale=10, size=rows)


def bike_case(name: str, model: Any, walks: int) -> Case:
    X, y = bike_sized()
    model.fit(X[:4500], y[:4500])
    return Case(name, model, "squared error", X[4500:5500], y[4500:5500], X[:512], walks)


def bike_xgboost() -> Case:
    from xgboost import XGBRegressor

    return bike_case("bike-sized, XGBoost depth 10 x 50", XGBRegressor(max_depth=10, n_estimators=50, n_jobs=1), 256)


def bike_lightgbm() -> Case:
    from lightgbm import LGBMRegressor

    return bike_case("bike-sized, LightGBM 31 leaves x 200", LGBMRegressor(n_estimators=200, n_jobs=1, verbose=-1), 128)


def bike_forest() -> Case:
    from sklearn.ensemble import RandomForestRegressor

    return bike_case("bike-sized, random forest x 30", RandomForestRegressor(30, n_jobs=1, random_state=0), 96)


def bike_gradient_boosting() -> Case:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return bike_case("bike-sized, HistGradientBoosting x 100", HistGradientBoostingRegressor(random_state=0), 128)


def cancer(model: Any, name: str, walks: int) -> Case:
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    model.fit(X[:450], y[:450])
    background = np.vstack([X, X])[:512]
    return Case(name, model, "cross entropy", X[450:], y[450:], background, walks)


def cancer_logistic() -> Case:
    from sklearn.linear_model import LogisticRegression

    return cancer(LogisticRegression(), "breast cancer, logistic regression", 512)


def cancer_network() -> Case:
    from sklearn.neural_network import MLPClassifier

    network = MLPClassifier(hidden_layer_sizes=(32,), max_iter=400, random_state=0)
    return cancer(network, "breast cancer, network of 32 units", 128)


def digits_network() -> Case:
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    network = MLPClassifier(hidden_layer_sizes=(128, 64), max_iter=400, random_state=0).fit(X[:1200], y[:1200])
    return Case("digits, network of 128 and 64 units", network, "cross entropy", X[1200:], y[1200:], X[:512], 64)


def mnist_network() -> Case:
    """MNIST, trained for a few epochs; a walk of the reference takes ten seconds."""
    from sklearn.neural_network import MLPClassifier

    table, y = paper_tables.read("mnist")
    X = table.to_numpy(float) / 255
    network = MLPClassifier(hidden_layer_sizes=(256, 256), max_iter=3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it has not converged
        network.fit(X[:20_000], y[:20_000])
    return Case("MNIST, network of 256 and 256 units", network, "cross entropy", X[-1000:], y[-1000:], X[:512], 2)


if __name__ == "__main__":
    main()
