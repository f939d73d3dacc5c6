"""How much correlations move when rows are split into parts otherwise than in the paper."""

from __future__ import annotations

from functools import partial

import numpy as np

import clarysage as cs
from experiments.kept import Kept
from experiments.scale import Scale
from experiments.table2.correlation import correlation
from experiments.table2.subsets import drawn
from experiments.tasks import Task, task_of

MOVED = ("credit", "brca")  # whose test parts have about a hundred rows, and whose fits are cheap
FIRST = 1000  # random_state of the first of the other splits


def over_splits(name: str, scale: Scale) -> dict[str, list[float]]:
    """Correlations by method in other splits, each with its own model, values and subsets; none if not asked for."""
    settings = scale.settings("table2")
    if name not in MOVED or not settings["other_splits"]:
        return {}
    number, tolerance = settings["split_subsets"], settings["split_tolerance"]
    kept = Kept.of(
        scale.folder("splits") / f"{name}.json",
        task=name,
        learner=str(task_of(name).learner),
        subsets=number,
        tolerance=tolerance,
    )
    asked = [str(FIRST + i) for i in range(settings["other_splits"])]
    title = f"{task_of(name).title} other splits"
    found = kept.all(asked, partial(in_split, name, number, tolerance), title=title, jobs=scale.jobs)
    return {method: [one[method] for one in found] for method in found[0]}


def in_split(name: str, number: int, tolerance: float, random_state: str) -> dict[str, float]:
    """Correlations of SAGE and of feature ablation in one split."""
    task, seed = task_of(name, int(random_state)), int(random_state)
    subsets = drawn(len(task.features), number, seed=seed)
    different, back = np.unique(subsets, axis=0, return_inverse=True)
    losses = np.array([_retrained(task, one) for one in different])[back.ravel()]
    found = cs.sage(
        task.explained,
        task.test.X,
        task.test.y,
        background=task.background,
        loss=task.loss,
        tolerance=tolerance,
        rng=seed,
    )
    values = {"sage": found.values, "feature ablation": _ablation(task)}
    return {method: float(f"{correlation(subsets @ phi, -losses):.6g}") for method, phi in values.items()}


def _ablation(task: Task) -> np.ndarray:
    rest = ~np.eye(len(task.features), dtype=bool)
    return np.array([_retrained(task, one) for one in rest]) - task.judged(task.model, task.test)


def _retrained(task: Task, subset: np.ndarray) -> float:
    return task.retrained([task.features[i] for i in np.flatnonzero(subset)])
