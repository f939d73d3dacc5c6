"""Drawing: a chart with what is said of it, on a page and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarysage.render.chart import Chart


@dataclass(frozen=True)
class Drawing:
    """What a template needs to draw a chart.

    Attributes
    ----------
    chart : where everything goes
    title, words : what it is, and what it shows, to be read aloud
    labels, row_words : beside the bars of each feature, and what to say of them
    legend : names of the series, where there are several
    marks : kinds of stars, and what they say
    """

    chart: Chart
    title: str
    words: str
    labels: tuple[str, ...]
    row_words: tuple[str, ...]
    legend: tuple[str, ...] = ()
    marks: tuple[tuple[str, str], ...] = ()
