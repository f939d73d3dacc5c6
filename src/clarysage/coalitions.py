"""Coalitions, subsets S of the players, as boolean rows; their Shapley weights (Eqs. 6 and 8), and those of pairs."""

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


def value_shares(coalition: np.ndarray) -> np.ndarray:
    """What the payoff of a coalition (p,) counts for each player's Shapley value, (p,): Eq. 6, with its differences
    taken apart.

    Examples
    --------
    >>> value_shares(np.array([True, False]))
    array([ 0.5, -0.5])
    """
    weights, size = shapley_weights(len(coalition)), int(coalition.sum())
    return np.asarray(np.where(coalition, weights[size - 1], -weights[min(size, len(weights) - 1)]))


def interaction_shares(coalition: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    r"""What the payoff of a coalition (p,) counts for the interaction of each pair (K, 2) of players: (K,).

    .. math:: I_{ij} = \sum_{S \subseteq D \setminus \{i, j\}} \frac{|S|! (p - |S| - 2)!}{(p - 1)!}
        [v(S \cup ij) - v(S \cup i) - v(S \cup j) + v(S)]

    Examples
    --------
    >>> interaction_shares(np.array([True, False, True]), np.array([[0, 1], [0, 2]]))
    array([-0.5,  0.5])
    """
    p, inside = len(coalition), coalition[pairs].sum(axis=1)  # 0, 1 or 2 of the pair
    rest = int(coalition.sum()) - inside
    weights = np.array([1.0 / ((p - 1) * comb(p - 2, s)) for s in range(p - 1)])
    return np.asarray(np.where(inside == 1, -1.0, 1.0) * weights[rest])


def kernel_sizes(p: int) -> np.ndarray:
    """Probability of a size s = 1, ..., p - 1 under the Shapley kernel of Eq. 8, summed over subsets of that size."""
    sizes = np.arange(1, p)
    weights = (p - 1) / (sizes * (p - sizes))  # Eq. 8: the binomial cancels when all subsets of a size are pooled
    return np.asarray(weights / weights.sum())


def draw_by_kernel(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """n coalitions drawn with probability proportional to the Shapley kernel (Eq. 8), (n, p)."""
    return draw_by_size(n, kernel_sizes(p), rng)


def steady_sizes(p: int) -> np.ndarray:
    """The probability of a size s = 1, ..., p - 1 with which values from single coalitions scatter least.

    See :func:`value_weights`: payoffs that vary alike at all sizes give each player a variance of
    sum_s 1 / (s (p - s) q_s), which is least for q_s proportional to 1 / sqrt(s (p - s)), and then at most pi^2.
    """
    sizes = np.arange(1, p)
    weights = 1 / np.sqrt(sizes * (p - sizes))
    return np.asarray(weights / weights.sum())


def draw_by_size(n: int, chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """n coalitions of sizes 1, ..., p - 1 with the given chances, uniform among those of a size: (n, p)."""
    p = len(chances) + 1
    sizes = rng.choice(np.arange(1, p), size=n, p=chances)
    ranks = np.empty((n, p), dtype=np.intp)
    np.put_along_axis(ranks, permutations(n, p, rng), np.arange(p)[None, :], axis=1)
    return ranks < sizes[:, None]


def draw_evenly(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """n coalitions of sizes uniform on 0, ..., p, uniform among those of a size: (n, p).

    So the paper draws the subsets of Table 2. Whatever players are taken out, sizes of what is left are uniform too.
    """
    sizes = rng.integers(p + 1, size=n)
    ranks = np.empty((n, p), dtype=np.intp)
    np.put_along_axis(ranks, permutations(n, p, rng), np.arange(p)[None, :], axis=1)
    return ranks < sizes[:, None]


def even_chances(coalitions: np.ndarray) -> np.ndarray:
    """How likely :func:`draw_evenly` is to draw each coalition: (n, p) -> (n,).

    Examples
    --------
    >>> even_chances(masks(np.arange(4), 2)).round(3)
    array([0.333, 0.167, 0.167, 0.333])
    """
    p = coalitions.shape[1]
    by_size = np.array([1 / ((p + 1) * comb(p, s)) for s in range(p + 1)])
    return np.asarray(by_size[coalitions.sum(axis=1)])


def value_weights(coalitions: np.ndarray, chances: np.ndarray) -> np.ndarray:
    r"""What the payoff of a coalition so drawn counts for each player's Shapley value: (n, p) -> (n, p).

    Eq. 6 with its differences taken apart: of a game that pays nothing at its ends,

    .. math:: \phi_i = \sum_{S \ni i} \frac{v(S)}{s \binom{p}{s}} - \sum_{S \not\ni i} \frac{v(S)}{(p - s) \binom{p}{s}}
        = E\Big[\frac{v(S)}{q_s} \Big(\frac{1[i \in S]}{s} - \frac{1[i \notin S]}{p - s}\Big)\Big]

    Examples
    --------
    >>> value_weights(np.array([[True, False, False]]), np.array([0.5, 0.5]))
    array([[ 2., -1., -1.]])
    """
    p = coalitions.shape[1]
    sizes = coalitions.sum(axis=1, keepdims=True)
    return np.asarray(np.where(coalitions, 1 / sizes, -1 / (p - sizes)) / chances[sizes - 1])
