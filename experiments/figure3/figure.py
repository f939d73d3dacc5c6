"""Figure 3: losses by version of the data, and SAGE values of the validation part and of each corrupted test part."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figure3.losses import Mean
from experiments.figure3.monitored import MonitoredVersion
from experiments.figure3.versions import CLEAN, CORRUPTED, VERSIONS
from experiments.style import COLOURS, lettered, styled

PLAIN, BEFORE, AFTER, EDGE = "#999999", COLOURS["sage"], COLOURS["permutation test"], "#333333"
ORDER = ("base rate", "train", "validation", CLEAN, "seconds", "hours", "month")
WIDTH = 0.4


def figure(losses: Mapping[str, Mean], by_version: Mapping[str, MonitoredVersion]) -> Figure:
    """Draws four panels: losses, then month, seconds and hours, as in the paper."""
    with styled():
        drawing = Figure(figsize=(11, 7.6))
        axes = drawing.subplots(2, 2)
        draw_losses(axes[0, 0], losses)
        for position, name, letter in zip(((0, 1), (1, 0), (1, 1)), CORRUPTED, "BCD", strict=True):
            draw_values(axes[position], by_version[name], name)
            lettered(axes[position], letter, VERSIONS[name].title)
        lettered(axes[0, 0], "A", "Loss of the model by version of the data")
    return drawing


def draw_losses(ax: Axes, losses: Mapping[str, Mean]) -> None:
    colours = [PLAIN if name == "base rate" else AFTER if name in CORRUPTED else BEFORE for name in ORDER]
    values, reaches = [losses[name].value for name in ORDER], [losses[name].reach for name in ORDER]
    ax.bar(range(len(ORDER)), values, color=colours, yerr=reaches, ecolor=EDGE, capsize=2.5)
    for x, (value, reach) in enumerate(zip(values, reaches, strict=True)):
        ax.annotate(f"{value:.3f}", (x, value + reach), (0, 2), textcoords="offset points", ha="center", fontsize=8)
    ax.set_xticks(range(len(ORDER)), [name.capitalize() for name in ORDER])
    ax.set_ylabel("cross entropy")
    ax.margins(y=0.1)


def draw_values(ax: Axes, comparison: MonitoredVersion, name: str) -> None:
    """Draws bars of both sides, sorted by the validation part; a star marks the features that monitoring flags."""
    order = np.argsort(-np.array(comparison.before))
    sides = {
        "Validation": (comparison.before, comparison.before_ends, BEFORE),
        f"Test, {name}": (comparison.after, comparison.after_ends, AFTER),
    }
    ax.axhline(0, color=EDGE, linewidth=0.6)
    for side, (label, (values, ends, colour)) in enumerate(sides.items()):
        heights, at = np.array(values)[order], np.arange(len(order)) + (side - 0.5) * WIDTH
        reaches = np.maximum(0, np.abs(np.array(ends)[:, order] - heights))
        ax.bar(at, heights, WIDTH, color=colour, label=label, yerr=reaches, ecolor=EDGE, error_kw={"linewidth": 0.8})
    names = [comparison.features[i] for i in order]
    for x, i in enumerate(order):
        if comparison.features[i] in comparison.flagged:
            position = (x + 1.1 * WIDTH, 0.75 * comparison.after[i])
            ax.annotate("★ flagged", position, ha="left", va="center", fontsize=9)
    ax.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor")
    ax.set_ylabel("SAGE value")
    ax.margins(x=0.02, y=0.12)
    ax.legend(loc="upper right")
