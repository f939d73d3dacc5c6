"""Signs of the values: features that help the model, that hurt it, and that are undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage._utils.display import SHOWN
from clarysage.plots.axes import (
    BLUE,
    GREY,
    VERMILION,
    check,
    convergence_note,
    drawn_words,
    feature_axis,
    interval_note,
    note,
    value_axis,
    value_label,
)
from clarysage.plots.selection import Selection, select
from clarysage.results import Explanation
from clarysage.synonyms import with_synonyms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# sign -> word, marker, colour, and whether the marker is filled: no two differ only by colour
STYLES = {
    1: ("helps", ">", BLUE, True),
    -1: ("hurts", "<", VERMILION, True),
    0: ("undecided", "o", GREY, False),
    2: ("no effect", "s", GREY, True),
}
LEGEND = 0.36  # inches kept free for the legend, below the last feature


@with_synonyms
def signs(
    explanation: Explanation,
    *,
    ax: Axes | None = None,
    level: float | None = None,
    joint: bool = True,
    about: str | None = None,
    top: int | None = SHOWN,
    title: str | None = None,
) -> Axes:
    """Sign of each feature's value: helps, hurts, or undecided where the interval contains zero.

    Parameters
    ----------
    explanation : what to draw
    ax : axis to draw on; default a new figure, sized by the number of features and the length of their names
    level, joint, about : of the intervals, as in :meth:`clarysage.Explanation.interval`; joint by default, so that all
        signs are right simultaneously with this probability. The default level is that of
        ``explanation.signs``, so that both agree
    top : draw only the ``top`` features with the largest absolute values; the legend counts all. None draws all
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    A feature that hurts makes predictions worse than they would be without it: noise that the model was fitted to, or
    a corrupted column. The note below explains what the signs are about. About the data, nothing is undecided in an
    exact result; a value of zero has no effect.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> ax = signs(cs.sage(lambda X: X[:, 0] - X[:, 1], X, X[:, 0], method="exact"), about="data")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['helps: 1', 'hurts: 1', 'no effect: 0']
    """
    check(explanation, ax)
    about = explanation.shown if about is None else about
    if level is None:
        level = explanation.decision_level(about) if joint else explanation.confidence
    all_signs = _signs(select(explanation, None, level, joint, about))
    selection = select(explanation, top, level, joint, about)
    ax, width = feature_axis(ax, selection.names, spare=LEGEND)
    _draw(ax, selection, _signs(selection), all_signs)
    value_axis(ax, value_label(explanation))
    note(ax, _sentences(explanation, selection, level, joint, about), width)
    if title is not None:
        ax.set_title(title)
    return ax


def _signs(selection: Selection) -> np.ndarray:
    """Returns 1 or -1, 0 where the interval contains zero, and 2 where it is exactly zero."""
    is_zero = (selection.low == 0) & (selection.high == 0)
    return np.where(selection.low > 0, 1, np.where(selection.high < 0, -1, np.where(is_zero, 2, 0)))


def _draw(ax: Any, selection: Selection, drawn: np.ndarray, all_signs: np.ndarray) -> None:
    positions, is_exact = np.arange(len(selection.values)), not selection.has_interval.any()
    for sign, (word, marker, colour, is_filled) in STYLES.items():
        has_sign = drawn == sign
        if (is_exact and sign == 0) or (not is_exact and sign == 2 and not (all_signs == 2).any()):
            continue
        if not is_exact:
            ax.hlines(
                positions[has_sign],
                selection.low[has_sign],
                selection.high[has_sign],
                color=colour,
                linewidth=1.6,
                gid=word,
            )
        ax.plot(
            selection.values[has_sign],
            positions[has_sign],
            linestyle="none",
            marker=marker,
            markersize=7,
            color=colour,
            markerfacecolor=colour if is_filled else "white",
            label=f"{word}: {(all_signs == sign).sum()}",
        )
    ax.legend(
        loc="lower center",
        ncols=len(STYLES),
        fontsize="small",
        framealpha=1.0,
        borderaxespad=0.2,
        handletextpad=0.1,
        columnspacing=1.2,
    )


def _sentences(explanation: Explanation, selection: Selection, level: float, joint: bool, about: str) -> list[str]:
    sentences = [*convergence_note(explanation), *interval_note(explanation, level, joint, about)]
    if selection.has_interval.any():
        sentences.append("Undecided: the interval contains zero.")
    if len(selection.names) < len(explanation.values):
        sentences.append(drawn_words(len(selection.names), len(explanation.values), ", the legend counts all"))
    return sentences
