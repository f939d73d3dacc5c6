"""Many independent runs of one estimator on one game, set beside the exact values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.estimators import estimate
from clarysage.execution.serial import Serial
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.intervals import interval
from clarysage.inference.stopping import Converged
from clarysage.protocols import Estimator, Executor, Game

LEVEL = 0.95
ROUNDING = 1e-12  # of the size of the values: what two ways of adding up may differ by
ALONE = Serial()


@dataclass(frozen=True)
class Runs:
    """What R runs said of p players whose values are known.

    Attributes
    ----------
    truth : (p,) the exact values
    values, std_error : (R, p)
    held : (R, p) whether the 95 % interval holds the exact value
    held_together : (R,) whether the joint intervals hold all of them
    claim : (R,) the standard error that a run which calls itself converged claims not to exceed; inf where none does
    model_rows : (R,) rows passed to the model
    """

    truth: np.ndarray
    values: np.ndarray
    std_error: np.ndarray
    held: np.ndarray
    held_together: np.ndarray
    claim: np.ndarray
    model_rows: np.ndarray

    @property
    def size(self) -> float:
        """The range of the exact values, zero included."""
        return size_of(self.truth)


def make_runs(
    game: Game,
    estimator: Estimator[Any],
    *,
    stop: Sequence[Any],
    runs: int,
    seed: int = 0,
    executor: Executor | None = None,
) -> list[Estimate]:
    """The estimates of ``runs`` runs with seeds of their own, on a game of one loss.

    Examples
    --------
    >>> from clarysage.estimators import Permutation
    >>> from clarysage.games import TabularGame
    >>> estimates = make_runs(TabularGame([0, 1, 2, 4]), Permutation(), stop=[AfterDraws(50)], runs=3)
    >>> compare_runs(estimates, [1.5, 2.5]).values.shape
    (3, 2)
    """
    seeds = [1_000_003 * (seed + 1) + number for number in range(runs)]
    return list((executor or ALONE).map(Run(game, estimator, tuple(stop)), seeds))


def compare_runs(estimates: Sequence[Estimate], truth: Any, stop: Sequence[Any] = ()) -> Runs:
    """Sets estimates beside the exact values; ``stop`` are the rules that ended the runs, for what they claim."""
    exact = np.asarray(truth, dtype=np.float64)
    tolerance = min((rule.tolerance for rule in stop if isinstance(rule, Converged)), default=0.0)
    return Runs(
        truth=exact,
        values=np.array([estimate.values[0] for estimate in estimates]),
        std_error=np.array([estimate.std_error[0] for estimate in estimates]),
        held=np.array([_holds(estimate, exact) for estimate in estimates]),
        held_together=np.array([_holds(estimate, exact, joint=True).all() for estimate in estimates]),
        claim=np.array([_claim(estimate, tolerance) for estimate in estimates]),
        model_rows=np.array([estimate.model_rows for estimate in estimates]),
    )


@dataclass(frozen=True)
class AfterDraws:
    """The rule to stop at the first look after so many draws, whatever they say."""

    draws: int

    def __call__(self, found: Estimate) -> StopReason | None:
        return StopReason.RULE if found.draws >= self.draws else None


@dataclass(frozen=True)
class Run:
    """Makes the run of a seed; what a worker needs to know."""

    game: Game
    estimator: Estimator[Any]
    stop: tuple[Any, ...]

    def __call__(self, seed: int) -> Estimate:
        return estimate(self.game, self.estimator, stop=self.stop, seed=seed, executor=ALONE)


def size_of(values: np.ndarray) -> float:
    """Range of values, zero included."""
    return float(max(values.max(), 0.0) - min(values.min(), 0.0))


def _holds(found: Estimate, truth: np.ndarray, joint: bool = False) -> np.ndarray:
    low, high = interval(found.values[0], found.std_error[0], found.dof[0], LEVEL, joint=joint)
    slack = np.where(truth == 0, 0.0, ROUNDING * size_of(truth))  # a feature without effect has exactly none
    return np.asarray((low - slack <= truth) & (truth <= high + slack))


def _claim(found: Estimate, tolerance: float) -> float:
    """Tolerance times range; where the values are called equal, the largest standard error itself."""
    if found.stopped is None or not found.stopped.is_converged:
        return np.inf
    return float(max(tolerance * np.ptp(found.values[0]), found.std_error[0].max()))
