"""Figures: layout of grids of squares, images and curves, in units of the picture (SVG)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage._utils.display import shortened_inside, text_width
from clarysage.render.chart import FEWEST_LETTERS, LETTER, NARROW, WIDE
from clarysage.results.summary import Curve, Image, Squares

WIDEST, HEIGHT = 64.0, 24.0  # largest width, and height of a square
ROW_COLUMNS = {WIDE: 40, NARROW: 18}  # characters of the name of a row, by the width of the picture
ACROSS_COLUMNS = 34  # characters of the name of a column
SLANTED, UPRIGHT = -38, -90  # angles of the names of columns
SLANT = 0.6  # height of a character of a slanted name, as a share of its width
STRONGEST = 0.5  # darkest shade on which numbers are legible
DIGIT = 6.6  # width of a character of a number on a square
SHADES = 20  # number of shades of an image
CURVE_HEIGHT, CURVE_TICK = 240.0, 56.0  # height of a curve, and room for a number below it
LEFT, RIGHT, TOP, BOTTOM = 64.0, 24.0, 12.0, 44.0  # margins of a curve, with room for numbers and names of axes
STEPS = (1, 2, 5)


@dataclass(frozen=True)
class Square:
    """A shaded square: its position, its shade, the number on it, and its description."""

    x: float
    y: float
    is_above: bool
    strength: float
    text: str
    words: str


@dataclass(frozen=True)
class Grid:
    """The data with which a template draws a grid: names (x or y, text) of rows and columns, squares, and sizes.

    ``turn`` is the angle of the names of columns.
    """

    title: str
    words: str
    rows: tuple[tuple[float, str], ...]
    across: tuple[tuple[float, str], ...]
    squares: tuple[Square, ...]
    start: float
    head: float
    square: float
    height: float
    has_numbers: bool
    turn: int
    width: float
    tall: float = HEIGHT


def squares(figure: Squares, *, width: float = WIDE) -> Grid:
    """Lays out squares, with the strongest shade for the largest absolute value, and no square for nan.

    Names of columns are slanted if squares then have room for their numbers, else upright.
    """
    rows = tuple(shortened_inside(name, ROW_COLUMNS[width]) for name in figure.rows)
    across = tuple(shortened_inside(name, ACROSS_COLUMNS) for name in figure.across)
    start = round(LETTER * max(FEWEST_LETTERS, *map(text_width, rows)) + 16.0, 1)
    room = LETTER * max(map(text_width, across))
    for_number = DIGIT * (max(text_width(text) for texts in figure.texts for text in texts) + 1)
    turn = SLANTED if (width - start - 0.8 * room) / len(across) >= for_number else UPRIGHT
    head, right = (SLANT * room + 14.0, 0.8 * room) if turn == SLANTED else (room + 10.0, 4.0)
    head, square = round(head, 1), round(min(WIDEST, (width - start - right) / len(across)), 1)
    largest = float(np.nanmax(np.abs(figure.numbers), initial=0.0)) or 1.0
    shaded = tuple(
        Square(
            round(start + square * j, 1),
            round(head + HEIGHT * i, 1),
            bool(figure.numbers[i, j] >= 0),
            round(STRONGEST * abs(float(figure.numbers[i, j])) / largest, 3),
            figure.texts[i][j],
            figure.words[i][j],
        )
        for i, j in zip(*np.nonzero(~np.isnan(figure.numbers)), strict=True)
    )
    return Grid(
        figure.title,
        figure.summary,
        tuple((round(head + HEIGHT * (i + 0.5) + 4, 1), name) for i, name in enumerate(rows)),
        tuple((round(start + square * (j + 0.5), 1), name) for j, name in enumerate(across)),
        shaded,
        start,
        head,
        square,
        round(head + HEIGHT * len(figure.rows) + 6, 1),
        square >= for_number,
        turn,
        width,
    )


@dataclass(frozen=True)
class Shade:
    """All pixels of one shade, as a path: positive or negative, and strength."""

    is_above: bool
    strength: float
    path: str


@dataclass(frozen=True)
class PixelMap:
    """An image of side x side pixels, one unit each."""

    side: int
    shades: tuple[Shade, ...]
    has_below: bool


def pixel_map(figure: Image) -> PixelMap:
    """Draws values as pixels, row by row from the top left, with a path for each shade."""
    side = math.isqrt(len(figure.values))
    largest = float(np.abs(figure.values).max()) or 1.0
    levels = np.rint(SHADES * figure.values / largest).astype(int)
    shades = tuple(
        Shade(level > 0, round(abs(level) / SHADES, 2), _pixels(np.flatnonzero(levels == level).tolist(), side))
        for level in sorted(set(levels.tolist()) - {0})
    )
    return PixelMap(side, shades, bool(figure.values.min() < 0))


def _pixels(indices: Sequence[int], side: int) -> str:
    return "".join(f"M{index % side} {index // side}h1v1h-1z" for index in indices)


@dataclass(frozen=True)
class TraceCurve:
    """A curve: points of a polyline, ticks (position, number) of both axes, descriptions, and its place."""

    line: str
    x_ticks: tuple[tuple[float, str], ...]
    y_ticks: tuple[tuple[float, str], ...]
    title: str
    axes: tuple[str, ...]
    words: str
    width: float
    left: float
    right: float


def curve(figure: Curve, *, width: float = WIDE) -> TraceCurve:
    """Lays out a line on logarithmic axes, with percentages on the y axis."""
    across, down = _LogScale.of(figure.x, LEFT, width - RIGHT), _LogScale.of(figure.y, CURVE_HEIGHT - BOTTOM, TOP)
    tick_columns = int((width - LEFT - RIGHT) / CURVE_TICK)
    return TraceCurve(
        " ".join(f"{across(a)},{down(b)}" for a, b in zip(figure.x, figure.y, strict=True)),
        tuple((across(tick), f"{tick:,.0f}") for tick in across.ticks(tick_columns)),
        tuple((down(tick), f"{100 * tick:.6g} %") for tick in down.ticks()),
        figure.title,
        (figure.axes,) if width > NARROW else tuple(figure.axes.split("; ")),
        figure.words,
        width,
        LEFT,
        width - RIGHT,
    )


@dataclass(frozen=True)
class _LogScale:
    """Maps a number to its position on a logarithmic axis."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def of(cls, numbers: np.ndarray, start: float, end: float) -> _LogScale:
        low, high = float(numbers.min()), float(numbers.max())
        return cls(low / 1.1, high * 1.1, start, end)

    def __call__(self, number: float) -> float:
        share = np.log(number / self.low) / np.log(self.high / self.low)
        return round(float(self.start + share * (self.end - self.start)), 1)

    def ticks(self, most: int = 12) -> list[float]:
        """Returns 1, 2 and 5 times each power of ten, or only the powers if there would be more than ``most``."""
        powers = range(int(np.floor(np.log10(self.low))), int(np.ceil(np.log10(self.high))) + 1)
        for steps in (STEPS, STEPS[:1]):
            marks = [step * 10.0**power for power in powers for step in steps]
            inside = [mark for mark in marks if self.low <= mark <= self.high]
            if len(inside) <= most:
                break
        return inside
