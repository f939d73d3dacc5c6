"""What can be said of a map of pixels without looking at it: signs in its centre, and how alike neighbours are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

SIDE = 28
BLOCK = 4  # pixels: what is drawn anew together, since neighbours are alike
LEVEL = 0.95


@dataclass(frozen=True)
class Measured:
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float


def image(values: np.ndarray) -> np.ndarray:
    """Values (784,) as rows of pixels (28, 28)."""
    return np.asarray(values, dtype=float).reshape(SIDE, SIDE)


def is_central(width: int) -> np.ndarray:
    """Whether pixels (784,) are in the square of so many pixels a side in the middle.

    Examples
    --------
    >>> int(is_central(14).sum())
    196
    """
    first = (SIDE - width) // 2
    inside = np.zeros((SIDE, SIDE), dtype=bool)
    inside[first : first + width, first : first + width] = True
    return inside.ravel()


def share(is_so: np.ndarray) -> Measured:
    """The share of pixels of which something is so, with Wilson's interval."""
    n, p, z = len(is_so), float(np.mean(is_so)), norm.ppf(0.5 + LEVEL / 2)
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Measured(p, float(middle - reach), float(middle + reach))


def correlation(one: np.ndarray, other: np.ndarray, *, resamples: int, seed: int = 0) -> Measured:
    """Correlation of two maps, with an interval over blocks of pixels that are drawn anew."""
    return _correlation(one, other, _block(np.arange(SIDE**2)), resamples, seed)


def smoothness(values: np.ndarray, *, resamples: int, seed: int = 0) -> Measured:
    """Correlation of pixels with those to their right and below, with such an interval.

    Examples
    --------
    >>> round(smoothness(np.arange(784.0), resamples=10).value, 3)
    0.998
    """
    place = np.arange(SIDE**2).reshape(SIDE, SIDE)
    one = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
    other = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
    return _correlation(values[one], values[other], _block(one), resamples, seed)


def _block(place: np.ndarray) -> np.ndarray:
    """The number of the block that each pixel is in."""
    across = SIDE // BLOCK
    return (place // SIDE) // BLOCK * across + (place % SIDE) // BLOCK


def _correlation(a: np.ndarray, b: np.ndarray, block: np.ndarray, resamples: int, seed: int) -> Measured:
    """Correlation of pairs, and its quantiles when their blocks are drawn with replacement."""
    a, b = a - a.mean(), b - b.mean()
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    sums = np.array([np.bincount(block, part) for part in (np.ones_like(a), a, b, a * a, b * b, a * b)])  # (6, blocks)
    blocks = sums.shape[1]
    often = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
    low, high = np.quantile(_from_sums(sums @ often.T), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Measured(float(_from_sums(sums.sum(axis=1))), float(low), float(high))


def _from_sums(sums: np.ndarray) -> np.ndarray:
    n, a, b, aa, bb, ab = sums
    spread = np.sqrt(np.maximum(n * aa - a**2, 0) * np.maximum(n * bb - b**2, 0))
    return np.divide(n * ab - a * b, spread, out=np.zeros_like(spread), where=spread > 0)
