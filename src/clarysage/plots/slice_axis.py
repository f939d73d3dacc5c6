"""An axis along which slices follow one another: dates in proportion to time, all else at equal distances."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.plots.canvas import font_points, literal, text_inches
from clarysage.results.finding import called

DATE = re.compile(r"\d{4}(Q[1-4]|-\d\d(-\d\d( \d\d:\d\d)?)?)?")  # as slices of dates are called
SPARSEST = 4.0  # places a slice at most: with longer gaps, distances say less than they cost
LETTERS = 24  # of a name
APART = 0.12  # inches between two names


def places_of(names: Sequence[str]) -> np.ndarray:
    """Where slices are, the nearest two at a distance of one.

    Examples
    --------
    >>> places_of(["2024-11", "2024-12", "2025-02"]).tolist(), places_of(["b", "a"]).tolist()
    ([0.0, 1.0, 3.0], [0.0, 1.0])
    """
    equal = np.arange(len(names), dtype=float)
    if len({len(name) for name in names}) > 1 or not all(map(DATE.fullmatch, names)):
        return equal
    try:
        times = np.array([_time(name) for name in names], dtype=float)
    except ValueError:  # such as month 13
        return equal
    steps = np.diff(times)
    if len(steps) == 0 or steps.min() <= 0 or times[-1] - times[0] > SPARSEST * len(names) * steps.min():
        return equal
    return np.asarray((times - times[0]) / steps.min())


def _time(name: str) -> int:
    if "Q" in name:
        year, quarter = name.split("Q")
        return 4 * int(year) + int(quarter)
    return int(np.datetime64(name.replace(" ", "T")).astype(int))


def write_slices(ax: Any, names: Sequence[str], places: np.ndarray, inches: float) -> None:
    """Names below the axis, which is so many inches wide: as many as can be read; dates level, others upright if long.

    >>> kept_of(np.array([0.0, 1.0, 2.0, 3.0]), 1.5)
    [0, 2]
    """
    texts = [literal(called(name, LETTERS)) for name in names]
    pitch = inches / (places[-1] - places[0] + 1)
    longest = max(text_inches(text, "xtick.labelsize") for text in texts) + APART
    is_level = longest <= pitch or all(map(DATE.fullmatch, names))
    room = longest if is_level else 1.25 * font_points("xtick.labelsize") / 72
    kept = kept_of(places, room / pitch)
    ax.set_xticks(places[kept], [texts[i] for i in kept], rotation=0 if is_level else 90, usetex=False)
    ax.set_xticks(places, minor=True)
    ax.set_xlim(places[0] - 0.5, places[-1] + 0.5)


def kept_of(places: np.ndarray, apart: float) -> list[int]:
    """Every so many, such that they are that far apart."""
    kept = [0]
    for i in range(1, len(places)):
        if places[i] - places[kept[-1]] >= apart - 1e-9:
            kept.append(i)
    return kept
