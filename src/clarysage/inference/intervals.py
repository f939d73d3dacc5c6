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
Y. Benjamini, D. Yekutieli (2001). The control of the false discovery rate in multiple testing under dependency. Annals
of Statistics 29, 1165-1188.
"""

from __future__ import annotations

import numpy as np

from clarysage.catalogue import ADJUSTMENTS
from clarysage.errors import InputError, Set

ALTERNATIVES = ("helps", "hurts")
FARTHEST, HALVINGS = 37.0, 60  # largest normal quantile whose tail is above zero, and steps of bisection


def interval(
    values: np.ndarray,
    std_error: np.ndarray,
    dof: np.ndarray | float,
    level: float = 0.95,
    *,
    joint: bool = False,
    skew: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Returns the ends of Student intervals of values whose variances have ``dof`` degrees of freedom.

    With ``joint=True`` all intervals hold simultaneously with the given probability (Bonferroni). ``skew`` are the
    third standardised moments of the estimates. The end on the side of the longer tail is

    .. math:: t + |\gamma| (2 z^2 + 1) / 6

    standard errors away (Cornish and Fisher), with Student's quantile t and the normal quantile z: a sample that misses
    a part of the long tail has a mean and a standard error that are both too small. The expansion would move the other
    end inwards; it is left where it is, to be conservative.

    Examples
    --------
    >>> low, high = interval(np.array([1.0]), np.array([0.1]), dof=999)
    >>> bool(low[0] < 1.0 < high[0])
    True
    """
    if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise InputError("level", got=f"{level!r}", wanted="a number between 0 and 1", hint=Set("level", 0.95))
    outside = (1 - level) / (len(values) if joint else 1)
    below, above = (critical_value(outside / 2, dof, side * np.asarray(skew)) * std_error for side in (-1, 1))
    return values - below, values + above


def critical_value(tail: np.ndarray | float, dof: np.ndarray | float, skew: np.ndarray) -> np.ndarray:
    """Returns the upper critical value of a tail probability, in standard errors, under skewness (Cornish-Fisher)."""
    from scipy.stats import norm as normal
    from scipy.stats import t as student

    z = normal.isf(tail)
    return np.asarray(student.isf(tail, dof) + np.maximum(skew, 0.0) * (2 * z**2 + 1) / 6)


def p_values(
    values: np.ndarray,
    std_error: np.ndarray,
    dof: np.ndarray,
    alternative: str = "helps",
    *,
    skew: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Returns one-sided p-values (p,) of the alternatives "helps", value above zero, or "hurts", value below zero.

    They are found by inverting :func:`interval`, so that they are below 2.5 % where the 95 % interval excludes zero.
    The p-value of a value that is exactly zero without error is 1.

    Examples
    --------
    >>> p_values(np.array([2.0, 0.0]), np.array([1.0, 0.0]), np.array([1e6, 10.0])).round(4)
    array([0.0228, 1.    ])
    """
    if alternative not in ALTERNATIVES:
        raise InputError("alternative", got=f"{alternative!r}", wanted=" or ".join(map(repr, ALTERNATIVES)))
    above, skew_to_zero = (values, -np.asarray(skew)) if alternative == "helps" else (-values, np.asarray(skew))
    exact = np.where(above > 0, 0.0, 1.0)  # without error
    statistic = np.divide(above, std_error, out=np.zeros_like(above), where=std_error > 0)
    return np.asarray(np.where(std_error > 0, _tail(statistic, dof, np.maximum(skew_to_zero, 0.0)), exact))


def two_sided(
    values: np.ndarray, std_error: np.ndarray, dof: np.ndarray, *, skew: np.ndarray | float = 0.0
) -> np.ndarray:
    """Returns two-sided p-values (p,) of values, which are below 5 % where the 95 % interval excludes zero.

    Examples
    --------
    >>> two_sided(np.array([-1.96, 0.0]), np.array([1.0, 0.0]), np.array([1e6, 10.0])).round(3)
    array([0.05, 1.  ])
    """
    skew_of_size = np.where(values < 0, -1.0, 1.0) * np.asarray(skew)
    return np.asarray(np.minimum(1.0, 2 * p_values(np.abs(values), std_error, dof, skew=skew_of_size)))


def _tail(statistic: np.ndarray, dof: np.ndarray, skew: np.ndarray) -> np.ndarray:
    """Returns the tail probability whose :func:`critical_value` is the statistic, by bisection."""
    from scipy.stats import norm as normal
    from scipy.stats import t as student

    low, high = np.zeros_like(statistic), np.full_like(statistic, FARTHEST)  # normal quantiles
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_short = critical_value(normal.sf(middle), dof, skew) < statistic
        low, high = np.where(is_short, middle, low), np.where(is_short, high, middle)
    above_half = student.sf(statistic - skew / 6, dof)  # beyond the range of bisection
    return np.asarray(np.where(statistic > skew / 6, np.minimum(normal.sf((low + high) / 2), 0.5), above_half))


def adjusted(p: np.ndarray, adjust: str | None) -> np.ndarray:
    """Returns p-values adjusted for multiple testing.

    If values with adjusted p-values below 5 % are called significant, "holm" limits the probability of any false
    positive to 5 % (family-wise error rate), and "benjamini hochberg" limits the expected share of false positives
    among them to 5 % (false discovery rate). None leaves p-values as they are.

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
    """Returns p-values (p,) adjusted by the step-down method of Holm (1979)."""
    order = np.argsort(p, kind="stable")
    stepwise = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted_p = np.empty_like(p)
    adjusted_p[order] = np.minimum(stepwise, 1.0)
    return adjusted_p


def benjamini_hochberg(p: np.ndarray) -> np.ndarray:
    """Returns p-values (p,) adjusted by the step-up method of Benjamini and Hochberg (1995).

    The bound of the false discovery rate is proved for independent tests, and for positively dependent ones (Benjamini
    and Yekutieli 2001). Values of one game may depend on each other negatively, so that it holds only approximately.
    """
    from scipy.stats import false_discovery_control

    return np.asarray(false_discovery_control(p, method="bh"))


def adjustment(adjust: object) -> str | None:
    """Returns the name of an adjustment, however it is spelled, and None for "none"; raises for unknown names.

    Examples
    --------
    >>> adjustment("Benjamini-Hochberg"), adjustment(None)
    ('benjamini hochberg', None)
    """
    if adjust is None or ADJUSTMENTS.is_special(adjust):
        return None
    return ADJUSTMENTS.get_row(str(adjust)).name
