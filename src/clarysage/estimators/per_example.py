"""Local Shapley values: antithetic walks that keep examples apart, the same number of pairs for each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from clarysage.estimators.draws import rows_per_chunk
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.bias_correction import BiasCorrection
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.pilot import SHARE_OF_BUDGET, Pilot, find_active
from clarysage.estimators.paired_walks.sampling_design import NUMBERS_KEPT, SamplingDesign
from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols import Game, SubsampledGame, ability

FEWEST_PASSES = 2  # without which examples have no errors
SETTLED_PASSES = 4  # before which two pairs of an example that carries much may agree by chance, and errors look small


@dataclass(frozen=True)
class PerExample:
    r"""Shapley values of every example's own game, v_{f,x,y}(S) = -l(f_S(x_S), y), and with them those of the mean.

    Draws go round all examples, pass after pass; each is a pair of walks, an order of the players and its reverse. What
    the pairs of one example found has the values of its game for a mean: payoffs have few background rows behind them
    where that is right on average for each example (squared error, Brier's score, a model's output), else all of them.
    A run that ends within a pass leaves some examples with one pair fewer than the others.

    Attributes
    ----------
    first_look : passes before rules for stopping are asked
    with_influence : whether to look beyond the given background, where that costs nothing

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
        """Any game can be walked."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> PerExample:
        if self.walks.pilot is not None:
            return self
        pilot = _pilot_of(game, rows, rng)
        pilot = replace(pilot, with_influence=self.with_influence and pilot.with_influence)
        return replace(self, walks=replace(self.walks, pilot=pilot))

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // max(1, rows_of_pair(game, all_rows=needs_all_rows(game))))

    def pause(self, game: Game, made: int) -> int:
        """After the first passes, and then whenever there are a quarter more, at the end of a pass."""
        n = self.walks.design.length
        passes = made // n
        return n * max(self.first_look, passes + max(1, passes // 4))

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.walks.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        return self.walks.draw(game, first, draws, rng)

    def merge(self, one: Walked, other: Walked) -> Walked:
        return self.walks.merge(one, other)

    def read(self, game: Game, state: Walked) -> Estimate:
        return self.walks.read(game, state)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """The components of paired walks, with the values of each example."""
        return replace(self.walks.components(game, state), local=self.local_values(game, state))

    def looking_after(self, passes: int) -> PerExample:
        return replace(self, first_look=passes)

    def within_background(self) -> PerExample:
        """The same without the influence of background rows."""
        return replace(self, with_influence=False)

    def local_values(self, game: Game, state: Walked) -> LocalValues:
        """Values of the examples of positive weight, each in a game of its own."""
        return LocalValues.sampled(state.visits.dense(self.walks.design.length), game.weights[game.weights > 0])


def needs_all_rows(game: Game) -> bool:
    """Whether payoffs must have all background rows behind them, to be right on average for each example."""
    subsampled = ability(game, SubsampledGame)
    return subsampled is not None and not subsampled.is_unbiased


def _pilot_of(game: Game, rows: float, rng: np.random.Generator) -> Pilot:
    p, subsampled, all_rows = game.n_players, ability(game, SubsampledGame), needs_all_rows(game)
    skip, spent, active = True, 0, np.ones(p, dtype=bool)
    if subsampled is not None and not all_rows and p > 1:
        skip, spent = subsampled.repeats()
        spare = SHARE_OF_BUDGET * max(0.0, rows - spent - 2 * rows_of_pair(game))
        active, more = find_active(game, subsampled, skip, spare, rng)
        spent += more
    with_influence = subsampled is not None and subsampled.is_sampled and not all_rows
    if subsampled is not None and len(subsampled.background_weights) * p * game.ends[0].shape[1] > NUMBERS_KEPT:
        with_influence = False
    design, correction = SamplingDesign.even(game, rng), BiasCorrection(game.weights, active, skip)
    return Pilot(design, correction, rows=spent, with_influence=with_influence, all_rows=all_rows)
