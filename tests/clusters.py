"""Workers of every kind for tests: processes and threads of this machine, and small clusters on it."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import clarysage as cs
from clarysage.execution.joblib import Joblib

KINDS = ("processes", "threads", "dask", "ray")


@contextmanager
def dask_cluster(workers: int = 2, **options: Any) -> Iterator[Any]:
    """Starts a Dask cluster and yields its client; lost workers are restarted."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL, **options}
    with LocalCluster(n_workers=workers, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def ray_cluster(workers: int = 2) -> Iterator[Any]:
    """Starts a Ray cluster and connects this process to it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    ray.init(
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=200_000_000,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def backend_of(kind: str) -> Iterator[Any]:
    """Starts two workers of a kind and yields them as an argument for ``n_jobs``."""
    if kind == "dask":
        with dask_cluster() as client:
            yield cs.Dask(client)
    elif kind == "ray":
        with ray_cluster():
            yield cs.Ray()
    else:
        yield 2 if kind == "processes" else Joblib(2, backend="threading")


class Deadly:
    """A model that kills its worker when it is called, as often as there are marks left in a file."""

    def __init__(self, marks: Path, times: int) -> None:
        self.marks, self.parent = str(marks), os.getpid()
        marks.write_text("x" * times)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        left = Path(self.marks).read_text()
        if os.getpid() != self.parent and left:
            draft = Path(f"{self.marks}.{os.getpid()}")  # atomic: a worker that dies here must not leave an empty file
            draft.write_text(left[1:])
            os.replace(draft, self.marks)
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(Z)


class Slow:
    """A model that is slow in workers, and writes a mark at every call there."""

    def __init__(self, marks: Path, seconds: float) -> None:
        self.marks, self.seconds, self.parent = str(marks), seconds, os.getpid()
        marks.write_text("")

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        import time

        if os.getpid() != self.parent:
            with open(self.marks, "a") as file:
                file.write(".")
            time.sleep(self.seconds)
        return plain(Z)


class Counting:
    """A model that writes a mark whenever it is pickled or unpickled."""

    def __init__(self, marks: Path) -> None:
        self.marks = str(marks)
        marks.write_text("")

    def __getstate__(self) -> dict[str, Any]:
        self._mark("packed\n")
        return {"marks": self.marks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._mark(f"unpacked {os.getpid()}\n")

    def _mark(self, text: str) -> None:
        with open(self.marks, "a") as file:
            file.write(text)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return plain(Z)


def plain(Z: np.ndarray) -> np.ndarray:
    """The model that the others wrap."""
    return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2])


def made_up(n: int = 200, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Draws rows and responses."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    return X, plain(X) + 0.1 * rng.normal(size=n)


def bits(explanation: cs.Explanation) -> list[Any]:
    """Returns the bytes of all computed arrays, and all counts."""
    targets = [
        getattr(target, name) for target in explanation.targets.values() for name in ("values", "std_error", "dof")
    ]
    arrays = [
        explanation.values,
        explanation.std_error,
        explanation.covariance,
        explanation.trace,
        explanation.parts,
        *targets,
    ]
    counts = [explanation.draws, explanation.model_rows, explanation.stopped, explanation.total, explanation.base]
    return [None if array is None else np.asarray(array).tobytes() for array in arrays] + counts
