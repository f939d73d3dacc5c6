"""Contracts of cooperative games, with their optional abilities and the dataclasses that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clarysage.players import Players
from clarysage.protocols.execution import Executor
from clarysage.protocols.models import Loss
from clarysage.protocols.removal import RestrictedModel


class Game(Protocol):
    """v: payoffs of coalitions, example by example. A payoff is minus a loss, so gains are differences of payoffs.

    What a game may offer beside this are abilities, asked for with :func:`ability`: :class:`SubsampledWalks` and
    :class:`SubsampledGame`, :class:`ClosedForm`, :class:`Imitable`, :class:`CoalitionValues`,
    :class:`LearnsCoalitions`, :class:`DrawsSingly`, :class:`SelfMatched`, :class:`Batched`, :class:`NamedPlayers`,
    :class:`HasLosses`.
    """

    @property
    def n_players(self) -> int: ...

    @property
    def weights(self) -> np.ndarray:
        """Weights of the examples, (N,), adding up to one."""
        ...

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Exact payoffs of the empty and of the full coalition, (N, L) each."""
        ...

    @property
    def floor(self) -> np.ndarray:
        """Payoffs (L,) at which a loss bounds itself."""
        ...

    @property
    def rows_per_payoff(self) -> int: ...

    @property
    def rows_spent(self) -> int:
        """Model rows that the ends have cost."""
        ...

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Payoffs of one coalition an example: (n,), (n, p) -> (n, L)."""
        ...

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Payoffs at every prefix, ends included: (n,), (n, p) -> (n, p + 1, L)."""
        ...


class ModelGame(Game, Protocol):
    """A game whose payoffs are minus the losses of a restricted model on examples."""

    @property
    def restricted(self) -> RestrictedModel: ...

    @property
    def players(self) -> Players: ...

    @property
    def losses(self) -> tuple[Loss, ...]: ...

    @property
    def X(self) -> np.ndarray:  # noqa: N802
        """The examples as codes, (N, d)."""
        ...

    @property
    def targets(self) -> tuple[np.ndarray, ...]:
        """Their responses, encoded for each of the losses."""
        ...


class NamedPlayers(Protocol):
    """A game whose players have names."""

    @property
    def players(self) -> Players: ...


class HasLosses(Protocol):
    """A game whose payoffs are losses that have names."""

    @property
    def losses(self) -> tuple[Loss, ...]: ...


class Batched(Protocol):
    """A game whose model gets so many rows at once."""

    @property
    def batch_size(self) -> int | None:
        """Rows that the model gets at once; None where the user did not say."""
        ...


class SelfMatched(Protocol):
    """A game whose examples may be background rows themselves."""

    @property
    def self_match(self) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        ...


class Imitable(Protocol):
    """The game of a model that a surrogate can imitate."""

    def imitated(
        self, regressor: Any, asked: Sequence[tuple[np.ndarray, np.ndarray]], active: np.ndarray
    ) -> tuple[Game, Game]:
        """The game of a surrogate fitted to the model's answers, and the game of what the surrogate leaves.

        ``asked`` are rows that went to the model, with its answers; ``active`` (p,) the players known to matter.
        """
        ...


@dataclass(frozen=True)
class CoalitionValue:
    """v(S) of a coalition, (L,), the variance of its own sampling, and the model rows it cost."""

    value: np.ndarray
    variance: np.ndarray
    rows: int


class CoalitionValues(Protocol):
    """A game that estimates v(S) over all examples for less than their payoffs cost."""

    def value(self, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
        """v(S) of a coalition (p,)."""
        ...


class LearnsCoalitions(Protocol):
    """A game whose payoffs take fits of a learner, which workers share."""

    @property
    def fits_per_coalition(self) -> int:
        """How often the learner is fitted for a coalition."""
        ...

    @property
    def coalitions_learned(self) -> int:
        """Coalitions that the learner was fitted for in this process, that of all players included."""
        ...

    @property
    def rows_learned(self) -> int:
        """Rows that learners saw for these, to be fitted on or to predict."""
        ...

    def learn(self, coalitions: Sequence[np.ndarray], executor: Executor) -> Iterator[np.ndarray]:
        """Payoffs (N, L) of one coalition (p,) after the other."""
        ...


@dataclass(frozen=True)
class Influence:
    """Bias of payoffs at s steps that comes from a finite background, and their influence function in its weights.

    Attributes
    ----------
    bias_correction : (n, s, L) to be added to payoffs for those of an endless background from which the given one was
        drawn, and of which an example is no row itself
    background_index : (n, q) background rows ...
    influence : (n, q, s, L) ... and the derivative of payoffs in the share of weight that moves to them
    """

    bias_correction: np.ndarray
    background_index: np.ndarray
    influence: np.ndarray


@dataclass(frozen=True)
class Walks:
    """Payoffs at every prefix of walks, (n, p + 1, L), and the model rows they cost.

    ``asked`` are those rows with the model's answers, and ``influence`` has as many steps as payoffs, where wanted.
    """

    payoffs: np.ndarray
    rows: int
    asked: tuple[np.ndarray, np.ndarray] | None = None
    influence: Influence | None = None


@dataclass(frozen=True)
class Comparison:
    """Payoffs (n, L) with all background rows, and with subsamples of them, averaged over draws; and model rows."""

    exact: np.ndarray
    subsampled: np.ndarray
    rows: int


@dataclass(frozen=True)
class CoalitionInfluence:
    """Payoffs (n, L) of a coalition with all background rows, with sums over examples by weight of its influence.

    ``bias_correction`` (L,) would make them those of an endless background; ``influence`` (m, L) is that of background
    rows, times their weights.
    """

    payoffs: np.ndarray
    bias_correction: np.ndarray
    influence: np.ndarray


class SubsampledWalks(Protocol):
    """Walks of a game with a subsample of the background rows behind its payoffs.

    ``active`` (p,) are the players known to matter; ``skip`` leaves out model rows whose predictions are known;
    ``keep`` returns the rows that went to the model, with its answers; ``influence`` that of the background.
    """

    @property
    def rows(self) -> int:
        """Background rows of a walk."""
        ...

    @property
    def takes_all(self) -> bool:
        """Whether these are all rows there are."""
        ...

    @property
    def background_weights(self) -> np.ndarray:
        """Weights of the background rows, (m,), adding up to one."""
        ...

    @property
    def is_sampled(self) -> bool:
        """Whether the background rows may be thought of as drawn from more."""
        ...

    @property
    def is_unbiased(self) -> bool:
        """Whether payoffs are right on average."""
        ...

    @property
    def errs_with_loss(self) -> bool:
        """Whether payoffs are off most where losses are large."""
        ...

    def walk(
        self,
        examples: np.ndarray,
        orders: np.ndarray,
        active: np.ndarray,
        rng: np.random.Generator,
        *,
        skip: bool,
        keep: bool = False,
        influence: bool = False,
    ) -> Walks:
        """Estimated payoffs at every prefix."""
        ...

    def compare(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, *, skip: bool
    ) -> Comparison:
        """Payoffs of coalitions (n, p), one an example, with all rows and with subsamples."""
        ...


class SubsampledGame(SubsampledWalks, Protocol):
    """A game of a model that also has single coalitions by subsamples, and tells of the model and its background."""

    @property
    def asks_model(self) -> bool:
        """Whether the model itself predicts along walks, not what is known of its structure."""
        ...

    @property
    def rows_in_all(self) -> int:
        """Background rows that a payoff with all of them takes: one, where their mean row tells the same."""
        ...

    @property
    def enlarged(self) -> SubsampledGame:
        """The same with larger subsamples, for differences of differences."""
        ...

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator, *, skip: bool
    ) -> tuple[np.ndarray, int]:
        """Estimated payoffs of s coalitions an example, with the same rows for all of them, and model rows.

        (n,), (n, s, p) -> (n, s, L)
        """
        ...

    def moves(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, int]:
        """Players (p,) that change a prediction on some of the walks, and model rows."""
        ...

    def with_all_rows(self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray) -> CoalitionInfluence:
        """Payoffs of a coalition (p,) with all background rows, and their influence."""
        ...

    def repeats(self) -> tuple[bool, int]:
        """Whether the model gives the same predictions when asked again, and model rows."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Payoffs (n, q, L) of n examples with q single draws each, the background rows drawn, (n, q), and model rows."""

    payoffs: np.ndarray
    background_index: np.ndarray
    rows: int


class DrawsSingly(Protocol):
    """A game whose payoffs are means over draws, each of one background row: single imputation."""

    @property
    def background_weights(self) -> np.ndarray | None:
        """Weights of background rows that are a sample, (m,), adding up to one; None where values are not linear in
        them."""
        ...

    @property
    def draws_at_once(self) -> int:
        """How many draws it is worth making together."""
        ...

    def without(self, player: int, examples: np.ndarray, levels: np.ndarray) -> Drawn:
        """All players but one, on examples (n,), with the rows at quantile levels (n, q) of their weights."""
        ...


@dataclass(frozen=True)
class Solved:
    """Values (L, p) summed over examples by weight, each example's part (n, L, p), and payoffs that a loss bounded."""

    values: np.ndarray
    parts: np.ndarray
    clipped: int = 0


class ClosedForm(Protocol):
    """Exact values of a game, of examples at a time, without sampling."""

    @property
    def how(self) -> str:
        """In words."""
        ...

    @property
    def at_once(self) -> int:
        """How many examples to solve together."""
        ...

    @property
    def seconds(self) -> float:
        """What it takes, about."""
        ...

    @property
    def seconds_of_pair(self) -> float:
        """What a pair of walks takes, about."""
        ...

    @property
    def solve(self) -> Callable[[np.ndarray], Solved]: ...
