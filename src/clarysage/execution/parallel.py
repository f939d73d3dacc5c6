"""Several workers, through joblib: processes by default, or whatever ``joblib.parallel_config`` has set."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any

from threadpoolctl import threadpool_limits

from clarysage.errors import ClarysageWarning, InputError
from clarysage.execution.serial import Serial
from clarysage.execution.shipping import Shipped
from clarysage.protocols import Executor, Result, Task

GROUPS_PER_WORKER = 4


class Joblib:
    """Shares tasks out to ``n_jobs`` workers and hands their results back in order.

    ``group`` tasks go to a worker at once (default: a quarter of its share of the round); what is computed does not
    depend on it. Processes receive the function, with model and data, once; where it cannot be sent, threads work.
    """

    def __init__(self, n_jobs: int | None = None, *, group: int | None = None) -> None:
        self.n_jobs, self.group = n_jobs, group
        self._sent: tuple[Any, Any] = (None, None)

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        import joblib

        workers = joblib.effective_n_jobs(self.n_jobs)
        size = self.group or max(1, len(tasks) // (GROUPS_PER_WORKER * workers))
        groups = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        sent = self._shipped(function) if _uses_processes() else function
        options = {"backend": "threading"} if sent is None else {}
        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator", **options)
        for results in parallel(joblib.delayed(_in_one_thread)(sent or function, group) for group in groups):
            yield from results

    def _shipped(self, function: Any) -> Shipped | None:
        """The function on its way to processes; None, with a warning, where it cannot go."""
        if self._sent[0] is not function:
            self._sent = (function, _ship(function))
        shipped: Shipped | None = self._sent[1]
        return shipped


def _ship(function: Any) -> Shipped | None:
    try:
        return Shipped(function)
    except Exception as error:
        warnings.warn(
            f"The model cannot be sent to other processes ({error}), so threads are used instead. "
            "Try n_jobs=1 if it is not safe in several threads.",
            ClarysageWarning,
            stacklevel=2,
        )
        return None


def _uses_processes() -> bool:
    """Whether joblib is set to work with processes on this machine, as it is by default."""
    from joblib.parallel import get_active_backend

    return type(get_active_backend()[0]).__name__ in ("LokyBackend", "MultiprocessingBackend")


def as_executor(n_jobs: Any) -> Executor:
    """Serial for one job, joblib for more; None follows ``joblib.parallel_config``."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError("n_jobs", got=f"{n_jobs!r}", wanted="a whole number of workers, -1 for all cores, or None")
    import joblib

    return Serial() if joblib.effective_n_jobs(n_jobs) == 1 else Joblib(None if n_jobs is None else int(n_jobs))


def _in_one_thread(function: Callable[[Task], Result], group: Sequence[Task]) -> list[Result]:
    is_worker = multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread()
    if is_worker:  # Ctrl-C is for the parent, which ends the run with its estimate
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with threadpool_limits(1):
        return [function(task) for task in group]
