"""Tasks shared out to the workers of an engine, in groups, and again where a worker was lost."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from clarysage.errors import ClarysageWarning, WorkersLostError
from clarysage.execution.backend import Done, Group, WorkerBackend, do
from clarysage.protocols import LateError, Result, Task, without_end

OF_WHAT_IS_LEFT = 1 / 3  # of what is left of a round for each worker: a group, so that few are handed over
OF_ITS_PART = 1 / 32  # of a worker's part of the round: the least group, so that workers end at about the same time
SECONDS_PER_GROUP = 0.1  # that the least group takes, too, beside which handing it over costs little
WORTH_SHARING = 0.05  # seconds of a round, below which it is done sooner than handed over
LOSSES_IN_A_ROW = 3  # without a result between them, after which there is no point in trying again


class Scheduler:
    """An executor: shares tasks out to the workers of an engine and hands their results back in order.

    How many tasks go to a worker at once adapts to how long tasks took; what is computed does not depend on it. Tasks
    of a lost worker are done again: they draw from random streams of their own, so that the result is the same.

    Parameters
    ----------
    engine : the workers
    group : tasks that go to a worker at once, where they are not to adapt
    """

    def __init__(self, engine: WorkerBackend, *, group: int | None = None) -> None:
        self.engine, self.group = engine, group
        self.seconds: float | None = None  # that a task took in the last round
        self.has_begun = False

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = without_end,
    ) -> Generator[Result, None, None]:
        spent = 0.0
        is_short = self.group is None and self.seconds is not None and len(tasks) * self.seconds < WORTH_SHARING
        with closing(_here(function, tasks) if is_short else self._there(function, tasks, time_left)) as coming:
            for results, seconds in coming:
                spent += seconds
                yield from results
        self.seconds = spent / max(1, len(tasks))

    def _there(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        """What workers have done, group by group."""
        if not self.has_begun:
            self.engine.lost()  # those of earlier runs
            self.has_begun = True
        left, losses = self.groups(tasks), 0
        while left:
            try:
                with closing(self.engine.results(function, left, time_left)) as coming:
                    for done in coming:
                        left, losses = left[1:], 0
                        yield done
            except TimeoutError as error:
                raise LateError from error
            except Exception as error:
                if not self.engine.is_loss(error):
                    raise
                losses += 1
                self._tell_of_loss(error, len(left), losses)
        self._tell_of_replaced(self.engine.lost())

    def groups(self, tasks: Sequence[Any]) -> list[Group]:
        """Tasks that go to a worker at once: fewer and fewer, but worth the way; or as many as were asked for."""
        count, workers = len(tasks), self.engine.workers()
        wanted = 0.0 if self.seconds is None else SECONDS_PER_GROUP / max(self.seconds, 1e-9)
        least = min(max(OF_ITS_PART * count / workers, wanted), count / workers)
        found: list[Group] = []
        start = 0
        while start < count:
            size = max(1, self.group or math.ceil(max(least, OF_WHAT_IS_LEFT * (count - start) / workers)))
            found.append(tasks[start : start + size])
            start += size
        return found

    def _tell_of_loss(self, error: Exception, groups: int, losses: int) -> None:
        what = f"{type(error).__name__} from {self.engine.name}"
        if losses >= LOSSES_IN_A_ROW:
            raise WorkersLostError(
                "n_jobs",
                got=f"workers that were lost {losses} times in a row at the same batches ({what}: {error})",
                wanted="workers that live",
                hint="fewer workers, or a smaller memory_limit: lack of memory is the common cause",
            ) from error
        _warn(
            f"A worker was lost ({what}): {groups:,} group{'s' * (groups != 1)} of batches are computed again. The "
            "result does not change."
        )

    def _tell_of_replaced(self, lost: int) -> None:
        if lost:
            _warn(
                f"{lost:,} worker{'s' * (lost != 1)} of the {self.engine.name} cluster left it or "
                f"{'were' if lost != 1 else 'was'} lost: their batches were computed by others. The result does not "
                "change."
            )


def _here(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Generator[Done, None, None]:
    """Tasks done by this process, as it may be that they are sooner done than handed over."""
    for task in tasks:
        yield do(function, [task])


def _warn(text: str) -> None:
    warnings.warn(text, ClarysageWarning, stacklevel=4)
