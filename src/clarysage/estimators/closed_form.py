"""Closed-form Shapley values; sampled walks estimate only how they vary with the background."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.estimators.draws import by_quarters, scale
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols import ClosedForm, Game, SubsampledGame, ability

FEWEST_PAIRS = 1024
MANY_PLAYERS = 2000  # of whose covariances the diagonal alone is kept
FEWEST_AT_ONCE, ROWS_AT_ONCE = 8, 2**18  # pairs that are walked together, and their rows


@dataclass(frozen=True)
class Answers:
    """Sums of values (L, p) over consecutive examples, their parts (n, L, p), bounded payoffs, and walks."""

    values: np.ndarray
    parts: np.ndarray
    clipped: int
    walked: Walked | None


@dataclass(frozen=True)
class ClosedFormValues:
    """The exact values that a game offers by itself, example by example.

    They have no error as to this data and this background. What they would be with others is seen from the values of
    single examples, and, for the background, from passes of paired walks beside them.
    """

    walks: PairedWalks = field(default_factory=PairedWalks)
    name: str = "exact"
    with_influence: bool = True  # whether to walk beside them, to tell of other backgrounds

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Answers, Walked)

    def check(self, game: Game) -> None:
        if ability(game, ClosedForm) is None:
            hint = Set("method", "exact")
            raise InputError("method", got="a game without a solution of its own", wanted="another", hint=hint)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> ClosedFormValues:
        if self.walks.pilot is not None or not self._walks(game):
            return self
        return replace(self, walks=self.walks.prepared(game, rows, rng))

    def chunk(self, game: Game) -> int:
        pairs = max(FEWEST_AT_ONCE, ROWS_AT_ONCE // max(1, rows_of_pair(game)))
        return min(_closed_form(game).at_once, max(1, pairs // _passes(game)))

    def pause(self, game: Game, made: int) -> int:
        return by_quarters(self.chunk(game), made)

    def pairs(self, game: Game, draws: int) -> int:
        """Pairs of walks beside so many draws."""
        return _passes(game) * draws if self._walks(game) else 0

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        if not self._walks(game):
            return 0
        if self.walks.pilot is None:
            return self.pairs(game, draws) * rows_of_pair(game)
        return self.walks.rows(game, _passes(game) * draws, _passes(game) * first)

    def limit(self, game: Game) -> int | None:
        return int((game.weights > 0).sum())

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Answers:
        found = _closed_form(game).solve(np.flatnonzero(game.weights > 0)[first : first + draws])
        passes = _passes(game)
        walked = self.walks.draw(game, passes * first, passes * draws, rng) if self._walks(game) else None
        return Answers(found.values, found.parts, found.clipped, walked)

    def merge(self, one: Answers, other: Answers) -> Answers:
        walked, parts = None, np.concatenate([one.parts, other.parts])
        if one.walked is not None and other.walked is not None:
            walked = self.walks.merge(one.walked, other.walked)
        return Answers(one.values + other.values, parts, one.clipped + other.clipped, walked)

    def read(self, game: Game, state: Answers) -> Estimate:
        rows = 0 if state.walked is None else self.walks.pilot_run.rows + state.walked.rows
        return Estimate.exact(
            state.values,
            model_rows=game.rows_spent + rows,
            scale=scale(game),
            clipped=state.clipped,
            is_diagonal=state.values.shape[1] > MANY_PLAYERS,
        )

    def components(self, game: Game, state: Answers) -> VarianceComponents:
        """Contributions of examples, and the influence of background rows as walks beside the values show it."""
        background = None if state.walked is None else self.walks.components(game, state.walked).background
        return VarianceComponents.exact(state.parts, background)

    def within_background(self) -> ClosedFormValues:
        """The same without the influence of background rows."""
        return replace(self, with_influence=False)

    def local_values(self, game: Game, state: Answers) -> LocalValues:
        """Values of the examples of positive weight, each in a game of its own."""
        return LocalValues.exact(state.parts, game.weights[game.weights > 0])

    def _walks(self, game: Game) -> bool:
        """Whether there is a background to tell of."""
        subsampled = ability(game, SubsampledGame)
        return self.with_influence and subsampled is not None and subsampled.is_sampled


def _passes(game: Game) -> int:
    """Passes of walks over the examples: two, or more where there are few."""
    return 2 * max(1, -(-FEWEST_PAIRS // (2 * int((game.weights > 0).sum()))))


def _closed_form(game: Game) -> ClosedForm:
    closed_form = ability(game, ClosedForm)
    assert closed_form is not None, "the game was checked"
    return closed_form
