"""Antithetic permutations: pairs of walks along an order of the players and its reverse, on the same example.

The two walks of a pair err in opposite directions (antithetic variates, Hammersley & Morton 1956; for permutations of
players Mitchell et al. 2022): i's predecessors in the two orders are together all other players. The orders themselves
are drawn by :func:`clarysage.coalitions.permutations`, and reversed here.

References
----------
J. M. Hammersley, K. W. Morton (1956). A new Monte Carlo technique: antithetic variates. Mathematical Proceedings of
the Cambridge Philosophical Society 52, 449-475.
R. Mitchell, J. Cooper, E. Frank, G. Holmes (2022). Sampling permutations for Shapley value estimation. JMLR 23(43).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.estimators.draws import contributions
from clarysage.protocols import Game, Influence, SubsampledWalks, Walks, ability

Asked = tuple[np.ndarray, np.ndarray]  # rows that were passed to the model, and its predictions


@dataclass(frozen=True)
class WalkPairs:
    """Pairs of walks.

    Attributes
    ----------
    contributions : (n, L, p) of players, averaged over the two walks of a pair
    clipped, rows : payoffs with a clipped loss, and model rows
    asked : rows that were passed to the model, with its predictions, on request
    influence : of the background on contributions (L, p), first of the n forward walks, then of their n reverses; on
        request
    """

    contributions: np.ndarray
    clipped: int
    rows: int
    asked: Asked | None
    influence: Influence | None


def walk_pairs(
    game: Game,
    subsampled: SubsampledWalks | None,
    examples: np.ndarray,
    orders: np.ndarray,
    active: np.ndarray,
    rng: np.random.Generator,
    *,
    skip: bool,
    keep: bool = False,
    influence: bool = False,
) -> WalkPairs:
    """Walks examples (n,) along orders (n, p) and their reverses.

    Each walk takes a subsample of the background by the ability ``subsampled`` of the game; if that is None, all rows.
    """
    examples, both = np.tile(examples, 2), np.vstack([orders, orders[:, ::-1]])
    if subsampled is None:
        walks = Walks(game.walk(examples, both, rng), len(orders) * rows_of_pair(game, all_rows=True))
    else:
        walks = subsampled.walk(examples, both, active, rng, skip=skip, keep=keep, influence=influence)
    forward, reverse = np.split(contributions(walks.payoffs, both), 2)
    by_player = None if walks.influence is None else _by_player(walks.influence, both)
    clipped = int((walks.payoffs <= game.floor).sum())
    return WalkPairs((forward + reverse) / 2, clipped, walks.rows, walks.asked, by_player)


def _by_player(influence: Influence, orders: np.ndarray) -> Influence:
    """Returns the influence on contributions of players, (..., L, p), from that on payoffs at steps."""
    n, q = influence.background_index.shape
    on_payoffs = influence.influence.reshape(n * q, *influence.influence.shape[2:])
    on_contributions = contributions(on_payoffs, np.repeat(orders, q, axis=0))
    bias_correction = contributions(influence.bias_correction, orders)
    return Influence(
        bias_correction, influence.background_index, on_contributions.reshape(n, q, *on_contributions.shape[1:])
    )


def rows_of_pair(game: Game, *, all_rows: bool = False) -> int:
    """Returns the most model rows of a pair of walks: with subsamples of the background if the game has them."""
    subsampled = None if all_rows else ability(game, SubsampledWalks)
    rows = game.rows_per_payoff if subsampled is None else subsampled.rows
    return 2 * (game.n_players - 1) * rows
