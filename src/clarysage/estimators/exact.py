"""Exact Shapley values by enumeration of all coalitions (Eq. 6)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import masks, shapley_values
from clarysage.errors import InputError
from clarysage.estimate import Estimate
from clarysage.estimators.draws import ROWS_PER_CHUNK, by_quarters, scale
from clarysage.protocols import Game

EXAMPLES_AT_ONCE = 8192


@dataclass(frozen=True)
class Table:
    """Mean payoffs of consecutive coalitions, (n, L)."""

    payoffs: np.ndarray
    clipped: int


@dataclass(frozen=True)
class Exact:
    """Evaluates every coalition on every example: no error at all, at a cost that doubles with each player.

    Refuses a game that would pass more than ``max_rows`` rows to the model.
    """

    max_rows: float = 1e9
    name: str = "exact"

    def check(self, game: Game) -> None:
        rows = self.rows(game, 2**game.n_players)
        if rows > self.max_rows or game.n_players > 24:
            raise InputError(
                "method", got=f"exact enumeration of {game.n_players} players, {rows:.3g} model rows",
                wanted=f"at most {self.max_rows:.3g} model rows and 24 players",
                hint='method="paired walks", groups of features, or fewer examples and background rows',
            )  # fmt: skip

    def chunk(self, game: Game) -> int:
        return max(1, ROWS_PER_CHUNK // (len(game.weights) * game.rows_per_payoff))

    def prepared(self, game: Game, rows: float, rng: np.random.Generator, state: Table | None = None) -> Exact:
        return self

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        inner = min(draws, 2**game.n_players - 2)  # the two ends are known
        return int(inner * int((game.weights > 0).sum()) * game.rows_per_payoff)

    def limit(self, game: Game) -> int | None:
        return int(2**game.n_players)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Table:
        numbers = np.arange(first, first + draws)
        payoffs, clipped = np.zeros((draws, game.ends[0].shape[1])), 0
        examples = np.flatnonzero(game.weights > 0)
        for start in range(0, len(examples), EXAMPLES_AT_ONCE):
            part = examples[start : start + EXAMPLES_AT_ONCE]
            for place, coalition in enumerate(masks(numbers, game.n_players)):
                shown = game.payoff(part, np.broadcast_to(coalition, (len(part), len(coalition))), rng)
                payoffs[place] += game.weights[part] @ shown
                clipped += int((shown <= game.floor).sum())
        return Table(payoffs, clipped)

    def merge(self, one: Table, other: Table) -> Table:
        return Table(np.concatenate([one.payoffs, other.payoffs]), one.clipped + other.clipped)

    def read(self, game: Game, state: Table) -> Estimate:
        values = shapley_values(state.payoffs).T  # Eq. 6, (L, p)
        p = game.n_players
        rows = self.rows(game, 2**p)
        return Estimate(
            values=values, covariance=np.zeros((*values.shape, p)), dof=np.ones(values.shape), draws=0,
            model_rows=game.rows_spent + rows, visited=1.0, unvisited=0, draws_to_see_all=0.0, clipped=state.clipped,
            scale=scale(game),
        )  # fmt: skip
