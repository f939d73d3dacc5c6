"""A task's three curves, and how many evaluations they differ by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.figure7.black_box import evaluations
from experiments.figure7.curves import Curve, Ratio, averages
from experiments.figure7.pieces import Runs
from experiments.tasks import Task

SHAP, SAGE, PAIRED = "averaged SHAP", "SAGE, Algorithm 1", "SAGE, paired walks"


@dataclass(frozen=True, eq=False)
class Compared:
    """What came out for a task.

    Attributes
    ----------
    curves : by the names above
    iterations : of Algorithm 1 for a local explanation, in the mean; not counting those beyond the most allowed
    unfinished : the share of examples that had not converged by then
    noise : of what local explanations differ by, the share that is noise of sampling and not how examples differ
    more : evaluations of averaged SHAP values by those of SAGE, at equal error
    fewer : evaluations of Algorithm 1 by those of paired walks, at equal error
    """

    title: str
    rows: int
    curves: Mapping[str, Curve]
    iterations: float
    unfinished: float
    noise: float
    more: Ratio
    fewer: Ratio


def compared(task: Task, found: Runs, settings: Mapping[str, Any]) -> Compared:
    iterations, error = mean_iterations(found.pilots[:, 0])
    curves = {
        SAGE: Curve.of(found.evaluations["permutation"], found.values["permutation"], found.converged),
        PAIRED: Curve.of(found.evaluations["paired walks"], found.values["paired walks"], found.converged),
        SHAP: averaged(task, found, iterations, settings["repetitions"]),
    }
    level = settings["level"]
    return Compared(
        task.title, len(task.test), curves, iterations,
        float(np.mean(found.pilots[:, 1] > settings["local_tolerance"])),
        float(np.sum(found.noise**2) / np.sum(np.var(found.local, axis=0)) / len(found.local)),
        Ratio.of(curves[SHAP].costs, curves[SAGE].costs, level, error),
        Ratio.of(curves[SAGE].costs, curves[PAIRED].costs, level),
    )  # fmt: skip


def averaged(task: Task, found: Runs, iterations: float, repetitions: int) -> Curve:
    """Averages of a growing number of local explanations, each at the price of the mean number of iterations.

    Repetitions are random orders of the same explanations, of which half are averaged at most: then those of two
    repetitions are not the same ones.
    """
    counts = np.unique(np.geomspace(1, len(found.local) // 2, 12).astype(int))
    values = averages(found.local, counts, repetitions, np.random.default_rng(0))
    return Curve.of(counts * evaluations(task, iterations), values, found.converged)


def mean_iterations(made: np.ndarray) -> tuple[float, float]:
    """The mean number of iterations, and its standard error in orders of magnitude."""
    mean = float(np.mean(made))
    return mean, float(np.std(made, ddof=1) / np.sqrt(len(made)) / mean / np.log(10))
