"""How a column of numbers or dates differs."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.combined import combined, missing_hint, missing_p
from clarysage.monitoring.shifts.distances import kolmogorov_p
from clarysage.monitoring.shifts.line import Line
from clarysage.monitoring.shifts.number_hints import number_hints
from clarysage.monitoring.shifts.reading import DATES, DURATIONS, Cells
from clarysage.monitoring.shifts.shares import least_p, p_of_any_share
from clarysage.results.finding import Shift

LOOKS = 0.05  # p-value of a column up to which it gets hints
REACHES = 0.01  # a test that cannot have a p-value so small is left out
UNITS = {DATES: " (days since 1970)", DURATIONS: " (days)"}


def number_shift(name: str, reference: Cells, current: Cells) -> Shift:
    """By the shares below each point, the shares of repeated values and the share of missing cells."""
    sides = reference.present, current.present
    line = Line.of(*sides)
    missing = reference.missing / reference.rows, current.missing / current.rows
    p = combined([*_whole_p(*sides, line), *_repeats_p(line), *missing_p(reference, current)])
    hints: list[str] = []
    if p <= LOOKS:
        hints, words = missing_hint(reference, current), number_hints(*sides, reference.sort)
        hints = [*hints, *words] if abs(missing[1] - missing[0]) > line.distance else [*words, *hints]
    distance = max(line.distance, abs(missing[1] - missing[0]))
    return Shift(name, "numbers", distance, p, tuple(hints), number_facts(reference, current))


def number_facts(reference: Cells, current: Cells) -> dict[str, tuple[float, float]]:
    """Numbers that describe both samples, as far as both have them."""
    facts: dict[str, tuple[float, float]] = {}
    finite = [side.present[np.isfinite(side.present)] for side in (reference, current)]
    unit = UNITS.get(reference.sort, "")
    if all(len(one) for one in finite):
        low, middle, high = zip(*(_quartiles(one) for one in finite), strict=True)
        facts[f"median{unit}"] = _pair(*middle)
        facts[f"spread{unit and ' (days)'}"] = _pair(high[0] - low[0], high[1] - low[1])
        facts[f"lowest{unit}"] = _pair(finite[0][0], finite[1][0])
        facts[f"highest{unit}"] = _pair(finite[0][-1], finite[1][-1])
    facts["missing share"] = reference.missing / reference.rows, current.missing / current.rows
    facts["distinct"] = _pair(_distinct(reference.present), _distinct(current.present))
    facts["rows"] = _pair(reference.rows, current.rows)
    return {name: pair for name, pair in facts.items() if np.isfinite(pair).all()}


def _pair(reference: float, current: float) -> tuple[float, float]:
    return float(reference), float(current)


def _distinct(ordered: np.ndarray) -> int:
    return int((ordered[1:] != ordered[:-1]).sum()) + 1 if len(ordered) else 0


def _quartiles(ordered: np.ndarray) -> np.ndarray:
    return np.asarray(np.interp(np.array([0.25, 0.5, 0.75]) * (len(ordered) - 1), np.arange(len(ordered)), ordered))


def _whole_p(reference: np.ndarray, current: np.ndarray, line: Line) -> list[float]:
    if not all(line.rows) or len(line.values) == 1:
        return []
    return [kolmogorov_p(reference, current, line.distance)]


def _repeats_p(line: Line) -> list[float]:
    """The p-value of the shares of values that occur more than once, where it can be small."""
    counts = line.counts[:, line.counts.sum(axis=0) > 1]
    if not all(line.rows) or not counts.size:
        return []
    most = counts.sum(axis=0).max(keepdims=True)  # could have the smallest p-value, unless nearly all rows have it
    if len(line.values) == 1 or least_p(most, line.rows[1], sum(line.rows)).min() > REACHES:
        return []
    return [p_of_any_share(counts[0], counts[1], line.rows)]
