"""Monitoring plots: losses, contributions and input shifts, for one table (paper, Figure 3) or for slices over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.errors import InputError, PythonOnly, resembling
from clarysage.plots.axes import (
    GREY,
    INK,
    SHORTEST,
    VERMILION,
    Labels,
    axis_inches,
    check_axis,
    drawn_words,
    feature_axis,
    font_points,
    inches_of_features,
    literal,
    note,
    note_inches,
    note_of_figure,
    slice_positions,
    text_inches,
    value_axis,
    value_label,
    write_slice_names,
)
from clarysage.plots.comparison import COLOURS, STAR, grouped_bars, legend_of_bars, mark_bars, meaning_of_intervals
from clarysage.plots.selection import notable
from clarysage.results import Monitoring
from clarysage.results.comparison_view import interval_of, shared_format
from clarysage.results.finding import FOLLOWS, Finding
from clarysage.results.text import short_name
from clarysage.synonyms import with_synonyms

MOST_SENTENCES = 3  # on features, in the note
FEWEST_LINES = 3  # where few features have findings
SIDE_PANEL, MAIN_PANEL = 1.3, 4.6  # width in inches of losses and of inputs, and of contributions
TALLEST_LOSSES = 3.0  # inches
BAR_NAME_LETTERS = 12  # letters of a name below a bar

LINE_COLOURS = COLOURS[1:6]  # for as many features as a reader can distinguish
MARKERS = ("o", "s", "^", "v", "P")
PANEL_HEIGHTS = (1.2, 2.8, 1.1)  # inches of losses, contributions and inputs
SLICE_WIDTH, NARROWEST, WIDEST = 0.3, 6.4, 12.0  # inches of a slice, and of the panels
LEGEND_NAME_LETTERS = 30  # letters of a name in the legend


@with_synonyms
def monitoring(
    monitoring: Monitoring,
    *,
    axes: Any = None,
    top: int | None = None,
    features: Sequence[str] | None = None,
    level: float = 0.95,
    title: str | None = None,
) -> np.ndarray:
    """Losses, contributions and shifts of inputs: bars next to the reference's, or lines over the slices.

    Parameters
    ----------
    monitoring : what to draw, the result of :func:`clarysage.monitor`
    axes : axes to draw on, as many as are returned; default a new figure
    top : number of features to draw: first those that are flagged, then those with any other finding, then those with
        the largest values. Default for bars: 20; for lines: all with a finding, at most 5, or else 3
    features : names of the features to draw, instead of ``top``
    level : of the intervals
    title : text above the figure

    Returns
    -------
    array of matplotlib.axes.Axes: mean losses (left out where they are unknown), contributions, inputs

    Notes
    -----
    Stars are contributions by which a feature is flagged, hollow stars those that changed along with others; filled
    diamonds are inputs that have shifted significantly. Each interval belongs to one value: whether a contribution
    changed is shown by the stars, not by whether intervals overlap. Slices are in their order, dates in proportion to
    time; a pale band is a slice in which something is flagged, a dashed line is the reference.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.normal(size=(200, 2)), rng.normal(size=(200, 2)) * [1.0, 60.0]
    >>> f = lambda X: X[:, 0] + X[:, 1]
    >>> watched = cs.monitor(f, (X, f(X)), (Z, f(Z / [1.0, 60.0])), loss="squared error", rng=0)
    >>> [ax.get_xlabel() for ax in watched.plot()]
    ['mean loss', 'SAGE value (reduction of squared error)', 'shift of inputs']
    """
    _check(monitoring, features)
    is_series = len(monitoring.names) > 1
    names = _selected(monitoring, features, top, is_series)
    sentences = [*_sentences(monitoring, level, is_series), *_left_out(monitoring, names)]
    given = None if axes is None else _checked_axes(axes, 2 if monitoring.losses is None else 3)
    panels = (_draw_slices if is_series else _draw_table)(monitoring, names, given, level, sentences)
    if given is None:
        note_of_figure(panels[0].figure, sentences)
    else:
        widest = panels[-1 if is_series else -2]
        note(widest, sentences, axis_inches(widest)[0])
    if title is not None:
        panels[0].figure.suptitle(title)
    return panels


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


def _checked_axes(axes: Any, count: int) -> np.ndarray:
    given = np.array([axes] if not isinstance(axes, (list, tuple, np.ndarray)) else axes, dtype=object).ravel()
    if len(given) != count:
        raise InputError(
            "axes",
            got=f"{len(given)}",
            wanted=f"{count} axes, or None for a new figure",
            hint=PythonOnly(f"axes=fig.subplots(1, {count})"),
        )
    for ax in given:
        check_axis(ax)
    return given


def _selected(monitoring: Monitoring, features: Sequence[str] | None, top: int | None, is_series: bool) -> list[str]:
    """Returns names in the order of drawing."""
    if features is not None:
        return list(dict.fromkeys(features))
    most, least = (len(LINE_COLOURS), FEWEST_LINES) if is_series else (SHOWN, SHOWN)
    names, order = notable(monitoring, top, most, least), np.argsort(-monitoring.comparison.reference.values)
    return names if is_series else [name for i in order if (name := monitoring.feature_names[i]) in names]


def _sentences(monitoring: Monitoring, level: float, is_series: bool) -> list[str]:
    """Returns the main findings, warnings, and the meaning of marks and intervals."""
    comparison, findings = monitoring.comparison, monitoring.sentences()
    sentences = findings[: 1 + MOST_SENTENCES]
    if len(findings) > len(sentences):
        sentences.append(f"{len(findings) - len(sentences):,} more in the table.")
    sentences += [
        f"NOT CONVERGED: {short_name(name)}."
        for name, explanation in zip(comparison.names, comparison.explanations, strict=True)
        if not explanation.stopped.is_wanted
    ]
    return [*sentences, _marks(monitoring, is_series), meaning_of_intervals(comparison, level)]


def _marks(monitoring: Monitoring, is_series: bool) -> str:
    """Returns the meaning of the marks that are drawn."""
    findings = [finding for where in monitoring.names for finding in monitoring.findings(where)]
    is_flagged = any(finding.is_flagged for finding in findings)
    has_stars = any(finding.is_flagged and finding.is_changed for finding in findings)
    follows = not is_series and any(finding.verdict == FOLLOWS for finding in findings)
    meanings = {
        "Dashed lines: the reference.": is_series,
        "Pale bands: slices in which something is flagged.": is_series and is_flagged,
        "Stars: changes of contributions by which features are flagged.": has_stars,
        "Hollow stars: changes along with these.": follows,
        "Filled diamonds: inputs that have shifted significantly.": any(finding.is_shifted for finding in findings),
    }
    return " ".join(words for words, is_drawn in meanings.items() if is_drawn)


def _left_out(monitoring: Monitoring, names: list[str]) -> list[str]:
    p = len(monitoring.feature_names)
    return [drawn_words(len(names), p)] if len(names) < p else []


# One table: panels next to each other


def _draw_table(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, sentences: Sequence[str]
) -> np.ndarray:
    """Draws panels from the left: losses, if they are known, contributions, inputs."""
    labels = [short_name(name) for name in names]
    panels = _table_figure(labels, 2 if monitoring.losses is None else 3, sentences) if axes is None else axes
    features = np.array([monitoring.feature_names.index(name) for name in names])
    findings = [monitoring.findings()[i] for i in features]
    *losses, contributions, inputs = panels
    for ax in losses:
        _loss_bars(ax, monitoring)
    for ax in (contributions, inputs):
        feature_axis(ax, labels, bars=2)
    _contribution_bars(contributions, monitoring, features, findings, level)
    _input_dots(inputs, findings)
    return np.asarray(panels)


def _table_figure(names: Sequence[str], count: int, sentences: Sequence[str]) -> np.ndarray:
    """Opens a figure with its axes; that of the losses has a limited height."""
    from matplotlib import pyplot

    labels = Labels.of(names)
    panel_height = max(inches_of_features(labels, 2), 1.6 * SHORTEST)
    widths = [SIDE_PANEL] * (count - 2) + [MAIN_PANEL, SIDE_PANEL]
    width = sum(widths) + labels.length + 0.5 * count
    height = panel_height + 0.09 * font_points() + note_inches(sentences, 0.95 * width)
    figure = pyplot.figure(figsize=(width, height), layout="constrained")
    upper = min(panel_height, TALLEST_LOSSES)
    grid = figure.add_gridspec(2, count, width_ratios=widths, height_ratios=[upper, max(panel_height - upper, 1e-3)])
    losses = [grid[0 if panel_height > upper else slice(None), 0]] if count == 3 else []
    return np.array([figure.add_subplot(cell) for cell in [*losses, grid[:, -2], grid[:, -1]]])


def _loss_bars(ax: Any, monitoring: Monitoring) -> None:
    """Draws two bars with their numbers."""
    losses, show = monitoring.losses, shared_format(*monitoring.comparison.explanations)
    assert losses is not None
    bars = ax.bar([0, 1], losses, 0.72, color=COLOURS[:2], gid="losses")
    ax.bar_label(bars, [show(float(loss)) for loss in losses], padding=2, fontsize="small", gid="loss")
    names = [literal(short_name(name, BAR_NAME_LETTERS)) for name in monitoring.comparison.names]
    ax.set_xticks([0, 1], names, fontsize="small")
    value_axis(ax, "", is_horizontal=False)
    ax.set_xlabel("mean loss")
    ax.margins(y=0.12)
    ax.tick_params(axis="x", length=0)
    ax.spines[["top", "right"]].set_visible(False)


def _contribution_bars(
    ax: Any, monitoring: Monitoring, features: np.ndarray, findings: Sequence[Finding], level: float
) -> None:
    comparison = monitoring.comparison
    span = grouped_bars(ax, comparison, features, level)
    is_flagged = np.array([finding.is_flagged and finding.is_changed for finding in findings])
    follows = np.array([finding.verdict == FOLLOWS for finding in findings])
    hollow = {"label": "changed with others", "gid": "along", "markerfacecolor": "none"}
    mark_bars(ax, comparison, 1, features, is_flagged, level, span, label="flagged", gid="flagged")
    mark_bars(ax, comparison, 1, features, follows, level, span, **hollow)
    value_axis(ax, value_label(comparison.reference))
    legend_of_bars(ax)


def _input_dots(ax: Any, findings: Sequence[Finding]) -> None:
    """Draws distances between the distributions of each column; filled diamonds are significant."""
    for position, finding in enumerate(findings):
        colour, fill = (VERMILION, VERMILION) if finding.is_shifted else (GREY, "white")
        distance = finding.shift.distance
        ax.plot([0, distance], [position, position], color=colour, linewidth=1.0, gid="stem")
        ax.plot(
            distance,
            position,
            "D",
            markersize=5,
            color=colour,
            markerfacecolor=fill,
            clip_on=False,
            zorder=3,
            gid="shifted" if finding.is_shifted else "inputs",
        )
    value_axis(ax, "shift of inputs")
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1], ["0", "", "1"])
    ax.tick_params(axis="y", labelleft=False, colors=INK)


# Several slices: panels above each other


def _draw_slices(
    monitoring: Monitoring, names: Sequence[str], axes: np.ndarray | None, level: float, sentences: Sequence[str]
) -> np.ndarray:
    """Draws panels from the top: losses, if they are known, contributions, inputs."""
    positions = slice_positions(monitoring.names)
    width = float(np.clip(SLICE_WIDTH * (positions[-1] + 1), NARROWEST, WIDEST))
    panels = _slices_figure(width, monitoring, names, sentences) if axes is None else axes
    *losses, contributions, inputs = panels
    for ax in panels:
        _bands(ax, monitoring, positions)
    for ax in losses:
        _loss_line(ax, monitoring, positions)
    for k, name in enumerate(names):
        style = {"color": LINE_COLOURS[k % len(LINE_COLOURS)], "marker": MARKERS[k % len(MARKERS)]}
        _contribution_line(contributions, monitoring, name, positions, level, style)
        _input_line(inputs, monitoring, name, positions, style)
    _finish_slices(panels, monitoring, positions, width if axes is None else 0.9 * axis_inches(inputs)[0])
    return np.asarray(panels)


def _slices_figure(width: float, monitoring: Monitoring, names: Sequence[str], sentences: Sequence[str]) -> np.ndarray:
    from matplotlib import pyplot

    rows = PANEL_HEIGHTS if monitoring.losses is not None else PANEL_HEIGHTS[1:]
    below = 0.16 * font_points() + note_inches(sentences, 0.95 * (width + 0.9))
    _, axes = pyplot.subplots(
        len(rows),
        1,
        figsize=(width + 0.9, sum(rows) + 0.2 * len(names) / 2 + below),
        layout="constrained",
        height_ratios=rows,
        sharex=True,
    )
    return np.asarray(axes)


def _bands(ax: Any, monitoring: Monitoring, positions: np.ndarray) -> None:
    """Draws a pale band for each slice in which something is flagged."""
    for name, x in zip(monitoring.names, positions, strict=True):
        if any(finding.is_flagged for finding in monitoring.findings(name)):
            ax.axvspan(x - 0.5, x + 0.5, color=VERMILION, alpha=0.12, linewidth=0, zorder=0, gid="flagged")


def _loss_line(ax: Any, monitoring: Monitoring, positions: np.ndarray) -> None:
    assert monitoring.losses is not None
    ax.axhline(monitoring.losses[0], color=INK, linewidth=1.0, linestyle="--", gid="reference")
    ax.plot(positions, monitoring.losses[1:], color=INK, marker="o", markersize=3.5, linewidth=1.2, gid="losses")
    ax.set_ylabel("mean loss")


def _contribution_line(
    ax: Any, monitoring: Monitoring, name: str, positions: np.ndarray, level: float, style: dict[str, Any]
) -> None:
    """Draws values with their intervals, the reference's value as a dashed line, and stars where a value is flagged."""
    comparison, colour = monitoring.comparison, style["color"]
    i = monitoring.feature_names.index(name)
    values = np.array([explanation.values[i] for explanation in comparison.explanations])
    low, high = np.array([[end[i] for end in interval_of(comparison, k + 1, level)] for k in range(len(positions))]).T
    ax.fill_between(positions, low, high, color=colour, alpha=0.2, linewidth=0, gid="intervals")
    ax.axhline(values[0], color=colour, linewidth=1.0, linestyle="--", gid="reference")
    label = literal(short_name(name, LEGEND_NAME_LETTERS))
    ax.plot(positions, values[1:], linewidth=1.2, markersize=4, label=label, gid="values", **style)
    findings = [monitoring.findings(where)[i] for where in monitoring.names]
    is_flagged = np.array([finding.is_flagged and finding.is_changed for finding in findings])
    ax.plot(positions[is_flagged], values[1:][is_flagged], **{**STAR, "markersize": 10}, zorder=4, gid="star")


def _input_line(ax: Any, monitoring: Monitoring, name: str, positions: np.ndarray, style: dict[str, Any]) -> None:
    """Draws distances between distributions, with a diamond where they are significant."""
    i = monitoring.feature_names.index(name)
    findings = [monitoring.findings(where)[i] for where in monitoring.names]
    distances = np.array([finding.shift.distance for finding in findings])
    is_shifted = np.array([finding.is_shifted for finding in findings])
    ax.plot(positions, distances, color=style["color"], linewidth=1.2, gid="inputs")
    ax.plot(positions[is_shifted], distances[is_shifted], "D", markersize=4.5, color=style["color"], gid="shifted")


def _finish_slices(axes: np.ndarray, monitoring: Monitoring, positions: np.ndarray, inches: float) -> None:
    """Adds labels, names of the slices under the lowest panel, and the legend above the lines."""
    *_, contributions, inputs = axes
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", color="0.9", linewidth=0.8)
        ax.set_axisbelow(True)
        write_slice_names(ax, monitoring.names, positions, inches)
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
