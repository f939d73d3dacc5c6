"""Correlation between the total importance of subsets and how well models do that are fitted to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations by method, with what they are in resamples of the subsets, which are the same for all methods.

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
        """Correlations of sum_{i in S} phi_i with minus the loss of models fitted to S, over drawn subsets S."""
        totals = {method: subsets @ phi for method, phi in scores.items()}
        rng = np.random.default_rng(0)
        again = rng.integers(len(losses), size=(resamples, len(losses)))
        return cls(
            {method: correlation(total, -losses) for method, total in totals.items()},
            {
                method: np.array([correlation(total[rows], -losses[rows]) for rows in again])
                for method, total in totals.items()
            },
            {method: within_sizes(total, -losses, subsets.sum(axis=1)) for method, total in totals.items()},
        )

    def interval(self, method: str) -> tuple[float, float]:
        """Ends of a 95 % interval by the bootstrap: over other draws of as many subsets."""
        low, high = np.quantile(self.resampled[method], [0.025, 0.975])
        return float(low), float(high)

    def std_error(self, method: str) -> float:
        return float(np.std(self.resampled[method], ddof=1))

    def shortfall(self, method: str, others: list[str]) -> tuple[float, float, float]:
        """How much a method's correlation is below the best of others, with the ends of a 95 % interval."""
        best = max(self.values[other] for other in others)
        resampled = np.max([self.resampled[other] for other in others], axis=0) - self.resampled[method]
        low, high = np.quantile(resampled, [0.025, 0.975])
        return float(best - self.values[method]), float(low), float(high)


def correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's correlation; 0 where one of the two never varies, as no order follows from it."""
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size else 0.0


def within_sizes(a: np.ndarray, b: np.ndarray, sizes: np.ndarray) -> float:
    """Correlation of what is left of both when the mean of their size is taken off."""
    a, b = a.astype(float), b.astype(float)
    for size in np.unique(sizes):
        same = sizes == size
        a[same] -= a[same].mean()
        b[same] -= b[same].mean()
    return correlation(a, b)
