"""Measured times of batches replayed: on the one and two workers that were measured, and on up to a thousand."""

from __future__ import annotations

from typing import Any

import numpy as np
from scaling_problems import Problem, plain
from scaling_simulator import Overheads, resampled, rounds_of, simulate
from scaling_workers import EXAMPLES, RUN, SECONDS

Cells = list[dict[str, Any]]
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SLOW = (1e-3, 1e-2)  # seconds a row
BATCHES = (None, 4096, 1024, 304)
DRAWS, SIZES = 2000, {"n": 1000, "d": 20, "m": 128}
OF_A_CLUSTER = "dask"  # whose overheads are taken


def replayed(workers: Cells, overheads: Cells) -> Cells:
    """What the simulation says of runs that were measured, from batches of the run by one process just before."""
    found = []
    for cell in workers:
        if "run" not in cell or cell["engine"] in ("serial", "threads"):
            continue
        _, rounds = rounds_of(Problem(plain, n=EXAMPLES, batch_size=cell["batch_size"]).game(), RUN)
        taken = [seconds for _, seconds in _alike(cell["batches alone"], rounds)]
        batches = [[taken.pop(0) for _ in tasks] for tasks in rounds]
        cost = spent(cell["engine"], overheads, pace=pace(cell["engine"], workers))
        said = simulate(batches, lambda seconds: seconds, cell["workers"], cost)
        found.append(
            {
                "engine": cell["engine"],
                "workers": cell["workers"],
                "batch_size": cell["batch_size"],
                "measured": cell["rounds"],
                "predicted": said.seconds,
            }
        )
    return found


def simulated(workers: Cells, overheads: Cells) -> Cells:
    """Runs of slow models on more and more workers, for several sizes of batches."""
    alone = next(one for one in workers if one["engine"] == "serial" and "run" in one)
    per_draw = [seconds / draws for draws, seconds in alone["of batches"] if draws > 1]
    parent = next(cell for cell in overheads if cell.get("n") == SIZES["n"])
    found = []
    for row in SLOW:
        for batch_size in BATCHES:
            game = Problem(plain, **SIZES, batch_size=batch_size).game()
            estimator, rounds = rounds_of(game, DRAWS)
            serial = row * (game.rows_spent + estimator.known().rows)
            cost = spent(
                OF_A_CLUSTER,
                overheads,
                start=serial,
                round=parent["read"] + parent["checkpoint"],
                merge=parent["merge"],
                pace=pace(OF_A_CLUSTER, workers),
            )
            like = resampled(per_draw, np.random.default_rng(0))
            times = {
                chunk: like(row * estimator.rows(game, chunk.draws, chunk.first or 1))
                for tasks in rounds
                for chunk in tasks
            }
            base = simulate(rounds, times.__getitem__, 1, Overheads(start=serial)).seconds
            for number in WORKERS:
                said = simulate(rounds, times.__getitem__, number, cost)
                found.append(
                    {
                        "seconds a row": row,
                        "batch_size": batch_size,
                        "batches": len(times),
                        "serial": serial,
                        "workers": number,
                        "seconds": said.seconds,
                        "speed-up": base / said.seconds,
                        "busy": said.busy,
                    }
                )
    return found


def spent(engine: str, overheads: Cells, **more: float) -> Overheads:
    own = next(cell for cell in overheads if cell.get("engine") == engine.partition(",")[0])
    return Overheads(share=own["round"], group=own["group"], **more)


def pace(engine: str, workers: Cells) -> float:
    """At which one worker of an engine computes, beside a process by itself; 1 where that was not measured."""
    found = [cell["times sooner"] for cell in workers if (cell["engine"], cell["workers"]) == (engine, 1)]
    return min([1.0, *(float(np.median([one[name] for name in SECONDS])) for one in found)])


def _alike(measured: list[tuple[int, float]], rounds: list[list[Any]]) -> list[tuple[int, float]]:
    """Measured batches, by their draws and seconds, if they are those of the rounds."""
    if [draws for draws, _ in measured] != [chunk.draws for tasks in rounds for chunk in tasks]:
        raise SystemExit("Rounds have other batches than when they were measured: --part workers --part simulate")
    return measured
