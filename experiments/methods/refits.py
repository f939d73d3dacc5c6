"""Feature ablation and univariate predictors: the learner fitted anew, a feature at a time, resumable.

The same as :func:`clarysage.feature_ablation` and :func:`clarysage.univariate_predictors`, fit by fit, so that the 784
fits of a network can be ended and gone on with.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import cache, partial

import numpy as np

from experiments.kept import Kept
from experiments.learners import Network
from experiments.methods.importance import Importance
from experiments.scale import Scale
from experiments.tasks import Task, task_of

REFITS = ("feature ablation", "univariate predictors")
REFERENCES = 10  # networks with all features
FIRST = 1  # of their seeds


def refitted(method: str, name: str, scale: Scale) -> Importance:
    """Importances by fits without, or with nothing but, each feature; errors are those of the test part's rows."""
    rows = scale.settings("methods")["mnist_refit_rows"] if name == "mnist" else None
    task = learning(name, rows)
    path = scale.folder("refits") / f"{name}-{method.replace(' ', '-')}.json"
    kept = Kept.of(path, task=name, learner=str(task.learner), references=len(_seeds(method, task)))
    begun = time.monotonic()
    pieces = kept.all(task.features, partial(gain, method, name, rows), title=f"{task.title} {method}", jobs=scale.jobs)
    values, errors = zip(*pieces, strict=True)
    return Importance(method, list(values), list(errors), "rows", 0.0, round(time.monotonic() - begun, 1))


def gain(method: str, name: str, rows: int | None, feature: str) -> tuple[float, float]:
    """What a feature takes off the test loss, beside all others or alone, and its standard error.

    That is over rows, and for networks over how they begin: without a feature each begins with weights of its own.
    """
    task = learning(name, rows)
    if method == "univariate predictors":
        gains = task.base_losses - task.losses(task.fit([feature]), task.test.of([feature]))
        return _told(np.mean(gains), _error(gains))
    columns = [one for one in task.features if one != feature]
    whole = _with_all(name, rows)  # (fits, rows)
    seed = FIRST + len(whole) + task.features.index(feature)
    gains = task.losses(task.fit(columns, seed=seed), task.test.of(columns)) - whole.mean(axis=0)
    between = np.std(whole.mean(axis=1), ddof=1) * np.sqrt(1 + 1 / len(whole)) if len(whole) > 1 else 0.0
    return _told(np.mean(gains), np.hypot(_error(gains), between))


@cache
def _with_all(name: str, rows: int | None) -> np.ndarray:
    """Test losses (fits, rows) of the model with all features: of a network several, which begin differently."""
    task = learning(name, rows)
    fits = [task.fit(task.features, seed=seed) for seed in _seeds("feature ablation", task)] or [task.model]
    return np.array([task.losses(one, task.test) for one in fits])


def _seeds(method: str, task: Task) -> range:
    """Seeds of the networks with all features; none for learners that depend on no seed."""
    is_needed = method == "feature ablation" and isinstance(task.learner, Network)
    return range(FIRST, FIRST + REFERENCES) if is_needed else range(0)


def _error(gains: np.ndarray) -> float:
    return float(np.std(gains, ddof=1) / np.sqrt(len(gains)))


def _told(value: float, error: float) -> tuple[float, float]:
    return float(f"{value:.7g}"), float(f"{error:.4g}")


def learning(name: str, rows: int | None) -> Task:
    """A task whose network, if it has one, learns from so many rows."""
    task = task_of(name)
    if rows is None or not isinstance(task.learner, Network) or rows >= len(task.parts.train):
        return task
    if rows not in _LEARNING:
        _LEARNING[rows] = replace(task, learner=replace(task.learner, rows=rows))
    return _LEARNING[rows]


_LEARNING: dict[int, Task] = {}  # tasks hold on to their model, which is fitted once a process
