"""Models, games of any size and workers of every kind for measurements of scaling, and the load of the machine."""

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

HOLDING, RELEASING = 1100, 24  # steps of the models below that take about 100 microseconds per row
WIDTH, BLOCK = 256, 64
EXAMPLES, RUN_DRAWS = 2500, 300  # of the run that is timed with each kind of workers
SECONDS = ("round", "rounds", "run")  # what is timed: one long round, all rounds of a run, and the run
PATIENCE = 20.0  # seconds to wait until the machine is idle


class LockHolding:
    """A model in plain Python, which holds the interpreter's lock."""

    def __init__(self, steps: int = HOLDING) -> None:
        self.steps = steps

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.array([self._predict_row(row) for row in np.asarray(Z).tolist()])

    def _predict_row(self, row: list[float]) -> float:
        wave, last = 0.0, row[-1]
        for _ in range(self.steps):
            wave = math.sin(wave + last)
        return row[0] * row[1] + row[2] + 0.1 * wave


class LockReleasing:
    """A model in NumPy, which releases the interpreter's lock, so that other threads can compute."""

    def __init__(self, steps: int = RELEASING) -> None:
        self.steps = steps

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.concatenate([self._predict_block(Z[first : first + BLOCK]) for first in range(0, len(Z), BLOCK)])

    def _predict_block(self, Z: np.ndarray) -> np.ndarray:
        wave = np.repeat(Z[:, -1:], WIDTH, axis=1)
        for _ in range(self.steps):
            wave = np.sin(wave + 1.0)
        return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2] + 0.1 * wave[:, 0])


def additive(Z: np.ndarray) -> np.ndarray:
    """A model that takes almost no time."""
    return np.asarray(Z[:, 0] * Z[:, 1] + Z[:, 2] + np.sin(Z[:, -1]))


def draw_data(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draws n examples of d features, and their responses."""
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    return X, additive(X) + rng.normal(size=n)


@dataclass(frozen=True)
class ScalingProblem:
    """A model on N examples of d features, with m background rows."""

    model: Any
    n: int = 1000
    d: int = 20
    m: int = 64
    batch_size: int | None = None
    seed: int = 0

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (*draw_data(self.n, self.d, self.seed), draw_data(self.m, self.d, self.seed + 1)[0])

    def game(self) -> Any:
        X, y, background = self.data
        f = cs.as_predictor(self.model, batch_size=self.batch_size)
        return cs.game(f, X, y, background=background, loss="squared error")


def after_draws(draws: int) -> Callable[[Any], bool]:
    """Returns a stopping rule: stop at the first evaluation with at least this many draws."""
    return lambda estimate: estimate.draws >= draws


@dataclass
class TimedExecutor:
    """An executor that records the seconds of each round and, if ``times_tasks``, of each task."""

    executor: Any
    times_tasks: bool = False
    rounds: list[float] = field(default_factory=list)
    tasks: list[tuple[Any, float]] = field(default_factory=list)

    def map(
        self, function: Callable[[Any], Any], tasks: Sequence[Any], time_left: Callable[[], float] = unlimited_time
    ) -> Generator[Any, None, None]:
        begun = time.perf_counter()
        yield from self.executor.map(self._timed(function) if self.times_tasks else function, tasks, time_left)
        self.rounds.append(time.perf_counter() - begun)

    def _timed(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def timed(task: Any) -> Any:
            begun = time.perf_counter()
            result = function(task)
            self.tasks.append((task, time.perf_counter() - begun))
            return result

        return timed


# workers


@contextmanager
def dask_cluster(workers: int, *, is_calm: bool = False) -> Iterator[Any]:
    """Starts a Dask cluster in a process of its own and yields a client.

    Workers that this process started itself would import the modules that it has imported.
    """
    from distributed import Client

    started = subprocess.Popen(
        [sys.executable, "-c", CLUSTER_SCRIPT, str(workers)],
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | (QUIET_SETTINGS if is_calm else {}),
    )
    try:
        with Client(started.stdout.readline().strip()) as client:
            client.wait_for_workers(workers)
            yield client
    finally:
        started.communicate("\n")


QUIET_SETTINGS = {  # a cluster does these for its dashboard every 10 to 20 ms, in every process
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "1s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "5s",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
CLUSTER_SCRIPT = """
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
    """Starts workers of a kind and yields them as an argument for ``n_jobs``; 1 for a single process."""
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
    """Starts workers of several kinds at once, and yields them by kind and number."""
    with ExitStack() as stack:
        yield {workers: stack.enter_context(engine_of(*workers)) for workers in kinds}


# The load of the machine


@dataclass
class MachineUse:
    """Processor time during a measurement.

    Attributes
    ----------
    others : cores used by other programs, on average
    busiest : seconds of a core used by the busiest of our processes, without waiting
    """

    others: float = 0.0
    busiest: float = 0.0


def wait_until_idle(least: float = 0.85) -> bool:
    """Waits, at most ``PATIENCE`` seconds, for a second in which nearly all cores are idle; returns whether it came."""
    import psutil

    ends = time.monotonic() + PATIENCE
    while True:
        if psutil.cpu_percent(interval=1.0) < 100 * (1 - least):
            return True
        if time.monotonic() > ends:
            return False


@contextmanager
def measured_use() -> Iterator[MachineUse]:
    """Measures the processor time of this process, its children and other programs while the block runs."""
    import psutil

    use, begun = MachineUse(), time.perf_counter()
    busy, before = _busy(psutil), _our_seconds(psutil)
    yield use
    seconds = time.perf_counter() - begun
    ours = {pid: used - before.get(pid, 0.0) for pid, used in _our_seconds(psutil).items()}
    use.others = round(max(0.0, _busy(psutil) - busy - sum(ours.values())) / seconds, 2)
    use.busiest = max(ours.values())


def _busy(psutil: Any) -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _our_seconds(psutil: Any) -> dict[int, float]:
    """Returns the processor seconds of this process and its children by process id; -1 for children that ended."""
    parent = psutil.Process()
    ended = parent.cpu_times()
    seconds = {-1: float(ended.children_user + ended.children_system)}
    for process in [parent, *parent.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        seconds[process.pid] = float(times.user + times.system)
    return seconds


def independent_processes(count: int, rows_each: int) -> float:
    """Runs the model alone in several processes at the same time; returns the seconds of the slowest one."""
    code = (
        "import sys, time, numpy as np; from scaling_workloads import LockHolding; Z = np.ones((int(sys.argv[1]), 20));"
        "f = LockHolding(); f(Z[:500]); begun = time.perf_counter(); f(Z); print(time.perf_counter() - begun)"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(rows_each)], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
        )
        for _ in range(count)
    ]
    return max(float(process.communicate()[0]) for process in started)
