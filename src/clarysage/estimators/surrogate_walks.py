"""Surrogate walks: a fast model learns to predict a slow one, and only the difference of the two is sampled.

The surrogate is a control variate with a mean that is sampled at little cost, as in two-level Monte Carlo (Giles 2008).
It is fitted by :mod:`clarysage.games.proxy_model`; the removal named surrogate is something else.

References
----------
M. B. Giles (2008). Multilevel Monte Carlo path simulation. Operations Research 56, 607-617.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.estimators.limits import pace_of
from clarysage.estimators.loop import estimate
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.sampling_design import SamplingDesign, size_measure
from clarysage.inference.degrees_of_freedom import Estimated, weighted_sum
from clarysage.inference.estimate import Estimate, VarianceComponents, weighted_components
from clarysage.inference.stopping import Deadline
from clarysage.protocols import Game, LateError, Rule, SplitsBySurrogate, SubsampledWalks, ability

FIRST_STAGE = 100  # maximum number of pairs in the first stage, which is an eighth of the examples
FEWEST_PAIRS = 16  # in the first stage
FEWEST_SLOW_ROWS = 256  # model rows that are worth a chunk, with a slow model
GROWTH_OF_PREPARATION = 2  # of the seconds that the next stage takes to prepare, since it learns from more rows
SHARE_OF_REST, SHORTEST_RUN = 0.25, 0.1  # of the time until a deadline, or seconds, for the values of a surrogate
SURROGATE_PAIRS = 32  # pairs of walks of the surrogate alone, for each pair of the model


@dataclass(frozen=True)
class Stage:
    """A stage of a run: walks of the difference between the model's game and the game of a surrogate.

    The first stage has no surrogate, and walks the game of the model itself.

    Attributes
    ----------
    before, pairs : pairs of walks in earlier stages, and in this one
    walks, game : the estimator, and the game of the differences
    surrogate, components : the values of the surrogate, and the components of their variance
    seconds : that preparations of the stage took
    """

    before: int
    pairs: int
    walks: PairedWalks
    game: Game
    surrogate: Estimated | None = None
    components: VarianceComponents | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Staged:
    """The states of stages, by their numbers."""

    walked: dict[int, Walked]


@dataclass(frozen=True)
class SurrogateWalks:
    r"""Paired walks for slow models, in stages that double.

    Before each stage a surrogate g is fitted to all hybrid rows that the model f has predicted. Shapley values are
    linear in the game, so

    .. math:: \phi(v_f) = \phi(v_g) + \phi(v_f - v_g)

    The first term is estimated with many rows of g, at little cost. The second is sampled by walks of f and g on the
    same examples, orders and background rows: the better the surrogate, the smaller its variance. The surrogate of a
    stage has learned from earlier stages only, so every stage is unbiased, however good the surrogate is. Stages are
    weighted by n_s 2^s, fixed in advance. The first stage, whose draws the surrogates learn from, counts only as long
    as there is no other, and so do stages that have not seen all examples. The error reported includes that of
    phi(v_g).

    Parameters
    ----------
    regressor : the surrogate, a scikit-learn regressor that accepts missing values; default gradient boosting
    stages : stages of an earlier run, which a checkpoint continues

    Examples
    --------
    >>> import clarysage as cs
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> walks = SurrogateWalks(DecisionTreeRegressor(max_leaf_nodes=32))
    >>> cs.sage(lambda X: X[:, 0], X, X[:, 0], method=walks, budget=50_000, rng=0).top(1)
    ['x0']
    """

    regressor: Any = None
    stages: tuple[Stage, ...] = ()
    name: str = "surrogate walks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Staged, Walked)

    def check(self, game: Game) -> None:
        if ability(game, SubsampledWalks) is None or ability(game, SplitsBySurrogate) is None or game.n_players < 2:
            needed = "two or more players, and a model that is asked row by row"
            raise InputError("method", got="surrogate walks", wanted=needed, hint=Set("method", "paired walks"))

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> SurrogateWalks:
        return replace(self, stages=(_first(game, rows, rng),))

    def adapted(self, game: Game, state: Staged, rng: np.random.Generator) -> SurrogateWalks:
        """Returns the estimator with a further stage, once the last stage is over."""
        last = self.stages[-1]
        walked = state.walked.get(len(self.stages) - 1)
        is_over = walked is not None and walked.draws >= last.pairs
        return replace(self, stages=(*self.stages, self._next(game, state, rng))) if is_over else self

    def rewound(self, state: Staged) -> Staged:
        """Returns the state at the time the next stage was prepared, without the draws of later stages."""
        return Staged({number: walked for number, walked in state.walked.items() if number < len(self.stages)})

    def chunk(self, game: Game) -> int:
        return self.stages[-1].walks.chunk(game)

    def finest(self, game: Game) -> int:
        """Returns few draws: with a slow model even a few rows are worth sending to another worker."""
        return max(1, FEWEST_SLOW_ROWS // max(1, rows_of_pair(game)))

    def pause(self, game: Game, made: int) -> int:
        return self.stages[-1].before + self.stages[-1].pairs

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        stage = self.stages[-1]
        return stage.walks.rows(game, draws, first - stage.before)

    def limit(self, game: Game) -> int | None:
        return None

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Staged:
        stage = self.stages[-1]
        return Staged({len(self.stages) - 1: stage.walks.draw(stage.game, first - stage.before, draws, rng)})

    def merge(self, state: Staged, other: Staged) -> Staged:
        walked = dict(state.walked)
        for number, part in other.walked.items():
            walked[number] = self.stages[number].walks.merge(walked[number], part) if number in walked else part
        return Staged(walked)

    def read(self, game: Game, state: Staged) -> Estimate:
        counted, weights = self._weighted(state)
        estimated = weighted_sum([self._by_stage(number, state) for number in counted], weights)
        first = self.stages[0].walks.read(game, state.walked[0])
        last = self.stages[counted[-1]].walks.coverage(game, state.walked[counted[-1]])
        return replace(
            first,
            values=estimated.values,
            covariance=estimated.covariance,
            dof=estimated.dof,
            draws=sum(walked.draws for walked in state.walked.values()),
            model_rows=first.model_rows + sum(walked.rows for number, walked in state.walked.items() if number > 0),
            coverage=replace(last, draws_to_see_all=2 * first.coverage.draws_to_see_all),  # earlier stages take as many
        )

    def components(self, game: Game, state: Staged) -> VarianceComponents | None:
        """Returns the variance components of the weighted mean of stages; None if no stage has seen all examples."""
        counted, weights = self._weighted(state)
        return weighted_components([self._components_by_stage(number, state) for number in counted], weights)

    def _components_by_stage(self, number: int, state: Staged) -> VarianceComponents | None:
        stage = self.stages[number]
        difference = stage.walks.components(stage.game, state.walked[number])
        if stage.surrogate is None:
            return difference
        return weighted_components([stage.components, difference], [1.0, 1.0])

    def _weighted(self, state: Staged) -> tuple[list[int], list[float]]:
        """Returns the stages that are counted, and their weights.

        Counted are the stages of two passes or more; without any, those of one pass; else all with a surrogate; else
        the first. A stage that has not seen all examples may have missed rare ones, and a stage of one pass has a poor
        standard error. All this depends on the sizes of stages, not on their values.
        """
        passes = {
            number: self.stages[number].walks.design.passes(walked.draws)
            for number, walked in state.walked.items()
            if number > 0 and walked.draws > 1
        }
        counted = [number for number, count in passes.items() if count == max(passes.values())] or [0]
        weights = np.array([state.walked[number].draws * 2.0**number for number in counted])
        return counted, list(weights / weights.sum())

    def _by_stage(self, number: int, state: Staged) -> Estimated:
        """Returns the values of the model by one stage: those of its surrogate, plus the sampled difference."""
        stage = self.stages[number]
        difference = stage.walks.estimated(state.walked[number])
        return difference if stage.surrogate is None else weighted_sum([stage.surrogate, difference], [1.0, 1.0])

    def _next(self, game: Game, state: Staged, rng: np.random.Generator) -> Stage:
        last, pace, began = self.stages[-1], pace_of(game), time.monotonic()
        if pace.late_at < np.inf and GROWTH_OF_PREPARATION * last.seconds > pace.left:
            raise LateError
        pilot = last.walks.pilot_run
        asked = [part for walked in state.walked.values() for part in walked.asked]
        regressor = _gradient_boosting() if self.regressor is None else self.regressor
        splitting = ability(game, SplitsBySurrogate)
        assert splitting is not None, "the game was checked"
        surrogate_game, difference = splitting.split_by_surrogate(regressor, asked, pilot.correction.active)
        size = size_measure(game)  # by losses of the model: the surrogate may agree with it at the ends only
        design = SamplingDesign.of(difference, size, rng)
        pairs = _next_size(last.pairs, design, is_second=len(self.stages) == 1)
        enough = SURROGATE_PAIRS * pairs
        stop: list[Rule] = [lambda result: result.draws >= enough]
        if pace.seconds < np.inf:
            stop.append(Deadline(max(SHORTEST_RUN, SHARE_OF_REST * pace.left)))
        result = estimate(surrogate_game, PairedWalks(), stop=stop, seed=int(rng.integers(2**62)))
        walks = PairedWalks(replace(pilot, design=design, rows=0))
        surrogate = Estimated(result.values, result.covariance, result.dof)
        seconds = time.monotonic() - began
        return Stage(last.before + last.pairs, pairs, walks, difference, surrogate, result.components, seconds)


def _first(game: Game, rows: float, rng: np.random.Generator) -> Stage:
    pilot = PairedWalks().prepared(game, rows, rng).pilot_run
    pairs = max(FEWEST_PAIRS, min(pilot.design.length // 8, FIRST_STAGE))
    return Stage(0, pairs, PairedWalks(replace(pilot, keep=True)), game)


def _next_size(last: int, design: SamplingDesign, *, is_second: bool) -> int:
    """Returns the pairs of the next stage: as many as the first, then twice as many; full passes if possible."""
    size, cycle = last if is_second else 2 * last, len(design.order)
    if last >= design.length:
        return cycle * max(1, round(size / cycle))
    return design.draws_to_see_all if size > design.length / 2 else size


def _gradient_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=200, max_leaf_nodes=63, early_stopping=False, random_state=0)
