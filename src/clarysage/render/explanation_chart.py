"""The chart of an explanation: a bar a feature, with intervals about one thing or more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from clarysage.names import isolated
from clarysage.render.chart import Ends, Series, chart
from clarysage.render.drawing import Drawing
from clarysage.render.listing import Listing, listing
from clarysage.render.readings import OPEN, Reading
from clarysage.results import Explanation
from clarysage.results.text import number_format

TOLD = 5  # bars that are read aloud


def by_value(explanation: Explanation) -> Listing:
    """Features, the largest value first, of which those with the largest sizes are shown."""
    order = np.argsort(-explanation.values, kind="stable").tolist()
    return listing(explanation.feature_names, order, np.abs(explanation.values))


def explanation_chart(
    explanation: Explanation, found: Sequence[Reading], features: Listing, order: Sequence[int]
) -> Drawing:
    """The chart of some features from the top, with an interval of each reading."""
    show = number_format(explanation)
    said = tuple(f"{name}: {show(value)}" for name, value in zip(features.labels, explanation.values, strict=True))
    first = ", ".join(isolated(said[i]) for i in order[:TOLD])
    return Drawing(
        chart([series(explanation, found)], order, features.labels, features.shown),
        explanation.headline or explanation.measure,
        f"Bars with intervals, the largest value at the top: {first}. The table has every number.",
        features.labels,
        said,
    )


def series(explanation: Explanation, found: Sequence[Reading]) -> Series:
    """Bars of the values, with an interval of each reading; a view of its own for each where there are several."""
    ends = (
        Ends(one.low, one.high, np.isin(one.known, OPEN), one.about if len(found) > 1 else "")
        for one in found
        if one.has_intervals
    )
    return Series(explanation.values, tuple(ends))
