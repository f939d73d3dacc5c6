"""Chart: layout of bars, intervals, marks and ticks, in units of the picture (SVG)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._utils.display import isolated, shortened, text_width, visible
from clarysage.results.summary import Bars, Items, Series

WIDTH, MARGIN = 760.0, 18.0  # width of the picture, and margin at its right
LETTER, FEWEST_LETTERS = 7.2, 6  # width of a character of a name, and fewest characters with room
HEAD, FOOT, AROUND = 30.0, 10.0, 4.0  # heights of the axis, of the foot, and of the space around the bars of a row
THICK = {1: 14.0, 2: 10.0, 3: 9.0}  # thickness of a bar, by the number of bars in a row
THIN = 7.0  # thickness for more bars in a row
OUTSIDE = 1.5  # ranges of the values by which intervals may exceed them; longer intervals end in an arrow
STAR_GAP = 9.0  # from the end of a bar to its star
TICKS = 8
CHOICES_OF_MANY = (10, 20, 50, 100, 200)  # numbers of features that readers can choose
LABEL_COLUMNS, NAME_COLUMNS = 29, 100  # characters of a name in the chart, and in the table


@dataclass(frozen=True)
class Listing:
    """Features in one order.

    Attributes
    ----------
    names, folded, labels : full names, and names shortened for the table and for the chart
    order : indices of the features, from the top
    rank : (p,) rank of each feature by weight, 0 for the largest
    shown : indices of the features that are shown at first, from the top
    """

    names: tuple[str, ...]
    folded: tuple[str, ...]
    labels: tuple[str, ...]
    order: tuple[int, ...]
    rank: tuple[int, ...]

    shown: tuple[int, ...]

    @property
    def first(self) -> int:
        """Number of features that are shown at first."""
        return len(self.shown)

    @property
    def choices(self) -> list[int]:
        """Numbers of features that readers can choose, if not all are shown at first."""
        return [k for k in CHOICES_OF_MANY if k < len(self.names)] if self.first < len(self.names) else []


def listing_of(items: Items) -> Listing:
    """Returns items with names of the lengths that a page has room for."""
    names, folded, labels = (
        tuple(shortened(name, most) if most else visible(name) for name in items.names)
        for most in (None, NAME_COLUMNS, LABEL_COLUMNS)
    )
    return Listing(names, folded, labels, items.order, tuple(items.rank), tuple(items.shown))


@dataclass(frozen=True)
class Whisker:
    """The interval of a value, from x1 to x2, and whether its ends are outside the picture."""

    view: str
    x1: float
    x2: float
    is_cut_low: bool
    is_cut_high: bool


@dataclass(frozen=True)
class Bar:
    """A bar from x to x + width, y below the top of its row, with its style, intervals, and position of the star."""

    x: float
    y: float
    width: float
    style: str
    whiskers: tuple[Whisker, ...]
    star: float | None
    mark: str = ""


@dataclass(frozen=True)
class Row:
    """The row of a feature: its index, its bars, and its y; None if it is not shown at first."""

    index: int
    bars: tuple[Bar, ...]
    y: float | None


@dataclass(frozen=True)
class Chart:
    """The layout of a chart: width of names, rows in order, ticks (x, number) of the axis, and heights."""

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
    """The data with which a template draws a chart.

    Attributes
    ----------
    chart : layout
    title, words : title, and description for screen readers
    labels, row_words : label of the bars of each feature, and their description
    legend : names of the series, if there are several
    marks : kinds of stars and their meanings
    """

    chart: Chart
    title: str
    words: str
    labels: tuple[str, ...]
    row_words: tuple[str, ...]
    legend: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()


def bars(figure: Bars, *, all_features: bool = True) -> Drawing:
    """Lays out bars with intervals: of all features, or only of those that are shown at first."""
    features = listing_of(figure.items)
    order = features.order if all_features else features.shown
    row_words = tuple(f"{label}: {words}" for label, words in zip(features.labels, figure.row_words, strict=True))
    first = (", " if len(figure.series) == 1 else "; ").join(isolated(row_words[i]) for i in order[: figure.described])
    return Drawing(
        chart(figure.series, order, features.labels, features.shown),
        figure.title,
        f"Bars with intervals, the largest {figure.largest} at the top: {first}. The table has all numbers.",
        features.labels,
        row_words,
        figure.legend,
        figure.marks,
    )


def chart(series: Sequence[Series], order: Sequence[int], labels: Sequence[str], shown: Collection[int]) -> Chart:
    """Lays out all series next to the labels of the features; ``shown`` are the features shown at first.

    Intervals of all views share one axis, so that switching views moves no bar.
    """
    low, high = axis_ends(series)
    letters = max(FEWEST_LETTERS, *map(text_width, labels))
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
    """Maps a number to its x, clipped to the picture."""

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
    """Returns the CSS classes of a bar: its colour, and the views in which it is faint."""
    colour = series.style or ("above" if series.values[index] >= 0 else "below")
    faint = [
        f"faint-{intervals.view}" if intervals.view else "faint"
        for intervals in series.ends
        if intervals.is_open[index]
    ]
    return " ".join([colour, *faint])


def _outer(ends: Sequence[float], *, is_above: bool) -> float:
    """Returns the x next to the end of a bar and its intervals, within the picture."""
    return round(min(max(ends) + STAR_GAP, WIDTH - STAR_GAP) if is_above else min(ends) - STAR_GAP, 1)


def axis_ends(series: Sequence[Series]) -> tuple[float, float]:
    """Returns the ends of the axis: range of zero, all values, and intervals unless they are much longer."""
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
    # so that intervals and stars do not touch the names
    margin = (0.02 if all(line.marks is None for line in series) else 0.05) * (high - low)
    return low - margin if low < 0 else low, high + margin if high > 0 else high


def ticks(low: float, high: float, most: int = TICKS) -> list[float]:
    """Returns round numbers from low to high, at most about ``most``.

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
