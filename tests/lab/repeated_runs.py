"""Repeated runs of one estimator on one game, with independent seeds, and their comparison with exact values."""

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
ROUNDING = 1e-12  # rounding error of a sum, relative to the range of the values
SERIAL = Serial()


@dataclass(frozen=True)
class RepeatedRuns:
    """Results of R runs on p players whose values are known.

    Attributes
    ----------
    truth : (p,) the exact values
    values, std_error : (R, p)
    covers : (R, p) true if the 95 % interval contains the exact value
    covers_jointly : (R,) true if the joint intervals contain all of them
    claimed_error : (R,) the largest standard error that a converged run claims to have; inf for other runs
    model_rows : (R,) rows passed to the model
    """

    truth: np.ndarray
    values: np.ndarray
    std_error: np.ndarray
    covers: np.ndarray
    covers_jointly: np.ndarray
    claimed_error: np.ndarray
    model_rows: np.ndarray

    @property
    def size(self) -> float:
        """The range of the exact values, zero included."""
        return range_with_zero(self.truth)


def make_runs(
    game: Game,
    estimator: Estimator[Any],
    *,
    stop: Sequence[Any],
    runs: int,
    seed: int = 0,
    executor: Executor | None = None,
) -> list[Estimate]:
    """Makes ``runs`` runs with different seeds on a game of one loss, and returns their estimates.

    Examples
    --------
    >>> from clarysage.estimators import Permutation
    >>> from clarysage.games import TabularGame
    >>> estimates = make_runs(TabularGame([0, 1, 2, 4]), Permutation(), stop=[AfterDraws(50)], runs=3)
    >>> compare_runs(estimates, [1.5, 2.5]).values.shape
    (3, 2)
    """
    seeds = [1_000_003 * (seed + 1) + number for number in range(runs)]
    return list((executor or SERIAL).map(SeededRun(game, estimator, tuple(stop)), seeds))


def compare_runs(estimates: Sequence[Estimate], truth: Any, stop: Sequence[Any] = ()) -> RepeatedRuns:
    """Compares estimates with the exact values; the rules ``stop`` that ended the runs tell which error they claim."""
    exact = np.asarray(truth, dtype=np.float64)
    tolerance = min((rule.tolerance for rule in stop if isinstance(rule, Converged)), default=0.0)
    return RepeatedRuns(
        truth=exact,
        values=np.array([estimate.values[0] for estimate in estimates]),
        std_error=np.array([estimate.std_error[0] for estimate in estimates]),
        covers=np.array([_covers(estimate, exact) for estimate in estimates]),
        covers_jointly=np.array([_covers(estimate, exact, joint=True).all() for estimate in estimates]),
        claimed_error=np.array([_claimed_error(estimate, tolerance) for estimate in estimates]),
        model_rows=np.array([estimate.model_rows for estimate in estimates]),
    )


@dataclass(frozen=True)
class AfterDraws:
    """A stopping rule: stop at the first evaluation with at least this many draws."""

    draws: int

    def __call__(self, current: Estimate) -> StopReason | None:
        return StopReason.RULE if current.draws >= self.draws else None


@dataclass(frozen=True)
class SeededRun:
    """A run as a function of its seed, which can be sent to workers."""

    game: Game
    estimator: Estimator[Any]
    stop: tuple[Any, ...]

    def __call__(self, seed: int) -> Estimate:
        return estimate(self.game, self.estimator, stop=self.stop, seed=seed, executor=SERIAL)


def range_with_zero(values: np.ndarray) -> float:
    """Returns the range of the values and zero."""
    return float(max(values.max(), 0.0) - min(values.min(), 0.0))


def _covers(result: Estimate, truth: np.ndarray, joint: bool = False) -> np.ndarray:
    low, high = interval(result.values[0], result.std_error[0], result.dof[0], LEVEL, joint=joint)
    slack = np.where(truth == 0, 0.0, ROUNDING * range_with_zero(truth))  # a value of zero must be estimated exactly
    return np.asarray((low - slack <= truth) & (truth <= high + slack))


def _claimed_error(result: Estimate, tolerance: float) -> float:
    """Returns tolerance times range; if the run stopped because the values are equal, the largest standard error."""
    if result.stopped is None or not result.stopped.is_converged:
        return np.inf
    return float(max(tolerance * np.ptp(result.values[0]), result.std_error[0].max()))
