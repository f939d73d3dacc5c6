"""Permutation sampling of Shapley values: the paper's Algorithm 1 (Castro, Gomez & Tejada 2009).

References
----------
J. Castro, D. Gomez, J. Tejada (2009). Polynomial calculation of the Shapley value based on sampling. Computers &
Operations Research 36, 1726-1730.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import permutations
from clarysage.estimators.draws import Draws, collect, contributions, draw_examples, estimate_of_draws
from clarysage.estimators.limits import by_quarters, rows_per_chunk
from clarysage.inference.estimate import Estimate
from clarysage.protocols import Game


@dataclass(frozen=True)
class Permutation:
    """Algorithm 1: draw an example and an order of the players, let them enter; each gets the gain it causes.

    Draws are independent, so the values are means and their variance falls as 1/n (Theorem 2). The loss without
    features and the loss with all of them are known for every example and are not evaluated again.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 3]), Permutation(), seed=0).values
    array([[1., 2.]])
    """

    name: str = "permutation"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Draws,)

    def check(self, game: Game) -> None:
        """Accepts any game."""

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // max(1, self.rows(game, 1)))

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return draws * (game.n_players - 1) * game.rows_per_payoff

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Draws:
        examples = draw_examples(game, draws, rng)
        orders = permutations(draws, game.n_players, rng)
        payoffs = game.walk(examples, orders, rng)  # (n, p + 1, L)
        return collect(game, contributions(payoffs, orders), examples, payoffs)

    def merge(self, state: Draws, other: Draws) -> Draws:
        return state.merge(other)

    def read(self, game: Game, state: Draws) -> Estimate:
        return estimate_of_draws(game, state, self.rows(game, state.moments.count))
