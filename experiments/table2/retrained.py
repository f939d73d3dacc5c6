"""Test losses of models that are fitted anew to random subsets of the features."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from experiments.kept import Kept
from experiments.table2.subsets import drawn, members, named
from experiments.tasks import task_of

SEED = 0


def retrained(name: str, number: int, folder: Path, *, jobs: int) -> tuple[np.ndarray, np.ndarray]:
    """Random subsets of a task's features (number, d), and the test loss of a model fitted to each (number,)."""
    task = task_of(name)
    subsets = drawn(len(task.features), number, SEED)
    kept = Kept.of(folder / f"{name}.json", task=name, learner=str(task.learner), seed=SEED)
    losses = kept.all([named(one) for one in subsets], partial(loss, name), title=f"{task.title} retrained", jobs=jobs)
    return subsets, np.array(losses)


def loss(name: str, subset: str) -> float:
    """Test loss of a task's learner with a subset of the features; seven digits are more than it means."""
    task = task_of(name)
    columns = [task.features[i] for i in members(subset, len(task.features))]
    return float(f"{task.retrained(columns):.7g}")
