"""Pairs of walks: an order of the players and its reverse, on the same example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.estimators.draws import contributions
from clarysage.protocols import Game, Influence, SubsampledWalks, Walks, ability

Asked = tuple[np.ndarray, np.ndarray]  # rows that went to the model, and its answers


@dataclass(frozen=True)
class Pairs:
    """What pairs found for each player (n, L, p), payoffs that a loss had to bound, model rows; and those, if kept.

    ``influence`` is of walks one way and then of those back, 2 n in all, with players (L, p) for steps.
    """

    found: np.ndarray
    clipped: int
    rows: int
    asked: Asked | None
    influence: Influence | None


def walk_pairs(
    game: Game, examples: np.ndarray, orders: np.ndarray, active: np.ndarray, rng: np.random.Generator, *,
    skip: bool, keep: bool = False, influence: bool = False, whole: bool = False,
) -> Pairs:  # fmt: skip
    """Walks of examples (n,) along orders (n, p) and back, each with background rows of its own, or ``whole``."""
    examples, both = np.tile(examples, 2), np.vstack([orders, orders[:, ::-1]])
    subsampled = ability(game, SubsampledWalks)
    if subsampled is None or whole:
        walks = Walks(game.walk(examples, both, rng), len(orders) * rows_of_pair(game, whole=whole))
    else:
        walks = subsampled.walk(examples, both, active, rng, skip=skip, keep=keep, influence=influence)
    one_way, back = np.split(contributions(walks.payoffs, both), 2)
    more = None if walks.influence is None else _by_player(walks.influence, both)
    return Pairs((one_way + back) / 2, int((walks.payoffs <= game.floor).sum()), walks.rows, walks.asked, more)


def _by_player(influence: Influence, orders: np.ndarray) -> Influence:
    """The same with differences at the entrance of players, (..., L, p), for steps."""
    n, q = influence.background_index.shape
    flat = influence.influence.reshape(n * q, *influence.influence.shape[2:])
    each = contributions(flat, np.repeat(orders, q, axis=0))
    correction = contributions(influence.bias_correction, orders)
    return Influence(correction, influence.background_index, each.reshape(n, q, *each.shape[1:]))


def rows_of_pair(game: Game, *, whole: bool = False) -> int:
    """Model rows of a pair of walks at most; with few background rows where the game can, unless it is ``whole``."""
    subsampled = ability(game, SubsampledWalks)
    rows = game.rows_per_payoff if subsampled is None or whole else subsampled.rows
    return 2 * (game.n_players - 1) * rows
