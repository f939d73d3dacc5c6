"""Stopping rules: the paper's convergence criterion (Sec. 3.3), one relative to a given scale, a budget, a deadline.

Convergence is a sequential criterion: sampling continues until standard errors are small enough, as for intervals of a
fixed width (Chow & Robbins 1965), or of a width in proportion to the mean (Nadas 1969); here in proportion to the range
of the values. The loop (``estimators/loop.py``) asks the rules at the end of each round; a budget and a deadline limit
the draws beforehand.

References
----------
Y. S. Chow, H. Robbins (1965). On the asymptotic theory of fixed-width sequential confidence intervals for the mean.
Annals of Mathematical Statistics 36, 457-462.
A. Nadas (1969). An extension of a theorem of Chow and Robbins on sequential confidence intervals for the mean. Annals
of Mathematical Statistics 40, 667-671.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.inference.estimate import Estimate, StopReason

FEWEST_DRAWS = 64  # with fewer draws the standard errors are too imprecise for a decision
AFFORDABLE_DRAWS = 20_000  # every example must be visited if that takes at most about this number of draws ...
AFFORDABLE_TIMES = 10  # ... or at most this multiple of the draws already made
NEGLIGIBLE = 0.04  # values below this share of the loss without features need no higher precision
ROUNDING = 1e-13  # values below this share of the loss without features are rounding errors
EQUAL_WITHIN = 6.0  # values whose range is less than this number of standard errors count as equal


@dataclass(frozen=True)
class Converged:
    r"""The paper's criterion: the largest standard error is below ``tolerance`` times the range of the values.

    .. math:: \max_i \sigma_i / \sqrt{n} < t (\max_i \hat\phi_i - \min_i \hat\phi_i)    (Sec. 3.3)

    There are three additions. First, convergence requires that every example has been visited, where that is
    affordable: a sample that misses the one row that a feature matters for shows no variance. Second, where all values
    are equal, their range is noise and the criterion could never hold: then the size of the values, or a share of the
    loss, takes the place of the range. Third, a run ends if no loss of any example ever changes (a null game).

    Parameters
    ----------
    tolerance : the largest standard error, as a share of the range of the values

    Examples
    --------
    >>> Converged(0.01)
    Converged(tolerance=0.01)
    """

    tolerance: float = 0.025

    def __post_init__(self) -> None:
        _check_positive("tolerance", self.tolerance, "a share of the range of the values, such as 0.025")
        if self.tolerance >= 1:
            raise InputError(
                "tolerance", got=f"{self.tolerance!r}", wanted="a share below 1", hint=Set("tolerance", 0.025)
            )

    def __call__(self, estimate: Estimate) -> StopReason | None:
        if estimate.draws < FEWEST_DRAWS:
            return None
        error = estimate.cautious_error.max(axis=1)  # (L,)
        spread = estimate.values.max(axis=1) - estimate.values.min(axis=1)
        size = np.abs(estimate.values).max(axis=1)
        is_null = bool((np.maximum(error, size) <= ROUNDING * estimate.scale).all())
        if must_see_more(estimate):
            return None
        if is_null:
            return StopReason.NO_EFFECT
        if (error <= self.tolerance * spread).all():
            return StopReason.CONVERGED
        is_equal = spread <= EQUAL_WITHIN * error
        is_precise = error <= self.tolerance * np.maximum(size, NEGLIGIBLE * estimate.scale)
        return StopReason.EQUAL if (is_equal & is_precise | (error <= self.tolerance * spread)).all() else None

    def progress(self, estimate: Estimate) -> float:
        """Returns the approximate share of the required draws that has been made."""
        error = estimate.cautious_error.max(axis=1)
        spread = estimate.values.max(axis=1) - estimate.values.min(axis=1)
        size = np.maximum(np.abs(estimate.values).max(axis=1), NEGLIGIBLE * estimate.scale)
        scale = np.where(spread <= EQUAL_WITHIN * error, np.maximum(spread, size), spread)
        share = np.divide(self.tolerance * scale, error, out=np.ones_like(error), where=error > 0) ** 2
        return float(np.clip(share, 0.0, 1.0).min())


def must_see_more(estimate: Estimate) -> bool:
    """Tells whether some examples have not been visited, although visiting all of them is affordable."""
    if estimate.coverage.unvisited == 0:
        return False
    return estimate.coverage.draws_to_see_all <= max(AFFORDABLE_DRAWS, AFFORDABLE_TIMES * estimate.draws)


@dataclass(frozen=True)
class ConvergedRelativeTo:
    """Stops when the largest standard error is below ``tolerance`` times a reference scale, or times the largest value.

    The scale ``size`` (L,) takes the place of the range of the values in :class:`~clarysage.Converged`. Interactions
    use the SAGE values as their scale: the interactions of an additive model are all zero and have no range.
    """

    tolerance: float
    size: np.ndarray

    def __post_init__(self) -> None:
        Converged(self.tolerance)

    def __call__(self, estimate: Estimate) -> StopReason | None:
        if estimate.draws < FEWEST_DRAWS or must_see_more(estimate):
            return None
        is_fine = estimate.cautious_error.max(axis=1) <= self.tolerance * self._size(estimate)
        return StopReason.CONVERGED if is_fine.all() else None

    def progress(self, estimate: Estimate) -> float:
        """Returns the approximate share of the required draws that has been made."""
        error = estimate.cautious_error.max(axis=1)
        share = np.divide(self.tolerance * self._size(estimate), error, out=np.ones_like(error), where=error > 0)
        return float(np.clip(share**2, 0.0, 1.0).min())

    def _size(self, estimate: Estimate) -> np.ndarray:
        largest = np.abs(estimate.values).max(axis=1)
        return np.asarray(np.maximum(np.maximum(self.size, largest), NEGLIGIBLE * estimate.scale))


@dataclass(frozen=True)
class Budget:
    """Stops when a number of rows has been passed to the model, including those for no and for all features.

    Parameters
    ----------
    rows : the largest number of model rows

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 8))
    >>> run = cs.sage(lambda X: X[:, 0] * X[:, 1], X, X[:, 0], stop=cs.Budget(30_000), tolerance=None, rng=0)
    >>> run.model_rows <= 30_000
    True
    """

    rows: int

    def __post_init__(self) -> None:
        _check_positive("budget", self.rows, "a positive number of model rows, such as 1_000_000")

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.model_rows >= self.rows else None


@dataclass(frozen=True)
class Deadline:
    """Stops after a number of seconds, by the clock of the estimation loop.

    Parameters
    ----------
    seconds : the largest number of seconds

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> run = cs.sage(lambda X: X[:, 0], X, X[:, 0], stop=cs.Deadline(60), rng=0)  # ends earlier, when it has converged
    >>> run.top(1)
    ['x0']
    """

    seconds: float

    def __post_init__(self) -> None:
        _check_positive("deadline", self.seconds, "a positive number of seconds, such as 60")


LIMITS = (Budget, Deadline)  # rules that the loop checks itself; the others judge the estimate


def row_limit(rules: Sequence[object]) -> float:
    """Returns the smallest budget of model rows among stopping rules; infinity without a budget."""
    return min((rule.rows for rule in rules if isinstance(rule, Budget)), default=math.inf)


def time_limit(rules: Sequence[object]) -> float:
    """Returns the seconds of the earliest deadline among stopping rules; infinity without a deadline."""
    return min((rule.seconds for rule in rules if isinstance(rule, Deadline)), default=math.inf)


def convergence_rule(rules: Sequence[object]) -> Converged:
    """Returns the paper's criterion among stopping rules; the criterion with the default tolerance if there is none."""
    return next((rule for rule in rules if isinstance(rule, Converged)), Converged())


def _check_positive(argument: str, value: Any, description: str) -> None:
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:
        raise InputError(argument, got=f"{value!r}", wanted=description)
