"""Losses of the bank model on versions of the data, and the increase by each fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from experiments.figure3.versions import CLEAN, VERSIONS
from experiments.tasks import Task


@dataclass(frozen=True)
class Mean:
    """A mean over rows, and the half width of its interval."""

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
    """Returns mean losses of the base rate, and of the model on each part and on each version of the test part."""
    by_name = {"base rate": task.base_losses}
    by_name |= {name: task.losses(task.model, getattr(task.parts, name)) for name in ("train", "validation")}
    by_name |= {name: task.losses(task.model, version.of(task.test)) for name, version in VERSIONS.items()}
    return {name: Mean.of(values, level) for name, values in by_name.items()}


def added(task: Task, name: str, level: float) -> Mean:
    """Returns the increase of the loss by a fault, on the same rows."""
    worse, clean = (task.losses(task.model, VERSIONS[version].of(task.test)) for version in (name, CLEAN))
    return Mean.of(worse - clean, level)
