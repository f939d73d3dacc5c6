"""Tests of whether values are above or below zero, and their adjustment when there are many.

References
----------
S. Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6, 65-70.
Y. Benjamini, Y. Hochberg (1995). Controlling the false discovery rate: a practical and powerful approach to multiple
testing. Journal of the Royal Statistical Society B 57, 289-300.
"""

from __future__ import annotations

import numpy as np

from clarysage.catalogue import ADJUSTMENTS
from clarysage.errors import InputError
from clarysage.inference.intervals import reached

ALTERNATIVES = ("helps", "hurts")
FARTHEST, HALVINGS = 37.0, 60  # a normal quantile whose chance is still a number, and steps to any below it


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
