"""Chart: layout of bars, intervals, marks and ticks, in units of the picture (SVG)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._utils.display import isolated, shortened, shortened_inside, text_width, visible
from clarysage.results.summary import Bars, Items, Series

WIDE, NARROW = 760.0, 350.0  # widths of pictures, for screens and for phones
MARGIN = 18.0  # at the right of the picture
LETTER, FEWEST_LETTERS = 7.7, 6  # width of a character of a name, and fewest characters with room
BESIDE_COLUMNS = 40  # characters of the longest name that is next to its bars; longer ones are above them
HEAD, FOOT, AROUND = 30.0, 10.0, 4.0  # heights of the axis, of the foot, and of the space around the bars of a row
NAME_HEIGHT = 20.0  # of a name above its bars
THICK = {1: 14.0, 2: 10.0, 3: 9.0}  # thickness of a bar, by the number of bars in a row
THIN = 7.0  # thickness for more bars in a row
OUTSIDE = 1.5  # ranges of the values by which intervals may exceed them; longer intervals end in an arrow
STAR_GAP = 9.0  # from the end of a bar to its star
TICK_DISTANCE = 70.0  # least distance of two ticks
CHOICES_OF_MANY = (10, 20, 50, 100, 200)  # numbers of features that readers can choose
NAME_COLUMNS = 100  # characters of a name in the table


@dataclass(frozen=True)
class Listing:
    """Features in one order.

    Attributes
    ----------
    names, folded : full names, and names shortened for the table
    order : indices of the features, from the top
    rank : (p,) rank of each feature by weight, 0 for the largest
    shown : indices of the features that are shown at first, from the top
    """

    names: tuple[str, ...]
    folded: tuple[str, ...]
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
    names = tuple(map(visible, items.names))
    folded = tuple(shortened(name, NAME_COLUMNS) for name in items.names)
    return Listing(names, folded, items.order, tuple(items.rank), tuple(items.shown))


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
    """The layout of a chart.

    Attributes
    ----------
    names, is_beside : width for names, and whether they are next to the bars, or else above them
    start, end : ends of the axis
    above : height of a row above its bars
    rows : rows in order
    ticks, zero : ticks (x, number) of the axis, and the x of zero
    thick, row, height, width, head, foot : thickness of a bar, heights of a row and of the picture, and so on
    """

    names: float
    is_beside: bool
    start: float
    end: float
    above: float
    rows: tuple[Row, ...]
    ticks: tuple[tuple[float, float], ...]
    zero: float
    thick: float
    row: float
    height: float
    width: float
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


def bars(figure: Bars, *, width: float = WIDE, all_features: bool = True) -> Drawing:
    """Lays out bars with intervals: of all features, or only of those that are shown at first."""
    features = listing_of(figure.items)
    order = features.order if all_features else features.shown
    labels, is_beside = labels_of(figure.items.names, width)
    row_words = tuple(f"{label}: {words}" for label, words in zip(labels, figure.row_words, strict=True))
    first = (", " if len(figure.series) == 1 else "; ").join(isolated(row_words[i]) for i in order[: figure.described])
    return Drawing(
        chart(figure.series, order, labels, features.shown, is_beside=is_beside, width=width),
        figure.title,
        f"Bars with intervals, the largest {figure.largest} at the top: {first}. The table has all numbers.",
        labels,
        row_words,
        figure.legend,
        figure.marks,
    )


def labels_of(names: Sequence[str], width: float) -> tuple[tuple[str, ...], bool]:
    """Returns names with the room that a chart has for them, and whether they are next to the bars or above them."""
    is_beside = (
        width > NARROW and max(text_width(visible(name[: 8 * NAME_COLUMNS])) for name in names) <= BESIDE_COLUMNS
    )
    columns = BESIDE_COLUMNS if is_beside else int((width - 2 * AROUND) / LETTER)
    return tuple(shortened_inside(name, columns) for name in names), is_beside


def chart(
    series: Sequence[Series],
    order: Sequence[int],
    labels: Sequence[str],
    shown: Collection[int],
    *,
    is_beside: bool = True,
    width: float = WIDE,
) -> Chart:
    """Lays out all series next to the labels of the features, or below them; ``shown`` are those shown at first.

    Intervals of all views share one axis, so that switching views moves no bar.
    """
    low, high = axis_ends(series)
    letters = max(FEWEST_LETTERS, *map(text_width, labels))
    at = _Scale(low, high, round(LETTER * letters + 16.0, 1) if is_beside else MARGIN, width)
    thick, above = THICK.get(len(series), THIN), AROUND if is_beside else AROUND + NAME_HEIGHT
    height = above + thick * len(series) + AROUND
    rows, y = [], HEAD
    for i in order:
        bars = tuple(_bar(bar_series, i, above + thick * k, at) for k, bar_series in enumerate(series))
        rows.append(Row(i, bars, y if i in shown else None))
        y += height if i in shown else 0.0
    places = tuple((at(tick), tick) for tick in ticks(low, high, int((width - at.start) / TICK_DISTANCE)))
    names = at.start if is_beside else width
    return Chart(
        names, is_beside, at.start, width - MARGIN, above, tuple(rows), places, at(0.0), thick, height, y + FOOT, width
    )


@dataclass(frozen=True)
class _Scale:
    """Maps a number to its x, clipped to the picture."""

    low: float
    high: float
    start: float
    width: float

    def __call__(self, number: float) -> float:
        share = (min(max(number, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.width - self.start - MARGIN), 1)


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
        ends = [end, *(x for intervals in whiskers for x in (intervals.x1, intervals.x2))]
        star = _outer(ends, at.width, is_above=value >= 0)
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


def _outer(ends: Sequence[float], width: float, *, is_above: bool) -> float:
    """Returns the x next to the end of a bar and its intervals, within the picture."""
    return round(min(max(ends) + STAR_GAP, width - STAR_GAP) if is_above else max(min(ends) - STAR_GAP, STAR_GAP), 1)


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


def ticks(low: float, high: float, most: int = 8) -> list[float]:
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
