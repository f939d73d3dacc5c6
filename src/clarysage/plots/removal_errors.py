"""Dots with intervals: the error of each removal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.intervals import interval
from clarysage.plots.axes import BLUE, GREY, check_axis, feature_axis, note, value_axis
from clarysage.results import RemovalQuality

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.95


def removal_errors(quality: RemovalQuality, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Errors of removals, the smallest at the top, with 95% intervals.

    Removals that cannot be told from the best are blue as it is: the interval of their paired difference from it holds
    zero. Others are grey. Intervals that overlap say less, since all removals met the same rows and coalitions.

    Parameters
    ----------
    quality : what to draw, the result of :func:`clarysage.removal_quality`
    ax : axis to draw on; default a new figure
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes
    """
    check_axis(ax)
    if not isinstance(quality, RemovalQuality):
        raise InputError("quality", got=type(quality).__name__, wanted="the result of cs.removal_quality")
    order = np.argsort(quality.scores, kind="stable")
    names = [quality.names[i] for i in order]
    ax, width = feature_axis(ax, names)
    for place, i in enumerate(order):
        color = BLUE if _is_near(quality, quality.names[i]) else GREY
        ax.errorbar(
            quality.scores[i],
            place,
            xerr=_reach(quality.std_error[i], quality.rows),
            fmt="o",
            color=color,
            ecolor=color,
            elinewidth=1.6,
            capsize=3,
            markersize=6,
            gid="interval",
        )
    if quality.variance > 0:
        ax.axvline(quality.variance, color=GREY, linestyle=":", linewidth=1.2, gid="variance")
    value_axis(ax, "mean squared distance of f_S from f")
    ax.set_xlim(left=0)
    note(ax, _sentences(quality), width)
    if title is not None:
        ax.set_title(title)
    return ax


def _reach(std_error: float, rows: int) -> float:
    """Half the width of an interval around an error that is a mean over so many rows."""
    one = np.ones(1)
    low, high = interval(0 * one, std_error * one, (rows - 1.0) * one, LEVEL)
    return float(high[0] - low[0]) / 2


def _is_near(quality: RemovalQuality, name: str) -> bool:
    apart, error = quality.difference(name)
    return apart <= _reach(error, quality.rows)


def _sentences(quality: RemovalQuality) -> list[str]:
    found: list[Any] = [
        f"95% intervals over {quality.rows:,} rows, each with {quality.coalitions:,} coalitions. Blue: the best, and "
        "what cannot be told from it."
    ]
    if quality.variance > 0:
        found.append("Dotted: the variance of f, which the mean of f alone would leave.")
    return found
