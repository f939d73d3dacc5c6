"""Whether a change made to the reference's numbers gives the current ones, by the gap that is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.monitoring.shifts.line import Line

LARGEST = 1e100  # from there on numbers are as good as infinite, and their products may be
ROWS = 4_000  # of each sample, evenly spaced in order: more say little more
CRITICAL = 1.63  # of the Kolmogorov-Smirnov law at 1 %, in units of sqrt(1/n + 1/m)
LENIENT = 0.1  # share of the first gap that may be left: rows change in small ways besides
BITS = 33  # to which numbers are compared: those that a unit change rounds differently are the same


@dataclass(frozen=True)
class Samples:
    """Sorted finite numbers, thinned evenly, the gap between them, and the one that chance exceeds one time in 100."""

    reference: np.ndarray
    current: np.ndarray
    gap: float
    critical: float

    @classmethod
    def of(cls, reference: np.ndarray, current: np.ndarray) -> Samples:
        """Of sorted numbers without missing ones."""
        finite = [side[np.abs(side) < LARGEST] for side in (reference, current)]
        sides = [_thinned(side) for side in finite]
        rows = [max(1, len(side)) for side in finite]
        chance = CRITICAL * np.sqrt(1 / rows[0] + 1 / rows[1]) + (max(rows) > ROWS) / ROWS
        return cls(sides[0], sides[1], Line.of(*sides).distance, float(chance))

    @property
    def are_empty(self) -> bool:
        """Whether one of them has no number."""
        return not len(self.reference) or not len(self.current)

    def line(self, changed: np.ndarray) -> Line:
        """The reference's numbers, changed so and in order, beside the current ones."""
        return Line.of(_blurred(changed), _blurred(self.current))

    def left(self, changed: np.ndarray) -> float:
        """The gap that is left between them."""
        return self.line(changed).distance

    def explains(self, left: float) -> bool:
        """Whether a change is good enough: no gap beyond chance, or hardly any of the first one, and far less of it."""
        return left <= max(self.critical, LENIENT * self.gap) and left <= self.gap / 2

    def quantiles(self, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Order statistics at levels between 0 and 1 of both samples; values that occur, never between two."""
        return _order_statistics(self.reference, levels), _order_statistics(self.current, levels)


def _order_statistics(ordered: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.asarray(ordered[np.minimum((levels * len(ordered)).astype(np.int64), len(ordered) - 1)])


def _thinned(ordered: np.ndarray) -> np.ndarray:
    if len(ordered) <= ROWS:
        return ordered
    return np.asarray(ordered[np.linspace(0, len(ordered) - 1, ROWS).round().astype(np.int64)])


def _blurred(values: np.ndarray) -> np.ndarray:
    digits, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(np.ldexp(digits, BITS)), exponent - BITS))
