"""Random subsets of features as the paper draws them: first the size, then the members."""

from __future__ import annotations

import numpy as np


def drawn(d: int, number: int, seed: int) -> np.ndarray:
    """Draws subsets of ``d`` features as a mask (number, d): a uniform size 0..d, then a uniform subset of this size.

    The i-th subset depends only on the seed and on i, so that a longer run extends a shorter one.

    Examples
    --------
    >>> drawn(3, 5, seed=0).shape
    (5, 3)
    >>> bool((drawn(3, 5, seed=0) == drawn(3, 9, seed=0)[:5]).all())
    True
    """
    chosen = np.zeros((number, d), dtype=bool)
    for i, row in enumerate(chosen):
        rng = np.random.default_rng([seed, i])
        row[rng.permutation(d)[: rng.integers(d + 1)]] = True
    return chosen


def named(subset: np.ndarray) -> str:
    """Returns a short name of a subset: its mask in hexadecimal.

    Examples
    --------
    >>> named(np.array([True, False, False, False, True]))
    '88'
    """
    return np.packbits(subset).tobytes().hex()


def members(name: str, d: int) -> np.ndarray:
    """Returns the indices of the members of a subset by its name.

    Examples
    --------
    >>> members("88", 5).tolist()
    [0, 4]
    """
    return np.flatnonzero(np.unpackbits(np.frombuffer(bytes.fromhex(name), dtype=np.uint8))[:d])
