"""Bars of several explanations beside one another at the places of their features, with intervals and marks."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.plots.canvas import BLUE, GREY, INK, VERMILLION, literal
from clarysage.results import Comparison
from clarysage.results.comparison import ends_of

COLOURS = (GREY, BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")  # Okabe and Ito's; the reference is grey
WIDTH = 0.8  # of all bars of a feature
BESIDE = 0.03  # from the end of a bar to its mark, as a share of the span of the bars
STAR = {"linestyle": "none", "marker": "*", "markersize": 8, "color": VERMILLION}


def grouped_bars(ax: Any, comparison: Comparison, places: np.ndarray, level: float) -> float:
    """Bars and intervals of each explanation, of the features at ``places``; returns the span of them."""
    thick, ends = WIDTH / len(comparison.names), [0.0]
    for k, (name, explanation) in enumerate(zip(comparison.names, comparison.explanations, strict=True)):
        at = _at(comparison, k, len(places))
        low, high = (end[places] for end in ends_of(comparison, k, level))
        ax.barh(at, explanation.values[places], 0.92 * thick, color=COLOURS[k], label=literal(name), gid=f"bars {k}")
        ax.errorbar(
            (low + high) / 2,
            at,
            xerr=(high - low) / 2,
            fmt="none",
            ecolor=INK,
            elinewidth=1.0,
            capsize=1.5,
            gid="intervals",
        )
        ends += [*low, *high, *explanation.values[places]]
    return float(max(ends) - min(ends)) or 1.0


def mark_bars(
    ax: Any,
    comparison: Comparison,
    k: int,
    places: np.ndarray,
    marked: np.ndarray,
    level: float,
    span: float,
    **style: Any,
) -> None:
    """A mark beyond the outer end of each bar of explanation k that is ``marked``."""
    if not marked.any():
        return
    low, high = (end[places] for end in ends_of(comparison, k, level))
    values = comparison.explanations[k].values[places]
    outer = np.where(values < 0, np.minimum(low, values) - BESIDE * span, np.maximum(high, values) + BESIDE * span)
    ax.plot(outer[marked], _at(comparison, k, len(places))[marked], **{**STAR, **style})


def legend_of_bars(ax: Any) -> None:
    """Bars first, then marks."""
    handles = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda pair: hasattr(pair[0], "get_marker"))
    ax.legend(*zip(*handles, strict=True), loc="best", fontsize="small")


def interval_words(comparison: Comparison, level: float) -> str:
    """What the intervals are about."""
    about = sorted({one.about for one in comparison.differences})
    meanings = " or ".join(comparison.reference.meaning(one) for one in about)
    return f"{100 * level:.6g}% intervals, each on its own, about {meanings}."


def _at(comparison: Comparison, k: int, count: int) -> np.ndarray:
    """Where the bars of explanation k are, the reference uppermost."""
    return np.arange(count) + WIDTH * ((k + 0.5) / len(comparison.names) - 0.5)
