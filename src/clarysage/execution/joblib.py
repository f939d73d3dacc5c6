"""Workers of this machine, or of whatever ``joblib.parallel_config`` has set: joblib's processes by default."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from typing import Any

from clarysage.errors import ClarysageWarning, Note, Set
from clarysage.execution.backend import Done, Group, do, mentions
from clarysage.execution.broadcast import BroadcastFunction

OF_PROCESSES = ("LokyBackend", "MultiprocessingBackend")  # backends on this machine, by the names of their types


class Joblib:
    """``n_jobs`` workers by joblib, -1 for all cores; None follows ``joblib.parallel_config``.

    Processes receive the function, with model and data, once; where it cannot be sent, threads work. ``backend`` is
    joblib's name of theirs, where it is not left to its configuration.
    """

    name = "joblib"

    def __init__(self, n_jobs: int | None = None, *, backend: str | None = None) -> None:
        self.n_jobs, self.backend = n_jobs, backend
        self._sent: tuple[Any, Any] = (None, None)

    def workers(self) -> int:
        import joblib

        return int(joblib.effective_n_jobs(self.n_jobs))

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        import joblib

        configured = type(joblib.parallel.get_active_backend()[0])
        is_sent = self.backend is None and configured.__name__ in OF_PROCESSES
        sent = self._shipped(function) if is_sent else function
        named = "threading" if sent is None else self.backend
        is_lazy = named is not None or configured.supports_return_generator
        parallel = joblib.Parallel(
            self.n_jobs, backend=named, return_as="generator" if is_lazy else "list", batch_size=1, pre_dispatch="all"
        )
        tasks = [joblib.delayed(_do_for_parent)(sent or function, group) for group in groups]
        if is_lazy:
            parallel.timeout = _limit(time_left())
            yield from _in_time(parallel(tasks), parallel, time_left)
        else:
            yield from _by_turns(tasks, parallel, self.workers(), time_left)

    def is_loss(self, error: BaseException) -> bool:
        return mentions(error, ["BrokenExecutor", "BrokenProcessPool", "TerminatedWorkerError"])

    def lost(self) -> int:
        return 0

    def _shipped(self, function: Any) -> BroadcastFunction | None:
        """The function on its way to processes; None, with a warning, where it cannot go."""
        if self._sent[0] is not function:
            self._sent = (function, _ship(function))
        shipped: BroadcastFunction | None = self._sent[1]
        return shipped


def _in_time(found: Any, parallel: Any, time_left: Callable[[], float]) -> Generator[Done, None, None]:
    """Results as they come, as long as there is time; workers stop when there is none, or when they are left."""
    try:
        for done in found:
            yield done
            parallel.timeout = _limit(time_left())
    except multiprocessing.TimeoutError as error:  # which is no TimeoutError
        raise TimeoutError from error
    finally:
        with warnings.catch_warnings():  # that some were left is what was wanted
            warnings.simplefilter("ignore", UserWarning)
            found.close()


def _by_turns(
    tasks: Sequence[Any], parallel: Any, workers: int, time_left: Callable[[], float]
) -> Generator[Done, None, None]:
    """Results where workers hand them over all at once: as many as there are workers at a time, as long as there is
    time."""
    with parallel:
        for start in range(0, len(tasks), workers):
            if time_left() < 0:
                raise TimeoutError
            yield from parallel(tasks[start : start + workers])


def _limit(seconds: float) -> float | None:
    """A time as joblib wants it: None for no limit."""
    return None if seconds == float("inf") else max(0.0, seconds)


def _ship(function: Any) -> BroadcastFunction | None:
    try:
        return BroadcastFunction(function)
    except Exception as error:
        warnings.warn(
            ClarysageWarning(
                Note(
                    f"The model cannot be sent to other processes ({error}), so threads are used instead.",
                    ["Try ", Set("n_jobs", 1), " if it is not safe in several threads."],
                )
            ),
            stacklevel=2,
        )
        return None


def _do_for_parent(function: Callable[[Any], Any], group: Group) -> Done:
    is_worker = multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread()
    if is_worker:  # Ctrl-C is for the parent, which ends the run with its estimate
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return do(function, group)
