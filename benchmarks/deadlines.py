"""Deadlines: seconds that runs took beside those asked for; and the fixed cost of default calls on small data.

    make bench-deadlines
    python benchmarks/deadlines.py --part measures --asked 5

Models sleep, so that other work on the machine changes little: 0.01 to 50 ms a row, 400 examples with 20 and 70
columns, 128 background rows. A run that fails says why; one that takes ten times as long as asked is broken off. The
fixed cost of a default call is the least of several, once all libraries are imported and compiled.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs

EXAMPLES, BACKGROUND = 400, 128
MILLISECONDS = (0.01, 1.0, 5.0, 50.0)  # a row
COLUMNS = (20, 70)
ASKED = (1.0, 5.0, 20.0)
SPARSE, SPARSE_ASKED = (500, 20_000), 20.0
MEASURED_AT = 5.0  # milliseconds a row, in the part about measures
PATIENCE = 10.0  # a run is broken off after so many times the seconds that were asked for
REPEATS = 5


class BrokenOffError(Exception):
    """Raised by a model if the run takes far too long."""


@dataclass
class SleepingModel:
    """A model that sleeps for each row, and counts the rows; the sum of its columns and a product of two."""

    milliseconds: float
    ends_at: float = float("inf")
    rows: int = field(default=0, init=False)

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if time.monotonic() > self.ends_at:
            raise BrokenOffError
        self.rows += len(rows)
        time.sleep(min(self.milliseconds / 1e3 * len(rows), max(0.0, self.ends_at - time.monotonic())))
        return np.asarray(np.asarray(rows).sum(axis=1) + rows[:, 0] * rows[:, 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only these parts")
    parser.add_argument("--asked", action="append", type=float, help="seconds, in place of 1, 5 and 20")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    explain_small_data(LinearRegression())  # imports, and reads compiled kernels
    for name in arguments.part or PARTS:
        PARTS[name](arguments.asked or ASKED)


def models(asked: tuple[float, ...]) -> None:
    """Prints how long SAGE values take by models of several speeds."""
    print("\ncs.sage, seconds")
    for milliseconds in MILLISECONDS:
        for columns in COLUMNS:
            X, background = tables(columns)
            for seconds in asked:
                model = SleepingModel(milliseconds)
                options = {"background": background, "deadline": seconds, "tolerance": 1e-6, "rng": 0}
                report(f"{milliseconds:g} ms a row, {columns} columns", seconds, model, cs.sage, X, options)


def measures(asked: tuple[float, ...]) -> None:
    """Prints how long each measure takes by a slow model."""
    print(f"\nmeasures, {MEASURED_AT:g} ms a row, 20 columns, seconds")
    X, background = tables(COLUMNS[0])
    for measure in (
        cs.sage,
        cs.shapley_effects,
        cs.permutation_importance,
        cs.conditional_permutation_importance,
        cs.mean_loss_shap,
        cs.mean_absolute_shap,
        cs.interactions,
    ):
        for seconds in asked:
            options = {"background": background, "deadline": seconds, "tolerance": 1e-6, "rng": 0}
            report(measure.__name__, seconds, SleepingModel(MEASURED_AT), measure, X, options)


def sparse(asked: tuple[float, ...]) -> None:
    """Prints how long SAGE values of a wide sparse table take."""
    print("\nsparse rows, 500 x 20,000, seconds")
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(*SPARSE, density=0.005, format="csr", random_state=0)
    y = np.asarray(X[:, :50].sum(axis=1)).ravel() > np.median(np.asarray(X[:, :50].sum(axis=1)))
    y = np.where(rng.random(len(y)) < 0.1, ~y, y).astype(int)
    forest = RandomForestRegressor(50, random_state=0).fit(X, y)
    fitted = {"logistic regression": LogisticRegression().fit(X, y), "forest": forest, "callable": forest.predict}
    for name, model in fitted.items():
        options = {"deadline": SPARSE_ASKED, "tolerance": 1e-6, "rng": 0}
        report(name, SPARSE_ASKED, model, cs.sage, X, options, y)


def fixed_costs(asked: tuple[float, ...]) -> None:
    """Prints what default calls on small data cost."""
    print(f"\ndefault calls on {EXAMPLES} rows, least of {REPEATS}{'seconds':>30}{'CPU':>8}{'model rows':>12}")
    X, _ = tables(101)
    y = X @ np.linspace(1, 0, 101) + X[:, 0] * X[:, 1]
    small = X[:, :10]
    few = small @ np.linspace(1, 0, 10) + small[:, 0] * small[:, 1]
    linear, logistic = LinearRegression().fit(X, y), LogisticRegression().fit(small, few > 0)
    forest = RandomForestRegressor(20, random_state=0).fit(small, few)

    def product(rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows[:, 0] * rows[:, 1] + rows[:, 2])

    cases: dict[str, Callable[[], Any]] = {
        "linear, 101 columns": lambda: cs.sage(linear, X, y, rng=0),
        "logistic, 10 columns": lambda: cs.sage(logistic, small, few > 0, rng=0),
        "forest of 20 trees, 10 columns": lambda: cs.sage(forest, small, few, rng=0),
        "callable, 10 columns": lambda: cs.sage(product, small, few, rng=0),
        "permutation importance, callable": lambda: cs.permutation_importance(product, small, few, rng=0),
    }
    for name, call in cases.items():
        call()
        walls, cpus = [], []
        for _ in range(REPEATS):
            began, cpu = time.monotonic(), time.process_time()
            result = call()
            walls.append(time.monotonic() - began)
            cpus.append(time.process_time() - cpu)
        print(f"  {name:<50}{min(walls):>14.2f}{min(cpus):>8.2f}{result.model_rows:>12,}")


def report(
    name: str,
    asked: float,
    model: Any,
    measure: Callable[..., Any],
    X: Any,
    options: dict[str, Any],
    y: np.ndarray | None = None,
) -> None:
    """Prints one line: seconds asked for and taken, seconds of CPU, model rows, and how the run ended."""
    began, cpu = time.monotonic(), time.process_time()
    if isinstance(model, SleepingModel):
        model.ends_at = began + PATIENCE * asked
    y = X.sum(axis=1) if y is None else y
    try:
        result = measure(model, X, y, **options)
        end = f"{getattr(result, 'draws', 0):,} draws; {getattr(getattr(result, 'stopped', None), 'name', '')}"
    except Exception as error:  # all that a user would see
        is_broken_off = isinstance(error.__cause__, BrokenOffError)
        end = "broken off" if is_broken_off else f"{type(error).__name__}: {error}"
    taken, rows = time.monotonic() - began, f"{model.rows:,}" if isinstance(model, SleepingModel) else ""
    cpu = time.process_time() - cpu
    print(f"  {name:<36}{asked:>6g}{taken:>8.2f}  CPU {cpu:>6.2f}  {rows:>9} rows  {end}", flush=True)


def tables(columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns examples and background rows."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(EXAMPLES, columns)), rng.normal(size=(BACKGROUND, columns))


def explain_small_data(model: Any) -> None:
    """Explains a model of few rows, so that later calls are warm."""
    X, background = tables(5)
    cs.sage(model.fit(X, X[:, 0]), X, X[:, 0], background=background, rng=0)
    cs.sage(lambda rows: rows[:, 0], X, X[:, 0], background=background, rng=0)


PARTS = {"models": models, "measures": measures, "sparse": sparse, "costs": fixed_costs}

if __name__ == "__main__":
    main()
