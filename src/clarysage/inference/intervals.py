"""Confidence intervals of estimated values, the p-values that agree with them, and the adjustment of many p-values.

Intervals are Student's. Where estimates are skewed, the end on the side of the longer tail is moved out by the first
term of the expansion of Cornish and Fisher (1938), as Johnson (1978) does for the mean of a skewed sample. A p-value is
found by inverting the interval. Many p-values are adjusted by the step-down method of Holm (1979), which controls the
family-wise error rate, or by the step-up method of Benjamini and Hochberg (1995), which controls the false discovery
rate.

References
----------
E. A. Cornish, R. A. Fisher (1938). Moments and cumulants in the specification of distributions. Revue de l'Institut
International de Statistique 5, 307-320.
N. J. Johnson (1978). Modified t tests and confidence intervals for asymmetrical populations. JASA 73, 536-544.
S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
testing. Journal of the Royal Statistical Society B 57, 289-300.
"""

from __future__ import annotations

import numpy as np

from clarysage.catalogue import ADJUSTMENTS
from clarysage.errors import InputError, Set

ALTERNATIVES = ("helps", "hurts")
FARTHEST, HALVINGS = 37.0, 60  # a normal quantile whose chance is still a number, and steps to any below it


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


def p_values(
    values: np.ndarray,
    std_error: np.ndarray,
    dof: np.ndarray,
    alternative: str = "helps",
    *,
    skew: np.ndarray | float = 0.0,
) -> np.ndarray:
    """One-sided p-values (p,) for "helps", a value above zero, or "hurts", one below; 1 for a value of exactly zero.

    They agree with :func:`~clarysage.inference.intervals.interval`: below 2.5 % where the 95 % interval excludes zero.

    Examples
    --------
    >>> p_values(np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([1e6, 10.0])).round(4)
    array([0.0228, 1.    ])
    """
    if alternative not in ALTERNATIVES:
        raise InputError("alternative", got=f"{alternative!r}", wanted=" or ".join(map(repr, ALTERNATIVES)))
    above, towards = (values, -np.asarray(skew)) if alternative == "helps" else (-values, np.asarray(skew))
    known = np.where(above > 0, 0.0, 1.0)  # without error
    away = np.divide(above, std_error, out=np.zeros_like(above), where=std_error > 0)
    return np.asarray(np.where(std_error > 0, _missed(away, dof, np.maximum(towards, 0.0)), known))


def two_sided(
    values: np.ndarray, std_error: np.ndarray, dof: np.ndarray, *, skew: np.ndarray | float = 0.0
) -> np.ndarray:
    """p-values (p,) for values other than zero: below 5 % where the 95 % interval excludes zero; 1 for zero itself.

    Examples
    --------
    >>> two_sided(np.array([-1.96, 0.0]), np.array([1.0, 0.0]), np.array([1e6, 10.0])).round(3)
    array([0.05, 1.  ])
    """
    towards = np.where(values < 0, -1.0, 1.0) * np.asarray(skew)
    return np.asarray(np.minimum(1.0, 2 * p_values(np.abs(values), std_error, dof, skew=towards)))


def _missed(away: np.ndarray, dof: np.ndarray, skew: np.ndarray) -> np.ndarray:
    """The chance that an end so many standard errors away is missed: what ``reached`` makes of it, turned around."""
    from scipy.stats import norm as normal
    from scipy.stats import t as student

    low, high = np.zeros_like(away), np.full_like(away, FARTHEST)  # as normal quantiles
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_short = reached(normal.sf(middle), dof, skew) < away
        low, high = np.where(is_short, middle, low), np.where(is_short, high, middle)
    likely = student.sf(away - skew / 6, dof)  # where the end is on the other side of the value
    return np.asarray(np.where(away > skew / 6, np.minimum(normal.sf((low + high) / 2), 0.5), likely))


def adjusted(p: np.ndarray, adjust: str | None) -> np.ndarray:
    """p-values made larger, since there are many.

    Below 5 % by "holm": the chance of any false one among them is at most 5 %. By "benjamini hochberg": of those, about
    5 % are false on average. None leaves them as they are.

    Examples
    --------
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "benjamini hochberg").tolist()
    [0.03, 0.04, 0.04]
    """
    name = adjustment(adjust)
    return p if name is None else np.asarray(ADJUSTMENTS[name](p))


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (p,) adjusted by Holm's step-down method."""
    order = np.argsort(p, kind="stable")
    stepwise = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted_p = np.empty_like(p)
    adjusted_p[order] = np.minimum(stepwise, 1.0)
    return adjusted_p


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """p-values (p,) adjusted by the step-up method of Benjamini and Hochberg."""
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


def adjustment(adjust: object) -> str | None:
    """An adjustment by its one name, however it is written, None for "none"; an error where there is no such.

    Examples
    --------
    >>> adjustment("Benjamini-Hochberg"), adjustment(None)
    ('benjamini hochberg', None)
    """
    if adjust is None or ADJUSTMENTS.is_special(adjust):
        return None
    return ADJUSTMENTS.get_row(str(adjust)).name
