"""The serial executor: this process, one thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cached_property

from threadpoolctl import ThreadpoolController

from clarysage.protocols import Result, Task, unlimited_time


class Serial:
    """An executor that runs tasks one after the other, with one BLAS and OpenMP thread, as every worker does."""

    @cached_property
    def _threads(self) -> ThreadpoolController:
        return ThreadpoolController()  # kept, since finding the loaded libraries takes longer than many a round

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = unlimited_time,
    ) -> Generator[Result, None, None]:
        with self._threads.limit(limits=1):
            for task in tasks:
                yield function(task)
