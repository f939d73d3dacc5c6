"""Exact values in place of paired walks that turn out to cost more: the decision, and the estimator that takes over.

How many walks are needed depends on variances that only the walks themselves show. So a forecast that speaks for walks
may be wrong, most of all for losses without a cheap bias correction. For these it is made again after the first round,
by the share of model rows that the correction needs; for all losses after each round, once all examples have been
visited twice and the standard errors are those of the rest of the run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import Note
from clarysage.estimators.forecast import enumeration_cost, expected_pairs
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.inference.estimate import Estimate, VarianceComponents
from clarysage.inference.stopping import LIMITS, Converged, convergence_rule, row_limit, time_limit
from clarysage.protocols import ClosedForm, Decomposed, Estimator, Game, HasStates, Piloted, Rule, ability

CLEARLY = 4.0  # times that exact values must be cheaper than walks, as long as the number of walks is not known


@dataclass(frozen=True)
class Alternative:
    """Exact values that walks are given up for once they are forecast to take longer.

    Attributes
    ----------
    exact : the estimator of the exact values
    stop : the rules of the run; a run with a deadline or a rule of another kind never changes, since an enumeration
        cannot be cut short, and since walks may end by the rule at any time
    """

    exact: Estimator[Any]
    stop: tuple[Rule, ...]

    def is_cheaper(self, game: Game, estimate: Estimate, walked: int) -> bool:
        """Tells whether exact values take less than the rest of walks, which took ``walked`` model rows so far."""
        rows = self._rows(game, estimate)
        if rows is None:
            return False
        share = convergence_rule(self.stop).progress(estimate)
        times = (1 - share) / max(share, 1e-12)  # so many times the walks so far are still to come
        closed_form = ability(game, ClosedForm)
        if closed_form is None:
            return enumeration_cost(game, rows) < times * walked
        return closed_form.seconds < times * estimate.draws * closed_form.seconds_per_pair

    def is_clearly_cheaper(self, game: Game, estimate: Estimate, share: float) -> bool:
        """Tells whether exact values take far less than walks with ``share`` model rows of correction per row of walks.

        Of the variance of the values, a part 1 / (1 + share) is that of the walks.
        """
        rows = self._rows(game, estimate)
        if rows is None or ability(game, ClosedForm) is not None:
            return False
        forecast = expected_pairs(game, self.stop) * rows_of_pair(game) * (1 + share) ** 2
        return CLEARLY * enumeration_cost(game, rows) < forecast

    def _rows(self, game: Game, estimate: Estimate) -> int | None:
        """Returns the model rows of exact values; None where the rules do not allow them."""
        draws = self.exact.limit(game)
        if draws is None or time_limit(self.stop) < float("inf"):
            return None
        if not all(isinstance(rule, (*LIMITS, Converged)) for rule in self.stop):
            return None
        rows = self.exact.rows(game, draws)
        return None if estimate.model_rows + rows > row_limit(self.stop) else rows

    def after(self, game: Game, walks: Estimator[Any], pairs: int, rng: np.random.Generator) -> ExactAfterWalks:
        """Returns the estimator that takes over from walks after so many pairs."""
        piloted = ability(self.exact, Piloted)
        exact = self.exact if piloted is None else piloted.prepared(game, row_limit(self.stop), rng)
        return ExactAfterWalks(walks, exact, pairs)


@dataclass(frozen=True)
class GivenUp:
    """The state of walks that were given up, and of the exact values.

    Attributes
    ----------
    walked : the state of the walks; None in a chunk of exact values
    exact : the state of the exact values so far, None before the first
    draws : draws of the exact values so far
    """

    walked: Any
    exact: Any
    draws: int


@dataclass(frozen=True)
class ExactAfterWalks:
    """Exact values that take the place of walks; until all are there, the estimate is that of the walks.

    Attributes
    ----------
    walks : the estimator of the walks that were given up
    exact : the estimator of the exact values
    pairs : number of pairs of walks that were made
    """

    walks: Estimator[Any]
    exact: Estimator[Any]
    pairs: int
    name: str = "exact"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return states_of(self.walks, self.exact)

    def check(self, game: Game) -> None:
        self.exact.check(game)

    def chunk(self, game: Game) -> int:
        return self.exact.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        return min(self.limit(game), self.pairs + self.exact.pause(game, made - self.pairs))

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.exact.rows(game, draws, first - self.pairs)

    def limit(self, game: Game) -> int:
        draws = self.exact.limit(game)
        assert draws is not None, "the number of draws of exact values is known"
        return self.pairs + draws

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> GivenUp:
        return GivenUp(None, self.exact.draw(game, first - self.pairs, draws, rng), draws)

    def merge(self, state: Any, other: GivenUp) -> GivenUp:
        """Merges a chunk of exact values into the state of the walks, or into one that has exact values already."""
        if not isinstance(state, GivenUp):
            return replace(other, walked=state)
        return GivenUp(state.walked, self.exact.merge(state.exact, other.exact), state.draws + other.draws)

    def read(self, game: Game, state: Any) -> Estimate:
        walked = self.walks.read(game, state.walked if isinstance(state, GivenUp) else state)
        if not isinstance(state, GivenUp):
            return walked
        if not self._is_complete(game, state):
            return replace(walked, model_rows=walked.model_rows + self.exact.rows(game, state.draws))
        exact, rows = self.exact.read(game, state.exact), walked.model_rows - game.rows_spent
        text = f"Method {self.name!r} took over after {self.pairs:,} pairs of walks ({rows:,} model rows), since these "
        note = Note(text + "turned out to take longer.", topic="change of method")
        return replace(exact, model_rows=exact.model_rows + rows, notes=(*exact.notes, note), method=self.name)

    def components(self, game: Game, state: Any) -> VarianceComponents | None:
        """Returns the components of the exact values, or of the walks until all exact values are there."""
        if isinstance(state, GivenUp) and self._is_complete(game, state):
            exact = ability(self.exact, Decomposed)
            return None if exact is None else exact.components(game, state.exact)
        walks = ability(self.walks, Decomposed)
        return None if walks is None else walks.components(game, state.walked if isinstance(state, GivenUp) else state)

    def _is_complete(self, game: Game, state: GivenUp) -> bool:
        return self.pairs + state.draws == self.limit(game)


def states_of(*estimators: Estimator[Any]) -> tuple[type, ...]:
    """Returns the classes of the states of walks, of exact values and of both."""
    with_states = [ability(estimator, HasStates) for estimator in estimators]
    return (GivenUp, *(cls for of in with_states if of is not None for cls in of.state_classes))
