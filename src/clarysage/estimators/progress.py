"""The progress of a run: all that the loop needs to continue it, so that it can be saved as a checkpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clarysage.estimators.limits import Chunk
from clarysage.estimators.rules import InterimSchedule
from clarysage.inference.estimate import Estimate
from clarysage.protocols import Estimator

MOST_POINTS = 128  # a trace with more points drops every other one


@dataclass
class Trace:
    """Points of a run, (L, 4) each: draws, model rows, the largest standard error, and the range of the values.

    Which rounds are kept depends on their number alone, so that the same run leaves the same trace.

    Attributes
    ----------
    points : of the rounds that are kept
    seen : rounds so far
    every : one of this number of rounds is kept
    """

    points: list[np.ndarray] = field(default_factory=list)
    seen: int = 0
    every: int = 1

    def add(self, estimate: Estimate) -> None:
        """Adds the estimate at the end of a round."""
        point = _point(estimate)
        if self.seen % self.every == 0 and np.isfinite(point).all():  # few draws may have no standard error
            self.points.append(point)
        self.seen += 1
        if len(self.points) > MOST_POINTS:
            self.points, self.every = self.points[::2], 2 * self.every

    def ended(self, result: Estimate) -> np.ndarray | None:
        """Returns all points (m, L, 4), with the result as the last; None where nothing was sampled."""
        last = _point(result)
        if result.draws == 0 or not np.isfinite(last).all():
            return None
        return np.array([*(point for point in self.points if point[0, 0] < result.draws), last])


def _point(estimate: Estimate) -> np.ndarray:
    values = estimate.values
    ranges = values.max(axis=1) - values.min(axis=1)
    cost = np.broadcast_to([estimate.draws, estimate.model_rows], (len(values), 2))
    return np.column_stack([cost, estimate.std_error.max(axis=1), ranges])


@dataclass
class Progress:
    """The draws of a run so far, and its position within a round.

    Attributes
    ----------
    spent : model rows, as of the last round
    state : of the draws, None before the first
    made, number : draws, and chunks of them
    left : chunks that remain in the round, the next one last
    is_between_rounds : whether all chunks of the round were merged, and its estimate was read
    rounds : rounds that have ended
    preparations : of the estimator, each with the number of the next chunk and the model rows that were left then
    interim : analyses by sequential rules
    trace : points of the rounds
    seconds : that earlier calls took
    is_whole : False while a chunk or a round is being merged; after an interrupt then, the progress is not saved
    """

    spent: int
    state: Any = None
    made: int = 0
    number: int = 0
    left: list[Chunk] = field(default_factory=list)
    is_between_rounds: bool = True
    rounds: int = 0
    preparations: list[tuple[int, float]] = field(default_factory=list)
    interim: InterimSchedule = field(default_factory=InterimSchedule)
    trace: Trace = field(default_factory=Trace)
    seconds: float = 0.0
    is_whole: bool = True

    def begin_round(self, chunks: list[Chunk]) -> None:
        """Begins a round of chunks; without any, the run is over."""
        self.left = chunks[::-1]
        self.is_between_rounds = not chunks

    def merge_chunk(self, estimator: Estimator[Any], state: Any) -> None:
        """Merges the state of the next chunk of the round, which may change the state of the run in place."""
        self.is_whole = False
        self.state = state if self.state is None else estimator.merge(self.state, state)
        chunk = self.left.pop()
        self.made, self.number = self.made + chunk.draws, self.number + 1
        self.is_whole = True

    def end_round(self) -> None:
        """Ends a round of an exact estimator, whose estimate is read at the end of the run only."""
        self.is_between_rounds, self.rounds = True, self.rounds + 1

    def record_round(self, estimate: Estimate, *, are_sequential: bool) -> Estimate:
        """Ends a round with its estimate, and returns it, marked if sequential rules are to analyse it."""
        self.is_whole = False
        if are_sequential:
            self.interim = self.interim.after(estimate)
        estimate = self.interim.marked(estimate)
        self.trace.add(estimate)
        self.spent = estimate.model_rows
        self.end_round()
        self.is_whole = True
        return estimate
