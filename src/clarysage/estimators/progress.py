"""How far a run has come: all that the loop needs to go on, so that it can be kept in a file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from clarysage.estimators.limits import Chunk
from clarysage.inference.estimate import Estimate, InterimAnalyses
from clarysage.inference.stopping import must_see_more
from clarysage.protocols import Estimator

MOST_POINTS = 128  # of a trace; beyond these every other one is dropped


@dataclass(frozen=True)
class InterimSchedule:
    """Schedules analyses by rules that decide: first once errors are settled, then each time the draws have doubled.

    When they come depends on how many draws there are, never on what these found.

    Attributes
    ----------
    count : analyses so far
    draws : at the last of them
    """

    count: int = 0
    draws: int = 0

    def after(self, current: Estimate) -> InterimSchedule:
        """The schedule after a round, with one analysis more where it is time for one."""
        coverage = current.coverage
        is_due = current.draws >= 2 * self.draws and not must_see_more(current)
        if not is_due or not (coverage.is_settled or coverage.unvisited):
            return self
        return InterimSchedule(self.count + 1, current.draws)

    def marked(self, current: Estimate) -> Estimate:
        """The estimate, marked where the last analysis is the one of its draws."""
        is_now = self.count > 0 and current.draws == self.draws
        return replace(current, interim=InterimAnalyses(self.count, is_now=True)) if is_now else current

    def final(self, result: Estimate, confidence: float) -> Estimate:
        """The estimate that is handed out: a further analysis, unless the last was of the same draws."""
        count = max(1, self.count + (result.draws != self.draws))
        return replace(result, interim=InterimAnalyses(count, result.interim.is_now, confidence))


@dataclass
class Trace:
    """Points of a run, (L, 4) each: draws, model rows, the largest standard error, and the range of the values.

    Which rounds are kept depends on their number alone, so that the same run leaves the same trace.
    """

    points: list[np.ndarray] = field(default_factory=list)
    seen: int = 0
    every: int = 1

    def add(self, current: Estimate) -> None:
        """Adds the estimate at the end of a round."""
        point = _point(current)
        if self.seen % self.every == 0 and np.isfinite(point).all():  # few draws may have no standard error yet
            self.points.append(point)
        self.seen += 1
        if len(self.points) > MOST_POINTS:
            self.points, self.every = self.points[::2], 2 * self.every

    def ended(self, result: Estimate) -> np.ndarray | None:
        """All points (m, L, 4), the result the last of them; None where nothing was sampled."""
        last = _point(result)
        if result.draws == 0 or not np.isfinite(last).all():
            return None
        return np.array([*(point for point in self.points if point[0, 0] < result.draws), last])


@dataclass
class Progress:
    """The draws of a run so far, and where in a round it is.

    Attributes
    ----------
    spent : model rows, as of the last round
    state : of the draws, None before the first
    made, number : draws, and chunks of them
    left : chunks of the round that are still to come, the next one last
    is_between_rounds : whether all chunks of the round were merged, and its estimate looked at
    rounds : that are over
    preparations : of the estimator, each with the number of the next chunk and the model rows that were left then
    interim : analyses by rules that decide
    seconds : that earlier calls took
    is_whole : False while a chunk or a round is taken in; what an interrupt leaves then is not to be kept
    """

    spent: int
    state: Any = None
    made: int = 0
    number: int = 0
    left: list[Chunk] = field(default_factory=list)
    is_between_rounds: bool = True
    rounds: int = 0
    preparations: list[tuple[int, float]] = field(default_factory=list)
    interim: InterimSchedule = InterimSchedule()
    trace: Trace = field(default_factory=Trace)
    seconds: float = 0.0
    is_whole: bool = True

    def begin_round(self, chunks: list[Chunk]) -> None:
        """Begins a round of chunks; where there are none, the run is over."""
        self.left = chunks[::-1]
        self.is_between_rounds = not chunks

    def take(self, estimator: Estimator[Any], part: Any) -> None:
        """Merges the draws of the next chunk of the round; the state may be changed in place."""
        self.is_whole = False
        self.state = part if self.state is None else estimator.merge(self.state, part)
        chunk = self.left.pop()
        self.made, self.number = self.made + chunk.draws, self.number + 1
        self.is_whole = True

    def end_round(self) -> None:
        """Ends a round that is not recorded, where there is nothing to decide."""
        self.is_between_rounds, self.rounds = True, self.rounds + 1

    def record_round(self, current: Estimate, *, decides: bool) -> Estimate:
        """Ends a round with its estimate, and returns it, marked where rules that decide are to analyse it."""
        self.is_whole = False
        if decides:
            self.interim = self.interim.after(current)
        current = self.interim.marked(current)
        self.trace.add(current)
        self.spent = current.model_rows
        self.end_round()
        self.is_whole = True
        return current


def _point(current: Estimate) -> np.ndarray:
    values = current.values
    spans = values.max(axis=1) - values.min(axis=1)
    spent = np.broadcast_to([current.draws, current.model_rows], (len(values), 2))
    return np.column_stack([spent, current.std_error.max(axis=1), spans])
