"""Trace: how errors shrank on the way to an estimate, at few enough points to draw and to keep."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clarysage.inference.estimate import Estimate

MOST = 128  # points; beyond these every other one is dropped


@dataclass
class Trace:
    """Points of a run, (L, 4) each: draws, model rows, the largest standard error, and the range of the values.

    Which looks are kept depends on their number alone, so that the same run leaves the same trace.
    """

    points: list[np.ndarray] = field(default_factory=list)
    seen: int = 0
    every: int = 1

    def add(self, current: Estimate) -> None:
        """A look on the way."""
        point = _point(current)
        if self.seen % self.every == 0 and np.isfinite(point).all():  # few draws may have no standard error yet
            self.points.append(point)
        self.seen += 1
        if len(self.points) > MOST:
            self.points, self.every = self.points[::2], 2 * self.every

    def ended(self, result: Estimate) -> np.ndarray | None:
        """All points (m, L, 4), the result the last of them; None where nothing was sampled."""
        last = _point(result)
        if result.draws == 0 or not np.isfinite(last).all():
            return None
        return np.array([*(point for point in self.points if point[0, 0] < result.draws), last])


def _point(current: Estimate) -> np.ndarray:
    values = current.values
    spans = values.max(axis=1) - values.min(axis=1)
    spent = np.broadcast_to([current.draws, current.model_rows], (len(values), 2))
    return np.column_stack([spent, current.std_error.max(axis=1), spans])
