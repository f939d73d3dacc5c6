"""Surrogate walks: a cheap model learns from the rows a dear one answered, and only their difference is sampled."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.estimators.loop import estimate
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.paired_walks.estimator import PairedWalks, Walked
from clarysage.estimators.paired_walks.sampling_design import SamplingDesign, size_measure
from clarysage.inference.degrees_of_freedom import Estimated, weighted_sum
from clarysage.inference.estimate import Estimate, VarianceComponents, weighted_components
from clarysage.protocols import Game, SplitsBySurrogate, SubsampledWalks, ability

FIRST_STAGE = 100  # pairs; or an eighth of the examples
FEWEST_PAIRS = 16
FEWEST_SLOW_ROWS = 256  # in a chunk
SURROGATE_PAIRS = 32  # of the surrogate alone for each pair of the model


@dataclass(frozen=True)
class Stage:
    """So many ``pairs`` after the first ``before``, of a game from which a surrogate was taken off.

    The first stage has no surrogate, and walks the game of the model itself.
    """

    before: int
    pairs: int
    walks: PairedWalks
    game: Game
    surrogate: Estimated | None = None
    components: VarianceComponents | None = None


@dataclass(frozen=True)
class Staged:
    """What each stage has walked, by its number."""

    walked: dict[int, Walked]


@dataclass(frozen=True)
class SurrogateWalks:
    r"""Paired walks for models that are slow to ask, in stages that double.

    Before each stage a surrogate g is fitted to all hybrid rows that the model f has answered. Shapley values are
    linear in the game, so

    .. math:: \phi(v_f) = \phi(v_g) + \phi(v_f - v_g)

    whose first term is found with any number of rows of g, and whose second is sampled by walks of f and g side by
    side, on the same examples, orders and background rows: it scatters as little as the surrogate is good. A stage's
    surrogate has learned from earlier stages alone, so every stage is unbiased whatever its quality. Stages are
    weighted by n_s 2^s, fixed in advance; the first serves to learn from, and counts only while it is alone, as do
    stages that have not seen all examples. The error of phi(v_g) is part of the error reported.

    Parameters
    ----------
    regressor : the surrogate, a scikit-learn regressor that takes missing values; default gradient boosting
    """

    regressor: Any = None
    stages: tuple[Stage, ...] = ()
    name: str = "surrogate walks"

    @property
    def state_classes(self) -> tuple[type, ...]:
        return (Staged, Walked)

    def check(self, game: Game) -> None:
        if ability(game, SubsampledWalks) is None or ability(game, SplitsBySurrogate) is None or game.n_players < 2:
            wanted = "two or more players, and a model that is asked row by row"
            raise InputError("method", got="surrogate walks", wanted=wanted, hint=Set("method", "paired walks"))

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> SurrogateWalks:
        return replace(self, stages=(_first(game, rows, rng),))

    def adapted(self, game: Game, state: Staged, rng: np.random.Generator) -> SurrogateWalks:
        """With a surrogate for the next stage, once the last one is over."""
        last = self.stages[-1]
        walked = state.walked.get(len(self.stages) - 1)
        is_over = walked is not None and walked.draws >= last.pairs
        return replace(self, stages=(*self.stages, self._next(game, state, rng))) if is_over else self

    def rewound(self, state: Staged) -> Staged:
        """The state as it was when the next stage was prepared: what stages up to now walked changes no more."""
        return Staged({number: walked for number, walked in state.walked.items() if number < len(self.stages)})

    def chunk(self, game: Game) -> int:
        return self.stages[-1].walks.chunk(game)

    def finest(self, game: Game) -> int:
        """A slow model takes long over few rows, which are then worth sharing out."""
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

    def merge(self, one: Staged, other: Staged) -> Staged:
        walked = dict(one.walked)
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
        """The weighted components of all stages; None where no stage has seen all examples."""
        counted, weights = self._weighted(state)
        return weighted_components([self._components_by_stage(number, state) for number in counted], weights)

    def _components_by_stage(self, number: int, state: Staged) -> VarianceComponents | None:
        stage = self.stages[number]
        left = stage.walks.components(stage.game, state.walked[number])
        return left if stage.surrogate is None else weighted_components([stage.components, left], [1.0, 1.0])

    def _weighted(self, state: Staged) -> tuple[list[int], list[float]]:
        """Stages that are counted, and their weights."""
        counted = self._counted(state)
        weights = np.array([state.walked[number].draws * 2.0**number for number in counted])
        return counted, list(weights / weights.sum())

    def _counted(self, state: Staged) -> list[int]:
        """Stages that are counted: those of two passes or more, else those of one, else all with a surrogate.

        A stage that has not seen all examples knows nothing of what is rare, and a stage of one pass little of its
        own error; this depends on their sizes alone, not on what they found.
        """
        passes = {
            number: self.stages[number].walks.design.passes(walked.draws)
            for number, walked in state.walked.items()
            if number > 0 and walked.draws > 1
        }
        return [number for number, whole in passes.items() if whole == max(passes.values())] or [0]

    def _by_stage(self, number: int, state: Staged) -> Estimated:
        """The values of the model by one stage: those of its surrogate, and what was found to be left of them."""
        stage = self.stages[number]
        left = stage.walks.estimated(state.walked[number])
        return left if stage.surrogate is None else weighted_sum([stage.surrogate, left], [1.0, 1.0])

    def _next(self, game: Game, state: Staged, rng: np.random.Generator) -> Stage:
        last = self.stages[-1]
        pilot = last.walks.pilot_run
        asked = [part for walked in state.walked.values() for part in walked.asked]
        regressor = _gradient_boosting() if self.regressor is None else self.regressor
        splitting = ability(game, SplitsBySurrogate)
        assert splitting is not None, "the game was checked"
        theirs, left = splitting.split_by_surrogate(regressor, asked, pilot.active)
        design = SamplingDesign.of(left, size_measure(game), rng)  # a surrogate may be right at the ends alone
        pairs = _next_size(last.pairs, design, is_second=len(self.stages) == 1)
        enough = SURROGATE_PAIRS * pairs
        found = estimate(theirs, PairedWalks(), stop=[lambda now: now.draws >= enough], seed=int(rng.integers(2**62)))
        walks = PairedWalks(replace(pilot, design=design, rows=0))
        surrogate = Estimated(found.values, found.covariance, found.dof)
        return Stage(last.before + last.pairs, pairs, walks, left, surrogate, found.components)


def _first(game: Game, rows: float, rng: np.random.Generator) -> Stage:
    pilot = PairedWalks().prepared(game, rows, rng).pilot_run
    pairs = max(FEWEST_PAIRS, min(pilot.design.length // 8, FIRST_STAGE))
    return Stage(0, pairs, PairedWalks(replace(pilot, keep=True)), game)


def _next_size(last: int, design: SamplingDesign, *, is_second: bool) -> int:
    """Pairs of the next stage: as many as the first, then twice as many; a whole pass or whole tours where possible."""
    size, whole = last if is_second else 2 * last, len(design.order)
    if last >= design.length:
        return whole * max(1, round(size / whole))
    return design.draws_to_see_all if size > design.length / 2 else size


def _gradient_boosting() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=200, max_leaf_nodes=63, early_stopping=False, random_state=0)
