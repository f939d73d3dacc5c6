"""Planted faults of estimates, which show that a calibration test can fail. ``ESTIMATE_FAULTS`` is their table."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.inference.estimate import Estimate
from clarysage.protocols import Estimator, Game, Piloted, ability
from tests.lab.repeated_runs import range_with_zero


@dataclass(frozen=True)
class RepeatedDraws:
    """An estimator that counts each draw ``copies`` times, as if the copies were independent.

    Examples
    --------
    >>> from clarysage.estimators import Permutation
    >>> RepeatedDraws(Permutation(), copies=2).name
    'permutation'
    """

    estimator: Estimator[Any]
    copies: int

    @property
    def name(self) -> str:
        return self.estimator.name

    def check(self, game: Game) -> None:
        self.estimator.check(game)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> RepeatedDraws:
        piloted = ability(self.estimator, Piloted)
        return self if piloted is None else replace(self, estimator=piloted.prepared(game, rows, rng))

    def chunk(self, game: Game) -> int:
        return self.estimator.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        return self.estimator.pause(game, made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.estimator.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return self.estimator.limit(game)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Any:
        state = self.estimator.draw(game, first, draws, rng)
        for copy in [deepcopy(state) for _ in range(self.copies - 1)]:
            state = self.estimator.merge(state, copy)
        return state

    def merge(self, state: Any, other: Any) -> Any:
        return self.estimator.merge(state, other)

    def read(self, game: Game, state: Any) -> Estimate:
        return self.estimator.read(game, state)


@dataclass(frozen=True)
class EstimateFault:
    """A function that falsifies estimates (None: no change), and how often each draw counts."""

    falsify: Callable[[Estimate], Estimate] | None
    copies: int = 1


def too_narrow(result: Estimate) -> Estimate:
    """Makes standard errors too small by a fifth."""
    return replace(result, covariance=result.covariance * 0.64)


def biased(result: Estimate) -> Estimate:
    """Makes the first value too large by two percent of the range of the values."""
    sizes = np.array([range_with_zero(values) for values in result.values])
    return _with_first(result, result.values[:, 0] + 0.02 * sizes)


def negated(result: Estimate) -> Estimate:
    """Gives the first value the wrong sign."""
    return _with_first(result, -result.values[:, 0])


ESTIMATE_FAULTS: dict[str, EstimateFault] = {
    "std x 0.8": EstimateFault(too_narrow),
    "bias of 2 %": EstimateFault(biased),
    "wrong sign": EstimateFault(negated),
    "repeated draws": EstimateFault(None, copies=2),
}


def _with_first(result: Estimate, first: np.ndarray) -> Estimate:
    values = result.values.copy()
    values[:, 0] = first
    return replace(result, values=values)
