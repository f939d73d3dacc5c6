"""Estimates with their errors, and sums of independent ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
        """(L, p)."""
        return self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)


def added(parts: Sequence[Estimated], weights: Sequence[float]) -> Estimated:
    """The weighted sum of independent estimates, with weights fixed in advance.

    Examples
    --------
    >>> one = Estimated(np.array([[1.0]]), np.array([[4.0]]), np.array([[9.0]]))
    >>> both = added([one, one], [0.5, 0.5])
    >>> both.values.item(), both.covariance.item(), both.dof.item()
    (1.0, 2.0, 19.0)
    """
    values, covariance = np.zeros_like(parts[0].values), np.zeros_like(parts[0].covariance)
    doubt = np.zeros_like(values)
    for part, weight in zip(parts, weights, strict=True):
        values = values + weight * part.values
        covariance = covariance + weight**2 * part.covariance
        doubt = doubt + doubt_in(weight**2 * part.variance, part.dof)
    total = Estimated(values, covariance, doubt).variance
    return Estimated(values, covariance, degrees(total, doubt, unknown=np.min([part.dof for part in parts], axis=0)))


def doubt_in(variance: np.ndarray, dof: Any) -> np.ndarray:
    """What an estimated variance adds to the doubt about a sum of such: see :func:`degrees`."""
    return np.asarray(variance**2 / (dof + 1))


def degrees(total: np.ndarray, doubt: np.ndarray, *, unknown: Any) -> np.ndarray:
    r"""Degrees of freedom of a sum of estimated variances; ``unknown`` where there is no doubt to tell them from.

    .. math:: \nu = \frac{(\sum_s V_s)^2}{\sum_s V_s^2 / (\nu_s + 1)} - 1

    Satterthwaite's formula, without the ones, takes the estimated variances for the true ones: of many with one degree
    of freedom each it returns a third. Twos instead of ones are right for normal errors (Welch), but too many where a
    few large errors make the variance. Ones lie between.
    """
    is_known = (doubt > 0) & np.isfinite(doubt)
    found = np.divide(total**2, doubt, out=np.ones_like(doubt), where=is_known) - 1
    return np.asarray(np.where(is_known, np.maximum(1.0, found), unknown))
