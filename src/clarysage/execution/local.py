"""Workers of this machine, or of whatever ``joblib.parallel_config`` has set: joblib's processes by default."""

from __future__ import annotations

import multiprocessing
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from clarysage.errors import ClarysageWarning
from clarysage.execution.engine import Done, Group, do, mentions
from clarysage.execution.shipping import Shipped

OF_PROCESSES = ("LokyBackend", "MultiprocessingBackend")  # backends on this machine, by the names of their types


class Local:
    """``n_jobs`` workers by joblib, -1 for all cores; None follows ``joblib.parallel_config``.

    Processes receive the function, with model and data, once; where it cannot be sent, threads work.
    """

    name = "joblib"

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs
        self._sent: tuple[Any, Any] = (None, None)

    def roster(self) -> dict[str, int]:
        import joblib

        return {"this machine": int(joblib.effective_n_jobs(self.n_jobs))}

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        import joblib

        backend, _ = joblib.parallel.get_active_backend()
        sent = self._shipped(function) if type(backend).__name__ in OF_PROCESSES else function
        options = {"backend": "threading"} if sent is None else {}
        is_lazy = bool(options) or getattr(backend, "supports_return_generator", False)
        kind = "generator" if is_lazy else "list"
        parallel = joblib.Parallel(n_jobs=self.n_jobs, return_as=kind, batch_size=1, pre_dispatch="all", **options)
        parallel.timeout = _limit(time_left())
        found = parallel(joblib.delayed(_do_for_parent)(sent or function, group) for group in groups)
        if not is_lazy:
            yield from found
            return
        with warnings.catch_warnings(), closing(found):
            warnings.filterwarnings("ignore", ".*tasks (which were still|have been).*", UserWarning)  # when cut short
            try:
                for done in found:
                    yield done
                    parallel.timeout = _limit(time_left())
            except multiprocessing.TimeoutError as error:  # which is no TimeoutError
                raise TimeoutError from error

    def is_loss(self, error: BaseException) -> bool:
        return mentions(error, ["BrokenExecutor", "BrokenProcessPool", "TerminatedWorkerError"])

    def _shipped(self, function: Any) -> Shipped | None:
        """The function on its way to processes; None, with a warning, where it cannot go."""
        if self._sent[0] is not function:
            self._sent = (function, _ship(function))
        shipped: Shipped | None = self._sent[1]
        return shipped


def _limit(seconds: float) -> float | None:
    """A time as joblib wants it: None for no limit."""
    return None if seconds == float("inf") else max(0.0, seconds)


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


def _do_for_parent(function: Callable[[Any], Any], group: Group) -> Done:
    is_worker = multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread()
    if is_worker:  # Ctrl-C is for the parent, which ends the run with its estimate
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return do(function, group)
