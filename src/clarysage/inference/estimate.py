"""Estimates: values with their covariance, variance components, coverage, cost, and the reason why the run stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """Why a run ended; the member's value is the message.

    Examples
    --------
    >>> StopReason.BUDGET.value
    'Stopped at the budget before convergence.'
    >>> StopReason.BUDGET.is_wanted, StopReason.CONVERGED.is_converged
    (False, True)
    """

    EXACT = "Exact: computed, not estimated by sampling."
    CONVERGED = "Converged: the largest standard error is below the tolerance times the range of the values."
    EQUAL = (
        "Converged: the values do not differ significantly, and the largest standard error is below the tolerance "
        "times their size."
    )
    SIGNS_KNOWN = "Decided: the signs of all values on this data are known, except for negligible values."
    TOP_KNOWN = "Decided: the largest values on this data are known, except for negligible differences."
    REPEATED = "Done: every example was visited the requested number of times."
    NO_EFFECT = "All values are zero: no feature changed the loss of any example."
    BUDGET = "Stopped at the budget before convergence."
    DEADLINE = "Stopped at the deadline before convergence."
    INTERRUPTED = "Interrupted; this is the estimate so far."
    FAILED = "The model failed; this is the estimate before the failure."
    RULE = "Stopped by the given rule."

    @property
    def is_wanted(self) -> bool:
        """Tells whether the run reached its goal, rather than a limit or an error."""
        return self.is_converged or self in (StopReason.SIGNS_KNOWN, StopReason.TOP_KNOWN, StopReason.REPEATED)

    @property
    def is_converged(self) -> bool:
        return self in (StopReason.EXACT, StopReason.CONVERGED, StopReason.EQUAL, StopReason.NO_EFFECT)


@dataclass(frozen=True)
class Target:
    """Values (L, p) as estimates about a population, with standard errors, degrees of freedom and skewness."""

    values: Annotated[np.ndarray, Array()]
    std_error: Annotated[np.ndarray, Array(low=0)]
    dof: Annotated[np.ndarray, Array(low=1)]
    skew: Annotated[np.ndarray, Array()]

    @classmethod
    def concatenated(cls, targets: Sequence[Target]) -> Target:
        """Concatenates the arrays of several targets."""
        return cls(*map(np.concatenate, zip(*(target.arrays for target in targets), strict=True)))

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        """All arrays, in the order of the fields."""
        return self.values, self.std_error, self.dof, self.skew

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> Target:
        """Returns the target with a function of each array in its place, such as a selection of values."""
        return Target(*map(function, self.arrays))


@dataclass(frozen=True)
class LocalValues:
    """Local explanations: values (n, L, p) of n single examples, with their variances and numbers of visits (n,).

    Values are NaN where there was no visit; variances are NaN where there were fewer than two. Exact values have
    variance 0, and their ``visits`` are None.
    """

    values: np.ndarray
    variance: np.ndarray
    visits: np.ndarray | None = None

    @classmethod
    def sampled(cls, moments: StratifiedMoments, weights: np.ndarray) -> LocalValues:
        """Returns means of visits to strata of one example each; draws are its values times its weight (n,)."""
        n, w = moments.count, weights[:, None, None]
        pairs = np.where(n > 1, n * (n - 1.0), np.nan)[:, None, None]
        seen = np.where(n > 0, 1.0, np.nan)[:, None, None]
        return cls(moments.mean * seen / w, moments.squares / pairs / w**2, n)

    @classmethod
    def exact(cls, contributions: np.ndarray, weights: np.ndarray) -> LocalValues:
        """Returns exact values, from the contributions (n, L, p) of examples with positive weights (n,)."""
        values = contributions / weights[:, None, None]
        return cls(values, np.zeros_like(values))

    def over_all(self, is_included: np.ndarray) -> LocalValues:
        """Returns the values with a row for every example (N,); rows of examples that are not included are NaN."""
        values, variance = (np.full((len(is_included), *self.values.shape[1:]), np.nan) for _ in range(2))
        values[is_included], variance[is_included] = self.values, self.variance
        return LocalValues(values, variance, self.visits)


@dataclass(frozen=True)
class VarianceComponents:
    """Components of the variance of values over samples of examples and of background rows.

    :mod:`clarysage.inference.population` combines the components to variances about populations.

    Attributes
    ----------
    contributions : (N, L, p) of each example of positive weight to the values; None where some were not visited
    between : (L, p) the variance over examples where there are no contributions, else zero
    residual : (L, p) sampling variance of the values that contributions do not show
    dof : degrees of freedom of the variance over examples
    background : the influence of background rows; None where it is not known, or where there is a single row
    local : local values with their variances, where they were sampled and each example has its own game
    background_weights : (m,) of these rows, which add up to one, where the rows differ from those of subsampled walks
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
        """Returns the components of values without sampling error, which are sums of contributions (N, L, p)."""
        zero = np.zeros(contributions.shape[1:])
        return cls(contributions, zero, zero, len(contributions) - 1.0, background)

    def local_values(self, weights: np.ndarray) -> LocalValues | None:
        """Returns the local values of examples with positive weights (n,); None where they were not recorded."""
        if self.local is not None or self.contributions is None:
            return self.local
        return LocalValues.exact(self.contributions, weights)


def weighted_components(
    terms: Sequence[VarianceComponents | None], weights: Sequence[float]
) -> VarianceComponents | None:
    """Returns the components of a weighted sum of independent values of the same examples; None if some are unknown.

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
    """Coverage of the examples of positive weight by the draws; by default every example was visited.

    Attributes
    ----------
    visited : the share of the examples, by weight, that have been visited
    unvisited : number of examples that have not been visited
    draws_to_see_all : expected number of draws until every example has been visited
    is_settled : true if every stratum has enough visits that standard errors are those within strata
    """

    visited: float = 1.0
    unvisited: int = 0
    draws_to_see_all: float = 0.0
    is_settled: bool = True

    @classmethod
    def of(
        cls, weights: np.ndarray, is_seen: np.ndarray, draws_to_see_all: float, *, is_settled: bool = True
    ) -> Coverage:
        """Returns the coverage of examples of weights (N,) from a mask (N,) of the visited ones."""
        unvisited = int(((weights > 0) & ~is_seen).sum())
        return cls(float(weights[is_seen].sum()), unvisited, draws_to_see_all, is_settled)


@dataclass(frozen=True)
class InterimAnalyses:
    """Interim analyses of a run by sequential tests, over which the tests spend their level alpha.

    Attributes
    ----------
    count : interim analyses so far; 1 where there is no sequential test
    is_now : true if the estimate is given to the stopping rules for an interim analysis
    confidence : the lowest confidence of the sequential tests
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
    draws : number of independent draws (0: exact)
    model_rows : number of rows passed to the model
    scale : (L,) size of the loss with no features, relative to which values are negligible
    coverage : of the examples by draws
    clipped : number of payoffs that a loss had to bound (a probability of zero for the true class)
    notes : about how the values were computed
    stopped : why the run ended; None while it continues
    targets : estimates about the population of "rows", and about the "population" of rows and background; at the end of
        a run, where they are known
    tails : (2, L, p) leverage: shares of the variance over examples, and of the values, that the 1 % of examples with
        the largest deviations contribute; None where they are not known
    components : of the variance, by examples and background rows; None where the targets are not known
    interim : interim analyses by sequential tests
    method : the name of the estimator, if another one than that of the run made the estimate
    payoffs : (2^p, L) mean payoffs of all coalitions by number, where they were enumerated
    trace : (m, L, 4) of the run: draws, model rows, largest standard error, range of the values; None if exact

    Examples
    --------
    >>> import clarysage as cs
    >>> estimate = cs.estimate(cs.TabularGame([0, 1, 2, 4]), cs.Exact())
    >>> estimate.values, estimate.stopped.name
    (array([[1.5, 2.5]]), 'EXACT')
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
    method: str | None = None

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
        """Returns an estimate of values (L, p) without sampling error."""
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
        """Standard errors (L, p), inflated so that normal 95 % intervals are as wide as Student's."""
        from scipy.stats import norm as normal  # imported here, since workers would take long to load it
        from scipy.stats import t as student

        return np.asarray(self.std_error * (student.ppf(0.975, self.dof) / normal.ppf(0.975)))
