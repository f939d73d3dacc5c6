"""Local Shapley values (loss SHAP of single examples): antithetic walks, the same number for each example."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.estimators.limits import rows_per_chunk
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.pilot import SHARE_OF_BUDGET, Pilot, find_active
from clarysage.estimators.paired_walks.sampling_design import MOST_NUMBERS, SamplingDesign
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols import Game, SubsampledGame, ability

FEWEST_PASSES = 2  # with fewer passes examples have no standard errors
SETTLED_PASSES = 4  # with fewer, two pairs of an important example may agree by chance, and errors look small


@dataclass(frozen=True)
class PerExample:
    r"""Shapley values of every example's own game, v_{f,x,y}(S) = -l(f_S(x_S), y), and with them those of the mean.

    Draws visit all examples, pass after pass; each is a pair of walks, along an order of the players and its reverse.
    The mean over the pairs of an example estimates the values of its game without bias: payoffs take a subsample of the
    background if that is unbiased for each example (squared error, Brier score, a model's output), else all its rows.
    A run that ends within a pass leaves some examples with one pair fewer than the others.

    Attributes
    ----------
    first_look : passes before stopping rules are asked
    with_influence : whether to estimate the influence of background rows, if that costs no model rows

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), PerExample(), seed=0).values
    array([[1.5, 2.5]])
    """

    first_look: int = SETTLED_PASSES
    with_influence: bool = True
    walks: PairedWalks = field(default_factory=PairedWalks)
    name: str = "paired walks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Walked,)

    def check(self, game: Game) -> None:
        """Accepts any game."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> PerExample:
        if self.walks.pilot is not None:
            return self
        pilot = _pilot_of(game, rows, rng)
        pilot = pilot if self.with_influence else replace(pilot, influence_rows=0)
        return replace(self, walks=replace(self.walks, pilot=pilot))

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // max(1, rows_of_pair(game, all_rows=needs_all_rows(game))))

    def pause(self, game: Game, made: int) -> int:
        """Returns the end of the first passes, and later that of a quarter more passes."""
        n = self.walks.design.length
        passes = made // n
        return n * max(self.first_look, passes + max(1, passes // 4))

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.walks.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        return self.walks.draw(game, first, draws, rng)

    def merge(self, state: Walked, other: Walked) -> Walked:
        return self.walks.merge(state, other)

    def read(self, game: Game, state: Walked) -> Estimate:
        return self.walks.read(game, state)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """Returns the components of paired walks, with the values of each example."""
        return replace(self.walks.components(game, state), local=self.local_values(game, state))

    def with_minimum_passes(self, passes: int) -> PerExample:
        return replace(self, first_look=passes)

    def conditional_on_background(self) -> PerExample:
        """Returns the estimator without the influence of background rows."""
        return replace(self, with_influence=False)

    def local_values(self, game: Game, state: Walked) -> LocalValues:
        """Returns the values of the examples of positive weight, each in a game of its own."""
        return LocalValues.sampled(state.visits.dense(self.walks.design.length), game.weights[game.weights > 0])


def needs_all_rows(game: Game) -> bool:
    """Returns whether payoffs must take all background rows, since subsamples would be biased for single examples."""
    subsampled = ability(game, SubsampledGame)
    return subsampled is not None and not subsampled.is_unbiased


def _pilot_of(game: Game, rows: float, rng: np.random.Generator) -> Pilot:
    p, subsampled, all_rows = game.n_players, ability(game, SubsampledGame), needs_all_rows(game)
    pair = rows_of_pair(game, all_rows=all_rows)
    skip, spent, active, influence_rows = True, 0, np.ones(p, dtype=bool), 0
    if subsampled is not None and not all_rows and p > 1:
        skip, spent = subsampled.check_determinism()
        budget = SHARE_OF_BUDGET * max(0.0, rows - spent - 2 * pair)
        active, active_rows = find_active(game, subsampled, skip, budget, rng)
        spent += active_rows
    if subsampled is not None and subsampled.is_sampled and not all_rows:
        m = len(subsampled.background_weights)
        influence_rows = m if m * p * game.ends[0].shape[1] <= MOST_NUMBERS else 0
    return Pilot(
        SamplingDesign.even(game, rng),
        BiasCorrection(game.weights, active, skip),
        pair,
        rows=spent,
        influence_rows=influence_rows,
        all_rows=all_rows,
    )
