"""Table 2 as a figure: our correlations and the paper's, and losses against total SAGE values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from experiments.style import COLOURS, TITLES, styled


def figure(judged: Sequence[Any], printed: dict[str, Any]) -> Figure:
    """Draws one column per dataset: correlations by method at the top, one point per subset below."""
    with styled():
        drawn, axes = plt.subplots(2, len(judged), figsize=(3.0 * len(judged), 6.2), squeeze=False)
        for column, dataset in enumerate(judged):
            _methods(axes[0, column], dataset, printed, is_first=column == 0)
            _points(axes[1, column], dataset, is_first=column == 0)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        drawn.legend(handles, labels, loc="outside lower center", ncols=2)
        plt.close(drawn)
    return drawn


def _methods(axes: Any, dataset: Any, printed: dict[str, Any], *, is_first: bool) -> None:
    names = list(dataset.correlations.values)
    for position, name in enumerate(names):
        value = dataset.correlations.values[name]
        low, high = dataset.correlations.interval(name)
        label = "ours, with 95 % interval" if position == 0 else None
        axes.errorbar(
            value,
            position,
            xerr=[[max(value - low, 0)], [max(high - value, 0)]],
            fmt="o",
            ms=5,
            capsize=2,
            color=COLOURS.get(name, "#666666"),
            label=label,
        )
        theirs = printed.get(name, {}).get(dataset.name)
        if theirs is not None:
            axes.plot(
                theirs, position, "x", ms=8, mew=2, color="black", label="paper" if position == 0 else None, zorder=3
            )
    axes.set_yticks(range(len(names)), [TITLES.get(name, name) for name in names] if is_first else [""] * len(names))
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(axis="x", color="#dddddd")
    axes.set_xlabel("correlation")
    axes.set_title(f"{dataset.title}\n{len(dataset.losses):,} subsets")


def _points(axes: Any, dataset: Any, *, is_first: bool) -> None:
    axes.scatter(dataset.totals, dataset.losses, s=6, alpha=0.3, color=COLOURS["sage"], linewidths=0, rasterized=True)
    axes.set_xlabel("total SAGE value of the subset")
    if is_first:
        axes.set_ylabel("test loss of the model fitted to it")
    if np.max(dataset.losses) >= 1000:
        axes.ticklabel_format(style="sci", scilimits=(0, 0))
