"""What engines have in common: workers that are handed groups of tasks, each with the function to do them by."""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from clarysage._utils.threads import one_thread

Group = Sequence[Any]
Done = tuple[list[Any], float]  # results of a group, and the seconds they took


class LostWorkerError(Exception):
    """Workers that were lost where an engine has no error of its own for it."""


@runtime_checkable
class WorkerBackend(Protocol):
    """Workers of some kind: of this machine, of a Dask or of a Ray cluster, or of another."""

    @property
    def name(self) -> str: ...

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        """Of one group after the other, in their order.

        The function goes to each worker once. Where no result comes in the time that is left, TimeoutError; what is
        pending when the iterator is closed, or fails, is cancelled.
        """
        ...

    def is_loss(self, error: BaseException) -> bool:
        """Whether an error says that workers were lost, not that a task failed."""
        ...

    def workers(self) -> int:
        """How many groups are done at a time."""
        ...

    def lost(self) -> int:
        """Workers that were lost since this was last asked, and whose groups others have done, without an error."""
        ...


def check_answers(address: str, seconds: float) -> None:
    """Raise OSError where nobody listens at an address such as host:port or tcp://host:port, or it is none."""
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    try:
        host, port = place.hostname, place.port
    except ValueError as error:
        raise OSError(f"{error}") from error
    if host is None or port is None:
        raise OSError("no host and port")
    socket.create_connection((host, port), timeout=seconds).close()


def do(function: Callable[[Any], Any], group: Group) -> Done:
    """Does a group of tasks, with one BLAS and OpenMP thread, so that bits equal those of any other worker."""
    begun = time.perf_counter()
    with one_thread():
        results = [function(task) for task in group]
    return results, time.perf_counter() - begun


def do_packed(function: Callable[[Any], Any], group: Group) -> bytes:
    """The same, with results packed by ourselves: clusters hand over arrays that cannot be written to."""
    return pickle.dumps(do(function, group), protocol=5)


def unpacked(packed: bytes) -> Done:
    """What :func:`do_packed` has done, in a worker of our own."""
    done: Done = pickle.loads(packed)
    return done


def mentions(error: BaseException, names: Sequence[str]) -> bool:
    """Whether an error, or what it was raised from, is of a class with one of these names."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    cause = error.__cause__
    return bool(kinds & set(names)) or (cause is not None and mentions(cause, names))
