"""What it costs to withhold features given the kept ones: seconds a model row, beside marginal removal and shapiq.

    make bench-conditional
    python benchmarks/conditional.py --rounds 8

Twelve correlated columns, 1,000 examples, 128 draws; walks with all draws and with few, one thread. Seconds a model row
hold the model: a linear function, so that nothing hides what removal takes, and gradient boosting, as people have it.
Times are the minimum of interleaved rounds. Then a whole walk of the boosted model (eleven coalitions), of which a
surrogate answers each with one row, and whole runs. Last, E[f | x_S] of the linear function beside shapiq's imputers,
where shapiq is installed: how far each is off what it is in closed form, in standard errors of the draws, and seconds a
model row of both.
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
DEAREST = {"gaussian": 3.0}  # times the cost of marginal removal a model row
NOISE = 0.5  # of the response


@dataclass(frozen=True)
class Problem:
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


def problems(seed: int) -> list[Problem]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(COLUMNS, COLUMNS)) / np.sqrt(COLUMNS) + np.eye(COLUMNS)
    slopes = rng.normal(size=COLUMNS)
    X, B = (rng.normal(size=(n, COLUMNS)) @ root.T for n in (EXAMPLES, BACKGROUND))
    y = X @ slopes + X[:, 0] * X[:, 1] + NOISE * rng.normal(size=EXAMPLES)
    learned = HistGradientBoostingRegressor(random_state=0).fit(B, B @ slopes + B[:, 0] * B[:, 1])
    data = (root @ root.T, slopes, X, y, B)
    return [
        Problem("linear function", *data, lambda X: X @ slopes),
        Problem("gradient boosting", *data, lambda X: learned.predict(X)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with threadpool_limits(1):
        for problem in problems(given.seed):
            per_row(problem, given.rounds)
        per_walk(problems(given.seed)[1], given.rounds)
        beside_shapiq(problems(given.seed)[0], given.rounds)


def per_row(problem: Problem, rounds: int) -> None:
    """Seconds a model row of walks with all draws, and of short ones."""
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
        "short walks": (
            8 * WALKS * (COLUMNS - 1) * games["marginal"].subsampled.rows,
            lambda v: v.subsampled.walk(*many, active, np.random.default_rng(2), skip=True),
        ),
    }
    for way, (count, walk) in ways.items():
        seconds = quickest({name: lambda v=v, walk=walk: walk(v) for name, v in games.items()}, rounds)
        for name in ("gaussian", "copula"):
            ratio, most = seconds[name] / seconds["marginal"], DEAREST.get(name)
            bar = "" if most is None else f", at most {most:g}: {'met' if ratio <= most else 'MISSED'}"
            print(
                f"{problem.name}, {way}: {name} {1e6 * seconds[name] / count:.2f} us a model row, marginal "
                f"{1e6 * seconds['marginal'] / count:.2f}: {ratio:.2f} times{bar}"
            )


def per_walk(problem: Problem, rounds: int) -> None:
    """Seconds a walk of a surrogate beside marginal sampling, and how many walks its fit is worth."""
    rng = np.random.default_rng(1)
    arrivals = 1 + rng.permuted(np.tile(np.arange(COLUMNS), (WALKS, 1)), axis=1)
    x = problem.X[:WALKS]
    begun = time.perf_counter()
    models = {"surrogate": problem.restricted("surrogate")}
    fitting = time.perf_counter() - begun
    models["marginal"] = problem.restricted("marginal")
    seconds = quickest({name: lambda f_S=f_S: f_S.walk(x, arrivals, rng) for name, f_S in models.items()}, rounds)
    ratio = seconds["marginal"] / seconds["surrogate"]
    print(
        f"{problem.name}: a walk takes {1e3 * seconds['surrogate'] / WALKS:.2f} ms with a surrogate, "
        f"{1e3 * seconds['marginal'] / WALKS:.2f} ms by marginal sampling: {ratio:.1f} times faster, wanted more "
        f"than 1: {'met' if ratio > 1 else 'MISSED'} (its fit took {fitting:.1f} s)"
    )
    options = {"method": "permutation", "rng": 0}
    whole = quickest(
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
        f"{problem.name}: a whole run of Algorithm 1 to the default tolerance, its fit with it: surrogate "
        f"{whole['surrogate']:.1f} s, marginal {whole['marginal']:.1f} s"
    )


def beside_shapiq(problem: Problem, rounds: int) -> None:
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

        def asked(theirs: Any = theirs) -> np.ndarray:
            found = []
            for row in x:
                theirs.fit(row)
                found.append(theirs.value_function(coalitions))
            return np.array(found)

        shown, kept = np.repeat(x, COMPARED, axis=0), np.tile(coalitions, (COMPARED, 1))

        def ours(f_S: Any = f_S, shown: Any = shown, kept: Any = kept) -> np.ndarray:
            return np.asarray(f_S.predict(shown, kept, rng)[:, 0].reshape(COMPARED, COMPARED))

        known = np.array([expected(problem, row, coalitions) for row in x])
        spread = f_S.each(shown, kept)[:, :, 0].std(axis=1).reshape(COMPARED, COMPARED)
        off = [np.sqrt((((one() - known) / spread) ** 2 * DRAWS).mean()) for one in (ours, asked)]
        seconds = quickest({"clarysage": ours, "shapiq": asked}, rounds)
        rows = COMPARED * COMPARED * DRAWS
        print(
            f"E[f | x_S], {name}: off by {off[0]:.2f} standard errors (shapiq {off[1]:.2f}), "
            f"{1e6 * seconds['clarysage'] / rows:.2f} us a model row (shapiq {1e6 * seconds['shapiq'] / rows:.2f}): "
            f"{seconds['shapiq'] / seconds['clarysage']:.1f} times faster"
        )


def expected(problem: Problem, x: np.ndarray, coalitions: np.ndarray) -> np.ndarray:
    """E[f | x_S] of the linear function in closed form."""
    C, found = problem.covariance, []
    for S in coalitions:
        rest = C[np.ix_(~S, S)] @ np.linalg.solve(C[np.ix_(S, S)], x[S])
        found.append(problem.slopes[S] @ x[S] + problem.slopes[~S] @ rest)
    return np.array(found)


def quickest(ways: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least seconds of each, in turns."""
    found = dict.fromkeys(ways, np.inf)
    for _ in range(rounds):
        for name, way in ways.items():
            begun = time.perf_counter()
            way()
            found[name] = min(found[name], time.perf_counter() - begun)
    return found


if __name__ == "__main__":
    main()
