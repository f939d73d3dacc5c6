"""Series chart: losses, contributions and shifts of inputs over the slices, panel by panel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.names import columns, isolated, shortened
from clarysage.plots.grouped_bars import ends_of
from clarysage.plots.monitored_slices import LINES
from clarysage.plots.selection import notable
from clarysage.plots.slice_axis import DATE, kept_of, places_of
from clarysage.render.changes import FLAGGED, NAME_COLUMNS
from clarysage.render.chart import LETTER, WIDTH, axis_ends, ticks
from clarysage.render.comparison_chart import Marks
from clarysage.render.listing import LABEL_COLUMNS
from clarysage.results import Monitoring
from clarysage.results.comparison import shared_format
from clarysage.results.summary import Ends, Series
from clarysage.results.text import loss_words

LEFT, RIGHT = 70.0, 16.0  # margins, with room for numbers at the left
HEIGHTS = {"loss": 90.0, "values": 220.0, "inputs": 60.0}
HEAD, GAP = 24.0, 14.0  # above each panel, for its name, and below it
BESIDE = 8.0  # between names of slices, and between them and the lines
SLICE_COLUMNS = 16
FEWEST = 3  # features with lines where less is known
TICKS = {"loss": 4, "values": 7, "inputs": 2}
# a mark at a point of a line, by the place of the line, so that colours are not needed to tell them apart
SHAPES = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "m-2.8-2.8h5.6v5.6h-5.6z",
    "m0-3.6l3.4 6h-6.8z",
    "m0 3.6l3.4-6h-6.8z",
    "m-1.2-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
)
DIAMOND = "m0-4l4 4l-4 4l-4-4z"


@dataclass(frozen=True)
class Line:
    """A line: its colour, its points and those around its band, marks on it, and how far down the reference is."""

    style: str
    points: str
    band: str
    marks: str
    reference: float | None
    stars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class Panel:
    """Lines on one axis, from top to bottom, with ticks (y, number), and how far down zero is."""

    label: str
    top: float
    bottom: float
    ticks: tuple[tuple[float, float], ...]
    lines: tuple[Line, ...]
    zero: float | None


@dataclass(frozen=True)
class Slice:
    """A slice: where it is, what to say of it, and whether something is flagged in it."""

    x: float
    width: float
    words: str
    is_flagged: bool


@dataclass(frozen=True)
class SeriesChart:
    """What a template needs to draw lines over slices.

    Attributes
    ----------
    panels, slices : from the top, and from the left
    labels, is_level : names (x, text) of some slices below, and whether they are written level or upwards
    title, words : what it is, and what it shows, to be read aloud
    legend : names of the features, with the marks of their lines
    marks : kinds of stars, and what they say
    left_out : how many features have no line
    """

    panels: tuple[Panel, ...]
    slices: tuple[Slice, ...]
    labels: tuple[tuple[float, str], ...]
    is_level: bool
    height: float
    title: str
    words: str
    legend: tuple[tuple[str, str], ...]
    marks: Marks
    left_out: int
    has_shifts: bool
    width: float = WIDTH
    left: float = LEFT
    right: float = WIDTH - RIGHT


def series_chart(monitoring: Monitoring, level: float) -> SeriesChart:
    """Lines of the features that are flagged, of others of which something is known, or of the largest."""
    names = notable(monitoring, None, len(LINES), FEWEST)
    places = [monitoring.feature_names.index(name) for name in names]
    across = _Across.of(monitoring)
    panels = _panels(monitoring, places, level, across.x)
    labels, is_level, room = across.labels(monitoring)
    flagged = [any(one.is_flagged for one in monitoring.findings(where)) for where in monitoring.names]
    words = _slice_words(monitoring, places)
    short = [shortened(name, NAME_COLUMNS) for name in names]
    return SeriesChart(
        panels,
        tuple(
            Slice(float(x) - across.pitch / 2, across.pitch, said, is_flagged)
            for x, said, is_flagged in zip(across.x, words, flagged, strict=True)
        ),
        labels, is_level, panels[-1].bottom + room, "What became of the model over the slices",
        _words(monitoring, places), tuple(zip(short, SHAPES, strict=False)),
        ((FLAGGED, "flagged"),) if any(flagged) else (), len(monitoring.feature_names) - len(names),
        any(one.is_shifted for where in monitoring.names for one in monitoring.findings(where)),
    )  # fmt: skip


@dataclass(frozen=True)
class _Across:
    """Where slices are: (n,) in units of the plots' axis, and in the picture; and the room for each."""

    places: np.ndarray
    x: np.ndarray
    pitch: float

    @classmethod
    def of(cls, monitoring: Monitoring) -> _Across:
        places = places_of(monitoring.names)
        pitch = (WIDTH - LEFT - RIGHT) / (places[-1] - places[0] + 1)
        return cls(places, np.round(LEFT + (places - places[0] + 0.5) * pitch, 1), round(float(pitch), 1))

    def labels(self, monitoring: Monitoring) -> tuple[tuple[tuple[float, str], ...], bool, float]:
        """As many names as can be read, dates and short ones level and others upwards, and how high they are."""
        texts = [shortened(name, SLICE_COLUMNS) for name in monitoring.names]
        longest = LETTER * max(map(columns, texts))
        is_level = longest + BESIDE <= self.pitch or all(map(DATE.fullmatch, monitoring.names))
        apart = longest + BESIDE if is_level else 2 * LETTER
        kept = kept_of(self.places, apart / self.pitch)
        return tuple((float(self.x[i]), texts[i]) for i in kept), is_level, BESIDE + (20 if is_level else longest + 8)


def _panels(monitoring: Monitoring, places: Sequence[int], level: float, x: np.ndarray) -> tuple[Panel, ...]:
    """From the top: losses, where they are known, contributions, inputs."""
    comparison, losses, found = monitoring.comparison, monitoring.losses, []
    top = 0.0
    if losses is not None:
        margin = 0.08 * float(np.ptp(losses)) or 0.1 * abs(float(losses[0])) or 1.0
        ends = float(losses.min()) - margin, float(losses.max()) + margin
        down = _Down.of("loss", top, *ends)
        line = _line("loss", x, losses[1:], down, marks=_marks(x, down(losses[1:]), SHAPES[0]), reference=losses[0])
        found.append(down.panel(f"mean {loss_words(comparison.reference.loss)}", [line]))
        top = down.bottom + GAP
    series, intervals = _values(monitoring, places, level)
    down = _Down.of("values", top, *axis_ends(series))
    lines = []
    for k, (i, one, (low, high)) in enumerate(zip(places, series, intervals, strict=True)):
        at = down(one.values[1:])
        is_flagged = [monitoring.findings(where)[i].is_flagged for where in monitoring.names]
        stars = tuple((float(a), float(b)) for a, b, is_star in zip(x, at, is_flagged, strict=True) if is_star)
        lines.append(_line(f"series-{k + 1}", x, one.values[1:], down, band=(low, high), reference=one.values[0],
                           marks=_marks(x, at, SHAPES[k]), stars=stars))  # fmt: skip
    noun = "effects: variance of the output" if losses is None else "contributions"
    found.append(down.panel(noun, lines))
    return (*found, _inputs(monitoring, places, x, down.bottom + GAP))


def _values(
    monitoring: Monitoring, places: Sequence[int], level: float
) -> tuple[list[Series], list[tuple[np.ndarray, np.ndarray]]]:
    """Values of features in the reference and the slices, and intervals of those in the slices."""
    comparison = monitoring.comparison
    values = np.array([one.values for one in comparison.explanations])  # (1 + n, p)
    ends = np.array([ends_of(comparison, k, level) for k in range(len(values))])  # (1 + n, 2, p)
    never = np.zeros(len(values), dtype=bool)
    series = [Series(values[:, i], (Ends(ends[:, 0, i], ends[:, 1, i], never),)) for i in places]
    return series, [(ends[1:, 0, i], ends[1:, 1, i]) for i in places]


def _inputs(monitoring: Monitoring, places: Sequence[int], x: np.ndarray, top: float) -> Panel:
    """Distances, with a diamond where they are no accident."""
    down, lines = _Down.of("inputs", top, 0.0, 1.0), []
    for k, i in enumerate(places):
        found = [monitoring.findings(where)[i] for where in monitoring.names]
        distances, is_shifted = np.array([one.shift.distance for one in found]), [one.is_shifted for one in found]
        marks = _marks(x[is_shifted], down(distances)[is_shifted], DIAMOND)
        lines.append(_line(f"series-{k + 1}", x, distances, down, marks=marks))
    return down.panel("shift of inputs, from 0 to 1", lines)


@dataclass(frozen=True)
class _Down:
    """From numbers to how far down they are, never beyond the panel."""

    kind: str
    top: float
    bottom: float
    low: float
    high: float

    @classmethod
    def of(cls, kind: str, above: float, low: float, high: float) -> _Down:
        return cls(kind, above + HEAD, above + HEAD + HEIGHTS[kind], low, high)

    def __call__(self, numbers: np.ndarray | float) -> np.ndarray:
        share = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        return np.round(self.bottom - share * (self.bottom - self.top), 1)

    def panel(self, label: str, lines: Sequence[Line]) -> Panel:
        places = tuple((float(self(tick)), tick) for tick in ticks(self.low, self.high, TICKS[self.kind]))
        zero = float(self(0.0)) if self.kind == "values" else None
        return Panel(label, self.top, self.bottom, places, tuple(lines), zero)


def _line(
    style: str,
    x: np.ndarray,
    values: np.ndarray,
    down: _Down,
    *,
    band: tuple[np.ndarray, np.ndarray] | None = None,
    marks: str,
    reference: float | None = None,
    stars: tuple[tuple[float, float], ...] = (),
) -> Line:
    around = ""
    if band is not None:
        low, high = map(down, band)
        around = f"{_points(x, low)} {_points(x[::-1], high[::-1])}"
    before = None if reference is None else float(down(reference))
    return Line(style, _points(x, down(values)), around, marks, before, stars)


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True))


def _marks(x: np.ndarray, y: np.ndarray, shape: str) -> str:
    return "".join(f"M{a:g} {b:g}{shape}" for a, b in zip(x, y, strict=True))


def _slice_words(monitoring: Monitoring, places: Sequence[int]) -> list[str]:
    """What to say of each slice."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    said = []
    for k, name in enumerate(monitoring.names):
        found = monitoring.findings(name)
        parts = [] if losses is None else [f"mean loss {show(float(losses[k + 1]))}"]
        parts += [
            f"{isolated(shortened(found[i].feature, LABEL_COLUMNS))} {show(found[i].after)} ({found[i].verdict})"
            for i in places
        ]
        said.append(f"{isolated(shortened(name, NAME_COLUMNS))}: {', '.join(parts)}")
    return said


def _words(monitoring: Monitoring, places: Sequence[int]) -> str:
    """What the lines show, to be read aloud."""
    show, losses = shared_format(*monitoring.comparison.explanations), monitoring.losses
    said = [] if losses is None else [
        f"Mean loss: {show(float(losses[0]))} in the reference, from {show(float(losses[1:].min()))} to "
        f"{show(float(losses[1:].max()))} in the slices"
    ]  # fmt: skip
    for i in places:
        found = [monitoring.findings(where)[i] for where in monitoring.names]
        count = sum(one.is_flagged for one in found)
        flagged = f", flagged in {count} of {len(found)} slices" if count else ""
        name = isolated(shortened(found[0].feature, LABEL_COLUMNS))
        said.append(
            f"{name}: {show(found[0].before)} in the reference, {show(found[-1].after)} in the last slice{flagged}"
        )
    return f"Lines over {len(monitoring.names)} slices. {'; '.join(said)}. The tables have every number."
