"""Monitoring plots: losses, contributions and input shifts, for one table (paper, Figure 3) or for slices over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly, resembling
from clarysage.plots.axes import (
    GREY,
    INK,
    SHORTEST,
    VERMILLION,
    Labels,
    axis_inches,
    check_axis,
    feature_axis,
    font_points,
    inches_along,
    literal,
    note,
    note_inches,
    note_of_figure,
    places_of,
    text_inches,
    value_axis,
    value_label,
    write_slices,
)
from clarysage.plots.comparison import COLOURS, STAR, grouped_bars, interval_words, legend_of_bars, mark_bars
from clarysage.plots.selection import notable
from clarysage.results import Monitoring
from clarysage.results.comparison_view import interval_of, shared_format
from clarysage.results.finding import FOLLOWS, Finding
from clarysage.results.text import short_name

SAID = 3  # features that the note has a sentence on
FEW, MANY = 3, 20  # lines, and bars, where little is known


def monitoring(
    monitoring: Monitoring,
    *,
    axes: Any = None,
    top: int | None = None,
    features: Sequence[str] | None = None,
    level: float = 0.95,
    title: str | None = None,
) -> np.ndarray:
    """Losses, contributions and shifts of inputs: bars beside the reference's, or lines over the slices.

    Parameters
    ----------
    monitoring : what to draw, the result of :func:`clarysage.monitor`
    axes : axes to draw on, as many as come back; default a new figure
    top : how many features to draw: first those that are flagged, then those of which anything else is known, then the
        largest. Default: bars of 20, or more where of more something is known; lines of those of which something is
        known, at most 5, or else of 3
    features : names of the features to draw, instead
    level : of the intervals
    title : text above the figure

    Returns
    -------
    array of matplotlib.axes.Axes: mean losses (without them where they are not known), contributions, inputs

    Notes
    -----
    Stars are contributions by which a feature is flagged, hollow ones those that changed along with others; filled
    diamonds are inputs that are known to have shifted. Each interval is that of one value: whether a contribution
    changed is not told by whether intervals overlap, but by the stars. Slices are in their order, dates in proportion
    to time; a pale band is a slice in which something is flagged, a dashed line is the reference.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) * [1.0, 60.0]
    >>> f = lambda X: X[:, 0] + X[:, 1]
    >>> found = cs.monitor(f, (X, f(X)), (Z, f(Z / [1.0, 60.0])), loss="squared error", rng=0)
    >>> [ax.get_xlabel() for ax in found.plot()]
    ['mean loss', 'SAGE value (squared error saved)', 'shift of inputs']
    """
    _check(monitoring, features)
    is_series = len(monitoring.names) > 1
    names = _chosen(monitoring, features, top, is_series)
    said = [*_sentences(monitoring, level, is_series), *_left_out(monitoring, names)]
    given = None if axes is None else _given(axes, 2 if monitoring.losses is None else 3)
    drawn = (over_slices if is_series else beside_reference)(monitoring, names, given, level, said)
    if given is None:
        note_of_figure(drawn[0].figure, said)
    else:
        wide = drawn[-1 if is_series else -2]
        note(wide, said, axis_inches(wide)[0])
    if title is not None:
        drawn[0].figure.suptitle(title)
    return drawn


def _chosen(monitoring: Monitoring, features: Sequence[str] | None, top: int | None, is_series: bool) -> list[str]:
    """Names in the order in which they are drawn."""
    if features is not None:
        return list(dict.fromkeys(features))
    whole = len(monitoring.feature_names)
    most, least = (len(LINE_COLOURS), FEW) if is_series else (whole, MANY)
    names, order = notable(monitoring, top, most, least), np.argsort(-monitoring.comparison.reference.values)
    return names if is_series else [name for i in order if (name := monitoring.feature_names[i]) in names]


def _given(axes: Any, count: int) -> np.ndarray:
    found = np.array([axes] if not isinstance(axes, (list, tuple, np.ndarray)) else axes, dtype=object).ravel()
    if len(found) != count:
        raise InputError(
            "axes",
            got=f"{len(found)}",
            wanted=f"{count} axes, or None for a new figure",
            hint=PythonOnly(f"axes=fig.subplots(1, {count})"),
        )
    for ax in found:
        check_axis(ax)
    return found


def _sentences(monitoring: Monitoring, level: float, is_series: bool) -> list[str]:
    """What was found, what marks and intervals mean, and what went wrong."""
    comparison, all_said = monitoring.comparison, monitoring.sentences()
    said = all_said[: 1 + SAID]
    if len(all_said) > len(said):
        said.append(f"{len(all_said) - len(said):,} more in the table.")
    said += [
        f"NOT CONVERGED: {short_name(name)}."
        for name, one in zip(comparison.names, comparison.explanations, strict=True)
        if not one.stopped.is_wanted
    ]
    return [*said, _marks(monitoring, is_series), interval_words(comparison, level)]


def _marks(monitoring: Monitoring, is_series: bool) -> str:
    """What the marks mean that there are."""
    found = [one for where in monitoring.names for one in monitoring.findings(where)]
    is_flagged = any(one.is_flagged for one in found)
    meanings = {
        "Dashed lines: the reference.": is_series,
        "Pale bands: slices in which something is flagged.": is_series and is_flagged,
        "Stars: changes of contributions by which features are flagged.": is_flagged,
        "Hollow stars: changes along with these.": not is_series and any(one.verdict == FOLLOWS for one in found),
        "Filled diamonds: inputs that are known to have shifted.": any(one.is_shifted for one in found),
    }
    return " ".join(words for words, is_there in meanings.items() if is_there)


def _left_out(monitoring: Monitoring, names: list[str]) -> list[str]:
    whole = len(monitoring.feature_names)
    return [f"{len(names):,} of {whole:,} features are drawn."] if len(names) < whole else []


def _check(monitoring: object, features: Any) -> None:
    check_axis(None)
    if not isinstance(monitoring, Monitoring):
        raise InputError(
            "monitoring",
            got=type(monitoring).__name__,
            wanted="a Monitoring",
            hint=PythonOnly("the result of cs.monitor"),
        )
    if features is None:
        return
    if isinstance(features, str) or not list(features):
        raise InputError("features", got=f"{features!r}", wanted="a list of one or more names of features")
    for name in features:
        if name not in monitoring.feature_names:
            raise InputError(
                "features",
                got=f"{name!r}, which is no feature",
                wanted="names of features",
                hint=resembling(str(name), monitoring.feature_names),
            )


SIDE_PANEL, MAIN_PANEL = 1.3, 4.6  # inches of losses and of inputs, and of contributions, across
TALLEST_LOSSES = 3.0  # inches of the losses
BAR_NAME_LETTERS = 12  # letters of a name below a bar


def beside_reference(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, said: Sequence[str]
) -> np.ndarray:
    """Panels from the left: losses, where they are known, contributions, inputs."""
    shown = [short_name(name) for name in names]
    drawn = _table_figure(shown, 2 if monitoring.losses is None else 3, said) if axes is None else axes
    places = np.array([monitoring.feature_names.index(name) for name in names])
    found = [monitoring.findings()[i] for i in places]
    *first, contributions, inputs = drawn
    for ax in first:
        _loss_bars(ax, monitoring)
    for ax in (contributions, inputs):
        feature_axis(ax, shown, bars=2)
    _contribution_bars(contributions, monitoring, places, found, level)
    _input_dots(inputs, found)
    return np.asarray(drawn)


def _table_figure(names: Sequence[str], count: int, said: Sequence[str]) -> np.ndarray:
    """Axes of a new figure; that of the losses is not so high as many features are."""
    from matplotlib import pyplot

    labels = Labels.of(names)
    high = max(inches_along(labels, 2), 1.6 * SHORTEST)
    widths = [SIDE_PANEL] * (count - 2) + [MAIN_PANEL, SIDE_PANEL]
    width = sum(widths) + labels.length + 0.5 * count
    height = high + 0.09 * font_points() + note_inches(said, 0.95 * width)
    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    upper = min(high, TALLEST_LOSSES)
    grid = figure.add_gridspec(2, count, width_ratios=widths, height_ratios=[upper, max(high - upper, 1e-3)])
    spots = ([grid[0 if high > upper else slice(None), 0]] if count == 3 else []) + [grid[:, -2], grid[:, -1]]
    return np.array([figure.add_subplot(spot) for spot in spots])


def _loss_bars(ax: Any, monitoring: Monitoring) -> None:
    """Two bars with their numbers."""
    losses, show = monitoring.losses, shared_format(*monitoring.comparison.explanations)
    assert losses is not None
    bars = ax.bar([0, 1], losses, 0.72, color=COLOURS[:2], gid="losses")
    ax.bar_label(bars, [show(float(loss)) for loss in losses], padding=2, fontsize="small", gid="loss")
    ax.set_xticks(
        [0, 1], [literal(short_name(name, BAR_NAME_LETTERS)) for name in monitoring.comparison.names], fontsize="small"
    )
    value_axis(ax, "", is_horizontal=False)
    ax.set_xlabel("mean loss")
    ax.margins(y=0.12)
    ax.tick_params(axis="x", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def _contribution_bars(
    ax: Any, monitoring: Monitoring, places: np.ndarray, found: Sequence[Finding], level: float
) -> None:
    comparison = monitoring.comparison
    span = grouped_bars(ax, comparison, places, level)
    flagged = np.array([one.is_flagged for one in found])
    along = np.array([one.verdict == FOLLOWS for one in found])
    mark_bars(ax, comparison, 1, places, flagged, level, span, label="flagged", gid="flagged")
    mark_bars(ax, comparison, 1, places, along, level, span, label="changed along", gid="along", markerfacecolor="none")
    value_axis(ax, value_label(comparison.reference))
    legend_of_bars(ax)


def _input_dots(ax: Any, found: Sequence[Finding]) -> None:
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


LINE_COLOURS = COLOURS[1:6]  # of as many features as a reader can tell apart
PANEL_HEIGHTS = (1.2, 2.8, 1.1)  # inches of losses, contributions and inputs, upright
SLICE_WIDTH, NARROWEST, WIDEST = 0.3, 6.4, 12.0  # inches of a slice, and of all, across
LEGEND_NAME_LETTERS = 30  # letters of a name in the legend
MARKERS = ("o", "s", "^", "v", "P")


def over_slices(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, said: Sequence[str]
) -> np.ndarray:
    """Panels from the top: losses, where they are known, contributions, inputs."""
    places = places_of(monitoring.names)
    width = float(np.clip(SLICE_WIDTH * (places[-1] + 1), NARROWEST, WIDEST))
    drawn = _slices_figure(width, monitoring, names, said) if axes is None else axes
    *first, contributions, inputs = drawn
    for ax in drawn:
        _bands(ax, monitoring, places)
    for ax in first:
        _loss_line(ax, monitoring, places)
    for k, name in enumerate(names):
        style = {"color": LINE_COLOURS[k % len(LINE_COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        _contribution_line(contributions, monitoring, name, places, level, style)
        _input_line(inputs, monitoring, name, places, style)
    _finish(drawn, monitoring, places, width if axes is None else 0.9 * axis_inches(inputs)[0])
    return np.asarray(drawn)


def _slices_figure(width: float, monitoring: Monitoring, names: Sequence[str], said: Sequence[str]) -> np.ndarray:
    from matplotlib import pyplot

    rows = PANEL_HEIGHTS if monitoring.losses is not None else PANEL_HEIGHTS[1:]
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


def _loss_line(ax: Any, monitoring: Monitoring, places: np.ndarray) -> None:
    assert monitoring.losses is not None
    ax.axhline(monitoring.losses[0], color=INK, linewidth=1.0, linestyle="--", gid="reference")
    ax.plot(places, monitoring.losses[1:], color=INK, marker="o", markersize=3.5, linewidth=1.2, gid="losses")
    ax.set_ylabel("mean loss")


def _contribution_line(
    ax: Any, monitoring: Monitoring, name: str, places: np.ndarray, level: float, style: dict[str, Any]
) -> None:
    """A line with its band, the reference's value as a dashed line, and stars where it is flagged."""
    comparison, colour = monitoring.comparison, style["color"]
    i = monitoring.feature_names.index(name)
    values = np.array([one.values[i] for one in comparison.explanations])
    low, high = np.array([[end[i] for end in interval_of(comparison, k + 1, level)] for k in range(len(places))]).T
    ax.fill_between(places, low, high, color=colour, alpha=0.2, linewidth=0, gid="intervals")
    ax.axhline(values[0], color=colour, linewidth=1.0, linestyle="--", gid="reference")
    ax.plot(
        places,
        values[1:],
        linewidth=1.2,
        markersize=4,
        label=literal(short_name(name, LEGEND_NAME_LETTERS)),
        gid="values",
        **style,
    )
    flagged = np.array([monitoring.findings(where)[i].is_flagged for where in monitoring.names])
    ax.plot(places[flagged], values[1:][flagged], **{**STAR, "markersize": 10}, zorder=4, gid="star")


def _input_line(ax: Any, monitoring: Monitoring, name: str, places: np.ndarray, style: dict[str, Any]) -> None:
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
