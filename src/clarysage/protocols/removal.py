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
    """The restricted model f_S: the model's prediction when only the columns in S are known (Eq. 1).

    Optional abilities (:func:`ability`): :class:`FromBackground`, :class:`HybridRows`, :class:`DrawsRows`,
    :class:`HoldsExamples`.
    """

    @property
    def schema(self) -> Schema: ...

    @property
    def facts(self) -> ModelFacts:
        """Facts about the model other than its predictions."""
        ...

    @property
    def rows_per_prediction(self) -> int:
        """Rows passed to the model for one f_S(x)."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """Notes for the user on how the predictions are made."""
        ...

    @property
    def rows_of_checks(self) -> int:
        """Rows passed to the model to check that its known structure agrees with its predictions."""
        ...

    def guarded(self, checks: tuple[Check, ...]) -> Self:
        """Returns this restricted model with checks, which raise, on every batch of the model's outputs (n, k)."""
        ...

    def full(self, x: np.ndarray) -> np.ndarray:
        """Returns f(x): (n, d) -> (n, k)."""
        ...

    def empty(self) -> np.ndarray:
        """Returns the prediction when no column is known, (k,)."""
        ...

    def predict(self, x: np.ndarray, is_kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns f_S(x) for one coalition of columns per row: (n, d), (n, d) -> (n, k)."""
        ...

    def walk(self, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns f_S(x) at the proper prefixes of a walk: step j = 1, ..., p - 1 keeps columns that entered by j.

        (n, d), (n, d) -> (n, p - 1, k)
        """
        ...


class HoldsExamples(Protocol):
    """A restricted model that shares the examples it was made for, so that they are encoded only once."""

    @property
    def encoded(self) -> EncodedTable | None:
        """The table with its codes; None for a guarded model, since games keep their own codes."""
        ...


class FromBackground(Protocol):
    """A restricted model that uses background rows."""

    @property
    def background(self) -> np.ndarray:
        """The background rows as codes, (m, d)."""
        ...


class KnownStructure(Protocol):
    """The known structure of a model, with the background rows in the form that the structure takes."""

    @property
    def structure(self) -> Structure: ...

    @property
    def inner(self) -> np.ndarray:
        """The background rows after the model's preprocessing, (m, D)."""
        ...

    def represent(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns encoded rows (n, d) after the model's preprocessing, and in the representation of its structure."""
        ...


class ConditionalRows(Protocol):
    """Background rows whose withheld cells are drawn given the kept cells, as Gaussian (normal) scores."""

    @property
    def latent(self) -> np.ndarray:
        """Normal scores of the background rows when no column is known, (m, d)."""
        ...

    def linear_control(
        self, slopes: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray
    ) -> np.ndarray:
        """Returns a linear function of the scores, with slopes (d, k), minus its mean over all background rows.

        It is evaluated at every prefix but the last, and serves as a control variate.

        (n, q), (n, d) -> (n, q, p, k), the empty prefix first
        """
        ...


@dataclass(frozen=True)
class Steps:
    """Predictions ``outputs`` (n, q, p - 1, k) of n walks with q background rows, and the model rows they cost.

    ``asked`` are the hybrid rows passed to the model with its predictions, if the caller wants to keep them.
    """

    outputs: np.ndarray
    rows: int
    asked: tuple[np.ndarray, np.ndarray] | None = None


class PairOutputs(Protocol):
    """Predictions for the hybrid rows of all pairs of an example and a background row."""

    @property
    def rows(self) -> int:
        """Rows that were passed to the model."""
        ...

    def __call__(self, part: slice) -> np.ndarray:
        """Returns the predictions (n, m, k) for a part of the examples."""
        ...


class HybridRows(RestrictedModel, Protocol):
    r"""A restricted model that is a weighted mean over background rows, so that a subsample of rows can estimate it.

    .. math:: f_S(x_S) = \sum_k w_k f(x_S, b_{k, \bar S})
    """

    @property
    def background(self) -> np.ndarray:
        """The rows b_k when no column is known, (m, d)."""
        ...

    @property
    def background_weights(self) -> np.ndarray:
        """The weights w_k, (m,), adding up to one."""
        ...

    @property
    def is_sampled(self) -> bool:
        """True if the background rows are an independent sample of a population."""
        ...

    @property
    def is_used(self) -> np.ndarray:
        """Mask of the columns that may have an effect, (d,); the others are known to have none."""
        ...

    @property
    def background_outputs(self) -> np.ndarray:
        """The predictions f(b_k) of all background rows, (m, k)."""
        ...

    @property
    def native(self) -> KnownStructure | None:
        """The known structure of the model, which then predicts in its place; None if it is not known."""
        ...

    @property
    def simulation(self) -> ConditionalRows | None:
        """The conditional distribution of withheld cells given kept ones; None if rows are used unchanged."""
        ...

    def self_match(self, X: np.ndarray) -> np.ndarray | None:
        """Returns the background row that each example is itself, (N,), -1 for none; None if no example is one."""
        ...

    def condensed(self) -> HybridRows:
        """Returns an equal model with as few background rows as possible: for a linear model, their mean row."""
        ...

    def with_predictor(self, predictor: CodePredictor) -> HybridRows:
        """Returns this restricted model with another predictor."""
        ...

    def each(self, x: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        """Returns f(x_S, b_k) for every background row: (n, d), (n, d) -> (n, m, k)."""
        ...

    def distinct(self, x: np.ndarray, is_kept: np.ndarray) -> PairOutputs:
        """Returns f(x_S, b_k) for every background row, with kept columns (d,), and passes equal rows only once.

        Rows must be used unchanged (``simulation`` is None), and the model must be called (``native`` is None).
        """
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
        """Returns f(x_S, b_k) at every proper prefix S of walks, for chosen rows b_k: (n, d), (n, d), (n, q) -> Steps.

        ``full`` (n, k) is f(x). ``skip`` passes repeated or unchanged rows to the model only once; ``keep`` returns
        the rows that were passed.
        """
        ...


@dataclass(frozen=True)
class SingleImputations:
    """Predictions (n, q, k) with q draws for n rows, the model rows they cost, and the drawn background rows (n, q)."""

    outputs: np.ndarray
    rows: int
    background_index: np.ndarray


class DrawsRows(RestrictedModel, Protocol):
    """A restricted model that can replace withheld features by those of single drawn rows: single imputation."""

    @property
    def draws_at_once(self) -> int:
        """Number of draws that are efficient to make together."""
        ...

    def singly(self) -> DrawsRows:
        """Returns an equal model that is prepared for one call per row."""
        ...

    def single(self, x: np.ndarray, full: np.ndarray, is_kept: np.ndarray, levels: np.ndarray) -> SingleImputations:
        """Returns f(x_S, b_k) for rows x (n, d) with predictions (n, k), a coalition of columns (d,), drawn rows b_k.

        Rows are drawn by inverse-CDF sampling: at quantile levels (n, q) of their cumulative weights.
        """
        ...


class Removal(Protocol):
    """A removal: the distribution q(x_rest | x_S) that replaces withheld features."""

    def restrict(self, predictor: Any, X: Any) -> RestrictedModel:
        """Returns f_S for a model f, which is a predictor or a callable, and the table of examples X that it is for.

        :func:`~clarysage.removal.background.bound_to` encodes X together with the background, for any removal.
        """
        ...


class NamedRemoval(Protocol):
    """A removal with a name to show; others are shown by the name of their class."""

    @property
    def name(self) -> str: ...


class HasBackground(Protocol):
    """A removal that uses background rows."""

    @property
    def background(self) -> Any:
        """The rows as the user gave them; None for a removal that works without."""
        ...


class LimitedRemoval(Protocol):
    """A removal that respects a memory limit."""

    @property
    def memory_limit(self) -> float:
        """Maximum bytes of the rows given to the model at once."""
        ...

    def limited(self, memory_limit: float) -> Removal:
        """Returns the removal with another memory limit."""
        ...


class RemovalFromExamples(Protocol):
    """A removal that treats examples specially if they are background rows themselves."""

    def with_self_matches(self, examples: np.ndarray) -> Removal:
        """Returns the removal, given the row number in X of each background row (m,), -1 for a row not in X."""
        ...


class SeededRemoval(Protocol):
    """A removal that learns or draws with a seed: another seed gives another game."""

    @property
    def rng(self) -> Any: ...
