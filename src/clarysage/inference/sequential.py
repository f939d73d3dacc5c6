r"""Sequential tests of values: of their signs, and of which are the largest; as rules for stopping.

Whoever analyses the same run again and again, and stops as soon as a test rejects, is wrong far more often than in a
single analysis. So these rules have few interim analyses, when all examples have been visited twice and then each time
the draws have doubled, and spend their level alpha over them (Lan & DeMets 1983): the k-th is at

.. math:: \alpha_k = \frac{\alpha}{k (k + 1)}, \qquad \sum_k \alpha_k = \alpha

References
----------
K. K. G. Lan, D. L. DeMets (1983). Discrete sequential boundaries for clinical trials. Biometrika 70, 659-663.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.intervals import interval

NEGLIGIBLE_SHARE = "a share of the range of the values below 1, such as 0.01"
HELPS, HURTS, UNDECIDED, NO_EFFECT = "helps", "hurts", "undecided", "no effect"


def level_of(confidence: float, look: int) -> float:
    """The confidence of the k-th interim analysis, so that all of them together have the one given.

    Examples
    --------
    >>> level_of(0.95, 1), round(level_of(0.95, 2), 4)
    (0.975, 0.9917)
    """
    return 1 - (1 - confidence) / (look * (look + 1))


def signs(values: np.ndarray, std_error: np.ndarray, dof: np.ndarray, level: float) -> list[str]:
    """Whether each value is above or below zero, all at once with the given probability.

    Examples
    --------
    >>> signs(np.array([1.0, -1.0, 0.1, 0.0]), np.array([0.1, 0.1, 0.1, 0.0]), np.full(4, 99.0), 0.95)
    ['helps', 'hurts', 'undecided', 'no effect']
    """
    low, high = interval(values, std_error, dof, level, joint=True)
    is_nothing = (values == 0) & (std_error == 0)
    words = np.where(low > 0, HELPS, np.where(high < 0, HURTS, np.where(is_nothing, NO_EFFECT, UNDECIDED)))
    return [str(word) for word in words]


def least_lead(
    values: np.ndarray, covariance: np.ndarray, dof: np.ndarray, k: int, level: float
) -> tuple[float, float]:
    """How far the k largest values are ahead of the others at least, and may be at most, for the closest of them.

    Differences of all pairs have to be above zero for the set to be known, so each is judged at the whole level: a
    wrong set is named only where a difference that is below zero seems above. Covariance is (p, p), or (p,) where only
    variances are known: differences may then vary as much as two values that err in opposite directions.
    """
    from scipy.stats import t as student

    order = np.argsort(-values, kind="stable")
    top, rest = order[:k], order[k:]
    if len(rest) == 0 or k == 0:
        return np.inf, np.inf
    variance = covariance if covariance.ndim == 1 else np.diagonal(covariance)
    own, theirs = variance[top][:, None], variance[rest][None, :]
    both = np.sqrt(own * theirs) if covariance.ndim == 1 else -covariance[np.ix_(top, rest)]
    error = np.sqrt(np.maximum(own + theirs + 2 * both, 0.0))
    lead = values[top][:, None] - values[rest][None, :]
    reach = student.ppf(level, np.minimum(dof[top][:, None], dof[rest][None, :])) * error
    return float((lead - reach).min()), float(np.where(lead - reach > 0, 0.0, lead + reach).max())


@dataclass(frozen=True)
class SignsKnown:
    """Stop when it is known of every value whether it is above or below zero.

    Parameters
    ----------
    confidence : the probability that all signs named are right, however often the run is looked at
    negligible : values within this share of the range of the values are let be, or a value of zero would have no end

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sage = cs.sage(lambda X: X[:, 0] - X[:, 1], X, X[:, 0], stop=cs.SignsKnown(), method="paired walks", rng=0)
    >>> sage.signs
    {'x0': 'helps', 'x1': 'hurts'}
    """

    confidence: float = 0.95
    negligible: float = 0.01

    def __post_init__(self) -> None:
        _check_share("confidence", self.confidence, "a number between 0 and 1, such as 0.95")
        _check_share("negligible", self.negligible, NEGLIGIBLE_SHARE)

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.SIGNS_KNOWN if _is_decided(self, estimate) else None

    def is_known(self, estimate: Estimate, loss: int, level: float) -> bool:
        """Whether the signs of the values for a loss are known at the given level."""
        values, error, dof = estimate.values[loss], estimate.std_error[loss], estimate.dof[loss]
        low, high = interval(values, error, dof, level, joint=True)
        is_small = np.maximum(np.abs(low), np.abs(high)) < self.negligible * _range(values)
        return bool((is_small | (np.array(signs(values, error, dof, level)) != UNDECIDED)).all())


@dataclass(frozen=True)
class TopKnown:
    """Stop when it is known which ``k`` values are the largest.

    Parameters
    ----------
    k : how many
    confidence : the probability that the set is right, however often the run is looked at
    negligible : differences within this share of the range of the values are let be, or a tie would have no end

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X @ [3.0, 2.0, 1.0]
    >>> sage = cs.sage(lambda X: X @ [3.0, 2.0, 1.0], X, y, stop=cs.TopKnown(2), method="paired walks", rng=0)
    >>> sage.top(2), sage.top(2).is_certain
    (['x0', 'x1'], True)
    """

    k: int
    confidence: float = 0.95
    negligible: float = 0.01

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            raise InputError("k", got=f"{self.k!r}", wanted="a whole number of one or more")
        _check_share("confidence", self.confidence, "a number between 0 and 1, such as 0.95")
        _check_share("negligible", self.negligible, NEGLIGIBLE_SHARE)

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.TOP_KNOWN if _is_decided(self, estimate) else None

    def is_known(self, estimate: Estimate, loss: int, level: float) -> bool:
        """Whether it is known at the given level which values for a loss are the largest."""
        values, covariance, dof = estimate.values[loss], estimate.covariance[loss], estimate.dof[loss]
        least, most = least_lead(values, covariance, dof, self.k, level)
        return least > 0 or most < self.negligible * _range(values)


class _Decision(Protocol):
    """What a rule decides at each interim analysis."""

    @property
    def confidence(self) -> float: ...

    def is_known(self, estimate: Estimate, loss: int, level: float) -> bool: ...


def _is_decided(rule: _Decision, estimate: Estimate) -> bool:
    """Whether this is an interim analysis at whose level the decision falls for all losses."""
    if not estimate.interim.is_now:
        return False
    level = level_of(rule.confidence, estimate.interim.count)
    return all(rule.is_known(estimate, loss, level) for loss in range(len(estimate.values)))


def _range(values: np.ndarray) -> float:
    """The range of values, zero included."""
    return float(max(values.max(), 0.0) - min(values.min(), 0.0))


def _check_share(name: str, value: object, wanted: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
        raise InputError(name, got=f"{value!r}", wanted=wanted)
