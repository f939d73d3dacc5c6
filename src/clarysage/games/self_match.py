"""Self-matches: examples that are background rows themselves, and means over all rows but the self-match.

The hybrid rows of a self-match are the example, whatever is kept, so that their prediction is known. Leaving the row
out of the sampled population, and adding it with its weight, is stratification with one completely enumerated stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class SelfMatches:
    """Converts mean predictions over all background rows to means over all rows but the self-match, and back.

    Attributes
    ----------
    rows : (N,) the background row that each example is, -1 for none; None where no example is one
    weights : (m,) of background rows
    outputs : (N, k) predictions for the examples

    Examples
    --------
    >>> matches = SelfMatches(np.array([1, -1]), np.array([0.5, 0.5]), np.array([[4.0], [9.0]]))
    >>> others = matches.leave_out(np.array([[[3.0]], [[3.0]]]))
    >>> others[:, 0, 0]
    array([2., 3.])
    >>> matches.of(np.array([1])).rows is None
    True
    """

    rows: np.ndarray | None
    weights: np.ndarray
    outputs: np.ndarray

    def of(self, examples: np.ndarray) -> SelfMatches:
        """Returns the self-matches of some of the examples."""
        rows = None if self.rows is None else self.rows[examples]
        if rows is not None and not (rows >= 0).any():
            rows = None
        return SelfMatches(rows, self.weights, self.outputs[examples])

    @cached_property
    def share(self) -> np.ndarray:
        """Weights (N,) of the self-matches, 0 where there is none."""
        if self.rows is None:
            return np.zeros(len(self.outputs))
        return np.asarray(np.where(self.rows >= 0, self.weights[self.rows], 0.0))

    def leave_out(self, mean: np.ndarray) -> np.ndarray:
        """Returns mean predictions (N, steps, k) over all rows but the self-match, from means over all rows."""
        if self.rows is None:
            return mean
        share = self.share[:, None, None]
        return np.asarray(mean + share / (1 - share) * (mean - self.outputs[:, None, :]))

    def put_back(self, mean: np.ndarray) -> np.ndarray:
        """Returns mean predictions (N, steps, k) over all rows, from means over all rows but the self-match."""
        if self.rows is None:
            return mean
        share, of_match = self.share[:, None, None], self.outputs[:, None, :]
        return np.asarray(mean + share * (of_match - mean))
