"""Differences of two sets of values: of the same rows, or of rows drawn apart."""

from __future__ import annotations

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, added
from clarysage.inference.estimate import Target
from clarysage.inference.population import Reach, Sampled, about_rows, tails


def unpaired(before: Target, after: Target) -> Target:
    r"""After less before, (p,), where the two come from rows drawn independently (Welch).

    .. math:: V = V_1 + V_2, \qquad \gamma = (\gamma_2 V_2^{3/2} - \gamma_1 V_1^{3/2}) / V^{3/2}

    with degrees of freedom as of any sum of estimated variances
    (:func:`~clarysage.inference.degrees_of_freedom.degrees`).

    Examples
    --------
    >>> one = Target(*(np.array([number]) for number in (1.0, 0.3, 99.0, 0.0)))
    >>> other = Target(*(np.array([number]) for number in (2.0, 0.4, 99.0, 0.0)))
    >>> found = unpaired(one, other)
    >>> found.values.item(), round(found.std_error.item(), 6)
    (1.0, 0.5)
    """
    both = [Estimated(one.values[None], one.std_error[None] ** 2, one.dof[None]) for one in (before, after)]
    found = added(both, [-1.0, 1.0])
    error = np.sqrt(found.covariance[0])
    cubes = after.skew * after.std_error**3 - before.skew * before.std_error**3
    skew = np.divide(cubes, error**3, out=np.zeros_like(error), where=error > 0)
    return Target(found.values[0], error, found.dof[0], np.clip(skew, -1.0, 1.0))


def paired(parts: np.ndarray, weights: np.ndarray, rest: np.ndarray) -> Target:
    r"""The sum of differences (N, p) of what the same rows contribute after and before, about other rows like these.

    With q_x the difference of row x of weight w_x, and N rows,

    .. math:: \Delta = \sum_x q_x, \qquad V = \frac{N}{N - 1} \sum_x (q_x - w_x \Delta)^2 + rest

    which holds the sampling of both runs, as far as it differs from row to row. ``rest`` (p,) is the variance of what
    parts do not show; none where all of them are zero, since then the same random numbers made the same values.
    """
    q = np.asarray(parts, dtype=np.float64)  # (N, p)
    found = about_rows(q.sum(axis=0), q, weights, np.where((q != 0).any(axis=0), rest, 0.0))
    assert found is not None
    return found


def heaviest(parts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The share of the variance over rows that the heaviest one in a hundred of parts (N, p) carry, (p,)."""
    nothing = np.zeros((1, parts.shape[1]))
    found = tails(Reach(parts[:, None, :], nothing, nothing, len(parts) - 1.0), Sampled(weights, np.ones(1)))
    assert found is not None
    return np.asarray(found[0, 0])
