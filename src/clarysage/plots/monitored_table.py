"""One table beside the reference: mean losses, bars of contributions, and how far inputs shifted (paper, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.plots.canvas import GREY, INK, VERMILLION, font_points, literal, note_inches
from clarysage.plots.feature_axis import SHORTEST, Labels, feature_axis, inches_along, value_axis
from clarysage.plots.grouped_bars import COLOURS, grouped_bars, legend_of_bars, mark_bars
from clarysage.plots.words import value_label
from clarysage.results import Monitoring
from clarysage.results.comparison import shared_format
from clarysage.results.finding import FOLLOWS, Finding, called

NARROW, WIDE = 1.3, 4.6  # inches of losses and of inputs, and of contributions, across
TALLEST = 3.0  # inches of the losses
SHORT = 12  # letters of a name below a bar


def beside(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, said: Sequence[str]
) -> np.ndarray:
    """Panels from the left: losses, where they are known, contributions, inputs."""
    shown = [called(name) for name in names]
    drawn = _figure(shown, 2 if monitoring.losses is None else 3, said) if axes is None else axes
    places = np.array([monitoring.feature_names.index(name) for name in names])
    found = [monitoring.findings()[i] for i in places]
    *first, contributions, inputs = drawn
    for ax in first:
        _losses(ax, monitoring)
    for ax in (contributions, inputs):
        feature_axis(ax, shown, bars=2)
    _contributions(contributions, monitoring, places, found, level)
    _inputs(inputs, found)
    return np.asarray(drawn)


def _figure(names: Sequence[str], count: int, said: Sequence[str]) -> np.ndarray:
    """Axes of a new figure; that of the losses is not so high as many features are."""
    from matplotlib import pyplot

    labels = Labels.of(names)
    high = max(inches_along(labels, 2), 1.6 * SHORTEST)
    widths = [NARROW] * (count - 2) + [WIDE, NARROW]
    width = sum(widths) + labels.length + 0.5 * count
    height = high + 0.09 * font_points() + note_inches(said, 0.95 * width)
    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    upper = min(high, TALLEST)
    grid = figure.add_gridspec(2, count, width_ratios=widths, height_ratios=[upper, max(high - upper, 1e-3)])
    spots = ([grid[0 if high > upper else slice(None), 0]] if count == 3 else []) + [grid[:, -2], grid[:, -1]]
    return np.array([figure.add_subplot(spot) for spot in spots])


def _losses(ax: Any, monitoring: Monitoring) -> None:
    """Two bars with their numbers."""
    losses, show = monitoring.losses, shared_format(*monitoring.comparison.explanations)
    assert losses is not None
    bars = ax.bar([0, 1], losses, 0.72, color=COLOURS[:2], gid="losses")
    ax.bar_label(bars, [show(float(loss)) for loss in losses], padding=2, fontsize="small", gid="loss")
    ax.set_xticks([0, 1], [literal(called(name, SHORT)) for name in monitoring.comparison.names], fontsize="small")
    value_axis(ax, "", is_horizontal=False)
    ax.set_xlabel("mean loss")
    ax.margins(y=0.12)
    ax.tick_params(axis="x", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def _contributions(ax: Any, monitoring: Monitoring, places: np.ndarray, found: Sequence[Finding], level: float) -> None:
    comparison = monitoring.comparison
    span = grouped_bars(ax, comparison, places, level)
    flagged = np.array([one.is_flagged for one in found])
    along = np.array([one.verdict == FOLLOWS for one in found])
    mark_bars(ax, comparison, 1, places, flagged, level, span, label="flagged", gid="flagged")
    mark_bars(ax, comparison, 1, places, along, level, span, label="changed along", gid="along", markerfacecolor="none")
    value_axis(ax, value_label(comparison.reference))
    legend_of_bars(ax)


def _inputs(ax: Any, found: Sequence[Finding]) -> None:
    """Distances of the columns' distributions, filled where they are no accident."""
    for place, one in enumerate(found):
        colour, fill = (VERMILLION, VERMILLION) if one.is_shifted else (GREY, "white")
        ax.plot([0, one.shift.distance], [place, place], color=colour, linewidth=1.0, gid="stem")
        ax.plot(
            one.shift.distance,
            place,
            "D",
            markersize=5,
            color=colour,
            markerfacecolor=fill,
            clip_on=False,
            zorder=3,
            gid="shifted" if one.is_shifted else "inputs",
        )
    value_axis(ax, "shift of inputs")
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "", "1"])
    ax.tick_params(axis="y", labelleft=False, colors=INK)
