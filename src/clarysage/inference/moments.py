"""Running moments of draws (count, mean, scatter) that are merged pairwise.

The update is that of Chan, Golub & LeVeque (1983), which generalises that of Welford (1962) to two samples of any size.

References
----------
B. P. Welford (1962). Note on a method for calculating corrected sums of squares and products. Technometrics 4, 419-420.
T. F. Chan, G. H. Golub, R. J. LeVeque (1983). Algorithms for computing the sample variance: analysis and
recommendations. The American Statistician 37, 242-247.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FULL_COVARIANCE = 2048  # number of players above which only variances are computed


@dataclass(frozen=True)
class Moments:
    """Count, mean (L, p) and scatter of draws.

    The scatter is the sum of products of deviations (L, p, p), or of their squares (L, p) where p is large.
    """

    count: int
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, draws: np.ndarray) -> Moments:
        """Returns the moments of draws (n, L, p)."""
        mean = draws.mean(axis=0)
        deviations = draws - mean
        if draws.shape[2] > FULL_COVARIANCE:
            return cls(len(draws), mean, (deviations**2).sum(axis=0))
        by_loss = deviations.transpose(1, 0, 2)  # (L, n, p)
        return cls(len(draws), mean, by_loss.transpose(0, 2, 1) @ by_loss)

    def merge(self, other: Moments) -> Moments:
        """Returns the moments of both samples together."""
        count = self.count + other.count
        shift = other.mean - self.mean
        between = shift**2 if self.scatter.ndim == 2 else shift[:, :, None] * shift[:, None, :]
        return Moments(
            count,
            self.mean + shift * (other.count / count),
            self.scatter + other.scatter + between * (self.count * other.count / count),
        )

    def covariance_of_mean(self) -> np.ndarray:
        """Returns the covariance of the mean of independent draws; infinite where there is a single draw."""
        if self.count < 2:
            return np.full_like(self.scatter, np.inf)
        return self.scatter / (self.count - 1) / self.count
