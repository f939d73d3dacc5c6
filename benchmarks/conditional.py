"""Cost of conditional removals in seconds per model row, compared with marginal removal and with shapiq.

    make bench-conditional
    python benchmarks/conditional.py --rounds 8

Twelve correlated columns, 1,000 examples, 128 draws; walks with all draws and with subsamples of them, one thread.
Seconds per model row include the model: a linear function, so that the cost of the removal is visible, and gradient
boosting, as a realistic case. Times are minima over interleaved rounds. Then complete walks of the boosted model, of
eleven coalitions, for which a surrogate needs one row per coalition, and complete runs. Last, E[f | x_S] of the linear
function by our removals and by shapiq's imputers, if shapiq is installed: errors relative to the closed form, in
standard errors of the draws, and seconds per model row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

import clarysage as cs

COLUMNS, EXAMPLES, DRAWS, BACKGROUND = 12, 1000, 128, 2000
WALKS, COMPARED = 64, 24
LIMITS = {"gaussian": 3.0}  # largest cost per model row relative to marginal removal
NOISE = 0.5  # of the response


@dataclass(frozen=True)
class CorrelatedProblem:
    """Rows of correlated columns, and a model of them."""

    name: str
    covariance: np.ndarray
    slopes: np.ndarray
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray
    model: Callable[[np.ndarray], np.ndarray]

    def restricted(self, removal: str) -> Any:
        made = {
            "marginal": lambda: cs.Marginal(self.background[:DRAWS]),
            "gaussian": lambda: cs.Gaussian(self.background, draws=DRAWS),
            "copula": lambda: cs.Copula(self.background, draws=DRAWS),
            "surrogate": lambda: cs.Surrogate(self.background),
        }
        return made[removal]().restrict(self.model, self.X)


def problems(seed: int) -> list[CorrelatedProblem]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(COLUMNS, COLUMNS)) / np.sqrt(COLUMNS) + np.eye(COLUMNS)
    slopes = rng.normal(size=COLUMNS)
    X, B = (rng.normal(size=(n, COLUMNS)) @ root.T for n in (EXAMPLES, BACKGROUND))
    y = X @ slopes + X[:, 0] * X[:, 1] + NOISE * rng.normal(size=EXAMPLES)
    learned = HistGradientBoostingRegressor(random_state=0).fit(B, B @ slopes + B[:, 0] * B[:, 1])
    data = (root @ root.T, slopes, X, y, B)
    return [
        CorrelatedProblem("linear function", *data, lambda X: X @ slopes),
        CorrelatedProblem("gradient boosting", *data, lambda X: learned.predict(X)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with threadpool_limits(1):
        for problem in problems(options.seed):
            per_row(problem, options.rounds)
        per_walk(problems(options.seed)[1], options.rounds)
        beside_shapiq(problems(options.seed)[0], options.rounds)


def per_row(problem: CorrelatedProblem, rounds: int) -> None:
    """Measures seconds per model row of walks with all draws, and of subsampled walks."""
    rng = np.random.default_rng(1)
    orders = rng.permuted(np.tile(np.arange(COLUMNS), (WALKS, 1)), axis=1)
    examples = rng.integers(EXAMPLES, size=WALKS)
    games = {
        name: cs.PredictivePower.of(problem.restricted(name), "squared error", problem.X, problem.y)
        for name in ("marginal", "gaussian", "copula")
    }
    active, rows = np.ones(COLUMNS, dtype=bool), WALKS * (COLUMNS - 1) * DRAWS
    many = np.tile(examples, 8), np.tile(orders, (8, 1))
    ways = {
        "all draws": (rows, lambda v: v.walk(examples, orders, np.random.default_rng(2))),
        "subsampled walks": (
            8 * WALKS * (COLUMNS - 1) * games["marginal"].subsampled.rows,
            lambda v: v.subsampled.walk(*many, active, np.random.default_rng(2), skip=True),
        ),
    }
    for way, (count, walk) in ways.items():
        seconds = quickest({name: lambda v=v, walk=walk: walk(v) for name, v in games.items()}, rounds)
        for name in ("gaussian", "copula"):
            ratio, most = seconds[name] / seconds["marginal"], LIMITS.get(name)
            bar = "" if most is None else f", at most {most:g}: {'met' if ratio <= most else 'MISSED'}"
            print(
                f"{problem.name}, {way}: {name} {1e6 * seconds[name] / count:.2f} us per model row, marginal "
                f"{1e6 * seconds['marginal'] / count:.2f}: {ratio:.2f} times{bar}"
            )


def per_walk(problem: CorrelatedProblem, rounds: int) -> None:
    """Measures seconds per walk and per run with a surrogate and with marginal sampling."""
    rng = np.random.default_rng(1)
    positions = 1 + rng.permuted(np.tile(np.arange(COLUMNS), (WALKS, 1)), axis=1)
    x = problem.X[:WALKS]
    begun = time.perf_counter()
    models = {"surrogate": problem.restricted("surrogate")}
    fitting = time.perf_counter() - begun
    models["marginal"] = problem.restricted("marginal")
    seconds = quickest({name: lambda f_S=f_S: f_S.walk(x, positions, rng) for name, f_S in models.items()}, rounds)
    ratio = seconds["marginal"] / seconds["surrogate"]
    print(
        f"{problem.name}: a walk takes {1e3 * seconds['surrogate'] / WALKS:.2f} ms with a surrogate, "
        f"{1e3 * seconds['marginal'] / WALKS:.2f} ms by marginal sampling: {ratio:.1f} times faster, required more "
        f"than 1: {'met' if ratio > 1 else 'MISSED'} (its fit took {fitting:.1f} s)"
    )
    options = {"method": "permutation", "rng": 0}
    seconds = quickest(
        {
            "surrogate": lambda: cs.sage(
                problem.model, problem.X, problem.y, removal=cs.Surrogate(problem.background), **options
            ),
            "marginal": lambda: cs.sage(
                problem.model, problem.X, problem.y, removal=cs.Marginal(problem.background[:DRAWS]), **options
            ),
        },
        1,
    )
    print(
        f"{problem.name}: a run of Algorithm 1 to the default tolerance, including the fit: surrogate "
        f"{seconds['surrogate']:.1f} s, marginal {seconds['marginal']:.1f} s"
    )


def beside_shapiq(problem: CorrelatedProblem, rounds: int) -> None:
    try:
        from shapiq.imputer import GaussianCopulaImputer, GaussianImputer
    except ImportError:
        print("shapiq is not installed: pip install shapiq to compare with its imputers")
        return
    rng = np.random.default_rng(3)
    coalitions = rng.random((COMPARED, COLUMNS)) < 0.5
    coalitions[coalitions.all(axis=1) | ~coalitions.any(axis=1)] = np.arange(COLUMNS) < COLUMNS // 2
    x = problem.X[:COMPARED]
    for name, imputer in (("gaussian", GaussianImputer), ("copula", GaussianCopulaImputer)):
        f_S = problem.restricted(name)
        theirs = imputer(problem.model, problem.background, sample_size=DRAWS, random_state=0)

        def their_values(theirs: Any = theirs) -> np.ndarray:
            values = []
            for row in x:
                theirs.fit(row)
                values.append(theirs.value_function(coalitions))
            return np.array(values)

        examples, masks = np.repeat(x, COMPARED, axis=0), np.tile(coalitions, (COMPARED, 1))

        def our_values(f_S: Any = f_S, examples: Any = examples, masks: Any = masks) -> np.ndarray:
            return np.asarray(f_S.predict(examples, masks, rng)[:, 0].reshape(COMPARED, COMPARED))

        exact = np.array([conditional_mean(problem, row, coalitions) for row in x])
        spread = f_S.each(examples, masks)[:, :, 0].std(axis=1).reshape(COMPARED, COMPARED)
        off = [np.sqrt((((compute() - exact) / spread) ** 2 * DRAWS).mean()) for compute in (our_values, their_values)]
        seconds = quickest({"clarysage": our_values, "shapiq": their_values}, rounds)
        rows = COMPARED * COMPARED * DRAWS
        print(
            f"E[f | x_S], {name}: error {off[0]:.2f} standard errors (shapiq {off[1]:.2f}), "
            f"{1e6 * seconds['clarysage'] / rows:.2f} us per model row (shapiq {1e6 * seconds['shapiq'] / rows:.2f}): "
            f"{seconds['shapiq'] / seconds['clarysage']:.1f} times faster"
        )


def conditional_mean(problem: CorrelatedProblem, x: np.ndarray, coalitions: np.ndarray) -> np.ndarray:
    """Returns E[f | x_S] of the linear function in closed form."""
    C, means = problem.covariance, []
    for S in coalitions:
        withheld = C[np.ix_(~S, S)] @ np.linalg.solve(C[np.ix_(S, S)], x[S])
        means.append(problem.slopes[S] @ x[S] + problem.slopes[~S] @ withheld)
    return np.array(means)


def quickest(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Returns the minimal seconds of each function, over interleaved rounds."""
    seconds = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            seconds[name] = min(seconds[name], time.perf_counter() - begun)
    return seconds


if __name__ == "__main__":
    main()
