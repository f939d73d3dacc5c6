"""Measures of a map of pixels: shares of pixels, correlation with another map, and smoothness, with intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

SIDE = 28
BLOCK = 4  # pixels; the bootstrap resamples blocks, since neighbours are correlated
LEVEL = 0.95


@dataclass(frozen=True)
class Measured:
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float


def image(values: np.ndarray) -> np.ndarray:
    """Returns values (784,) as an image (28, 28)."""
    return np.asarray(values, dtype=float).reshape(SIDE, SIDE)


def is_central(width: int) -> np.ndarray:
    """Returns a mask (784,) of the pixels in the central square of this width.

    Examples
    --------
    >>> int(is_central(14).sum())
    196
    """
    first = (SIDE - width) // 2
    inside = np.zeros((SIDE, SIDE), dtype=bool)
    inside[first : first + width, first : first + width] = True
    return inside.ravel()


def share(has_property: np.ndarray) -> Measured:
    """Returns the share of pixels with a property, with Wilson's interval."""
    n, p, z = len(has_property), float(np.mean(has_property)), norm.ppf(0.5 + LEVEL / 2)
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return Measured(p, float(middle - reach), float(middle + reach))


def correlation(a: np.ndarray, b: np.ndarray, *, resamples: int, seed: int = 0) -> Measured:
    """Returns the correlation of two maps, with a block bootstrap interval."""
    return _correlation(a, b, _block(np.arange(SIDE**2)), resamples, seed)


def smoothness(values: np.ndarray, *, resamples: int, seed: int = 0) -> Measured:
    """Returns the correlation of pixels with those to their right and below, with a block bootstrap interval.

    Examples
    --------
    >>> round(smoothness(np.arange(784.0), resamples=10).value, 3)
    0.998
    """
    pixel = np.arange(SIDE**2).reshape(SIDE, SIDE)
    first = np.concatenate([pixel[:, :-1].ravel(), pixel[:-1].ravel()])
    second = np.concatenate([pixel[:, 1:].ravel(), pixel[1:].ravel()])
    return _correlation(values[first], values[second], _block(first), resamples, seed)


def _block(pixel: np.ndarray) -> np.ndarray:
    """Returns the number of the block that contains each pixel."""
    across = SIDE // BLOCK
    return (pixel // SIDE) // BLOCK * across + (pixel % SIDE) // BLOCK


def _correlation(a: np.ndarray, b: np.ndarray, block: np.ndarray, resamples: int, seed: int) -> Measured:
    """Returns the correlation of pairs, and its quantiles when blocks are drawn with replacement."""
    a, b = a - a.mean(), b - b.mean()
    a, b = a / (np.abs(a).max() or 1.0), b / (np.abs(b).max() or 1.0)
    sums = np.array([np.bincount(block, part) for part in (np.ones_like(a), a, b, a * a, b * b, a * b)])  # (6, blocks)
    blocks = sums.shape[1]
    counts = np.random.default_rng(seed).multinomial(blocks, np.full(blocks, 1 / blocks), size=resamples)
    low, high = np.quantile(_from_sums(sums @ counts.T), [0.5 - LEVEL / 2, 0.5 + LEVEL / 2])
    return Measured(float(_from_sums(sums.sum(axis=1))), float(low), float(high))


def _from_sums(sums: np.ndarray) -> np.ndarray:
    n, a, b, aa, bb, ab = sums
    spread = np.sqrt(np.maximum(n * aa - a**2, 0) * np.maximum(n * bb - b**2, 0))
    return np.divide(n * ab - a * b, spread, out=np.zeros_like(spread), where=spread > 0)
