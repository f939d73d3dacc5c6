r"""Variances about populations: from this data and this background to those that they were drawn from.

A value is a mean over examples, of a game whose payoffs are means over background rows: a functional of two samples,
as two-sample U- and V-statistics are. Its variance over other samples comes of its influence function at each example
and at each background row. With e_x the contribution of example x of weight w_x, and c_k = w_k (psi_k - mean) the
centred influence of background row k (:mod:`clarysage.inference.influence`),

.. math:: V_R = \frac{N}{N - 1} \sum_x (e_x - w_x \hat\phi)^2, \qquad
    V_B = \frac{m}{m - 1} \sum_k c_k^2 - noise, \qquad V_X = 2 \sum_x (e_x - w_x \hat\phi) c_{own(x)}

and V = V_R + V_B + V_X. V_X is for examples that are background rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, satterthwaite, satterthwaite_term, weighted_sum
from clarysage.inference.estimate import Target, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence

ONE_ROW = 1 - 1e-9  # the sum of squared weights of a background of which one row has it all
FEWEST = 4.0  # degrees of freedom, however much hangs on one example: there is no more to be said of it
ROUNDING = 1e-12  # of the deviation over examples of another value of the same game, below which there is none
LEAST = 0.25  # of the variance over examples, that over both must be, lest a chance covariance take all of it


@dataclass(frozen=True)
class Sampled:
    """How the data were sampled.

    Attributes
    ----------
    weights : (N,) of examples of positive weight, adding up to one
    background_weights : (m,) of background rows, adding up to one
    self_match : (N,) the background row that each of these examples is, -1 for none; None where none is one
    """

    weights: np.ndarray
    background_weights: np.ndarray
    self_match: np.ndarray | None = None


def targets(estimated: Estimated, components: VarianceComponents, sampled: Sampled) -> dict[str, Target]:
    """What values say of the population of "rows", and of the "population" of rows and background.

    Empty where there is one example, of which nothing can be learned about others.
    """
    return {
        about: Target(
            of.values, np.sqrt(of.variance), of.dof, skewness(components.contributions, sampled.weights, of.variance)
        )
        for about, of in estimates(estimated, components, sampled).items()
    }


def estimates(estimated: Estimated, components: VarianceComponents, sampled: Sampled) -> dict[str, Estimated]:
    """Estimates about the population of rows, and about those of rows and background, with their variances (L, p).

    The variance about both is at least that of the run and a quarter of V_R. Degrees of freedom are Satterthwaite's;
    those of V_R are fewer than N - 1 where few examples make up much of it.
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
    """What values (p,), the sums of contributions (N, p) of rows of the given weights, say of the population of rows.

    None where there is one row alone. ``residual`` (p,) is the variance of what contributions do not show.
    """
    nothing, sampled = np.zeros((1, len(values))), Sampled(weights, np.ones(1))
    components = VarianceComponents(contributions[:, None], nothing, nothing + residual, len(contributions) - 1.0)
    rows = targets(Estimated(values[None], nothing, np.ones_like(nothing)), components, sampled).get("rows")
    return None if rows is None else Target(rows.values[0], rows.std_error[0], rows.dof[0], rows.skew[0])


def _over_rows(estimated: Estimated, components: VarianceComponents, weights: np.ndarray) -> Estimated:
    dof = np.full(estimated.values.shape, max(1.0, components.dof))
    if components.contributions is None:
        return Estimated(estimated.values, estimated.variance + components.between, dof)
    n, squares = len(components.contributions), _centred(components.contributions, weights) ** 2
    variance = squares.sum(axis=0) * (n / max(1, n - 1)) + components.residual
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
    """Third standardised moments (L, p) of values of the given variance, by what examples contribute to them."""
    if contributions is None:
        return np.zeros_like(variance)
    cubes = (_centred(contributions, weights) ** 3).sum(axis=0)
    skew = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=variance > 0)
    return np.asarray(np.clip(skew, -1.0, 1.0))


def _centred(contributions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Contributions (N, L, p), less the share of the value that examples of their weight have."""
    return np.asarray(contributions - weights[:, None, None] * contributions.sum(axis=0))


def leverage(contributions: np.ndarray | None, weights: np.ndarray) -> np.ndarray | None:
    """Shares of the variance over examples, and of the values, that the heaviest one in a hundred carry, (2, L, p)."""
    if contributions is None:
        return None
    squares = _centred(contributions, weights) ** 2
    heaviest = np.argsort(-squares, axis=0, kind="stable")[: max(1, len(squares) // 100)]
    spread = squares.sum(axis=0)
    is_there = spread > ROUNDING**2 * spread.max(axis=1, keepdims=True)  # a player without effect has rounding alone
    shares = []
    for numbers in (squares, contributions):
        few, whole = np.take_along_axis(numbers, heaviest, axis=0).sum(axis=0), numbers.sum(axis=0)
        shares.append(np.divide(few, whole, out=np.zeros_like(whole), where=(whole != 0) & is_there))
    return np.stack(shares)


def unpaired(before: Target, after: Target) -> Target:
    r"""After less before, (p,), where the two come from rows drawn independently (Welch).

    .. math:: V = V_1 + V_2, \qquad \gamma = (\gamma_2 V_2^{3/2} - \gamma_1 V_1^{3/2}) / V^{3/2}

    with degrees of freedom as of any sum of estimated variances
    (:mod:`clarysage.inference.degrees_of_freedom`).

    Examples
    --------
    >>> one = Target(*(np.array([number]) for number in (1.0, 0.3, 99.0, 0.0)))
    >>> other = Target(*(np.array([number]) for number in (2.0, 0.4, 99.0, 0.0)))
    >>> difference = unpaired(one, other)
    >>> difference.values.item(), round(difference.std_error.item(), 6)
    (1.0, 0.5)
    """
    both = [Estimated(one.values[None], one.std_error[None] ** 2, one.dof[None]) for one in (before, after)]
    difference = weighted_sum(both, [-1.0, 1.0])
    error = np.sqrt(difference.covariance[0])
    cubes = after.skew * after.std_error**3 - before.skew * before.std_error**3
    skew = np.divide(cubes, error**3, out=np.zeros_like(error), where=error > 0)
    return Target(difference.values[0], error, difference.dof[0], np.clip(skew, -1.0, 1.0))


def paired(parts: np.ndarray, weights: np.ndarray, rest: np.ndarray) -> Target:
    r"""The sum of differences (N, p) of what the same rows contribute after and before, about other rows like these.

    With q_x the difference of row x of weight w_x, and N rows,

    .. math:: \Delta = \sum_x q_x, \qquad V = \frac{N}{N - 1} \sum_x (q_x - w_x \Delta)^2 + rest

    which holds the sampling of both runs, as far as it differs from row to row. ``rest`` (p,) is the variance of what
    parts do not show; none where all of them are zero, since then the same random numbers made the same values.
    """
    q = np.asarray(parts, dtype=np.float64)  # (N, p)
    difference = about_rows(q.sum(axis=0), q, weights, np.where((q != 0).any(axis=0), rest, 0.0))
    assert difference is not None
    return difference


def heaviest(parts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of the variance over rows that the heaviest one in a hundred of parts (N, p) carry, (p,)."""
    shares = leverage(parts[:, None, :], weights)
    assert shares is not None
    return np.asarray(shares[0, 0])
