"""Errors of conditional SAGE values by removal and size of the background, where the truth has a closed form.

    python benchmarks/removals.py
    python benchmarks/removals.py --runs 5 --sizes 128 512 --removals neighbours trees --columns 6

Columns are Gaussian, each pair with correlation 0.6, the model is linear, the loss squared error, and y the output of
the model, so that v(S) = Var(E[f | X_S]) and the values follow by enumeration. The error is the largest error of a
value as a share of the total; the table has its mean over runs and the standard error of the mean. Each run draws new
examples and background rows. Its values are compared with those of the true conditional expectation on the same
examples, so the error is that of the removal and not that of the examples. Times are processor time for all coalitions
of all examples, including fits. ``--write`` stores the tables in docs/appendix/removals.md.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from doc_tables import ROOT, provenance, replace_block, table_row
from threadpoolctl import threadpool_limits

from clarysage.coalitions import masks, shapley_values
from clarysage.removal import REMOVALS

PAGE = ROOT / "docs" / "appendix" / "removals.md"
EXAMPLES, CORRELATION = 200, 0.6
NOT_CONDITIONAL = ("baseline", "product of marginals")


class GaussianProblem:
    """Correlated Gaussian columns and a linear model of them."""

    def __init__(self, columns: int) -> None:
        self.covariance = np.full((columns, columns), CORRELATION) + (1 - CORRELATION) * np.eye(columns)
        self.beta = np.linspace(1.5, -0.5, columns)
        self.coalitions = masks(np.arange(2**columns), columns)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multivariate_normal(np.zeros(len(self.beta)), self.covariance, size=n)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z @ self.beta)

    def conditional_mean(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Returns E[f | x_S]."""
        return np.asarray(X[:, S] @ self.slopes(S))

    def slopes(self, S: np.ndarray) -> np.ndarray:
        """Returns the coefficients of the regression of f on the features in S."""
        return np.asarray(np.linalg.solve(self.covariance[np.ix_(S, S)], (self.covariance @ self.beta)[S]))

    @property
    def values(self) -> np.ndarray:
        """SAGE values, which are the Shapley values of the explained variance."""
        explained = [(self.covariance @ self.beta)[S] @ self.slopes(S) for S in self.coalitions]
        return shapley_values(np.array(explained)[:, None])[:, 0]


def main() -> None:
    names = [name for name in REMOVALS if name not in NOT_CONDITIONAL]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 512, 2048], help="background rows")
    parser.add_argument("--removals", nargs="+", choices=list(REMOVALS), default=names)
    parser.add_argument("--columns", type=int, nargs="+", default=[6, 8])
    parser.add_argument("--write", action="store_true", help="store the tables in docs/")
    options = parser.parse_args()
    how, tables = provenance("removals.py", seed=0), []
    with threadpool_limits(1):
        for columns in options.columns:
            tables.append(report(GaussianProblem(columns), options))
    if options.write:
        replace_block(PAGE, "\n\n".join([f"Made by `{how['command']}` at commit {how['commit']}.", *tables]))


def report(problem: GaussianProblem, options: argparse.Namespace) -> str:
    """Measures and prints a table row by row, and returns it."""
    listed = ", ".join(f"{value:.3f}" for value in problem.values)
    lines = [
        f"{len(problem.beta)} columns, true values {listed}; the largest error of a value, as a share of their sum:",
        "",
        table_row(["removal", *(f"{size:,} rows" for size in options.sizes), "seconds"]),
        table_row(["---"] * (len(options.sizes) + 2)),
    ]
    print("\n".join(lines))
    for name in options.removals:
        cells, seconds = [], []
        for size in options.sizes:
            begun = time.process_time()
            errors = 100 * np.array([largest_error(problem, name, size, run) for run in range(options.runs)])
            seconds.append((time.process_time() - begun) / options.runs)
            std_error = errors.std(ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
            cells.append(f"{errors.mean():.1f} ± {std_error:.1f} %")
        lines.append(table_row([name, *cells, ", ".join(f"{time_of_size:.1f}" for time_of_size in seconds)]))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def largest_error(problem: GaussianProblem, name: str, size: int, run: int) -> float:
    """Returns the largest error of a value as a share of the total."""
    rng = np.random.default_rng([run, size])
    X, background = problem.draw(EXAMPLES, rng), problem.draw(size, rng)
    f_S: Any = REMOVALS[name](background, None, rng).restrict(problem, X)
    y, payoffs = problem(X), np.zeros((len(problem.coalitions), 2))
    for number, S in enumerate(problem.coalitions[1:-1], start=1):
        predictions = f_S.predict(X, np.tile(S, (len(X), 1)), rng)[:, 0], problem.conditional_mean(X, S)
        payoffs[number] = [-np.mean((y - prediction) ** 2) for prediction in predictions]
    payoffs[0] = [-np.mean((y - f_S.empty()[0]) ** 2), -np.mean(y**2)]
    values = shapley_values(payoffs)
    return float(np.abs(values[:, 0] - values[:, 1]).max() / problem.values.sum())


if __name__ == "__main__":
    main()
