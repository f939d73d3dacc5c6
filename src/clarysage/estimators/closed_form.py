"""Closed-form Shapley values; sampled walks estimate only how they vary with the background, if that has no formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.estimators.draws import scale
from clarysage.estimators.limits import by_quarters
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.pilot import run_pilot
from clarysage.estimators.paired_walks.sampling_design import MOST_NUMBERS
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.inference.influence import BackgroundInfluence
from clarysage.protocols import ClosedForm, Game, SubsampledGame, ability

FEWEST_PAIRS = 1024
MANY_PLAYERS = 2000  # with more players only the diagonal of covariances is stored
FEWEST_AT_ONCE, ROWS_AT_ONCE = 8, 2**18  # pairs that are walked together, and their rows


@dataclass(frozen=True)
class Answers:
    """Exact values of consecutive examples, and the influence of the background on them.

    Attributes
    ----------
    values, parts : (L, p) sums over the examples, and (n, L, p) of each of them
    clipped : payoffs with a clipped loss
    walked : walks that the influence is estimated from, where it has no formula
    influence : of background rows, where it has a formula
    """

    values: np.ndarray
    parts: np.ndarray
    clipped: int
    walked: Walked | None
    influence: BackgroundInfluence | None = None


@dataclass(frozen=True)
class ClosedFormValues:
    """The exact values of a game that has a closed form, example by example.

    They have no error for the given data and background. How they vary with the data is estimated from the values of
    single examples. How they vary with the background is known by a formula, or is estimated from additional passes of
    paired walks.
    """

    walks: PairedWalks = field(default_factory=PairedWalks)
    name: str = "exact"
    with_influence: bool = True  # whether the influence of background rows is of interest

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
        return replace(self, walks=replace(self.walks, pilot=run_pilot(game, rows, rng, corrects_bias=False)))

    def chunk(self, game: Game) -> int:
        pairs = max(FEWEST_AT_ONCE, ROWS_AT_ONCE // max(1, rows_of_pair(game)))
        closed_form = _closed_form(game)
        return min(closed_form.at_once, max(closed_form.at_least, pairs // _passes(game)))

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
        closed_form, examples = _closed_form(game), np.flatnonzero(game.weights > 0)[first : first + draws]
        solved, passes = closed_form.solve(examples), _passes(game)
        walked = self.walks.draw(game, passes * first, passes * draws, rng) if self._walks(game) else None
        formula = self._formula(game)
        influence = None if formula is None else formula(examples)
        return Answers(solved.values, solved.parts, solved.clipped, walked, influence)

    def merge(self, state: Answers, other: Answers) -> Answers:
        walked, influence, parts = None, None, np.concatenate([state.parts, other.parts])
        if state.walked is not None and other.walked is not None:
            walked = self.walks.merge(state.walked, other.walked)
        if state.influence is not None and other.influence is not None:
            influence = state.influence.plus(other.influence)
        return Answers(state.values + other.values, parts, state.clipped + other.clipped, walked, influence)

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
        """Returns contributions of examples, and the influence of background rows, by a formula or by walks."""
        background = state.influence
        if state.walked is not None:
            background = self.walks.components(game, state.walked).background
        return VarianceComponents.exact(state.parts, background)

    def conditional_on_background(self) -> ClosedFormValues:
        """Returns the same estimator for fixed background rows: how values vary with them is not estimated."""
        return replace(self, with_influence=False)

    def local_values(self, game: Game, state: Answers) -> LocalValues:
        """Returns the values of the examples of positive weight, each in a game of its own."""
        return LocalValues.exact(state.parts, game.weights[game.weights > 0])

    def _walks(self, game: Game) -> bool:
        """Returns whether the influence of the background is estimated by walks."""
        return _closed_form(game).influence is None and self._sampled(game) is not None

    def _formula(self, game: Game) -> Callable[[np.ndarray], BackgroundInfluence] | None:
        """Returns the formula of the influence of the background, if there is one, and memory for its numbers."""
        sampled = self._sampled(game)
        if sampled is None:
            return None
        numbers = len(sampled.background_weights) * game.n_players * game.ends[0].shape[1]
        return _closed_form(game).influence if numbers <= MOST_NUMBERS else None

    def _sampled(self, game: Game) -> SubsampledGame | None:
        """Returns the game with its background, if that is a sample and its influence is of interest."""
        subsampled = ability(game, SubsampledGame) if self.with_influence else None
        return subsampled if subsampled is not None and subsampled.is_sampled else None


def _passes(game: Game) -> int:
    """Returns the number of passes of walks over the examples: two, or more if there are few examples."""
    return 2 * max(1, -(-FEWEST_PAIRS // (2 * int((game.weights > 0).sum()))))


def _closed_form(game: Game) -> ClosedForm:
    closed_form = ability(game, ClosedForm)
    assert closed_form is not None, "the game was checked"
    return closed_form
