"""Plots of several importance measures: a panel of bars for each measure, or a heat map of their ranks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import InputError, Set
from clarysage.plots.axes import (
    BLUE,
    GREY,
    INK,
    SHORTEST,
    SPACING,
    VERMILION,
    Labels,
    axis_inches,
    check_importances,
    drawn_words,
    feature_axis,
    font_points,
    is_count,
    literal,
    note,
    note_of_figure,
    open_axis,
    text_inches,
    value_axis,
)
from clarysage.plots.selection import largest_of_all
from clarysage.results import Explanation, Importances
from clarysage.synonyms import with_synonyms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL_WIDTH, FRAME = 2.0, 0.75  # inches of a panel, and of its title and numbers
ASPECT = 1.3  # width by height of the figure that the number of panels in a row should approximate
TITLE_LETTERS = 20  # of a title before it continues on the next line
RANK_SPACE = 0.18  # for ranks at the right, as a share of the span of the bars
HATCH = "////"


@with_synonyms
def side_by_side(
    importances: Importances,
    *,
    top: int | None = SHOWN,
    level: float = 0.95,
    columns: int | None = None,
    title: str | None = None,
) -> np.ndarray:
    """Bars of several measures, one panel each, with features in the order of SAGE, or else of the mean rank.

    Parameters
    ----------
    importances : what to draw, the result of :func:`clarysage.importances`
    top : draw only the ``top`` features with the largest mean shares over measures; None for all
    level : of the intervals, each about the most general target that its measure supports
    columns : panels in a row; default: as many as make the figure somewhat wider than high
    title : text above all panels

    Returns
    -------
    array of matplotlib.axes.Axes, one for each measure, in a new figure

    Notes
    -----
    Every panel has its own scale; the number at the right is the rank of a feature in that measure, 1 for the largest
    value. Hatched grey bars are those of heuristics, whose values do not add up to a gain of the model.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> importances = cs.importances(lambda X: X[:, 0], X, X[:, 0], measures=["sage", "shapley effects"], rng=0)
    >>> [ax.get_title() for ax in side_by_side(importances)]
    ['sage', 'shapley effects']
    """
    check_importances(importances, None)
    _check_columns(columns)
    names = largest_of_all(importances, top)
    axes, per_row = _panels(names, len(importances), columns)
    ranks = importances.ranks()
    for panel, (ax, (measure, explanation)) in enumerate(zip(axes, importances.items(), strict=True)):
        is_heuristic = importances.traits[measure].is_heuristic
        feature_axis(ax, names)
        ax.tick_params(axis="y", labelleft=panel % per_row == 0)
        _draw_panel(ax, explanation, names, level, is_heuristic)
        value_axis(ax, "")
        _write_ranks(ax, ranks.loc[names, measure].tolist())
        ax.set_title(_panel_title(measure, is_heuristic), fontsize="medium")
    note_of_figure(axes[0].figure, _panel_notes(importances, names, level))
    if title is not None:
        axes[0].figure.suptitle(title)
    return axes


def _panels(names: Sequence[str], count: int, columns: int | None) -> tuple[np.ndarray, int]:
    """Opens axes for ``count`` panels; returns them, and the number in a row."""
    from matplotlib import pyplot

    labels = Labels.of(names)
    line = font_points("ytick.labelsize") / 72 * SPACING * labels.lines
    panel_height = max(SHORTEST, len(names) * max(0.24, line)) + FRAME
    sizes = {
        n: (n * PANEL_WIDTH + labels.length + 0.3, -(-count // n) * panel_height + FRAME) for n in range(1, count + 1)
    }
    best = min(sizes, key=lambda n: abs(math.log(sizes[n][0] / sizes[n][1] / ASPECT)))
    per_row = min(columns or best, count)
    figure, grid = pyplot.subplots(
        -(-count // per_row), per_row, figsize=sizes[per_row], layout="constrained", squeeze=False
    )
    figure.get_layout_engine().set(wspace=0.05)
    for unused in grid.ravel()[count:]:
        figure.delaxes(unused)
    return grid.ravel()[:count], per_row


def _draw_panel(ax: Any, explanation: Explanation, names: Sequence[str], level: float, is_heuristic: bool) -> None:
    """Draws bars and intervals of one measure, with space for ranks at the right."""
    order = [explanation.feature_names.index(name) for name in names]
    values, positions = explanation.values[order], np.arange(len(order))
    if is_heuristic:
        ax.barh(positions, values, 0.72, facecolor="white", edgecolor=GREY, hatch=HATCH)
    else:
        ax.barh(positions, values, 0.72, color=[BLUE if value >= 0 else VERMILION for value in values])
    ends = [values, np.zeros(1)]
    if _has_interval(explanation):
        low, high = (end[order] for end in explanation.interval(level))
        style = {"fmt": "none", "ecolor": "black", "elinewidth": 1.2, "capsize": 2, "gid": "intervals"}
        ax.errorbar((low + high) / 2, positions, xerr=(high - low) / 2, **style)
        ends += [low, high]
    least, most = (float(end(np.concatenate(ends))) for end in (np.min, np.max))
    span = (most - least) or 1.0
    ax.set_xlim(least - (0.05 * span if least < 0 else 0.0), most + RANK_SPACE * span)


def _has_interval(explanation: Explanation) -> bool:
    return explanation.draws > 0 or explanation.shown != "data"


def _write_ranks(ax: Any, ranks: Sequence[int]) -> None:
    for position, rank in enumerate(ranks):
        ax.text(
            0.99,
            position,
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


def _panel_title(measure: str, is_heuristic: bool) -> str:
    lines = textwrap.wrap(measure, TITLE_LETTERS) or [""]
    return literal("\n".join([*lines, *(["(heuristic)"] if is_heuristic else [])]))


def _panel_notes(importances: Importances, names: Sequence[str], level: float) -> list[str]:
    abouts = {explanation.shown for explanation in importances.values() if _has_interval(explanation)}
    sentences = ["Every panel has its own scale; the numbers at the right are ranks."]
    if abouts:
        meanings = {
            "data": "this data",
            "rows": "the population of rows",
            "population": "the population of rows and background",
        }
        targets = " or ".join(meaning for about, meaning in meanings.items() if about in abouts)
        sentences.append(f"Pointwise {100 * level:.6g}% intervals about {targets}, depending on the measure.")
    if any(traits.is_heuristic for traits in importances.traits.values()):
        sentences.append("Hatched: heuristics, whose values do not add up to a gain or loss of the model.")
    if importances.unfinished:
        sentences.append(f"NOT CONVERGED: {', '.join(importances.unfinished)}.")
    if len(names) < len(importances.feature_names):
        sentences.append(drawn_words(len(names), len(importances.feature_names), "; ranks are among all features"))
    return sentences


def _check_columns(columns: object) -> None:
    if columns is not None and not is_count(columns):
        raise InputError(
            "columns", got=f"{columns!r}", wanted="a whole number of one or more, or None", hint=Set("columns", 4)
        )


CELL_WIDTH, NARROWEST = 0.42, 2.6  # inches of a cell, and of all cells at least, for the note below
SLOPE = 0.75  # height of a slanted line of text, in units of its length
RANK_COLOURS = "Blues_r"  # dark for the first rank: lightness distinguishes ranks for any colour vision
PALEST = 0.92  # of this map; paler colours would not be visible on white
HEURISTIC_MARK, HARM_MARK = "*", "−"  # after names of heuristics, and after ranks of values below zero


@with_synonyms
def ranks(
    importances: Importances, *, ax: Axes | None = None, top: int | None = SHOWN, title: str | None = None
) -> Axes:
    """Heat map of ranks, features by measures: the darker, the more important; 1 is the largest value of a measure.

    Parameters
    ----------
    importances : what to draw, the result of :func:`clarysage.importances`
    ax : axis to draw on; default a new figure, sized by the numbers of features and measures
    top : draw only the ``top`` features with the largest mean shares over measures; ranks count all. Default: every
        feature
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Features are in the order of SAGE, or else of the mean rank; a column that agrees with it gets darker upwards.
    Ranks do not show the size of differences, or whether they are noise; :func:`clarysage.plots.side_by_side`
    shows both. A minus sign marks values below zero: the feature does harm.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> importances = cs.importances(lambda X: X[:, 0], X, X[:, 0], measures=["sage", "shapley effects"], rng=0)
    >>> ranks(importances).images[0].get_array().tolist()
    [[1, 1], [2, 2]]
    """
    check_importances(importances, ax)
    names = largest_of_all(importances, top)
    cells, values = (frame.loc[names].to_numpy() for frame in (importances.ranks(), importances.to_frame()))
    titles = [name + HEURISTIC_MARK * importances.traits[name].is_heuristic for name in importances]
    labels, title_height = Labels.of(names), max(text_inches(line, "xtick.labelsize") for line in titles) * SLOPE
    width = max(len(titles) * CELL_WIDTH, NARROWEST)
    ax = open_axis(
        ax, labels.length + width + 0.5 * title_height + 0.3, len(names) * 0.24 * labels.lines + title_height + 1.2
    )
    feature_axis(ax, names)
    _draw_ranks(ax, cells, values, len(importances.feature_names))
    _write_measures(ax, titles)
    note(ax, _rank_notes(importances, names, values), max(width, 0.6 * axis_inches(ax)[0]))
    if title is not None:
        ax.set_title(title)
    return ax


def _draw_ranks(ax: Any, ranks: np.ndarray, values: np.ndarray, last: int) -> None:
    """Draws cells with their ranks."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(colormaps[RANK_COLOURS](np.linspace(0.0, PALEST, 256)))
    image = ax.imshow(ranks, cmap=colours, vmin=1, vmax=max(last, 2), aspect="auto", interpolation="nearest")
    points = min(font_points("ytick.labelsize"), ax.yaxis.get_major_ticks()[0].label1.get_fontsize())
    for (row, column), rank in np.ndenumerate(ranks):
        ink = "white" if _is_dark(image.cmap(image.norm(rank))) else INK
        text = f"{rank}{HARM_MARK if values[row, column] < 0 else ''}"
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=0.9 * points, gid="rank")


def _is_dark(colour: tuple[float, float, float, float]) -> bool:
    red, green, blue, _ = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55  # perceived lightness


def _write_measures(ax: Any, titles: Sequence[str]) -> None:
    """Writes slanted names of the measures above the columns, and draws white lines between the cells."""
    ax.set_xticks(range(len(titles)), labels=map(literal, titles), usetex=False)
    ax.tick_params(axis="x", top=False, labeltop=True, bottom=False, labelbottom=False)
    for label in ax.get_xticklabels():
        label.set(rotation=45, ha="left", va="center", rotation_mode="anchor")
    ax.set_xlim(-0.5, len(titles) - 0.5)
    ax.spines[:].set_visible(False)
    ax.set_xticks(np.arange(1, len(titles)) - 0.5, minor=True)
    ax.set_yticks(np.arange(1, len(ax.get_yticks())) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.0)
    ax.tick_params(which="minor", length=0)


def _rank_notes(importances: Importances, names: Sequence[str], values: np.ndarray) -> list[str]:
    sentences = ["Ranks: 1 is the largest value of a measure."]
    if (values < 0).any():
        sentences.append(f'"{HARM_MARK}": the value is below zero.')
    if any(traits.is_heuristic for traits in importances.traits.values()):
        sentences.append(f'"{HEURISTIC_MARK}": a heuristic.')
    if importances.unfinished:
        sentences.append(f"NOT CONVERGED: {', '.join(importances.unfinished)}.")
    if len(names) < len(importances.feature_names):
        sentences.append(drawn_words(len(names), len(importances.feature_names), "; ranks are among all features"))
    return [" ".join(sentences)]
