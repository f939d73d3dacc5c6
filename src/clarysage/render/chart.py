"""Chart: where bars, intervals, marks and ticks go, in units of the picture."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._utils.display import columns, isolated, shortened, visible
from clarysage.results.summary import Bars, Items, Series

WIDTH, MARGIN = 760.0, 18.0  # of the picture, and of what is free at its right
LETTER, FEWEST_LETTERS = 7.2, 6  # width of a letter of a name, of which there is room for so many at least
HEAD, FOOT, AROUND = 30.0, 10.0, 4.0  # heights of the axis, of what is below, and above and below the bars of a row
THICK = {1: 14.0, 2: 10.0, 3: 9.0}  # of a bar, by how many there are in a row ...
THIN = 7.0  # ... and of more
OUTSIDE = 1.5  # ranges of the values that intervals may reach beyond them; the rest is cut off, with an arrow
BESIDE = 9.0  # from the end of a bar to its star
TICKS = 8
CHOICES_OF_MANY = (10, 20, 50, 100, 200)  # how many features may be shown, where there are many
LABEL_COLUMNS, NAME_COLUMNS = 29, 100  # letters of a name in the chart, and in the table


@dataclass(frozen=True)
class Listing:
    """Features in one order.

    Attributes
    ----------
    names, folded, labels : of the features as they are given: in full, and in the letters there is room for in the
        table and in the chart
    order : places of the features, from the top
    rank : (p,) of each feature, 0 for the one of most weight
    shown : places of those that are shown at first, from the top
    """

    names: tuple[str, ...]
    folded: tuple[str, ...]
    labels: tuple[str, ...]
    order: tuple[int, ...]
    rank: tuple[int, ...]

    shown: tuple[int, ...]

    @property
    def first(self) -> int:
        """How many are shown at first."""
        return len(self.shown)

    @property
    def choices(self) -> list[int]:
        """How many features a reader may ask for, where there are many."""
        return [k for k in CHOICES_OF_MANY if k < len(self.names)] if self.first < len(self.names) else []


def listing_of(items: Items) -> Listing:
    """Items with their names in the lengths that a page has room for."""
    names, folded, labels = (
        tuple(shortened(name, most) if most else visible(name) for name in items.names)
        for most in (None, NAME_COLUMNS, LABEL_COLUMNS)
    )
    return Listing(names, folded, labels, items.order, tuple(items.rank), tuple(items.shown))


@dataclass(frozen=True)
class Whisker:
    """The interval of a value, from x1 to x2, and whether its ends are beyond the picture."""

    view: str
    x1: float
    x2: float
    is_cut_low: bool
    is_cut_high: bool


@dataclass(frozen=True)
class Bar:
    """A bar from x to x + width, y below the top of its row, its looks, its intervals, and where which star is."""

    x: float
    y: float
    width: float
    style: str
    whiskers: tuple[Whisker, ...]
    star: float | None
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """A feature: its place, its bars, and how far down it is; None where it is not shown at first."""

    place: int
    bars: tuple[Bar, ...]
    y: float | None


@dataclass(frozen=True)
class Chart:
    """Rows in the given order, the width that names take, the heights of parts, and ticks (x, number) of the axis."""

    names: float
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, float], ...]
    zero: float
    thick: float
    row: float
    height: float
    width: float = WIDTH
    head: float = HEAD
    foot: float = FOOT


@dataclass(frozen=True)
class Drawing:
    """What a template needs to draw a chart.

    Attributes
    ----------
    chart : where everything goes
    title, words : what it is, and what it shows, to be read aloud
    labels, row_words : beside the bars of each feature, and what to say of them
    legend : names of the series, where there are several
    marks : kinds of stars, and what they say
    """

    chart: Chart
    title: str
    words: str
    labels: tuple[str, ...]
    row_words: tuple[str, ...]
    legend: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()


def bars(figure: Bars, *, is_whole: bool = True) -> Drawing:
    """The drawing of bars with intervals: of all features, or of those alone that are shown at first."""
    features = listing_of(figure.items)
    order = features.order if is_whole else features.shown
    row_words = tuple(f"{label}: {words}" for label, words in zip(features.labels, figure.row_words, strict=True))
    first = (", " if len(figure.series) == 1 else "; ").join(isolated(row_words[i]) for i in order[: figure.told])
    return Drawing(
        chart(figure.series, order, features.labels, features.shown),
        figure.title,
        f"Bars with intervals, the largest {figure.largest} at the top: {first}. The table has every number.",
        features.labels,
        row_words,
        figure.legend,
        figure.marks,
    )


def chart(series: Sequence[Series], order: Sequence[int], labels: Sequence[str], shown: Collection[int]) -> Chart:
    """The chart of all series, beside the labels of the features, of which some are shown at first.

    Intervals of all views share one axis, so that a switch moves no bar.
    """
    low, high = axis_ends(series)
    letters = max(FEWEST_LETTERS, *map(columns, labels))
    at = _Scale(low, high, round(LETTER * letters + 16.0, 1))
    thick = THICK.get(len(series), THIN)
    height = 2 * AROUND + thick * len(series)
    rows, y = [], HEAD
    for i in order:
        bars = tuple(_bar(bar_series, i, AROUND + thick * k, at) for k, bar_series in enumerate(series))
        rows.append(Row(i, bars, y if i in shown else None))
        y += height if i in shown else 0.0
    places = tuple((at(tick), tick) for tick in ticks(low, high))
    return Chart(at.start, tuple(rows), places, at(0.0), thick, height, y + FOOT)


@dataclass(frozen=True)
class _Scale:
    """From a number to its x, never beyond the picture."""

    low: float
    high: float
    start: float

    def __call__(self, number: float) -> float:
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (WIDTH - self.start - MARGIN), 1)


def _bar(series: Series, index: int, y: float, at: _Scale) -> Bar:
    value = float(series.values[index])
    zero, end = at(0.0), at(value)
    whiskers = tuple(
        Whisker(intervals.view, at(a), at(b), a < at.low, b > at.high)
        for intervals in series.ends
        for a, b in [(float(intervals.low[index]), float(intervals.high[index]))]
    )
    star, mark = None, "" if series.marks is None else str(series.marks[index])
    if mark:
        star = _outer([end, *(x for intervals in whiskers for x in (intervals.x1, intervals.x2))], is_above=value >= 0)
    return Bar(min(zero, end), y, round(abs(end - zero), 1), _style(series, index), whiskers, star, mark)


def _style(series: Series, index: int) -> str:
    """Classes of a bar: its colour, and the views in which it is faint."""
    colour = series.style or ("above" if series.values[index] >= 0 else "below")
    faint = [
        f"faint-{intervals.view}" if intervals.view else "faint"
        for intervals in series.ends
        if intervals.is_open[index]
    ]
    return " ".join([colour, *faint])


def _outer(ends: Sequence[float], *, is_above: bool) -> float:
    """Beside the end of a bar and its intervals, on the side where it ends, and within the picture."""
    return round(min(max(ends) + BESIDE, WIDTH - BESIDE) if is_above else min(ends) - BESIDE, 1)


def axis_ends(series: Sequence[Series]) -> tuple[float, float]:
    """Ends of the axis: zero, all values, and intervals as far as they do not make the values small."""
    values = np.concatenate([line.values for line in series])
    least, most = min(0.0, float(values.min())), max(0.0, float(values.max()))
    lows, highs = (
        [float(end) for line in series for ends in line.ends for end in getattr(ends, side)] for side in ("low", "high")
    )
    room = OUTSIDE * (most - least) or np.inf
    low = max(min([least, *lows]), least - room)
    high = min(max([most, *highs]), most + room)
    if not np.isfinite(low) or not np.isfinite(high) or low == high:
        return -1.0, 1.0
    # so that the end of an interval, or a star beside it, does not touch the names
    margin = (0.02 if all(line.marks is None for line in series) else 0.05) * (high - low)
    return low - margin if low < 0 else low, high + margin if high > 0 else high


def ticks(low: float, high: float, most: int = TICKS) -> list[float]:
    """Round numbers from low to high, about eight or as many as are wanted at most.

    Examples
    --------
    >>> ticks(-0.05, 0.23)
    [-0.05, 0.0, 0.05, 0.1, 0.15, 0.2]
    """
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(float(power * m) for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [float(f"{number * step:.10g}") for number in range(first, last + 1)]
