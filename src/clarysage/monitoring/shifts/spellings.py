"""Labels that differ from the reference's by case, blanks or signs alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from clarysage.monitoring.shifts.counts import Counts
from clarysage.monitoring.shifts.reading import NUMERAL
from clarysage.monitoring.shifts.wording import quoted

MOST = 0.5  # share of the rows with new labels that another spelling must explain


def _blanks(label: str) -> str:
    return " ".join(label.split())


def _case(label: str) -> str:
    return label.casefold()


def _number(label: str) -> str:
    """A numeral without zeros that tell nothing."""
    return repr(float(label.replace(",", "."))) if NUMERAL.fullmatch(label) else label


def _signs(label: str) -> str:
    return re.sub(r"[\W_]+", "", label.casefold()) or label


WAYS: dict[str, Callable[[str], str]] = {
    "case": _case,
    "blanks": _blanks,
    "case and blanks": lambda label: _case(_blanks(label)),
    "the way numbers are written": lambda label: _number(label.strip()),
    "case, blanks and signs": _signs,
}


def respelled(counts: Counts) -> tuple[str, Counts]:
    """A word on labels written otherwise, empty where there is none, and the counts with both spellings as one."""
    new = np.flatnonzero((counts.table[0] == 0) & (counts.table[1] > 0))
    if not len(new) or not counts.is_quoted:
        return "", counts
    known = [place for place in range(len(counts.labels)) if counts.table[0][place] > 0]
    for way, plain in WAYS.items():
        spelled = _one_each(counts, known, plain)
        found = {int(place): spelled[key] for place in new if (key := plain(counts.labels[place])) in spelled}
        if counts.table[1][list(found)].sum() >= MOST * counts.table[1][new].sum() and _counts_for(counts, found):
            most = max(found, key=lambda place: counts.table[1][place])
            example = f"{quoted(counts.labels[found[most]])} is now {quoted(counts.labels[most])}"
            return f"labels differ from the reference's by {way} alone: {example}", _merged(counts, found)
    return "", counts


def _one_each(counts: Counts, known: list[int], plain: Callable[[str], str]) -> dict[str, int]:
    """The most frequent of the reference's labels that are alike but for a way of writing."""
    order = sorted(known, key=lambda place: counts.table[0][place])
    return {plain(counts.labels[place]): place for place in order}


def _counts_for(counts: Counts, found: dict[int, int]) -> bool:
    """Whether enough rows have a new spelling for it to be a change."""
    return bool(counts.table[1][list(found)].sum() >= 0.005 * counts.rows[1])


def _merged(counts: Counts, found: dict[int, int]) -> Counts:
    table = counts.table.copy()
    for place, into in found.items():
        table[1][into] += table[1][place]
        table[1][place] = 0
    kept = table.sum(axis=0) > 0
    labels = tuple(label for label, is_kept in zip(counts.labels, kept, strict=True) if is_kept)
    return replace(counts, labels=labels, table=table[:, kept])
