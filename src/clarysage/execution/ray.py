"""The Ray backend: workers of a Ray cluster."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from clarysage.errors import InputError, MissingLibraryError
from clarysage.execution.backend import (
    Group,
    GroupResult,
    check_listening,
    is_caused_by,
    run_group_pickled,
    unpickled,
)
from clarysage.execution.broadcast import cached_function, pickled_for_cluster

SECONDS_TO_CONNECT = 10
SPECIAL_ADDRESSES = (None, "auto", "local")  # Ray finds the cluster itself
GROUPS_PER_WORKER = 2  # groups submitted to Ray; others wait here, where they need not be cancelled
MAX_LOSSES_OF_GROUP = 1  # after one loss a group runs again; after two, model and data are sent again


class Ray:
    """The workers of a Ray cluster, to be given as ``n_jobs``.

    Model and data are put into the object store once, and each worker process unpickles them once. Tasks are submitted
    to Ray itself. (Ray's backend for joblib starts new processes for every round, and fails when one of them dies, so
    it is not used; but ``joblib.parallel_config("ray")`` is understood.) When a run ends early, the groups that Ray has
    been given, at most two for each worker, run to their end: cancelling a task that is about to end can crash this
    process.

    Parameters
    ----------
    address : of a running cluster, as ``ray.init`` takes it ("auto" for that of this machine); default: the one that
        this process is connected to, or else a new one on this machine

    Examples
    --------
    >>> Ray("auto")
    Ray('auto')
    """

    name = "Ray"

    def __init__(self, address: str | None = None) -> None:
        if address is not None and not isinstance(address, str):
            raise InputError("address", got=f"{address!r}", wanted='text, such as "auto" or "host:6379", or None')
        self.address = address
        self._sent: tuple[Any, Any] = (None, None)  # a function, and the reference of its stored pickle
        self._lost = 0

    def __repr__(self) -> str:
        return f"Ray({'' if self.address is None else repr(self.address)})"

    @property
    def ray(self) -> Any:
        """The library, which connects to the cluster when it is first used."""
        try:
            import ray
        except ImportError as error:
            raise MissingLibraryError("ray", "ray", "A Ray cluster") from error
        if ray.is_initialized():
            self._check_connected_to(ray.get_runtime_context().gcs_address)
        else:
            try:
                if self.address not in SPECIAL_ADDRESSES and not str(self.address).startswith("ray://"):
                    check_listening(str(self.address), SECONDS_TO_CONNECT)  # Ray itself would try for minutes
                ray.init(address=self.address, log_to_driver=False)
            except (OSError, ValueError, RuntimeError) as error:
                raise InputError(
                    "n_jobs",
                    got=f"{self!r}, where no cluster answers ({error})",
                    wanted="the address of a running cluster",
                    hint="ray start --head, and Ray('auto')",
                ) from error
        return ray

    def _check_connected_to(self, current: str) -> None:
        if self.address not in (*SPECIAL_ADDRESSES, current) and not str(self.address).startswith("ray://"):
            raise InputError(
                "n_jobs",
                got=f"{self!r}, while this process is connected to {current}",
                wanted="one cluster at a time",
                hint="Ray(), or ray.shutdown() first",
            )

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[GroupResult, None, None]:
        ray, stored = self.ray, [self._store(function)]
        task = ray.remote(num_cpus=1, max_retries=0)(_run_stored)  # with retries Ray would hide losses
        remaining, losses = deque(groups), 0
        submitted = GROUPS_PER_WORKER * self.workers()
        pending = deque(task.remote(stored, sys.path, group) for group in groups[:submitted])
        while pending:
            seconds = time_left()
            try:
                result = _get(ray, pending[0], None if seconds == float("inf") else max(0.0, seconds))
            except Exception as error:
                if not self.is_loss(error):
                    raise
                losses += 1
                if losses > MAX_LOSSES_OF_GROUP:
                    self._sent = (None, None)  # the data may be lost with the workers
                    raise
                self._lost += 1
                pending[0] = task.remote(stored, sys.path, remaining[0])
                continue
            losses = 0
            pending.popleft()
            remaining.popleft()
            if len(remaining) > len(pending):
                pending.append(task.remote(stored, sys.path, remaining[len(pending)]))
            yield result

    def is_loss(self, error: BaseException) -> bool:
        return is_caused_by(
            error,
            [
                "WorkerCrashedError",
                "RayActorError",
                "NodeDiedError",
                "ObjectLostError",
                "OwnerDiedError",
                "OutOfMemoryError",
            ],
        )

    def workers(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def lost(self) -> int:
        lost, self._lost = self._lost, 0
        return lost

    def _store(self, function: Any) -> Any:
        """Puts the pickled function into the object store, unless it was the last one; returns its reference."""
        if self._sent[0] is not function:
            self._sent = (function, self.ray.put(pickled_for_cluster(function)))
        return self._sent[1]


def _get(ray: Any, reference: Any, timeout: float | None) -> GroupResult:
    try:
        return unpickled(ray.get(reference, timeout=timeout))
    except ray.exceptions.GetTimeoutError as error:
        raise TimeoutError from error
    except ray.exceptions.RayTaskError as error:  # which wraps an error of the task itself
        raise error.cause from None


def _run_stored(stored: list[Any], module_paths: list[str], group: Group) -> bytes:
    """Runs a group in a worker, with the function behind a reference."""
    import ray

    reference = stored[0]
    function = cached_function(reference.hex(), module_paths, lambda: pickle.loads(ray.get(reference)))
    return run_group_pickled(function, group)
