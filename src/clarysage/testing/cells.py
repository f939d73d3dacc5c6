"""One cell of the table of calibration: a method on a problem with a loss, at fixed work or at its own stop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from clarysage.estimators import METHODS, SurrogateWalks
from clarysage.games import PredictivePower, TabularGame
from clarysage.inference.stopping import Converged
from clarysage.protocols import Estimator, Executor
from clarysage.testing.calibration import Calibration
from clarysage.testing.problems import problem as problem_of
from clarysage.testing.runs import AfterDraws, make_runs
from clarysage.testing.tabulated import exact_values, tabulated

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
    fault: Callable[[Estimator[Any]], Estimator[Any]] | None = None,
    seed: int = 0,
    executor: Executor | None = None,
) -> Calibration:
    """Calibration of a method on a problem, over ``runs`` independent runs on one game.

    Each run does the same work, or, with a ``tolerance``, goes on until the paper's criterion holds (Sec. 3.3).
    ``seed`` makes the problem and the runs; ``fault`` spoils the estimator.

    Examples
    --------
    >>> calibrate("kernel", "linear", "squared error", runs=20).claims
    0
    """
    trial = trial_of(method)
    game, table = _games(problem, loss, seed, tuple(trial.sizes.items()))
    played = table if trial.by_table else game
    draws = round(trial.looks * len(game.weights))
    stop = [AfterDraws(draws)] if tolerance is None else [Converged(tolerance), AfterDraws(CAP * draws)]
    estimator = fault(trial.make()) if fault else trial.make()
    truth = exact_values(table)
    return Calibration.of(make_runs(played, estimator, truth, stop=stop, runs=runs, seed=seed, executor=executor))


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
