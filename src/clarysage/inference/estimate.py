"""Estimates: values with their covariance, what they rest on, what they cost, and why the run stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import reduce
from typing import Annotated

import numpy as np

from clarysage.codec import Array
from clarysage.errors import Note
from clarysage.inference.influence import BackgroundInfluence
from clarysage.inference.stratified import StratifiedMoments


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
        return self.is_converged or self in (StopReason.SIGNS_KNOWN, StopReason.TOP_KNOWN, StopReason.REPEATED)

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
class LocalValues:
    """Values (n, L, p) of n examples, each in a game of its own, their variances, and visits (n,) behind them.

    Values are NaN where there was no visit, variances where there were fewer than two. Exact values have variance 0 and
    ``visits`` is None.
    """

    values: np.ndarray
    variance: np.ndarray
    visits: np.ndarray | None = None

    @classmethod
    def sampled(cls, moments: StratifiedMoments, weights: np.ndarray) -> LocalValues:
        """Means of visits to cells of one example each, whose draws are its values times its weight (n,)."""
        n, w = moments.count, weights[:, None, None]
        pairs = np.where(n > 1, n * (n - 1.0), np.nan)[:, None, None]
        seen = np.where(n > 0, 1.0, np.nan)[:, None, None]
        return cls(moments.mean * seen / w, moments.squares / pairs / w**2, n)

    @classmethod
    def exact(cls, contributions: np.ndarray, weights: np.ndarray) -> LocalValues:
        """Exact values, from what examples of positive weights (n,) contribute to the values of all, (n, L, p)."""
        values = contributions / weights[:, None, None]
        return cls(values, np.zeros_like(values))

    def over_all(self, is_there: np.ndarray) -> LocalValues:
        """The same with a row for every example (N,), NaN for those that are not there."""
        values, variance = (np.full((len(is_there), *self.values.shape[1:]), np.nan) for _ in range(2))
        values[is_there], variance[is_there] = self.values, self.variance
        return LocalValues(values, variance, self.visits)


@dataclass(frozen=True)
class VarianceComponents:
    """What the variance of values over other examples and another background is made of.

    :mod:`clarysage.inference.population` turns the components into variances about populations.

    Attributes
    ----------
    contributions : (N, L, p) of each example of positive weight to the values; None where some were not visited
    between : (L, p) the variance over examples where there are no contributions, else zero
    residual : (L, p) variance of the values that contributions do not show
    dof : degrees of freedom of the variance over examples
    background : the influence of background rows; None where that is not known, or there is one row alone
    local : values of single examples with their variances, where they were sampled and each has a game of its own
    background_weights : (m,) of these rows, adding up to one, where they are others than those of short walks
    """

    contributions: np.ndarray | None
    between: np.ndarray
    residual: np.ndarray
    dof: float
    background: BackgroundInfluence | None = None
    local: LocalValues | None = None
    background_weights: np.ndarray | None = None

    @classmethod
    def exact(cls, contributions: np.ndarray, background: BackgroundInfluence | None = None) -> VarianceComponents:
        """The components of values without sampling error, the sums of the contributions (N, L, p)."""
        none = np.zeros(contributions.shape[1:])
        return cls(contributions, none, none, len(contributions) - 1.0, background)

    def local_values(self, weights: np.ndarray) -> LocalValues | None:
        """The values of examples of positive weights (n,); None where they were not kept apart."""
        if self.local is not None or self.contributions is None:
            return self.local
        return LocalValues.exact(self.contributions, weights)


def weighted_components(
    terms: Sequence[VarianceComponents | None], weights: Sequence[float]
) -> VarianceComponents | None:
    """The components of a weighted sum of independent values of the same examples; None where some are not known.

    A single term has weight 1.
    """
    if len(terms) == 1:
        return terms[0]
    by_example = [
        (weight, part, part.contributions)
        for weight, part in zip(weights, terms, strict=True)
        if part is not None and part.contributions is not None
    ]
    if len(by_example) < len(terms):
        return None
    first = by_example[0][1]
    background = [part.background.times(weight) for weight, part, _ in by_example if part.background is not None]
    return VarianceComponents(
        np.sum([weight * contributions for weight, _, contributions in by_example], axis=0),
        first.between,
        np.sum([weight**2 * part.residual for weight, part, _ in by_example], axis=0),
        first.dof,
        reduce(BackgroundInfluence.plus, background) if len(background) == len(by_example) else None,
    )


@dataclass(frozen=True)
class Coverage:
    """Which of the examples of positive weight the draws have looked at; by default all of them.

    Attributes
    ----------
    visited : the share of the examples, by weight, that some draw has looked at
    unvisited : how many of them no draw has looked at
    draws_to_see_all : about how many draws it takes until every example has come up
    is_settled : whether examples have been visited so often that errors are those within examples
    """

    visited: float = 1.0
    unvisited: int = 0
    draws_to_see_all: float = 0.0
    is_settled: bool = True

    @classmethod
    def of(
        cls, weights: np.ndarray, is_seen: np.ndarray, draws_to_see_all: float, *, is_settled: bool = True
    ) -> Coverage:
        """The coverage of examples of the given weights (N,), of which those that were seen (N,) are marked."""
        unvisited = int(((weights > 0) & ~is_seen).sum())
        return cls(float(weights[is_seen].sum()), unvisited, draws_to_see_all, is_settled)


@dataclass(frozen=True)
class InterimAnalyses:
    """How often rules that decide have looked at the run; their level is spent over these looks.

    Attributes
    ----------
    count : interim analyses so far; 1 where there is no rule that decides
    is_now : whether the estimate is given to rules for such an analysis
    confidence : the least that a rule was asked for
    """

    count: int = 1
    is_now: bool = False
    confidence: float = 0.95


@dataclass(frozen=True)
class Estimate:
    """Estimated values of p players for each of L losses.

    Attributes
    ----------
    values : (L, p)
    covariance : (L, p, p) of the values, or (L, p), its diagonal, for very many players
    dof : (L, p) degrees of freedom of the variances
    draws : independent draws behind them (0: exact)
    model_rows : rows passed to the model
    scale : (L,) size of the loss with no features, to tell what is negligible
    coverage : of the examples by draws
    clipped : payoffs that a loss had to bound (a probability of zero for the true class)
    notes : on the way the values were found
    stopped : why the run ended; None while it goes on
    targets : what the values say of the population of "rows", and of the "population" of rows and background; at the
        end of a run, and where that is known
    tails : (2, L, p) shares of the variance over examples, and of the values, that the heaviest one in a hundred of
        them carry; where it is known
    components : of the variance, by examples and background rows; where the targets are known
    interim : analyses by rules that decide
    payoffs : (2^p, L) mean payoffs of all coalitions by number, where they were enumerated
    trace : (m, L, 4) on the way: draws, model rows, largest standard error, range of the values; None if exact
    """

    values: np.ndarray
    covariance: np.ndarray
    dof: np.ndarray
    draws: int
    model_rows: int
    scale: np.ndarray
    coverage: Coverage = Coverage()
    clipped: int = 0
    notes: tuple[Note, ...] = ()
    stopped: StopReason | None = None
    targets: dict[str, Target] = field(default_factory=dict)
    tails: np.ndarray | None = None
    components: VarianceComponents | None = None
    interim: InterimAnalyses = InterimAnalyses()
    payoffs: np.ndarray | None = None
    trace: np.ndarray | None = None

    @classmethod
    def exact(
        cls,
        values: np.ndarray,
        *,
        model_rows: int,
        scale: np.ndarray,
        clipped: int = 0,
        payoffs: np.ndarray | None = None,
        is_diagonal: bool = False,
    ) -> Estimate:
        """Values (L, p) without sampling error."""
        covariance = np.zeros(values.shape if is_diagonal else (*values.shape, values.shape[1]))
        dof = np.ones(values.shape)
        return cls(values, covariance, dof, 0, model_rows, scale, clipped=clipped, payoffs=payoffs)

    @property
    def variance(self) -> np.ndarray:
        """The variances of the values, (L, p)."""
        return self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)

    @property
    def std_error(self) -> np.ndarray:
        """Standard errors (L, p)."""
        return np.asarray(np.sqrt(self.variance))

    @property
    def cautious_error(self) -> np.ndarray:
        """Standard errors (L, p) as large as would give 95 % intervals of the same width if they were known exactly."""
        from scipy.stats import norm as normal  # which takes longer to load than workers may take to begin
        from scipy.stats import t as student

        return np.asarray(self.std_error * (student.ppf(0.975, self.dof) / normal.ppf(0.975)))
