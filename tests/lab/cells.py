"""One cell of the table of calibration: a method on a problem with a loss, at fixed work or at its own stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from clarysage.estimators import METHODS, SurrogateWalks
from clarysage.games import PredictivePower, TabularGame
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import Converged
from clarysage.protocols import Estimator, Executor
from tests.lab.calibration import Calibration
from tests.lab.faults import EstimateFault, RepeatedDraws
from tests.lab.problems import problem as problem_of
from tests.lab.runs import AfterDraws, compare_runs, make_runs
from tests.lab.tabulated import exact_values, tabulated

CAP = 4  # times the fixed work, at most, where the data say when to stop


@dataclass(frozen=True)
class Trial:
    """How a method is put to the test.

    Attributes
    ----------
    make : the estimator
    looks : draws an example, as fixed work
    by_table : whether it asks for payoffs of coalitions and nothing else, so that they can be looked up
    every_loss : or the first of each problem only
    shares : of the runs that others make, at fixed work and at a stop
    sizes : of the problems, where they are not the common ones
    """

    make: Callable[[], Estimator[Any]]
    looks: float = 2  # walks over all examples: the fewest that show an error
    by_table: bool = False
    every_loss: bool = True
    shares: tuple[float, float] = (1.0, 1.0)
    sizes: Mapping[str, int] = field(default_factory=dict)


def _surrogate_walks() -> SurrogateWalks:
    """Surrogate walks that learn by a small tree: their promise does not depend on how well they learn."""
    from sklearn.tree import DecisionTreeRegressor

    return SurrogateWalks(DecisionTreeRegressor(max_leaf_nodes=16, random_state=0))


# independent draws come to the one example that matters by chance: forty looks, so that their number is near normal
TRIALS = {
    "permutation": Trial(METHODS["permutation"], looks=40, by_table=True),
    "kernel": Trial(METHODS["kernel"], looks=40, by_table=True),
    # a stage of a whole tour, after stages of 16 pairs and of a pass
    "surrogate walks": Trial(
        _surrogate_walks, looks=3.8, every_loss=False, shares=(1.0, 0.1), sizes={"examples": 40, "background": 24}
    ),
}


def trial_of(method: str) -> Trial:
    """The trial of a method by name."""
    return TRIALS.get(method) or Trial(METHODS[method])


def losses_of(method: str, problem: str) -> tuple[Any, ...]:
    """Losses with which a method is tried on a problem."""
    losses = problem_of(problem).losses
    return losses if trial_of(method).every_loss else losses[:1]


def calibrate(
    method: str,
    problem: str,
    loss: Any,
    *,
    runs: int,
    tolerance: float | None = None,
    fault: EstimateFault | None = None,
    seed: int = 0,
    executor: Executor | None = None,
) -> Calibration:
    """Calibration of a method on a problem, over ``runs`` independent runs on one game.

    Each run does the same work, or, with a ``tolerance``, goes on until the paper's criterion holds (Sec. 3.3).
    ``seed`` makes the problem and the runs; ``fault`` spoils them. Runs of the last few cells are remembered, so that
    a fault of readings alone needs no runs of its own.

    Examples
    --------
    >>> calibrate("kernel", "linear", "squared error", runs=20).claims
    0
    """
    copies, spoil = (fault.copies, fault.spoil) if fault else (1, None)
    estimates, truth, stop = _estimates(method, problem, loss, runs, tolerance, copies, seed, executor)
    readings = estimates if spoil is None else [spoil(estimate) for estimate in estimates]
    return Calibration.of(compare_runs(readings, truth, stop))


@lru_cache(maxsize=4)
def _estimates(
    method: str,
    problem: str,
    loss: Any,
    runs: int,
    tolerance: float | None,
    copies: int,
    seed: int,
    executor: Executor | None,
) -> tuple[list[Estimate], np.ndarray, list[Any]]:
    """Runs of a cell, the exact values, and the rules that ended the runs; each draw counts ``copies`` times."""
    trial = trial_of(method)
    game, table = _games(problem, loss, seed, tuple(trial.sizes.items()))
    draws = round(trial.looks * len(game.weights))
    stop = [AfterDraws(draws)] if tolerance is None else [Converged(tolerance), AfterDraws(CAP * draws)]
    estimator = trial.make() if copies == 1 else RepeatedDraws(trial.make(), copies)
    played = table if trial.by_table else game
    estimates = make_runs(played, estimator, stop=stop, runs=runs, seed=seed, executor=executor)
    return estimates, exact_values(table), stop


def tolerance_for_twice(fixed: Calibration) -> float:
    """The tolerance that asks for about twice the fixed work, so that the data do have a say in when to stop.

    Examples
    --------
    >>> 0.01 < tolerance_for_twice(calibrate("kernel", "linear", "squared error", runs=20)) < 0.1
    True
    """
    return float(np.clip(fixed.spread / np.sqrt(2), 1e-6, 0.5))


@lru_cache(maxsize=32)
def _games(
    problem: str, loss: Any, seed: int, sizes: tuple[tuple[str, int], ...]
) -> tuple[PredictivePower, TabularGame]:
    game = problem_of(problem, seed, **dict(sizes)).game(loss)
    return game, tabulated(game)
