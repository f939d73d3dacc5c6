"""Correlation between the total importance of subsets and the performance of models fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations by method, with bootstrap resamples of the subsets that are the same for all methods.

    Attributes
    ----------
    values : by method
    resampled : by method, (resamples,)
    within : by method, the correlation among subsets of one size, which does not reward a sum that grows with the size
    """

    values: Mapping[str, float]
    resampled: Mapping[str, np.ndarray]
    within: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls, scores: Mapping[str, np.ndarray], subsets: np.ndarray, losses: np.ndarray, *, resamples: int
    ) -> Correlations:
        """Returns correlations of sum_{i in S} phi_i with minus the loss of models fitted to S, over subsets S."""
        totals = {method: subsets @ phi for method, phi in scores.items()}
        rng = np.random.default_rng(0)
        resampled = rng.integers(len(losses), size=(resamples, len(losses)))
        return cls(
            {method: correlation(total, -losses) for method, total in totals.items()},
            {
                method: np.array([correlation(total[rows], -losses[rows]) for rows in resampled])
                for method, total in totals.items()
            },
            {method: within_sizes(total, -losses, subsets.sum(axis=1)) for method, total in totals.items()},
        )

    def interval(self, method: str) -> tuple[float, float]:
        """Returns the ends of a 95 % bootstrap interval over random subsets."""
        low, high = np.quantile(self.resampled[method], [0.025, 0.975])
        return float(low), float(high)

    def std_error(self, method: str) -> float:
        return float(np.std(self.resampled[method], ddof=1))

    def shortfall(self, method: str, others: list[str]) -> tuple[float, float, float]:
        """Returns the best correlation of others minus that of a method, with the ends of a 95 % interval."""
        best = max(self.values[other] for other in others)
        resampled = np.max([self.resampled[other] for other in others], axis=0) - self.resampled[method]
        low, high = np.quantile(resampled, [0.025, 0.975])
        return float(best - self.values[method]), float(low), float(high)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Returns Pearson's correlation; 0 if one of the two is constant."""
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size else 0.0


def within_sizes(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> float:
    """Returns the correlation after subtraction of the mean of each size from both."""
    a, b = a.astype(float), b.astype(float)
    for size in np.unique(sizes):
        same = sizes == size
        a[same] -= a[same].mean()
        b[same] -= b[same].mean()
    return correlation(a, b)
