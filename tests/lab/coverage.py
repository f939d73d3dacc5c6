"""Coverage of intervals over repeated runs, and the binomial error of measured coverage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.stats import binom


def covers(intervals: Iterable[Any], truth: Any, *, rounding: float = 0.0) -> np.ndarray:
    """Returns which intervals contain the truth; the mean over runs is the measured coverage.

    Parameters
    ----------
    intervals : the ends (low, high) of each of R runs, numbers or arrays (...) alike
    truth : the true values, (...), or (R, ...) if they differ between runs
    rounding : allowance for rounding errors

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
    exact = np.broadcast_to(truth, low.shape)  # raises an error for a truth of another shape
    return np.asarray((low - rounding <= exact) & (exact <= high + rounding))


def binomial_room(runs: int, *, std_errors: float, level: float = 0.95) -> float:
    """Returns a number of standard errors of measured coverage, when the true coverage is the level.

    Examples
    --------
    >>> round(0.95 - binomial_room(400, std_errors=4), 4)  # coverage below this is a fault
    0.9064
    """
    return float(std_errors * np.sqrt(level * (1 - level) / runs))


def binomial_range(runs: int, *, chance: float, level: float = 0.95) -> tuple[float, float]:
    """Returns the binomial quantiles of measured coverage; shares below or above each have at most this probability.

    Unlike standard errors, these quantiles are also exact for few runs.

    Examples
    --------
    >>> binomial_range(50, chance=1e-4)
    (0.8, 1.0)
    """
    low, high = binom.ppf([chance, 1 - chance], runs, level) / runs
    return float(low), float(high)
