"""Contract of estimators, which summarise games by sampling or enumeration, with their optional abilities."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np

from clarysage.inference.estimate import Estimate, LocalValues, VarianceComponents
from clarysage.protocols.games import Game

State = TypeVar("State")
Input = TypeVar("Input", contravariant=True)


class Estimator(Protocol[State]):
    """An estimator of Shapley values or other summaries of a game, from random draws.

    States merge associatively; chunk i always uses random stream i.

    Optional abilities (:func:`ability`): :class:`Piloted`, :class:`Adaptive`, :class:`Divisible`,
    :class:`Decomposed`, :class:`EstimatesLocalValues`, :class:`VisitsInPasses`, :class:`SamplesBackgroundVariance`,
    :class:`Enumerates`, :class:`CostLimited`, :class:`HasStates`.
    """

    @property
    def name(self) -> str: ...

    def check(self, game: Game) -> None:
        """Raises an error if this estimator cannot be used for the game."""
        ...

    def chunk(self, game: Game) -> int:
        """Returns the maximum number of draws per chunk; it depends on the game alone."""
        ...

    def pause(self, game: Game, made: int) -> int:
        """Returns the number of draws at which the stopping rules are checked next (the next interim analysis)."""
        ...

    def rows(self, game: Game, draws: int, first: int = 0) -> int:
        """Returns the maximum number of model rows for ``draws`` draws after the ``first`` draws.

        If ``first`` is 0, the rows of preparations are included.
        """
        ...

    def limit(self, game: Game) -> int | None:
        """Returns the total number of draws; None if it is unlimited."""
        ...

    def draw(self, game: Game, first: int, draws: int, rng: np.random.Generator) -> State:
        """Makes the draws from number ``first`` on, and returns their state: the sums that the estimate needs."""
        ...

    def merge(self, state: State, other: State) -> State:
        """Returns the state of the draws of two states, of which ``other`` has the later ones."""
        ...

    def read(self, game: Game, state: State) -> Estimate:
        """Returns the estimate that the draws of a state give."""
        ...


class Piloted(Protocol):
    """An estimator that tunes its sampling design by a pilot run, before its first draw."""

    def prepared(self, game: Game, rows: float, rng: np.random.Generator) -> Estimator[Any]:
        """Returns the estimator tuned by a pilot run, which costs a small part of the remaining model ``rows``.

        It returns itself if it is prepared already.
        """
        ...


class Adaptive(Protocol):
    """An estimator that learns from its own draws, between rounds.

    A resumed run must learn the same again from its checkpoint, whose state contains later draws, too. Therefore, for
    all states ``earlier`` and ``later`` of the same estimator in a run, ``adapted(game, earlier, rng)`` must equal
    ``adapted(game, rewound(later), rng)``.
    """

    def adapted(self, game: Game, state: Any, rng: np.random.Generator) -> Estimator[Any]:
        """Returns the estimator for the next round; itself if there is nothing to learn yet."""
        ...

    def rewound(self, state: Any) -> Any:
        """Returns the state without the draws of estimators that were adapted from this one."""
        ...


class Divisible(Protocol):
    """An estimator whose chunks may be smaller in short rounds, so that all workers have something to do."""

    def finest(self, game: Game) -> int:
        """Returns the minimum number of draws per chunk."""
        ...


class EstimatesLocalValues(Protocol[Input]):
    """An estimator that also estimates the values of each example (local values)."""

    def local_values(self, game: Game, state: Input) -> LocalValues:
        """Returns the values of each example with positive weight."""
        ...


class VisitsInPasses(Protocol):
    """An estimator that goes over all examples in passes."""

    def with_minimum_passes(self, passes: int) -> Estimator[Any]:
        """Returns the estimator whose stopping rules are first checked after the given number of passes."""
        ...


class CostLimited(Protocol):
    """An estimator that refuses a game that would need too many model rows."""

    def without_limit(self) -> Estimator[Any]:
        """Returns the estimator that accepts games at any cost."""
        ...


class SamplesBackgroundVariance(Protocol):
    """An estimator that samples walks to estimate how values vary with the background, in addition to the values."""

    def conditional_on_background(self) -> Estimator[Any]:
        """Returns the estimator of the values alone, conditional on the background."""
        ...


class Enumerates(Protocol):
    """An estimator that evaluates a known number of coalitions."""

    def coalitions(self, game: Game) -> int:
        """Returns the number of coalitions that it evaluates, without the empty and the full one."""
        ...


class HasStates(Protocol):
    """An estimator whose states can be saved in a checkpoint file."""

    @property
    def state_classes(self) -> tuple[type, ...]:
        """Dataclasses that occur in its states, except the moments and sums of :mod:`clarysage.inference`."""
        ...


class Decomposed(Protocol[Input]):
    """An estimator that decomposes the variance of its values into components of examples and background rows.

    The loop computes the variances about populations from the components.
    """

    def components(self, game: Game, state: Input) -> VarianceComponents | None:
        """Returns the variance components of examples and background rows; None if they are not known."""
        ...
