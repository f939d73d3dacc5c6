"""Correlations with other random splits of the rows than in the paper."""

from __future__ import annotations

from functools import partial

import numpy as np

import clarysage as cs
from experiments.result_cache import ResultCache
from experiments.scale import Scale
from experiments.table2.correlation import correlation
from experiments.table2.subsets import drawn
from experiments.tasks import Task, task_of

TASKS_WITH_SPLITS = ("credit", "brca")  # their test parts have about a hundred rows, and their fits are fast
FIRST = 1000  # random_state of the first split


def over_splits(name: str, scale: Scale) -> dict[str, list[float]]:
    """Returns correlations by method in other splits, each with its own model, values and subsets, if configured."""
    settings = scale.settings("table2")
    if name not in TASKS_WITH_SPLITS or not settings["other_splits"]:
        return {}
    number, tolerance = settings["split_subsets"], settings["split_tolerance"]
    cache = ResultCache.open(
        scale.folder("splits") / f"{name}.json",
        task=name,
        learner=str(task_of(name).learner),
        subsets=number,
        tolerance=tolerance,
    )
    seeds = [str(FIRST + i) for i in range(settings["other_splits"])]
    title = f"{task_of(name).title} other splits"
    results = cache.compute(seeds, partial(in_split, name, number, tolerance), title=title, jobs=scale.jobs)
    return {method: [result[method] for result in results] for method in results[0]}


def in_split(name: str, number: int, tolerance: float, random_state: str) -> dict[str, float]:
    """Returns the correlations of SAGE and of feature ablation in one split."""
    task, seed = task_of(name, int(random_state)), int(random_state)
    subsets = drawn(len(task.features), number, seed=seed)
    different, inverse = np.unique(subsets, axis=0, return_inverse=True)
    losses = np.array([_retrained(task, subset) for subset in different])[inverse.ravel()]
    explanation = cs.sage(
        task.explained,
        task.test.X,
        task.test.y,
        background=task.background,
        loss=task.loss,
        tolerance=tolerance,
        rng=seed,
    )
    values = {"sage": explanation.values, "feature ablation": _ablation(task)}
    return {method: float(f"{correlation(subsets @ phi, -losses):.6g}") for method, phi in values.items()}


def _ablation(task: Task) -> np.ndarray:
    rest = ~np.eye(len(task.features), dtype=bool)
    return np.array([_retrained(task, others) for others in rest]) - task.mean_loss(task.model, task.test)


def _retrained(task: Task, subset: np.ndarray) -> float:
    return task.retrained([task.features[i] for i in np.flatnonzero(subset)])
