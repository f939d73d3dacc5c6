"""The worst of many features, when each is measured by a few noisy runs.

The largest of noisy means is too large: chance chooses it. Where that flatters, the other reading is to be taken, in
which chance has no say, and which is rather too small.
"""

from __future__ import annotations

import numpy as np


def largest(figures: np.ndarray) -> tuple[float, float]:
    """The largest mean of the columns of figures (runs, d), and its relative standard error; too large if anything.

    Examples
    --------
    >>> largest(np.array([[1.0, 3.0], [2.0, 5.0], [1.0, 4.0]]))[0]
    4.0
    """
    return mean_of(figures[:, figures.mean(axis=0).argmax()])


def largest_by_others(figures: np.ndarray) -> tuple[float, float]:
    """The same, each run read at the column that is largest over all other runs; too small if anything."""
    others = figures.sum(axis=0) - figures  # (runs, d), up to a factor
    return mean_of(figures[np.arange(len(figures)), others.argmax(axis=1)])


def mean_of(figures: np.ndarray) -> tuple[float, float]:
    """The mean, and its relative standard error."""
    mean = float(figures.mean())
    return mean, float(figures.std(ddof=1) / np.sqrt(len(figures)) / mean)
