"""The joblib backend: processes or threads of this machine, or whatever ``joblib.parallel_config`` has set.

Processes are those of joblib's loky backend, and wait for the next call when one has ended. They are used without
``joblib.Parallel``: each call of that leaves a folder for arrays in shared memory and an entry with the resource
tracker behind, until this process ends. Neither is needed here, since model and data travel in files of their own
(:mod:`clarysage.execution.broadcast`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import BrokenExecutor, Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from clarysage.errors import ClarysageWarning, Note, Set
from clarysage.execution.backend import Group, GroupResult, is_caused_by, run_group
from clarysage.execution.broadcast import BroadcastFunction

PROCESS_BACKENDS = ("LokyBackend", "MultiprocessingBackend")  # joblib's own, on this machine, by their class names
GROUPS_PER_WORKER = 2  # handed over at once: loky fails at groups in its own queue when processes are killed
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


class Joblib:
    """``n_jobs`` workers by joblib, -1 for all cores; None follows ``joblib.parallel_config``.

    Processes receive the function, with model and data, once; where it cannot be sent, threads are used instead.
    ``backend`` is joblib's name of a backend, where its configuration is not to choose.
    """

    name = "joblib"

    def __init__(self, n_jobs: int | None = None, *, backend: str | None = None) -> None:
        self.n_jobs, self.backend = n_jobs, backend
        self._sent: tuple[Any, BroadcastFunction | None] = (None, None)  # the last function, and how it was sent

    def workers(self) -> int:
        import joblib

        return int(joblib.effective_n_jobs(self.n_jobs))

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[GroupResult, None, None]:
        import joblib

        configured = type(joblib.parallel.get_active_backend()[0])
        uses_processes = self.backend is None and configured.__name__ in PROCESS_BACKENDS
        sent = self._broadcast(function) if uses_processes else function
        if isinstance(sent, BroadcastFunction) and configured.__name__ == "LokyBackend":
            yield from run_in_processes(partial(_run_in_worker, sent), groups, self.workers(), time_left)
            return
        backend = "threading" if sent is None else self.backend
        is_lazy = backend is not None or configured.supports_return_generator
        parallel = joblib.Parallel(
            self.n_jobs, backend=backend, return_as="generator" if is_lazy else "list", batch_size=1, pre_dispatch="all"
        )
        calls = [joblib.delayed(_run_in_worker)(sent or function, group) for group in groups]
        if is_lazy:
            parallel.timeout = _timeout(time_left())
            yield from _until_late(parallel(calls), parallel, time_left)
        else:
            yield from _in_batches(calls, parallel, self.workers(), time_left)

    def is_loss(self, error: BaseException) -> bool:
        return is_caused_by(error, ["BrokenExecutor", "BrokenProcessPool", "TerminatedWorkerError"])

    def lost(self) -> int:
        return 0

    def _broadcast(self, function: Any) -> BroadcastFunction | None:
        """Returns the function as it is sent to processes; None, with a warning, where it cannot be sent."""
        if self._sent[0] is not function:
            try:
                self._sent = (function, BroadcastFunction(function))
            except Exception as error:
                self._sent = (function, None)
                note = Note(
                    f"The model cannot be sent to other processes ({error}), so threads are used instead.",
                    ["Try ", Set("n_jobs", 1), " if it is not safe in several threads."],
                )
                warnings.warn(ClarysageWarning(note), stacklevel=2)
        return self._sent[1]


def _until_late(
    group_results: Any, parallel: Any, time_left: Callable[[], float]
) -> Generator[GroupResult, None, None]:
    """Yields results as they come, until no time is left; workers are stopped then, and when the caller stops."""
    try:
        for group_result in group_results:
            yield group_result
            parallel.timeout = _timeout(time_left())
    except multiprocessing.TimeoutError as error:  # which is not a subclass of TimeoutError
        raise TimeoutError from error
    finally:
        with warnings.catch_warnings():  # joblib warns of results that nobody takes: here that is on purpose
            warnings.simplefilter("ignore", UserWarning)
            group_results.close()


def _in_batches(
    calls: Sequence[Any], parallel: Any, workers: int, time_left: Callable[[], float]
) -> Generator[GroupResult, None, None]:
    """Yields results of a backend that returns them all at once: one call for each worker at a time, until late."""
    with parallel:
        for start in range(0, len(calls), workers):
            if time_left() < 0:
                raise TimeoutError
            yield from parallel(calls[start : start + workers])


def _timeout(seconds: float) -> float | None:
    """Returns a time as joblib takes it: None for no limit."""
    return None if seconds == float("inf") else max(0.0, seconds)


def _run_in_worker(function: Callable[[Any], Any], group: Group) -> GroupResult:
    is_process = multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread()
    if is_process:  # Ctrl-C is for the parent, which ends the run with its estimate
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return run_group(function, group)


@dataclass(frozen=True)
class _Pool:
    """Processes that wait for tasks; ``owner`` is the process that started them, since a fork cannot use them."""

    executor: Any
    workers: int
    owner: int


_waiting: list[_Pool] = []  # the pool that no call uses, if there is one
_lock = threading.Lock()


def run_in_processes(
    function: Callable[[Group], GroupResult],
    groups: Sequence[Group],
    workers: int,
    time_left: Callable[[], float],
) -> Generator[GroupResult, None, None]:
    """Yields the results of groups in order; TimeoutError is raised where none comes in the time that is left.

    No two calls share processes, so that one which ends early, and kills its processes, leaves the others alone.
    """
    pool, waiting, futures = _take(workers), deque(groups), deque[Future[GroupResult]]()
    is_broken = False
    try:
        while waiting or futures:
            while waiting and len(futures) < GROUPS_PER_WORKER * workers:
                futures.append(pool.executor.submit(function, waiting.popleft()))
            yield futures[0].result(_timeout(time_left()))
            futures.popleft()
    except BrokenExecutor:  # processes died, while they waited for this call or during it
        is_broken = True
        raise
    finally:
        if is_broken or not all(map(_has_ended_well, futures)):
            pool.executor.shutdown(kill_workers=True)
        else:
            _give_back(pool)


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
