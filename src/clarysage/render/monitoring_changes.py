"""Changes of a model that is watched: verdicts in the place of what is known, and the rows that a table has of many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clarysage.render.changes import ALONG, FLAGGED, Change, changes
from clarysage.render.comparison_chart import Marks
from clarysage.render.comparison_table import Place, largest_first, telling
from clarysage.results import Monitoring
from clarysage.results.finding import ALONE, BOTH, FOLLOWS, INPUTS, UNCHANGED

SEVERITY = (BOTH, ALONE, FOLLOWS, INPUTS, UNCHANGED)  # the order in which verdicts are sorted
MARKS = {BOTH: FLAGGED, ALONE: FLAGGED, FOLLOWS: ALONG}
MARK_WORDS = {FLAGGED: "flagged", ALONG: "changed along with others"}
MOST_ROWS = 240
WITH_BARS = 2  # slices, of which lines tell more


def monitored_changes(monitoring: Monitoring, level: float) -> list[Change]:
    """One for each explanation after the reference, with verdicts, and stars where features are flagged."""
    found = []
    for change, where in zip(changes(monitoring.comparison, level), monitoring.names, strict=True):
        known = np.array([one.verdict for one in monitoring.findings(where)])
        marks = np.array([MARKS.get(verdict, "") for verdict in known])
        found.append(replace(change, known=known, marks=marks))
    return found


def marks_of(found: Sequence[Change]) -> Marks:
    """What stars mean, as far as there are such."""
    seen = {mark for one in found for mark in one.marks}
    return tuple((mark, words) for mark, words in MARK_WORDS.items() if mark in seen)


def with_bars(found: Sequence[Change]) -> list[int]:
    """Which changes have bars: those in which most features are flagged, then those with the largest differences."""
    keys = [(-int((one.marks == FLAGGED).sum()), -float(np.abs(one.values).max()), k) for k, one in enumerate(found)]
    return sorted(k for *_, k in sorted(keys)[:WITH_BARS])


def kept_rows(found: Sequence[Change], most: int = MOST_ROWS) -> list[Place]:
    """Rows of the table, the largest difference first: all, or of very many the most telling.

    These are the largest of each feature, then whatever is known to have changed, then the largest.
    """
    return telling(largest_first(found), lambda place: SEVERITY.index(found[place[0]].known[place[1]]), most)
