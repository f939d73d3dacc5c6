"""Paired walks: an order of the players and its reverse, on the same example, with few background rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clarysage.coalitions import permutations
from clarysage.errors import Note
from clarysage.estimators.antithetic import Asked, rows_of_pair, walk_pairs
from clarysage.estimators.bias_correction import correction
from clarysage.estimators.draws import FEWEST_ROWS_PER_CHUNK, rows_per_chunk, scale
from clarysage.estimators.pilot import Plan, planned
from clarysage.estimators.sampling_design import Tour
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
    """Visits to examples, comparisons of few background rows with all of them, clipped payoffs, model rows.

    ``asked`` holds hybrid rows with the model's answers, where a plan keeps them, ``influences`` those of background
    rows, where it looks beyond them.
    """

    visits: StratifiedMoments
    comparisons: Moments | None
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
    - A walk looks at few background rows, and keeps to them, instead of averaging over all. How a loss is then
      estimated without bias, or nearly so, is its own affair (:mod:`clarysage.losses.debiasing`).
    - What bias is left is taken off by comparisons of few background rows with all of them: values are linear in the
      game, so phi(v) = phi(v_few) + phi(v - v_few). How many is decided by variances measured beforehand.

    Examples
    --------
    >>> from clarysage.games import TabularGame
    >>> from clarysage.estimators import estimate
    >>> estimate(TabularGame([0, 1, 2, 4]), PairedWalks(), seed=0).values
    array([[1.5, 2.5]])
    """

    plan: Plan | None = None
    name: str = "paired walks"

    def check(self, game: Game) -> None:
        """Any game can be walked."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> PairedWalks:
        return replace(self, plan=planned(game, rows, rng)) if self.plan is None else self

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
        tour, least = self.tour, max(made, FEWEST_DRAWS)
        ends = [end for end in (tour.draws_to_see_all, 2 * tour.length, len(tour.order)) if end > least]
        return min([max(FEWEST_DRAWS, made + made // 4), *ends])

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        plan = self.known()
        more = plan.compared(first + draws) - plan.compared(first)
        pairs = draws * rows_of_pair(game, whole=plan.whole)
        return (0 if first else plan.rows) + pairs + more * plan.comparisons.cost(game)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Walked:
        plan = self.known()
        examples = plan.tour.examples(first, draws)
        orders = permutations(draws, game.n_players, rng)
        is_even = plan.tour.is_even(first, draws)
        pairs = walk_pairs(
            game, examples, orders, plan.active, rng, skip=plan.skip, keep=plan.keep,
            influence=plan.reaches and bool(is_even.any()), whole=plan.whole,
        )  # fmt: skip
        values = game.weights[examples][:, None, None] * pairs.found
        visits = StratifiedMoments.of(plan.tour.cell[examples], values, plan.tour.worth(first))
        count = plan.compared(first + draws) - plan.compared(first)
        found, rows = plan.comparisons.draw(game, count, rng) if count else (None, 0)
        return Walked(
            visits,
            None if found is None else Moments.of(found),
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
            self.tour.group(examples),
            influence.background_index[counted],
            weights[:, None] * influence.influence[counted],
            weights * influence.bias_correction[counted],
            (len(self.tour.groups), len(subsampled.background_weights)),
        )

    def merge(self, one: Walked, other: Walked) -> Walked:
        """Both together; ``one`` may be changed, so that a long run does not copy what it has at each step."""
        visits = one.visits.dense(len(self.tour.size))
        visits.add(other.visits)
        both = [part for part in (one.comparisons, other.comparisons) if part is not None]
        comparisons = both[0].merge(both[1]) if len(both) == 2 else both[0] if both else None
        return Walked(
            visits,
            comparisons,
            one.draws + other.draws,
            one.clipped + other.clipped,
            one.rows + other.rows,
            _kept(one.asked, other.asked),
            _both(one.influences, other.influences),
        )

    def estimated(self, state: Walked) -> Estimated:
        """The values, with the bias of few background rows taken off as far as comparisons know it."""
        visits = state.visits.dense(len(self.tour.size))
        subsampled = estimated_sum(visits, self.tour.size, self.tour.stratum)
        if not self.known().per_draw:
            return subsampled
        assert state.comparisons is not None, "the first draws have comparisons"
        return weighted_sum([subsampled, self._correction(state.comparisons, visits)], [1.0, 1.0])

    def _correction(self, comparisons: Moments, visits: StratifiedMoments) -> Estimated:
        moves = self.known().active | (visits.mean != 0).any(axis=(0, 1))
        return correction(comparisons, moves)

    def read(self, game: Game, state: Walked) -> Estimate:
        estimated, plan = self.estimated(state), self.known()
        return Estimate(
            values=estimated.values,
            covariance=estimated.covariance,
            dof=estimated.dof,
            draws=state.draws,
            model_rows=game.rows_spent + plan.rows + state.rows,
            scale=scale(game),
            coverage=self.coverage(game, state),
            clipped=state.clipped,
            notes=() if plan.skip else (VARYING,),
        )

    def coverage(self, game: Game, state: Walked) -> Coverage:
        """Which examples the tour has come to."""
        is_seen = np.zeros(len(game.weights), dtype=bool)
        is_seen[self.tour.order[: state.draws]] = True
        is_settled = self.tour.passes(state.draws) == 2
        return Coverage.of(game.weights, is_seen, self.tour.draws_to_see_all, is_settled=is_settled)

    def components(self, game: Game, state: Walked) -> VarianceComponents:
        """Contributions of examples, the variance of the bias correction, and the influence of background rows."""
        tour, visits = self.tour, state.visits.dense(len(self.tour.size))
        is_positive = game.weights > 0
        weights = np.bincount(tour.cell[is_positive], game.weights[is_positive]) / tour.size
        by_cell, between = contributions_of(visits, tour.size, tour.stratum, weights)
        residual = np.zeros_like(between)
        if self.known().per_draw and state.comparisons is not None:
            residual = self._correction(state.comparisons, visits).variance
        background = None if state.influences is None else state.influences.over_all_examples(tour.groups)
        seen = int(visits.count.sum()) if by_cell is None else len(by_cell)
        contributions = None if by_cell is None else by_cell[tour.cell[is_positive]]
        return VarianceComponents(contributions, between, residual, seen - 1.0, background)

    @property
    def tour(self) -> Tour:
        return self.known().tour

    def known(self) -> Plan:
        """The plan, made before the first draw."""
        assert self.plan is not None, "an estimator is prepared before it draws"
        return self.plan


def _both(one: InfluenceSums | None, other: InfluenceSums | None) -> InfluenceSums | None:
    if one is None or other is None:
        return one or other
    return one.merge(other)


def _kept(one: tuple[Asked, ...], other: tuple[Asked, ...]) -> tuple[Asked, ...]:
    """Rows and answers of both, as many as may be remembered."""
    return one if sum(rows.size for rows, _ in one) >= NUMBERS_REMEMBERED else (*one, *other)
