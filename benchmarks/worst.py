"""The worst of many features, when each is measured by a few noisy runs."""

from __future__ import annotations

import numpy as np


def worst(figures: np.ndarray) -> tuple[float, float]:
    """The largest mean of the columns of figures (runs, d), and its relative standard error.

    The largest of noisy means is too large: chance chooses it. So each run is read at the column that is largest in
    the mean over all other runs.

    Examples
    --------
    >>> worst(np.array([[1.0, 3.0], [2.0, 5.0], [1.0, 4.0]]))[0]
    4.0
    """
    others = figures.sum(axis=0) - figures  # (runs, d), up to a factor
    read = figures[np.arange(len(figures)), others.argmax(axis=1)]
    mean = float(read.mean())
    return mean, float(read.std(ddof=1) / np.sqrt(len(read)) / mean)
