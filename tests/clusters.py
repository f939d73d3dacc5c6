"""Workers of every kind for tests: of this machine, and of small clusters that are started on it."""

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
    """A Dask cluster of so many processes, by its client; lost workers come up again."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "silence_logs": logging.CRITICAL, **options}
    with LocalCluster(n_workers=workers, threads_per_worker=1, **quiet) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def ray_cluster(workers: int = 2) -> Iterator[Any]:
    """A Ray cluster of so many processes, which this process is connected to."""
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
    """Two workers of a kind, as ``n_jobs`` takes them."""
    if kind == "dask":
        with dask_cluster() as client:
            yield cs.Dask(client)
    elif kind == "ray":
        with ray_cluster():
            yield cs.Ray()
    else:
        yield 2 if kind == "processes" else Joblib(2, backend="threading")


class Deadly:
    """A model whose worker is killed when it is asked, as often as there are marks left in a file."""

    def __init__(self, marks: Path, times: int) -> None:
        self.marks, self.parent = str(marks), os.getpid()
        marks.write_text("x" * times)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        left = Path(self.marks).read_text()
        if os.getpid() != self.parent and left:
            draft = Path(f"{self.marks}.{os.getpid()}")  # or a worker that is ended here leaves an empty file
            draft.write_text(left[1:])
            os.replace(draft, self.marks)
            os.kill(os.getpid(), signal.SIGKILL)
        return plain(Z)


class Slow:
    """A model that takes its time over every call in a worker, and leaves a mark of it."""

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
    """A model that leaves a mark whenever it is packed, and another whenever it is unpacked."""

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
    """The model behind those that do something besides."""
    return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2])


def made_up(n: int = 200, d: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Rows and responses."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d))
    return X, plain(X) + 0.1 * rng.normal(size=n)


def bits(found: cs.Explanation) -> list[Any]:
    """Everything that is computed."""
    targets = [getattr(target, name) for target in found.targets.values() for name in ("values", "std_error", "dof")]
    arrays = [found.values, found.std_error, found.covariance, found.trace, found.parts, *targets]
    counts = [found.draws, found.model_rows, found.stopped, found.total, found.base]
    return [None if array is None else np.asarray(array).tobytes() for array in arrays] + counts
