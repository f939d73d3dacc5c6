"""Accuracy by number of features: points of a curve and the area under it, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm, t


@dataclass(frozen=True, eq=False)
class AccuracyCurve:
    """Accuracies of networks with the best or the worst features of a method.

    Attributes
    ----------
    sizes : numbers of features, at least two
    accuracies : (sizes, seeds)
    test_rows : number of rows on which accuracies are measured
    """

    method: str
    end: str
    sizes: Sequence[int]
    accuracies: np.ndarray
    test_rows: int

    @property
    def means(self) -> np.ndarray:
        return np.asarray(self.accuracies.mean(axis=1))

    def reach(self) -> np.ndarray:
        """Returns half widths of 95 % intervals of the points, over seeds and over test rows."""
        return np.hypot(self._over_seeds(), self._over_rows())

    @property
    def area(self) -> float:
        """Area under the curve, as a share of the largest possible one."""
        return float(areas(self.sizes, self.means))

    def area_reach(self) -> float:
        """Returns the half width of its 95 % interval; errors over seeds are independent, those over rows common."""
        parts = areas(self.sizes, np.eye(len(self.sizes)))  # contribution of each point
        return float(np.hypot(self._over_seeds() * np.sqrt((parts**2).sum()), areas(self.sizes, self._over_rows())))

    def _over_rows(self) -> np.ndarray:
        return np.asarray(norm.ppf(0.975) * np.sqrt(self.means * (1 - self.means) / self.test_rows))

    def _over_seeds(self) -> float:
        """Returns the half width of an interval over seeds, from their variance pooled over sizes."""
        count, seeds = self.accuracies.shape
        if seeds == 1:
            return 0.0
        variance = self.accuracies.var(axis=1, ddof=1).mean()
        return float(t.ppf(0.975, count * (seeds - 1)) * np.sqrt(variance / seeds))


def areas(sizes: Sequence[int], heights: np.ndarray) -> np.ndarray:
    """Returns areas under curves of heights (..., sizes) by the trapezoidal rule, divided by the width.

    Examples
    --------
    >>> areas([5, 10, 20], np.array([[0.2, 0.4, 0.4]])).round(4)
    array([0.3667])
    """
    widths = np.diff(sizes)
    return np.asarray(heights[..., 1:] + heights[..., :-1]) @ widths / (2 * widths.sum())
