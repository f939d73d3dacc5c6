"""Workers of a Ray cluster."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

from clarysage.errors import InputError, MissingLibraryError, ModelError
from clarysage.execution.engine import Done, Group, do, mentions
from clarysage.execution.shipping import dumped

RETRIES = 3  # of a task whose worker died, by Ray itself

_held: dict[str, Callable[[Any], Any]] = {}  # what this process has received last, by its name in the object store


class Ray:
    """The workers of a Ray cluster, to be given as ``n_jobs``.

    Model and data are put into the object store once, and unpacked once by each worker process. Tasks go to Ray itself.
    (Ray's backend for joblib starts its processes anew for every round, and gives up when one of them dies: it is not
    used, but ``joblib.parallel_config("ray")`` is understood.)

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
        self.address = address
        self._sent: tuple[Any, Any] = (None, None)

    def __repr__(self) -> str:
        return f"Ray({'' if self.address is None else repr(self.address)})"

    @property
    def ray(self) -> Any:
        """The library, connected to the cluster."""
        try:
            import ray
        except ImportError as error:
            raise MissingLibraryError("ray", "ray", "A Ray cluster") from error
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise InputError("n_jobs", got=f"{self!r}, where no cluster answers ({error})", wanted="the address of "
                                 "a running cluster", hint="ray start --head, and Ray('auto')") from error  # fmt: skip
        return ray

    def results(
        self, function: Callable[[Any], Any], groups: Sequence[Group], time_left: Callable[[], float]
    ) -> Generator[Done, None, None]:
        ray, stored = self.ray, self._stored(function)
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do_stored)
        pending = deque(task.remote([stored], sys.path, group) for group in groups)
        try:
            while pending:
                left = time_left()
                yield _got(ray, pending[0], None if left == float("inf") else max(0.0, left))
                pending.popleft()
        except Exception as error:
            if self.is_loss(error):
                self._sent = (None, None)
            raise
        finally:
            for reference in pending:
                ray.cancel(reference, force=False)

    def is_loss(self, error: BaseException) -> bool:
        return mentions(error, ["WorkerCrashedError", "RayActorError", "NodeDiedError", "ObjectLostError",
                                "OwnerDiedError", "OutOfMemoryError"])  # fmt: skip

    def roster(self) -> dict[str, int]:
        nodes = (node for node in self.ray.nodes() if node["Alive"])
        return {node["NodeID"]: max(1, int(node["Resources"].get("CPU", 0))) for node in nodes}

    def _stored(self, function: Any) -> Any:
        if self._sent[0] is not function:
            try:
                packed = dumped(function)
            except Exception as error:
                raise ModelError("model", got=f"a model that cannot be sent to other processes ({error})",
                                 wanted="one that can be pickled", hint="n_jobs=2, for threads of this process"
                                 ) from error  # fmt: skip
            self._sent = (function, self.ray.put(packed))
        return self._sent[1]


def _got(ray: Any, reference: Any, timeout: float | None) -> Done:
    try:
        done: Done = ray.get(reference, timeout=timeout)
    except ray.exceptions.GetTimeoutError as error:
        raise TimeoutError from error
    except ray.exceptions.RayTaskError as error:  # an error of the task's own, behind Ray's
        raise error.cause from None
    return done


def _do_stored(stored: list[Any], places: list[str], group: Group) -> Done:
    """Does a group in a worker, with the function that is behind a reference; unpacked when it is new."""
    import ray

    name = stored[0].hex()
    if name not in _held:
        _held.clear()
        sys.path.extend(place for place in places if place not in sys.path)
        _held[name] = pickle.loads(ray.get(stored[0]))
    return do(_held[name], group)
