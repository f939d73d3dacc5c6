"""Shapley interactions: a heat map of all pairs, or bars for selected pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import InputError
from clarysage.plots.axes import (
    BLUE,
    INK,
    VERMILION,
    Labels,
    axis_inches,
    check_axis,
    convergence_note,
    drawn_words,
    font_points,
    interval_note,
    note,
    note_of_figure,
    open_axis,
)
from clarysage.plots.bars import bars
from clarysage.results import Interactions
from clarysage.results.interactions import UNDECIDED, unexplained_words
from clarysage.results.summary import check_top
from clarysage.results.text import loss_words, number_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KINDS = ("auto", "matrix", "bars")
CELL_SIZE, SMALL_CELL = 0.62, 0.36  # inches of a cell with a number, and of one without
MOST_WRITTEN = 12  # players of a matrix with numbers in its cells


def interactions(
    interactions: Interactions,
    *,
    ax: Axes | None = None,
    kind: str = "auto",
    top: int | None = SHOWN,
    level: float = 0.95,
    about: str | None = None,
    title: str | None = None,
) -> Axes:
    """Heat map of pairs: blue for features that are worth more together, vermilion for those that share information.

    Numbers whose intervals contain zero are in brackets.

    Parameters
    ----------
    interactions : what to draw, the result of :func:`clarysage.interactions`
    ax : axis to draw on; default a new figure
    kind : "matrix", "bars" with intervals, or "auto": a matrix where all pairs of three or more players are known
    top : draw the ``top`` strongest pairs as bars, or the ``top`` features with the largest SAGE values in a matrix;
        None for all
    level, about : of the intervals, as in :meth:`clarysage.Explanation.interval`
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
    >>> X = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, 3))
    >>> result = cs.interactions(lambda X: X[:, 0] * X[:, 1], X, X[:, 0] * X[:, 1], rng=0)
    >>> ax = cs.plots.interactions(result, title="What works together?")
    >>> ax.get_title()
    'What works together?'
    """
    check_axis(ax)
    if not isinstance(interactions, Interactions):
        raise InputError("interactions", got=type(interactions).__name__, wanted="the result of cs.interactions")
    if kind not in KINDS:
        raise InputError("kind", got=f"{kind!r}", wanted=f"one of {', '.join(map(repr, KINDS))}")
    is_matrix = kind == "matrix" or (kind == "auto" and interactions.is_complete and len(interactions.players) > 2)
    if not is_matrix:
        ax = bars(interactions.explanation, ax=ax, top=top, level=level, about=about, title=title)
        ax.set_xlabel(_unit(interactions))
        return ax
    check_top(top)
    is_new, players = ax is None, interactions.players[:top]
    ax = _matrix(interactions, players, ax)
    is_written = len(players) <= MOST_WRITTEN
    if is_written:
        _write(ax, interactions, players, interactions.meanings(level, about=about))
    about = interactions.explanation.shown if about is None else about
    sentences = [
        *convergence_note(interactions.explanation),
        *interval_note(interactions.explanation, level, False, about),
        unexplained_words(interactions),
    ]
    if is_written and UNDECIDED in interactions.meanings(level, about=about):
        sentences.insert(0, "In brackets: the sign is undecided.")
    if len(players) < len(interactions.players):
        more = ", those with the largest SAGE values"
        sentences.insert(0, drawn_words(len(players), len(interactions.players), more))
    if is_new:
        note_of_figure(ax.figure, sentences)
    else:
        note(ax, sentences, 0.85 * axis_inches(ax)[0])
    if title is not None:
        ax.set_title(title)
    return ax


def _matrix(interactions: Interactions, players: Sequence[str], ax: Axes | None) -> Any:
    """Draws cells below the diagonal, coloured by value on a scale that is symmetric around zero."""
    from matplotlib.colors import LinearSegmentedColormap

    labels, k = Labels.of(players), len(players)
    side = max(2.5, (CELL_SIZE if k <= MOST_WRITTEN else SMALL_CELL) * k)
    ax = open_axis(ax, side + labels.length + 1.6, side + labels.length + 0.13 * font_points())
    matrix = interactions.matrix[:k, :k]
    matrix[np.triu_indices(k)] = np.nan
    largest = float(np.nanmax(np.abs(matrix))) or 1.0
    colors = LinearSegmentedColormap.from_list("interactions", [VERMILION, "white", BLUE])
    image = ax.imshow(matrix[1:, :-1], cmap=colors, vmin=-largest, vmax=largest, aspect="equal")
    positions = np.arange(k - 1)
    ax.set_xticks(positions, labels=labels.texts[:-1], rotation=90, usetex=False)
    ax.set_yticks(positions, labels=labels.texts[1:], usetex=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
    bar.set_label(_unit(interactions))
    bar.outline.set_visible(False)
    return ax


def _write(ax: Any, interactions: Interactions, players: Sequence[str], meanings: list[str]) -> None:
    """Writes numbers into the cells, in white on dark ones."""
    show, index = number_format(interactions.explanation), {name: i for i, name in enumerate(players)}
    largest = float(np.abs(interactions.values).max()) or 1.0
    size = 0.8 * font_points()
    for (first, second), value, meaning in zip(interactions.pairs, interactions.values, meanings, strict=True):
        if not {first, second} <= index.keys():
            continue
        column, row = sorted((index[first], index[second]))
        text = show(float(value))
        color = "white" if abs(value) > 0.6 * largest else INK
        cell = f"({text})" if meaning == UNDECIDED else text
        ax.text(column, row - 1, cell, ha="center", va="center", color=color, fontsize=size, gid="value")


def _unit(interactions: Interactions) -> str:
    unit = (
        "variance of the output"
        if interactions.sage.values_are == "variance"
        else f"reduction of {loss_words(interactions.loss)}"
    )
    return f"interaction ({unit})"
