"""Chart: where bars, intervals and ticks go, in units of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.report.readings import Reading

WIDTH, MARGIN = 760.0, 18.0  # of the picture, and of what is free at its right
LETTER, FEWEST_LETTERS = 7.2, 6  # width of a letter of a name, of which there is room for so many at least
HEAD, ROW, FOOT = 30.0, 22.0, 10.0  # heights of the axis, of a bar with its room, and of what is below
OUTSIDE = 1.5  # ranges of the values that intervals may reach beyond them; the rest is cut off, with an arrow
TICKS = 8


@dataclass(frozen=True)
class Whisker:
    """The interval of a value, from x1 to x2, and whether its ends are beyond the picture."""

    about: str
    x1: float
    x2: float
    is_cut_low: bool
    is_cut_high: bool


@dataclass(frozen=True)
class Bar:
    """A feature's row: its bar, from x to x + width, and an interval of each reading."""

    place: int
    x: float
    width: float
    is_above: bool
    whiskers: tuple[Whisker, ...]


@dataclass(frozen=True)
class Chart:
    """All rows in the given order, the width that names take, and the ticks (x, number) of the axis."""

    names: float
    bars: tuple[Bar, ...]
    ticks: tuple[tuple[float, float], ...]
    zero: float

    @staticmethod
    def height(rows: int) -> float:
        """Of a picture with so many rows."""
        return HEAD + ROW * rows + FOOT


def chart(values: np.ndarray, readings: Sequence[Reading], order: Sequence[int], letters: int) -> Chart:
    """The chart of all values, beside names of so many letters.

    Intervals of all readings share one axis, so that a switch moves no bar.
    """
    drawn = [reading for reading in readings if reading.has_intervals]
    low, high = _ends(values, drawn)
    at = _Scale(low, high, round(LETTER * max(letters, FEWEST_LETTERS) + 16.0, 1))
    bars = tuple(_bar(i, float(values[i]), drawn, at) for i in order)
    return Chart(at.start, bars, tuple((at(tick), tick) for tick in ticks(low, high)), at(0.0))


@dataclass(frozen=True)
class _Scale:
    """From a number to its x, never beyond the picture."""

    low: float
    high: float
    start: float

    def __call__(self, number: float) -> float:
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (WIDTH - self.start - MARGIN), 1)


def _bar(place: int, value: float, drawn: Sequence[Reading], at: _Scale) -> Bar:
    zero, end = at(0.0), at(value)
    whiskers = (
        Whisker(one.about, at(a), at(b), a < at.low, b > at.high)
        for one in drawn
        for a, b in [(float(one.low[place]), float(one.high[place]))]
    )
    return Bar(place, min(zero, end), round(abs(end - zero), 1), value >= 0, tuple(whiskers))


def _ends(values: np.ndarray, drawn: Sequence[Reading]) -> tuple[float, float]:
    """Ends of the axis: zero, all values, and intervals as far as they do not make the values small."""
    least, most = min(0.0, float(values.min())), max(0.0, float(values.max()))
    lows, highs = ([float(end) for one in drawn for end in getattr(one, side)] for side in ("low", "high"))
    room = OUTSIDE * (most - least) or np.inf
    low = max(min([least, *lows]), least - room)
    high = min(max([most, *highs]), most + room)
    if not np.isfinite(low) or not np.isfinite(high) or low == high:
        return -1.0, 1.0
    margin = 0.02 * (high - low)  # so that the end of an interval does not touch the names
    return low - margin if low < 0 else low, high + margin if high > 0 else high


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from low to high, about eight.

    Examples
    --------
    >>> ticks(-0.05, 0.23)
    [-0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
    """
    raw = (high - low) / TICKS
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(float(power * m) for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
