"""A task's three curves, and how many evaluations they differ by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.figure7.black_box import evaluations
from experiments.figure7.curves import Cost, Curve, averages, costs_of_means
from experiments.figure7.pieces import Runs
from experiments.tasks import Task

SHAP, SAGE, PAIRED = "averaged SHAP", "SAGE, Algorithm 1", "SAGE, paired walks"
ORDERS = 200  # random ones of local explanations, of which the first few are averaged


@dataclass(frozen=True, eq=False)
class Compared:
    """What came out for a task.

    Attributes
    ----------
    rows : of the test part
    span : the range of the converged values
    curves, costs : by the names above; costs are evaluations times MSE
    iterations : of Algorithm 1 that a local explanation takes
    unfinished : the share of examples whose iterations are reckoned from a shorter run
    noise : of what local explanations differ by, the share that is noise of sampling and not how examples differ
    """

    title: str
    rows: int
    span: float
    curves: Mapping[str, Curve]
    costs: Mapping[str, Cost]
    iterations: Cost
    unfinished: float
    noise: float

    @property
    def more(self) -> Cost:
        """Evaluations of averaged SHAP values by those of SAGE, at equal error."""
        return self.costs[SHAP].by(self.costs[SAGE])

    @property
    def fewer(self) -> Cost:
        """Evaluations of Algorithm 1 by those of paired walks, at equal error."""
        return self.costs[SAGE].by(self.costs[PAIRED])


def compared(task: Task, found: Runs, settings: Mapping[str, Any]) -> Compared:
    tolerance = settings["local_tolerance"]
    iterations = Cost.of(iterations_to(tolerance, *found.pilots.T))
    price = evaluations(task, iterations.value)
    walked = {
        name: Curve.of(found.evaluations[method], found.values[method], found.converged)
        for name, method in ((SAGE, "permutation"), (PAIRED, "paired walks"))
    }
    costs = {name: Cost.of(curve.costs) for name, curve in walked.items()}
    uncertain = Cost(1.0, iterations.relative, iterations.dof)
    return Compared(
        task.title,
        len(task.test),
        float(np.ptp(found.converged)),
        walked | {SHAP: averaged(found, price)},
        costs | {SHAP: Cost.of(costs_of_means(found.local, price)).times(uncertain)},
        iterations,
        float(np.mean(found.pilots[:, 1] > tolerance)),
        float(np.mean(found.noise**2) / np.mean(np.var(found.local, axis=0, ddof=1))),
    )


def averaged(found: Runs, price: float) -> Curve:
    """Averages of a growing number of local explanations, each at this price.

    Repetitions are random orders of the same explanations, of which half are averaged at most: then those of two
    repetitions are not the same ones.
    """
    counts = np.unique(np.geomspace(1, len(found.local) // 2, 12).astype(int))
    values = averages(found.local, counts, ORDERS, np.random.default_rng(0))
    return Curve.of(counts * price, values, found.converged)


def iterations_to(tolerance: float, made: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Iterations at which errors are this share of the range, from those made and their share there.

    Errors fall with the root of iterations. Where the range is little but noise it is too large, and the answer too
    small.

    Examples
    --------
    >>> iterations_to(0.01, np.array([66.0, 300.0]), np.array([0.008, 0.02])).tolist()
    [66.0, 1200.0]
    """
    return np.asarray(made * np.maximum(1.0, shares / tolerance) ** 2)
