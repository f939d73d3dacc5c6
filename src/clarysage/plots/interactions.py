"""Interactions as a heat map of all pairs, or as bars for pairs that were chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError
from clarysage.plots.axes import (
    BLUE,
    INK,
    VERMILLION,
    Labels,
    axis_inches,
    check_axis,
    convergence_note,
    font_points,
    interval_note,
    note,
    note_of_figure,
    open_axis,
)
from clarysage.plots.bars import bars
from clarysage.results import Interactions
from clarysage.results.interactions import UNDECIDED, unexplained_words
from clarysage.results.text import loss_words, number_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("auto", "matrix", "bars")
CELL = 0.62  # inches
WRITTEN = 12  # players or fewer, whose numbers are written into the cells


def interactions(
    interactions: Interactions,
    *,
    ax: Axes | None = None,
    kind: str = "auto",
    level: float = 0.95,
    about: str | None = None,
    title: str | None = None,
) -> Axes:
    """A heat map of pairs: blue for features that are worth more together, vermillion for those that share.

    Numbers whose intervals hold zero are written in brackets.

    Parameters
    ----------
    interactions : what to draw, the result of :func:`clarysage.interactions`
    ax : axis to draw on; default a new figure
    kind : "matrix", "bars" with intervals, or "auto": a matrix where all pairs of three players or more are known
    level, about : of the intervals, as in :meth:`clarysage.Explanation.interval`
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes
    """
    check_axis(ax)
    if not isinstance(interactions, Interactions):
        raise InputError("interactions", got=type(interactions).__name__, wanted="the result of cs.interactions")
    if kind not in KINDS:
        raise InputError("kind", got=f"{kind!r}", wanted=f"one of {', '.join(map(repr, KINDS))}")
    is_matrix = kind == "matrix" or (kind == "auto" and interactions.is_complete and len(interactions.players) > 2)
    if not is_matrix:
        ax = bars(interactions.found, ax=ax, level=level, about=about, title=title)
        ax.set_xlabel(_unit(interactions))
        return ax
    is_new = ax is None
    ax = _matrix(interactions, ax)
    if len(interactions.players) <= WRITTEN:
        _write(ax, interactions, interactions.meanings(level, about=about))
    about = interactions.found.shown if about is None else about
    said = [*convergence_note(interactions.found), *interval_note(interactions.found, level, False, about)]
    told = ["In brackets: undecided sign."] if UNDECIDED in interactions.meanings(level, about=about) else []
    sentences = [*told, *said, unexplained_words(interactions)]
    if is_new:
        note_of_figure(ax.figure, sentences)
    else:
        note(ax, sentences, 0.85 * axis_inches(ax)[0])
    if title is not None:
        ax.set_title(title)
    return ax


def _matrix(interactions: Interactions, ax: Axes | None) -> Any:
    """Cells below the diagonal, coloured by value on a scale that is even around zero."""
    from matplotlib.colors import LinearSegmentedColormap

    labels, k = Labels.of(interactions.players), len(interactions.players)
    side = max(2.5, CELL * k)
    ax = open_axis(ax, side + labels.length + 1.6, side + labels.length + 0.13 * font_points())
    shown = interactions.matrix
    shown[np.triu_indices(k)] = np.nan
    largest = float(np.nanmax(np.abs(shown))) or 1.0
    colors = LinearSegmentedColormap.from_list("interactions", [VERMILLION, "white", BLUE])
    image = ax.imshow(shown[1:, :-1], cmap=colors, vmin=-largest, vmax=largest, aspect="equal")
    places = np.arange(k - 1)
    ax.set_xticks(places, labels=labels.texts[:-1], rotation=90, usetex=False)
    ax.set_yticks(places, labels=labels.texts[1:], usetex=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label(_unit(interactions))
    bar.outline.set_visible(False)
    return ax


def _write(ax: Any, interactions: Interactions, meanings: list[str]) -> None:
    """Numbers into the cells, white on the darkest."""
    show, place = number_format(interactions.found), {name: i for i, name in enumerate(interactions.players)}
    largest = float(np.abs(interactions.values).max()) or 1.0
    size = 0.8 * font_points()
    for (one, other), value, meaning in zip(interactions.pairs, interactions.values, meanings, strict=True):
        column, row = sorted((place[one], place[other]))
        text = show(float(value))
        color = "white" if abs(value) > 0.6 * largest else INK
        shown = f"({text})" if meaning == UNDECIDED else text
        ax.text(column, row - 1, shown, ha="center", va="center", color=color, fontsize=size, gid="value")


def _unit(interactions: Interactions) -> str:
    saved = (
        "variance of the output"
        if interactions.sage.values_are == "variance"
        else (f"{loss_words(interactions.loss)} saved")
    )
    return f"interaction ({saved} beyond each alone)"
