"""What sampling estimators share: independent examples, the state of their draws, and how it reads."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clarysage.inference.estimate import Coverage, Estimate
from clarysage.inference.moments import Moments
from clarysage.inference.stopping import FEWEST_DRAWS, ROUNDING
from clarysage.protocols import Batched, Game, ability

ROWS_PER_CHUNK, FEWEST_ROWS_PER_CHUNK = 32_768, 2_048


@dataclass(frozen=True)
class Draws:
    """Moments of draws, the examples they looked at (as packed bits), payoffs that a loss had to bound."""

    moments: Moments
    seen: np.ndarray
    clipped: int

    def merge(self, other: Draws) -> Draws:
        return Draws(self.moments.merge(other.moments), self.seen | other.seen, self.clipped + other.clipped)


def rows_per_chunk(game: Game) -> int:
    """Model rows that a chunk is to have at most: as many as the model is to get at once, where the user said so."""
    batched = ability(game, Batched)
    return min(ROWS_PER_CHUNK, (batched and batched.batch_size) or ROWS_PER_CHUNK)


def draw_examples(game: Game, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Independent examples, each with probability equal to its weight."""
    weights = game.weights
    if weights[0] == weights[-1] and (weights == weights[0]).all():
        return rng.integers(len(weights), size=draws)
    return np.minimum(np.searchsorted(np.cumsum(weights), rng.random(draws), side="right"), len(weights) - 1)


def contributions(payoffs: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """What each player added when it entered: payoffs (n, p + 1, L) along orders (n, p) -> (n, L, p)."""
    gains = np.diff(payoffs, axis=1).transpose(0, 2, 1)  # Algorithm 1: Delta = lossPrev - loss
    found = np.empty_like(gains)
    np.put_along_axis(found, np.broadcast_to(orders[:, None, :], gains.shape), gains, axis=2)
    return found


def by_quarters(size: int, made: int) -> int:
    """Draws at the next look: the first comes at the fewest to judge by, later ones after a quarter of those made."""
    first = max(1, -(-FEWEST_DRAWS // size))
    return made + size * max(first, made // size // 4)


def collect(game: Game, contributions: np.ndarray, examples: np.ndarray, payoffs: np.ndarray) -> Draws:
    """The state of draws with the given contributions (n, L, p), examples (n,) and payoffs (..., L)."""
    seen = np.zeros(len(game.weights), dtype=bool)
    seen[examples] = True
    return Draws(Moments.of(contributions), np.packbits(seen), int((payoffs <= game.floor).sum()))


def read(game: Game, state: Draws, rows: int, shift: np.ndarray | float = 0.0) -> Estimate:
    """The estimate that a state stands for; ``shift`` (L, p) is a part of the values that is known exactly."""
    weights = game.weights
    is_seen = np.unpackbits(state.seen, count=len(weights)).astype(bool)
    is_positive = weights > 0
    to_see_all = (math.log(is_positive.sum()) + 1) / float(weights[is_positive].min())
    return Estimate(
        values=state.moments.mean + shift,
        covariance=state.moments.covariance_of_mean(),
        dof=np.full(state.moments.mean.shape, max(1.0, state.moments.count - 1.0)),
        draws=state.moments.count,
        model_rows=game.rows_spent + rows,
        scale=scale(game),
        coverage=Coverage.of(weights, is_seen, to_see_all),
        clipped=state.clipped,
    )


def scale(game: Game) -> np.ndarray:
    """Size of the loss without features, (L,)."""
    return np.asarray(game.weights @ np.abs(game.ends[0]))


def is_null(game: Game) -> bool:
    """Whether no example's payoff differs between the ends, beyond rounding."""
    empty, full = game.ends
    return bool((np.abs(full - empty) <= ROUNDING * scale(game)).all())


def total(game: Game) -> np.ndarray:
    """v(D) - v(empty), known exactly from the ends of the game, (L,)."""
    return np.asarray(game.weights @ (game.ends[1] - game.ends[0]))
