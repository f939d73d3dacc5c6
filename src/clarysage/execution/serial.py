"""The serial executor: this process, one thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from clarysage._utils.threads import one_thread
from clarysage.protocols import LateError, Result, Task, unlimited_time


class Serial:
    """An executor that runs tasks one after the other, with one BLAS and OpenMP thread, as every worker does."""

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = unlimited_time,
    ) -> Generator[Result, None, None]:
        with one_thread():
            for task in tasks:
                if time_left() < 0:
                    raise LateError
                yield function(task)
