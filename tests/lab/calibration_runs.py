"""Calibration of a method on a problem with a loss, with a fixed number of draws or with its own stopping rule."""

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
from tests.lab.estimate_faults import EstimateFault, RepeatedDraws
from tests.lab.problems import exact_values, tabulated
from tests.lab.problems import problem as problem_of
from tests.lab.repeated_runs import AfterDraws, compare_runs, make_runs

MAX_WORK = 4  # limit of a run with its own stopping rule, in multiples of the fixed number of draws


@dataclass(frozen=True)
class MethodSettings:
    """Settings for the calibration of a method.

    Attributes
    ----------
    make : makes the estimator
    draws_per_example : the fixed number of draws
    uses_table : true if the method needs only payoffs of coalitions, so that they can be looked up in a table
    every_loss : false if only the first loss of each problem is used
    shares : shares of the common numbers of runs, with a fixed number of draws and with the own stopping rule
    sizes : of the problems, if they differ from the default
    """

    make: Callable[[], Estimator[Any]]
    draws_per_example: float = 2  # passes of paired walks: the fewest with a standard error
    uses_table: bool = False
    every_loss: bool = True
    shares: tuple[float, float] = (1.0, 1.0)
    sizes: Mapping[str, int] = field(default_factory=dict)


def _surrogate_walks() -> SurrogateWalks:
    """Returns surrogate walks with a small tree; their calibration does not depend on the quality of the surrogate."""
    from sklearn.tree import DecisionTreeRegressor

    return SurrogateWalks(DecisionTreeRegressor(max_leaf_nodes=16, random_state=0))


# independent draws hit a rare example by chance; with 40 draws per example the number of hits is nearly normal
SETTINGS = {
    "permutation": MethodSettings(METHODS["permutation"], draws_per_example=40, uses_table=True),
    "kernel": MethodSettings(METHODS["kernel"], draws_per_example=40, uses_table=True),
    # enough for a stage over the full sampling design, after stages of 16 pairs and of a pass
    "surrogate walks": MethodSettings(
        _surrogate_walks,
        draws_per_example=3.8,
        every_loss=False,
        shares=(1.0, 0.1),
        sizes={"examples": 40, "background": 24},
    ),
}


def settings_of(method: str) -> MethodSettings:
    """Returns the settings of a method by name."""
    return SETTINGS.get(method) or MethodSettings(METHODS[method])


def losses_of(method: str, problem: str) -> tuple[Any, ...]:
    """Returns the losses with which a method is calibrated on a problem."""
    losses = problem_of(problem).losses
    return losses if settings_of(method).every_loss else losses[:1]


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
    """Measures the calibration of a method on a problem, over ``runs`` independent runs on one game.

    Each run has the same number of draws or, with a ``tolerance``, continues until the paper's criterion holds
    (Sec. 3.3). The problem and the runs depend on ``seed``; a ``fault`` falsifies the estimates. Runs of the last few
    calls are cached, so that a fault that only changes estimates needs no new runs.

    Examples
    --------
    >>> calibrate("kernel", "linear", "squared error", runs=20).claims
    0
    """
    copies, falsify = (fault.copies, fault.falsify) if fault else (1, None)
    estimates, truth, stop = _estimates(method, problem, loss, runs, tolerance, copies, seed, executor)
    falsified = estimates if falsify is None else [falsify(estimate) for estimate in estimates]
    return Calibration.of(compare_runs(falsified, truth, stop))


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
    """Returns estimates, exact values, and the rules that ended the runs; each draw counts ``copies`` times."""
    settings = settings_of(method)
    game, table = _games(problem, loss, seed, tuple(settings.sizes.items()))
    draws = round(settings.draws_per_example * len(game.weights))
    stop = [AfterDraws(draws)] if tolerance is None else [Converged(tolerance), AfterDraws(MAX_WORK * draws)]
    estimator = settings.make() if copies == 1 else RepeatedDraws(settings.make(), copies)
    sampled = table if settings.uses_table else game
    estimates = make_runs(sampled, estimator, stop=stop, runs=runs, seed=seed, executor=executor)
    return estimates, exact_values(table), stop


def tolerance_for_twice(fixed: Calibration) -> float:
    """Returns the tolerance that needs about twice the fixed number of draws, so that the data decide when to stop.

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
