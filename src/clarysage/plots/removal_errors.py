"""Errors of removals, as dots with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clarysage.errors import InputError
from clarysage.inference.intervals import interval
from clarysage.plots.axes import BLUE, GREY, check_axis, feature_axis, note, value_axis
from clarysage.results import RemovalQuality

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVEL = 0.95


def removal_errors(quality: RemovalQuality, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Dots with 95% intervals for the errors of removals, the smallest at the top.

    Blue marks the best removal and those that cannot be distinguished from it: the interval of their paired difference
    contains zero. Others are grey. Overlapping intervals are a weaker test, since all removals are measured on the same
    rows and coalitions.

    Parameters
    ----------
    quality : what to draw, the result of :func:`clarysage.removal_quality`
    ax : axis to draw on; default a new figure
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> quality = cs.removal_quality(["marginal", "baseline"], lambda X: X[:, 0], X, background=X, rng=0)
    >>> ax = removal_errors(quality)
    >>> len(ax.get_yticklabels())
    2
    """
    check_axis(ax)
    if not isinstance(quality, RemovalQuality):
        raise InputError("quality", got=type(quality).__name__, wanted="the result of cs.removal_quality")
    order = np.argsort(quality.scores, kind="stable")
    names = [quality.names[i] for i in order]
    ax, width = feature_axis(ax, names)
    for position, i in enumerate(order):
        color = BLUE if _is_among_best(quality, quality.names[i]) else GREY
        ax.errorbar(
            quality.scores[i],
            position,
            xerr=_half_width(quality.std_error[i], quality.rows),
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
    value_axis(ax, "mean squared distance between f_S and f")
    ax.set_xlim(left=0)
    note(ax, _sentences(quality), width)
    if title is not None:
        ax.set_title(title)
    return ax


def _half_width(std_error: float, rows: int) -> float:
    """Returns half the width of an interval for a mean over this number of rows."""
    low, high = interval(np.zeros(1), np.full(1, std_error), np.full(1, rows - 1.0), LEVEL)
    return float(high[0] - low[0]) / 2


def _is_among_best(quality: RemovalQuality, name: str) -> bool:
    difference, error = quality.difference(name)
    return difference <= _half_width(error, quality.rows)


def _sentences(quality: RemovalQuality) -> list[str]:
    sentences = [
        "f: prediction with all features; f_S: with the features in S only.",
        f"95% intervals over {quality.rows:,} rows, each with {quality.coalitions:,} coalitions S. Blue: the best "
        "removal, and those that cannot be distinguished from it.",
    ]
    if quality.variance > 0:
        sentences.append("Dotted: the variance of f, the error of its mean as a constant prediction.")
    return sentences
