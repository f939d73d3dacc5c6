"""The Dask backend: workers of a Dask cluster."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Thread
from typing import Any
from weakref import finalize

from clarysage.errors import InputError, MissingLibraryError
from clarysage.execution.backend import (
    Group,
    GroupResult,
    LostWorkerError,
    check_listening,
    is_caused_by,
    run_group_pickled,
    unpickled,
)
from clarysage.execution.broadcast import cached_function, function_if_cached, pickled_for_cluster

SECONDS_TO_CONNECT = 10
OTHER_SCHEMES = ("inproc", "ws", "wss", "ucx", "ucxx")  # schemes of addresses that no plain socket can connect to
SWITCH_INTERVAL = 0.05  # seconds that threads of a worker wait for the interpreter's lock; Python's default is 0.005
SECONDS_FOR_A_WORKER = 60  # the time a cluster without workers has to start one, as adaptive clusters do on demand


class Dask:
    """The workers of a Dask cluster, to be given as ``n_jobs``.

    Model and data are pickled once and scattered; each worker unpickles them once, however many batches it computes.
    The client submits tasks to the cluster's own scheduler. (joblib's backend for Dask waits for ever when a worker is
    lost for good, and does not cancel pending tasks, so it is not used; but ``joblib.parallel_config("dask")`` is
    understood.)

    Parameters
    ----------
    cluster : a ``distributed.Client``, the address of a scheduler, or anything else that a Client accepts, such as a
        ``LocalCluster``; default: the current client

    Examples
    --------
    >>> Dask("tcp://scheduler:8786")
    Dask('tcp://scheduler:8786')
    """

    name = "Dask"

    def __init__(self, cluster: Any = None) -> None:
        self.cluster = cluster
        self._client: Any = None
        self._sent: tuple[Any, Any] = (None, None)  # a function, and the future of its scattered pickle
        self._cached: dict[str, Any] = {}  # futures of the calls that cache it in workers, by their addresses
        self._threads: dict[str, int] = {}  # threads of workers, by their addresses

    def __repr__(self) -> str:
        return f"Dask({'' if self.cluster is None else repr(self.cluster)})"

    @property
    def client(self) -> Any:
        """The client, which connects when it is first used."""
        if self._client is None or self._client.status == "closed":
            self._client, self._sent = _client_of(self.cluster), (None, None)
            if self._client is not self.cluster and self.cluster is not None:
                finalize(self, _close, self._client)
        return self._client

    def workers(self) -> int:
        self._threads = self._threads or self.client.nthreads()
        if not self._threads:
            _await_worker(self.client)
            self._threads = self.client.nthreads()
        return sum(self._threads.values())

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[GroupResult, None, None]:
        client, scattered = self.client, self._scatter(function)
        argument = None if self._is_cached_by_all(scattered) else scattered

        def submit(group: Group, argument: Any) -> Any:
            return client.submit(_run_cached, scattered.key, sys.path, group, argument, pure=False)

        remaining, pending = deque(groups), deque(submit(group, argument) for group in groups)
        try:
            while pending:
                seconds = time_left()
                result = pending[0].result(timeout=None if seconds == float("inf") else max(0.0, seconds))
                if result is None:  # a new worker does not have the function: its groups are sent again, with it
                    self._cached.clear()
                    for index, group in enumerate(remaining):
                        if pending[index].status == "finished" and pending[index].result() is None:
                            pending[index] = submit(group, scattered)
                    continue
                pending.popleft()
                remaining.popleft()
                yield unpickled(result)
        except Exception as error:
            if self.is_loss(error):
                self._sent = (None, None)  # the data may be lost with the workers
            raise
        finally:
            if pending and client.status == "running":
                client.cancel(list(pending), force=True)

    def is_loss(self, error: BaseException) -> bool:
        return is_caused_by(
            error, ["LostWorkerError", "KilledWorker", "FutureCancelledError", "CommClosedError", "CancelledError"]
        )

    def lost(self) -> int:
        before, self._threads = self._threads, self.client.nthreads()
        return len(before.keys() - self._threads.keys())

    def _scatter(self, function: Any) -> Any:
        """Scatters the pickled function to all workers, unless it was the last to be scattered; returns its future."""
        if self._sent[0] is not function:
            pickle_bytes = pickled_for_cluster(function)
            if not self.client.nthreads():  # all workers were lost, and are started again
                _await_worker(self.client)
            try:
                sent = self.client.scatter(pickle_bytes, broadcast=True, hash=False)
            except TimeoutError as error:  # which is not our deadline
                raise LostWorkerError("no worker took the data") from error
            self._sent, self._cached = (function, sent), {}
        return self._sent[1]

    def _is_cached_by_all(self, scattered: Any) -> bool:
        """Returns whether all workers have unpickled the function; asks those to do so that were not asked before."""
        self.workers()
        self._cached = {
            address: self._cached.get(address) or self._ask_to_cache(scattered, address) for address in self._threads
        }
        return all(call.status == "finished" for call in self._cached.values())

    def _ask_to_cache(self, scattered: Any, address: str) -> Any:
        return self.client.submit(_cache, scattered.key, sys.path, scattered, workers=[address], pure=False)


def _cache(key: str, module_paths: Sequence[str], pickle_bytes: bytes) -> None:
    """Unpickles a function in a worker, for later groups."""
    cached_function(key, module_paths, lambda: pickle.loads(pickle_bytes))


def _run_cached(key: str, module_paths: Sequence[str], group: Group, pickle_bytes: bytes | None) -> bytes | None:
    """Runs a group in a worker, with the function given or cached; returns None where there is neither.

    A function that all workers have is not an argument of the task: Dask discards spare copies of arguments every two
    seconds, so the function would be sent again in every round.
    """
    if pickle_bytes is None:
        function = function_if_cached(key)
    else:
        function = cached_function(key, module_paths, lambda: pickle.loads(pickle_bytes))
    if function is None:
        return None
    with _long_switch_interval():
        return run_group_pickled(function, group)


@contextmanager
def _long_switch_interval() -> Iterator[None]:
    """Makes Dask's own threads in a worker wait longer for the interpreter's lock, within the context.

    They take it more than a hundred times a second, for heartbeats and profiles, and a model in Python waits each time.
    Nothing is changed where the process runs other tasks, or threads that are not Dask's.
    """
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads > 1 or worker.nanny is None:  # a nanny gives the worker a process of its own
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(max(before, SWITCH_INTERVAL))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _client_of(cluster: Any) -> Any:
    try:
        from distributed import Client, get_client
    except ImportError as error:
        raise MissingLibraryError("distributed", "dask", "A Dask cluster") from error
    if isinstance(cluster, Client):
        if cluster.status == "closed":
            raise InputError("n_jobs", got="Dask() of a client that is closed", wanted="one that is connected")
        return cluster
    try:
        if isinstance(cluster, str) and cluster.partition("://")[0] not in OTHER_SCHEMES:
            check_listening(cluster, SECONDS_TO_CONNECT)  # a Client that finds no scheduler fails much later
        if cluster is None:
            return get_client()
        return _connect(lambda: Client(cluster, set_as_default=False, timeout=SECONDS_TO_CONNECT))
    except (ValueError, TypeError, OSError, RuntimeError) as error:  # RuntimeError: of a cluster that is closed
        got = "no Dask client" if cluster is None else f"{cluster!r}, where no scheduler answers ({error})"
        raise InputError(
            "n_jobs",
            got=f"Dask() with {got}",
            wanted="a Client or the address of a running scheduler",
            hint='Dask("tcp://host:8786"), or client = distributed.Client() and Dask(client)',
        ) from error


def _connect(connect: Callable[[], Any]) -> Any:
    """Connects within a time limit: a client waits for ever where something listens that is not a Dask scheduler."""
    connected: Future[Any] = Future()

    def connect_in_thread() -> None:
        try:
            connected.set_result(connect())
        except BaseException as error:
            connected.set_exception(error)

    Thread(target=connect_in_thread, daemon=True).start()
    wait([connected], timeout=2 * SECONDS_TO_CONNECT)
    if not connected.done():
        raise OSError(f"no answer in {2 * SECONDS_TO_CONNECT} s")
    return connected.result()


def _close(client: Any) -> None:
    if client.status == "running":
        client.close(timeout=SECONDS_TO_CONNECT)


def _await_worker(client: Any) -> None:
    task = client.submit(int, pure=False)  # adaptive clusters start workers only when there is a task
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError as error:
        raise InputError(
            "n_jobs",
            got=f"a Dask cluster without workers for {SECONDS_FOR_A_WORKER} s",
            wanted="one with a worker or more",
            hint="dask worker ADDRESS, on one or more machines",
        ) from error
    finally:
        task.release()
