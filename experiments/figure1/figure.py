"""Figure 1: maps of MNIST by method at the top, SAGE values of genes below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from experiments.figure1.facts import MapFacts
from experiments.figure1.genes import Genes
from experiments.figure1.maps import image
from experiments.methods.importance import Importance
from experiments.style import COLOURS, TITLES, lettered, styled

CLIPPED = 0.995  # quantile of absolute values at which the colour scale ends
ASSOCIATED, PAPERS, OTHERS = COLOURS["sage"], COLOURS["mean importance"], "#bbbbbb"
Z = 1.959964


def figure(importances: Mapping[str, Importance], facts: Mapping[str, MapFacts], genes: Genes) -> Figure:
    with styled():
        drawn = plt.figure(figsize=(12.5, 6.6))
        top, bottom = drawn.subfigures(2, 1, height_ratios=[1, 1.15])
        axes = top.subplots(1, len(importances))
        for column, (letter, method) in enumerate(zip("abcdef", importances, strict=False)):
            _map(axes[column], letter, importances[method], facts[method])
        top.suptitle("MNIST: blue pixels improve performance, red pixels hurt it", fontsize=11, y=1.06)
        _bars(bottom.subplots(), "abcdefg"[len(importances)], genes)
        plt.close(drawn)
    return drawn


def _map(axes: Any, letter: str, importance: Importance, facts: MapFacts) -> None:
    reach = float(np.quantile(np.abs(importance.scores), CLIPPED)) or 1.0
    shown = axes.imshow(image(importance.scores), cmap="RdBu", vmin=-reach, vmax=reach, interpolation="nearest")
    lettered(axes, letter, TITLES[importance.method])
    axes.set(xticks=[], yticks=[])
    alike = round(facts.smooth.value, 2) + 0.0  # + 0.0: "0.00", not "-0.00"
    axes.set_xlabel(f"neighbours r = {alike:.2f}; negative\nin the centre: {facts.negative.value:.0%}")
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = axes.figure.colorbar(shown, ax=axes, location="bottom", shrink=0.9, aspect=16, extend="both", pad=0.02)
    bar.set_ticks([-reach, 0, reach], labels=[f"{-reach:.2g}", "0", f"{reach:.2g}"])
    bar.outline.set_visible(False)


def _bars(axes: Any, letter: str, genes: Genes) -> None:
    order = np.argsort(-genes.values, kind="stable")
    colours = np.where(genes.is_known, ASSOCIATED, np.where(genes.is_papers, PAPERS, OTHERS))
    places = np.arange(len(order))
    axes.bar(
        places,
        genes.values[order],
        yerr=Z * genes.errors[order],
        color=colours[order],
        width=0.75,
        error_kw={"elinewidth": 0.8, "capsize": 1.5, "ecolor": "#444444"},
    )
    axes.axhline(0, color="black", lw=0.6)
    axes.set_xticks(places, [genes.names[i] for i in order], rotation=90, fontsize=8)
    for label, i in zip(axes.get_xticklabels(), order, strict=True):
        label.set_fontweight("bold" if genes.is_papers[i] else "normal")
    axes.set_xlim(-0.7, len(order) - 0.3)
    axes.set_ylabel("SAGE value (nats)")
    lettered(axes, letter, "BRCA, a near copy of the paper's table, by SAGE with 95 % intervals")
    patches = [
        Patch(color=ASSOCIATED, label="gene of the paper, known to be associated with BRCA"),
        Patch(color=PAPERS, label="gene of the paper, drawn at random there"),
        Patch(color=OTHERS, label="stands in for a gene drawn at random"),
    ]
    axes.legend(handles=patches, loc="upper right")
