"""Ranks: a map of the place that each measure gives to each feature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.plots.canvas import (
    INK,
    axis_inches,
    check_importances,
    font_points,
    literal,
    note,
    open_axis,
    text_inches,
)
from clarysage.plots.feature_axis import Labels, feature_axis
from clarysage.plots.selection import largest_of_all
from clarysage.results import Importances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    _draw(ax, found, values, len(importances.feature_names))
    _write_measures(ax, titles)
    note(ax, _sentences(importances, names, values), max(across, 0.6 * axis_inches(ax)[0]))
    if title is not None:
        ax.set_title(title)
    return ax


def _draw(ax: Any, found: np.ndarray, values: np.ndarray, last: int) -> None:
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


def _sentences(importances: Importances, names: Sequence[str], values: np.ndarray) -> list[str]:
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
