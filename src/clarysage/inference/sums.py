"""Estimates with their errors, and sums of independent ones."""

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
        """(L, p)."""
        return self.covariance if self.covariance.ndim == 2 else np.einsum("lii->li", self.covariance)


def added(parts: Sequence[Estimated], weights: Sequence[float]) -> Estimated:
    r"""The weighted sum of independent estimates, with weights fixed in advance; degrees of freedom by Satterthwaite.

    .. math:: \nu = (\sum_s w_s^2 V_s)^2 / \sum_s (w_s^2 V_s)^2 / \nu_s

    Examples
    --------
    >>> one = Estimated(np.array([[1.0]]), np.array([[4.0]]), np.array([[9.0]]))
    >>> both = added([one, one], [0.5, 0.5])
    >>> both.values.item(), both.covariance.item(), both.dof.item()
    (1.0, 2.0, 18.0)
    """
    values, covariance = np.zeros_like(parts[0].values), np.zeros_like(parts[0].covariance)
    doubt = np.zeros_like(values)
    for part, weight in zip(parts, weights, strict=True):
        values = values + weight * part.values
        covariance = covariance + weight**2 * part.covariance
        doubt = doubt + (weight**2 * part.variance) ** 2 / part.dof
    total = Estimated(values, covariance, doubt).variance
    least = np.min([part.dof for part in parts], axis=0)
    return Estimated(values, covariance, np.divide(total**2, doubt, out=least, where=(doubt > 0) & np.isfinite(doubt)))
