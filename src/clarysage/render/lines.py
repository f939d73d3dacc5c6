"""Lines: layout of lines over slices, panel by panel, in units of the picture (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._utils.display import isolated, shortened, text_width
from clarysage.plots.axes import DATE, slice_positions, spaced_apart
from clarysage.render.chart import LETTER, WIDE, axis_ends, ticks
from clarysage.results.summary import Ends, Line, Lines, Panel, Series

LEFT, RIGHT = 70.0, 16.0  # margins, with room for numbers at the left
HEIGHTS = {"large": (220.0, 7), "middle": (90.0, 4), "small": (60.0, 2)}  # height of a panel, and number of ticks
HEAD, GAP = 24.0, 14.0  # above each panel, for its name, and below it
NAME_GAP = 8.0  # between names of slices, and between names and lines
SLICE_COLUMNS, NAME_COLUMNS = 16, 40  # characters of the name of a slice below the lines, and of names in descriptions
# marks at the points of a line, by the index of the line, so that lines differ not only by colour
SHAPES = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0",
    "m-2.8-2.8h5.6v5.6h-5.6z",
    "m0-3.6l3.4 6h-6.8z",
    "m0 3.6l3.4-6h-6.8z",
    "m-1.2-3.6h2.4v2.4h2.4v2.4h-2.4v2.4h-2.4v-2.4h-2.4v-2.4h2.4z",
)
DIAMOND = "m0-4l4 4l-4 4l-4-4z"  # for lines of which only some points are marked


@dataclass(frozen=True)
class DrawnLine:
    """A line: its style, its points, the outline of its band, its marks, and the y of the reference."""

    style: str
    points: str
    band: str
    marks: str
    reference: float | None
    stars: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True)
class DrawnPanel:
    """Lines on one axis, from top to bottom, with ticks (y, number), and the y of zero."""

    label: str
    top: float
    bottom: float
    ticks: tuple[tuple[float, float], ...]
    lines: tuple[DrawnLine, ...]
    zero: float | None


@dataclass(frozen=True)
class DrawnSlice:
    """A slice: its position, its description, and whether it has flags."""

    x: float
    width: float
    words: str
    is_flagged: bool


@dataclass(frozen=True)
class LinesDrawing:
    """The data with which a template draws lines over slices.

    Attributes
    ----------
    panels, slices : panels from the top, and slices from the left
    labels, is_level : names (x, text) of some slices, and whether they are horizontal or vertical
    title, words : title, and description for screen readers
    legend : names of the features, with the marks of their lines
    marks : kinds of stars and their meanings
    """

    panels: tuple[DrawnPanel, ...]
    slices: tuple[DrawnSlice, ...]
    labels: tuple[tuple[float, str], ...]
    is_level: bool
    height: float
    title: str
    words: str
    legend: tuple[tuple[str, str], ...]
    marks: tuple[tuple[str, str], ...]
    width: float
    left: float
    right: float


def lines(figure: Lines, *, width: float = WIDE) -> LinesDrawing:
    """Lays out lines over slices."""
    across = _SliceAxis.of(figure.slices, width)
    panels, top = [], 0.0
    for panel in figure.panels:
        panels.append(_panel(panel, across.x, top))
        top = panels[-1].bottom + GAP
    labels, is_level, room = across.labels(figure.slices)
    words = (
        f"{isolated(shortened(name, NAME_COLUMNS))}: {words}"
        for name, words in zip(figure.slices, figure.slice_words, strict=True)
    )
    return LinesDrawing(
        tuple(panels),
        tuple(
            DrawnSlice(float(x) - across.pitch / 2, across.pitch, text, bool(is_flagged))
            for x, text, is_flagged in zip(across.x, words, figure.flagged, strict=True)
        ),
        labels,
        is_level,
        panels[-1].bottom + room,
        figure.title,
        figure.words,
        tuple((shortened(name, NAME_COLUMNS), shape) for name, shape in zip(figure.legend, SHAPES, strict=False)),
        figure.marks,
        width,
        LEFT,
        width - RIGHT,
    )


@dataclass(frozen=True)
class _SliceAxis:
    """Positions of slices: (n,) on the axis of plots, (n,) in the picture, and the width of each in the picture."""

    places: np.ndarray
    x: np.ndarray
    pitch: float

    @classmethod
    def of(cls, names: Sequence[str], width: float) -> _SliceAxis:
        places = slice_positions(names)
        pitch = (width - LEFT - RIGHT) / (places[-1] - places[0] + 1)
        return cls(places, np.round(LEFT + (places - places[0] + 0.5) * pitch, 1), round(float(pitch), 1))

    def labels(self, names: Sequence[str]) -> tuple[tuple[tuple[float, str], ...], bool, float]:
        """Returns as many names as are legible, whether they are horizontal (if dates or short), and their height."""
        texts = [shortened(name, SLICE_COLUMNS) for name in names]
        longest = LETTER * max(map(text_width, texts))
        is_level = longest + NAME_GAP <= self.pitch or all(map(DATE.fullmatch, names))
        spacing = longest + NAME_GAP if is_level else 2 * LETTER
        indices = spaced_apart(self.places, spacing / self.pitch)
        return (
            tuple((float(self.x[i]), texts[i]) for i in indices),
            is_level,
            NAME_GAP + (20 if is_level else longest + 8),
        )


@dataclass(frozen=True)
class _PanelScale:
    """Maps numbers to vertical positions, clipped to the panel."""

    top: float
    bottom: float
    low: float
    high: float

    def __call__(self, numbers: np.ndarray | float) -> np.ndarray:
        share = (np.clip(numbers, self.low, self.high) - self.low) / (self.high - self.low)
        return np.round(self.bottom - share * (self.bottom - self.top), 1)


def _panel(panel: Panel, x: np.ndarray, above: float) -> DrawnPanel:
    """Lays out a panel below ``above``; an axis without limits of its own has a line at zero."""
    height, most = HEIGHTS[panel.height]
    limits = axis_ends(_series(panel)) if panel.limits is None else panel.limits
    down = _PanelScale(above + HEAD, above + HEAD + height, *limits)
    return DrawnPanel(
        panel.label,
        down.top,
        down.bottom,
        tuple((float(down(tick)), tick) for tick in ticks(down.low, down.high, most)),
        tuple(_line(line, index, x, down, is_single=panel.is_single) for index, line in enumerate(panel.lines)),
        float(down(0.0)) if panel.limits is None else None,
    )


def _series(panel: Panel) -> list[Series]:
    """Returns values, references and intervals of all lines, which determine the axis."""
    series = []
    for line in panel.lines:
        before = [] if line.reference is None else [line.reference]
        never = np.zeros(len(line.values), dtype=bool)
        ends = () if line.ends is None else (Ends(*line.ends, never),)
        series.append(Series(np.array([*before, *line.values]), ends))
    return series


def _line(line: Line, index: int, x: np.ndarray, down: _PanelScale, *, is_single: bool) -> DrawnLine:
    """Lays out a line in the colour of its legend entry, or in the colour of the text if it has none."""
    y = down(line.values)
    band = ""
    if line.ends is not None:
        low, high = map(down, line.ends)
        band = f"{_points(x, low)} {_points(x[::-1], high[::-1])}"
    marks = _marks(x, y, SHAPES[index]) if line.marked is None else _marks(x[line.marked], y[line.marked], DIAMOND)
    stars = () if line.flagged is None else tuple(zip(x[line.flagged].tolist(), y[line.flagged].tolist(), strict=True))
    reference = None if line.reference is None else float(down(line.reference))
    return DrawnLine("loss" if is_single else f"series-{index + 1}", _points(x, y), band, marks, reference, stars)


def _points(x: np.ndarray, y: np.ndarray) -> str:
    return " ".join(f"{a:g},{b:g}" for a, b in zip(x, y, strict=True))


def _marks(x: np.ndarray, y: np.ndarray, shape: str) -> str:
    return "".join(f"M{a:g} {b:g}{shape}" for a, b in zip(x, y, strict=True))
