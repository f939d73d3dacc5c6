"""agreement: the additive proxy u(S) of an explanation beside v(S), computed for many subsets of its players."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_uniform_sizes, masks, uniform_size_probabilities
from clarysage.errors import Call, InputError, Set
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import ProgressBar, Silent
from clarysage.execution.seeds import COALITION_VALUES, SUBSETS, entropy_of, stream
from clarysage.protocols import (
    CoalitionValue,
    CoalitionValues,
    Executor,
    Game,
    HasLosses,
    LearnsCoalitions,
    NamedPlayers,
    Observer,
    Seed,
    ability,
)
from clarysage.results.agreement import Agreement, is_in_units, places_of, proxy
from clarysage.results.explanation import Explanation

ROUNDING = 1e-12  # share of the loss below which a power is zero up to rounding


def agreement(
    explanation: Explanation,
    game: Game,
    n: int = 1000,
    *,
    n_jobs: object = None,
    progress: bool | None = None,
    rng: Seed = None,
) -> Agreement:
    """How good a proxy the sum of the values is for v(S); see :meth:`clarysage.Explanation.agreement`."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 2:
        raise InputError("n", got=f"{n!r}", wanted="a whole number of subsets, two or more", hint=Set("n", 1000))
    players, p = _players(game, explanation), len(explanation.values)
    loss, name = _loss(game, explanation)
    entropy, executor = entropy_of(rng), as_executor(n_jobs)
    is_complete = p < 63 and 2**p <= n
    subsets = masks(np.arange(2**p), p) if is_complete else draw_uniform_sizes(int(n), p, stream(entropy, SUBSETS, 0))
    observer: Observer = ProgressBar(lambda _: 0.0) if progress else Silent()
    try:
        power = powers(game, subsets[:, players], loss, executor=executor, observer=observer, entropy=entropy)
    finally:
        observer.close()
    return Agreement(
        subsets=subsets,
        u=proxy(explanation, subsets, np.arange(p)),
        v=power.values,
        std_error=np.sqrt(power.variances),
        weights=uniform_size_probabilities(subsets) if is_complete else np.full(len(subsets), 1 / len(subsets)),
        names=explanation.feature_names,
        is_complete=is_complete,
        is_in_units=is_in_units(explanation),
        measure=explanation.measure,
        loss=name,
        model_rows=power.rows,
        fits=power.fits,
        seed=entropy,
    )


def _players(game: Game, explanation: Explanation) -> np.ndarray:
    """The place in the explanation of each of the game's players."""
    if ability(game, Game) is None:
        raise InputError("game", got=type(game).__name__, wanted="a game", hint=Call("cs.game", "model, X, y"))
    named = ability(game, NamedPlayers)
    if named is not None:
        return places_of(explanation, named.players.names)
    if game.n_players != len(explanation.values):
        raise InputError("game", got=f"{game.n_players:,} players", wanted=f"{len(explanation.values):,}, as explained")
    return np.arange(game.n_players)


def _loss(game: Game, explanation: Explanation) -> tuple[int, str]:
    """The number and name of the game's loss that is the explanation's; the first where that is in units of none."""
    of_losses = ability(game, HasLosses)
    if of_losses is None or not of_losses.losses:
        return 0, explanation.loss
    names = [loss.name for loss in of_losses.losses]
    if explanation.loss in names:
        return names.index(explanation.loss), explanation.loss
    if explanation.base is None:
        return 0, names[0]
    raise InputError("game", got=f"losses {', '.join(map(repr, names))}", wanted=f"{explanation.loss!r}, as explained")


@dataclass(frozen=True)
class Powers:
    """Powers (n,) of coalitions, the variances of their sampling, and what they cost."""

    values: np.ndarray
    variances: np.ndarray
    rows: int
    fits: int


def powers(
    game: Game, coalitions: np.ndarray, loss: int, *, executor: Executor, observer: Observer, entropy: int
) -> Powers:
    """v(S) by one of the game's losses, of coalitions (n, p).

    A coalition that comes up again has the same v(S) where that is exact, and where not an estimate of its own: noise
    is then independent of draw to draw, as resampling takes it to be.
    """
    sizes, before, begun = coalitions.sum(axis=1), _learned(game), time.monotonic()
    inner = np.flatnonzero((sizes > 0) & (sizes < game.n_players))
    firsts = _firsts(coalitions[inner], inner)
    evaluation, known = Evaluation(game, coalitions, entropy), dict[int, CoalitionValue]()

    def evaluate(places: list[int]) -> None:
        for place, value in zip(places, _each(evaluation, places, executor), strict=True):
            known[place] = value
            observer.count(min(1.0, len(known) / len(inner)), time.monotonic() - begun)

    evaluate(sorted(set(firsts.values())))
    evaluate([place for place, first in firsts.items() if place != first and known[first].variance.any()])
    rows = sum(value.rows for value in known.values())
    values, variances = np.zeros(len(coalitions)), np.zeros(len(coalitions))
    values[sizes == game.n_players] = (game.weights @ (game.ends[1] - game.ends[0]))[loss]  # that of nobody is 0
    for place, first in firsts.items():
        value = known.get(place, known[first])
        values[place], variances[place] = value.value[loss], value.variance[loss]
    values[np.abs(values) <= ROUNDING * max(float(np.abs(end[:, loss]).max()) for end in game.ends)] = 0.0
    observer.count(1.0, time.monotonic() - begun)
    fits, learned_from = (after - first for after, first in zip(_learned(game), before, strict=True))
    return Powers(values, variances, rows + learned_from, fits)


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
    """The value of a coalition by its place, which has a random stream of its own."""

    game: Game
    coalitions: np.ndarray
    entropy: int

    def __call__(self, place: int) -> CoalitionValue:
        rng, coalition, game = stream(self.entropy, COALITION_VALUES, place), self.coalitions[place], self.game
        values = ability(game, CoalitionValues)
        if values is not None:
            return values.value(coalition, rng)
        examples = np.flatnonzero(game.weights > 0)
        payoffs = game.payoff(examples, np.broadcast_to(coalition, (len(examples), len(coalition))), rng)
        gained = game.weights[examples] @ (payoffs - game.ends[0][examples])
        return CoalitionValue(gained, np.zeros_like(gained), len(examples) * game.rows_per_payoff)


def _learned(game: Game) -> tuple[int, int]:
    """Fits that a game has made so far, and the rows they saw."""
    learns = ability(game, LearnsCoalitions)
    return (0, 0) if learns is None else (learns.coalitions_learned * learns.fits_per_coalition, learns.rows_learned)
