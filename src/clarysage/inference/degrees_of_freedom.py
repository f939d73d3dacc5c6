r"""Sums of independent estimates, and the degrees of freedom of their variances (Satterthwaite 1946).

The variance V of a sum is a sum of estimated variances V_s of nu_s degrees of freedom each. It is treated as if it had

.. math:: \nu = \frac{(\sum_s V_s)^2}{\sum_s V_s^2 / (\nu_s + 1)} - 1

degrees of freedom. Satterthwaite's formula has no ones. It takes the estimated variances for the true ones; for many
terms with one degree of freedom each, it returns a third of their number. With twos instead of ones the denominator
is unbiased for normal errors (Welch 1947), but there are too many degrees of freedom where a few large errors dominate
the variance. Ones are a compromise.

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
    """Values (L, p), their covariance (L, p, p) or its diagonal (L, p), and degrees of freedom (L, p)."""

    values: np.ndarray
    covariance: np.ndarray
    dof: np.ndarray

    @classmethod
    def mean_of(cls, moments: Moments) -> Estimated:
        """Returns the mean of independent draws, with its covariance."""
        dof = np.full(moments.mean.shape, max(1.0, moments.count - 1.0))
        return cls(moments.mean, moments.covariance_of_mean(), dof)

    @property
    def variance(self) -> np.ndarray:
        """The variances of the values, (L, p)."""
        return self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)


def weighted_sum(estimates: Sequence[Estimated], weights: Sequence[float]) -> Estimated:
    """Returns the weighted sum of independent estimates, with fixed weights.

    Examples
    --------
    >>> part = Estimated(np.array([[1.0]]), np.array([[4.0]]), np.array([[9.0]]))
    >>> mean = weighted_sum([part, part], [0.5, 0.5])
    >>> mean.values.item(), mean.covariance.item(), mean.dof.item()
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
    """Returns the contribution of one variance estimate to Satterthwaite's denominator, V^2 / (nu + 1)."""
    return np.asarray(variance**2 / (dof + 1))


def satterthwaite(variance: np.ndarray, terms: np.ndarray, *, unknown: np.ndarray | float) -> np.ndarray:
    """Returns the degrees of freedom of a sum of variance estimates, from the sum of their :func:`satterthwaite_term`.

    The result is ``unknown`` where the terms are zero or not finite.
    """
    is_known = (terms > 0) & np.isfinite(terms)
    dof = np.divide(variance**2, terms, out=np.ones_like(terms), where=is_known) - 1
    return np.asarray(np.where(is_known, np.maximum(1.0, dof), unknown))
