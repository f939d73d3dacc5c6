"""What scaling is measured on: models that hold a core, games of any size, workers of every kind, a quiet machine."""

from __future__ import annotations

import logging
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import clarysage as cs
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial
from clarysage.protocols import unlimited_time

HOLDING, RELEASING = 1100, 24  # steps of the models below that take about 100 microseconds a row
WIDTH, BLOCK = 256, 64
PATIENCE = 20.0  # seconds to wait for a quiet machine


class Holding:
    """A model in plain Python, which holds the interpreter's lock and a core as long as it is asked."""

    def __init__(self, steps: int = HOLDING) -> None:
        self.steps = steps

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.array([self._one(row) for row in np.asarray(Z).tolist()])

    def _one(self, row: list[float]) -> float:
        wave, last = 0.0, row[-1]
        for _ in range(self.steps):
            wave = math.sin(wave + last)
        return row[0] * row[1] + row[2] + 0.1 * wave


class Releasing:
    """A model in NumPy, which lets other threads compute meanwhile."""

    def __init__(self, steps: int = RELEASING) -> None:
        self.steps = steps

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.concatenate([self._some(Z[first : first + BLOCK]) for first in range(0, len(Z), BLOCK)])

    def _some(self, Z: np.ndarray) -> np.ndarray:
        wave = np.repeat(Z[:, -1:], WIDTH, axis=1)
        for _ in range(self.steps):
            wave = np.sin(wave + 1.0)
        return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2] + 0.1 * wave[:, 0])


def plain(Z: np.ndarray) -> np.ndarray:
    """A model that takes next to nothing."""
    return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2] + np.sin(Z[:, -1]))


def rows(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Examples and responses."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X, plain(X) + rng.normal(size=n)


@dataclass(frozen=True)
class Problem:
    """A model on N examples of d features, with m background rows."""

    model: Any
    n: int = 1000
    d: int = 20
    m: int = 64
    batch_size: int | None = None
    seed: int = 0

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (*rows(self.n, self.d, self.seed), rows(self.m, self.d, self.seed + 1)[0])

    def game(self) -> Any:
        X, y, background = self.data
        f = cs.as_predictor(self.model, batch_size=self.batch_size)
        return cs.game(f, X, y, background=background, loss="squared error")


def at(draws: int) -> Callable[[Any], bool]:
    """A rule that stops at the first look at so many draws."""
    return lambda estimate: estimate.draws >= draws


@dataclass
class Timed:
    """An executor that takes down how long each round took, and each task of it where it is told to."""

    executor: Any
    tasks: bool = False
    rounds: list[float] = field(default_factory=list)
    found: list[tuple[Any, float]] = field(default_factory=list)

    def map(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], time_left: Callable[[], float] = unlimited_time
    ) -> Generator[Any, None, None]:
        begun = time.perf_counter()
        yield from self.executor.map(self._timed(function) if self.tasks else function, tasks, time_left)
        self.rounds.append(time.perf_counter() - begun)

    def _timed(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed(task: Any) -> Any:
            begun = time.perf_counter()
            result = function(task)
            self.found.append((task, time.perf_counter() - begun))
            return result

        return timed


# workers


@contextmanager
def dask_cluster(workers: int, *, is_calm: bool = False) -> Iterator[Any]:
    """By its client. Workers know nothing of this process: those that it starts itself would import what it has."""
    from distributed import Client

    started = subprocess.Popen(
        [sys.executable, "-c", CLUSTER, str(workers)],
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | (CALM if is_calm else {}),
    )
    try:
        with Client(started.stdout.readline().strip()) as client:
            client.wait_for_workers(workers)
            yield client
    finally:
        started.communicate("\n")


CALM = {  # what a cluster does for its dashboard, every 10 to 20 ms in every process
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
CLUSTER = """
import logging, sys
from distributed import LocalCluster
with LocalCluster(n_workers=int(sys.argv[1]), threads_per_worker=1, dashboard_address="127.0.0.1:0",
                  silence_logs=logging.CRITICAL, memory_limit=0) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.readline()
"""


@contextmanager
def ray_cluster(workers: int) -> Iterator[Any]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    ray.init(
        num_cpus=workers,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
        object_store_memory=1_500_000_000,
    )
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def engine_of(kind: str, workers: int) -> Iterator[Any]:
    """Workers of a kind, as ``n_jobs`` takes them; 1 for a process by itself. New ones, where they are processes."""
    if kind == "serial":
        yield 1
    elif kind == "threads":
        yield Joblib(workers, backend="threading")
    elif kind == "loky":
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor(max_workers=workers).shutdown(wait=True)
        try:
            yield Joblib(workers)
        finally:
            get_reusable_executor(max_workers=workers).shutdown(wait=True)
    elif kind.startswith("dask"):
        with dask_cluster(workers, is_calm=kind == "dask, calm") as client:
            yield cs.Dask(client)
    else:
        with ray_cluster(workers):
            yield cs.Ray()


def executor_of(engine: Any) -> Any:
    return Serial() if engine == 1 else Scheduler(engine)


@contextmanager
def engines_of(kinds: Sequence[tuple[str, int]]) -> Iterator[dict[tuple[str, int], Any]]:
    """Workers of several kinds at once, by their kind and number."""
    with ExitStack() as stack:
        yield {workers: stack.enter_context(engine_of(*workers)) for workers in kinds}


# a machine that others may be using


@dataclass
class Watched:
    """What was done with the machine meanwhile.

    Attributes
    ----------
    others : cores that others have used, on average
    busiest : seconds of a core that the busiest of our processes has used, which is what it takes on a machine of our
        own, but for waiting
    """

    others: float = 0.0
    busiest: float = 0.0


def is_quiet(least: float = 0.85) -> bool:
    """Waits until nearly all cores are idle for a second, as long as there is patience; whether they are."""
    import psutil

    ends = time.monotonic() + PATIENCE
    while True:
        if psutil.cpu_percent(interval=1.0) < 100 * (1 - least):
            return True
        if time.monotonic() > ends:
            return False


@contextmanager
def watched() -> Iterator[Watched]:
    """Takes down what others do with the machine while something is measured."""
    import psutil

    found, begun = Watched(), time.perf_counter()
    busy, own = _busy(psutil), _own(psutil)
    yield found
    took, ours = time.perf_counter() - begun, {pid: used - own.get(pid, 0.0) for pid, used in _own(psutil).items()}
    found.others = round(max(0.0, _busy(psutil) - busy - sum(ours.values())) / took, 2)
    found.busiest = max(ours.values())


def _busy(psutil: Any) -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _own(psutil: Any) -> dict[int, float]:
    """Seconds of cores that this process and those it has started have used, by their numbers; -1 for those ended."""
    here = psutil.Process()
    ended = here.cpu_times()
    found = {-1: float(ended.children_user + ended.children_system)}
    for process in [here, *here.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        found[process.pid] = float(times.user + times.system)
    return found


def bare_processes(count: int, rows_each: int) -> float:
    """Seconds that so many processes take for the model alone, each for so many rows, at the same time: the longest."""
    code = (
        "import sys, time, numpy as np; from scaling_problems import Holding; Z = np.ones((int(sys.argv[1]), 20));"
        "f = Holding(); f(Z[:500]); begun = time.perf_counter(); f(Z); print(time.perf_counter() - begun)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(rows_each)], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    return max(float(one.communicate()[0]) for one in started)
