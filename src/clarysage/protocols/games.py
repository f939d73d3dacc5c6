"""Contract of cooperative games, with their optional abilities and the dataclasses that they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clarysage.inference.influence import BackgroundInfluence
from clarysage.players import Players
from clarysage.protocols.execution import Executor
from clarysage.protocols.models import Loss
from clarysage.protocols.removal import RestrictedModel


class Game(Protocol):
    """A cooperative game v: payoffs of coalitions, one per example. A payoff is minus a loss; a gain is a difference.

    Optional abilities (:func:`ability`): :class:`SubsampledWalks` and :class:`SubsampledGame`, :class:`ClosedForm`,
    :class:`SplitsBySurrogate`, :class:`CoalitionValues`, :class:`LearnsCoalitions`, :class:`SingleDrawGame`,
    :class:`SelfMatched`, :class:`WeighsByLoss`, :class:`Batched`, :class:`NamedPlayers`, :class:`HasLosses`.
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
        """Payoffs (L,) below which a loss is clipped."""
        ...

    @property
    def rows_per_payoff(self) -> int:
        """Model rows that one payoff costs."""
        ...

    @property
    def rows_spent(self) -> int:
        """Model rows that were used to compute ``ends``."""
        ...

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns payoffs of one coalition per example: (n,), (n, p) -> (n, L)."""
        ...

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns payoffs at every prefix of a permutation, ends included: (n,), (n, p) -> (n, p + 1, L)."""
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
        """The responses of the examples, encoded for each of the losses."""
        ...


class NamedPlayers(Protocol):
    """A game whose players have names."""

    @property
    def players(self) -> Players: ...


class HasLosses(Protocol):
    """A game whose payoffs are minus losses that have names."""

    @property
    def losses(self) -> tuple[Loss, ...]: ...


class WeighsByLoss(Protocol):
    """A game with losses that are means over different examples, such as those of one class each."""

    @property
    def loss_weights(self) -> np.ndarray:
        """Weights of the examples in the mean of each loss, (N,) if they are the same for all, else (N, L)."""
        ...


class Batched(Protocol):
    """A game whose model is called on batches of rows."""

    @property
    def batch_size(self) -> int | None:
        """Maximum number of rows per call of the model; None if the user set none."""
        ...


class SelfMatched(Protocol):
    """A game whose examples may be background rows themselves."""

    @property
    def self_match(self) -> np.ndarray | None:
        """The background row that each example is itself, (N,), -1 for none; None if no example is one."""
        ...


class SplitsBySurrogate(Protocol):
    """A game whose model can be approximated by a surrogate model."""

    def split_by_surrogate(
        self, regressor: Any, asked: Sequence[tuple[np.ndarray, np.ndarray]], active: np.ndarray
    ) -> tuple[Game, Game]:
        """Returns the game of a surrogate fitted to the model's predictions, and the game of the differences.

        ``asked`` are rows that were passed to the model, with its predictions; ``active`` (p,) marks the active
        players.
        """
        ...


@dataclass(frozen=True)
class CoalitionValue:
    """An estimate of v(S) for a coalition, (L,), its sampling variance, and the model rows it cost."""

    value: np.ndarray
    variance: np.ndarray
    rows: int


class CoalitionValues(Protocol):
    """A game that estimates v(S), the mean over all examples, at a lower cost than by their payoffs."""

    def value(self, coalition: np.ndarray, rng: np.random.Generator) -> CoalitionValue:
        """Returns an estimate of v(S) of a coalition (p,)."""
        ...


class LearnsCoalitions(Protocol):
    """A game whose payoffs require refits of a learner, which workers share."""

    @property
    def fits_per_coalition(self) -> int:
        """Number of fits of the learner per coalition."""
        ...

    @property
    def coalitions_learned(self) -> int:
        """Number of coalitions the learner was fitted on in this process, including that of all players."""
        ...

    @property
    def rows_learned(self) -> int:
        """Number of rows that these fits and their predictions took."""
        ...

    def learn(self, coalitions: Sequence[np.ndarray], executor: Executor) -> Iterator[np.ndarray]:
        """Yields the payoffs (N, L) of each coalition (p,), in their order."""
        ...


@dataclass(frozen=True)
class Influence:
    """Bias of payoffs at s steps due to a finite background, and their influence function in the background weights.

    Attributes
    ----------
    bias_correction : (n, s, L) to be added to the payoffs to estimate those of an infinite background, from which the
        given background was drawn and in which no example is a row itself
    background_index : (n, q) background rows
    influence : (n, q, s, L) derivative of payoffs in the direction of more weight on each of these background rows
    """

    bias_correction: np.ndarray
    background_index: np.ndarray
    influence: np.ndarray


@dataclass(frozen=True)
class Walks:
    """Payoffs at every prefix of walks, (n, p + 1, L), and the model rows they cost.

    On request, ``asked`` holds these rows with the model's predictions, and ``influence`` that of the background on
    the payoffs, with as many steps.
    """

    payoffs: np.ndarray
    rows: int
    asked: tuple[np.ndarray, np.ndarray] | None = None
    influence: Influence | None = None


@dataclass(frozen=True)
class SubsampleComparison:
    """Payoffs (n, L) with all background rows and with subsamples of them, averaged over draws; and model rows."""

    exact: np.ndarray
    subsampled: np.ndarray
    rows: int


@dataclass(frozen=True)
class CoalitionInfluence:
    """Payoffs (n, L) of a coalition with all background rows; bias and influence, as weighted sums over examples.

    ``bias_correction`` (L,) added to the payoffs gives those of an infinite background; ``influence`` (m, L) is that of
    each background row, times its weight. ``rows`` counts the model rows.
    """

    payoffs: np.ndarray
    bias_correction: np.ndarray
    influence: np.ndarray
    rows: int


@dataclass(frozen=True)
class DistinctRows:
    """Numbers of model rows where many hybrid rows are equal, and are passed to the model only once.

    Attributes
    ----------
    most : (2^p,) the most distinct rows of each coalition, by number
    of_check : rows that were predicted twice to see that the model repeats its predictions
    """

    most: np.ndarray
    of_check: int


class SubsampledWalks(Protocol):
    """Walks of a game whose payoffs are estimated from a subsample of the background rows.

    ``active`` (p,) marks the players that may have an effect; ``skip`` reuses predictions that are known already;
    ``keep`` returns the rows passed to the model, with its predictions; ``influence`` returns that of the background.
    """

    @property
    def rows(self) -> int:
        """Number of background rows per walk."""
        ...

    @property
    def uses_all_rows(self) -> bool:
        """True if every walk takes all background rows."""
        ...

    @property
    def background_weights(self) -> np.ndarray:
        """Weights of the background rows, (m,), adding up to one."""
        ...

    @property
    def is_sampled(self) -> bool:
        """True if the background rows are an independent sample of a population."""
        ...

    @property
    def is_unbiased(self) -> bool:
        """True if the estimates of payoffs are unbiased."""
        ...

    @property
    def jumps(self) -> bool | None:
        """True if some loss is a step function, None if that is not known of some."""
        ...

    @property
    def error_grows_with_loss(self) -> bool:
        """True if the errors of estimated payoffs grow with the losses."""
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
        """Returns estimated payoffs at every prefix of the orders (n, p)."""
        ...

    def compare(
        self, examples: np.ndarray, coalitions: np.ndarray, active: np.ndarray, rng: np.random.Generator, *, skip: bool
    ) -> SubsampleComparison:
        """Returns payoffs of coalitions (n, p), one per example, with all background rows and with subsamples."""
        ...


class SubsampledGame(SubsampledWalks, Protocol):
    """A model's game that estimates single coalitions from subsamples, too, and has tests of the model."""

    @property
    def calls_model(self) -> bool:
        """True if walks call the model itself rather than evaluate its known structure."""
        ...

    @property
    def rows_per_exact_payoff(self) -> int:
        """Background rows per payoff that uses all of them: one, if their mean row gives the same payoff."""
        ...

    @property
    def enlarged(self) -> SubsampledGame:
        """This game with larger subsamples, for second-order differences such as interactions."""
        ...

    def at(
        self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator, *, skip: bool
    ) -> tuple[np.ndarray, int]:
        """Returns estimated payoffs of s coalitions per example, from the same background rows, and the model rows.

        (n,), (n, s, p) -> (n, s, L)
        """
        ...

    @property
    def distinct_rows(self) -> DistinctRows | None:
        """Numbers of distinct rows of coalitions, if payoffs with all background rows need few of all hybrid rows."""
        ...

    def active_players(
        self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, int]:
        """Returns a mask of players (p,) that change a prediction on some of the walks, and the model rows."""
        ...

    def coalition_influence(
        self, examples: np.ndarray, weights: np.ndarray, coalition: np.ndarray
    ) -> CoalitionInfluence:
        """Returns payoffs of a coalition (p,) with all background rows, and the influence of these rows."""
        ...

    def check_determinism(self) -> tuple[bool, int]:
        """Tells whether the model is deterministic: predicts the same again for the same rows. And the model rows."""
        ...


@dataclass(frozen=True)
class SingleDrawPayoffs:
    """Payoffs (n, q, L) of n examples with q single draws each, the background rows drawn, (n, q), and model rows."""

    payoffs: np.ndarray
    background_index: np.ndarray
    rows: int


class SingleDrawGame(Protocol):
    """A game whose payoffs are means over draws of one background row each: single imputation."""

    @property
    def background_weights(self) -> np.ndarray | None:
        """Weights of the background rows, (m,), adding up to one.

        None if the rows are not a sample, or if values are not linear in the weights.
        """
        ...

    @property
    def draws_at_once(self) -> int:
        """Number of draws that are efficient to make together."""
        ...

    def without(self, player: int, examples: np.ndarray, levels: np.ndarray) -> SingleDrawPayoffs:
        """Returns payoffs of all players but one, on examples (n,).

        Background rows are drawn by inverse-CDF sampling: at quantile levels (n, q) of their cumulative weights.
        """
        ...


@dataclass(frozen=True)
class ClosedFormBatch:
    """Closed-form values: sums over examples (L, p), the parts of examples, and a count of clipped losses.

    ``parts`` (n, L, p) are the weighted values of the examples, which add up to ``values``.
    """

    values: np.ndarray
    parts: np.ndarray
    clipped: int = 0


class ClosedForm(Protocol):
    """Exact Shapley values of a game in closed form, without sampling, for a batch of examples at a time."""

    @property
    def how(self) -> str:
        """The method in words, for notes."""
        ...

    @property
    def at_once(self) -> int:
        """Number of examples to solve together."""
        ...

    @property
    def at_least(self) -> int:
        """Number of examples that cost as much as a single one."""
        ...

    @property
    def short_time(self) -> float:
        """Seconds that are short enough for the closed form to be preferred, whatever walks would take."""
        ...

    @property
    def seconds(self) -> float:
        """Estimated seconds for all examples."""
        ...

    @property
    def seconds_per_pair(self) -> float:
        """Estimated seconds for one pair of walks, to compare with sampling."""
        ...

    @property
    def solve(self) -> Callable[[np.ndarray], ClosedFormBatch]:
        """Function from the indices of examples (n,) to their exact values."""
        ...

    @property
    def influence(self) -> Callable[[np.ndarray], BackgroundInfluence] | None:
        """Function from the indices of examples (n,) to the influence of the background on the sum of their values.

        None where it has no formula, and is estimated by walks.
        """
        ...
