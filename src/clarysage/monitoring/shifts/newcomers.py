"""Whether more rows are in categories that the other sample has not met than the draw of rows explains."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

STEEPEST = 60.0  # of the exponent per row


def p_of_newcomers(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> float:
    r"""A bound on how likely so many current rows are in categories without a row in the reference.

    Of a category of c rows in all, all are current with chance :math:`P_c = \binom{m}{c} / \binom{n + m}{c}`. Such
    events hinder one another (rows drawn for one category are lost to others), so Chernoff's bound for independent ones
    holds: :math:`\min_t \prod (1 + P_c (e^{t c} - 1)) e^{-t T}` for T rows. It is loose where they are all of one
    category: that any category has a chance as small as the smallest that came true, is at most the sum of such
    chances. Twice the smaller of the two bounds.

    Parameters
    ----------
    reference, current : counts (k,)
    rows : how many rows there are in each
    """
    strange = int(current[reference == 0].sum())
    if not strange:
        return 1.0
    sizes, times = np.unique((reference + current)[reference + current > 0], return_counts=True)
    chance = _log_chance(sizes.astype(np.float64), rows)
    possible = np.isfinite(chance)
    sizes, times, chance = sizes[possible], times[possible], chance[possible]
    log_other = np.log1p(-np.minimum(np.exp(chance), 1 - 1e-16))

    def log_bound(slope: float) -> float:
        return float(times @ np.logaddexp(log_other, chance + slope * sizes) - slope * strange)

    best = minimize_scalar(log_bound, bounds=(0.0, STEEPEST), method="bounded")
    largest = current[reference == 0].max()  # chances fall with size
    single = float((times * np.exp(chance))[sizes >= largest].sum())
    return float(min(1.0, 2 * min(np.exp(best.fun), single)))


def _log_chance(sizes: np.ndarray, rows: tuple[int, int]) -> np.ndarray:
    drawn, whole = rows[1], sum(rows)
    with np.errstate(invalid="ignore"):
        chance = (
            gammaln(drawn + 1.0) - gammaln(drawn - sizes + 1.0) - gammaln(whole + 1.0) + gammaln(whole - sizes + 1.0)
        )
    return np.where(sizes <= drawn, chance, -np.inf)
