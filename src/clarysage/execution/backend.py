"""The contract of a backend: workers that run groups of tasks; and helpers that backends share.

The scheduler (:mod:`clarysage.execution.scheduler`) splits a round into groups, and a backend runs each group on one of
its workers: processes or threads of this machine, or workers of a cluster.
"""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from clarysage._utils.threads import one_thread

Group = Sequence[Any]
GroupResult = tuple[list[Any], float]  # the results of a group, and the seconds they took


class LostWorkerError(Exception):
    """Raised by a backend that lost workers, where its library has no error of its own for it."""


@runtime_checkable
class WorkerBackend(Protocol):
    """Workers of one kind: of this machine, of a Dask or a Ray cluster, or of any other system."""

    @property
    def name(self) -> str: ...

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[GroupResult, None, None]:
        """Yields the results of the groups, in the order of the groups.

        The function is sent to each worker once. TimeoutError is raised where no result comes in the time that is left.
        When the generator is closed or fails, it cancels the groups that are pending.
        """
        ...

    def is_loss(self, error: BaseException) -> bool:
        """Returns whether an error says that workers were lost, not that a task failed."""
        ...

    def workers(self) -> int:
        """Returns the number of groups that run at the same time."""
        ...

    def lost(self) -> int:
        """Returns the number of workers lost since the last call, whose groups were run by others without an error."""
        ...


def run_group(function: Callable[[Any], Any], group: Group) -> GroupResult:
    """Runs a group of tasks with one BLAS and OpenMP thread, so that bits are the same on every worker."""
    started = time.perf_counter()
    with one_thread():
        results = [function(task) for task in group]
    return results, time.perf_counter() - started


def run_group_pickled(function: Callable[[Any], Any], group: Group) -> bytes:
    """Runs a group and pickles its results here, since arrays that a cluster unpickles cannot be written to."""
    return pickle.dumps(run_group(function, group), protocol=5)


def unpickled(result: bytes) -> GroupResult:
    """Returns what :func:`run_group_pickled` returned in one of our own workers, as objects."""
    group_result: GroupResult = pickle.loads(result)
    return group_result


def is_caused_by(error: BaseException, class_names: Sequence[str]) -> bool:
    """Returns whether an error, or an error that it was raised from, is of a class with one of these names."""
    names = {cls.__name__ for cls in type(error).__mro__}
    cause = error.__cause__
    return bool(names & set(class_names)) or (cause is not None and is_caused_by(cause, class_names))


def check_listening(address: str, seconds: float) -> None:
    """Raises OSError where nothing listens at an address such as host:port or tcp://host:port, or it is invalid."""
    url = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        host, port = url.hostname, url.port
    except ValueError as error:
        raise OSError(f"{error}") from error
    if host is None or port is None:
        raise OSError("no host and port")
    socket.create_connection((host, port), timeout=seconds).close()
