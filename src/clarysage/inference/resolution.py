"""A rule for stopping where values may all be zero: fine enough beside something of known size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import FEWEST_DRAWS, NEGLIGIBLE, Converged, must_see_more


@dataclass(frozen=True)
class Resolved:
    """The largest standard error is below ``tolerance`` times a size (L,), or the largest value where that is larger.

    As :class:`~clarysage.Converged`, with one difference: interactions of an additive model are all zero, have no range
    of their own, and are known well enough when their errors are small beside the SAGE values.
    """

    tolerance: float
    size: np.ndarray

    def __post_init__(self) -> None:
        Converged(self.tolerance)

    def __call__(self, estimate: Estimate) -> StopReason | None:
        if estimate.draws < FEWEST_DRAWS or must_see_more(estimate):
            return None
        is_fine = estimate.cautious_error.max(axis=1) <= self.tolerance * self._size(estimate)
        return StopReason.CONVERGED if is_fine.all() else None

    def progress(self, estimate: Estimate) -> float:
        """About which share of the draws needed has been made."""
        error = estimate.cautious_error.max(axis=1)
        share = np.divide(self.tolerance * self._size(estimate), error, out=np.ones_like(error), where=error > 0)
        return float(np.clip(share**2, 0.0, 1.0).min())

    def _size(self, estimate: Estimate) -> np.ndarray:
        largest = np.abs(estimate.values).max(axis=1)
        return np.asarray(np.maximum(np.maximum(self.size, largest), NEGLIGIBLE * estimate.scale))
