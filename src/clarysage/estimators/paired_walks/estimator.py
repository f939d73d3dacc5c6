"""Paired walks: antithetic permutation sampling, by a stratified design, with subsamples of the background.

A run is a pilot (:mod:`clarysage.estimators.paired_walks.pilot`), antithetic pairs of walks
(:mod:`clarysage.estimators.paired_walks.antithetic`) on examples in the order of a sampling design
(:mod:`clarysage.estimators.paired_walks.sampling_design`), and draws of what subsamples of the background are off by
(:mod:`clarysage.estimators.paired_walks.bias_correction`). Visits to examples are kept as stratified moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import permutations
from clarysage.errors import Note
from clarysage.estimators.draws import FEWEST_ROWS_PER_CHUNK, rows_per_chunk, scale
from clarysage.estimators.paired_walks.antithetic import Asked, rows_of_pair, walk_pairs
from clarysage.estimators.paired_walks.bias_correction import correction
from clarysage.estimators.paired_walks.pilot import Pilot, run_pilot
from clarysage.estimators.paired_walks.sampling_design import SamplingDesign
from clarysage.inference.degrees_of_freedom import Estimated, weighted_sum
from clarysage.inference.estimate import Coverage, Estimate, VarianceComponents
from clarysage.inference.influence import InfluenceSums
from clarysage.inference.moments import Moments
from clarysage.inference.stopping import FEWEST_DRAWS
from clarysage.inference.stratified import StratifiedMoments, contributions_of, estimated_sum
from clarysage.protocols import Game, Influence, SubsampledGame, SubsampledWalks, ability

NUMBERS_REMEMBERED = 20_000_000  # cells of rows that went to the model
VARYING = Note(
    "The model gives other predictions when it is asked again for the same rows: every hybrid row was evaluated, and "
    "the values hold the model's own noise."
)


@dataclass(frozen=True)
class Walked:
    """The state of paired walks.

    Attributes
    ----------
    visits : moments of visits to examples
    corrections : moments of the draws of the bias correction, where there is one
    draws, clipped, rows : pairs of walks, payoffs that a loss bounded, and model rows
    asked : hybrid rows with the model's answers, where the pilot keeps them
    influences : of background rows, where the pilot asks for them
    """

    visits: StratifiedMoments
    corrections: Moments | None
    draws: int
    clipped: int
    rows: int
    asked: tuple[Asked, ...] = ()
    influences: InfluenceSums | None = None


@dataclass(frozen=True)
class PairedWalks:
    r"""Walks in pairs: players enter in a random order, and in its reverse, on the same example.

    Four ideas, none of which changes what is estimated, the Shapley values of Eq. 6 for the given examples and
    background:

    - Every example is visited, in passes, so that differences between examples are no error; more often where its
      losses are large, so that the sum is known best.
    - The two walks of a pair err in opposite directions. For an additive model and squared error
      Delta_i(S) = h_i (2 (y - c) - h_i - 2 sum_{j in S} h_j), and i's predecessors in the two orders are together all
      other players: the mean of the pair does not depend on the order at all.
    - A walk looks at a subsample of the background, and keeps to it, instead of averaging over all rows. How a loss is
      then estimated without bias, or nearly so, is its own affair (:mod:`clarysage.losses.debiasing`).
    - What bias is left is taken off by a second level of draws: values are linear in the game, so
      phi(v) = phi(v_q) + phi(v - v_q). How many there are is decided by variances measured in the pilot run.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), PairedWalks(), seed=0).values
    array([[1.5, 2.5]])
    """

    pilot: Pilot | None = None
    name: str = "paired walks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Walked,)

    def check(self, game: Game) -> None:
        """Any game can be walked."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> PairedWalks:
        return replace(self, pilot=run_pilot(game, rows, rng)) if self.pilot is None else self

    def chunk(self, game: Game) -> int:
        return max(1, rows_per_chunk(game) // 2 // max(1, rows_of_pair(game)))

    def finest(self, game: Game) -> int:
        """Calls of a model cost as much as thousands of quick rows; what is known of its structure is quicker still."""
        subsampled = ability(game, SubsampledGame)
        if subsampled is not None and not subsampled.asks_model:
            return self.chunk(game)
        return max(1, FEWEST_ROWS_PER_CHUNK // max(1, rows_of_pair(game)))

    def pause(self, game: Game, made: int) -> int:
        """A quarter more; ends of the first passes are not walked past, where errors fall to those within examples."""
        design, least = self.design, max(made, FEWEST_DRAWS)
        ends = [end for end in (design.draws_to_see_all, 2 * design.length, len(design.order)) if end > least]
        return min([max(FEWEST_DRAWS, made + made // 4), *ends])

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        pilot = self.pilot_run
        more = pilot.corrections(first + draws) - pilot.corrections(first)
        pairs = draws * rows_of_pair(game, all_rows=pilot.all_rows)
        return (0 if first else pilot.rows) + pairs + more * pilot.correction.cost(game)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        pilot = self.pilot_run
        examples = pilot.design.examples(first, draws)
        orders = permutations(draws, game.n_players, rng)
        is_even = pilot.design.is_even(first, draws)
        pairs = walk_pairs(
            game,
            examples,
            orders,
            pilot.active,
            rng,
            skip=pilot.skip,
            keep=pilot.keep,
            influence=pilot.with_influence and bool(is_even.any()),
            all_rows=pilot.all_rows,
        )
        values = game.weights[examples][:, None, None] * pairs.contributions
        visits = StratifiedMoments.of(pilot.design.cell[examples], values, pilot.design.weighting(first))
        count = pilot.corrections(first + draws) - pilot.corrections(first)
        corrections, rows = pilot.correction.draw(game, count, rng) if count else (None, 0)
        return Walked(
            visits,
            None if corrections is None else Moments.of(corrections),
            draws,
            pairs.clipped,
            pairs.rows + rows,
            () if pairs.asked is None else (pairs.asked,),
            None if pairs.influence is None else self._influences(game, examples, is_even, pairs.influence),
        )

    def _influences(self, game: Game, examples: np.ndarray, is_even: np.ndarray, influence: Influence) -> InfluenceSums:
        subsampled = ability(game, SubsampledWalks)
        assert subsampled is not None
        counted = np.tile(is_even, 2)
        examples = np.tile(examples, 2)[counted]
        weights = game.weights[examples][:, None, None]
        return InfluenceSums.of(
            self.design.group(examples),
            influence.background_index[counted],
            weights[:, None] * influence.influence[counted],
            weights * influence.bias_correction[counted],
            (len(self.design.groups), len(subsampled.background_weights)),
        )

    def merge(self, one: Walked, other: Walked) -> Walked:
        """Both together; ``one`` may be changed, so that a long run does not copy what it has at each step."""
        visits = one.visits.dense(len(self.design.size))
        visits.add(other.visits)
        corrections = one.corrections or other.corrections
        if one.corrections is not None and other.corrections is not None:
            corrections = one.corrections.merge(other.corrections)
        return Walked(
            visits,
            corrections,
            one.draws + other.draws,
            one.clipped + other.clipped,
            one.rows + other.rows,
            _kept(one.asked, other.asked),
            _both(one.influences, other.influences),
        )

    def estimated(self, state: Walked) -> Estimated:
        """The values, with the bias of subsamples of the background taken off as far as it is known."""
        visits = state.visits.dense(len(self.design.size))
        subsampled = estimated_sum(visits, self.design.size, self.design.stratum)
        if not self.pilot_run.per_draw:
            return subsampled
        assert state.corrections is not None, "the first draws have corrections"
        return weighted_sum([subsampled, self._correction(state.corrections, visits)], [1.0, 1.0])

    def _correction(self, draws: Moments, visits: StratifiedMoments) -> Estimated:
        moves = self.pilot_run.active | (visits.mean != 0).any(axis=(0, 1))
        return correction(draws, moves)

    def read(self, game: Game, state: Walked) -> Estimate:
        estimated, pilot = self.estimated(state), self.pilot_run
        return Estimate(
            values=estimated.values,
            covariance=estimated.covariance,
            dof=estimated.dof,
            draws=state.draws,
            model_rows=game.rows_spent + pilot.rows + state.rows,
            scale=scale(game),
            coverage=self.coverage(game, state),
            clipped=state.clipped,
            notes=() if pilot.skip else (VARYING,),
        )

    def coverage(self, game: Game, state: Walked) -> Coverage:
        """Which examples the design has come to."""
        is_seen = np.zeros(len(game.weights), dtype=bool)
        is_seen[self.design.order[: state.draws]] = True
        is_settled = self.design.passes(state.draws) == 2
        return Coverage.of(game.weights, is_seen, self.design.draws_to_see_all, is_settled=is_settled)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """Contributions of examples, the variance of the bias correction, and the influence of background rows."""
        design, visits = self.design, state.visits.dense(len(self.design.size))
        is_positive = game.weights > 0
        weights = np.bincount(design.cell[is_positive], game.weights[is_positive]) / design.size
        by_cell, between = contributions_of(visits, design.size, design.stratum, weights)
        residual = np.zeros_like(between)
        if self.pilot_run.per_draw and state.corrections is not None:
            residual = self._correction(state.corrections, visits).variance
        background = None if state.influences is None else state.influences.over_all_examples(design.groups)
        seen = int(visits.count.sum()) if by_cell is None else len(by_cell)
        contributions = None if by_cell is None else by_cell[design.cell[is_positive]]
        return VarianceComponents(contributions, between, residual, seen - 1.0, background)

    @property
    def design(self) -> SamplingDesign:
        """Which example each draw looks at."""
        return self.pilot_run.design

    @property
    def pilot_run(self) -> Pilot:
        """The pilot run, made before the first draw."""
        assert self.pilot is not None, "an estimator is prepared before it draws"
        return self.pilot


def _both(one: InfluenceSums | None, other: InfluenceSums | None) -> InfluenceSums | None:
    if one is None or other is None:
        return one or other
    return one.merge(other)


def _kept(one: tuple[Asked, ...], other: tuple[Asked, ...]) -> tuple[Asked, ...]:
    """Rows and answers of both, as many as may be remembered."""
    return one if sum(rows.size for rows, _ in one) >= NUMBERS_REMEMBERED else (*one, *other)
