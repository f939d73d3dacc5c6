"""Scatter plot of the additive proxy u(S) of subsets against their predictive power v(S)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import InputError
from clarysage.plots.axes import INK, axis_inches, check_axis, literal, note, note_of_figure, open_axis
from clarysage.results import Agreement
from clarysage.results.text import loss_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, HEIGHT = 5.8, 5.6  # inches
MARGIN = 0.05  # of the axes, as a share of the range of values
SMALLEST, LARGEST = 6.0, 36.0  # area of a dot in squared points, for very many and for few subsets


def proxy(agreement: Agreement, *, ax: Axes | None = None, title: str | None = None) -> Axes:
    """Scatter plot of u(S) against v(S), one dot for each subset, coloured by its size; on the line both are equal.

    Parameters
    ----------
    agreement : what to draw, the result of :meth:`clarysage.Explanation.agreement`
    ax : axis to draw on; default a new figure
    title : text above the axis

    Returns
    -------
    matplotlib.axes.Axes

    Notes
    -----
    For Shapley values such as SAGE's, dots below the line are subsets that save more loss than their values say, since
    they share credit with redundant features; dots above it save less, since they need other features. Scores with
    their own units, such as those of heuristics, have no line.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> game = cs.PredictivePower.of(cs.Marginal(X).restrict(lambda X: X[:, 0], X), "squared error", X, X[:, 0])
    >>> agreement = cs.sage(lambda X: X[:, 0], X, X[:, 0], background=X, rng=0).agreement(game)
    >>> proxy(agreement).get_ylabel()
    'u(S): constant plus values in S'
    """
    check_axis(ax)
    if not isinstance(agreement, Agreement):
        raise InputError("agreement", got=type(agreement).__name__, wanted="the result of Explanation.agreement")
    is_new = ax is None
    ax = open_axis(ax, WIDTH, HEIGHT)
    _draw(ax, agreement)
    _ranges(ax, agreement)
    ax.set_xlabel(literal(f"v(S): reduction of {loss_words(agreement.loss) or 'loss'} by subset S"))
    ax.set_ylabel("u(S): constant plus values in S" if agreement.is_in_units else "u(S): sum of scores in S")
    if is_new:
        note_of_figure(ax.figure, _sentences(agreement))
    else:
        note(ax, _sentences(agreement), 0.85 * axis_inches(ax)[0])
    if title is not None:
        ax.set_title(title)
    return ax


def _draw(ax: Any, agreement: Agreement) -> None:
    from matplotlib.ticker import MaxNLocator

    n, p = agreement.subsets.shape
    dots = ax.scatter(
        agreement.v,
        agreement.u,
        c=agreement.subsets.sum(axis=1),
        cmap="viridis",
        vmin=0,
        vmax=p,
        s=np.clip(12_000 / n, SMALLEST, LARGEST),
        alpha=0.8,
        linewidths=0,
        zorder=2.5,
        gid="subsets",
    )
    bar = ax.figure.colorbar(dots, ax=ax, label="features in S", ticks=MaxNLocator(integer=True), pad=0.02)
    bar.solids.set_alpha(1.0)
    bar.outline.set_visible(False)


def _ranges(ax: Any, agreement: Agreement) -> None:
    """Gives both axes the same range, with the line u(S) = v(S), unless their units differ."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    if not agreement.is_in_units:
        return
    both = np.concatenate([agreement.u, agreement.v])
    margin = MARGIN * (np.ptp(both) or 1.0)
    ends = (both.min() - margin, both.max() + margin)
    ax.set(xlim=ends, ylim=ends)
    ax.plot(ends, ends, color=INK, linewidth=1.0, linestyle="--", zorder=1.5, gid="diagonal")


def _sentences(agreement: Agreement) -> list[str]:
    ends, words = agreement.interval(), []
    for name, value in (("correlation", agreement.correlation), ("r2", agreement.r2)):
        if value is not None:
            words.append(f"{'R2' if name == 'r2' else name} {value:.3f}{_interval(agreement, ends[name])}")
    first = ", ".join(words) or "u(S) or v(S) is the same for all subsets"
    n = len(agreement.subsets)
    subsets = (
        f"All {n:,} subsets, all sizes with equal weight"
        if agreement.is_complete
        else f"{n:,} random subsets, all sizes equally likely"
    )
    intervals = "." if not any(ends.values()) or _is_exact(agreement) else "; 95% intervals."
    sentences = [f"{first[0].upper()}{first[1:]}.", subsets + intervals]
    if agreement.is_in_units:
        sentences.append(
            "Dashed: u(S) = v(S). Subsets below it reduce the loss by more than u(S) says, those above it by less."
        )
    return sentences


def _interval(agreement: Agreement, ends: tuple[float, float] | None) -> str:
    return "" if ends is None or _is_exact(agreement) else f" [{ends[0]:.3f}, {ends[1]:.3f}]"


def _is_exact(agreement: Agreement) -> bool:
    return agreement.is_complete and not agreement.std_error.any()
