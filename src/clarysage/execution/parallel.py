"""Who computes: this process, workers of this machine, or those of a cluster."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from clarysage.errors import InputError
from clarysage.execution.crew import Crew
from clarysage.execution.dask import Dask
from clarysage.execution.engine import Engine
from clarysage.execution.local import Local
from clarysage.execution.ray import Ray
from clarysage.execution.serial import Serial
from clarysage.protocols import Executor

CLUSTERS: dict[str, Any] = {"dask": Dask, "ray": Ray}  # by the names that a command line has for them


def as_executor(n_jobs: Any) -> Executor:
    """Serial for one job, joblib for more, a cluster where one is given; None follows ``joblib.parallel_config``."""
    if isinstance(n_jobs, tuple(CLUSTERS.values())):
        return Crew(n_jobs)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError("n_jobs", got=f"{n_jobs!r}", wanted="a whole number of workers, -1 for all cores, a cluster "
                         "such as Dask(client) or Ray(address), or None")  # fmt: skip
    if n_jobs == 1:
        return Serial()
    engine = _configured() or Local(None if n_jobs is None else int(n_jobs))
    return Serial() if isinstance(engine, Local) and sum(engine.roster().values()) == 1 else Crew(engine)


def _configured() -> Engine | None:
    """The cluster that ``joblib.parallel_config`` has set, if it has."""
    from joblib.parallel import get_active_backend

    backend = get_active_backend()[0]
    kind = type(backend).__name__
    if kind == "DaskDistributedBackend":
        return Dask(backend.client)
    return Ray() if kind == "RayBackend" else None
