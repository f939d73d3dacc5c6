"""Feature ablation and univariate predictors: the learner is refitted without, or with only, each feature.

These are :func:`clarysage.feature_ablation` and :func:`clarysage.univariate_predictors`, with a cache of every fit, so
that the 784 fits of a network can be interrupted and resumed.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache, partial

import numpy as np

from experiments.learners import Network
from experiments.methods.importance import Importance
from experiments.result_cache import ResultCache
from experiments.scale import Scale
from experiments.tasks import Task, task_of

REFITS = ("feature ablation", "univariate predictors")
REFERENCES = 10  # number of networks with all features
FIRST = 1  # seed of the first of them


def refitted(method: str, name: str, scale: Scale) -> Importance:
    """Returns importances from fits without, or with only, each feature; errors are about the test rows."""
    rows = scale.settings("methods")["mnist_refit_rows"] if name == "mnist" else None
    task = learning(name, rows)
    path = scale.folder("refits") / f"{name}-{method.replace(' ', '-')}.json"
    cache = ResultCache.open(path, task=name, learner=str(task.learner), references=len(_seeds(method, task)))
    begun = time.monotonic()
    pieces = cache.compute(
        task.features, partial(gain, method, name, rows), title=f"{task.title} {method}", jobs=scale.jobs
    )
    values, errors = zip(*pieces, strict=True)
    return Importance(method, list(values), list(errors), "rows", 0.0, round(time.monotonic() - begun, 1))


def gain(method: str, name: str, rows: int | None, feature: str) -> tuple[float, float]:
    """Returns by how much a feature reduces the test loss, added to all others or alone, and the standard error.

    The standard error is over rows and, for networks, over initial weights: each fit starts from different ones.
    """
    task = learning(name, rows)
    if method == "univariate predictors":
        gains = task.base_losses - task.losses(task.fit([feature]), task.test.of([feature]))
        return _rounded(np.mean(gains), _standard_error(gains))
    columns = [column for column in task.features if column != feature]
    full_losses = _with_all(name, rows)  # (fits, rows)
    seed = FIRST + len(full_losses) + task.features.index(feature)
    gains = task.losses(task.fit(columns, seed=seed), task.test.of(columns)) - full_losses.mean(axis=0)
    between = (
        np.std(full_losses.mean(axis=1), ddof=1) * np.sqrt(1 + 1 / len(full_losses)) if len(full_losses) > 1 else 0.0
    )
    return _rounded(np.mean(gains), np.hypot(_standard_error(gains), between))


@cache
def _with_all(name: str, rows: int | None) -> np.ndarray:
    """Returns test losses (fits, rows) of the model with all features; networks have several, with different seeds."""
    task = learning(name, rows)
    fits = [task.fit(task.features, seed=seed) for seed in _seeds("feature ablation", task)] or [task.model]
    return np.array([task.losses(model, task.test) for model in fits])


def _seeds(method: str, task: Task) -> range:
    """Returns the seeds of the networks with all features; none for learners without a seed."""
    is_needed = method == "feature ablation" and isinstance(task.learner, Network)
    return range(FIRST, FIRST + REFERENCES) if is_needed else range(0)


def _standard_error(gains: np.ndarray) -> float:
    return float(np.std(gains, ddof=1) / np.sqrt(len(gains)))


def _rounded(value: float, error: float) -> tuple[float, float]:
    return float(f"{value:.7g}"), float(f"{error:.4g}")


def learning(name: str, rows: int | None) -> Task:
    """Returns the task; its network, if it has one, is fitted to the first rows only."""
    task = task_of(name)
    if rows is None or not isinstance(task.learner, Network) or rows >= len(task.parts.train):
        return task
    if rows not in _LEARNING:
        _LEARNING[rows] = replace(task, learner=replace(task.learner, rows=rows))
    return _LEARNING[rows]


_LEARNING: dict[int, Task] = {}  # a task caches its model, which is fitted once per process
