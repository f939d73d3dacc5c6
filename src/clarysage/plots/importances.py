"""Plots of several importance measures: a panel of bars for each measure, or a heat map of their ranks."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.plots.axes import (
    BLUE,
    GREY,
    INK,
    SHORTEST,
    SPACING,
    VERMILLION,
    Labels,
    axis_inches,
    check_importances,
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

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL, FRAME = 2.0, 0.75  # inches of a panel across, and of its title and numbers
SHAPE = 1.3  # of the figure, width by height, that the number of panels in a row comes nearest to
TITLE_LETTERS = 20  # of a title before it goes on in the next line
RANK_ROOM = 0.18  # room for ranks at the right, as a share of the span of the bars
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
        _draw_panel(ax, explanation, names, level, is_heuristic)
        value_axis(ax, "")
        _write_ranks(ax, ranks.loc[names, measure].tolist())
        ax.set_title(_titled(measure, is_heuristic), fontsize="medium")
    note_of_figure(axes[0].figure, _panel_notes(importances, names, level))
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


def _draw_panel(ax: Any, explanation: Explanation, names: Sequence[str], level: float, is_heuristic: bool) -> None:
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
    ax.set_xlim(least - (0.05 * span if least < 0 else 0.0), most + RANK_ROOM * span)


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
    lines = textwrap.wrap(measure, TITLE_LETTERS) or [""]
    return literal("\n".join([*lines, *(["(heuristic)"] if is_heuristic else [])]))


def _panel_notes(importances: Importances, names: Sequence[str], level: float) -> list[str]:
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


CELL, NARROWEST = 0.42, 2.6  # inches of a cell across, and of all of them at least: the note needs them
SLOPE = 0.75  # height of a slanted line of text, in units of its length
COLOURS = "Blues_r"  # dark for the first: lightness alone tells ranks apart, whatever the colour vision
PALEST = 0.92  # of that map; the palest would be lost on white
STAR, HARM = "*", "−"  # behind names of heuristics, and behind ranks of values below zero


def ranks(
    importances: Importances, *, ax: Axes | None = None, top: int | None = None, title: str | None = None
) -> Axes:
    """Heat map of ranks, features by measures: the darker, the more important; 1 is the largest value of a measure.

    Parameters
    ----------
    importances : what to draw, the result of :func:`clarysage.importances`
    ax : axis to draw on; default a new figure, sized by the numbers of features and measures
    top : draw the ``top`` features with the largest shares on average over measures alone; ranks count all. Default:
        every feature
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    Features are in the order of SAGE, or else of the mean rank, so that a column that agrees with it darkens upwards.
    Ranks hide by how much values differ, and whether that is more than noise; :func:`clarysage.plots.side_by_side`
    shows both. A minus sign marks values below zero: the feature does harm.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = cs.importances(lambda X: X[:, 0], X, X[:, 0], measures=["sage", "shapley effects"], rng=0)
    >>> ranks(found).images[0].get_array().tolist()
    [[1, 1], [2, 2]]
    """
    check_importances(importances, ax)
    names = largest_of_all(importances, top)
    found, values = (frame.loc[names].to_numpy() for frame in (importances.ranks(), importances.to_frame()))
    titles = [name + STAR * importances.traits[name].is_heuristic for name in importances]
    labels, above = Labels.of(names), max(text_inches(line, "xtick.labelsize") for line in titles) * SLOPE
    across = max(len(titles) * CELL, NARROWEST)
    ax = open_axis(ax, labels.length + across + 0.5 * above + 0.3, len(names) * 0.24 * labels.lines + above + 1.2)
    feature_axis(ax, names)
    _draw_ranks(ax, found, values, len(importances.feature_names))
    _write_measures(ax, titles)
    note(ax, _rank_notes(importances, names, values), max(across, 0.6 * axis_inches(ax)[0]))
    if title is not None:
        ax.set_title(title)
    return ax


def _draw_ranks(ax: Any, found: np.ndarray, values: np.ndarray, last: int) -> None:
    """Cells and their numbers."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    colours = ListedColormap(colormaps[COLOURS](np.linspace(0.0, PALEST, 256)))
    image = ax.imshow(found, cmap=colours, vmin=1, vmax=max(last, 2), aspect="auto", interpolation="nearest")
    points = min(font_points("ytick.labelsize"), ax.yaxis.get_major_ticks()[0].label1.get_fontsize())
    for (row, column), rank in np.ndenumerate(found):
        ink = "white" if _is_dark(image.cmap(image.norm(rank))) else INK
        text = f"{rank}{HARM if values[row, column] < 0 else ''}"
        ax.text(column, row, text, ha="center", va="center", color=ink, fontsize=0.9 * points, gid="rank")


def _is_dark(colour: tuple[float, float, float, float]) -> bool:
    red, green, blue, _ = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.55  # how light a colour looks


def _write_measures(ax: Any, titles: Sequence[str]) -> None:
    """Names of the measures above the columns, slanted, and white lines between the cells."""
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
    found = ["Ranks: 1 is the largest value of a measure."]
    if (values < 0).any():
        found.append(f'"{HARM}": the value is below zero.')
    if any(traits.is_heuristic for traits in importances.traits.values()):
        found.append(f'"{STAR}": a heuristic.')
    if importances.unfinished:
        found.append(f"NOT CONVERGED: {', '.join(importances.unfinished)}.")
    if len(names) < len(importances.feature_names):
        found.append(f"{len(names):,} of {len(importances.feature_names):,} features are drawn; ranks count all.")
    return [" ".join(found)]
