"""Figures 4 to 6: bars of every method for a dataset, with features in the same order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from experiments.methods.importance import Importance
from experiments.style import COLOURS, TITLES, styled

FIRST, EDGE = "sage", "#333333"


def figure(title: str, by_method: Mapping[str, Importance], features: Sequence[str], level: float) -> Figure:
    """Draws one panel per method, SAGE first; features are in the order of their SAGE values."""
    methods = [FIRST, *(method for method in COLOURS if method in by_method and method != FIRST)]
    order = np.argsort(by_method[FIRST].scores, kind="stable")
    with styled():
        drawing = Figure(figsize=(2.05 * len(methods) + 1, 0.21 * len(features) + 1.1))
        axes = drawing.subplots(1, len(methods), sharey=True)
        for ax, method in zip(axes, methods, strict=True):
            draw(ax, by_method[method], order, level)
            ax.set_title(TITLES[method])
        axes[0].set_yticks(range(len(features)), [features[i] for i in order])
        axes[0].set_ylim(-0.6, len(features) - 0.4)
        drawing.suptitle(title, fontsize=11)
        drawing.supxlabel("importance in units of the loss; each method has a scale of its own", fontsize=9)
    return drawing


def draw(ax: Axes, importance: Importance, order: np.ndarray, level: float) -> None:
    values, ends = importance.scores[order], importance.interval(level)
    reaches = None if ends is None else np.maximum(0, np.abs(np.array(ends)[:, order] - values))
    ax.barh(
        range(len(order)),
        values,
        color=COLOURS[importance.method],
        xerr=reaches,
        ecolor=EDGE,
        error_kw={"linewidth": 0.8},
    )
    ax.axvline(0, color=EDGE, linewidth=0.6)
    ax.xaxis.set_major_locator(MaxNLocator(3))
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
