"""What a run would take on workers that are not there: measured times of batches, replayed on up to a thousand.

Which batches a round has is asked of the sampling loop itself, and how they are put together into groups of the
scheduler that hands them out, so that the simulation cannot drift from what is simulated. Only time is made up: batches
take seconds that are given, and these are rounds of the simulation:

- the parent hands out groups one after the other, each at a cost of its own;
- a group goes to the worker that is free first, in their order;
- the parent takes the results in, in order, each batch at a cost of its own, and looks at the estimate when all are in;
- a round that is sooner done than handed over is done by the parent.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clarysage.estimators import PairedWalks
from clarysage.estimators.limits import Chunk, Limits
from clarysage.execution.scheduler import MIN_SECONDS_TO_SHARE, Scheduler
from clarysage.execution.seeds import PILOT, stream

WITHOUT_END = Limits(float("inf"), float("inf"), float("inf"))


@dataclass(frozen=True)
class Overheads:
    """Seconds that are spent beside the batches.

    Attributes
    ----------
    start : of a run, before its first round: ends of the game, plan, model and data on their way to the workers
    round : of a round, when its results are in: reading the estimate, rules, a checkpoint
    share : of a round that goes to workers, before its first group does
    group : of handing out a group, during which no other is handed out
    merge : of a batch, in the parent
    pace : at which a worker computes, beside a process by itself: below 1 where a cluster has business of its own
    """

    start: float = 0.0
    round: float = 0.0
    share: float = 0.0
    group: float = 0.0
    merge: float = 0.0
    pace: float = 1.0


@dataclass(frozen=True)
class Simulated:
    """What came of it: seconds in all, of each round, and of all batches together, whoever computed them."""

    seconds: float
    rounds: tuple[float, ...]
    work: float
    groups: int
    workers: int

    @property
    def busy(self) -> float:
        """The share of the workers' time that went into batches."""
        return self.work / (self.seconds * self.workers) if self.seconds else 1.0


@dataclass
class Pretended:
    """A backend that only tells a scheduler its number of workers."""

    number: int
    name: str = field(default="pretended", init=False)

    def workers(self) -> int:
        return self.number


def rounds_of(game: Any, draws: int, *, seed: int = 0) -> tuple[PairedWalks, list[list[Chunk]]]:
    """Paired walks of a game, and the batches of their rounds up to so many draws, as the loop would make them."""
    estimator = PairedWalks().prepared(game, float("inf"), stream(seed, PILOT, 0))
    made, number, found = 0, 0, []
    while made < draws:
        found.append(WITHOUT_END.next_round(game, estimator, made, number, 0))
        made, number = made + sum(chunk.draws for chunk in found[-1]), number + len(found[-1])
    return estimator, found


def resampled(measured: Sequence[float], rng: np.random.Generator) -> Callable[[float], float]:
    """Seconds of batches like the measured ones: what is expected, times a ratio that was seen."""
    ratios = np.asarray(measured, dtype=float)
    ratios = ratios / ratios.mean()
    return lambda expected: float(expected * rng.choice(ratios))


def simulate(
    rounds: Sequence[Sequence[Any]],
    seconds_of: Callable[[Any], float],
    workers: int,
    overheads: Overheads,
) -> Simulated:
    """A run of the given rounds, of batches that take so long, on so many workers."""
    scheduler = Scheduler(Pretended(workers))  # type: ignore[arg-type]
    now, work, handed, ends = overheads.start, 0.0, 0, []
    for tasks in rounds:
        begun, taken = now, [seconds_of(task) for task in tasks]
        if scheduler.seconds is not None and len(tasks) * scheduler.seconds < MIN_SECONDS_TO_SHARE:
            now += sum(taken) + overheads.merge * len(tasks)
        else:
            taken = [seconds / overheads.pace for seconds in taken]
            groups = scheduler.groups(range(len(tasks)))
            now = _shared(now, [[taken[i] for i in group] for group in groups], workers, overheads)
            handed += len(groups)
        scheduler.seconds = sum(taken) / max(1, len(tasks))
        now, work = now + overheads.round, work + sum(taken)
        ends.append(now - begun)
    return Simulated(now, tuple(ends), work, handed, workers)


def _shared(now: float, groups: Sequence[Sequence[float]], workers: int, overheads: Overheads) -> float:
    """When a round that begins now has its results, of groups of batches that take so long."""
    now += overheads.share
    free = [now] * min(workers, len(groups))
    merged = now + overheads.group * len(groups)  # the parent has its hands full until then
    for place, group in enumerate(groups, 1):
        begins = max(heapq.heappop(free), now + overheads.group * place)
        heapq.heappush(free, begins + sum(group))
        merged = max(merged, begins + sum(group)) + overheads.merge * len(group)
    return merged
