"""What a model's outputs look like, and learned numbers brought into that form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.losses.classification import SUM_TOLERANCE


@dataclass(frozen=True)
class OutputForm:
    """The range (k,) of outputs over the background, and whether they are probabilities that add up to one.

    A class that some rows do not have at all, or alone, is held to be that of half a row: what was learned says nothing
    of shares below that, and a loss may not forgive a share of none. No bound is moved past another observed output.

    Examples
    --------
    >>> form = OutputForm.of(np.array([[0.0, 1.0], [0.5, 0.5], [0.4, 0.6]]))
    >>> form(np.array([[1.7], [0.6]])).round(3)
    array([[0.167, 0.833],
           [0.4  , 0.6  ]])
    """

    low: np.ndarray
    high: np.ndarray
    adds_up: bool

    @classmethod
    def of(cls, outputs: np.ndarray, *, is_classifier: bool = False) -> OutputForm:
        low, high = outputs.min(axis=0), outputs.max(axis=0)
        is_share = bool(low.min() >= -SUM_TOLERANCE and high.max() <= 1 + SUM_TOLERANCE)
        off = np.abs(outputs.sum(axis=1) - 1).max()
        adds_up = is_share and outputs.shape[1] > 1 and bool(off <= SUM_TOLERANCE)
        if adds_up or (is_share and is_classifier):
            low, high = _above_none(outputs), np.where(high >= 1, 1 - _above_none(1 - outputs), high)
        return cls(low, high, adds_up)

    def wanted(self, outputs: np.ndarray) -> np.ndarray:
        """Outputs to be learned, (n, t): one of two that add up to one."""
        return outputs[:, -1:] if self.adds_up and outputs.shape[1] == 2 else outputs

    def __call__(self, learned: np.ndarray) -> np.ndarray:
        """Outputs (n, k) of what was learned (n, t)."""
        if learned.shape[1] < len(self.low):
            learned = np.column_stack([1 - learned, learned])
        inside = np.clip(learned, self.low, self.high)
        return np.asarray(inside / inside.sum(axis=1, keepdims=True)) if self.adds_up else inside


def _above_none(shares: np.ndarray) -> np.ndarray:
    """The least share (k,) of each class; half a row, or the least that is there, where some have none."""
    low = shares.min(axis=0)
    there = np.where(shares > 0, shares, np.inf).min(axis=0)
    return np.asarray(np.where((low <= 0) & np.isfinite(there), np.minimum(0.5 / len(shares), there), low))
