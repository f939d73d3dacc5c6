"""Absolute values of noisy numbers, freed of most of what the noise adds to them."""

from __future__ import annotations

import numpy as np


def absolute(mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Estimates of absolute values of numbers known up to normal errors, their variances, and what was taken off.

    The absolute value of a noisy number is too large on average, by

    .. math:: E|M| - |\mu| = \sigma c(|\mu| / \sigma), \qquad c(t) = 2 \varphi(t) - 2 t \Phi(-t)

    (the folded normal distribution). This, with M in the place of mu, is taken off: of a number that is zero two fifths
    of what noise adds, of one of two standard errors a little more than it adds, of many numbers spread evenly about
    zero exactly all. So what is left is at most of the size of what was taken off, and nothing where errors are small.

    Examples
    --------
    >>> found, variance, less = absolute(np.array([-3.0, 0.0, 5.0]), np.array([1.0, 1.0, 0.0]))
    >>> found.round(3), less.round(3)
    (array([ 2.999, -0.798,  5.   ]), array([0.001, 0.798, 0.   ]))
    """
    from scipy.stats import norm as normal

    size, error = np.abs(mean), np.sqrt(variance)
    t = np.divide(size, error, out=np.full_like(size, np.inf), where=error > 0)
    below = normal.cdf(-t)
    less = error * 2 * normal.pdf(t) - 2 * size * below
    less = np.where(error > 0, less, 0.0)
    return size - less, variance * (1 + 2 * below) ** 2, less
