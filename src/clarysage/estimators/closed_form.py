"""Closed-form Shapley values; sampled walks estimate only how they vary with the background."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.estimators.draws import scale
from clarysage.estimators.limits import by_quarters
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols import ClosedForm, Game, SubsampledGame, ability

FEWEST_PAIRS = 1024
MANY_PLAYERS = 2000  # with more players only the diagonal of covariances is stored
FEWEST_AT_ONCE, ROWS_AT_ONCE = 8, 2**18  # pairs that are walked together, and their rows


@dataclass(frozen=True)
class Answers:
    """Values (L, p) summed over consecutive examples, each example's part (n, L, p), clipped payoffs, and walks."""

    values: np.ndarray
    parts: np.ndarray
    clipped: int
    walked: Walked | None


@dataclass(frozen=True)
class ClosedFormValues:
    """The exact values of a game that has a closed form, example by example.

    They have no error for the given data and background. How they vary with the data is estimated from the values of
    single examples, and how they vary with the background from additional passes of paired walks.
    """

    walks: PairedWalks = field(default_factory=PairedWalks)
    name: str = "exact"
    with_influence: bool = True  # whether to walk, too, to estimate the influence of background rows

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Answers, Walked)

    def check(self, game: Game) -> None:
        if ability(game, ClosedForm) is None:
            hint = Set("method", "exact")
            raise InputError("method", got="a game without a closed form", wanted="a game that has one", hint=hint)

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
        """Returns the number of pairs of walks that accompany ``draws`` draws."""
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
        solved = _closed_form(game).solve(np.flatnonzero(game.weights > 0)[first : first + draws])
        passes = _passes(game)
        walked = self.walks.draw(game, passes * first, passes * draws, rng) if self._walks(game) else None
        return Answers(solved.values, solved.parts, solved.clipped, walked)

    def merge(self, state: Answers, other: Answers) -> Answers:
        walked, parts = None, np.concatenate([state.parts, other.parts])
        if state.walked is not None and other.walked is not None:
            walked = self.walks.merge(state.walked, other.walked)
        return Answers(state.values + other.values, parts, state.clipped + other.clipped, walked)

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
        """Returns contributions of examples, and the influence of background rows estimated by walks."""
        background = None if state.walked is None else self.walks.components(game, state.walked).background
        return VarianceComponents.exact(state.parts, background)

    def conditional_on_background(self) -> ClosedFormValues:
        """Returns the estimator without the influence of background rows."""
        return replace(self, with_influence=False)

    def local_values(self, game: Game, state: Answers) -> LocalValues:
        """Returns the values of the examples of positive weight, each in a game of its own."""
        return LocalValues.exact(state.parts, game.weights[game.weights > 0])

    def _walks(self, game: Game) -> bool:
        """Returns whether there is a sampled background whose influence is estimated."""
        subsampled = ability(game, SubsampledGame)
        return self.with_influence and subsampled is not None and subsampled.is_sampled


def _passes(game: Game) -> int:
    """Returns the number of passes of walks over the examples: two, or more if there are few examples."""
    return 2 * max(1, -(-FEWEST_PAIRS // (2 * int((game.weights > 0).sum()))))


def _closed_form(game: Game) -> ClosedForm:
    closed_form = ability(game, ClosedForm)
    assert closed_form is not None, "the game was checked"
    return closed_form
