"""Leave one out (drop-column importance), and leave one in: one coalition a player (Table 3, first two subdomains)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.estimators.draws import scale
from clarysage.inference.estimate import Estimate, VarianceComponents
from clarysage.protocols import Game

EXAMPLES_AT_ONCE = 8192


@dataclass(frozen=True)
class Parts:
    """Contributions of examples of positive weight to the values of consecutive players, (N, L, n)."""

    parts: np.ndarray
    clipped: int


@dataclass(frozen=True)
class OneByOne:
    r"""Values of players from one coalition each, on every example.

    .. math:: \phi_i = v(D) - v(D \setminus \{i\}) \quad \text{or, if alone,} \quad \phi_i = v(\{i\}) - v(\emptyset)

    A draw is a player. Payoffs must be exact: values then have no sampling error.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> v = TabularGame([0, 1, 2, 4])
    >>> estimate(v, LEAVE_ONE_OUT).values, estimate(v, LEAVE_ONE_IN).values
    (array([[2., 3.]]), array([[1., 2.]]))
    """

    name: str
    is_in: bool

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Parts,)

    def check(self, game: Game) -> None:
        """Accepts any game."""

    def chunk(self, game: Game) -> int:
        return 1

    def pause(self, game: Game, made: int) -> int:
        return game.n_players

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        inner = draws if game.n_players > 1 else 0  # the payoffs of the ends are known
        return int(inner * int((game.weights > 0).sum()) * game.rows_per_payoff)

    def limit(self, game: Game) -> int | None:
        return game.n_players

    def coalitions(self, game: Game) -> int:
        """Returns one coalition for each player; none for a single player, who has only the empty and the full one."""
        return game.n_players if game.n_players > 1 else 0

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Parts:
        examples = np.flatnonzero(game.weights > 0)
        end = game.ends[0 if self.is_in else 1][examples]
        parts, clipped = np.empty((len(examples), end.shape[1], draws)), 0
        for index, player in enumerate(range(first, first + draws)):
            coalition = (np.arange(game.n_players) == player) == self.is_in
            for start in range(0, len(examples), EXAMPLES_AT_ONCE):
                batch = slice(start, start + EXAMPLES_AT_ONCE)
                payoffs = game.payoff(examples[batch], np.tile(coalition, (len(examples[batch]), 1)), rng)
                change = payoffs - end[batch] if self.is_in else end[batch] - payoffs
                parts[batch, :, index] = game.weights[examples[batch], None] * change
                clipped += int((payoffs <= game.floor).sum())
        return Parts(parts, clipped)

    def merge(self, state: Parts, other: Parts) -> Parts:
        return Parts(np.concatenate([state.parts, other.parts], axis=2), state.clipped + other.clipped)

    def components(self, game: Game, state: Parts) -> VarianceComponents:
        """Returns the contributions of examples."""
        return VarianceComponents.exact(state.parts)

    def read(self, game: Game, state: Parts) -> Estimate:
        return Estimate.exact(
            state.parts.sum(axis=0),  # (L, p)
            model_rows=game.rows_spent + self.rows(game, game.n_players),
            scale=scale(game),
            clipped=state.clipped,
        )


LEAVE_ONE_OUT = OneByOne("leave one out", is_in=False)
LEAVE_ONE_IN = OneByOne("leave one in", is_in=True)
