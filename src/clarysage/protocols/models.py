"""Contracts of losses and of models that predict from rows of codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from clarysage.protocols.abilities import ability
from clarysage.tables import Schema

if TYPE_CHECKING:
    from clarysage.losses.debiasing import Debiasing


LossTask = Literal["regression", "classification", "any"]


class Loss(Protocol):
    """A loss l: one value per example, never averaged."""

    @property
    def name(self) -> str: ...

    @property
    def task(self) -> LossTask:
        """The kind of prediction that it judges: numbers, classes, or any."""
        ...

    @property
    def degree(self) -> int | None:
        """Degree in the prediction: 1 for minus one output, 2 for the sum of (prediction - target)^2, None for others.

        Squared errors in other units have the ability :class:`HasUnits`.
        Games have closed forms for models of known structure under losses of degree 1 and 2.
        """
        ...

    @property
    def debiasing(self) -> Debiasing:
        """Estimator of the loss of a mean prediction from a subsample of the background."""
        ...

    @property
    def ceiling(self) -> float:
        """The value at which the loss is clipped (inf where it never is)."""
        ...

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        """Returns the responses as the loss takes them, checked against the model's classes and outputs (N, k)."""
        ...

    def check(self, outputs: np.ndarray) -> None:
        """Raises an error if the model's raw outputs (n, k) do not fit this loss."""
        ...

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the losses (n,) of predictions (n, k)."""
        ...

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the constant prediction (k,) with the least mean loss; targets are encoded, k is ``outputs``."""
        ...


class HasUnits(Protocol):
    """A loss of degree 2 whose errors are divided by a number for each output before they are squared."""

    def units(self, outputs: int) -> np.ndarray:
        """Returns these numbers (k,)."""
        ...


def units_of(loss: Loss, outputs: int) -> np.ndarray:
    """Returns the numbers (k,) that the errors of a loss of degree 2 are divided by; by default ones."""
    in_units = ability(loss, HasUnits)
    return np.ones(outputs) if in_units is None else in_units.units(outputs)


class OutputLoss(Protocol):
    """A loss that is minus one of the model's outputs; ``number`` says which."""

    @property
    def number(self) -> int: ...


@dataclass(frozen=True)
class Objective:
    """The loss that a model was fitted to minimise.

    Attributes
    ----------
    name : its name in the model's library, with its parameters
    loss : the name of the loss in the catalogue that it is, up to a factor, or that comes nearest, as in "pinball(0.9)"
    difference : a relative clause on the objective, if no loss in the catalogue is the same
    is_converted : whether the library predicts on another scale than y, so that its adapter converts predictions
    """

    name: str
    loss: str
    difference: str = ""
    is_converted: bool = False


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model other than its predictions.

    Attributes
    ----------
    task : "classification", "regression", "ranking" or "survival", if the model says so
    classes : labels of its classes in the order of its outputs
    hard : whether its outputs are votes (labels, one-hot) rather than probabilities
    batch_size : maximum number of rows per call of the model, if the user set one
    floor : the least probability of a class that its training rows can tell from zero, if it is known
    objective : what it was fitted to minimise, if its library tells
    """

    task: str | None = None
    classes: tuple[Any, ...] | None = None
    hard: bool = False
    batch_size: int | None = None
    floor: float | None = None
    objective: Objective | None = None


class CodePredictor(Protocol):
    """A model f of encoded rows: (n, d) -> predictions (n, k), float64 and checked, ``rows_per_call`` rows at once."""

    @property
    def schema(self) -> Schema: ...

    @property
    def facts(self) -> ModelFacts: ...

    @property
    def rows_per_call(self) -> int: ...

    def __call__(self, codes: np.ndarray) -> np.ndarray: ...
