"""How a column of categories differs, or one of few whole numbers."""

from __future__ import annotations

import numpy as np

from clarysage.monitoring.shifts.category_hints import category_hints
from clarysage.monitoring.shifts.combined import combined, missing_hint, missing_p
from clarysage.monitoring.shifts.counts import Counts
from clarysage.monitoring.shifts.distances import chi_square_p, rare, total_variation
from clarysage.monitoring.shifts.newcomers import p_of_newcomers
from clarysage.monitoring.shifts.number_hints import number_hints
from clarysage.monitoring.shifts.numbers import LOOKS, number_facts
from clarysage.monitoring.shifts.reading import NUMBERS, TEXT, Cells
from clarysage.monitoring.shifts.shares import p_of_any_share
from clarysage.results.finding import Shift


def category_shift(name: str, reference: Cells, current: Cells) -> Shift:
    """By the shares of categories, all together and one by one, new ones, and the share of missing cells."""
    if TEXT in (reference.sort, current.sort):
        reference, current = reference.labelled(), current.labelled()
    counts = Counts.of(reference, current)
    p = combined([*_present_p(counts), *missing_p(reference, current)])
    missing = np.array([reference.missing, current.missing])
    with_missing = [np.append(side, gone) for side, gone in zip(counts.table, missing, strict=True)]
    hints: list[str] = []
    if p <= LOOKS:
        hints, words = missing_hint(reference, current), _hints(counts, reference, current)
        is_missing_first = abs(missing[1] / current.rows - missing[0] / reference.rows) > total_variation(*counts.table)
        hints = [*hints, *words] if is_missing_first else [*words, *hints]
    return Shift(name, "categories", total_variation(*with_missing), p, tuple(hints), _facts(reference, current))


def _present_p(counts: Counts) -> list[float]:
    """P-values of the tests that have something to find."""
    if min(counts.rows) == 0 or len(counts.labels) < 2:
        return []
    table = counts.table[0], counts.table[1]
    single = p_of_any_share(*table, rows=counts.rows)
    if len(counts.labels) == 2:
        return [single]
    found = [single, chi_square_p(*table)]
    return [*found, p_of_newcomers(*table, rows=counts.rows)] if rare(*table).any() else found


def _hints(counts: Counts, reference: Cells, current: Cells) -> list[str]:
    words = category_hints(counts)
    if words or min(counts.rows) == 0:
        return words
    is_number = reference.sort == NUMBERS == current.sort and not reference.is_boolean
    words = number_hints(reference.present, current.present, NUMBERS) if is_number else []
    return words or counts.largest()


def _facts(reference: Cells, current: Cells) -> dict[str, tuple[float, float]]:
    if reference.sort == NUMBERS == current.sort:
        return number_facts(reference, current)
    return {
        "missing share": (reference.missing / reference.rows, current.missing / current.rows),
        "distinct": (float(len(reference.counts)), float(len(current.counts))),
        "rows": (float(reference.rows), float(current.rows)),
    }
