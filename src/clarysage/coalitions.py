"""Coalitions, subsets S of the players, as boolean rows; their Shapley weights (Eqs. 6 and 8)."""

from __future__ import annotations

from math import comb

import numpy as np


def permutations(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """n independent uniform orders of p players, (n, p)."""
    return rng.permuted(np.broadcast_to(np.arange(p), (n, p)), axis=1)


def masks(codes: np.ndarray, p: int) -> np.ndarray:
    """Coalitions by number, player i being bit i: (n,) -> (n, p)."""
    return (codes[:, None] >> np.arange(p)[None, :]) & 1 > 0


def codes(coalitions: np.ndarray) -> np.ndarray:
    """Numbers of coalitions, the inverse of :func:`masks`: (..., p) -> (...)."""
    return np.asarray(coalitions @ (1 << np.arange(coalitions.shape[-1])))


def shapley_weights(p: int) -> np.ndarray:
    """Weight of a marginal contribution to a coalition of size s = 0, ..., p - 1 (Eq. 6)."""
    return np.array([1.0 / (p * comb(p - 1, s)) for s in range(p)])


def shapley_values(v: np.ndarray) -> np.ndarray:
    """Shapley values of a game given as a table over all coalitions by number: (2^p, ...) -> (p, ...)  (Eq. 6).

    Examples
    --------
    >>> shapley_values(np.array([0.0, 1.0, 2.0, 4.0]))
    array([1.5, 2.5])
    """
    p = int(v.shape[0]).bit_length() - 1
    subsets = np.arange(2**p)
    sizes = masks(subsets, p).sum(axis=1)
    weights = shapley_weights(p)
    values = np.empty((p, *v.shape[1:]))
    for player in range(p):
        without = subsets[(subsets >> player) & 1 == 0]
        values[player] = np.tensordot(weights[sizes[without]], v[without | (1 << player)] - v[without], axes=1)
    return values


def kernel_sizes(p: int) -> np.ndarray:
    """Probability of a size s = 1, ..., p - 1 under the Shapley kernel of Eq. 8, summed over subsets of that size."""
    sizes = np.arange(1, p)
    weights = (p - 1) / (sizes * (p - sizes))  # Eq. 8: the binomial cancels when all subsets of a size are pooled
    return np.asarray(weights / weights.sum())


def draw_by_kernel(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """n coalitions drawn with probability proportional to the Shapley kernel (Eq. 8), (n, p)."""
    sizes = rng.choice(np.arange(1, p), size=n, p=kernel_sizes(p))
    ranks = np.empty((n, p), dtype=np.intp)
    np.put_along_axis(ranks, permutations(n, p, rng), np.arange(p)[None, :], axis=1)
    return ranks < sizes[:, None]
