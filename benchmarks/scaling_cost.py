"""What a run costs against N, d and m, beside a model of the cost; and what is spent beside the model's rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scaling_problems import Problem, Timed, at, engine_of, plain, rows
from scaling_simulator import rounds_of
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
TERMS = ("row", "cell of a row", "batch", "round", "number kept, in a round")
EMPTY_GROUPS = 64


class Network:
    """A small network in NumPy: a black box of a microsecond or so a row."""

    def __init__(self, d: int) -> None:
        self.weights = np.random.default_rng(d).normal(size=(d, 32)) / np.sqrt(d)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(plain(Z) + 0.1 * np.tanh(Z @ self.weights).sum(axis=1))


@cache
def black_box(d: int) -> Any:
    return Network(d)


@cache
def trees(d: int) -> Any:
    from lightgbm import LGBMRegressor

    X, y = rows(5000, d, seed=9)
    return LGBMRegressor(n_estimators=100, n_jobs=1, random_state=0, verbose=-1).fit(X, y)


MODELS: dict[str, Callable[[int], Any]] = {"black box": black_box, "LightGBM": trees}


def points() -> list[tuple[str, dict[str, int]]]:
    """Sizes that are tried: one of the three changes at a time."""
    return [(axis, {**BASE, axis: value}) for axis, values in AXES.items() for value in values]


def cost(model: str, sizes: dict[str, int]) -> dict[str, Any]:
    """Seconds of a core and model rows of a run to so many draws, and of one to the default tolerance."""
    problem = Problem(MODELS[model](sizes["d"]), **sizes)
    X, y, background = problem.data
    ends, fixed = [], []
    for _ in range(REPEATS):
        begun = time.process_time()
        game = problem.game()
        ends.append(time.process_time() - begun)
        counted = Timed(Serial(), tasks=True)
        begun = time.process_time()
        found = estimate(game, PairedWalks(), stop=[at(DRAWS)], executor=counted)
        fixed.append(time.process_time() - begun)
    begun = time.process_time()
    usual = cs.sage(problem.model, X, y, background=background, loss="squared error", rng=0)
    default = time.process_time() - begun
    return {
        "model": model,
        **sizes,
        "draws": found.draws,
        "rows": found.model_rows,
        "ends rows": game.rows_spent,
        "batches": len(counted.found),
        "rounds": len(counted.rounds),
        "ends": min(ends),
        "seconds": min(fixed),
        "default seconds": default,
        "default rows": usual.model_rows,
        "default draws": usual.draws,
        "default method": usual.method,
    }


def terms(cell: dict[str, Any]) -> list[float]:
    """What seconds are made of: so many rows, cells, batches, rounds, and numbers that are read in every round."""
    drawn = cell["rows"] - cell["ends rows"]
    return [drawn, drawn * cell["d"], cell["batches"], cell["rounds"], cell["rounds"] * cell["n"] * cell["d"]]


def fitted(cells: list[dict[str, Any]]) -> tuple[dict[str, float], list[float]]:
    """Seconds of each term, none below zero, so that relative errors are least; and what they say of the cells."""
    A, b = np.array([terms(cell) for cell in cells]), np.array([cell["seconds"] for cell in cells])
    found, _ = nnls(A / b[:, None], np.ones(len(b)))
    return dict(zip(TERMS, found.tolist(), strict=True)), (A @ found).tolist()


# beside the rows


def nothing(task: Any) -> None:
    """A task that takes no time."""


def of_engine(kind: str, workers: int = 2) -> dict[str, Any]:
    """Seconds of a round and of a group of empty tasks, when workers are there and have done some before."""
    with engine_of(kind, workers) as engine:
        few, many = [], []
        scheduler = Scheduler(engine, group=1)
        for count, found in ((4, []), *[pair for _ in range(12) for pair in ((1, few), (EMPTY_GROUPS, many))]):
            begun = time.perf_counter()
            list(scheduler.map(nothing, range(count)))
            found.append(time.perf_counter() - begun)
    group = max(0.0, (min(many) - min(few)) / (EMPTY_GROUPS - 1))
    return {"engine": kind, "round": min(few) - group, "group": group}


def of_parent(n: int, d: int) -> dict[str, Any]:
    """Seconds of what a process does beside model rows: a batch's fixed cost, merging, reading, a checkpoint."""
    problem = Problem(plain, n=n, d=d, m=64)
    game = problem.game()
    estimator, rounds = rounds_of(game, min(2 * n, 20_000))
    work = ChunkSampler(estimator, game, 0)
    one, more = replace(rounds[0][0], draws=1), replace(rounds[0][0], draws=17)
    call, calls = _least(lambda: work(one), 40), _least(lambda: work(more), 40)
    state = work(rounds[-1][0])
    merging = []
    for chunk in [chunk for tasks in rounds for chunk in tasks][:40]:
        part = work(chunk)
        begun = time.perf_counter()
        state = estimator.merge(state, part)
        merging.append(time.perf_counter() - begun)
    with TemporaryDirectory() as folder:
        kept = TimedCheckpoint(Path(folder) / "run.checkpoint", {})
        estimate(game, PairedWalks(), stop=[at(2000)], checkpoint=kept)
        size = kept.file.stat().st_size
    return {
        "n": n,
        "d": d,
        "batch": max(0.0, call - (calls - call) / 16),
        "merge": float(np.median(merging)),
        "read": _least(lambda: estimator.read(game, state), 10),
        "checkpoint": float(np.median(kept.seconds)),
        "checkpoint bytes": size,
    }


class TimedCheckpoint(Checkpoint):
    """A checkpoint that takes down how long each writing took."""

    def __init__(self, file: Path, identity: dict[str, Any]) -> None:
        super().__init__(file, identity)
        self.seconds: list[float] = []

    def write(self, run: Any, estimator: Any) -> None:
        begun = time.perf_counter()
        super().write(run, estimator)
        self.seconds.append(time.perf_counter() - begun)


def _least(call: Callable[[], Any], repeats: int) -> float:
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        found.append(time.perf_counter() - begun)
    return min(found)
