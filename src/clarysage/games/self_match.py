"""Self-matches: examples that are background rows themselves, and means over all rows but the self-match.

The hybrid rows of a self-match are the example, whatever is kept, so that their prediction is known. Leaving the row
out of the sampled population, and adding it with its weight, is stratification with one completely enumerated stratum.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    >>> others = matches.leave_out(np.array([0, 1]), np.array([[[3.0]], [[3.0]]]))
    >>> others[:, 0, 0]
    array([2., 3.])
    """

    rows: np.ndarray | None
    weights: np.ndarray
    outputs: np.ndarray

    def of(self, examples: np.ndarray) -> np.ndarray | None:
        """Returns the background rows (n,) that examples are, -1 for none; None where no example is one."""
        if self.rows is None:
            return None
        match = self.rows[examples]
        return match if (match >= 0).any() else None

    def weight(self, match: np.ndarray) -> np.ndarray:
        """Returns the weights (n,) of the self-matches, 0 where there is none."""
        return np.asarray(np.where(match >= 0, self.weights[match], 0.0))

    def leave_out(self, examples: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Returns mean predictions (n, steps, k) over all rows but the self-match, from means over all rows."""
        match = self.of(examples)
        if match is None:
            return mean
        share = self.weight(match)[:, None, None]
        return np.asarray(mean + share / (1 - share) * (mean - self.outputs[examples][:, None, :]))

    def put_back(self, examples: np.ndarray, match: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Returns mean predictions (n, steps, k) over all rows, from means over all rows but the self-match."""
        share, of_match = self.weight(match)[:, None, None], self.outputs[examples][:, None, :]
        return np.asarray(mean + share * (of_match - mean))
