"""Workers of a Ray cluster."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from clarysage.errors import InputError, MissingLibraryError
from clarysage.execution.backend import Done, Group, check_answers, do_packed, mentions, unpacked
from clarysage.execution.broadcast import held, packed_for_others

SECONDS_TO_CONNECT = 10
NAMED = (None, "auto", "local")  # that lead to a cluster, whatever its address
AHEAD = 2  # groups for each worker, that Ray is given; others wait here, and need not be cancelled (see below)
LOSSES_OF_A_GROUP = 1  # that are made good by doing it again, before all is sent anew


class Ray:
    """The workers of a Ray cluster, to be given as ``n_jobs``.

    Model and data are put into the object store once, and unpacked once by each worker process. Tasks go to Ray itself.
    (Ray's backend for joblib starts its processes anew for every round, and gives up when one of them dies: it is not
    used, but ``joblib.parallel_config("ray")`` is understood.) A run that is cut short leaves the groups that Ray has
    been given, two a worker at most, to their end: to cancel a task that is about to end can take this process down.

    Parameters
    ----------
    address : of a running cluster, as ``ray.init`` takes it ("auto" for the one of this machine); default: the one this
        process is connected to, or else a new one on this machine

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
        self._sent: tuple[Any, Any] = (None, None)
        self._lost = 0

    def __repr__(self) -> str:
        return f"Ray({'' if self.address is None else repr(self.address)})"

    @property
    def ray(self) -> Any:
        """The library, connected to the cluster."""
        try:
            import ray
        except ImportError as error:
            raise MissingLibraryError("ray", "ray", "A Ray cluster") from error
        if ray.is_initialized():
            self._check_connected_to(ray.get_runtime_context().gcs_address)
        else:
            try:
                if self.address not in NAMED and not str(self.address).startswith("ray://"):
                    check_answers(str(self.address), SECONDS_TO_CONNECT)  # Ray itself would try for minutes
                ray.init(address=self.address, log_to_driver=False)
            except (OSError, ValueError, RuntimeError) as error:
                raise InputError(
                    "n_jobs",
                    got=f"{self!r}, where no cluster answers ({error})",
                    wanted="the address of a running cluster",
                    hint="ray start --head, and Ray('auto')",
                ) from error
        return ray

    def _check_connected_to(self, there: str) -> None:
        if self.address not in (*NAMED, there) and not str(self.address).startswith("ray://"):
            raise InputError(
                "n_jobs",
                got=f"{self!r}, while this process is connected to {there}",
                wanted="one cluster at a time",
                hint="Ray(), or ray.shutdown() first",
            )

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        ray, stored = self.ray, [self._stored(function)]
        task = ray.remote(num_cpus=1, max_retries=0)(_do_stored)  # Ray would try again without a word
        todo, losses = deque(groups), 0
        ahead = AHEAD * self.workers()
        pending = deque(task.remote(stored, sys.path, group) for group in groups[:ahead])
        while pending:
            left = time_left()
            try:
                done = _got(ray, pending[0], None if left == float("inf") else max(0.0, left))
            except Exception as error:
                if not self.is_loss(error):
                    raise
                losses += 1
                if losses > LOSSES_OF_A_GROUP:
                    self._sent = (None, None)  # the data may be lost with the workers
                    raise
                self._lost += 1
                pending[0] = task.remote(stored, sys.path, todo[0])
                continue
            losses = 0
            pending.popleft()
            todo.popleft()
            if len(todo) > len(pending):
                pending.append(task.remote(stored, sys.path, todo[len(pending)]))
            yield done

    def is_loss(self, error: BaseException) -> bool:
        return mentions(
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
        found, self._lost = self._lost, 0
        return found

    def _stored(self, function: Any) -> Any:
        if self._sent[0] is not function:
            self._sent = (function, self.ray.put(packed_for_others(function)))
        return self._sent[1]


def _got(ray: Any, reference: Any, timeout: float | None) -> Done:
    try:
        return unpacked(ray.get(reference, timeout=timeout))
    except ray.exceptions.GetTimeoutError as error:
        raise TimeoutError from error
    except ray.exceptions.RayTaskError as error:  # an error of the task's own, behind Ray's
        raise error.cause from None


def _do_stored(stored: list[Any], places: list[str], group: Group) -> bytes:
    """Does a group in a worker, with the function that is behind a reference."""
    import ray

    reference = stored[0]
    return do_packed(held(reference.hex(), places, lambda: pickle.loads(ray.get(reference))), group)
