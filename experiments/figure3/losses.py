"""Losses of the bank's model on versions of the data, and what each fault adds to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from experiments.figure3.versions import CLEAN, VERSIONS
from experiments.tasks import Task


@dataclass(frozen=True)
class Mean:
    """A mean over rows, and how far an interval reaches to either side."""

    value: float
    reach: float

    @property
    def low(self) -> float:
        return self.value - self.reach

    @property
    def high(self) -> float:
        return self.value + self.reach

    @classmethod
    def of(cls, losses: np.ndarray, level: float) -> Mean:
        error = np.std(losses, ddof=1) / np.sqrt(len(losses))
        return cls(float(np.mean(losses)), float(norm.ppf(0.5 + level / 2) * error))


def losses(task: Task, level: float) -> dict[str, Mean]:
    """Mean losses of the base rate, and of the model on each part and on each version of the test part."""
    found = {"base rate": task.base_losses}
    found |= {name: task.losses(task.model, getattr(task.parts, name)) for name in ("train", "validation")}
    found |= {name: task.losses(task.model, version.of(task.test)) for name, version in VERSIONS.items()}
    return {name: Mean.of(one, level) for name, one in found.items()}


def added(task: Task, name: str, level: float) -> Mean:
    """What a version adds to the loss of the same rows as they were."""
    worse, clean = (task.losses(task.model, VERSIONS[one].of(task.test)) for one in (name, CLEAN))
    return Mean.of(worse - clean, level)
