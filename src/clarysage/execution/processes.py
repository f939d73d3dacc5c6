"""Worker processes of this machine, which wait for the next call when one has ended.

They are the processes of joblib's loky backend, without ``joblib.Parallel``: each call of that leaves a folder for
arrays in shared memory and an entry with the resource tracker behind, until this process ends. Neither is needed here,
since model and data travel in files of their own (:mod:`clarysage.execution.broadcast`).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from threading import Lock
from typing import Any

from clarysage.execution.backend import Group, GroupResult

IDLE_SECONDS = 300  # processes that had nothing to do for so long end
THREAD_LIMITS = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)


@dataclass(frozen=True)
class _Pool:
    """Processes that wait for tasks; ``owner`` is the process that started them, since a fork cannot use them."""

    executor: Any
    workers: int
    owner: int


_waiting: list[_Pool] = []  # the pool that no call uses, if there is one
_lock = Lock()


def run_in_processes(
    function: Callable[[Group], GroupResult],
    groups: Sequence[Group],
    workers: int,
    time_left: Callable[[], float],
) -> Generator[GroupResult, None, None]:
    """Yields the results of groups in order; TimeoutError is raised where none comes in the time that is left.

    No two calls share processes, so that one which ends early, and kills its processes, leaves the others alone.
    """
    pool = _take(workers)
    try:
        futures = deque([pool.executor.submit(function, group) for group in groups])
    except BrokenExecutor:  # the processes died while they waited
        pool.executor.shutdown(kill_workers=True)
        raise
    try:
        while futures:
            seconds = time_left()
            yield futures[0].result(None if seconds == float("inf") else max(0.0, seconds))
            futures.popleft()
    finally:
        if all(map(_has_ended_well, futures)):
            _give_back(pool)
        else:
            pool.executor.shutdown(kill_workers=True)


def _has_ended_well(future: Future[GroupResult]) -> bool:
    """Returns whether a task has ended, by a result or an error of its own, and its process lives on."""
    return future.done() and not isinstance(future.exception(), BrokenExecutor)


def _take(workers: int) -> _Pool:
    """Returns the pool that waits, or a new one where it has another size or none waits."""
    with _lock:
        pool = _waiting.pop() if _waiting else None
    if pool is not None and pool.owner == os.getpid():
        if pool.workers == workers:
            return pool
        pool.executor.shutdown(kill_workers=True)
    from joblib.externals.loky import ProcessPoolExecutor

    return _Pool(ProcessPoolExecutor(workers, timeout=IDLE_SECONDS, env=THREAD_LIMITS), workers, os.getpid())


def _give_back(pool: _Pool) -> None:
    """Lets a pool wait for the next call; one that waited already is shut down."""
    with _lock:
        replaced = _waiting[:]
        _waiting[:] = [pool]
    for other in replaced:
        other.executor.shutdown(kill_workers=True)
