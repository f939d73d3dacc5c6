"""Values of single examples, kept apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.population import Reach
from clarysage.inference.stratified import Visits


@dataclass(frozen=True)
class Apart:
    """Values (n, L, p) of n examples, each in a game of its own, their variances, and visits (n,) behind them.

    Values are NaN where there was no visit, variances where there were fewer than two. Exact values have variance 0 and
    ``visits`` is None.
    """

    values: np.ndarray
    variance: np.ndarray
    visits: np.ndarray | None = None

    @classmethod
    def of_visits(cls, visits: Visits, weights: np.ndarray) -> Apart:
        """Of visits to cells of one example each, that found values times weights (n,)."""
        n, w = visits.count, weights[:, None, None]
        pairs = np.where(n > 1, n * (n - 1.0), np.nan)[:, None, None]
        seen = np.where(n > 0, 1.0, np.nan)[:, None, None]
        return cls(visits.mean * seen / w, visits.squares / pairs / w**2, n)

    @classmethod
    def of_parts(cls, parts: np.ndarray, weights: np.ndarray) -> Apart:
        """Of what examples of positive weights (n,) contribute to exact values, (n, L, p)."""
        values = parts / weights[:, None, None]
        return cls(values, np.zeros_like(values))

    def spread(self, is_there: np.ndarray) -> Apart:
        """The same with a place for every example (N,), NaN for those that are not there."""
        values, variance = (np.full((len(is_there), *self.values.shape[1:]), np.nan) for _ in range(2))
        values[is_there], variance[is_there] = self.values, self.variance
        return Apart(values, variance, self.visits)


def apart_of(reach: Reach, weights: np.ndarray) -> Apart | None:
    """The values of examples of positive weights (n,) that a reach holds; None where they were not kept apart."""
    if reach.apart is not None:
        return reach.apart  # type: ignore[no-any-return]
    return None if reach.parts is None else Apart.of_parts(reach.parts, weights)
