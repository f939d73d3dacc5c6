"""The three convergence curves of a task, and the ratios of their costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.figure7.black_box import evaluations
from experiments.figure7.curves import ConvergenceCurve, Cost, averages, costs_of_means
from experiments.figure7.pieces import Runs
from experiments.tasks import Task

SHAP, SAGE, PAIRED = "averaged SHAP", "SAGE, Algorithm 1", "SAGE, paired walks"
ORDERS = 200  # random permutations of the local explanations; the first ones of each are averaged


@dataclass(frozen=True, eq=False)
class Compared:
    """Results for a task.

    Attributes
    ----------
    rows : of the test part
    span : the range of the converged values
    curves, costs : by the names above; costs are evaluations times MSE
    iterations : of Algorithm 1 for a local explanation
    unfinished : the share of examples whose iterations are extrapolated from a shorter run
    noise : the share of sampling noise in the variance of local explanations over examples
    """

    title: str
    rows: int
    span: float
    curves: Mapping[str, ConvergenceCurve]
    costs: Mapping[str, Cost]
    iterations: Cost
    unfinished: float
    noise: float

    @property
    def more(self) -> Cost:
        """Ratio of the evaluations of averaged SHAP values and of SAGE, at equal error."""
        return self.costs[SHAP].by(self.costs[SAGE])

    @property
    def fewer(self) -> Cost:
        """Ratio of the evaluations of Algorithm 1 and of paired walks, at equal error."""
        return self.costs[SAGE].by(self.costs[PAIRED])


def compared(task: Task, results: Runs, settings: Mapping[str, Any]) -> Compared:
    tolerance = settings["local_tolerance"]
    iterations = Cost.of(iterations_to(tolerance, *results.pilots.T))
    price = evaluations(task, iterations.value)
    walked = {
        name: ConvergenceCurve.of(results.evaluations[method], results.values[method], results.converged)
        for name, method in ((SAGE, "permutation"), (PAIRED, "paired walks"))
    }
    costs = {name: Cost.of(curve.costs) for name, curve in walked.items()}
    uncertain = Cost(1.0, iterations.relative, iterations.dof)
    return Compared(
        task.title,
        len(task.test),
        float(np.ptp(results.converged)),
        walked | {SHAP: averaged(results, price)},
        costs | {SHAP: Cost.of(costs_of_means(results.local, price)).times(uncertain)},
        iterations,
        float(np.mean(results.pilots[:, 1] > tolerance)),
        float(np.mean(results.noise**2) / np.mean(np.var(results.local, axis=0, ddof=1))),
    )


def averaged(results: Runs, price: float) -> ConvergenceCurve:
    """Returns the curve of averages of more and more local explanations, each at this number of evaluations.

    Repetitions are random permutations of the same explanations. At most half of them are averaged, so that two
    repetitions do not average the same ones.
    """
    counts = np.unique(np.geomspace(1, len(results.local) // 2, 12).astype(int))
    values = averages(results.local, counts, ORDERS, np.random.default_rng(0))
    return ConvergenceCurve.of(counts * price, values, results.converged)


def iterations_to(tolerance: float, made: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Extrapolates the number of iterations to an error of this share of the range, from a run and its share.

    Errors fall with the square root of the iterations. If the range is mostly noise it is too large, and the result too
    small.

    Examples
    --------
    >>> iterations_to(0.01, np.array([66.0, 300.0]), np.array([0.008, 0.02])).tolist()
    [66.0, 1200.0]
    """
    return np.asarray(made * np.maximum(1.0, shares / tolerance) ** 2)
