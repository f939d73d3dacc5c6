"""Coalitions (subsets S of the players) as boolean masks, their Shapley weights (Eqs. 6 and 8), and random coalitions.

Shapley values: Shapley (1953). Shapley kernel: Charnes et al. (1988), Lundberg and Lee (2017). Shapley interaction
index of pairs: Grabisch and Roubens (1999). Weights inverse to probabilities of draws: Hansen and Hurwitz (1943) for
independent draws, which are made here (importance sampling), Horvitz and Thompson (1952) for any design.

References
----------
M. H. Hansen, W. N. Hurwitz (1943). On the theory of sampling from finite populations. Annals of Mathematical Statistics
14, 333-362.
D. G. Horvitz, D. J. Thompson (1952). A generalization of sampling without replacement from a finite universe. JASA 47,
663-685.
L. S. Shapley (1953). A value for n-person games. In Contributions to the Theory of Games II, 307-317. Princeton.
A. Charnes, B. Golany, M. Keane, J. Rousseau (1988). Extremal principle solutions of games in characteristic function
form: core, Chebychev and Shapley value generalizations. In Econometrics of Planning and Efficiency, 123-133.
M. Grabisch, M. Roubens (1999). An axiomatic approach to the concept of interaction among players in cooperative games.
International Journal of Game Theory 28, 547-565.
S. M. Lundberg, S.-I. Lee (2017). A unified approach to interpreting model predictions. NeurIPS 30.
"""

from __future__ import annotations

from math import comb

import numpy as np


def permutations(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draws n independent uniform permutations of p players, (n, p)."""
    return rng.permuted(np.broadcast_to(np.arange(p), (n, p)), axis=1)


def masks(codes: np.ndarray, p: int) -> np.ndarray:
    """Returns coalitions as masks, given their numbers, in which player i is bit i: (n,) -> (n, p)."""
    return (codes[:, None] >> np.arange(p)[None, :]) & 1 > 0


def codes(coalitions: np.ndarray) -> np.ndarray:
    """Returns the numbers of coalitions, the inverse of :func:`masks`: (..., p) -> (...)."""
    return np.asarray(coalitions @ (1 << np.arange(coalitions.shape[-1])))


def distinct(coalitions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the distinct coalitions among (n, p) in lexicographic order, and the index of each row's own, (n,).

    Examples
    --------
    >>> distinct(np.array([[True, False], [False, True], [True, False]]))
    (array([[False,  True],
           [ True, False]]), array([1, 0, 1]))
    """
    if (coalitions == coalitions[:1]).all():
        return coalitions[:1], np.zeros(len(coalitions), dtype=np.intp)
    _, first, index = np.unique(np.packbits(coalitions, axis=1), axis=0, return_index=True, return_inverse=True)
    return coalitions[first], index.ravel()


def shapley_weights(p: int) -> np.ndarray:
    """Returns the weights of marginal contributions to coalitions of size s = 0, ..., p - 1 (Eq. 6)."""
    return np.array([1.0 / (p * comb(p - 1, s)) for s in range(p)])


def shapley_values(v: np.ndarray) -> np.ndarray:
    """Returns the Shapley values of a game given as a table over coalition numbers: (2^p, ...) -> (p, ...)  (Eq. 6).

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


def shapley_coefficients(coalition: np.ndarray) -> np.ndarray:
    """Returns the coefficient of a coalition's payoff in each player's Shapley value: (p,) -> (p,).

    Eq. 6 is a linear combination of payoffs once its differences are expanded.

    Examples
    --------
    >>> shapley_coefficients(np.array([True, False]))
    array([ 0.5, -0.5])
    """
    weights, size = shapley_weights(len(coalition)), int(coalition.sum())
    return np.asarray(np.where(coalition, weights[size - 1], -weights[min(size, len(weights) - 1)]))


def interaction_coefficients(coalition: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    r"""Returns the coefficient of a coalition's payoff in the interaction index of each pair: (p,), (K, 2) -> (K,).

    .. math:: I_{ij} = \sum_{S \subseteq D \setminus \{i, j\}} \frac{|S|! (p - |S| - 2)!}{(p - 1)!}
        [v(S \cup ij) - v(S \cup i) - v(S \cup j) + v(S)]

    Examples
    --------
    >>> interaction_coefficients(np.array([True, False, True]), np.array([[0, 1], [0, 2]]))
    array([-0.5,  0.5])
    """
    p, inside = len(coalition), coalition[pairs].sum(axis=1)  # 0, 1 or 2 players of the pair
    n_others = int(coalition.sum()) - inside
    weights = np.array([1.0 / ((p - 1) * comb(p - 2, s)) for s in range(p - 1)])
    return np.asarray(np.where(inside == 1, -1.0, 1.0) * weights[n_others])


def kernel_size_probabilities(p: int) -> np.ndarray:
    """Returns the probabilities of sizes s = 1, ..., p - 1 under the Shapley kernel (Eq. 8)."""
    sizes = np.arange(1, p)
    weights = (p - 1) / (sizes * (p - sizes))  # Eq. 8: the binomial cancels in the sum over subsets of a size
    return np.asarray(weights / weights.sum())


def draw_by_kernel(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draws n coalitions with probability proportional to the Shapley kernel (Eq. 8), (n, p)."""
    return draw_by_size(n, kernel_size_probabilities(p), rng)


def minimum_variance_probabilities(p: int) -> np.ndarray:
    """Returns probabilities of sizes s = 1, ..., p - 1 that minimise the variance of Horvitz-Thompson estimates.

    If payoffs have the same variance at all sizes, the estimate of each player (:func:`horvitz_thompson_weights`) has a
    variance of sum_s 1 / (s (p - s) q_s). It is minimal for q_s proportional to 1 / sqrt(s (p - s)), and then at most
    pi^2.
    """
    sizes = np.arange(1, p)
    weights = 1 / np.sqrt(sizes * (p - sizes))
    return np.asarray(weights / weights.sum())


def draw_by_size(n: int, probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws n coalitions, given probabilities of the sizes 1, ..., p - 1; uniform within a size: (n, p)."""
    p = len(probabilities) + 1
    sizes = rng.choice(np.arange(1, p), size=n, p=probabilities)
    ranks = np.empty((n, p), dtype=np.intp)
    np.put_along_axis(ranks, permutations(n, p, rng), np.arange(p)[None, :], axis=1)
    return ranks < sizes[:, None]


def draw_uniform_sizes(n: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Draws n coalitions with sizes uniform on 0, ..., p, and uniform within a size: (n, p).

    The paper draws the subsets of Table 2 in this way. After removing any players, the sizes are still uniform.
    """
    sizes = rng.integers(p + 1, size=n)
    ranks = np.empty((n, p), dtype=np.intp)
    np.put_along_axis(ranks, permutations(n, p, rng), np.arange(p)[None, :], axis=1)
    return ranks < sizes[:, None]


def uniform_size_probabilities(coalitions: np.ndarray) -> np.ndarray:
    """Returns the probability of each coalition under :func:`draw_uniform_sizes`: (n, p) -> (n,).

    Examples
    --------
    >>> uniform_size_probabilities(masks(np.arange(4), 2)).round(3)
    array([0.333, 0.167, 0.167, 0.333])
    """
    p = coalitions.shape[1]
    by_size = np.array([1 / ((p + 1) * comb(p, s)) for s in range(p + 1)])
    return np.asarray(by_size[coalitions.sum(axis=1)])


def horvitz_thompson_weights(coalitions: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    r"""Returns the weights of drawn coalitions' payoffs in estimates of each player's Shapley value: (n, p) -> (n, p).

    ``probabilities`` q_s of the sizes are those of :func:`draw_by_size`; weights are inverse to them (Horvitz and
    Thompson 1952). If the payoffs of the empty and the full coalition are zero, Eq. 6 is

    .. math:: \phi_i = \sum_{S \ni i} \frac{v(S)}{s \binom{p}{s}} - \sum_{S \not\ni i} \frac{v(S)}{(p - s) \binom{p}{s}}
        = E\Big[\frac{v(S)}{q_s} \Big(\frac{1[i \in S]}{s} - \frac{1[i \notin S]}{p - s}\Big)\Big]

    Examples
    --------
    >>> horvitz_thompson_weights(np.array([[True, False, False]]), np.array([0.5, 0.5]))
    array([[ 2., -1., -1.]])
    """
    p = coalitions.shape[1]
    sizes = coalitions.sum(axis=1, keepdims=True)
    return np.asarray(np.where(coalitions, 1 / sizes, -1 / (p - sizes)) / probabilities[sizes - 1])
