r"""Sums of independent estimates, and the degrees of freedom of their variances (Satterthwaite 1946).

The variance V of a sum is a sum of estimated variances V_s of nu_s degrees of freedom each. It is treated as if it had

.. math:: \nu = \frac{(\sum_s V_s)^2}{\sum_s V_s^2 / (\nu_s + 1)} - 1

degrees of freedom. Satterthwaite's formula, without the ones, takes the estimated variances for the true ones: of many
with one degree of freedom each it returns a third of their number. Twos instead of ones are right for normal errors
(Welch 1947), but too many where a few large errors make the variance. Ones lie between.

References
----------
F. E. Satterthwaite (1946). An approximate distribution of estimates of variance components. Biometrics Bulletin 2,
110-114.
B. L. Welch (1947). The generalization of "Student's" problem when several different population variances are involved.
Biometrika 34, 28-35.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.inference.moments import Moments


@dataclass(frozen=True)
class Estimated:
    """Values (L, p), their covariance (L, p, p) or (L, p), its diagonal, and degrees of freedom (L, p)."""

    values: np.ndarray
    covariance: np.ndarray
    dof: np.ndarray

    @classmethod
    def mean_of(cls, moments: Moments) -> Estimated:
        """The mean of independent draws."""
        dof = np.full(moments.mean.shape, max(1.0, moments.count - 1.0))
        return cls(moments.mean, moments.covariance_of_mean(), dof)

    @property
    def variance(self) -> np.ndarray:
        """The variances of the values, (L, p)."""
        return self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)


def weighted_sum(estimates: Sequence[Estimated], weights: Sequence[float]) -> Estimated:
    """The weighted sum of independent estimates, with weights fixed in advance.

    Examples
    --------
    >>> one = Estimated(np.array([[1.0]]), np.array([[4.0]]), np.array([[9.0]]))
    >>> both = weighted_sum([one, one], [0.5, 0.5])
    >>> both.values.item(), both.covariance.item(), both.dof.item()
    (1.0, 2.0, 19.0)
    """
    values, covariance = np.zeros_like(estimates[0].values), np.zeros_like(estimates[0].covariance)
    terms = np.zeros_like(values)
    for part, weight in zip(estimates, weights, strict=True):
        values = values + weight * part.values
        covariance = covariance + weight**2 * part.covariance
        terms = terms + satterthwaite_term(weight**2 * part.variance, part.dof)
    total = Estimated(values, covariance, terms).variance
    fewest = np.min([part.dof for part in estimates], axis=0)
    return Estimated(values, covariance, satterthwaite(total, terms, unknown=fewest))


def satterthwaite_term(variance: np.ndarray, dof: np.ndarray | float) -> np.ndarray:
    """What one estimated variance adds to the denominator of Satterthwaite's formula, V^2 / (nu + 1)."""
    return np.asarray(variance**2 / (dof + 1))


def satterthwaite(variance: np.ndarray, terms: np.ndarray, *, unknown: np.ndarray | float) -> np.ndarray:
    """Degrees of freedom of a sum of estimated variances, from the sum of their :func:`satterthwaite_term`.

    ``unknown`` takes their place where the terms are zero or not finite.
    """
    is_known = (terms > 0) & np.isfinite(terms)
    dof = np.divide(variance**2, terms, out=np.ones_like(terms), where=is_known) - 1
    return np.asarray(np.where(is_known, np.maximum(1.0, dof), unknown))
