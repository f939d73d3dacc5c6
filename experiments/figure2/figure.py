"""Figure 2: accuracy of networks with the best and with the worst pixels of each method."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from experiments.figure2.words import DIRECTIONS, Curves
from experiments.style import COLOURS, TITLES, lettered, styled

MARKS = {
    "sage": "o",
    "conditional sage": "P",
    "permutation test": "s",
    "mean importance": "D",
    "feature ablation": "^",
    "univariate predictors": "v",
}
BASE = "Commonest digit"
PANELS = {"best": "most important pixels", "worst": "least important pixels"}


def figure(curves: Curves, base: float) -> Figure:
    with styled():
        drawn, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
        for panel, letter, end in zip(axes, "ab", PANELS, strict=True):
            _panel(panel, curves, end, base)
            lettered(panel, letter, f"{PANELS[end].capitalize()} ({DIRECTIONS[end]})")
            panel.set_xlabel(f"number of {PANELS[end]}")
        axes[0].set_ylabel("test accuracy")
        labelled = dict(zip(*reversed(axes[0].get_legend_handles_labels()), strict=True))
        labelled[BASE] = labelled.pop(BASE)  # after all methods
        drawn.legend(labelled.values(), labelled, loc="outside lower center", ncols=len(labelled))
        plt.close(drawn)
    return drawn


def _panel(axes: Any, curves: Curves, end: str, base: float) -> None:
    for curve in (each for each in curves.values() if each.end == end):
        axes.errorbar(
            curve.sizes,
            curve.means,
            yerr=curve.reach(),
            marker=MARKS[curve.method],
            ms=4.5,
            lw=1.4,
            capsize=2,
            elinewidth=0.8,
            color=COLOURS[curve.method],
            label=TITLES[curve.method],
            zorder=4 if curve.method == "sage" else 3,
        )
    axes.axhline(base, color="#666666", ls=":", lw=1, label=BASE)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.grid(axis="y", color="#e5e5e5")
