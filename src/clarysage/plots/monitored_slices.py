"""Slices over time: mean losses, and lines of contributions and of shifts of inputs below them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.plots.canvas import INK, VERMILLION, axis_inches, font_points, literal, note_inches, text_inches
from clarysage.plots.grouped_bars import COLOURS, STAR
from clarysage.plots.slice_axis import places_of, write_slices
from clarysage.plots.words import value_label
from clarysage.results import Monitoring
from clarysage.results.comparison import ends_of
from clarysage.results.finding import called

LINES = COLOURS[1:6]  # of as many features as a reader can tell apart
ROWS = (1.2, 2.8, 1.1)  # inches of losses, contributions and inputs, upright
SLICE, NARROWEST, WIDEST = 0.3, 6.4, 12.0  # inches of a slice, and of all, across
NAME = 30  # letters of a name in the legend
STYLES = ("o", "s", "^", "v", "P")


def over_slices(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, said: Sequence[str]
) -> np.ndarray:
    """Panels from the top: losses, where they are known, contributions, inputs."""
    places = places_of(monitoring.names)
    width = float(np.clip(SLICE * (places[-1] + 1), NARROWEST, WIDEST))
    drawn = _figure(width, monitoring, names, said) if axes is None else axes
    *first, contributions, inputs = drawn
    for ax in drawn:
        _bands(ax, monitoring, places)
    for ax in first:
        _losses(ax, monitoring, places)
    for k, name in enumerate(names):
        style = {"color": LINES[k % len(LINES)], "marker": STYLES[k % len(STYLES)]}
        _contribution(contributions, monitoring, name, places, level, style)
        _inputs(inputs, monitoring, name, places, style)
    _finish(drawn, monitoring, places, width if axes is None else 0.9 * axis_inches(inputs)[0])
    return np.asarray(drawn)


def _figure(width: float, monitoring: Monitoring, names: Sequence[str], said: Sequence[str]) -> np.ndarray:
    from matplotlib import pyplot

    rows = ROWS if monitoring.losses is not None else ROWS[1:]
    below = 0.16 * font_points() + note_inches(said, 0.95 * (width + 0.9))
    _, axes = pyplot.subplots(
        len(rows),
        1,
        figsize=(width + 0.9, sum(rows) + 0.2 * len(names) / 2 + below),
        layout="constrained",
        height_ratios=rows,
        sharex=True,
    )
    return np.asarray(axes)


def _bands(ax: Any, monitoring: Monitoring, places: np.ndarray) -> None:
    """A pale band for each slice in which something is flagged."""
    for name, place in zip(monitoring.names, places, strict=True):
        if any(one.is_flagged for one in monitoring.findings(name)):
            ax.axvspan(place - 0.5, place + 0.5, color=VERMILLION, alpha=0.12, linewidth=0, zorder=0, gid="flagged")


def _losses(ax: Any, monitoring: Monitoring, places: np.ndarray) -> None:
    assert monitoring.losses is not None
    ax.axhline(monitoring.losses[0], color=INK, linewidth=1.0, linestyle="--", gid="reference")
    ax.plot(places, monitoring.losses[1:], color=INK, marker="o", markersize=3.5, linewidth=1.2, gid="losses")
    ax.set_ylabel("mean loss")


def _contribution(
    ax: Any, monitoring: Monitoring, name: str, places: np.ndarray, level: float, style: dict[str, Any]
) -> None:
    """A line with its band, the reference's value as a dashed line, and stars where it is flagged."""
    comparison, colour = monitoring.comparison, style["color"]
    i = monitoring.feature_names.index(name)
    values = np.array([one.values[i] for one in comparison.explanations])
    low, high = np.array([[end[i] for end in ends_of(comparison, k + 1, level)] for k in range(len(places))]).T
    ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0, gid="intervals")
    ax.axhline(values[0], color=colour, linewidth=1.0, linestyle="--", gid="reference")
    ax.plot(places, values[1:], linewidth=1.2, markersize=4, label=literal(called(name, NAME)), gid="values", **style)
    flagged = np.array([monitoring.findings(where)[i].is_flagged for where in monitoring.names])
    ax.plot(places[flagged], values[1:][flagged], **{**STAR, "markersize": 10}, zorder=4, gid="star")


def _inputs(ax: Any, monitoring: Monitoring, name: str, places: np.ndarray, style: dict[str, Any]) -> None:
    """A line of distances, with a diamond where they are no accident."""
    i = monitoring.feature_names.index(name)
    found = [monitoring.findings(where)[i] for where in monitoring.names]
    distances, shifted = np.array([one.shift.distance for one in found]), np.array([one.is_shifted for one in found])
    ax.plot(places, distances, color=style["color"], linewidth=1.2, gid="inputs")
    ax.plot(places[shifted], distances[shifted], "D", markersize=4.5, color=style["color"], gid="shifted")


def _finish(axes: np.ndarray, monitoring: Monitoring, places: np.ndarray, inches: float) -> None:
    """Labels, names of the slices under the lowest panel, and the legend above the lines."""
    *_, contributions, inputs = axes
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        write_slices(ax, monitoring.names, places, inches)
        ax.tick_params(axis="x", labelbottom=ax is inputs)
    contributions.axhline(0, color=INK, linewidth=0.8, zorder=1.5, gid="zero")
    contributions.set_ylabel(literal(value_label(monitoring.comparison.reference).replace(" (", "\n(")))
    inputs.set_ylabel("shift of\ninputs")
    inputs.set_ylim(0, 1.05)
    labels = contributions.get_legend_handles_labels()[1]
    longest = max(text_inches(label) for label in labels)
    contributions.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=max(1, min(len(labels), int(inches / (longest + 0.6)))),
        fontsize="small",
        frameon=False,
        borderaxespad=0.2,
    )
