"""Independent draws: sampling of examples, the state of draws, its estimate, and what a game's ends tell."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clarysage.inference.estimate import Coverage, Estimate
from clarysage.inference.moments import Moments
from clarysage.inference.stopping import ROUNDING
from clarysage.protocols import Game


@dataclass(frozen=True)
class Draws:
    """The state of independent draws: moments, examples seen (as packed bits), and payoffs with a clipped loss."""

    moments: Moments
    seen: np.ndarray
    clipped: int

    def merge(self, other: Draws) -> Draws:
        return Draws(self.moments.merge(other.moments), self.seen | other.seen, self.clipped + other.clipped)


def draw_examples(game: Game, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Draws independent examples, each with probability equal to its weight."""
    weights = game.weights
    if weights[0] == weights[-1] and (weights == weights[0]).all():
        return rng.integers(len(weights), size=draws)
    return np.minimum(np.searchsorted(np.cumsum(weights), rng.random(draws), side="right"), len(weights) - 1)


def contributions(payoffs: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Returns contributions of players when they enter: payoffs (n, p + 1, L) along orders (n, p) -> (n, L, p)."""
    gains = np.diff(payoffs, axis=1).transpose(0, 2, 1)  # Algorithm 1: Delta = lossPrev - loss
    by_player = np.empty_like(gains)
    np.put_along_axis(by_player, np.broadcast_to(orders[:, None, :], gains.shape), gains, axis=2)
    return by_player


def collect(game: Game, contributions: np.ndarray, examples: np.ndarray, payoffs: np.ndarray) -> Draws:
    """Returns the state of draws with contributions (n, L, p), examples (n,) and payoffs (..., L)."""
    seen = np.zeros(len(game.weights), dtype=bool)
    seen[examples] = True
    return Draws(Moments.of(contributions), np.packbits(seen), int((payoffs <= game.floor).sum()))


def estimate_of_draws(game: Game, state: Draws, rows: int, shift: np.ndarray | float = 0.0) -> Estimate:
    """Returns the estimate that draws give; ``shift`` (L, p) is a part of the values that is known exactly."""
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
    """Returns the mean absolute loss without features, (L,), which the size of values is compared with."""
    return np.asarray(game.weights @ np.abs(game.ends[0]))


def is_null_game(game: Game) -> bool:
    """Returns whether no example's payoff differs between the ends, beyond rounding."""
    empty, full = game.ends
    return bool((np.abs(full - empty) <= ROUNDING * scale(game)).all())


def total(game: Game) -> np.ndarray:
    """Returns v(D) - v(empty), known exactly from the ends of the game, (L,)."""
    return np.asarray(game.weights @ (game.ends[1] - game.ends[0]))
