"""Contracts of losses and of models that predict from rows of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from clarysage.tables import Schema

if TYPE_CHECKING:
    from clarysage.losses.debiasing import Debiasing


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
