"""What workers do for a run: how much sooner it ends, what starting takes, memory, and whether bits are the same."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scaling_problems import (
    Holding,
    Problem,
    Releasing,
    Timed,
    at,
    bare_processes,
    dask_cluster,
    engine_of,
    engines_of,
    executor_of,
    is_quiet,
    plain,
    rows,
    watched,
)
from scaling_simulator import rounds_of

import clarysage as cs
from clarysage.estimators import PairedWalks, estimate
from clarysage.estimators.limits import Chunk
from clarysage.estimators.loop import ChunkSampler
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial

PROCESSES = ("loky", "dask", "ray")
EXAMPLES, MADE, RUN = 2500, 1100, 300  # draws that the round that is timed goes past; draws of the whole run
SMALL_BATCH = 1024  # rows, of which a batch has half: some hundredths of a second of the model
SECONDS = ("round", "rounds", "run")  # of one long round, of all rounds of a run, and of the run
MODELS = {"holding": Holding(), "releasing": Releasing()}
TURNS_PER_RUN = 2  # of the long round, which is quicker done
Case = tuple[str, int | None]  # a model, and batch_size
BLOCKS: list[tuple[str, int, list[Case]]] = [  # workers, and what they compute by turns with one process
    ("loky", 2, [("holding", None), ("holding", SMALL_BATCH)]),
    ("threads", 2, [("holding", None), ("releasing", None)]),
    ("dask", 1, [("holding", None)]),
    ("dask", 2, [("holding", None), ("holding", SMALL_BATCH)]),
    ("dask, calm", 2, [("holding", None)]),
    ("ray", 1, [("holding", None)]),
    ("ray", 2, [("holding", None), ("holding", SMALL_BATCH)]),
]
APART, ROWS_APART = "processes apart", 35_000  # rows, as many as in the long round
MEGABYTES = (8, 80, 400)
COLUMNS_OF_MEMORY = 50


def round_after(game: Any, made: int) -> tuple[ChunkSampler, list[Chunk]]:
    """The work of a run, and the batches of the round within which it comes to more than so many draws."""
    estimator, rounds = rounds_of(game, made + 1)
    return ChunkSampler(estimator, game, 0), rounds[-1]


def speeds(repeats: int) -> list[dict[str, Any]]:
    """One process and the workers of a block by turns, again and again: the least seconds of each, and by how much
    workers were sooner than the process just before them, the median of all turns.

    One block at a time: clusters take a part of the cores even when they have nothing to do. Ratios by turns, as the
    pace of a core may change by a third from one minute to the next.
    """
    found: list[dict[str, Any]] = []
    alone: dict[Case, list[dict[str, Any]]] = {}
    for kind, workers, cases in BLOCKS:
        with engine_of(kind, workers) as engine:
            pairs = [
                tuple(
                    speed(*case, *kind_and_workers, with_run=turn % TURNS_PER_RUN == 0)
                    for kind_and_workers in (("serial", 1, 1), (kind, workers, engine))
                )
                for turn in range(TURNS_PER_RUN * repeats)
                for case in cases
            ]
        for place, case in enumerate(cases):
            by_turns = pairs[place :: len(cases)]
            twin = quietest([one for one, _ in by_turns])
            ratios = {
                name: float(np.median([one[name] / other[name] for one, other in by_turns if name in one]))
                for name in (*SECONDS, "busiest in round")
                if name in twin
            }
            found.append(
                {
                    **quietest([other for _, other in by_turns]),
                    "times sooner": ratios,
                    "batches alone": twin.get("of batches"),
                }
            )
            alone.setdefault(case, []).append(twin)
    return [*map(quietest, alone.values()), *found]


def speed(
    model: str, batch_size: int | None, kind: str, workers: int, engine: Any, *, with_run: bool
) -> dict[str, Any]:
    """Seconds of one long round, and of a run."""
    problem = Problem(MODELS[model], n=EXAMPLES, batch_size=batch_size)
    game = problem.game()
    work, chunks = round_after(game, MADE)
    executor = executor_of(engine)
    list(executor.map(work, chunks[:4]))  # workers unpack what they are sent, and it is seen how long batches take
    found = {"model": model, "batch_size": batch_size, "engine": kind, "workers": workers, "batches": len(chunks)}
    is_quiet()
    with watched() as use:
        begun = time.perf_counter()
        list(executor.map(work, chunks))
        found["round"] = time.perf_counter() - begun
    found |= {"others in round": use.others, "busiest in round": use.busiest}
    if with_run and model == "holding":
        is_quiet()
        with watched() as use:
            found |= whole_run(problem, engine)
        found |= {"others in run": use.others, "busiest in run": use.busiest}
    return found


def quietest(each: list[dict[str, Any]]) -> dict[str, Any]:
    """The least seconds of repeats; what is told of a run is that of the quickest."""
    found = dict(min(each, key=lambda one: one.get("run", float("inf"))))
    best = min(each, key=lambda one: one["round"])
    found |= {name: best[name] for name in ("round", "others in round")}
    found["busiest in round"] = min(one["busiest in round"] for one in each)
    return found


def doubled(kind: str, turns: int) -> dict[str, Any]:
    """One long round by one worker and by two of a kind, new ones each time: by how much two are sooner."""
    taken: dict[int, list[float]] = {1: [], 2: []}
    for turn in range(turns):
        for workers in (1, 2) if turn % 2 == 0 else (2, 1):
            taken[workers].append(apart(workers) if kind == APART else long_round(kind, workers))
    ratios = np.array(taken[1]) / np.array(taken[2])
    return {
        "engine": kind,
        "turns": turns,
        "one": float(np.median(taken[1])),
        "two": float(np.median(taken[2])),
        "times sooner": [float(one) for one in np.quantile(ratios, [0.25, 0.5, 0.75])],
    }


def long_round(kind: str, workers: int) -> float:
    with engine_of(kind, workers) as engine:
        return float(speed("holding", None, kind, workers, engine, with_run=False)["round"])


def apart(processes: int) -> float:
    """Seconds of as many rows of the model, by processes that have nothing to do with each other."""
    is_quiet()
    return bare_processes(processes, ROWS_APART // processes)


def whole_run(problem: Problem, engine: Any) -> dict[str, Any]:
    """A run in its parts: ends of the game, rounds, and what is between them (plan, looks)."""
    begun = time.perf_counter()
    game = problem.game()
    ends = time.perf_counter() - begun
    timed = Timed(executor_of(engine), tasks=engine == 1)
    found = estimate(game, PairedWalks(), stop=[at(RUN)], executor=timed)
    seconds = time.perf_counter() - begun
    batches = [(chunk.draws, taken) for chunk, taken in timed.found]
    return {
        "run": seconds,
        "rounds": sum(timed.rounds),
        "ends": ends,
        "between": seconds - ends - sum(timed.rounds),
        "each": timed.rounds,
        "draws": found.draws,
        "rows": found.model_rows,
        "of batches": batches,
    }


# start


def quick(n_jobs: Any) -> float:
    """Seconds of a run that is over in a moment."""
    X, y = rows(200, 8)
    begun = time.perf_counter()
    cs.sage(
        plain,
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
    """Seconds that a quick run takes on workers that never saw the library, and again, beside a process by itself."""
    quick(1)
    alone = min(quick(1) for _ in range(5))
    with engine_of(kind, 2) as engine:
        is_quiet()
        with watched() as use:
            first = quick(engine)
            later = [quick(_anew(kind, engine)) for _ in range(3)]
    return {"engine": kind, "alone": alone, "first": first - alone, "later": min(later) - alone, "others": use.others}


def start_connected() -> dict[str, Any]:
    """The same by the address of a Dask scheduler, so that a client has to be made."""
    alone = min(quick(1) for _ in range(5))
    with dask_cluster(2) as client:
        address = client.scheduler.address
        first, later = quick(cs.Dask(address)), [quick(cs.Dask(address)) for _ in range(3)]
    return {"engine": "dask by address", "alone": alone, "first": first - alone, "later": min(later) - alone}


def _anew(kind: str, engine: Any) -> Any:
    return {"dask": lambda: cs.Dask(engine.client), "ray": cs.Ray}.get(kind, lambda: engine)()


# memory


def status(task: Any) -> tuple[int, dict[str, int]]:
    """Which process this is, and its memory in bytes: peak, and now, of its own and shared."""
    time.sleep(0.1)
    lines = [line.split() for line in Path("/proc/self/status").read_text().splitlines()]
    names = {"VmHWM:": "peak", "RssAnon:": "own", "RssFile:": "mapped", "RssShmem:": "shared"}
    return os.getpid(), {names[line[0]]: 1024 * int(line[1]) for line in lines if line[0] in names}


def memory(kind: str, megabytes: int) -> dict[str, Any]:
    """The largest peak of a worker in a run on data of such a size; 0 for next to none."""
    n = max(200, megabytes * 10**6 // (8 * COLUMNS_OF_MEMORY))
    problem = Problem(plain, n=n, d=COLUMNS_OF_MEMORY)
    X, y, background = problem.data
    with engine_of(kind, 2) as engine:
        budget = n + len(background) + 1_000_000
        cs.sage(
            plain,
            X,
            y,
            background=background,
            loss="squared error",
            method="paired walks",
            budget=budget,
            rng=0,
            n_jobs=engine,
        )
        told = dict(Scheduler(engine, group=1).map(status, range(8)))
    most = max(told.values(), key=lambda one: one["peak"])
    return {"engine": kind, "megabytes": megabytes, "examples": n, "workers seen": len(told), **most}


# bits


def bits(seeds: int, kinds: Sequence[str] = ("serial", "loky", "threads", "dask", "ray")) -> dict[str, Any]:
    """How many runs, to a stopping rule, have the bits of one process, for each kind of workers.

    Every round goes to the workers, in groups of 1 to 3 batches: rounds as short as these would else be done here.
    """
    same, looked = dict.fromkeys(kinds, 0), 0
    with engines_of([(kind, 1 if kind == "serial" else 2) for kind in kinds]) as engines:
        for seed in range(seeds):
            game = Problem(plain, n=100, d=6, m=32, batch_size=2048, seed=seed).game()
            wanted = estimate(game, PairedWalks(), stop=[cs.Converged(0.08)], executor=Serial(), seed=seed)
            looked += wanted.stopped.is_converged
            for (kind, _), engine in engines.items():
                executor = Serial() if kind == "serial" else Scheduler(engine, group=1 + seed % 3)
                stop = [cs.Converged(0.08)]
                found = estimate(game, PairedWalks(), stop=stop, executor=executor, seed=seed)
                same[kind] += _bytes(found) == _bytes(wanted)
    return {"seeds": seeds, "stopped by the rule": looked, "same": same}


def _bytes(found: Any) -> list[Any]:
    targets = [getattr(one, name) for one in found.targets.values() for name in ("values", "std_error", "dof")]
    arrays = [found.values, found.covariance, found.dof, found.components.contributions, found.trace, *targets]
    return [None if one is None else np.asarray(one).tobytes() for one in arrays] + [
        found.draws,
        found.model_rows,
        found.stopped,
        found.visited,
        found.clipped,
    ]
