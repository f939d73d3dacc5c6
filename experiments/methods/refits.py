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


def refitted(method: str, name: str, scale: Scale) -> Importance:
    """Importances by fits without, or with nothing but, each feature; errors are those of the test part's rows."""
    rows = scale.settings("methods")["mnist_refit_rows"] if name == "mnist" else None
    task = learning(name, rows)
    kept = Kept.of(
        scale.folder("refits") / f"{name}-{method.replace(' ', '-')}.json", task=name, learner=str(task.learner)
    )
    begun = time.monotonic()
    pieces = kept.all(task.features, partial(gain, method, name, rows), title=f"{task.title} {method}", jobs=scale.jobs)
    values, errors = zip(*pieces, strict=True)
    return Importance(method, list(values), list(errors), "rows", 0.0, round(time.monotonic() - begun, 1))


def gain(method: str, name: str, rows: int | None, feature: str) -> tuple[float, float]:
    """What a feature takes off the test loss, beside all others or alone, and its standard error over rows."""
    task = learning(name, rows)
    if method == "feature ablation":
        columns = [one for one in task.features if one != feature]
        gains = task.losses(task.fit(columns), task.test.of(columns)) - _with_all(name, rows)
    else:
        gains = task.base_losses - task.losses(task.fit([feature]), task.test.of([feature]))
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    return float(f"{np.mean(gains):.7g}"), float(f"{error:.4g}")


@cache
def _with_all(name: str, rows: int | None) -> np.ndarray:
    """Test losses of the model with all features."""
    task = learning(name, rows)
    return task.losses(task.model, task.test)


def learning(name: str, rows: int | None) -> Task:
    """A task whose network, if it has one, learns from so many rows."""
    task = task_of(name)
    if rows is None or not isinstance(task.learner, Network) or rows >= len(task.parts.train):
        return task
    if rows not in _LEARNING:
        _LEARNING[rows] = replace(task, learner=replace(task.learner, rows=rows))
    return _LEARNING[rows]


_LEARNING: dict[int, Task] = {}  # tasks hold on to their model, which is fitted once a process
