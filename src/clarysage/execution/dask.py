"""Workers of a Dask cluster."""

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
from clarysage.execution.backend import Done, Group, LostWorkerError, check_answers, do_packed, mentions, unpacked
from clarysage.execution.broadcast import held, held_already, packed_for_others

SECONDS_TO_CONNECT = 10
OTHER_SCHEMES = ("inproc", "ws", "wss", "ucx", "ucxx")  # of addresses, beside those that sockets can be tried at
SECONDS_TO_SWITCH = 0.05  # that other threads of a worker wait for the interpreter's lock; by default 0.005
SECONDS_FOR_A_WORKER = 60  # that a cluster without workers has to bring one, as adaptive ones do when they are asked


class Dask:
    """The workers of a Dask cluster, to be given as ``n_jobs``.

    Model and data are packed once and scattered; each worker unpacks them once, however many batches it computes.
    Tasks go to the cluster's own scheduler by its client. (joblib's backend for Dask waits for ever when a worker is
    lost for good, and does not cancel what is pending: it is not used, but ``joblib.parallel_config("dask")`` is
    understood.)

    Parameters
    ----------
    cluster : a ``distributed.Client``, the address of a scheduler, or anything that a Client can be made of, such as a
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
        self._sent: tuple[Any, Any] = (None, None)  # a function, and where it was scattered
        self._holds: dict[str, Any] = {}  # by which workers were told to hold it, by their addresses
        self._roster: dict[str, int] = {}  # threads of workers, by their addresses

    def __repr__(self) -> str:
        return f"Dask({'' if self.cluster is None else repr(self.cluster)})"

    @property
    def client(self) -> Any:
        """The client, connected when it is first needed."""
        if self._client is None or self._client.status == "closed":
            self._client, self._sent = _client_of(self.cluster), (None, None)
            if self._client is not self.cluster and self.cluster is not None:
                finalize(self, _close, self._client)
        return self._client

    def workers(self) -> int:
        self._roster = self._roster or self.client.nthreads()
        if not self._roster:
            _await_worker(self.client)
            self._roster = self.client.nthreads()
        return sum(self._roster.values())

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        client, packed = self.client, self._scattered(function)
        known = None if self._is_held_by_all(packed) else packed

        def submitted(group: Group, known: Any) -> Any:
            return client.submit(_do_held, packed.key, sys.path, group, known, pure=False)

        todo, pending = deque(groups), deque(submitted(group, known) for group in groups)
        try:
            while pending:
                left = time_left()
                done = pending[0].result(timeout=None if left == float("inf") else max(0.0, left))
                if done is None:
                    self._holds.clear()
                    for place, group in enumerate(todo):
                        if pending[place].status == "finished" and pending[place].result() is None:
                            pending[place] = submitted(group, packed)
                    continue
                pending.popleft()
                todo.popleft()
                yield unpacked(done)
        except Exception as error:
            if self.is_loss(error):
                self._sent = (None, None)  # the data may be lost with the workers
            raise
        finally:
            if pending and client.status == "running":
                client.cancel(list(pending), force=True)

    def is_loss(self, error: BaseException) -> bool:
        return mentions(
            error, ["LostWorkerError", "KilledWorker", "FutureCancelledError", "CommClosedError", "CancelledError"]
        )

    def lost(self) -> int:
        before, self._roster = self._roster, self.client.nthreads()
        return len(before.keys() - self._roster.keys())

    def _scattered(self, function: Any) -> Any:
        """The packed function on its way to all workers."""
        if self._sent[0] is not function:
            packed = packed_for_others(function)
            if not self.client.nthreads():  # all were lost, and come up again
                _await_worker(self.client)
            try:
                sent = self.client.scatter(packed, broadcast=True, hash=False)
            except TimeoutError as error:  # no deadline of ours
                raise LostWorkerError("no worker took the data") from error
            self._sent, self._holds = (function, sent), {}
        return self._sent[1]

    def _is_held_by_all(self, packed: Any) -> bool:
        """Whether all workers have unpacked the function; those that have not been told to are told."""
        self.workers()
        self._holds = {
            address: self._holds.get(address) or self._told_to_hold(packed, address) for address in self._roster
        }
        return all(hold.status == "finished" for hold in self._holds.values())

    def _told_to_hold(self, packed: Any, address: str) -> Any:
        return self.client.submit(_hold, packed.key, sys.path, packed, workers=[address], pure=False)


def _hold(key: str, places: Sequence[str], packed: bytes) -> None:
    """Unpacks a function in a worker, for groups to come."""
    held(key, places, lambda: pickle.loads(packed))


def _do_held(key: str, places: Sequence[str], group: Group, packed: bytes | None) -> bytes | None:
    """Does a group in a worker, with the function that was packed or that it has; None where there is neither.

    What all workers have is not handed over: Dask thins out copies of what tasks are handed every two seconds, so that
    it would travel again in every round.
    """
    function = held_already(key) if packed is None else held(key, places, lambda: pickle.loads(packed))
    if function is None:
        return None
    with _seldom_interrupted():
        return do_packed(function, group)


@contextmanager
def _seldom_interrupted() -> Iterator[None]:
    """A context within which Dask's threads in a worker wait longer for the interpreter's lock.

    They want it more than a hundred times a second, to tick and to take profiles, and a model in Python is made to wait
    for them each time. Where tasks or threads of others are in the process, things are left as they are.
    """
    from distributed import get_worker

    worker = get_worker()
    if worker.state.nthreads > 1 or worker.nanny is None:  # who gives a worker a process of its own
        yield
        return
    before = sys.getswitchinterval()
    sys.setswitchinterval(max(before, SECONDS_TO_SWITCH))
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
            check_answers(cluster, SECONDS_TO_CONNECT)  # a Client that finds nobody complains long after
        if cluster is None:
            return get_client()
        return _in_time(lambda: Client(cluster, set_as_default=False, timeout=SECONDS_TO_CONNECT))
    except (ValueError, TypeError, OSError, RuntimeError) as error:  # the last of a cluster that is closed
        got = "no Dask client" if cluster is None else f"{cluster!r}, where no scheduler answers ({error})"
        raise InputError(
            "n_jobs",
            got=f"Dask() with {got}",
            wanted="a Client or the address of a running scheduler",
            hint='Dask("tcp://host:8786"), or client = distributed.Client() and Dask(client)',
        ) from error


def _in_time(connect: Callable[[], Any]) -> Any:
    """What connecting comes to. A client waits for ever where somebody listens who does not know Dask's language."""
    found: Future[Any] = Future()

    def tried() -> None:
        try:
            found.set_result(connect())
        except BaseException as error:
            found.set_exception(error)

    Thread(target=tried, daemon=True).start()
    wait([found], timeout=2 * SECONDS_TO_CONNECT)
    if not found.done():
        raise OSError(f"not a word in {2 * SECONDS_TO_CONNECT} s")
    return found.result()


def _close(client: Any) -> None:
    if client.status == "running":
        client.close(timeout=SECONDS_TO_CONNECT)


def _await_worker(client: Any) -> None:
    asked = client.submit(int, pure=False)  # something to do, without which adaptive clusters bring nobody
    try:
        client.wait_for_workers(1, timeout=SECONDS_FOR_A_WORKER)
    except TimeoutError as error:
        raise InputError(
            "n_jobs",
            got=f"a Dask cluster without workers for {SECONDS_FOR_A_WORKER} s",
            wanted="one with a worker or more",
            hint="dask worker ADDRESS, on as many machines as you like",
        ) from error
    finally:
        asked.release()
