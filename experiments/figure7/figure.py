"""Figure 7: error and correlation by model evaluations, one column per dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figure7.compared import PAIRED, SAGE, SHAP, Compared
from experiments.figure7.curves import ConvergenceCurve
from experiments.style import COLOURS, styled

LOOKS = {
    SAGE: (COLOURS["sage"], "o", "-"),
    PAIRED: (COLOURS["feature ablation"], "s", "--"),
    SHAP: (COLOURS["permutation test"], "^", "-"),
}
BAND = (0.1, 0.9)
LEAST = -0.5  # lower end of the axis of correlations


def figure(tasks: Sequence[Compared]) -> Figure:
    """Draws means over repetitions, and bands with the middle four fifths of the repetitions."""
    with styled():
        drawing = Figure(figsize=(3.7 * len(tasks), 6.2))
        axes = drawing.subplots(2, len(tasks), sharex="col", squeeze=False)
        for (above, below), compared in zip(axes.T, tasks, strict=True):
            for name, curve in compared.curves.items():
                draw(above, curve, curve.mse, name)
                draw(below, curve, curve.correlation, name)
            above.set_title(compared.title)
            above.set_yscale("log")
            below.set_xscale("log")
            below.set_ylim(LEAST, 1.03)
            below.set_xlabel("model evaluations")
        axes[0, 0].set_ylabel("MSE")
        axes[1, 0].set_ylabel("correlation with converged values")
        lines, names = axes[0, 0].get_legend_handles_labels()
        drawing.legend(lines, names, loc="outside upper center", ncols=len(names))
    return drawing


def draw(ax: Axes, curve: ConvergenceCurve, heights: np.ndarray, name: str) -> None:
    colour, marker, line = LOOKS[name]
    low, high = np.quantile(heights, BAND, axis=0)
    ax.fill_between(curve.evaluations, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(curve.evaluations, heights.mean(axis=0), line, color=colour, marker=marker, markersize=3.5, label=name)
