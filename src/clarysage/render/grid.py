"""Grid: numbers of rows and columns as shaded squares, in units of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.names import columns
from clarysage.render.chart import FEWEST_LETTERS, LETTER, WIDTH

WIDEST, HEIGHT = 64.0, 24.0  # of a square
SLANT = 0.6  # height that a letter of a slanted name takes, as a share of its width
STRONGEST = 0.5  # shade, on which numbers can be read
FOR_NUMBERS = 40.0  # width of a square that has room for one


@dataclass(frozen=True)
class Square:
    """A shaded square: its place, its shade, the number written on it, and what to say of it."""

    x: float
    y: float
    is_above: bool
    strength: float
    text: str
    words: str


@dataclass(frozen=True)
class Grid:
    """What a template needs to draw a grid: names (x or y, text) of rows and columns, squares, and sizes of parts."""

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
    width: float = WIDTH
    tall: float = HEIGHT


def grid(
    numbers: np.ndarray,
    texts: Sequence[Sequence[str]],
    said: Sequence[Sequence[str]],
    rows: Sequence[str],
    across: Sequence[str],
    *,
    title: str,
    words: str,
) -> Grid:
    """Squares for numbers (r, c), the strongest for the largest size; none for nan."""
    start = round(LETTER * max(FEWEST_LETTERS, *map(columns, rows)) + 16.0, 1)
    room = LETTER * max(map(columns, across))  # of a slanted name, to the right of its column and above
    head = round(SLANT * room + 14.0, 1)
    square = round(min(WIDEST, (WIDTH - start - 0.8 * room) / len(across)), 1)
    largest = float(np.nanmax(np.abs(numbers), initial=0.0)) or 1.0
    squares = tuple(
        Square(
            round(start + square * j, 1), round(head + HEIGHT * i, 1), bool(numbers[i, j] >= 0),
            round(STRONGEST * abs(float(numbers[i, j])) / largest, 3), texts[i][j], said[i][j],
        )
        for i, j in zip(*np.nonzero(~np.isnan(numbers)), strict=True)
    )  # fmt: skip
    return Grid(
        title, words,
        tuple((round(head + HEIGHT * (i + 0.5) + 4, 1), name) for i, name in enumerate(rows)),
        tuple((round(start + square * (j + 0.5), 1), name) for j, name in enumerate(across)),
        squares, start, head, square, round(head + HEIGHT * len(rows) + 6, 1), square >= FOR_NUMBERS,
    )  # fmt: skip
