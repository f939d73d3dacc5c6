r"""Variances about populations of examples and of background rows, by influence functions; and their differences.

A value is a mean over examples, in a game whose payoffs depend on means over background rows. It is a functional of two
samples, like U- and V-statistics (Hoeffding 1948) of two samples (Lehmann 1951). Its variance to first order is that of
its Hajek projection (Hajek 1968), a sum of influence functions at each example and at each background row (the
infinitesimal jackknife).
With e_x the contribution of example x of weight w_x, and c_k = w_k (psi_k - mean) the centred influence of background
row k (:mod:`clarysage.inference.influence`),

.. math:: V_{rows} = \frac{N}{N - 1} \sum_x (e_x - w_x \hat\phi)^2, \qquad
    V_{background} = \frac{m}{m - 1} \Big( \sum_k c_k^2 - noise \Big), \qquad
    V_{both} = 2 \sum_x (e_x - w_x \hat\phi) c_{k(x)}

and V = V_rows + V_background + V_both. The covariance term V_both is over examples that are background rows k(x)
themselves (self-matches).

Two sets of values are compared by a paired difference, from the differences of contributions of the same rows, or by an
unpaired one, with the sum of both variances (Welch 1947).

References
----------
W. Hoeffding (1948). A class of statistics with asymptotically normal distribution. Annals of Mathematical Statistics
19, 293-325.
E. L. Lehmann (1951). Consistency and unbiasedness of certain nonparametric tests. Annals of Mathematical Statistics 22,
165-179.
J. Hajek (1968). Asymptotic normality of simple linear rank statistics under alternatives. Annals of Mathematical
Statistics 39, 325-346.
B. L. Welch (1947). The generalization of "Student's" problem when several different population variances are involved.
Biometrika 34, 28-35.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, satterthwaite, satterthwaite_term, weighted_sum
from clarysage.inference.estimate import Target, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence

ONE_ROW = 1 - 1e-9  # sum of squared background weights above which a single row has all the weight
FEWEST = 4.0  # least degrees of freedom, even where a single example dominates the variance
ROUNDING = 1e-12  # a deviation over examples below this share of that of another value of the same game is rounding
LEAST = 0.25  # least share of the variance over examples in the total, in case V_both is very negative by chance


@dataclass(frozen=True)
class Sampled:
    """The samples of examples and of background rows.

    Attributes
    ----------
    weights : (N,) of examples of positive weight, which add up to one; or (N, L) in the mean of each loss
    background_weights : (m,) of background rows, which add up to one
    self_match : (N,) the background row that each of these examples is, -1 for none; None where none is one
    """

    weights: np.ndarray
    background_weights: np.ndarray
    self_match: np.ndarray | None = None


def targets(estimated: Estimated, components: VarianceComponents, sampled: Sampled) -> dict[str, Target]:
    """Returns estimates about the population of "rows", and about the "population" of rows and background.

    The result is empty where there is a single example, from which no variance over examples can be estimated.
    """
    return {
        about: Target(
            estimate.values,
            np.sqrt(estimate.variance),
            estimate.dof,
            skewness(components.contributions, sampled.weights, estimate.variance),
        )
        for about, estimate in estimates(estimated, components, sampled).items()
    }


def estimates(estimated: Estimated, components: VarianceComponents, sampled: Sampled) -> dict[str, Estimated]:
    """Returns estimates about the population of rows, and about those of rows and background, with variances (L, p).

    The variance about both is at least that of the run, and at least a quarter of V_rows. Degrees of freedom are
    Satterthwaite's; those of V_rows are fewer than N - 1 where few examples dominate it. For both together
    the formula is the original one, without the ones of :mod:`clarysage.inference.degrees_of_freedom`: V_background has
    m - 1 degrees of freedom, and the rest has those of V_rows.
    """
    if len(sampled.weights) < 2:
        return {}
    rows = _over_rows(estimated, components, sampled.weights)
    about = {"rows": rows}
    if components.background is not None and (sampled.background_weights**2).sum() < ONE_ROW:
        about["population"] = _over_both(estimated, rows, components.contributions, components.background, sampled)
    return about


def about_rows(
    values: np.ndarray, contributions: np.ndarray, weights: np.ndarray, residual: np.ndarray | float = 0.0
) -> Target | None:
    """Returns the estimate about the population of rows of values (p,) that are sums of contributions (N, p) of rows.

    It is None where there is a single row. ``weights`` (N,) are those of the rows, and ``residual`` (p,) is sampling
    variance that contributions do not show.
    """
    zero, sampled = np.zeros((1, len(values))), Sampled(weights, np.ones(1))
    dof = np.count_nonzero(weights) - 1.0
    components = VarianceComponents(contributions[:, None], zero, zero + residual, dof)
    rows = targets(Estimated(values[None], zero, np.ones_like(zero)), components, sampled).get("rows")
    return None if rows is None else rows.map(lambda array: array[0])


def _over_rows(estimated: Estimated, components: VarianceComponents, weights: np.ndarray) -> Estimated:
    dof = np.full(estimated.values.shape, max(1.0, components.dof))
    if components.contributions is None:
        return Estimated(estimated.values, estimated.variance + components.between, dof)
    n, squares = np.atleast_1d((weights > 0).sum(axis=0))[:, None], _centred(components.contributions, weights) ** 2
    if weights.ndim > 1:
        dof = np.minimum(dof, np.maximum(1.0, n - 1.0))
    variance = squares.sum(axis=0) * (n / np.maximum(1, n - 1)) + components.residual
    effective = satterthwaite(squares.sum(axis=0), satterthwaite_term(squares, 1.0).sum(axis=0), unknown=dof)
    dof = np.minimum(dof, np.maximum(effective, FEWEST))
    return Estimated(estimated.values, np.maximum(variance, estimated.variance), dof)


def _over_both(
    estimated: Estimated,
    rows: Estimated,
    contributions: np.ndarray | None,
    background: BackgroundInfluence,
    sampled: Sampled,
) -> Estimated:
    w = sampled.background_weights
    one_mth = float((w**2).sum())  # 1 / m of equal weights
    c = background.rows - w[:, None, None] * background.rows.sum(axis=0)
    by_background = np.maximum(0.0, ((c**2).sum(axis=0) - background.noise) / (1 - one_mth))
    covariance = np.zeros_like(by_background)
    if sampled.self_match is not None and contributions is not None:
        is_row = sampled.self_match >= 0
        covariance = 2 * (_centred(contributions, sampled.weights)[is_row] * c[sampled.self_match[is_row]]).sum(axis=0)
    least = np.maximum(estimated.variance, LEAST * rows.variance)
    variance = np.maximum(rows.variance + by_background + covariance, least)
    variance = variance + np.maximum(background.correction_variance, 0.0)
    terms = (variance - by_background) ** 2 / rows.dof + by_background**2 * one_mth / (1 - one_mth)
    dof = np.divide(variance**2, terms, out=rows.dof.copy(), where=terms > 0)
    return Estimated(estimated.values + background.correction, variance, np.maximum(dof, 1.0))


def skewness(contributions: np.ndarray | None, weights: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Returns third standardised moments (L, p) of values with a given variance, from the contributions of examples."""
    if contributions is None:
        return np.zeros_like(variance)
    cubes = (_centred(contributions, weights) ** 3).sum(axis=0)
    skew = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=variance > 0)
    return np.asarray(np.clip(skew, -1.0, 1.0))


def _centred(contributions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns contributions (N, L, p) minus their expectation, the value times the weight of the example."""
    by_loss = weights[:, None, None] if weights.ndim == 1 else weights[:, :, None]
    return np.asarray(contributions - by_loss * contributions.sum(axis=0))


def leverage(contributions: np.ndarray | None, weights: np.ndarray) -> np.ndarray | None:
    """Returns leverage (2, L, p): shares of variance and of values from the 1 % of examples that deviate most."""
    if contributions is None:
        return None
    if weights.ndim > 1:
        by_loss = [leverage(contributions[:, [loss]], of_loss) for loss, of_loss in enumerate(weights.T)]
        return np.concatenate([shares for shares in by_loss if shares is not None], axis=1)
    squares = _centred(contributions, weights) ** 2
    heaviest = np.argsort(-squares, axis=0, kind="stable")[: max(1, np.count_nonzero(weights) // 100)]
    spread = squares.sum(axis=0)
    is_positive = spread > ROUNDING**2 * spread.max(axis=1, keepdims=True)  # else there is only rounding
    shares = []
    for numbers in (squares, contributions):
        top, total = np.take_along_axis(numbers, heaviest, axis=0).sum(axis=0), numbers.sum(axis=0)
        shares.append(np.divide(top, total, out=np.zeros_like(total), where=(total != 0) & is_positive))
    return np.stack(shares)


def unpaired(before: Target, after: Target) -> Target:
    r"""Returns the difference after minus before, (p,), of values of independently sampled rows (Welch 1947).

    .. math:: V = V_1 + V_2, \qquad \gamma = (\gamma_2 V_2^{3/2} - \gamma_1 V_1^{3/2}) / V^{3/2}

    The degrees of freedom are Satterthwaite's (:mod:`clarysage.inference.degrees_of_freedom`).

    Examples
    --------
    >>> before = Target(*(np.array([number]) for number in (1.0, 0.3, 99.0, 0.0)))
    >>> after = Target(*(np.array([number]) for number in (2.0, 0.4, 99.0, 0.0)))
    >>> difference = unpaired(before, after)
    >>> difference.values.item(), round(difference.std_error.item(), 6)
    (1.0, 0.5)
    """
    pair = [Estimated(of.values[None], of.std_error[None] ** 2, of.dof[None]) for of in (before, after)]
    difference = weighted_sum(pair, [-1.0, 1.0])
    error = np.sqrt(difference.covariance[0])
    cubes = after.skew * after.std_error**3 - before.skew * before.std_error**3
    skew = np.divide(cubes, error**3, out=np.zeros_like(error), where=error > 0)
    return Target(difference.values[0], error, difference.dof[0], np.clip(skew, -1.0, 1.0))


def paired(differences: np.ndarray, weights: np.ndarray, residual: np.ndarray) -> Target:
    r"""Returns the sum of paired differences (N, p) of contributions, as an estimate about the population of rows.

    With q_x the difference of the contributions of row x of weight w_x after and before, and N rows,

    .. math:: \Delta = \sum_x q_x, \qquad V = \frac{N}{N - 1} \sum_x (q_x - w_x \Delta)^2 + residual

    The first term includes the sampling variance of both runs as far as it differs between rows. ``residual`` (p,) is
    sampling variance that the differences do not show. It is left out where all differences are zero, since then the
    same random numbers have given the same values.
    """
    q = np.asarray(differences, dtype=np.float64)  # (N, p)
    difference = about_rows(q.sum(axis=0), q, weights, np.where((q != 0).any(axis=0), residual, 0.0))
    assert difference is not None
    return difference


def variance_leverage(contributions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the share (p,) of the variance over rows that comes from the 1 % of rows that deviate most."""
    shares = leverage(contributions[:, None, :], weights)
    assert shares is not None
    return np.asarray(shares[0, 0])
