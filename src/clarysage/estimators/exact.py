"""Exact Shapley values by enumeration of all coalitions (Eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import masks, shapley_coefficients, shapley_values
from clarysage.errors import InputError, Or, Set
from clarysage.estimators.draws import scale
from clarysage.estimators.limits import by_quarters, rows_per_chunk
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence
from clarysage.protocols import CoalitionInfluence, DistinctRows, Game, SubsampledGame, ability

EXAMPLES_AT_ONCE = 8192


@dataclass(frozen=True)
class CoalitionPayoffs:
    """Mean payoffs of consecutive coalitions, (n, L), their contributions to values, and the model rows they took.

    Attributes
    ----------
    contributions : (N, L, q) of examples of positive weight
    background : influence of background rows; None if the background is not a sample, or the game does not know it
    """

    payoffs: np.ndarray
    clipped: int
    contributions: np.ndarray
    background: BackgroundInfluence | None
    rows: int


@dataclass(frozen=True)
class Exact:
    """Evaluates every coalition on every example: values have no error, at a cost that doubles with each player.

    Refuses a game that would pass more than ``max_rows`` rows to the model.

    Parameters
    ----------
    max_rows : the largest number of rows that a game may pass to the model

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), Exact()).values
    array([[1.5, 2.5]])
    """

    max_rows: float = 1e9
    name: str = "exact"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (CoalitionPayoffs,)

    def check(self, game: Game) -> None:
        rows = self.rows(game, 2**game.n_players)
        if rows > self.max_rows or game.n_players > 24:
            raise InputError(
                "method",
                got=f"exact enumeration of {game.n_players} players, {rows:.3g} model rows",
                wanted=f"at most {self.max_rows:.3g} model rows and 24 players",
                hint=[
                    Set("method", "paired walks"),
                    ", groups of features",
                    Or(),
                    "fewer examples and background rows",
                ],
            )

    def without_limit(self) -> Exact:
        return replace(self, max_rows=float("inf"))

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // (len(game.weights) * game.rows_per_payoff))

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        examples, distinct = int((game.weights > 0).sum()), distinct_rows_of(game)
        if distinct is None:
            inner = min(draws, 2**game.n_players - 2)  # the payoffs of the two ends are known
            return int(inner * examples * game.rows_per_payoff)
        batches = -(-examples // EXAMPLES_AT_ONCE)
        rows = np.minimum(batches * distinct.most, examples * game.rows_per_payoff)
        rows[[0, -1]] = 0
        return int(rows[first : first + draws].sum()) + (0 if first else distinct.of_check)

    def limit(self, game: Game) -> int | None:
        return int(2**game.n_players)

    def coalitions(self, game: Game) -> int:
        """Returns the number of all coalitions between the empty and the full one."""
        return int(2**game.n_players - 2)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> CoalitionPayoffs:
        return enumerate_coalitions(game, first, draws, rng, shapley_coefficients)

    def merge(self, state: CoalitionPayoffs, other: CoalitionPayoffs) -> CoalitionPayoffs:
        background = None
        if state.background is not None and other.background is not None:
            background = state.background.plus(other.background)
        return CoalitionPayoffs(
            np.concatenate([state.payoffs, other.payoffs]),
            state.clipped + other.clipped,
            state.contributions + other.contributions,
            background,
            state.rows + other.rows,
        )

    def components(self, game: Game, state: CoalitionPayoffs) -> VarianceComponents:
        """Returns contributions of examples, and the influence of background rows."""
        return VarianceComponents.exact(state.contributions, state.background)

    def local_values(self, game: Game, state: CoalitionPayoffs) -> LocalValues:
        """Returns the values of the examples of positive weight, each in a game of its own."""
        return LocalValues.exact(state.contributions, game.weights[game.weights > 0])

    def read(self, game: Game, state: CoalitionPayoffs) -> Estimate:
        return Estimate.exact(
            shapley_values(state.payoffs).T,  # Eq. 6, (L, p)
            model_rows=game.rows_spent + state.rows,
            scale=scale(game),
            clipped=state.clipped,
            payoffs=state.payoffs,
        )


def distinct_rows_of(game: Game) -> DistinctRows | None:
    """Returns how many hybrid rows of coalitions are distinct; None if most of them are, or if this is not known."""
    subsampled = ability(game, SubsampledGame)
    return subsampled.distinct_rows if subsampled is not None and subsampled.is_sampled else None


def enumerate_coalitions(
    game: Game, first: int, draws: int, rng: np.random.Generator, shares: Callable[[np.ndarray], np.ndarray]
) -> CoalitionPayoffs:
    """Evaluates consecutive coalitions; ``shares`` (p,) -> (q,) gives the share of a coalition in each of q values."""
    losses = game.ends[0].shape[1]
    examples = np.flatnonzero(game.weights > 0)
    coalitions = masks(np.arange(first, first + draws), game.n_players)
    shape, distinct = (losses, len(shares(coalitions[0]))), distinct_rows_of(game)
    rows = 0 if distinct is None or first else distinct.of_check
    table = CoalitionPayoffs(
        np.zeros((draws, losses)), 0, np.zeros((len(examples), *shape)), _no_influence(game, shape), rows
    )
    for index, coalition in enumerate(coalitions):
        share = shares(coalition)
        for start in range(0, len(examples), EXAMPLES_AT_ONCE):
            batch = slice(start, start + EXAMPLES_AT_ONCE)
            weights = game.weights[examples[batch]]
            evaluated = _with_influence(game, examples[batch], weights, coalition, rng)
            table.payoffs[index] += weights @ evaluated.payoffs
            gained = evaluated.payoffs - game.ends[0][examples[batch]]  # shares of all coalitions sum to zero
            table.contributions[batch] += (weights[:, None] * gained)[:, :, None] * share
            clipped = table.clipped + int((evaluated.payoffs <= game.floor).sum())
            table = replace(table, clipped=clipped, rows=table.rows + evaluated.rows)
            if table.background is not None:
                table.background.rows[...] += evaluated.influence[:, :, None] * share
                table.background.correction[...] += evaluated.bias_correction[:, None] * share
    return table


def _with_influence(
    game: Game, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray, rng: np.random.Generator
) -> CoalitionInfluence:
    """Returns payoffs of a coalition, and the influence of the background; zeros if the background is not a sample."""
    subsampled = ability(game, SubsampledGame)
    if subsampled is not None and subsampled.is_sampled:
        evaluated = subsampled.coalition_influence(examples, weights, coalition)
    else:
        payoffs = game.payoff(examples, np.broadcast_to(coalition, (len(examples), len(coalition))), rng)
        evaluated = CoalitionInfluence(payoffs, np.zeros(1), np.zeros((1, 1)), len(examples) * game.rows_per_payoff)
    is_inner = coalition.any() and not coalition.all()
    return evaluated if is_inner else replace(evaluated, rows=0)  # the payoffs of the two ends are known


def _no_influence(game: Game, shape: tuple[int, int]) -> BackgroundInfluence | None:
    """Returns influences of zero, to be added to; None if the background is not a sample."""
    subsampled = ability(game, SubsampledGame)
    if subsampled is None or not subsampled.is_sampled:
        return None
    rows = np.zeros((len(subsampled.background_weights), *shape))
    return BackgroundInfluence(rows, *(np.zeros(shape) for _ in range(3)))
