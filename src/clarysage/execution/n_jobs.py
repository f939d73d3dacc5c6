"""Who computes: this process, workers of this machine, or those of a cluster."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from clarysage.catalogue import BACKENDS
from clarysage.errors import InputError, Set
from clarysage.execution.backend import WorkerBackend
from clarysage.execution.dask import Dask
from clarysage.execution.joblib import Joblib
from clarysage.execution.ray import Ray
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial
from clarysage.protocols import Executor

OF_DASK = ("Client", "Cluster")  # classes that lead to a cluster by themselves


def workers_of(n_jobs: int, backend: str = "processes", address: str | None = None) -> Any:
    """Workers by names, as a command line has them: something that :func:`as_executor` takes.

    Examples
    --------
    >>> workers_of(2), workers_of(1, "dask", "tcp://scheduler:8786")
    (2, Dask('tcp://scheduler:8786'))
    """
    row = BACKENDS.get_row(backend)
    if not row.is_cluster:
        if address is not None:
            *others, last = (f'"{other.name}"' for other in BACKENDS.values() if other.is_cluster)
            raise InputError(
                "address",
                got=f"{address!r} with {row.name} of this machine",
                wanted=f"{', '.join(others)} or {last} as backend",
                hint=Set("backend", "dask"),
            )
        return row(n_jobs)
    if row.needs_address and address is None:
        raise InputError("address", got="none", wanted="that of a scheduler", hint=Set("address", row.address))
    if n_jobs != 1:
        raise InputError("n_jobs", got=f"{n_jobs} beside a cluster, which has its own number of workers", wanted="1")
    return row(address)


def processes(n_jobs: int) -> int:
    """So many processes of this machine: what a plain number means."""
    return n_jobs


def threads(n_jobs: int) -> Joblib:
    """So many threads of this process."""
    if n_jobs == 1:
        raise InputError(
            "n_jobs",
            got="1 with threads",
            wanted="how many there are to be",
            hint=[Set("n_jobs", -1), ", for one a core"],
        )
    return Joblib(n_jobs, backend="threading")


def as_executor(n_jobs: Any) -> Executor:
    """Serial for one job, joblib for more, a cluster where one is given; None follows ``joblib.parallel_config``."""
    if any(kind.__name__ in OF_DASK and kind.__module__.startswith("distributed.") for kind in type(n_jobs).__mro__):
        return Scheduler(Dask(n_jobs))
    if isinstance(n_jobs, WorkerBackend) and not isinstance(n_jobs, type):
        return Scheduler(n_jobs)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(
            "n_jobs",
            got=f"{n_jobs!r}",
            wanted="a whole number of workers, -1 for all cores, a cluster "
            "by a Dask client, Dask(address) or Ray(address), or None",
        )
    if n_jobs == 1:
        return Serial()
    engine = _configured() or Joblib(None if n_jobs is None else int(n_jobs))
    return Serial() if isinstance(engine, Joblib) and engine.workers() == 1 else Scheduler(engine)


def _configured() -> WorkerBackend | None:
    """The cluster that ``joblib.parallel_config`` has set, if it has."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        return Dask(backend.client)
    return Ray() if kind == "RayBackend" else None
