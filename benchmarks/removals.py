"""How far conditional SAGE values are off, by removal and size of the background, where the truth has a closed form.

    python benchmarks/removals.py
    python benchmarks/removals.py --runs 5 --sizes 128 512 --removals neighbours trees --columns 6

Columns are Gaussian, all of them correlated by 0.6, the model is linear, the loss squared error, and y the model's own
output, so that v(S) = Var(E[f | X_S]) and the values follow by enumeration. "off" is the largest error of a value as a
share of the total, the mean over runs with its standard error; each run has examples and a background of its own. The
values of a run are compared with those of the true conditional expectation on the same examples: what is seen is the
error of the removal and not that of the examples. Times are processor time for all coalitions of all examples, fits
included. ``--write`` keeps the tables in docs/conditional.md.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from kept import ROOT, line, made, put
from threadpoolctl import threadpool_limits

from clarysage.coalitions import masks, shapley_values
from clarysage.removal import REMOVALS

PAGE = ROOT / "docs" / "conditional.md"
EXAMPLES, CORRELATION = 200, 0.6
NOT_ASKED = ("baseline", "product of marginals")


class Law:
    """Correlated Gaussian columns and a linear model of them."""

    def __init__(self, columns: int) -> None:
        self.covariance = np.full((columns, columns), CORRELATION) + (1 - CORRELATION) * np.eye(columns)
        self.beta = np.linspace(1.5, -0.5, columns)
        self.kept = masks(np.arange(2**columns), columns)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multivariate_normal(np.zeros(len(self.beta)), self.covariance, size=n)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z @ self.beta)

    def expected(self, X: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """E[f | x_S]."""
        return np.asarray(X[:, kept] @ self.slopes(kept))

    def slopes(self, kept: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.solve(self.covariance[np.ix_(kept, kept)], (self.covariance @ self.beta)[kept]))

    @property
    def values(self) -> np.ndarray:
        """SAGE values: Shapley values of the variance that subsets explain."""
        explained = [(self.covariance @ self.beta)[kept] @ self.slopes(kept) for kept in self.kept]
        return shapley_values(np.array(explained)[:, None])[:, 0]


def main() -> None:
    known = [name for name in REMOVALS if name not in NOT_ASKED]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sizes", type=int, nargs="+", default=[128, 512, 2048], help="background rows")
    parser.add_argument("--removals", nargs="+", choices=list(REMOVALS), default=known)
    parser.add_argument("--columns", type=int, nargs="+", default=[6, 8])
    parser.add_argument("--write", action="store_true", help="keep the tables in docs/")
    given = parser.parse_args()
    how, tables = made("removals.py", seed=0), []
    with threadpool_limits(1):
        for columns in given.columns:
            tables.append(report(Law(columns), given))
    if given.write:
        put(PAGE, "\n\n".join([f"Made by `{how['command']}` at commit {how['commit']}.", *tables]))


def report(law: Law, given: argparse.Namespace) -> str:
    """Prints a table, line by line, and returns it."""
    true = ", ".join(f"{value:.3f}" for value in law.values)
    lines = [
        f"{len(law.beta)} columns, true values {true}; the largest error of a value, as a share of their sum:",
        "",
        line(["removal", *(f"{size:,} rows" for size in given.sizes), "seconds"]),
        line(["---"] * (len(given.sizes) + 2)),
    ]
    print("\n".join(lines))
    for name in given.removals:
        cells, seconds = [], []
        for size in given.sizes:
            begun = time.process_time()
            found = 100 * np.array([off(law, name, size, run) for run in range(given.runs)])
            seconds.append((time.process_time() - begun) / given.runs)
            error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
            cells.append(f"{found.mean():.1f} ± {error:.1f} %")
        lines.append(line([name, *cells, ", ".join(f"{one:.1f}" for one in seconds)]))
        print(lines[-1], flush=True)
    return "\n".join(lines)


def off(law: Law, name: str, size: int, run: int) -> float:
    """The largest error of a value as a share of the total."""
    rng = np.random.default_rng([run, size])
    X, background = law.draw(EXAMPLES, rng), law.draw(size, rng)
    f_S: Any = REMOVALS[name](background, None, rng).restrict(law, X)
    y, payoffs = law(X), np.zeros((len(law.kept), 2))
    for place, kept in enumerate(law.kept[1:-1], start=1):
        said = f_S.predict(X, np.tile(kept, (len(X), 1)), rng)[:, 0]
        payoffs[place] = [-np.mean((y - prediction) ** 2) for prediction in (said, law.expected(X, kept))]
    payoffs[0] = [-np.mean((y - f_S.empty()[0]) ** 2), -np.mean(y**2)]
    values = shapley_values(payoffs)
    return float(np.abs(values[:, 0] - values[:, 1]).max() / law.values.sum())


if __name__ == "__main__":
    main()
