"""One process, one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from threadpoolctl import ThreadpoolController

from clarysage.protocols import Result, Task


class Serial:
    """Does the tasks one after the other, with one BLAS and OpenMP thread, so that bits equal those of any worker."""

    @cached_property
    def _threads(self) -> ThreadpoolController:
        return ThreadpoolController()  # looks the loaded libraries up, which takes longer than many a round

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        with self._threads.limit(limits=1):
            for task in tasks:
                yield function(task)
