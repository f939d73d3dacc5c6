"""Bars of the values with intervals (paper, Figure 1, bottom)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import InputError, Set
from clarysage.plots.axes import (
    BLUE,
    GREY,
    VERMILION,
    check,
    convergence_note,
    drawn_words,
    feature_axis,
    interval_note,
    note,
    value_axis,
    value_label,
)
from clarysage.plots.selection import Selection, select_and_sum
from clarysage.results import Explanation
from clarysage.synonyms import with_synonyms

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@with_synonyms
def bars(
    explanation: Explanation,
    *,
    ax: Axes | None = None,
    top: int | None = SHOWN,
    orientation: Literal["horizontal", "vertical"] = "horizontal",
    level: float = 0.95,
    joint: bool = False,
    about: str | None = None,
    title: str | None = None,
    color: Any = BLUE,
    negative_color: Any = VERMILION,
) -> Axes:
    """Bar chart of the values, largest first, with their intervals.

    Parameters
    ----------
    explanation : what to draw
    ax : axis to draw on; default a new figure, sized by the number of features and the length of their names. On a
        given axis, names shrink to the available space; create its figure with ``layout="constrained"``, so that names
        and the note below it, which explains the intervals, are not cut off
    top : draw the ``top`` features with the largest absolute values, so that harmful ones are included, and the sum of
        all others as one hatched bar at the end; its interval comes from the covariance of the values about the data.
        Where no covariance was stored (very many features, or intervals about the population), the bar has no interval
        and the note says so. None draws every feature
    orientation : "horizontal" (largest at the top) or "vertical" (largest at the left)
    level, joint, about : of the intervals, as in :meth:`clarysage.Explanation.interval`
    title : text above the axis
    color, negative_color : matplotlib colours of bars above and below zero

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    A value is in units of the loss. The note below the axis explains the intervals. Those about the data cover only
    the sampling error of the run: two bars whose intervals do not overlap differ on this data, not necessarily on
    other data. Exact results have no such intervals.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> explanation = cs.sage(lambda X: X[:, 0], X, X[:, 0], feature_names=["age", "noise"], rng=0)
    >>> ax = bars(explanation, title="What predicts the outcome?")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['age', 'noise']
    """
    check(explanation, ax)
    _check_orientation(orientation)
    _check_color("color", color)
    _check_color("negative_color", negative_color)
    about = explanation.shown if about is None else about
    selection = select_and_sum(explanation, top, level, joint, about)
    is_horizontal = orientation == "horizontal"
    ax, width = feature_axis(ax, selection.names, is_horizontal=is_horizontal)
    _draw(ax, selection, is_horizontal, color, negative_color)
    value_axis(ax, value_label(explanation), is_horizontal=is_horizontal)
    note(ax, _sentences(explanation, selection, level, joint, about), width)
    if title is not None:
        ax.set_title(title)
    return ax


def _draw(ax: Any, selection: Selection, is_horizontal: bool, color: Any, negative_color: Any) -> None:
    positions = np.arange(len(selection.values))
    colors = [color if value >= 0 else negative_color for value in selection.values]
    drawn = (ax.barh if is_horizontal else ax.bar)(positions, selection.values, 0.72, color=colors)
    if selection.others:
        drawn.patches[-1].set(facecolor="white", edgecolor=GREY, hatch="////")
    has_interval = selection.has_interval
    if not has_interval.any():
        return
    positions, middle = positions[has_interval], (selection.low + selection.high)[has_interval] / 2
    half = (selection.high - selection.low)[has_interval] / 2  # around the middle: a value may be outside its interval
    style = {"fmt": "none", "ecolor": "black", "elinewidth": 1.2, "capsize": 2.5, "gid": "intervals"}
    if is_horizontal:
        ax.errorbar(middle, positions, xerr=half, **style)
    else:
        ax.errorbar(positions, middle, yerr=half, **style)


def _sentences(explanation: Explanation, selection: Selection, level: float, joint: bool, about: str) -> list[str]:
    sentences = [*convergence_note(explanation), *interval_note(explanation, level, joint, about)]
    if selection.others:
        count = len(explanation.values)
        sentences.append(drawn_words(count - selection.others, count, ", the hatched bar is the sum of the others"))
        if selection.has_interval[0] and not selection.has_interval[-1]:
            sentences.append("The sum of the others has no interval: no covariance was stored.")
    return sentences


def _check_orientation(orientation: object) -> None:
    if orientation not in ("horizontal", "vertical"):
        raise InputError("orientation", got=f"{orientation!r}", wanted='"horizontal" or "vertical"')


def _check_color(argument: str, color: object) -> None:
    from matplotlib.colors import is_color_like

    if not is_color_like(color):
        raise InputError(argument, got=f"{color!r}", wanted="a colour matplotlib knows", hint=Set(argument, "#0072B2"))
