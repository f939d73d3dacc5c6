"""SAGE values by every installed library that computes them: error, model rows and seconds of the calls people make.

    python benchmarks/compare_libraries.py --write

Two small problems whose values are known by enumeration of all coalitions (``tests/oracle.py``): a network of eight
simulated, independent columns with squared error, and boosted trees on the first eight columns of the breast cancer
table with cross entropy. Every library sees the model as a function of arrays, and the rows that it predicts are
counted. "error" is the root mean square over runs of the distance from the truth, for the worst feature; "offset" is
the distance of the mean of the runs, for the feature where it is furthest from zero in its own standard errors; both
are shares of the range of the true values. "rows to 1 %" are the rows that an error of 1 % takes if the error falls
with the square root of the rows; it is left out where the offset shows that the runs approach other values. Seconds
are processor seconds of a run, on one thread.

Libraries that are absent are skipped; ``--write`` keeps their rows of an earlier run. It stores the table in
docs/comparison.md and the numbers in docs/comparison.json. With ``--keep FILE`` an interrupted run can be continued.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from doc_tables import ROOT, CellCache, provenance, replace_block, table, table_row
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from threadpoolctl import threadpool_limits

import clarysage as cs
from tests.oracle import shapley

PAGE, DATA = ROOT / "docs" / "comparison.md", ROOT / "docs" / "comparison.json"
COLUMNS = ("problem", "call", "model rows", "seconds", "error", "offset", "rows to 1 %")
EXAMPLES, BACKGROUND, FEATURES = 100, 50, 8
OFFSET = 0.05, 6.0  # shares of the range, and standard errors, from which on an offset is not taken for noise


@dataclass(frozen=True)
class Problem:
    """A fitted model with its examples and background rows."""

    name: str
    model: Any
    X: np.ndarray
    y: np.ndarray
    background: np.ndarray

    @property
    def is_regression(self) -> bool:
        return isinstance(self.model, RegressorMixin)

    def predictions(self, rows: np.ndarray) -> np.ndarray:
        """Predicts responses, or the probabilities of the two classes."""
        return np.asarray(self.model.predict(rows) if self.is_regression else self.model.predict_proba(rows))

    def losses(self, predictions: np.ndarray) -> np.ndarray:
        """Returns the loss of each example, along the last axis but one of classes."""
        if self.is_regression:
            return np.asarray((predictions - self.y) ** 2)
        return -np.log(np.take_along_axis(predictions, self.y[:, None], axis=-1)[..., 0])

    def payoff(self, known: np.ndarray) -> float:
        """Returns minus the mean loss if only the columns are known that are marked."""
        rows = np.where(known, self.X[:, None], self.background).reshape(-1, FEATURES)
        predictions = self.predictions(rows)
        return -float(
            self.losses(predictions.reshape(EXAMPLES, BACKGROUND, *predictions.shape[1:]).mean(axis=1)).mean()
        )

    def truth(self) -> np.ndarray:
        """Returns the values by enumeration."""
        coalitions = [set(chosen) for size in range(FEATURES + 1) for chosen in combinations(range(FEATURES), size)]
        marked = {frozenset(chosen): np.isin(np.arange(FEATURES), list(chosen)) for chosen in coalitions}
        return shapley({chosen: self.payoff(known) for chosen, known in marked.items()}, FEATURES)


class Counted(BaseEstimator):
    """A model that counts the rows it predicts, with as much of scikit-learn's protocol as others ask for."""

    def __init__(self, problem: Problem | None = None) -> None:
        self.problem, self.rows, self.is_fitted_ = problem, 0, True

    def fit(self, *_: Any) -> Counted:
        """Does nothing: the model is fitted."""
        return self

    def __call__(self, rows: Any) -> np.ndarray:
        self.rows += len(rows)
        return self.problem.predictions(np.asarray(rows))

    predict = predict_proba = __call__


class CountedRegressor(RegressorMixin, Counted):
    """A counted model that is taken for a regressor."""


class CountedClassifier(ClassifierMixin, Counted):
    """A counted model that is taken for a classifier."""

    classes_ = np.arange(2)


@dataclass(frozen=True)
class Peer:
    """A call of a library: it takes a problem, its counted model and a seed, and returns the values."""

    library: str
    module: str
    call: str
    run: Callable[[Problem, Counted, int], np.ndarray]


def clarysage_walks(problem: Problem, model: Counted, seed: int) -> np.ndarray:
    loss = "squared error" if problem.is_regression else "cross entropy"
    options = {"background": problem.background, "loss": loss, "method": "paired walks", "rng": seed}
    return cs.sage(model.__call__, problem.X, problem.y, **options, check_manifold=False, progress=False).values


def clarysage_default(problem: Problem, model: Counted, seed: int) -> np.ndarray:
    loss = "squared error" if problem.is_regression else "cross entropy"
    return cs.sage(
        model.__call__, problem.X, problem.y, background=problem.background, loss=loss, rng=seed, progress=False
    ).values


def sage_estimator(name: str) -> Callable[[Problem, Counted, int], np.ndarray]:
    """Returns the call of one of sage-importance's estimators with its default options."""

    def run(problem: Problem, model: Counted, seed: int) -> np.ndarray:
        import sage

        imputer = sage.MarginalImputer(model.__call__, problem.background)
        loss = "mse" if problem.is_regression else "cross entropy"
        estimator = getattr(sage, name)(imputer, loss, random_state=seed)
        return np.asarray(estimator(problem.X, problem.y, bar=False).values)

    return run


def hidimstat_sage(problem: Problem, model: Counted, seed: int) -> np.ndarray:
    from hidimstat import SAGE
    from sklearn.metrics import log_loss

    options = {} if problem.is_regression else {"method": "predict_proba", "loss": log_loss}
    explainer = SAGE(model, n_subsets=200, random_state=seed, **options).fit(problem.background)
    return np.asarray(explainer.importance(problem.X, problem.y))


def fippy_sage(problem: Problem, model: Counted, seed: int) -> np.ndarray:
    import fippy

    def single(rows: pd.DataFrame) -> np.ndarray:
        predictions = model(rows)
        return predictions if problem.is_regression else predictions[:, 1]

    def loss(y: np.ndarray, p: np.ndarray) -> np.ndarray:
        y = np.asarray(y)
        return (p - y) ** 2 if problem.is_regression else -np.log(np.where(y == 1, p, 1 - p))

    np.random.seed(seed)  # noqa: NPY002, there is no other way to seed it
    explainer = fippy.Explainer(single, pd.DataFrame(problem.background), loss)
    options = {"n_samples": 2 * BACKGROUND, "n_permutations": 25, "convergence_threshold": None}
    result = explainer.sage(pd.DataFrame(problem.X), problem.y, distribution="marginal", **options)
    return np.asarray(result.scores.mean(axis=(0, 1, 2)))


def shapiq_kernel(problem: Problem, model: Counted, seed: int) -> np.ndarray:
    import shapiq

    def v(coalitions: np.ndarray) -> np.ndarray:
        counted = Problem(problem.name, model, problem.X, problem.y, problem.background)
        return np.array([counted.payoff(known) for known in np.asarray(coalitions, dtype=bool)])

    approximator = shapiq.KernelSHAP(FEATURES, random_state=seed)
    values = approximator.approximate(2 ** (FEATURES - 2), v)
    return np.array([values[(feature,)] for feature in range(FEATURES)])


PEERS = (
    Peer("clarysage", "clarysage", "`cs.sage(f, X, y)`", clarysage_default),
    Peer("clarysage", "clarysage", '`cs.sage(..., method="paired walks")`', clarysage_walks),
    Peer("sage-importance", "sage", "`PermutationEstimator`", sage_estimator("PermutationEstimator")),
    Peer("sage-importance", "sage", "`KernelEstimator`", sage_estimator("KernelEstimator")),
    Peer("shapiq", "shapiq", "`KernelSHAP` on v_f, 64 subsets", shapiq_kernel),
    Peer("fippy", "fippy", "`Explainer.sage`, 25 permutations", fippy_sage),
    Peer("hidimstat", "hidimstat", "`SAGE(n_subsets=200)`", hidimstat_sage),
)


def problems() -> list[Problem]:
    return [simulated_network(), cancer_trees()]


def simulated_network() -> Problem:
    from sklearn.neural_network import MLPRegressor

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000 + BACKGROUND + EXAMPLES, FEATURES))
    y = (
        2 * X[:, 0]
        + X[:, 1]
        + 2 * X[:, 2] * X[:, 3]
        + np.sin(2 * X[:, 4])
        + 0.5 * X[:, 5]
        + 0.5 * rng.normal(size=len(X))
    )
    model = MLPRegressor(hidden_layer_sizes=(32,), max_iter=200, random_state=0).fit(X[:1000], y[:1000])
    return Problem("network, squared error", model, X[-EXAMPLES:], y[-EXAMPLES:], X[1000:][:BACKGROUND])


def cancer_trees() -> Problem:
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X[:, :FEATURES], y, test_size=EXAMPLES, random_state=0)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X_train, y_train)
    return Problem("trees, cross entropy", model, X_test, y_test, X_train[:BACKGROUND])


def measure(peer: Peer, problem: Problem, truth: np.ndarray, runs: int) -> dict[str, Any]:
    """Runs a peer several times and returns a cell of the table."""
    values, rows, seconds = [], [], []
    for seed in range(runs):
        counted = (CountedRegressor if problem.is_regression else CountedClassifier)(problem)
        begun = time.process_time()
        values.append(peer.run(problem, counted, seed))
        seconds.append(time.process_time() - begun)
        rows.append(counted.rows)
    errors = (np.array(values) - truth) / np.ptp(truth)
    noise = np.maximum(errors.std(axis=0, ddof=1) / runs**0.5, 1e-9)
    worst = np.argmax(np.abs(errors.mean(axis=0)) / noise)
    return {
        "problem": problem.name,
        "library": peer.library,
        "call": peer.call,
        "runs": runs,
        "rows": float(np.mean(rows)),
        "seconds": float(min(seconds[1:])),
        "error": float(np.sqrt((errors**2).mean(axis=0)).max()),
        "offset": float(errors.mean(axis=0)[worst]),
        "offset in standard errors": float(np.abs(errors.mean(axis=0))[worst] / noise[worst]),
    }


def line(cell: dict[str, Any]) -> str:
    """Returns the row of a cell."""
    is_off = abs(cell["offset"]) > OFFSET[0] and cell["offset in standard errors"] > OFFSET[1]
    rows = cell["rows"] * (cell["error"] / 0.01) ** 2
    exact = cell["error"] < 1e-6
    entries = [
        cell["problem"],
        f"{cell['library']}: {cell['call']}",
        f"{cell['rows']:,.0f}",
        f"{cell['seconds']:.2f}",
        "0" if exact else f"{cell['error']:.1%}",
        f"{cell['offset']:+.0%}" if is_off else "",
        "other values" if is_off else "exact" if exact else f"{float(f'{rows:.2g}'):,.0f}",
    ]
    return table_row(entries)


def block(stored: dict[str, Any]) -> str:
    """Returns what stands between the marks of the page."""
    made, versions = stored["made"], ", ".join(f"{name} {number}" for name, number in stored["versions"].items())
    text = (
        f"Measured on {made['date']} with {versions}, numpy {made['numpy']} and Python {made['python']}, in "
        f"{stored['cells'][0]['runs']} runs each; made by `{made['command']}` at commit {made['commit']}."
    )
    return f"{text}\n\n{table(COLUMNS, map(line, stored['cells']))}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--library", action="append", help="only these")
    parser.add_argument("--keep", type=Path, help="file of finished cells, which are not computed again")
    parser.add_argument("--write", action="store_true", help="store the table and the numbers in docs/")
    options = parser.parse_args()
    cache = CellCache.load(options.keep)
    stored = json.loads(DATA.read_text()) if DATA.exists() else {"versions": {}, "cells": []}
    cells = {(cell["problem"], cell["library"], cell["call"]): cell for cell in stored["cells"]}
    print(table_row(COLUMNS))
    with threadpool_limits(1):
        for problem in problems():
            truth = problem.truth()
            for peer in PEERS:
                if find_spec(peer.module) is None or peer.library not in (options.library or [peer.library]):
                    print(f"{peer.library} is skipped", file=sys.stderr)
                    continue
                key = (problem.name, peer.library, peer.call, options.runs)
                cell = cache.get(key, partial(measure, peer, problem, truth, options.runs))
                cells[problem.name, peer.library, peer.call] = cell
                stored["versions"][peer.library] = (
                    cs.__version__ if peer.library == "clarysage" else version(peer.library)
                )
                print(line(cell), flush=True)
    if options.write:
        order = [(problem.name, peer.library, peer.call) for problem in problems() for peer in PEERS]
        made = {**provenance("compare_libraries.py", 0, cache.commits), "date": datetime.now(UTC).date().isoformat()}
        kept = {"made": made, "versions": stored["versions"], "cells": [cells[key] for key in order if key in cells]}
        DATA.write_text(json.dumps(kept, indent=1) + "\n")
        replace_block(PAGE, block(kept), "libraries")
    return 0


if __name__ == "__main__":
    sys.exit(main())
