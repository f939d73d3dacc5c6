"""Executors from the argument ``n_jobs``: a number of workers of this machine, or a cluster."""

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

DASK_CLASSES = ("Client", "Cluster")  # Dask classes that are a cluster or are connected to one


def workers_of(n_jobs: int, backend: str = "processes", address: str | None = None) -> Any:
    """Returns the ``n_jobs`` that the options of the command line stand for, as :func:`as_executor` takes it.

    Examples
    --------
    >>> workers_of(2), workers_of(1, "dask", "tcp://scheduler:8786")
    (2, Dask('tcp://scheduler:8786'))
    """
    row = BACKENDS.get_row(backend)
    if not row.is_cluster:
        if address is not None:
            *others, last = (f'"{cluster.name}"' for cluster in BACKENDS.values() if cluster.is_cluster)
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
        raise InputError("n_jobs", got=f"{n_jobs} with a cluster, which has its own number of workers", wanted="1")
    return row(address)


def processes(n_jobs: int) -> int:
    """Returns the number unchanged, since a number as ``n_jobs`` stands for processes of this machine."""
    return n_jobs


def threads(n_jobs: int) -> Joblib:
    """Returns a backend of ``n_jobs`` threads of this process."""
    if n_jobs == 1:
        raise InputError(
            "n_jobs",
            got="1 with threads",
            wanted="the number of threads",
            hint=[Set("n_jobs", -1), ", for one thread per core"],
        )
    return Joblib(n_jobs, backend="threading")


def as_executor(n_jobs: Any) -> Executor:
    """Returns a serial executor for one job, else a scheduler for joblib or for the cluster given.

    None follows ``joblib.parallel_config``.
    """
    if any(cls.__name__ in DASK_CLASSES and cls.__module__.startswith("distributed.") for cls in type(n_jobs).__mro__):
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
    backend = _configured_cluster() or Joblib(None if n_jobs is None else int(n_jobs))
    return Serial() if isinstance(backend, Joblib) and backend.workers() == 1 else Scheduler(backend)


def _configured_cluster() -> WorkerBackend | None:
    """Returns the cluster that ``joblib.parallel_config`` has set, or None."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    name = type(backend).__name__
    if name == "DaskDistributedBackend":
        return Dask(backend.client)
    return Ray() if name == "RayBackend" else None
