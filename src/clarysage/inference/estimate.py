"""Estimate: values with their covariance, what they cost, and why the run stopped."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any

import numpy as np

from clarysage.codec import Array


class StopReason(Enum):
    """Why a run ended; the member's value is the message."""

    EXACT = "Exact: nothing was sampled."
    CONVERGED = "Converged: the largest standard error is below the tolerance times the range of the values."
    EQUAL = (
        "Converged: the values cannot be told apart, and the largest standard error is below the tolerance times "
        "their size."
    )
    SIGNS_KNOWN = "Decided: it is known which values are above zero and which below, but for negligible ones."
    TOP_KNOWN = "Decided: it is known which values are the largest, but for negligible differences."
    REPEATED = "Done: every example was looked at as often as was asked for."
    NO_EFFECT = "Nothing to share out: no feature changed the loss of any example."
    BUDGET = "Stopped at the budget before convergence."
    DEADLINE = "Stopped at the deadline before convergence."
    INTERRUPTED = "Interrupted; this is the estimate so far."
    FAILED = "The model failed; this is the estimate up to then."
    RULE = "Stopped by the given rule."

    @property
    def is_wanted(self) -> bool:
        """Whether the run ended since what was asked for is known, not since it had to."""
        return self.is_converged or self in (
            StopReason.SIGNS_KNOWN, StopReason.TOP_KNOWN, StopReason.REPEATED
        )  # fmt: skip

    @property
    def is_converged(self) -> bool:
        return self in (StopReason.EXACT, StopReason.CONVERGED, StopReason.EQUAL, StopReason.NO_EFFECT)


@dataclass(frozen=True)
class Target:
    """Values (L, p) of a population that the data stand for, their standard errors, degrees of freedom and skewness."""

    values: Annotated[np.ndarray, Array()]
    std_error: Annotated[np.ndarray, Array(low=0)]
    dof: Annotated[np.ndarray, Array(low=1)]
    skew: Annotated[np.ndarray, Array()]


@dataclass(frozen=True)
class Estimate:
    """Estimated values of p players for each of L losses.

    Attributes
    ----------
    values : (L, p)
    covariance : (L, p, p) of the values, or (L, p), its diagonal, for very many players
    dof : (L, p) degrees of freedom of the variances
    draws : independent draws behind them (0: exact)
    visited : share of the examples, by weight, that some draw has looked at
    unvisited : how many examples of positive weight no draw has looked at
    draws_to_see_all : about how many draws it takes until every example has come up
    clipped : payoffs that a loss had to bound (a probability of zero for the true class)
    scale : (L,) size of the loss with no features, to tell what is negligible
    targets : what the values say of the population of "rows", and of the "population" of rows and background; at the
        end of a run, and where that is known
    tails : (2, L, p) shares of the variance over examples, and of the values, that the heaviest one in a hundred of
        them carry; where it is known
    reach : what the values rest on, example by example and background row by background row; as the targets
    is_settled : whether examples have been visited so often that errors are those within examples
    looks, is_look : how many looks decisions have had at the run, and whether this is one; 1 where there is no rule
        that decides
    confidence : of decisions, the least that a rule was asked for
    payoffs : (2^p, L) mean payoffs of all coalitions by number, where they were enumerated
    trace : (m, L, 4) on the way: draws, model rows, largest standard error, range of the values; None if exact
    """

    values: np.ndarray
    covariance: np.ndarray
    dof: np.ndarray
    draws: int
    model_rows: int
    visited: float
    unvisited: int
    draws_to_see_all: float
    clipped: int
    scale: np.ndarray
    stopped: StopReason | None = None
    remark: str = ""
    targets: dict[str, Target] = field(default_factory=dict)
    tails: np.ndarray | None = None
    reach: Any = None
    is_settled: bool = True
    looks: int = 1
    is_look: bool = False
    confidence: float = 0.95
    payoffs: np.ndarray | None = None
    trace: np.ndarray | None = None

    @property
    def std_error(self) -> np.ndarray:
        """Standard errors (L, p)."""
        variance = self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)
        return np.asarray(np.sqrt(variance))

    @property
    def cautious_error(self) -> np.ndarray:
        """Standard errors (L, p) as large as would give 95 % intervals of the same width if they were known exactly."""
        from scipy.stats import norm as normal  # which takes longer to load than workers may take to begin
        from scipy.stats import t as student

        return np.asarray(self.std_error * (student.ppf(0.975, self.dof) / normal.ppf(0.975)))
