"""Discrete-event simulation of a run on up to a thousand workers, from measured times of batches.

The batches of a round come from the sampling loop itself, and the groups in which they are sent come from the
scheduler, so the simulation cannot deviate from what it simulates. Only time is simulated. Batches take the seconds
that are given, and a round works as follows:

- the parent process sends one group after the other, each at a fixed cost;
- a group goes to the worker that is free first, in the order of the groups;
- the parent merges the results in order, each batch at a fixed cost, and evaluates the estimate when all are merged;
- a round that takes less time than sending it is computed by the parent.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scaling_workloads import EXAMPLES, RUN_DRAWS, SECONDS, ScalingProblem, additive

from clarysage.estimators import PairedWalks
from clarysage.estimators.limits import Chunk, Limits
from clarysage.execution.scheduler import MIN_SECONDS_TO_SHARE, Scheduler
from clarysage.execution.seeds import PILOT, stream

Cells = list[dict[str, Any]]
UNLIMITED = Limits(float("inf"), float("inf"), float("inf"))
WORKERS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SECONDS_PER_ROW = (1e-3, 1e-2)
BATCH_SIZES = (None, 4096, 1024, 304)
DRAWS, SIZES = 2000, {"n": 1000, "d": 20, "m": 128}
CLUSTER = "dask"  # the overheads of large clusters are assumed to be those of this one


@dataclass(frozen=True)
class Overheads:
    """Seconds that are spent besides the batches.

    Attributes
    ----------
    start : before the first round of a run: null and full payoffs, pilot, sending model and data to the workers
    round : at the end of a round: evaluation of the estimate, stopping rules, a checkpoint
    share : at the start of a round that is sent to workers
    group : to send a group, during which no other group is sent
    merge : to merge a batch, in the parent process
    pace : speed of a worker relative to a single process, below 1 if the cluster itself takes processor time
    """

    start: float = 0.0
    round: float = 0.0
    share: float = 0.0
    group: float = 0.0
    merge: float = 0.0
    pace: float = 1.0


@dataclass(frozen=True)
class SimulatedRun:
    """The result of a simulation.

    Attributes
    ----------
    seconds : of the run
    rounds : seconds of each round
    work : seconds of all batches together, on workers and in the parent process
    groups : number of groups that were sent
    workers : number of workers
    """

    seconds: float
    rounds: tuple[float, ...]
    work: float
    groups: int
    workers: int

    @property
    def busy(self) -> float:
        """The share of the workers' time that is spent on batches."""
        return self.work / (self.seconds * self.workers) if self.seconds else 1.0


@dataclass
class SimulatedBackend:
    """A backend that only tells the scheduler its number of workers."""

    number: int
    name: str = field(default="simulated", init=False)

    def workers(self) -> int:
        return self.number


def rounds_of(game: Any, draws: int, *, seed: int = 0) -> tuple[PairedWalks, list[list[Chunk]]]:
    """Returns paired walks of a game, and the batches of each round until there are at least this many draws."""
    estimator = PairedWalks().prepared(game, float("inf"), stream(seed, PILOT, 0))
    made, number, rounds = 0, 0, []
    while made < draws:
        rounds.append(UNLIMITED.next_round(game, estimator, made, number, 0))
        made, number = made + sum(chunk.draws for chunk in rounds[-1]), number + len(rounds[-1])
    return estimator, rounds


def resampled(measured: Sequence[float], rng: np.random.Generator) -> Callable[[float], float]:
    """Returns a function that multiplies expected seconds by a relative deviation drawn from the measured batches."""
    ratios = np.asarray(measured, dtype=float)
    ratios = ratios / ratios.mean()
    return lambda expected: float(expected * rng.choice(ratios))


def simulate(
    rounds: Sequence[Sequence[Any]],
    seconds_of: Callable[[Any], float],
    workers: int,
    overheads: Overheads,
) -> SimulatedRun:
    """Simulates a run of the given rounds, whose batches take ``seconds_of(batch)``."""
    scheduler = Scheduler(SimulatedBackend(workers))  # type: ignore[arg-type]
    now, work, sent, durations = overheads.start, 0.0, 0, []
    for tasks in rounds:
        begun, taken = now, [seconds_of(task) for task in tasks]
        if scheduler.seconds is not None and len(tasks) * scheduler.seconds < MIN_SECONDS_TO_SHARE:
            now += sum(taken) + overheads.merge * len(tasks)
        else:
            taken = [seconds / overheads.pace for seconds in taken]
            groups = scheduler.groups(range(len(tasks)))
            now = _end_of_shared_round(now, [[taken[i] for i in group] for group in groups], workers, overheads)
            sent += len(groups)
        scheduler.seconds = sum(taken) / max(1, len(tasks))
        now, work = now + overheads.round, work + sum(taken)
        durations.append(now - begun)
    return SimulatedRun(now, tuple(durations), work, sent, workers)


def _end_of_shared_round(now: float, groups: Sequence[Sequence[float]], workers: int, overheads: Overheads) -> float:
    """Returns the time at which the results of a round that starts now are merged; groups hold seconds of batches."""
    now += overheads.share
    free = [now] * min(workers, len(groups))
    merged = now + overheads.group * len(groups)  # before, the parent is busy with sending
    for number, group in enumerate(groups, 1):
        begins = max(heapq.heappop(free), now + overheads.group * number)
        heapq.heappush(free, begins + sum(group))
        merged = max(merged, begins + sum(group)) + overheads.merge * len(group)
    return merged


# The tables


def predict_measured_runs(workers: Cells, overheads: Cells) -> Cells:
    """Predicts the runs that were measured, from the batches of the run in one process just before them."""
    cells = []
    for cell in workers:
        if "run" not in cell or cell["engine"] in ("serial", "threads"):
            continue
        _, rounds = rounds_of(ScalingProblem(additive, n=EXAMPLES, batch_size=cell["batch_size"]).game(), RUN_DRAWS)
        seconds = _seconds_of_batches(cell["batches alone"], rounds)
        batches = [[seconds.pop(0) for _ in tasks] for tasks in rounds]
        cost = measured_overheads(cell["engine"], overheads, pace=relative_speed(cell["engine"], workers))
        run = simulate(batches, lambda seconds: seconds, cell["workers"], cost)
        cells.append(
            {
                "engine": cell["engine"],
                "workers": cell["workers"],
                "batch_size": cell["batch_size"],
                "measured": cell["rounds"],
                "predicted": run.seconds,
            }
        )
    return cells


def predict_large_clusters(workers: Cells, overheads: Cells) -> Cells:
    """Predicts runs of slow models on more and more workers, for several batch sizes."""
    alone = next(cell for cell in workers if cell["engine"] == "serial" and "run" in cell)
    per_draw = [seconds / draws for draws, seconds in alone["of batches"] if draws > 1]
    parent = next(cell for cell in overheads if cell.get("n") == SIZES["n"])
    cells = []
    for row in SECONDS_PER_ROW:
        for batch_size in BATCH_SIZES:
            game = ScalingProblem(additive, **SIZES, batch_size=batch_size).game()
            estimator, rounds = rounds_of(game, DRAWS)
            serial = row * (game.rows_spent + estimator.pilot_run.rows)
            cost = measured_overheads(
                CLUSTER,
                overheads,
                start=serial,
                round=parent["read"] + parent["checkpoint"],
                merge=parent["merge"],
                pace=relative_speed(CLUSTER, workers),
            )
            deviate = resampled(per_draw, np.random.default_rng(0))
            times = {
                chunk: deviate(row * estimator.rows(game, chunk.draws, chunk.first or 1))
                for tasks in rounds
                for chunk in tasks
            }
            base = simulate(rounds, times.__getitem__, 1, Overheads(start=serial)).seconds
            for number in WORKERS:
                run = simulate(rounds, times.__getitem__, number, cost)
                cells.append(
                    {
                        "seconds a row": row,
                        "batch_size": batch_size,
                        "batches": len(times),
                        "serial": serial,
                        "workers": number,
                        "seconds": run.seconds,
                        "speed-up": base / run.seconds,
                        "busy": run.busy,
                    }
                )
    return cells


def measured_overheads(engine: str, overheads: Cells, **others: float) -> Overheads:
    cell = next(cell for cell in overheads if cell.get("engine") == engine.partition(",")[0])
    return Overheads(share=cell["round"], group=cell["group"], **others)


def relative_speed(engine: str, workers: Cells) -> float:
    """Returns the speed of one worker relative to a single process, at most 1; 1 if it was not measured."""
    ratios = [cell["times sooner"] for cell in workers if (cell["engine"], cell["workers"]) == (engine, 1)]
    return min([1.0, *(float(np.median([ratio[name] for name in SECONDS])) for ratio in ratios)])


def _seconds_of_batches(measured: list[tuple[int, float]], rounds: list[list[Any]]) -> list[float]:
    """Returns the seconds of measured batches; checks first that the draws of each batch are those of the rounds."""
    if [draws for draws, _ in measured] != [chunk.draws for tasks in rounds for chunk in tasks]:
        raise SystemExit("The batches of a round have changed since the measurement: --part workers --part simulate")
    return [seconds for _, seconds in measured]
