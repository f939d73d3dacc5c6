"""Intervals around estimated values, one at a time or all together.

They are Student's, moved out where estimates are skewed, by the first term of the expansion of Cornish and Fisher
(1938), as Johnson (1978) does for the mean of a skewed sample.

References
----------
E. A. Cornish, R. A. Fisher (1938). Moments and cumulants in the specification of distributions. Revue de l'Institut
International de Statistique 5, 307-320.
N. J. Johnson (1978). Modified t tests and confidence intervals for asymmetrical populations. JASA 73, 536-544.
"""

from __future__ import annotations

import numpy as np

from clarysage.errors import InputError, Set


def interval(
    values: np.ndarray,
    std_error: np.ndarray,
    dof: np.ndarray | float,
    level: float = 0.95,
    *,
    joint: bool = False,
    skew: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Low and high ends of Student intervals for values whose variances have ``dof`` degrees of freedom.

    ``joint=True`` makes all of them hold at once with the given probability (Bonferroni). Where estimates are skewed,
    by the given third standardised moments, the end on the side of the longer tail moves out (Cornish and Fisher): with
    t Student's quantile and z the normal one, to

    .. math:: t + |\gamma| (2 z^2 + 1) / 6

    standard errors. A sample that has missed some of the long tail has too small a mean, and too small an error
    besides. The other end, which would move in, stays.

    Examples
    --------
    >>> low, high = interval(np.array([1.0]), np.array([0.1]), dof=999)
    >>> bool(low[0] < 1.0 < high[0])
    True
    """
    if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))
    outside = (1 - level) / (len(values) if joint else 1)
    below, above = (reached(outside / 2, dof, side * np.asarray(skew)) * std_error for side in (-1, 1))
    return values - below, values + above


def reached(chance: np.ndarray | float, dof: np.ndarray | float, skew: np.ndarray) -> np.ndarray:
    """How many standard errors an end is away that is missed with the given chance, where skewness points to it."""
    from scipy.stats import norm as normal
    from scipy.stats import t as student

    z = normal.isf(chance)
    return np.asarray(student.isf(chance, dof) + np.maximum(skew, 0.0) * (2 * z**2 + 1) / 6)
