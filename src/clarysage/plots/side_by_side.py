"""Measures side by side: a panel of bars each, features in the same order."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.plots.canvas import (
    BLUE,
    GREY,
    INK,
    VERMILLION,
    check_importances,
    font_points,
    is_count,
    literal,
    note_of_figure,
)
from clarysage.plots.feature_axis import SHORTEST, SPACING, Labels, feature_axis, value_axis
from clarysage.plots.selection import largest_of_all
from clarysage.results import Explanation, Importances

PANEL, FRAME = 2.0, 0.75  # inches of a panel across, and of its title and numbers
SHAPE = 1.3  # of the figure, width by height, that the number of panels in a row comes nearest to
LETTERS = 20  # of a title before it goes on in the next line
RANKS = 0.18  # room for ranks at the right, as a share of the span of the bars
HATCH = "////"


def side_by_side(
    importances: Importances,
    *,
    top: int | None = None,
    level: float = 0.95,
    columns: int | None = None,
    title: str | None = None,
) -> np.ndarray:
    """Bars of several measures, a panel each, features in one order: that of SAGE, or else of the mean rank.

    Parameters
    ----------
    importances : what to draw, the result of :func:`clarysage.importances`
    top : draw the ``top`` features with the largest shares on average over measures alone. Default: every feature
    level : of the intervals, each about the widest that its measure knows
    columns : panels in a row; default what makes a figure somewhat wider than high
    title : text above all panels

    Returns
    -------
    array of matplotlib.axes.Axes, one a measure, in a new figure

    Notes
    -----
    Every panel has a scale of its own; the number at the right is the rank of a feature in that measure, 1 for the
    largest value. Hatched grey bars are those of heuristics, which do not share out what a model gains.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = cs.importances(lambda X: X[:, 0], X, X[:, 0], measures=["sage", "shapley effects"], rng=0)
    >>> [ax.get_title() for ax in side_by_side(found)]
    ['sage', 'shapley effects']
    """
    check_importances(importances, None)
    _check_columns(columns)
    names = largest_of_all(importances, top)
    axes, per_row = _panels(names, len(importances), columns)
    ranks = importances.ranks()
    for place, (ax, (measure, explanation)) in enumerate(zip(axes, importances.items(), strict=True)):
        is_heuristic = importances.traits[measure].is_heuristic
        feature_axis(ax, names)
        ax.tick_params(axis="y", labelleft=place % per_row == 0)
        _draw(ax, explanation, names, level, is_heuristic)
        value_axis(ax, "")
        _write_ranks(ax, ranks.loc[names, measure].tolist())
        ax.set_title(_titled(measure, is_heuristic), fontsize="medium")
    note_of_figure(axes[0].figure, _sentences(importances, names, level))
    if title is not None:
        axes[0].figure.suptitle(title)
    return axes


def _panels(names: Sequence[str], count: int, columns: int | None) -> tuple[np.ndarray, int]:
    """Axes for so many panels, and how many of them are in a row."""
    from matplotlib import pyplot

    labels = Labels.of(names)
    high = max(SHORTEST, len(names) * max(0.24, font_points("ytick.labelsize") / 72 * SPACING * labels.lines)) + FRAME
    sizes = {
        each: (each * PANEL + labels.length + 0.3, -(-count // each) * high + FRAME) for each in range(1, count + 1)
    }
    per_row = min(columns or min(sizes, key=lambda each: abs(math.log(sizes[each][0] / sizes[each][1] / SHAPE))), count)
    figure, grid = pyplot.subplots(
        -(-count // per_row), per_row, figsize=sizes[per_row], layout="constrained", squeeze=False
    )
    figure.get_layout_engine().set(wspace=0.05)
    for spare in grid.ravel()[count:]:
        figure.delaxes(spare)
    return grid.ravel()[:count], per_row


def _draw(ax: Any, explanation: Explanation, names: Sequence[str], level: float, is_heuristic: bool) -> None:
    """Bars and intervals of one measure, with room for ranks at their right."""
    order = [explanation.feature_names.index(name) for name in names]
    values, places = explanation.values[order], np.arange(len(order))
    if is_heuristic:
        ax.barh(places, values, 0.72, facecolor="white", edgecolor=GREY, hatch=HATCH)
    else:
        ax.barh(places, values, 0.72, color=[BLUE if value >= 0 else VERMILLION for value in values])
    ends = [values, np.zeros(1)]
    if _has_interval(explanation):
        low, high = (end[order] for end in explanation.interval(level))
        middle, reach = (low + high) / 2, (high - low) / 2
        ax.errorbar(middle, places, xerr=reach, fmt="none", ecolor="black", elinewidth=1.2, capsize=2, gid="intervals")
        ends += [low, high]
    least, most = (float(end(np.concatenate(ends))) for end in (np.min, np.max))
    span = (most - least) or 1.0
    ax.set_xlim(least - (0.05 * span if least < 0 else 0.0), most + RANKS * span)


def _has_interval(explanation: Explanation) -> bool:
    return explanation.draws > 0 or explanation.shown != "data"


def _write_ranks(ax: Any, ranks: Sequence[int]) -> None:
    for place, rank in enumerate(ranks):
        ax.text(
            0.99,
            place,
            f"{rank}",
            transform=ax.get_yaxis_transform(),
            ha="right",
            va="center",
            color=INK,
            fontsize=0.83 * ax.yaxis.get_major_ticks()[0].label1.get_fontsize(),
            gid="rank",
        )
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(3))


def _titled(measure: str, is_heuristic: bool) -> str:
    lines = textwrap.wrap(measure, LETTERS) or [""]
    return literal("\n".join([*lines, *(["(heuristic)"] if is_heuristic else [])]))


def _sentences(importances: Importances, names: Sequence[str], level: float) -> list[str]:
    shown = {one.shown for one in importances.values() if _has_interval(one)}
    found = ["Every panel has a scale of its own; numbers at the right are ranks."]
    if shown:
        meant = {
            "data": "this data",
            "rows": "the population of rows",
            "population": "the population of rows and background",
        }
        about = " or ".join(meant[about] for about in meant if about in shown)
        found.append(f"{100 * level:.6g}% intervals, each on its own, about {about}, as far as the measure tells.")
    if any(traits.is_heuristic for traits in importances.traits.values()):
        found.append("Hatched: heuristics, whose values add up to nothing that a model gains or loses.")
    if importances.unfinished:
        found.append(f"NOT CONVERGED: {', '.join(importances.unfinished)}.")
    if len(names) < len(importances.feature_names):
        found.append(f"{len(names):,} of {len(importances.feature_names):,} features are drawn; ranks count all.")
    return found


def _check_columns(columns: object) -> None:
    if columns is not None and not is_count(columns):
        raise InputError(
            "columns", got=f"{columns!r}", wanted="a whole number of one or more, or None", hint=Set("columns", 4)
        )
