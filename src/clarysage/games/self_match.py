"""Examples that are background rows themselves: means over all rows, and over all rows but an example's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SelfMatches:
    """Moves mean predictions between all background rows and those that are not the example itself.

    A row that is the example predicts what the example does, whatever is kept, so that it need not be drawn.

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
        """Background rows (n,) that examples are, -1 for none; None where that is so for all of them."""
        if self.rows is None:
            return None
        match = self.rows[examples]
        return match if (match >= 0).any() else None

    def weight(self, match: np.ndarray) -> np.ndarray:
        """Weights (n,) of the rows that examples are."""
        return np.asarray(np.where(match >= 0, self.weights[match], 0.0))

    def leave_out(self, examples: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Mean predictions (n, steps, k) without an example's own row, from those over all rows."""
        match = self.of(examples)
        if match is None:
            return mean
        share = self.weight(match)[:, None, None]
        return np.asarray(mean + share / (1 - share) * (mean - self.outputs[examples][:, None, :]))

    def put_back(self, examples: np.ndarray, match: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """Mean predictions (n, steps, k) over all rows, from those without an example's own row."""
        share, of_own_row = self.weight(match)[:, None, None], self.outputs[examples][:, None, :]
        return np.asarray(mean + share * (of_own_row - mean))
