"""Colours, titles and style of all figures of the experiments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib.axes import Axes

COLOURS = {
    "sage": "#0072b2",
    "conditional sage": "#56b4e9",
    "permutation test": "#d55e00",
    "mean importance": "#e69f00",
    "feature ablation": "#009e73",
    "univariate predictors": "#cc79a7",
}
TITLES = {
    "sage": "SAGE",
    "conditional sage": "Conditional SAGE",
    "permutation test": "Permutation Test",
    "mean importance": "Mean Importance",
    "feature ablation": "Feature Ablation",
    "univariate predictors": "Univariate",
}


@contextmanager
def styled() -> Iterator[None]:
    """Applies the common style to figures that are drawn inside the block."""
    look = {
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "legend.frameon": False,
        "figure.constrained_layout.use": True,
    }
    with mpl.rc_context(look):
        yield


def lettered(axes: Axes, letter: str, title: str) -> None:
    """Gives axes a title that begins with the letter of the panel."""
    axes.set_title(f"{letter}  {title}", loc="left")
