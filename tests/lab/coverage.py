"""Measured coverage: which intervals of many runs hold a known truth, and what chance leaves to the share that does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import binom


def covers(intervals: Iterable[Any], truth: Any, *, rounding: float = 0.0) -> np.ndarray:
    """Mark the intervals that hold the truth; the mean over runs is the measured coverage.

    Parameters
    ----------
    intervals : the ends (low, high) of each of R runs, numbers or arrays (...) alike
    truth : what intervals are about, (...), or (R, ...) where it differs from run to run
    rounding : by how much two ways of adding up may differ

    Returns
    -------
    (R, ...) booleans

    Examples
    --------
    >>> ends = [([0, 1], [2, 3]), ([1, 2], [2, 4])]  # of two runs on two features
    >>> covers(ends, [1, 1.5]).mean(axis=0)
    array([1. , 0.5])
    """
    low, high = np.swapaxes(np.array(list(intervals), dtype=np.float64), 0, 1)  # (2, R, ...)
    exact = np.broadcast_to(truth, low.shape)  # which refuses a truth about something else
    return np.asarray((low - rounding <= exact) & (exact <= high + rounding))


def binomial_room(runs: int, *, std_errors: float, level: float = 0.95) -> float:
    """Give so many standard errors of a share of independent runs, which is expected to be the level.

    Examples
    --------
    >>> round(0.95 - binomial_room(400, std_errors=4), 4)  # coverage below this is a fault
    0.9064
    """
    return float(std_errors * np.sqrt(level * (1 - level) / runs))


def binomial_range(runs: int, *, chance: float, level: float = 0.95) -> tuple[float, float]:
    """Give the lowest and the highest share of runs to expect; what lies beyond is no likelier than the chance.

    The chance is that of either side. Unlike standard errors, these quantiles are right for few runs too.

    Examples
    --------
    >>> binomial_range(50, chance=1e-4)
    (0.8, 1.0)
    """
    low, high = binom.ppf([chance, 1 - chance], runs, level) / runs
    return float(low), float(high)
