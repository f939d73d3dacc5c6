"""v(S) of many coalitions of a game: each evaluated once, shared out to workers, the same bits whoever does it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.execution.seeds import WORTHS, stream
from clarysage.protocols import Executor, Game, Observer, Worth

ROUNDING = 1e-12  # share of the loss below which a power is zero up to rounding


@dataclass(frozen=True)
class Worths:
    """Powers (n,) of coalitions, the variances of their sampling, and what they cost."""

    values: np.ndarray
    variances: np.ndarray
    rows: int
    fits: int


def worths(
    game: Game, coalitions: np.ndarray, loss: int, *, executor: Executor, observer: Observer, entropy: int
) -> Worths:
    """v(S) by one of the game's losses, of coalitions (n, p); of those that come up again, once."""
    distinct, which = np.unique(coalitions, axis=0, return_inverse=True)
    size = distinct.sum(axis=1)
    inner = distinct[(size > 0) & (size < game.n_players)]
    before, begun = _learned(game), time.monotonic()
    found = []
    for one in _each(game, inner, executor, entropy):
        found.append(one)
        observer.count(len(found) / len(inner), time.monotonic() - begun)
    values, variances = np.zeros(len(distinct)), np.zeros(len(distinct))
    values[size == game.n_players] = (game.weights @ (game.ends[1] - game.ends[0]))[loss]  # exact, as that of none is 0
    is_inner = (size > 0) & (size < game.n_players)
    values[is_inner] = [one.value[loss] for one in found]
    variances[is_inner] = [one.variance[loss] for one in found]
    least = ROUNDING * max(float(np.abs(end[:, loss]).max()) for end in game.ends)
    values[np.abs(values) <= least] = 0.0
    fits, rows = (after - first for after, first in zip(_learned(game), before, strict=True))
    return Worths(values[which.ravel()], variances[which.ravel()], rows + sum(one.rows for one in found), fits)


def _each(game: Any, coalitions: np.ndarray, executor: Executor, entropy: int) -> Iterator[Worth]:
    if hasattr(game, "learning"):
        for payoffs in game.learning(list(coalitions), executor):
            gained = game.weights @ (payoffs - game.ends[0])
            yield Worth(gained, np.zeros_like(gained), 0)
    else:
        yield from executor.map(Evaluation(game, coalitions, entropy), range(len(coalitions)))


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The worth of a coalition by its number, which has a random stream of its own."""

    game: Any
    coalitions: np.ndarray
    entropy: int

    def __call__(self, number: int) -> Worth:
        rng, coalition, game = stream(self.entropy, WORTHS, number), self.coalitions[number], self.game
        if hasattr(game, "worth"):
            found: Worth = game.worth(coalition, rng)
            return found
        examples = np.flatnonzero(game.weights > 0)
        payoffs = game.payoff(examples, np.broadcast_to(coalition, (len(examples), len(coalition))), rng)
        gained = game.weights[examples] @ (payoffs - game.ends[0][examples])
        return Worth(gained, np.zeros_like(gained), len(examples) * game.rows_per_payoff)


def _learned(game: Any) -> tuple[int, int]:
    """Fits that a game has made so far, and the rows they saw."""
    if not hasattr(game, "learning"):
        return 0, 0
    return game.coalitions_learned * game.fits_per_coalition, game.rows_learned
