"""Antithetic permutations: pairs of walks along an order of the players and its reverse, on the same example.

The two walks of a pair err in opposite directions (antithetic variates, Hammersley & Morton 1956; for permutations of
players Mitchell et al. 2022): i's predecessors in the two orders are together all other players.

References
----------
J. M. Hammersley, K. W. Morton (1956). A new Monte Carlo technique: antithetic variates. Mathematical Proceedings of
the Cambridge Philosophical Society 52, 449-475.
R. Mitchell, J. Cooper, E. Frank, G. Holmes (2022). Sampling permutations for Shapley value estimation. JMLR 23, 1-46.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.estimators.draws import contributions
from clarysage.protocols import Game, Influence, SubsampledWalks, Walks, ability

Asked = tuple[np.ndarray, np.ndarray]  # rows that went to the model, and its answers


@dataclass(frozen=True)
class Pairs:
    """What players add on average over the walks of a pair, (n, L, p), payoffs that a loss bounded, and model rows.

    ``influence`` is of walks one way and then of those back, 2 n in all, with players (L, p) for steps.
    """

    contributions: np.ndarray
    clipped: int
    rows: int
    asked: Asked | None
    influence: Influence | None


def walk_pairs(
    game: Game,
    examples: np.ndarray,
    orders: np.ndarray,
    active: np.ndarray,
    rng: np.random.Generator,
    *,
    skip: bool,
    keep: bool = False,
    influence: bool = False,
    all_rows: bool = False,
) -> Pairs:
    """Walks examples (n,) along orders (n, p) and back, each with a subsample of the background, or with all rows."""
    examples, both = np.tile(examples, 2), np.vstack([orders, orders[:, ::-1]])
    subsampled = ability(game, SubsampledWalks)
    if subsampled is None or all_rows:
        walks = Walks(game.walk(examples, both, rng), len(orders) * rows_of_pair(game, all_rows=all_rows))
    else:
        walks = subsampled.walk(examples, both, active, rng, skip=skip, keep=keep, influence=influence)
    one_way, back = np.split(contributions(walks.payoffs, both), 2)
    by_player = None if walks.influence is None else _by_player(walks.influence, both)
    return Pairs((one_way + back) / 2, int((walks.payoffs <= game.floor).sum()), walks.rows, walks.asked, by_player)


def _by_player(influence: Influence, orders: np.ndarray) -> Influence:
    """The influence on what players add when they enter, (..., L, p), from that on payoffs at steps."""
    n, q = influence.background_index.shape
    flat = influence.influence.reshape(n * q, *influence.influence.shape[2:])
    each = contributions(flat, np.repeat(orders, q, axis=0))
    correction = contributions(influence.bias_correction, orders)
    return Influence(correction, influence.background_index, each.reshape(n, q, *each.shape[1:]))


def rows_of_pair(game: Game, *, all_rows: bool = False) -> int:
    """Model rows of a pair of walks at most: with a subsample of the background where the game can, or all rows."""
    subsampled = ability(game, SubsampledWalks)
    rows = game.rows_per_payoff if subsampled is None or all_rows else subsampled.rows
    return 2 * (game.n_players - 1) * rows
