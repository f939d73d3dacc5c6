"""Test losses of models that are fitted to random subsets of the features."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from experiments.result_cache import ResultCache
from experiments.table2.subsets import drawn, members, named
from experiments.tasks import task_of

SEED = 0


def retrained(name: str, number: int, folder: Path, *, jobs: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns random subsets of a task's features (number, d), and test losses of models fitted to them (number,)."""
    task = task_of(name)
    subsets = drawn(len(task.features), number, SEED)
    cache = ResultCache.open(folder / f"{name}.json", task=name, learner=str(task.learner), seed=SEED)
    losses = cache.compute(
        [named(subset) for subset in subsets], partial(loss, name), title=f"{task.title} retrained", jobs=jobs
    )
    return subsets, np.array(losses)


def loss(name: str, subset: str) -> float:
    """Returns the test loss of a task's learner with a subset of the features, to seven digits."""
    task = task_of(name)
    columns = [task.features[i] for i in members(subset, len(task.features))]
    return float(f"{task.retrained(columns):.7g}")
