"""Intervals around estimated values, one at a time or all together."""

from __future__ import annotations

import numpy as np
from scipy.stats import t as student

from clarysage.errors import InputError


def interval(
    values: np.ndarray, std_error: np.ndarray, dof: np.ndarray | float, level: float = 0.95, *, joint: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Low and high ends of Student intervals for values whose variances have ``dof`` degrees of freedom.

    ``joint=True`` makes all of them hold at once with the given probability (Bonferroni).

    Examples
    --------
    >>> low, high = interval(np.array([1.0]), np.array([0.1]), dof=999)
    >>> bool(low[0] < 1.0 < high[0])
    True
    """
    if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint="level=0.95")
    outside = (1 - level) / (len(values) if joint else 1)
    reach = student.ppf(1 - outside / 2, dof) * std_error
    return values - reach, values + reach
