"""v(S) of many coalitions of a game, shared out to workers, the same bits whoever does it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.execution.seeds import WORTHS, stream
from clarysage.protocols import CoalitionValue, CoalitionValues, Executor, Game, LearnsCoalitions, Observer, ability

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
    """v(S) by one of the game's losses, of coalitions (n, p).

    A coalition that comes up again has the same v(S) where that is exact, and where not an estimate of its own: noise
    is then independent of draw to draw, as resampling takes it to be.
    """
    sizes, before, begun = coalitions.sum(axis=1), _learned(game), time.monotonic()
    inner = np.flatnonzero((sizes > 0) & (sizes < game.n_players))
    firsts = _firsts(coalitions[inner], inner)
    evaluation, found = Evaluation(game, coalitions, entropy), dict[int, CoalitionValue]()

    def look(places: list[int]) -> None:
        for place, worth in zip(places, _each(evaluation, places, executor), strict=True):
            found[place] = worth
            observer.count(min(1.0, len(found) / len(inner)), time.monotonic() - begun)

    look(sorted(set(firsts.values())))
    look([place for place, first in firsts.items() if place != first and found[first].variance.any()])
    rows = sum(worth.rows for worth in found.values())
    values, variances = np.zeros(len(coalitions)), np.zeros(len(coalitions))
    values[sizes == game.n_players] = (game.weights @ (game.ends[1] - game.ends[0]))[loss]  # that of nobody is 0
    for place, first in firsts.items():
        worth = found.get(place, found[first])
        values[place], variances[place] = worth.value[loss], worth.variance[loss]
    values[np.abs(values) <= ROUNDING * max(float(np.abs(end[:, loss]).max()) for end in game.ends)] = 0.0
    observer.count(1.0, time.monotonic() - begun)
    fits, learned_from = (after - first for after, first in zip(_learned(game), before, strict=True))
    return Worths(values, variances, rows + learned_from, fits)


def _firsts(coalitions: np.ndarray, places: np.ndarray) -> dict[int, int]:
    """For each place the first one that has the same coalition."""
    if not len(places):
        return {}
    _, first, which = np.unique(coalitions, axis=0, return_index=True, return_inverse=True)
    return dict(zip(places.tolist(), places[first][which.ravel()].tolist(), strict=True))


def _each(evaluation: Evaluation, places: list[int], executor: Executor) -> Iterator[CoalitionValue]:
    game = evaluation.game
    learns = ability(game, LearnsCoalitions)
    if learns is None:
        yield from executor.map(evaluation, places)
        return
    for payoffs in learns.learn(list(evaluation.coalitions[places]), executor):
        gained = game.weights @ (payoffs - game.ends[0])
        yield CoalitionValue(gained, np.zeros_like(gained), 0)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The worth of a coalition by its place, which has a random stream of its own."""

    game: Any
    coalitions: np.ndarray
    entropy: int

    def __call__(self, place: int) -> CoalitionValue:
        rng, coalition, game = stream(self.entropy, WORTHS, place), self.coalitions[place], self.game
        values = ability(game, CoalitionValues)
        if values is not None:
            return values.value(coalition, rng)
        examples = np.flatnonzero(game.weights > 0)
        payoffs = game.payoff(examples, np.broadcast_to(coalition, (len(examples), len(coalition))), rng)
        gained = game.weights[examples] @ (payoffs - game.ends[0][examples])
        return CoalitionValue(gained, np.zeros_like(gained), len(examples) * game.rows_per_payoff)


def _learned(game: Any) -> tuple[int, int]:
    """Fits that a game has made so far, and the rows they saw."""
    learns = ability(game, LearnsCoalitions)
    return (0, 0) if learns is None else (learns.coalitions_learned * learns.fits_per_coalition, learns.rows_learned)
