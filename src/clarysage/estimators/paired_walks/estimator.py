"""The estimator of paired walks: antithetic permutation sampling by a stratified design, with background subsamples.

A run is a pilot (:mod:`clarysage.estimators.paired_walks.pilot`), antithetic pairs of walks
(:mod:`clarysage.estimators.paired_walks.antithetic`) on examples in the order of a sampling design
(:mod:`clarysage.estimators.paired_walks.sampling_design`), and draws of the bias of background subsamples
(:mod:`clarysage.estimators.paired_walks.bias_correction`). Visits to examples are summarised by stratified moments.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.coalitions import permutations
from clarysage.errors import Note
from clarysage.estimators.draws import scale
from clarysage.estimators.limits import FEWEST_ROWS_PER_CHUNK, rows_per_chunk
from clarysage.estimators.paired_walks.alternative import Alternative, GivenUp, states_of
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
from clarysage.protocols import Estimator, Game, Influence, SubsampledWalks, ability

MOST_NUMBERS_OF_ROWS = 20_000_000  # limit on the memory for rows that were passed to the model
VARYING = Note(
    "The model does not always return the same predictions for the same rows: therefore no prediction was used twice, "
    "and the values contain the noise of the model."
)


@dataclass(frozen=True)
class Walked:
    """The state of paired walks.

    Attributes
    ----------
    visits : moments of visits to examples
    corrections : moments of the draws of the bias correction, if there is one
    draws, clipped, rows : pairs of walks, payoffs with a clipped loss, and model rows
    asked : hybrid rows with the model's predictions, if the pilot keeps them
    influences : of background rows, if the pilot asks for them
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

    - Stratified sampling. Every example is visited, in passes, so that differences between examples cause no error;
      examples with large losses are visited more often, which makes the error of the sum smaller.
    - Antithetic variates. The two walks of a pair err in opposite directions. For an additive model and squared error
      Delta_i(S) = h_i (2 (y - c) - h_i - 2 sum_{j in S} h_j), and i's predecessors in the two orders are together all
      other players: the mean of the pair does not depend on the order at all.
    - Subsamples. A walk takes a subsample of the background, the same for all its steps, in place of all rows. How
      losses are then estimated without bias, or nearly so, is in :mod:`clarysage.losses.debiasing`.
    - A bias correction. The bias that is left is subtracted by a second level of draws: values are linear in the game,
      so phi(v) = phi(v_q) + phi(v - v_q). The number of these draws is decided by variances measured in the pilot run.

    With an ``alternative`` the walks are given up for exact values once these are forecast to cost less.

    Parameters
    ----------
    pilot : a pilot run that was made before; None for a new one at the start of a run
    alternative : exact values that may take over from the walks; None for walks to the end

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), PairedWalks(), seed=0).values
    array([[1.5, 2.5]])
    """

    pilot: Pilot | None = None
    alternative: Alternative | None = None
    name: str = "paired walks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Walked,) if self.alternative is None else (Walked, *states_of(self.alternative.exact))

    def check(self, game: Game) -> None:
        """Accepts any game."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> PairedWalks:
        return replace(self, pilot=run_pilot(game, rows, rng)) if self.pilot is None else self

    def adapted(self, game: Game, state: Walked | GivenUp, rng: np.random.Generator) -> Estimator[Any]:
        """Returns exact values that take over if they cost less than the walks to come, else the walks."""
        if self.alternative is None:
            return self
        if isinstance(state, GivenUp):  # by the same run, before it was interrupted
            return self.alternative.after(game, self, state.walked.draws, rng)
        pilot, is_early = self.pilot_run, self.design.passes(state.draws) < 2
        if is_early and not pilot.may_jump:
            return self
        now = self.read(game, state)
        if is_early:
            share = pilot.per_draw * pilot.correction.cost(game) / pilot.rows_of_pair
            is_cheaper = self.alternative.is_clearly_cheaper(game, now, share)
        else:
            is_cheaper = self.alternative.is_cheaper(game, now, state.rows)
        return self.alternative.after(game, self, state.draws, rng) if is_cheaper else self

    def rewound(self, state: Walked | GivenUp) -> Walked | GivenUp:
        """Returns the state itself, which tells whether the walks were given up."""
        return state

    def chunk(self, game: Game) -> int:
        pair = rows_of_pair(game) if self.pilot is None else self.pilot.rows_of_pair
        return max(1, rows_per_chunk(game) // 2 // max(1, pair))

    def finest(self, game: Game) -> int:
        """Returns fewer draws where the model is called: a call costs as much as thousands of rows of its structure."""
        pilot = self.pilot_run
        return max(1, FEWEST_ROWS_PER_CHUNK // max(1, pilot.rows_of_pair)) if pilot.calls_model else self.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        """Returns a quarter more draws, but at most up to the end of a first pass, where the error drops."""
        design, least = self.design, max(made, FEWEST_DRAWS)
        ends = [end for end in (design.draws_to_see_all, 2 * design.length, len(design.order)) if end > least]
        return min([max(FEWEST_DRAWS, made + made // 4), *ends])

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        pilot = self.pilot_run
        corrections = pilot.corrections(first, draws) * pilot.correction.cost(game)
        return (0 if first else pilot.rows) + draws * pilot.rows_of_pair + corrections

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        pilot = self.pilot_run
        design, correction = pilot.design, pilot.correction
        examples, is_in_pass = design.examples(first, draws), design.is_in_pass(first, draws)
        weighting = design.weighting(first)
        orders = permutations(draws, game.n_players, rng)
        pairs = walk_pairs(
            game,
            None if pilot.all_rows else ability(game, SubsampledWalks),
            examples,
            orders,
            correction.active,
            rng,
            skip=correction.skip,
            keep=pilot.keep,
            influence=pilot.influence_rows > 0 and bool(is_in_pass.any()),
        )
        values = game.weights[examples][:, None, None] * pairs.contributions
        visits = StratifiedMoments.of(design.cell[examples], values, weighting)
        count = pilot.corrections(first, draws)
        corrections, rows = correction.draw(game, count, rng) if count else (None, 0)
        return Walked(
            visits,
            None if corrections is None else Moments.of(corrections),
            draws,
            pairs.clipped,
            pairs.rows + rows,
            () if pairs.asked is None else (pairs.asked,),
            None if pairs.influence is None else self._influences(game, examples, is_in_pass, pairs.influence),
        )

    def _influences(
        self, game: Game, examples: np.ndarray, is_in_pass: np.ndarray, influence: Influence
    ) -> InfluenceSums:
        """Sums the influence of background rows over the visits of passes, by groups of examples."""
        pilot, is_counted = self.pilot_run, np.tile(is_in_pass, 2)
        examples = np.tile(examples, 2)[is_counted]
        weights = game.weights[examples][:, None, None]
        return InfluenceSums.of(
            pilot.design.group(examples),
            influence.background_index[is_counted],
            weights[:, None] * influence.influence[is_counted],
            weights * influence.bias_correction[is_counted],
            (len(pilot.design.groups), pilot.influence_rows),
        )

    def merge(self, state: Walked, other: Walked) -> Walked:
        """Merges two states; the first may be changed in place, so that a long run does not copy it at each step."""
        visits = state.visits.dense(len(self.design.size))
        visits.add(other.visits)
        corrections = state.corrections or other.corrections
        if state.corrections is not None and other.corrections is not None:
            corrections = state.corrections.merge(other.corrections)
        influences = state.influences or other.influences
        if state.influences is not None and other.influences is not None:
            influences = state.influences.merge(other.influences)
        is_full = sum(rows.size for rows, _ in state.asked) >= MOST_NUMBERS_OF_ROWS
        return Walked(
            visits,
            corrections,
            state.draws + other.draws,
            state.clipped + other.clipped,
            state.rows + other.rows,
            state.asked if is_full else (*state.asked, *other.asked),
            influences,
        )

    def estimated(self, state: Walked) -> Estimated:
        """Returns the values, with the bias of background subsamples corrected."""
        pilot = self.pilot_run
        visits = state.visits.dense(len(pilot.design.size))
        subsampled = estimated_sum(visits, pilot.design.size, pilot.design.stratum)
        if not pilot.per_draw:
            return subsampled
        assert state.corrections is not None, "the first draws have corrections"
        return weighted_sum([subsampled, self._correction(state.corrections, visits)], [1.0, 1.0])

    def _correction(self, draws: Moments, visits: StratifiedMoments) -> Estimated:
        has_effect = self.pilot_run.correction.active | (visits.mean != 0).any(axis=(0, 1))
        return correction(draws, has_effect)

    def read(self, game: Game, state: Walked) -> Estimate:
        pilot, estimated = self.pilot_run, self.estimated(state)
        return Estimate(
            values=estimated.values,
            covariance=estimated.covariance,
            dof=estimated.dof,
            draws=state.draws,
            model_rows=game.rows_spent + pilot.rows + state.rows,
            scale=scale(game),
            coverage=self.coverage(game, state),
            clipped=state.clipped,
            notes=() if pilot.correction.skip else (VARYING,),
        )

    def coverage(self, game: Game, state: Walked) -> Coverage:
        """Returns which examples the design has visited."""
        design, is_seen = self.design, np.zeros(len(game.weights), dtype=bool)
        is_seen[design.order[: state.draws]] = True
        is_settled = design.passes(state.draws) == 2
        return Coverage.of(game.weights, is_seen, design.draws_to_see_all, is_settled=is_settled)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """Returns contributions of examples, the variance of the bias correction, and influence of background rows."""
        design = self.design
        visits = state.visits.dense(len(design.size))
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
        """The sampling design: which example each draw looks at."""
        return self.pilot_run.design

    @property
    def pilot_run(self) -> Pilot:
        """The pilot run, which must have been made."""
        assert self.pilot is not None, "an estimator is prepared before it draws"
        return self.pilot
