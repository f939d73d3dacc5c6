"""The cost of a run as a function of N, d and m, a regression on its causes, and the overheads besides model rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scaling_simulation import rounds_of
from scaling_workloads import ScalingProblem, TimedExecutor, additive, after_draws, draw_data, engine_of
from scipy.optimize import nnls

import clarysage as cs
from clarysage.estimators import PairedWalks, estimate
from clarysage.estimators.checkpoint import Checkpoint
from clarysage.estimators.loop import ChunkSampler
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial

BASE = {"n": 1000, "d": 16, "m": 128}
AXES = {"n": (250, 1000, 4000, 16_000, 64_000), "d": (4, 8, 16, 32, 64), "m": (32, 128, 512, 2048)}
DRAWS, REPEATS = 2000, 3
TERMS = ("row", "entry of a row", "batch", "round", "stored number and round")
EMPTY_GROUPS = 64


class Network:
    """A small network in NumPy: a black box that takes about a microsecond per row."""

    def __init__(self, d: int) -> None:
        self.weights = np.random.default_rng(d).normal(size=(d, 32)) / np.sqrt(d)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(additive(Z) + 0.1 * np.tanh(Z @ self.weights).sum(axis=1))


@cache
def black_box(d: int) -> Any:
    return Network(d)


@cache
def trees(d: int) -> Any:
    from lightgbm import LGBMRegressor

    X, y = draw_data(5000, d, seed=9)
    return LGBMRegressor(n_estimators=100, n_jobs=1, random_state=0, verbose=-1).fit(X, y)


MODELS: dict[str, Callable[[int], Any]] = {"black box": black_box, "LightGBM": trees}


def design_points() -> list[tuple[str, dict[str, int]]]:
    """Returns the sizes to measure: one of the three varies at a time."""
    return [(axis, {**BASE, axis: value}) for axis, values in AXES.items() for value in values]


def cost(model: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Measures processor seconds and model rows of a run of ``DRAWS`` draws, and of a run to the default tolerance."""
    problem = ScalingProblem(MODELS[model](sizes["d"]), **sizes)
    X, y, background = problem.data
    ends, fixed = [], []
    for _ in range(REPEATS):
        begun = time.process_time()
        game = problem.game()
        ends.append(time.process_time() - begun)
        executor = TimedExecutor(Serial(), times_tasks=True)
        begun = time.process_time()
        result = estimate(game, PairedWalks(), stop=[after_draws(DRAWS)], executor=executor)
        fixed.append(time.process_time() - begun)
    begun = time.process_time()
    explanation = cs.sage(problem.model, X, y, background=background, loss="squared error", rng=0)
    default = time.process_time() - begun
    return {
        "model": model,
        **sizes,
        "draws": result.draws,
        "rows": result.model_rows,
        "ends rows": game.rows_spent,
        "batches": len(executor.tasks),
        "rounds": len(executor.rounds),
        "ends": min(ends),
        "seconds": min(fixed),
        "default seconds": default,
        "default rows": explanation.model_rows,
        "default draws": explanation.draws,
        "default method": explanation.method,
    }


def regressors(cell: dict[str, Any]) -> list[float]:
    """Returns the numbers of rows, entries, batches and rounds, and of stored numbers that each round reads."""
    drawn = cell["rows"] - cell["ends rows"]
    return [drawn, drawn * cell["d"], cell["batches"], cell["rounds"], cell["rounds"] * cell["n"] * cell["d"]]


def fitted(cells: list[dict[str, Any]]) -> tuple[dict[str, float], list[float]]:
    """Fits the seconds of each term by non-negative least squares of relative errors; returns them and the fit."""
    A, b = np.array([regressors(cell) for cell in cells]), np.array([cell["seconds"] for cell in cells])
    coefficients, _ = nnls(A / b[:, None], np.ones(len(b)))
    return dict(zip(TERMS, coefficients.tolist(), strict=True)), (A @ coefficients).tolist()


# Overheads


def nothing(task: Any) -> None:
    """A task that takes no time."""


def overheads_of_workers(kind: str, workers: int = 2) -> dict[str, Any]:
    """Measures the seconds of a round and of a group of empty tasks, on workers that have already started."""
    with engine_of(kind, workers) as engine:
        few, many = [], []
        scheduler = Scheduler(engine, group=1)
        for count, seconds in ((4, []), *[pair for _ in range(12) for pair in ((1, few), (EMPTY_GROUPS, many))]):
            begun = time.perf_counter()
            list(scheduler.map(nothing, range(count)))
            seconds.append(time.perf_counter() - begun)
    group = max(0.0, (min(many) - min(few)) / (EMPTY_GROUPS - 1))
    return {"engine": kind, "round": min(few) - group, "group": group}


def overheads_of_parent(n: int, d: int) -> dict[str, Any]:
    """Measures what a process does besides model rows: the fixed cost of a batch, merge, evaluation, checkpoint."""
    problem = ScalingProblem(additive, n=n, d=d, m=64)
    game = problem.game()
    estimator, rounds = rounds_of(game, min(2 * n, 20_000))
    work = ChunkSampler(estimator, game, 0)
    short, long = replace(rounds[0][0], draws=1), replace(rounds[0][0], draws=17)
    short_time, long_time = _least(lambda: work(short), 40), _least(lambda: work(long), 40)
    state = work(rounds[-1][0])
    merging = []
    for chunk in [chunk for tasks in rounds for chunk in tasks][:40]:
        part = work(chunk)
        begun = time.perf_counter()
        state = estimator.merge(state, part)
        merging.append(time.perf_counter() - begun)
    with TemporaryDirectory() as folder:
        checkpoint = TimedCheckpoint(Path(folder) / "run.checkpoint", {})
        estimate(game, PairedWalks(), stop=[after_draws(2000)], checkpoint=checkpoint)
        size = checkpoint.file.stat().st_size
    return {
        "n": n,
        "d": d,
        "batch": max(0.0, short_time - (long_time - short_time) / 16),
        "merge": float(np.median(merging)),
        "read": _least(lambda: estimator.read(game, state), 10),
        "checkpoint": float(np.median(checkpoint.seconds)),
        "checkpoint bytes": size,
    }


class TimedCheckpoint(Checkpoint):
    """A checkpoint that records the seconds of each write."""

    def __init__(self, file: Path, identity: dict[str, Any]) -> None:
        super().__init__(file, identity)
        self.seconds: list[float] = []

    def write(self, run: Any, estimator: Any) -> None:
        begun = time.perf_counter()
        super().write(run, estimator)
        self.seconds.append(time.perf_counter() - begun)


def _least(call: Callable[[], Any], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return min(seconds)
