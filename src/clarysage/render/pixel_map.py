"""Pixel map: values of a square number of features as an image, a path of squares for each shade."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEWEST = 64  # features of an image
SHADES = 20
NUMBERED = re.compile(r"\D*\d+(\D+\d+)?")  # pixel_12, x0, 3_27


@dataclass(frozen=True)
class Shade:
    """Squares of one colour: above zero or below, and how strong."""

    is_above: bool
    strength: float
    path: str


@dataclass(frozen=True)
class PixelMap:
    """An image of side x side squares, one unit each; ``is_likely`` says whether features are named by numbers."""

    side: int
    shades: tuple[Shade, ...]
    is_likely: bool


def pixel_map(values: np.ndarray, names: Sequence[str]) -> PixelMap | None:
    """The image of the values, row by row from the top left; None where they make no square."""
    side = math.isqrt(len(values))
    if len(values) < FEWEST or side**2 != len(values):
        return None
    largest = float(np.abs(values).max()) or 1.0
    levels = np.rint(SHADES * values / largest).astype(int)
    shades = [
        Shade(level > 0, round(abs(level) / SHADES, 2), _squares(np.flatnonzero(levels == level).tolist(), side))
        for level in sorted(set(levels.tolist()) - {0})
    ]
    return PixelMap(side, tuple(shades), all(NUMBERED.fullmatch(name[:40]) for name in names))


def _squares(places: Sequence[int], side: int) -> str:
    return "".join(f"M{place % side} {place // side}h1v1h-1z" for place in places)
