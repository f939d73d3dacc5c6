"""Agreement of the additive surrogate u(S) of an explanation with v(S), for many subsets of its players."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clarysage.coalitions import draw_uniform_sizes, masks, uniform_size_probabilities
from clarysage.errors import Call, InputError, Set
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.observers import observer_of, shown
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
from clarysage.results.agreement import Agreement, additive_proxy, indices_of, is_in_units
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
    """Computes how well u(S) approximates v(S); see :meth:`clarysage.Explanation.agreement`."""
    if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 2:
        raise InputError("n", got=f"{n!r}", wanted="a whole number of subsets, two or more", hint=Set("n", 1000))
    players, p = _players(game, explanation), len(explanation.values)
    loss, name = _loss(game, explanation)
    entropy, executor = entropy_of(rng), as_executor(n_jobs)
    is_complete = p < 63 and 2**p <= n
    subsets = masks(np.arange(2**p), p) if is_complete else draw_uniform_sizes(int(n), p, stream(entropy, SUBSETS, 0))
    with shown(progress):
        observer = observer_of(lambda _: 0.0)
        estimates = estimate_coalitions(
            game, subsets[:, players], loss, executor=executor, observer=observer, entropy=entropy
        )
    return Agreement(
        subsets=subsets,
        u=additive_proxy(explanation, subsets, np.arange(p)),
        v=estimates.values,
        std_error=np.sqrt(estimates.variances),
        weights=uniform_size_probabilities(subsets) if is_complete else np.full(len(subsets), 1 / len(subsets)),
        names=explanation.feature_names,
        is_complete=is_complete,
        is_in_units=is_in_units(explanation),
        measure=explanation.measure,
        loss=name,
        model_rows=estimates.rows,
        fits=estimates.fits,
        seed=entropy,
    )


def _players(game: Game, explanation: Explanation) -> np.ndarray:
    """Returns the position in the explanation of each player of the game."""
    if ability(game, Game) is None:
        raise InputError("game", got=type(game).__name__, wanted="a game", hint=Call("cs.game", "model, X, y"))
    named = ability(game, NamedPlayers)
    if named is not None:
        return indices_of(explanation, named.players.names)
    if game.n_players != len(explanation.values):
        raise InputError("game", got=f"{game.n_players:,} players", wanted=f"{len(explanation.values):,}, as explained")
    return np.arange(game.n_players)


def _loss(game: Game, explanation: Explanation) -> tuple[int, str]:
    """Returns number and name of the loss of the explanation in the game; the first if values have no units."""
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
class CoalitionEstimates:
    """Values (n,) of coalitions, their sampling variances, and their cost in model rows and fits."""

    values: np.ndarray
    variances: np.ndarray
    rows: int
    fits: int


def estimate_coalitions(
    game: Game, coalitions: np.ndarray, loss: int, *, executor: Executor, observer: Observer, entropy: int
) -> CoalitionEstimates:
    """Estimates v(S) for one loss of the game and each coalition of (n, p).

    If the value is exact, repeated coalitions share it. If it is sampled, each repetition has an independent estimate,
    because resampling of coalitions assumes independent noise.
    """
    sizes, before, started = coalitions.sum(axis=1), _learned(game), time.monotonic()
    inner = np.flatnonzero((sizes > 0) & (sizes < game.n_players))
    firsts = _first_occurrences(coalitions[inner], inner)
    evaluation, estimates = CoalitionEvaluation(game, coalitions, entropy), dict[int, CoalitionValue]()

    def evaluate(indices: list[int]) -> None:
        for index, value in zip(indices, _coalition_values(evaluation, indices, executor), strict=True):
            estimates[index] = value
            observer.count(min(1.0, len(estimates) / len(inner)), time.monotonic() - started)

    evaluate(sorted(set(firsts.values())))
    evaluate([index for index, first in firsts.items() if index != first and estimates[first].variance.any()])
    rows = sum(value.rows for value in estimates.values())
    values, variances = np.zeros(len(coalitions)), np.zeros(len(coalitions))
    values[sizes == game.n_players] = (game.weights @ (game.ends[1] - game.ends[0]))[loss]  # v of no player is 0
    for index, first in firsts.items():
        value = estimates.get(index, estimates[first])
        values[index], variances[index] = value.value[loss], value.variance[loss]
    values[np.abs(values) <= ROUNDING * max(float(np.abs(end[:, loss]).max()) for end in game.ends)] = 0.0
    observer.count(1.0, time.monotonic() - started)
    fits, training_rows = (after - earlier for after, earlier in zip(_learned(game), before, strict=True))
    return CoalitionEstimates(values, variances, rows + training_rows, fits)


def _first_occurrences(coalitions: np.ndarray, indices: np.ndarray) -> dict[int, int]:
    """Returns for each index the first one with the same coalition."""
    if not len(indices):
        return {}
    _, first, inverse = np.unique(coalitions, axis=0, return_index=True, return_inverse=True)
    return dict(zip(indices.tolist(), indices[first][inverse.ravel()].tolist(), strict=True))


def _coalition_values(
    evaluation: CoalitionEvaluation, indices: list[int], executor: Executor
) -> Iterator[CoalitionValue]:
    game = evaluation.game
    learns = ability(game, LearnsCoalitions)
    if learns is None:
        yield from executor.map(evaluation, indices)
        return
    for payoffs in learns.learn(list(evaluation.coalitions[indices]), executor):
        gained = game.weights @ (payoffs - game.ends[0])
        yield CoalitionValue(gained, np.zeros_like(gained), 0)


@dataclass(frozen=True, eq=False)
class CoalitionEvaluation:
    """A function that estimates the value of the coalition with an index, from a random stream of its own."""

    game: Game
    coalitions: np.ndarray
    entropy: int

    def __call__(self, index: int) -> CoalitionValue:
        rng, coalition, game = stream(self.entropy, COALITION_VALUES, index), self.coalitions[index], self.game
        values = ability(game, CoalitionValues)
        if values is not None:
            return values.value(coalition, rng)
        examples = np.flatnonzero(game.weights > 0)
        payoffs = game.payoff(examples, np.broadcast_to(coalition, (len(examples), len(coalition))), rng)
        gained = game.weights[examples] @ (payoffs - game.ends[0][examples])
        return CoalitionValue(gained, np.zeros_like(gained), len(examples) * game.rows_per_payoff)


def _learned(game: Game) -> tuple[int, int]:
    """Returns the number of fits that a game has made so far, and their training rows."""
    learns = ability(game, LearnsCoalitions)
    return (0, 0) if learns is None else (learns.coalitions_learned * learns.fits_per_coalition, learns.rows_learned)
