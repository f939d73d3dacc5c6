"""Charts of a comparison: bars of its explanations side by side, and bars of their differences from the first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarysage.names import isolated
from clarysage.plots.grouped_bars import ends_of
from clarysage.render.changes import FLAGGED, Change, called
from clarysage.render.chart import chart
from clarysage.render.drawing import Drawing
from clarysage.render.listing import Listing, listing
from clarysage.results import Comparison
from clarysage.results.comparison import METHODS, shared_format
from clarysage.results.summary import Ends, Series

MOST = 7  # explanations whose bars can be told apart
TOLD = 3  # features whose bars are read aloud
VALUES, DIFFERENCES = "values", "differences"
Marks = tuple[tuple[str, str], ...]
TITLES = {VALUES: "What features contribute", DIFFERENCES: "By how much that differs from {reference}"}


def by_change(comparison: Comparison) -> Listing:
    """Features, the largest difference first, of which those that changed and then the largest are shown."""
    order = comparison.order
    flagged = np.atleast_2d(comparison.flags).any(axis=0)
    size = np.empty(len(order))
    size[order] = np.arange(len(order), 0, -1)
    return listing(comparison.feature_names, order.tolist(), size + len(order) * flagged)


def drawn(found: Sequence[Change]) -> list[int]:
    """Which changes have bars: all, or of many those with the largest differences, in their order."""
    largest = np.argsort([-float(np.abs(one.values).max()) for one in found], kind="stable")
    return sorted(largest[: MOST - 1].tolist())


def comparison_chart(
    comparison: Comparison,
    found: Sequence[Change],
    features: Listing,
    order: Sequence[int],
    view: str,
    level: float,
    marks: Marks | None = None,
    several: Sequence[int] | None = None,
) -> Drawing:
    """The chart of some features from the top: of values, the reference first, or of differences from it.

    ``marks`` say what stars mean; default: that something changed. ``several`` are the changes that have bars; default:
    as many as can be told apart.
    """
    names, several = called(comparison), drawn(found) if several is None else several
    legend = [names[0], *(found[k].name for k in several)]
    said = _row_words(comparison, [found[k] for k in several], features)
    first = "; ".join(isolated(said[i]) for i in order[:TOLD])
    series = _values(comparison, found, several, level) if view == VALUES else _differences(found, several)
    return Drawing(
        chart(series, order, features.labels, features.shown),
        TITLES[view].format(reference=names[0]),
        f"Bars with intervals, the largest difference at the top: {first}. The table has every number.",
        features.labels,
        said,
        tuple(legend),
        changed_marks(comparison) if marks is None else marks,
    )


def changed_marks(comparison: Comparison) -> Marks:
    """The mark of what changed, by which adjustment."""
    method = METHODS.get(comparison.adjust or "")
    return ((FLAGGED, f"changed ({method})" if method else "changed"),)


def _values(comparison: Comparison, found: Sequence[Change], several: Sequence[int], level: float) -> list[Series]:
    never = np.zeros(len(comparison.feature_names), dtype=bool)
    series = []
    for at, k in enumerate([0, *(k + 1 for k in several)]):
        marks, ends = None if k == 0 else found[k - 1].marks, Ends(*ends_of(comparison, k, level), never)
        series.append(Series(comparison.explanations[k].values, (ends,), f"series-{at}", marks))
    return series


def _differences(found: Sequence[Change], several: Sequence[int]) -> list[Series]:
    return [
        Series(
            found[k].values, (Ends(found[k].low, found[k].high, ~found[k].is_changed),), f"series-{at}",
            found[k].marks,
        )
        for at, k in enumerate(several, start=1)
    ]  # fmt: skip


def _row_words(comparison: Comparison, found: Sequence[Change], features: Listing) -> tuple[str, ...]:
    """What to say of the bars of each feature, those that are drawn."""
    show, reference = shared_format(*comparison.explanations), called(comparison)[0]
    said = []
    for i, name in enumerate(features.labels):
        others = (f"{one.name} {show(one.after[i])} ({one.known[i]})" for one in found)
        said.append(f"{name}: {reference} {show(found[0].before[i])}, {', '.join(others)}")
    return tuple(said)
