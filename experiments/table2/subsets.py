"""Random subsets of features as the paper draws them: first how many, then which."""

from __future__ import annotations

import numpy as np


def drawn(d: int, number: int, seed: int) -> np.ndarray:
    """Boolean rows, one a subset of ``d`` features: a size uniform on 0..d, then a uniform subset of that size.

    The i-th subset depends on the seed and on i alone, so that longer runs go on where shorter ones ended.

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
    """A subset as a short text: its members' bits in hexadecimal.

    Examples
    --------
    >>> named(np.array([True, False, False, False, True]))
    '88'
    """
    return np.packbits(subset).tobytes().hex()


def members(name: str, d: int) -> np.ndarray:
    """The places of the members of a subset that was named.

    Examples
    --------
    >>> members("88", 5).tolist()
    [0, 4]
    """
    return np.flatnonzero(np.unpackbits(np.frombuffer(bytes.fromhex(name), dtype=np.uint8))[:d])
