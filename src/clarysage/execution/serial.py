"""One process, one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from threadpoolctl import threadpool_limits

from clarysage.protocols import Result, Task


class Serial:
    """Does the tasks one after the other, with one BLAS and OpenMP thread, so that bits equal those of any worker."""

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        with threadpool_limits(1):
            for task in tasks:
                yield function(task)
