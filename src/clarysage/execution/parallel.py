"""Several workers, through joblib: processes by default, or whatever ``joblib.parallel_config`` has set."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pickle import PicklingError
from typing import Any

from threadpoolctl import threadpool_limits

from clarysage.errors import ClarysageWarning, InputError
from clarysage.execution.serial import Serial
from clarysage.protocols import Executor, Result, Task

GROUPS_PER_WORKER = 4


@dataclass(frozen=True)
class Joblib:
    """Shares tasks out to ``n_jobs`` workers and hands their results back in order.

    ``group`` tasks go to a worker at once (default: a quarter of its share of the round); what is computed does not
    depend on it.
    """

    n_jobs: int | None = None
    group: int | None = None

    def map(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
        import joblib

        workers = joblib.effective_n_jobs(self.n_jobs)
        size = self.group or max(1, len(tasks) // (GROUPS_PER_WORKER * workers))
        groups = [tasks[start : start + size] for start in range(0, len(tasks), size)]
        done = 0
        try:
            for results in self._parallel(function, groups):
                yield from results
                done += 1
        except PicklingError:
            warnings.warn(
                "The model cannot be sent to other processes, so threads are used instead. "
                "Try n_jobs=1 if it is not safe in several threads.",
                ClarysageWarning,
                stacklevel=2,
            )
            for results in self._parallel(function, groups[done:], backend="threading"):
                yield from results

    def _parallel(self, function: Any, groups: list[Any], **options: Any) -> Iterator[list[Any]]:
        import joblib

        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as="generator", **options)
        results: Iterator[list[Any]] = parallel(joblib.delayed(_in_one_thread)(function, group) for group in groups)
        return results


def as_executor(n_jobs: Any) -> Executor:
    """Serial for one job, joblib for more; None follows ``joblib.parallel_config``."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0):
        raise InputError("n_jobs", got=f"{n_jobs!r}", wanted="a whole number of workers, -1 for all cores, or None")
    import joblib

    return Serial() if joblib.effective_n_jobs(n_jobs) == 1 else Joblib(n_jobs)


def _in_one_thread(function: Callable[[Task], Result], group: Sequence[Task]) -> list[Result]:
    is_worker = multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread()
    if is_worker:  # Ctrl-C is for the parent, which ends the run with its estimate
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    with threadpool_limits(1):
        return [function(task) for task in group]
