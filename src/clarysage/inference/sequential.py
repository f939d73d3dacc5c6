r"""Sequential tests as stopping rules: of the signs of values, and of which values are the largest.

Repeated tests of the same run, which stops as soon as one of them rejects, have a much larger error rate than a single
test. So these rules have few interim analyses: the first when all examples have been visited (twice by paired walks;
if that is not affordable, after the first rounds), and further ones whenever the number of draws has doubled
(``estimators/rules.py`` has the schedule). They spend the level alpha over the analyses (alpha spending, Lan & DeMets
1983); the k-th analysis is at the level

.. math:: \alpha_k = \frac{\alpha}{k (k + 1)}, \qquad \sum_{k = 1}^\infty \alpha_k = \alpha

This is a union bound (Bonferroni) over an unlimited number of analyses. It does not use the correlation between
analyses, as the boundaries of Pocock or O'Brien and Fleming do, and is conservative.

References
----------
R. L. Berger (1982). Multiparameter hypothesis testing and acceptance sampling. Technometrics 24, 295-300.
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
    """Returns the confidence of the k-th interim analysis (look) under which all of them together have the given one.

    Examples
    --------
    >>> level_of(0.95, 1), round(level_of(0.95, 2), 4)
    (0.975, 0.9917)
    """
    return 1 - (1 - confidence) / (look * (look + 1))


def sign_names(
    values: np.ndarray, std_error: np.ndarray, dof: np.ndarray, level: float, *, skew: np.ndarray | float = 0.0
) -> list[str]:
    """Returns the sign of each value: "helps" (above zero), "hurts", "undecided", or "no effect".

    All signs are right simultaneously with the given probability. ``skew`` is that of
    :func:`clarysage.inference.intervals.interval`.

    Examples
    --------
    >>> sign_names(np.array([1.0, -1.0, 0.1, 0.0]), np.array([0.1, 0.1, 0.1, 0.0]), np.full(4, 99.0), 0.95)
    ['helps', 'hurts', 'undecided', 'no effect']
    """
    low, high = interval(values, std_error, dof, level, joint=True, skew=skew)
    is_zero = (values == 0) & (std_error == 0)
    names = np.where(low > 0, HELPS, np.where(high < 0, HURTS, np.where(is_zero, NO_EFFECT, UNDECIDED)))
    return [str(name) for name in names]


def least_lead(
    values: np.ndarray, covariance: np.ndarray, dof: np.ndarray, k: int, level: float
) -> tuple[float, float]:
    """Returns bounds on the smallest lead of the k largest values over the others: at least, and at most if undecided.

    The set of the k largest values is known if the differences of all pairs are above zero. This is an
    intersection-union test (Berger 1982), so that each difference is tested at the full level: a wrong set is reported
    only if a difference that is below zero seems to be above. Covariance is (p, p), or (p,) where only variances are
    known; the errors of two values are then assumed to be perfectly anticorrelated, which is the worst case.
    """
    from scipy.stats import t as student

    order = np.argsort(-values, kind="stable")
    top, others = order[:k], order[k:]
    if len(others) == 0 or k == 0:
        return np.inf, np.inf
    variance = covariance if covariance.ndim == 1 else np.diagonal(covariance)
    of_top, of_others = variance[top][:, None], variance[others][None, :]
    anticovariance = np.sqrt(of_top * of_others) if covariance.ndim == 1 else -covariance[np.ix_(top, others)]
    error = np.sqrt(np.maximum(of_top + of_others + 2 * anticovariance, 0.0))
    lead = values[top][:, None] - values[others][None, :]
    margin = student.ppf(level, np.minimum(dof[top][:, None], dof[others][None, :])) * error
    return float((lead - margin).min()), float(np.where(lead - margin > 0, 0.0, lead + margin).max())


@dataclass(frozen=True)
class SignsKnown:
    """Stops when the signs of all values on this data are known: a sequential test.

    Parameters
    ----------
    confidence : the probability that all reported signs are right, over all interim analyses together
    negligible : values within this share of the range of the values may stay undecided; otherwise a run with a value of
        zero would not end

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> sage = cs.sage(lambda X: X[:, 0] - X[:, 1], X, X[:, 0], stop=cs.SignsKnown(), method="paired walks", rng=0)
    >>> sage.signs_about("data")
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
        """Tells whether the signs of the values for a loss are known at the given level."""
        values, error, dof = estimate.values[loss], estimate.std_error[loss], estimate.dof[loss]
        low, high = interval(values, error, dof, level, joint=True)
        is_small = np.maximum(np.abs(low), np.abs(high)) < self.negligible * _range(values)
        return bool((is_small | (np.array(sign_names(values, error, dof, level)) != UNDECIDED)).all())


@dataclass(frozen=True)
class TopKnown:
    """Stops when the set of the ``k`` largest values on this data is known: a sequential test.

    Parameters
    ----------
    k : size of the set
    confidence : the probability that the reported set is right, over all interim analyses together
    negligible : differences within this share of the range of the values may stay undecided; otherwise a run with a tie
        would not end

    Examples
    --------
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = X @ [3.0, 2.0, 1.0]
    >>> sage = cs.sage(lambda X: X @ [3.0, 2.0, 1.0], X, y, stop=cs.TopKnown(2), method="paired walks", rng=0)
    >>> sage.top(2), sage.top(2, about="data").is_certain
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
        """Tells whether the set of the largest values for a loss is known at the given level."""
        values, covariance, dof = estimate.values[loss], estimate.covariance[loss], estimate.dof[loss]
        least, most = least_lead(values, covariance, dof, self.k, level)
        return least > 0 or most < self.negligible * _range(values)


class _SequentialTest(Protocol):
    """A stopping rule that tests a hypothesis at each interim analysis."""

    @property
    def confidence(self) -> float: ...

    def is_known(self, estimate: Estimate, loss: int, level: float) -> bool: ...


def _is_decided(rule: _SequentialTest, estimate: Estimate) -> bool:
    """Tells whether this is an interim analysis, and the test rejects at its level for all losses."""
    if not estimate.interim.is_now:
        return False
    level = level_of(rule.confidence, estimate.interim.count)
    return all(rule.is_known(estimate, loss, level) for loss in range(len(estimate.values)))


def _range(values: np.ndarray) -> float:
    """Returns the distance from the smallest to the largest of the values and zero."""
    return float(max(values.max(), 0.0) - min(values.min(), 0.0))


def _check_share(name: str, value: object, description: str) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
        raise InputError(name, got=f"{value!r}", wanted=description)
