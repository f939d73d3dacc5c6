"""Faults to plant in estimates: a check that cannot fail is worth nothing. ``ESTIMATE_FAULTS`` is their table."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.inference.estimate import Estimate
from clarysage.protocols import Estimator, Game, Piloted, ability
from tests.lab.runs import size_of


@dataclass(frozen=True)
class RepeatedDraws:
    """An estimator whose draws each count ``copies`` times.

    Examples
    --------
    >>> from clarysage.estimators import Permutation
    >>> RepeatedDraws(Permutation(), copies=2).name
    'permutation'
    """

    sound: Estimator[Any]
    copies: int

    @property
    def name(self) -> str:
        return self.sound.name

    def check(self, game: Game) -> None:
        self.sound.check(game)

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> RepeatedDraws:
        piloted = ability(self.sound, Piloted)
        return self if piloted is None else replace(self, sound=piloted.prepared(game, rows, rng))

    def chunk(self, game: Game) -> int:
        return self.sound.chunk(game)

    def pause(self, game: Game, made: int) -> int:
        return self.sound.pause(game, made)

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        return self.sound.rows(game, draws, first)

    def limit(self, game: Game) -> int | None:
        return self.sound.limit(game)

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> Any:
        state = self.sound.draw(game, first, draws, rng)
        for again in [deepcopy(state) for _ in range(self.copies - 1)]:
            state = self.sound.merge(state, again)
        return state

    def merge(self, one: Any, other: Any) -> Any:
        return self.sound.merge(one, other)

    def read(self, game: Game, state: Any) -> Estimate:
        return self.sound.read(game, state)


@dataclass(frozen=True)
class EstimateFault:
    """How readings of a run are spoilt (None: not at all), and how often each draw counts."""

    spoil: Callable[[Estimate], Estimate] | None
    copies: int = 1


def narrow(found: Estimate) -> Estimate:
    """Standard errors that are too small by a fifth."""
    return replace(found, covariance=found.covariance * 0.64)


def shifted(found: Estimate) -> Estimate:
    """The first value too large by two percent of the range of the values."""
    return _with_first(found, found.values[:, 0] + 0.02 * np.array([size_of(one) for one in found.values]))


def turned(found: Estimate) -> Estimate:
    """The first value with the wrong sign."""
    return _with_first(found, -found.values[:, 0])


ESTIMATE_FAULTS: dict[str, EstimateFault] = {
    "std x 0.8": EstimateFault(narrow),
    "bias of 2 %": EstimateFault(shifted),
    "wrong sign": EstimateFault(turned),
    "repeated draws": EstimateFault(None, copies=2),
}


def _with_first(found: Estimate, first: np.ndarray) -> Estimate:
    values = found.values.copy()
    values[:, 0] = first
    return replace(found, values=values)
