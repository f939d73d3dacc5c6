"""Bars of several explanations side by side, feature by feature (paper, Figure 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import InputError, PythonOnly
from clarysage.plots.axes import (
    BLUE,
    GREY,
    INK,
    VALUE_WIDTH,
    VERMILION,
    axis_inches,
    check_axis,
    drawn_words,
    feature_axis,
    font_points,
    literal,
    note,
    text_inches,
    value_axis,
    value_label,
)
from clarysage.results import Comparison
from clarysage.results.comparison_view import MOST_PLOTTED, interval_of
from clarysage.results.summary import check_top
from clarysage.synonyms import with_synonyms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CHANGED = "changed"  # entry of the legend, with the adjustment of p-values
ADJUSTED = {"holm": " (Holm)", "benjamini hochberg": " (Benjamini-Hochberg)", None: ""}
LEGEND_SIZE = 0.83  # of the legend, in units of the font size
HANDLE, ROW, FRAME = 5.0, 1.4, 1.2  # a handle with its gaps, a line, and the frame, in units of the legend's font size


@with_synonyms
def comparison(
    comparison: Comparison,
    *,
    ax: Axes | None = None,
    top: int | None = SHOWN,
    level: float = 0.95,
    title: str | None = None,
) -> Axes:
    """Bars of all explanations side by side, feature by feature, with intervals, and stars at significant changes.

    Parameters
    ----------
    comparison : what to draw, the result of :func:`clarysage.compare`; at most seven explanations
    ax : axis to draw on; default a new figure, as in :func:`clarysage.plots.bars`
    top : draw the ``top`` features with the largest absolute values in any explanation, and those that are flagged;
        None for all
    level : of the intervals
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Features are in the order of their values in the reference. Each interval belongs to one value. Whether two bars
    differ is shown by the star, not by whether their intervals overlap, in particular where both are of the same rows.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(200, 2)), rng.normal(size=(50, 2))
    >>> first = cs.sage(lambda X: X[:, 0], X, X[:, 0], background=background, loss="squared error", rng=0)
    >>> second = cs.sage(lambda X: 0.1 * X[:, 0], X, X[:, 0], background=background, loss="squared error", rng=0)
    >>> ax = cs.compare(first, second, names=["before", "after"]).plot()
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before', 'after', 'changed (Holm)']
    """
    _check(comparison, ax, top)
    features = _selected(comparison, top)
    names = [comparison.feature_names[i] for i in features]
    legend = _Legend.of(ax, comparison)
    ax, width = feature_axis(ax, names, bars=len(comparison.names), spare=legend.inches)
    span = grouped_bars(ax, comparison, features, level)
    _mark(ax, comparison, features, level, span)
    value_axis(ax, value_label(comparison.reference))
    legend_of_bars(ax, loc="lower center", ncols=legend.columns, framealpha=1.0, borderaxespad=0.2)
    note(ax, _sentences(comparison, len(features), level), width)
    if title is not None:
        ax.set_title(title)
    return ax


@dataclass(frozen=True)
class _Legend:
    """The size of a legend in a free space below the last feature: its columns, and its height in inches."""

    columns: int
    inches: float

    @classmethod
    def of(cls, ax: Any, comparison: Comparison) -> _Legend:
        texts = [*comparison.names, *([CHANGED + ADJUSTED[comparison.adjust]] if comparison.changed else [])]
        inch = LEGEND_SIZE * font_points() / 72
        width = VALUE_WIDTH if ax is None else 0.85 * axis_inches(ax)[0]  # names take some of it, too
        entry = LEGEND_SIZE * max(map(text_inches, texts)) + HANDLE * inch
        columns = min(max(int(width / entry), 1), len(texts))
        return cls(columns, (ROW * -(-len(texts) // columns) + FRAME) * inch)


def _selected(comparison: Comparison, top: int | None) -> np.ndarray:
    """Returns indices of the features to draw, by their values in the reference, largest first."""
    order = np.argsort(-comparison.reference.values, kind="stable")
    if top is None:
        return order
    largest = np.max([np.abs(explanation.values) for explanation in comparison.explanations], axis=0)
    is_selected = np.isin(np.arange(len(order)), np.argsort(-largest, kind="stable")[:top])
    return np.asarray(order[(is_selected | np.atleast_2d(comparison.flags).any(axis=0))[order]])


def _mark(ax: Any, comparison: Comparison, features: np.ndarray, level: float, span: float) -> None:
    """Draws a star next to each bar whose value is flagged."""
    flags, label = np.atleast_2d(comparison.flags)[:, features], CHANGED + ADJUSTED[comparison.adjust]
    for k, flagged in enumerate(flags, start=1):
        mark_bars(ax, comparison, k, features, flagged, level, span, label=label, gid="changed")
        label = "_nolegend_" if flagged.any() else label  # once


def _sentences(comparison: Comparison, drawn: int, level: float) -> list[str]:
    sentences = [
        f"NOT CONVERGED: {name}."
        for name, explanation in zip(comparison.names, comparison.explanations, strict=True)
        if not explanation.stopped.is_wanted
    ]
    sentences.append(meaning_of_intervals(comparison, level))
    pairs = "on the same rows, paired" if comparison.is_paired else "with the rows treated as independent samples"
    test = f"tested at {100 * (1 - comparison.level):.3g} %{ADJUSTED[comparison.adjust]}"
    if comparison.changed:
        sentences.append(f"Stars: significant differences {pairs}, {test}.")
    else:
        sentences.append(f"No significant difference {pairs}, {test}.")
    if drawn < len(comparison.feature_names):
        sentences.append(drawn_words(drawn, len(comparison.feature_names)))
    return sentences


def _check(comparison: object, ax: object, top: object) -> None:
    if not isinstance(comparison, Comparison):
        raise InputError(
            "comparison",
            got=type(comparison).__name__,
            wanted="a Comparison",
            hint=PythonOnly("the result of cs.compare"),
        )
    check_axis(ax)
    if len(comparison.names) > MOST_PLOTTED:
        raise InputError(
            "comparison", got=f"{len(comparison.names)} explanations", wanted=f"at most {MOST_PLOTTED} in a plot"
        )
    check_top(top)


COLOURS = (GREY, BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")  # Okabe and Ito's; the reference is grey
GROUP_WIDTH = 0.8  # of all bars of a feature
MARK_DISTANCE = 0.03  # distance of a mark from its bar, as a share of the span of the bars
STAR = {"linestyle": "none", "marker": "*", "markersize": 8, "color": VERMILION}


def grouped_bars(ax: Any, comparison: Comparison, features: np.ndarray, level: float) -> float:
    """Draws bars and intervals of each explanation for the given feature indices; returns their span."""
    thickness, ends = GROUP_WIDTH / len(comparison.names), [0.0]
    for k, (name, explanation) in enumerate(zip(comparison.names, comparison.explanations, strict=True)):
        positions = _positions(comparison, k, len(features))
        low, high = (end[features] for end in interval_of(comparison, k, level))
        ax.barh(
            positions,
            explanation.values[features],
            0.92 * thickness,
            color=COLOURS[k],
            label=literal(name),
            gid=f"bars {k}",
        )
        ax.errorbar(
            (low + high) / 2,
            positions,
            xerr=(high - low) / 2,
            fmt="none",
            ecolor=INK,
            elinewidth=1.0,
            capsize=1.5,
            gid="intervals",
        )
        ends += [*low, *high, *explanation.values[features]]
    return float(max(ends) - min(ends)) or 1.0


def mark_bars(
    ax: Any,
    comparison: Comparison,
    k: int,
    features: np.ndarray,
    is_marked: np.ndarray,
    level: float,
    span: float,
    **style: Any,
) -> None:
    """Draws a mark beyond the outer end of each bar of explanation k that ``is_marked``."""
    if not is_marked.any():
        return
    low, high = (end[features] for end in interval_of(comparison, k, level))
    values = comparison.explanations[k].values[features]
    outer = np.where(
        values < 0, np.minimum(low, values) - MARK_DISTANCE * span, np.maximum(high, values) + MARK_DISTANCE * span
    )
    ax.plot(outer[is_marked], _positions(comparison, k, len(features))[is_marked], **{**STAR, **style})


def legend_of_bars(ax: Any, **options: Any) -> None:
    """Adds a legend: bars first, then marks."""
    handles = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=lambda pair: hasattr(pair[0], "get_marker"))
    ax.legend(*zip(*handles, strict=True), **{"loc": "best", "fontsize": LEGEND_SIZE * font_points(), **options})


def meaning_of_intervals(comparison: Comparison, level: float) -> str:
    """Returns a sentence on the meaning of the intervals."""
    abouts = sorted({difference.about for difference in comparison.differences})
    meanings = " or ".join(comparison.reference.meaning(about) for about in abouts)
    return f"Pointwise {100 * level:.6g}% intervals about {meanings}."


def _positions(comparison: Comparison, k: int, count: int) -> np.ndarray:
    """Returns positions of the bars of explanation k, the reference at the top."""
    return np.arange(count) + GROUP_WIDTH * ((k + 0.5) / len(comparison.names) - 0.5)
