"""The contracts between rooms: what each thing must do, and what some can do besides.

A restricted model is a model deprived of features; a game is the loss of a restricted model; an importance is a
summary of a game::

    model -- as_predictor --> f -- removal.restrict --> f_S -- PredictivePower --> v -- estimate --> Estimate

Notation: N examples, d columns, p players, k outputs, L losses, m background rows.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias, TypeVar, cast

import numpy as np

from clarysage.inference.estimate import Estimate, StopReason, VarianceComponents
from clarysage.inference.local import LocalValues
from clarysage.inference.stopping import Budget, Deadline
from clarysage.players import Players
from clarysage.structure.base import Structure
from clarysage.tables import EncodedTable, Schema

if TYPE_CHECKING:
    from clarysage.losses.debiasing import Debiasing

State = TypeVar("State")
Result = TypeVar("Result")
Task = TypeVar("Task")
Input = TypeVar("Input", contravariant=True)
Kind = TypeVar("Kind")

Check = Callable[[np.ndarray], None]


def ability(thing: object, kind: type[Kind]) -> Kind | None:
    """The thing seen as something that has an optional ability, or None where it has not.

    An ability is a class: a :class:`~typing.Protocol`, which a thing has that has all its public members, or any other
    class, which a thing has that inherits from it. Types alone are looked at: no property is evaluated. A thing whose
    abilities depend on what it is made of has a method ``__conform__(kind)`` (PEP 246) that returns the object to be
    used, or None; it is asked for what its type alone does not give.

    Examples
    --------
    >>> class Refits(Protocol):
    ...     def refit(self) -> str: ...
    >>> class Lasso:
    ...     def refit(self):
    ...         return "refitted"
    >>> ability(Lasso(), Refits).refit()
    'refitted'
    >>> ability("lasso", Refits) is None
    True

    >>> @dataclass
    ... class Pipeline:
    ...     last: object
    ...     def __conform__(self, kind):
    ...         return ability(self.last, kind)
    >>> ability(Pipeline(Lasso()), Refits).refit()
    'refitted'
    >>> ability(Pipeline("lasso"), Refits) is None
    True
    """
    cls: type = type(thing)
    wanted: type = kind
    missing = _missing_members(cls, wanted)
    if missing is not None and (not missing or missing <= getattr(thing, "__dict__", {}).keys()):
        return cast(Kind, thing)
    conform = getattr(cls, "__conform__", None)
    return None if conform is None else cast("Kind | None", conform(thing, kind))


def gives_ability(cls: type, kind: type) -> bool:
    """Whether all things of a class have an ability by their type alone.

    Examples
    --------
    >>> class Counts(Protocol):
    ...     def count(self, value: object) -> int: ...
    >>> gives_ability(list, Counts), gives_ability(dict, Counts)
    (True, False)
    """
    return _missing_members(cls, kind) == frozenset()


@lru_cache(maxsize=4096)
def _missing_members(cls: type, kind: type) -> frozenset[str] | None:
    """Members of a protocol that a class leaves to its instances; None where it would have to inherit and does not."""
    if kind in cls.__mro__:
        return frozenset()
    if Protocol not in kind.__bases__:
        return None
    declared = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    bases = [base for base in kind.__mro__ if Protocol in base.__bases__]
    members = {name for base in bases for name in (*vars(base), *inspect.get_annotations(base))}
    absent = object()
    return frozenset(
        name
        for name in members - declared
        if not name.startswith("_") and inspect.getattr_static(cls, name, absent) is absent
    )


LossTask = Literal["regression", "classification", "any"]


class Loss(Protocol):
    """l: one value per example, never reduced."""

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> LossTask:
        """What it judges: numbers, classes, or whatever it is given."""
        ...

    @property
    def degree(self) -> int | None:
        """In the prediction: 1 for minus one output, 2 for the sum of (prediction - target)^2, None for others.

        Games have closed forms for models of known structure under losses of degree 1 and 2.
        """
        ...

    @property
    def debiasing(self) -> Debiasing:
        """How the loss of a mean prediction is estimated from a subsample of the background."""
        ...

    @property
    def ceiling(self) -> float:
        """The value at which the loss bounds itself (inf where it never does)."""
        ...

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        """The responses as the loss wants them, checked against the model's classes and its outputs (N, k)."""
        ...

    def check(self, outputs: np.ndarray) -> None:
        """Raise where the model's raw outputs (n, k) cannot be meant for this loss."""
        ...

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Losses (n,) of predictions (n, k)."""
        ...

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """The prediction (k,) of least mean loss among constants, of so many outputs; targets are encoded."""
        ...


class OfOutput(Protocol):
    """A loss that is minus one of the outputs, by its number."""

    @property
    def number(self) -> int: ...


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model beside its predictions.

    Attributes
    ----------
    task : "classification" or "regression", if the model says so
    classes : labels of its classes in the order of its outputs
    hard : whether its outputs are votes (labels, one-hot) rather than probabilities
    batch_size : how many rows it gets at once, at most, where the user says so
    """

    task: str | None = None
    classes: tuple[Any, ...] | None = None
    hard: bool = False
    batch_size: int | None = None


class CodePredictor(Protocol):
    """f: rows of codes (n, d) -> predictions (n, k), float64, checked; so many rows at once."""

    @property
    def schema(self) -> Schema: ...

    @property
    def facts(self) -> ModelFacts: ...

    @property
    def rows_per_call(self) -> int: ...

    def __call__(self, codes: np.ndarray) -> np.ndarray: ...


class RestrictedModel(Protocol):
    """f_S: the model's prediction when only the columns in S are known (Eq. 1).

    Abilities go beyond that (:func:`ability`): :class:`FromBackground`, :class:`HybridRows`, :class:`DrawsRows`,
    :class:`HoldsExamples`.
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def facts(self) -> ModelFacts:
        """What is known of the model."""
        ...

    @property
    def rows_per_prediction(self) -> int:
        """Rows passed to the model for one f_S(x)."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What there is to say about how predictions are made."""
        ...

    @property
    def rows_of_checks(self) -> int:
        """Rows passed to the model to see that it can be trusted to be what it says."""
        ...

    def guarded(self, checks: tuple[Check, ...]) -> Self:
        """The same, with every batch of the model's outputs (n, k) looked at by checks, which raise."""
        ...

    def full(self, x: np.ndarray) -> np.ndarray:
        """f(x): (n, d) -> (n, k)."""
        ...

    def empty(self) -> np.ndarray:
        """f with nothing known, (k,)."""
        ...

    def predict(self, x: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """f_S(x) for one coalition of columns a row: (n, d), (n, d) -> (n, k)."""
        ...

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """f_S(x) at every proper prefix of a walk: step j = 1, ..., p - 1 keeps the columns that entered by then.

        (n, d), (n, d) -> (n, p - 1, k)
        """
        ...


class HoldsExamples(Protocol):
    """A restricted model that hands on the examples it was made for, so that they are encoded once."""

    @property
    def encoded(self) -> EncodedTable | None:
        """The table with its codes; None once the model is guarded, as games have codes of their own."""
        ...


class FromBackground(Protocol):
    """A restricted model that is made of background rows."""

    @property
    def background(self) -> np.ndarray:
        """The rows as codes, (m, d)."""
        ...


class KnownStructure(Protocol):
    """The insides of a model beside background rows."""

    @property
    def structure(self) -> Structure: ...

    @property
    def inner(self) -> np.ndarray:
        """The background rows as the insides have them, (m, D)."""
        ...

    def looked_at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of codes (n, d) as the insides have them, and as the form of the structure sees them."""
        ...


class ConditionalRows(Protocol):
    """Background rows whose withheld cells follow the kept ones, as normal scores do."""

    @property
    def latent(self) -> np.ndarray:
        """Scores of the rows with nothing known, (m, d)."""
        ...

    def linear_control(
        self, slopes: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray
    ) -> np.ndarray:
        """A linear function of scores, of slopes (d, k), about its mean over all rows, at every prefix but the last.

        (n, q), (n, d) -> (n, q, p, k), the empty prefix first
        """
        ...


@dataclass(frozen=True)
class Steps:
    """Predictions ``outputs`` (n, q, p - 1, k) of n walks with q background rows, and the model rows they cost.

    ``asked`` are the hybrid rows that went to the model, with its answers, where they were wanted.
    """

    outputs: np.ndarray
    rows: int
    asked: tuple[np.ndarray, np.ndarray] | None = None


class HybridRows(RestrictedModel, Protocol):
    r"""A restricted model that is a mean over background rows b_k of weights w_k, so that few rows tell about all.

    .. math:: f_S(x_S) = \sum_k w_k f(x_S, b_{k, \bar S})
    """

    @property
    def background(self) -> np.ndarray:
        """The rows b_k with nothing known, (m, d)."""
        ...

    @property
    def background_weights(self) -> np.ndarray:
        """The weights w_k, (m,), adding up to one."""
        ...

    @property
    def is_sampled(self) -> bool:
        """Whether the rows may be thought of as drawn independently from a population."""
        ...

    @property
    def is_used(self) -> np.ndarray:
        """Which columns are not known to have no effect, (d,)."""
        ...

    @property
    def alone(self) -> np.ndarray:
        """f(b_k) of every background row, (m, k)."""
        ...

    @property
    def native(self) -> KnownStructure | None:
        """The insides of the model, where they are known, which then predict in its place."""
        ...

    @property
    def filling(self) -> ConditionalRows | None:
        """How rows follow what is known of an example; None where they stay as they are."""
        ...

    def self_match(self, X: np.ndarray) -> np.ndarray | None:
        """The background row that each example is, (N,), -1 for none; None where no example is one."""
        ...

    def condensed(self) -> HybridRows:
        """The same with as few background rows as will do: the mean of a linear function is that of the mean row."""
        ...

    def asking(self, predictor: CodePredictor) -> HybridRows:
        """The same rows, asked of another model."""
        ...

    def each(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        ...

    def steps(
        self,
        x: np.ndarray,
        full: np.ndarray,
        entry_position: np.ndarray,
        background_index: np.ndarray,
        *,
        skip: bool,
        keep: bool,
    ) -> Steps:
        """f(x_S, b_k) at every proper prefix S of walks, for picked rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x); ``skip`` asks once for rows that do not change or repeat, ``keep`` returns those asked.
        """
        ...


@dataclass(frozen=True)
class Singles:
    """Predictions (n, q, k) with q draws for n rows, the model rows, and the background rows drawn, (n, q)."""

    outputs: np.ndarray
    rows: int
    background_index: np.ndarray


class DrawsRows(RestrictedModel, Protocol):
    """A restricted model that can put single drawn rows in the place of what is withheld: single imputation."""

    @property
    def draws_at_once(self) -> int:
        """How many draws it is worth making together."""
        ...

    def singly(self) -> DrawsRows:
        """The same, made to be asked for each row once."""
        ...

    def single(self, x: np.ndarray, full: np.ndarray, kept: np.ndarray, levels: np.ndarray) -> Singles:
        """f(x_S, b_k) for rows x (n, d) of predictions (n, k), a coalition of columns (d,), and drawn rows b_k.

        They are those at quantile levels (n, q) of the weights of the rows that may stand in.
        """
        ...


class Removal(Protocol):
    """q(x_rest | x_S): what stands in for withheld features."""

    def restrict(self, predictor: Any, X: Any) -> RestrictedModel: ...


class NamedRemoval(Protocol):
    """A removal with a name to show; others are called by their class."""

    @property
    def name(self) -> str: ...


class MadeOfRows(Protocol):
    """A removal that is made of background rows."""

    @property
    def background(self) -> Any:
        """The rows, as they were given; None where a removal can do without, and does."""
        ...


class LimitedRemoval(Protocol):
    """A removal that keeps within a limit of memory."""

    @property
    def memory_limit(self) -> float:
        """Bytes that the rows given to the model at once may take."""
        ...

    def limited(self, memory_limit: float) -> Removal:
        """The removal with another limit."""
        ...


class RemovalFromExamples(Protocol):
    """A removal that treats examples that are background rows themselves apart from others."""

    def knowing_examples(self, examples: np.ndarray) -> Removal:
        """The removal, told the number in X of each background row (m,), -1 for a row from elsewhere."""
        ...


class SeededRemoval(Protocol):
    """A removal that learns or draws with a seed: with another seed it makes another game."""

    @property
    def rng(self) -> Any: ...


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


class StoppingRule(Protocol):
    """Says, of an estimate, why to stop, or None to go on."""

    def __call__(self, estimate: Estimate) -> StopReason | None: ...


Rule: TypeAlias = StoppingRule | Budget | Deadline


class SequentialRule(StoppingRule, Protocol):
    """A rule that decides something at interim analyses, over which it spends its level."""

    @property
    def confidence(self) -> float:
        """The probability that what it decides is right, however often it is asked."""
        ...


class LateError(Exception):
    """Raised by an executor when the time is up before the next result has come."""


def without_end() -> float:
    """The time that is left where nobody set an end."""
    return float("inf")


class Executor(Protocol):
    """An ordered map; the results of tasks come back in the order of the tasks, whoever did them."""

    def map(
        self,
        function: Callable[[Task], Result],
        tasks: Sequence[Task],
        time_left: Callable[[], float] = without_end,
    ) -> Generator[Result, None, None]:
        """Raises :class:`LateError` when no time is left; what is pending when it is closed is cancelled."""
        ...


class Observer(Protocol):
    """Watches a run; silent by default."""

    def __call__(self, estimate: Estimate, elapsed: float) -> None:
        """The estimate at the end of a round."""
        ...

    def count(self, share: float, elapsed: float) -> None:
        """The share of an enumeration that is done."""
        ...

    def close(self) -> None: ...


class HasShape(Protocol):
    """An array, a data frame, a sparse matrix, a tensor: whatever has rows and columns."""

    @property
    def shape(self) -> Any: ...


class HasSchema(Protocol):
    """A table of pyarrow, in memory or on disk, or a lazy frame of polars."""

    @property
    def schema(self) -> Any: ...


# what public functions take; models are of so many kinds that only asking them tells
ModelLike: TypeAlias = object
TableLike: TypeAlias = HasShape | HasSchema | Sequence[Any] | str | os.PathLike[str]
TargetLike: TypeAlias = Iterable[Any] | str
WeightsLike: TypeAlias = Iterable[Any] | str
LossLike: TypeAlias = str | Loss | Callable[..., Any]
LossList: TypeAlias = list[str] | list[LossLike] | tuple[LossLike, ...]
RemovalLike: TypeAlias = str | Removal
MethodLike: TypeAlias = str | Estimator[Any] | type
GroupsLike: TypeAlias = Mapping[str, Sequence[Any]]
Seed: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.SeedSequence | None
