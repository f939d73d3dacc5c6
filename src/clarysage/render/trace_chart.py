"""Trace chart: how the largest standard error shrank with the rows that the model was asked about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.results import Explanation

WIDTH, HEIGHT = 760.0, 240.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 24.0, 12.0, 44.0  # margins, with room for numbers and the name of the axis
FEWEST = 3  # points that make a line
STEPS = (1, 2, 5)


@dataclass(frozen=True)
class TraceChart:
    """The line as points of a polyline, ticks (place, number) of both axes, and what it shows in words."""

    line: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    words: str


def trace_chart(explanation: Explanation) -> TraceChart | None:
    """The line of a run, on axes of powers, where errors fall straight; None where there are too few points."""
    if explanation.trace is None:
        return None
    draws, rows, errors, spans = explanation.trace.T
    known = (rows > 0) & (errors > 0) & (spans > 0)
    if known.sum() < FEWEST or rows[known].min() == rows[known].max():
        return None
    rows, shares = rows[known], errors[known] / spans[known]
    across, down = _Powers.of(rows, LEFT, WIDTH - RIGHT), _Powers.of(shares, HEIGHT - BOTTOM, TOP)
    line = " ".join(f"{across(a)},{down(b)}" for a, b in zip(rows, shares, strict=True))
    first, last = (f"{shares[i]:.2g} of the range of the values after {int(draws[known][i]):,} draws" for i in (0, -1))
    return TraceChart(
        line,
        tuple((across(tick), f"{tick:,.0f}") for tick in across.ticks()),
        tuple((down(tick), f"{100 * tick:.6g} %") for tick in down.ticks()),
        f"The largest standard error went from {first} to {last}.",
    )


@dataclass(frozen=True)
class _Powers:
    """From a number to its place on an axis of powers."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, numbers: np.ndarray, start: float, end: float) -> _Powers:
        low, high = float(numbers.min()), float(numbers.max())
        return cls(low / 1.1, high * 1.1, start, end)

    def __call__(self, number: float) -> float:
        share = np.log(number / self.low) / np.log(self.high / self.low)
        return round(float(self.start + share * (self.end - self.start)), 1)

    def ticks(self) -> list[float]:
        """1, 2 and 5 of each power of ten, or the powers alone where these are many."""
        powers = range(int(np.floor(np.log10(self.low))), int(np.ceil(np.log10(self.high))) + 1)
        steps = STEPS if len(powers) <= 4 else STEPS[:1]
        return [step * 10.0**power for power in powers for step in steps if self.low <= step * 10.0**power <= self.high]
