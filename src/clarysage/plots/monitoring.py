"""A model that is watched: losses, contributions and shifts of inputs, of one table (paper, Figure 3) or over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly, resembling
from clarysage.plots.canvas import axis_inches, check_axis, note, note_of_figure
from clarysage.plots.grouped_bars import interval_words
from clarysage.plots.monitored_slices import LINES, over_slices
from clarysage.plots.monitored_table import beside
from clarysage.plots.selection import notable
from clarysage.results import Monitoring
from clarysage.results.finding import FOLLOWS, called

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
    drawn = (over_slices if is_series else beside)(monitoring, names, given, level, said)
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
    most, least = (len(LINES), FEW) if is_series else (whole, MANY)
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
        f"NOT CONVERGED: {called(name)}."
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
