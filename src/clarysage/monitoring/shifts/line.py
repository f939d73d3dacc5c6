"""Two samples of numbers along the line: how many rows of each are at or below every value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Line:
    """Distinct values (k,) of both samples, and rows of the reference and of the current sample up to each, (2, k).

    Examples
    --------
    >>> line = Line.of(np.array([1.0, 1.0, 3.0]), np.array([1.0, 2.0]))
    >>> line.values, line.below.tolist(), line.distance
    (array([1., 2., 3.]), [[2, 2, 3], [1, 2, 2]], 0.33333333333333337)
    """

    values: np.ndarray
    below: np.ndarray

    @classmethod
    def of(cls, reference: np.ndarray, current: np.ndarray) -> Line:
        """Of samples that are sorted."""
        both = np.concatenate([reference, current])
        order = np.argsort(both, kind="stable")  # two sorted runs: merged in one pass
        both = both[order]
        ends = np.flatnonzero(np.append(both[1:] != both[:-1], True)) if len(both) else np.zeros(0, dtype=np.int64)
        now = np.cumsum(order >= len(reference))[ends]
        return cls(both[ends], np.array([ends + 1 - now, now]))

    @property
    def rows(self) -> tuple[int, int]:
        return (int(self.below[0, -1]), int(self.below[1, -1])) if len(self.values) else (0, 0)

    @cached_property
    def counts(self) -> np.ndarray:
        """Rows of each value, (2, k)."""
        return np.diff(self.below, axis=1, prepend=0)

    @cached_property
    def gaps(self) -> np.ndarray:
        """Share of current rows up to each value, less that of the reference's, (k,); zeros where a sample is empty."""
        reference, current = self.rows
        if not reference or not current:
            return np.zeros(len(self.values))
        return np.asarray(self.below[1] / current - self.below[0] / reference)

    @property
    def distance(self) -> float:
        """The largest gap, either way: the Kolmogorov-Smirnov distance."""
        return float(np.abs(self.gaps).max(initial=0.0))

    @property
    def typical(self) -> float:
        """The root mean square gap over all rows (Cramer and von Mises): less a matter of chance than the largest."""
        return float(np.sqrt(np.average(self.gaps**2, weights=self.counts.sum(axis=0))))
