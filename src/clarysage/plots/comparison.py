"""Bars of several explanations side by side, feature by feature (paper, Figure 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, PythonOnly, Set
from clarysage.plots.axes import (
    BLUE,
    GREY,
    INK,
    VERMILLION,
    check_axis,
    feature_axis,
    is_count,
    literal,
    note,
    value_axis,
    value_label,
)
from clarysage.results import Comparison
from clarysage.results.comparison_view import MOST_PLOTTED, interval_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ADJUSTED = {"holm": " (Holm)", "benjamini hochberg": " (Benjamini-Hochberg)", None: ""}


def comparison(
    comparison: Comparison,
    *,
    ax: Axes | None = None,
    top: int | None = None,
    level: float = 0.95,
    title: str | None = None,
) -> Axes:
    """Bars of all explanations side by side, feature by feature, with their intervals; stars where something changed.

    Parameters
    ----------
    comparison : what to draw, the result of :func:`clarysage.compare`; at most seven explanations
    ax : axis to draw on; default a new figure, as in :func:`clarysage.plots.bars`
    top : draw the ``top`` features with the largest absolute values in any explanation, and those that are flagged.
        Default: every feature
    level : of the intervals
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Features are in the order of their values in the reference. Each interval is that of one value, about what the
    comparison is about: whether two bars differ is not told by whether their intervals overlap, least of all where they
    are of the same rows, but by the star.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, background = rng.normal(size=(200, 2)), rng.normal(size=(50, 2))
    >>> one = cs.sage(lambda X: X[:, 0], X, X[:, 0], background=background, loss="squared error", rng=0)
    >>> other = cs.sage(lambda X: 0.1 * X[:, 0], X, X[:, 0], background=background, loss="squared error", rng=0)
    >>> ax = cs.compare(one, other, names=["before", "after"]).plot()
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['before', 'after', 'changed (Holm)']
    """
    _check(comparison, ax, top)
    places = _chosen(comparison, top)
    names = [comparison.feature_names[i] for i in places]
    ax, width = feature_axis(ax, names, bars=len(comparison.names))
    span = grouped_bars(ax, comparison, places, level)
    _mark(ax, comparison, places, level, span)
    value_axis(ax, value_label(comparison.reference))
    legend_of_bars(ax)
    note(ax, _sentences(comparison, len(places), level), width)
    if title is not None:
        ax.set_title(title)
    return ax


def _chosen(comparison: Comparison, top: int | None) -> np.ndarray:
    """Places of the features that are drawn, by their values in the reference, largest first."""
    order = np.argsort(-comparison.reference.values, kind="stable")
    if top is None:
        return order
    largest = np.max([np.abs(one.values) for one in comparison.explanations], axis=0)
    kept = np.isin(np.arange(len(order)), np.argsort(-largest, kind="stable")[:top])
    return np.asarray(order[(kept | np.atleast_2d(comparison.flags).any(axis=0))[order]])


def _mark(ax: Any, comparison: Comparison, places: np.ndarray, level: float, span: float) -> None:
    """A star beside each bar whose value is flagged."""
    flags, label = np.atleast_2d(comparison.flags)[:, places], f"changed{ADJUSTED[comparison.adjust]}"
    for k, flagged in enumerate(flags, start=1):
        mark_bars(ax, comparison, k, places, flagged, level, span, label=label, gid="changed")
        label = "_nolegend_" if flagged.any() else label  # once


def _sentences(comparison: Comparison, drawn: int, level: float) -> list[str]:
    found = [
        f"NOT CONVERGED: {name}."
        for name, one in zip(comparison.names, comparison.explanations, strict=True)
        if not one.stopped.is_wanted
    ]
    found.append(interval_words(comparison, level))
    how = "of the same rows, one by one" if comparison.is_paired else "between rows"
    chance = f"{100 * (1 - comparison.level):.3g} %"
    if comparison.changed:
        found.append(f"Stars: differences {how} that are no accident, tested at {chance}{ADJUSTED[comparison.adjust]}.")
    else:
        found.append(f"No difference {how} is told from zero, tested at {chance}{ADJUSTED[comparison.adjust]}.")
    if drawn < len(comparison.feature_names):
        found.append(f"{drawn:,} of {len(comparison.feature_names):,} features are drawn.")
    return found


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
    if top is not None and not is_count(top):
        raise InputError(
            "top", got=f"{top!r}", wanted="a whole number of one or more, or None for all", hint=Set("top", 10)
        )


COLOURS = (GREY, BLUE, "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442")  # Okabe and Ito's; the reference is grey
WIDTH = 0.8  # of all bars of a feature
BESIDE = 0.03  # from the end of a bar to its mark, as a share of the span of the bars
STAR = {"linestyle": "none", "marker": "*", "markersize": 8, "color": VERMILLION}


def grouped_bars(ax: Any, comparison: Comparison, places: np.ndarray, level: float) -> float:
    """Bars and intervals of each explanation, of the features at ``places``; returns the span of them."""
    thick, ends = WIDTH / len(comparison.names), [0.0]
    for k, (name, explanation) in enumerate(zip(comparison.names, comparison.explanations, strict=True)):
        at = _at(comparison, k, len(places))
        low, high = (end[places] for end in interval_of(comparison, k, level))
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
    low, high = (end[places] for end in interval_of(comparison, k, level))
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
