"""Contracts of restricted models f_S and of removals that make them, with their optional abilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from clarysage.protocols.models import CodePredictor, ModelFacts
from clarysage.structure.base import Structure
from clarysage.tables import EncodedTable, Schema

Check = Callable[[np.ndarray], None]


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
