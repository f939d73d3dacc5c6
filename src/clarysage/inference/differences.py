"""Differences of two sets of values: paired, of the same rows, or unpaired, of rows drawn independently."""

from __future__ import annotations

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, weighted_sum
from clarysage.inference.estimate import Target
from clarysage.inference.population import about_rows, leverage


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
