"""The scheduler: an ordered map over the workers of a backend, with groups of tasks, deadlines and lost workers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from clarysage.errors import ClarysageWarning, WorkersLostError
from clarysage.execution.backend import Group, GroupResult, WorkerBackend, run_group
from clarysage.protocols import LateError, Result, Task, unlimited_time

SHARE_OF_REMAINING = 1 / 3  # size of a group, relative to a worker's part of the remaining tasks
MIN_SHARE_OF_ROUND = 1 / 32  # smallest size, relative to a worker's part of the round: workers then end together
SECONDS_PER_GROUP = 0.1  # the smallest group takes at least so long, so that sending it costs little in comparison
MIN_SECONDS_TO_SHARE = 0.05  # a shorter round is done sooner by this process than by workers
MAX_LOSSES_IN_A_ROW = 3  # losses of workers without a result in between, after which the run fails


class Scheduler:
    """An executor that sends groups of tasks to the workers of a backend and yields their results in order.

    The size of groups adapts to the time that tasks took; what is computed does not depend on it. The tasks of a lost
    worker are run again: each draws from its own random stream, so the result is the same.

    Parameters
    ----------
    backend : the workers
    group : the number of tasks in a group; None adapts it to the time that tasks take
    """

    def __init__(self, backend: WorkerBackend, *, group: int | None = None) -> None:
        self.backend, self.group = backend, group
        self.seconds: float | None = None  # the time a task took in the last round
        self.has_started = False

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = unlimited_time,
    ) -> Generator[Result, None, None]:
        spent = 0.0
        is_short = self.group is None and self.seconds is not None and len(tasks) * self.seconds < MIN_SECONDS_TO_SHARE
        group_results = _run_here(function, tasks) if is_short else self._run_on_workers(function, tasks, time_left)
        with closing(group_results):
            for results, seconds in group_results:
                spent += seconds
                yield from results
        self.seconds = spent / max(1, len(tasks))

    def _run_on_workers(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], time_left: Callable[[], float]
    ) -> Generator[GroupResult, None, None]:
        """Yields the results of groups in order; after a loss of workers, the groups without results run again."""
        if not self.has_started:
            self.backend.lost()  # forget the workers that earlier runs lost
            self.has_started = True
        remaining, losses = self.groups(tasks), 0
        while remaining:
            try:
                with closing(self.backend.results(function, remaining, time_left)) as group_results:
                    for group_result in group_results:
                        remaining, losses = remaining[1:], 0
                        yield group_result
            except TimeoutError as error:
                raise LateError from error
            except Exception as error:
                if not self.backend.is_loss(error):
                    raise
                losses += 1
                self._warn_of_loss(error, len(remaining), losses)
        self._warn_of_replaced_workers(self.backend.lost())

    def groups(self, tasks: Sequence[Any]) -> list[Group]:
        """Splits tasks into groups that become smaller, but not so small that sending them costs more than they do."""
        count, workers = len(tasks), self.backend.workers()
        per_group = 0.0 if self.seconds is None else SECONDS_PER_GROUP / max(self.seconds, 1e-9)
        smallest = min(max(MIN_SHARE_OF_ROUND * count / workers, per_group), count / workers)
        groups: list[Group] = []
        start = 0
        while start < count:
            size = self.group or math.ceil(max(smallest, SHARE_OF_REMAINING * (count - start) / workers))
            groups.append(tasks[start : start + max(1, size)])
            start += max(1, size)
        return groups

    def _warn_of_loss(self, error: Exception, groups: int, losses: int) -> None:
        cause = f"{type(error).__name__} from {self.backend.name}"
        if losses >= MAX_LOSSES_IN_A_ROW:
            raise WorkersLostError(
                "n_jobs",
                got=f"workers that were lost {losses} times in a row at the same batches ({cause}: {error})",
                wanted="workers that stay alive",
                hint="fewer workers, or a smaller memory_limit: lack of memory is the common cause",
            ) from error
        _warn(
            f"A worker was lost ({cause}): {groups:,} group{'s' * (groups != 1)} of batches are computed again. The "
            "result does not change."
        )

    def _warn_of_replaced_workers(self, lost: int) -> None:
        if lost:
            _warn(
                f"{lost:,} worker{'s' * (lost != 1)} of the {self.backend.name} cluster left it or "
                f"{'were' if lost != 1 else 'was'} lost: their batches were computed by others. The result does not "
                "change."
            )


def _run_here(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Generator[GroupResult, None, None]:
    """Yields the results of tasks that this process runs itself, since sending them would take longer."""
    for task in tasks:
        yield run_group(function, [task])


def _warn(text: str) -> None:
    warnings.warn(text, ClarysageWarning, stacklevel=4)
