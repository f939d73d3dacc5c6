"""Local explanations: the values of single examples, each in a game of its own, with their variances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.stratified import StratifiedMoments


@dataclass(frozen=True)
class LocalValues:
    """Values (n, L, p) of n examples, each in a game of its own, their variances, and visits (n,) behind them.

    Values are NaN where there was no visit, variances where there were fewer than two. Exact values have variance 0 and
    ``visits`` is None.
    """

    values: np.ndarray
    variance: np.ndarray
    visits: np.ndarray | None = None

    @classmethod
    def sampled(cls, moments: StratifiedMoments, weights: np.ndarray) -> LocalValues:
        """Means of visits to cells of one example each, whose draws are its values times its weight (n,)."""
        n, w = moments.count, weights[:, None, None]
        pairs = np.where(n > 1, n * (n - 1.0), np.nan)[:, None, None]
        seen = np.where(n > 0, 1.0, np.nan)[:, None, None]
        return cls(moments.mean * seen / w, moments.squares / pairs / w**2, n)

    @classmethod
    def exact(cls, contributions: np.ndarray, weights: np.ndarray) -> LocalValues:
        """Exact values, from what examples of positive weights (n,) contribute to the values of all, (n, L, p)."""
        values = contributions / weights[:, None, None]
        return cls(values, np.zeros_like(values))

    def over_all(self, is_there: np.ndarray) -> LocalValues:
        """The same with a row for every example (N,), NaN for those that are not there."""
        values, variance = (np.full((len(is_there), *self.values.shape[1:]), np.nan) for _ in range(2))
        values[is_there], variance[is_there] = self.values, self.variance
        return LocalValues(values, variance, self.visits)
