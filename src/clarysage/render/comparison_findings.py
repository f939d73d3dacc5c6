"""Findings of a comparison: which features contribute more than in the reference and which less, a sentence each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clarysage.render.changes import FELL, ROSE, UNKNOWN, Change
from clarysage.render.findings import NAMED, Finding, filled
from clarysage.results import Comparison
from clarysage.results.comparison import adjustment_words, rows_words

LEADS = {
    ROSE: "{count} of {all} {contribute} more in {other} than in {reference}:",
    FELL: "{count} of {all} {contribute} less in {other} than in {reference}:",
}
ONE_CHANGED = "{count} of {all} {contribute} more or less in {other} than in {reference}."
ONE_UNCHANGED = "Nothing is known to have changed between {reference} and {other}."
SOME_CHANGED = "{count} of {all} {contribute} more or less than in {reference} in at least one of {others}."
SOME_UNCHANGED = "Nothing is known to have changed between {reference} and {others}."
MARKED = (
    "A feature is marked where p, how likely a difference so large would be if there were none, is below {chance}; "
    "p is {adjusted}."
)
NOTHING = "Of no feature it is known that it contributes more or less in {other} than in {reference}."


def headline(comparison: Comparison, found: Sequence[Change], reference: str) -> str:
    """What there is to know first."""
    count, whole = len(comparison.changed), len(comparison.feature_names)
    if len(found) == 1:
        words = {"other": found[0].name, "reference": reference}
        return filled(ONE_CHANGED, count, whole, **words) if count else ONE_UNCHANGED.format(**words)
    words = {"others": f"{len(found)} others", "reference": reference}
    return filled(SOME_CHANGED, count, whole, **words) if count else SOME_UNCHANGED.format(**words)


def comparison_findings(
    found: Sequence[Change], reference: str, told: Sequence[str], show: Callable[[float], str]
) -> list[Finding]:
    """What changed in each explanation, the largest differences first."""
    return [finding for change in found for finding in _of_one(change, reference, told, show)]


def _of_one(change: Change, reference: str, told: Sequence[str], show: Callable[[float], str]) -> list[Finding]:
    said = []
    for word, lead in LEADS.items():
        places = np.flatnonzero(change.known == word)
        if len(places) == 0:
            continue
        first = places[np.argsort(-np.abs(change.values[places]), kind="stable")][:NAMED]
        named = tuple((told[i], f"from {show(change.before[i])} to {show(change.after[i])}") for i in first)
        sentence = filled(lead, len(places), len(change.known), other=change.name, reference=reference)
        said.append(Finding(word, sentence, named, len(places) - len(first)))
    return said or [Finding(UNKNOWN, NOTHING.format(other=change.name, reference=reference))]


def tests(comparison: Comparison) -> list[str]:
    """How differences were tested, and what intervals are about; of a comparison by the names that the page has."""
    chance = f"{100 * (1 - comparison.level):.3g} %"
    return [MARKED.format(chance=chance, adjusted=adjustment_words(comparison)), *rows_words(comparison)]
