"""The figure: error and correlation by model evaluations, a column a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figure7.compared import PAIRED, SAGE, SHAP, Compared
from experiments.figure7.curves import Curve
from experiments.style import COLOURS, styled

LOOKS = {
    SAGE: (COLOURS["sage"], "o", "-"),
    PAIRED: (COLOURS["feature ablation"], "s", "--"),
    SHAP: (COLOURS["permutation test"], "^", "-"),
}
BAND = (0.1, 0.9)


def figure(found: Sequence[Compared]) -> Figure:
    """Means over repetitions, and bands that hold the middle four fifths of these."""
    with styled():
        whole = Figure(figsize=(3.7 * len(found), 6.2))
        axes = whole.subplots(2, len(found), sharex="col", squeeze=False)
        for (above, below), one in zip(axes.T, found, strict=True):
            for name, curve in one.curves.items():
                draw(above, curve, curve.mse, name)
                draw(below, curve, curve.correlation, name)
            above.set_title(one.title)
            above.set_yscale("log")
            below.set_xscale("log")
            below.set_ylim(top=1.02)
            below.set_xlabel("model evaluations")
        axes[0, 0].set_ylabel("MSE")
        axes[1, 0].set_ylabel("correlation with converged values")
        axes[1, 0].legend(loc="lower right", fontsize=8)
    return whole


def draw(ax: Axes, curve: Curve, heights: np.ndarray, name: str) -> None:
    colour, marker, line = LOOKS[name]
    low, high = np.quantile(heights, BAND, axis=0)
    ax.fill_between(curve.evaluations, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(curve.evaluations, heights.mean(axis=0), line, color=colour, marker=marker, markersize=3.5, label=name)
