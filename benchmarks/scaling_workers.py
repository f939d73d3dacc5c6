"""Measurements of runs on workers: speed-up, start-up time, memory, and whether the results are bitwise equal."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scaling_simulation import rounds_of
from scaling_workloads import (
    EXAMPLES,
    RUN_DRAWS,
    SECONDS,
    LockHolding,
    LockReleasing,
    ScalingProblem,
    TimedExecutor,
    additive,
    after_draws,
    dask_cluster,
    draw_data,
    engine_of,
    engines_of,
    executor_of,
    independent_processes,
    measured_use,
    wait_until_idle,
)

import clarysage as cs
from clarysage.estimators import PairedWalks, estimate
from clarysage.estimators.limits import Chunk
from clarysage.estimators.loop import ChunkSampler
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial

PROCESSES = ("loky", "dask", "ray")
ROUND_AFTER = 1100  # draws; the round that is timed is the one that goes past them
SMALL_BATCH = 1024  # rows; a batch has half of them, which takes the model some hundredths of a second
MODELS = {"holding": LockHolding(), "releasing": LockReleasing()}
ROUNDS_PER_RUN = 2  # the long round is timed more often than the run, since it takes less time
Case = tuple[str, int | None]  # a model, and batch_size
BLOCKS: list[tuple[str, int, list[Case]]] = [  # kind and number of workers, and the cases that they compute
    ("loky", 2, [("holding", None), ("holding", SMALL_BATCH)]),
    ("threads", 2, [("holding", None), ("releasing", None)]),
    ("dask", 1, [("holding", None)]),
    ("dask", 2, [("holding", None), ("holding", SMALL_BATCH)]),
    ("dask, calm", 2, [("holding", None)]),
    ("ray", 1, [("holding", None)]),
    ("ray", 2, [("holding", None), ("holding", SMALL_BATCH)]),
]
INDEPENDENT, INDEPENDENT_ROWS = "processes apart", 35_000  # rows, as many as in the long round
MEGABYTES = (8, 80, 400)
COLUMNS_OF_MEMORY = 50


def round_after(game: Any, made: int) -> tuple[ChunkSampler, list[Chunk]]:
    """Returns the sampler of a run, and the batches of the round in which it gets past this number of draws."""
    estimator, rounds = rounds_of(game, made + 1)
    return ChunkSampler(estimator, game, 0), rounds[-1]


def speeds(repeats: int) -> list[dict[str, Any]]:
    """Times one process and the workers of each block alternately.

    Seconds are the minimum of the repetitions. Speed-ups are medians of the ratios between the workers and the process
    just before them, since the speed of a core may change by a third from one minute to the next. Blocks are measured
    one at a time, since an idle cluster still takes a part of the cores.
    """
    cells: list[dict[str, Any]] = []
    alone: dict[Case, list[dict[str, Any]]] = {}
    for kind, workers, cases in BLOCKS:
        with engine_of(kind, workers) as engine:
            pairs = [
                tuple(
                    speed(*case, *kind_and_workers, with_run=turn % ROUNDS_PER_RUN == 0)
                    for kind_and_workers in (("serial", 1, 1), (kind, workers, engine))
                )
                for turn in range(ROUNDS_PER_RUN * repeats)
                for case in cases
            ]
        for position, case in enumerate(cases):
            turns = pairs[position :: len(cases)]
            serial = fastest([process for process, _ in turns])
            ratios = {
                name: float(np.median([process[name] / shared[name] for process, shared in turns if name in process]))
                for name in (*SECONDS, "busiest in round")
                if name in serial
            }
            cells.append(
                {
                    **fastest([shared for _, shared in turns]),
                    "times sooner": ratios,
                    "batches alone": serial.get("of batches"),
                }
            )
            alone.setdefault(case, []).append(serial)
    return [*map(fastest, alone.values()), *cells]


def speed(
    model: str, batch_size: int | None, kind: str, workers: int, engine: Any, *, with_run: bool
) -> dict[str, Any]:
    """Times one long round and, on request, a run."""
    problem = ScalingProblem(MODELS[model], n=EXAMPLES, batch_size=batch_size)
    game = problem.game()
    work, chunks = round_after(game, ROUND_AFTER)
    executor = executor_of(engine)
    list(executor.map(work, chunks[:4]))  # workers unpack the data, and the scheduler sees how long batches take
    cell = {"model": model, "batch_size": batch_size, "engine": kind, "workers": workers, "batches": len(chunks)}
    wait_until_idle()
    with measured_use() as use:
        begun = time.perf_counter()
        list(executor.map(work, chunks))
        cell["round"] = time.perf_counter() - begun
    cell |= {"others in round": use.others, "busiest in round": use.busiest}
    if with_run and model == "holding":
        wait_until_idle()
        with measured_use() as use:
            cell |= timed_run(problem, engine)
        cell |= {"others in run": use.others, "busiest in run": use.busiest}
    return cell


def fastest(repetitions: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the numbers of the fastest run and those of the fastest long round."""
    cell = dict(min(repetitions, key=lambda repetition: repetition.get("run", float("inf"))))
    best = min(repetitions, key=lambda repetition: repetition["round"])
    cell |= {name: best[name] for name in ("round", "others in round")}
    cell["busiest in round"] = min(repetition["busiest in round"] for repetition in repetitions)
    return cell


def doubled(kind: str, turns: int) -> dict[str, Any]:
    """Times one long round on one worker and on two of the same kind, alternately, with new workers each time."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(turns):
        for workers in (1, 2) if turn % 2 == 0 else (2, 1):
            taken[workers].append(independent_round(workers) if kind == INDEPENDENT else long_round(kind, workers))
    ratios = np.array(taken[1]) / np.array(taken[2])
    return {
        "engine": kind,
        "turns": turns,
        "one": float(np.median(taken[1])),
        "two": float(np.median(taken[2])),
        "times sooner": np.quantile(ratios, [0.25, 0.5, 0.75]).tolist(),
    }


def long_round(kind: str, workers: int) -> float:
    with engine_of(kind, workers) as engine:
        return float(speed("holding", None, kind, workers, engine, with_run=False)["round"])


def independent_round(processes: int) -> float:
    """Times as many model rows in processes that do not communicate."""
    wait_until_idle()
    return independent_processes(processes, INDEPENDENT_ROWS // processes)


def timed_run(problem: ScalingProblem, engine: Any) -> dict[str, Any]:
    """Times a run and its parts: null and full payoffs, rounds, and what is between (pilot, evaluations)."""
    begun = time.perf_counter()
    game = problem.game()
    ends = time.perf_counter() - begun
    executor = TimedExecutor(executor_of(engine), times_tasks=engine == 1)
    result = estimate(game, PairedWalks(), stop=[after_draws(RUN_DRAWS)], executor=executor)
    seconds = time.perf_counter() - begun
    batches = [(chunk.draws, taken) for chunk, taken in executor.tasks]
    return {
        "run": seconds,
        "rounds": sum(executor.rounds),
        "ends": ends,
        "between": seconds - ends - sum(executor.rounds),
        "each": executor.rounds,
        "draws": result.draws,
        "rows": result.model_rows,
        "of batches": batches,
    }


# Start


def short_run(n_jobs: Any) -> float:
    """Returns the seconds of a very short run."""
    X, y = draw_data(200, 8)
    begun = time.perf_counter()
    cs.sage(
        additive,
        X,
        y,
        background=X[:64],
        loss="squared error",
        method="paired walks",
        tolerance=0.05,
        rng=0,
        n_jobs=n_jobs,
    )
    return time.perf_counter() - begun


def start(kind: str) -> dict[str, Any]:
    """Times short runs on new workers, which have not imported the library: the first, later ones, and one process."""
    short_run(1)
    alone = min(short_run(1) for _ in range(5))
    with engine_of(kind, 2) as engine:
        wait_until_idle()
        with measured_use() as use:
            first = short_run(engine)
            later = [short_run(_new_backend(kind, engine)) for _ in range(3)]
    return {"engine": kind, "alone": alone, "first": first - alone, "later": min(later) - alone, "others": use.others}


def start_connected() -> dict[str, Any]:
    """Times the same runs with the address of a Dask scheduler, so that each makes a client."""
    alone = min(short_run(1) for _ in range(5))
    with dask_cluster(2) as client:
        address = client.scheduler.address
        first, later = short_run(cs.Dask(address)), [short_run(cs.Dask(address)) for _ in range(3)]
    return {"engine": "dask by address", "alone": alone, "first": first - alone, "later": min(later) - alone}


def _new_backend(kind: str, engine: Any) -> Any:
    return {"dask": lambda: cs.Dask(engine.client), "ray": cs.Ray}.get(kind, lambda: engine)()


# Memory


def process_memory(task: Any) -> tuple[int, dict[str, int]]:
    """Returns the id of this process and its memory in bytes: the peak, and what is private and shared now."""
    time.sleep(0.1)
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    names = {"VmHWM:": "peak", "RssAnon:": "own", "RssFile:": "mapped", "RssShmem:": "shared"}
    return os.getpid(), {names[line[0]]: 1024 * int(line[1]) for line in lines if line[0] in names}


def memory(kind: str, megabytes: int) -> dict[str, Any]:
    """Returns the largest peak of a worker in a run on data of this size; 0 stands for very small data."""
    n = max(200, megabytes * 10**6 // (8 * COLUMNS_OF_MEMORY))
    problem = ScalingProblem(additive, n=n, d=COLUMNS_OF_MEMORY)
    X, y, background = problem.data
    with engine_of(kind, 2) as engine:
        budget = n + len(background) + 1_000_000
        cs.sage(
            additive,
            X,
            y,
            background=background,
            loss="squared error",
            method="paired walks",
            budget=budget,
            rng=0,
            n_jobs=engine,
        )
        by_process = dict(Scheduler(engine, group=1).map(process_memory, range(8)))
    largest = max(by_process.values(), key=lambda process: process["peak"])
    return {"engine": kind, "megabytes": megabytes, "examples": n, "workers seen": len(by_process), **largest}


# Bits


def bits(seeds: int, kinds: Sequence[str] = ("serial", "loky", "threads", "dask", "ray")) -> dict[str, Any]:
    """Counts the runs to a stopping rule whose results are bitwise those of one process, for each kind of workers.

    Each round is sent in groups of 1 to 3 batches, since rounds as short as these would be computed in the parent.
    """
    same, by_rule = dict.fromkeys(kinds, 0), 0
    with engines_of([(kind, 1 if kind == "serial" else 2) for kind in kinds]) as engines:
        for seed in range(seeds):
            game = ScalingProblem(additive, n=100, d=6, m=32, batch_size=2048, seed=seed).game()
            expected = estimate(game, PairedWalks(), stop=[cs.Converged(0.08)], executor=Serial(), seed=seed)
            by_rule += expected.stopped.is_converged
            for (kind, _), engine in engines.items():
                executor = Serial() if kind == "serial" else Scheduler(engine, group=1 + seed % 3)
                stop = [cs.Converged(0.08)]
                result = estimate(game, PairedWalks(), stop=stop, executor=executor, seed=seed)
                same[kind] += _bytes(result) == _bytes(expected)
    return {"seeds": seeds, "stopped by the rule": by_rule, "same": same}


def _bytes(result: Any) -> list[Any]:
    targets = [getattr(target, name) for target in result.targets.values() for name in ("values", "std_error", "dof")]
    arrays = [result.values, result.covariance, result.dof, result.components.contributions, result.trace, *targets]
    return [None if array is None else np.asarray(array).tobytes() for array in arrays] + [
        result.draws,
        result.model_rows,
        result.stopped,
        result.coverage,
        result.clipped,
    ]
