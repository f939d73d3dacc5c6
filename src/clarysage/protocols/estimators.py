"""Contract of estimators, which summarise games by sampling or enumeration, with their optional abilities."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols.games import Game

State = TypeVar("State")
Input = TypeVar("Input", contravariant=True)


class Estimator(Protocol[State]):
    """A summary of a game made of draws. States merge associatively; chunk i always has random stream i.

    What an estimator may offer beside this are abilities, asked for with :func:`ability`: :class:`Piloted`,
    :class:`Adaptive`, :class:`Divisible`, :class:`Decomposed`, :class:`KeepsExamplesApart`, :class:`InPasses`,
    :class:`WalksBesides`, :class:`Enumerates`, :class:`CostLimited`, :class:`HasStates`.
    """

    @property
    def name(self) -> str: ...

    def check(self, game: Game) -> None:
        """Raise where this estimator cannot be used on the game."""
        ...

    def chunk(self, game: Game) -> int:
        """How many draws a chunk holds at most; depends on the game alone."""
        ...

    def pause(self, game: Game, made: int) -> int:
        """How many draws there are to be when the estimate is looked at next."""
        ...

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        """Model rows that so many draws cost at most, when ``first`` have been made; if none, with preparations."""
        ...

    def limit(self, game: Game) -> int | None:
        """How many draws there are to make in all; None without end."""
        ...

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> State: ...

    def merge(self, one: State, other: State) -> State: ...

    def read(self, game: Game, state: State) -> Estimate: ...


class Piloted(Protocol):
    """An estimator that finds out about the game before its first draw, by a pilot run."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> Estimator[Any]:
        """The estimator for the game, after a pilot run for a small part of the model ``rows`` that are left.

        Itself, where it has been prepared already.
        """
        ...


class Adaptive(Protocol):
    """An estimator that learns from its own draws, between rounds.

    A run that is resumed learns the same again from the state that was kept, which has later draws in it, too: so for
    all states ``earlier`` and ``later`` of a run at which it is the same estimator, ``adapted(game, earlier, rng)`` and
    ``adapted(game, rewound(later), rng)`` are the same.
    """

    def adapted(self, game: Game, state: Any, rng: np.random.Generator) -> Estimator[Any]:
        """The estimator for the next round; itself where there is nothing to learn yet."""
        ...

    def rewound(self, state: Any) -> Any:
        """The state without the draws of estimators that were adapted from this one."""
        ...


class Divisible(Protocol):
    """An estimator whose chunks may be smaller in short rounds, so that several workers have their part in them."""

    def finest(self, game: Game) -> int:
        """The fewest draws that are worth a chunk."""
        ...


class KeepsExamplesApart(Protocol[Input]):
    """An estimator that keeps the values of single examples apart."""

    def local_values(self, game: Game, state: Input) -> LocalValues:
        """Values of the examples of positive weight, each in a game of its own."""
        ...


class InPasses(Protocol):
    """An estimator that goes over all examples in passes."""

    def looking_after(self, passes: int) -> Estimator[Any]:
        """The estimator whose rules for stopping are first asked after so many passes."""
        ...


class CostLimited(Protocol):
    """An estimator that refuses a game which would take too many model rows."""

    def without_limit(self) -> Estimator[Any]:
        """The estimator that takes the game on, whatever it costs."""
        ...


class WalksBesides(Protocol):
    """An estimator that also estimates how values vary with the background, beside the values themselves."""

    def within_background(self) -> Estimator[Any]:
        """The estimator of the values alone."""
        ...


class Enumerates(Protocol):
    """An estimator that evaluates a known number of coalitions."""

    def coalitions(self, game: Game) -> int:
        """How many coalitions between the empty and the full one it evaluates."""
        ...


class HasStates(Protocol):
    """An estimator whose draws can be kept in the file of a checkpoint."""

    @property
    def state_classes(self) -> tuple[type, ...]:
        """Dataclasses that its states are made of, but for the moments and sums of :mod:`clarysage.inference`."""
        ...


class Decomposed(Protocol[Input]):
    """An estimator that takes apart what the variance of its values comes of.

    The loop then turns the components into what the values say of populations.
    """

    def components(self, game: Game, state: Input) -> VarianceComponents | None:
        """The variance by examples and background rows; None where that is not known."""
        ...
