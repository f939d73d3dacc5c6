"""Losses of numeric predictions: squared error, absolute error, and minus a single output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.errors import InputError, Or, Set, Words
from clarysage.losses.debiasing import Debiasing, PlugIn, UnbiasedLinear, UnbiasedSquare
from clarysage.protocols import LossTask

LARGEST = 1e150  # the squares of larger losses, which variances need, would overflow
ROUNDING = 1e-12  # rounding error of a share of the total weight


@dataclass(frozen=True)
class SquaredError:
    """Squared error (prediction - y)^2, summed over the outputs of a multi-output model.

    Targets in different units have sums without a meaning, in which the one with the largest numbers hides the others.
    With ``scale``, the errors of each output are divided by a number of their own, such as the standard deviation of
    the target.

    Parameters
    ----------
    scale : a positive number that errors are divided by, or one for each output; None for errors as they are

    Examples
    --------
    >>> prediction, y = np.array([[1.0, 500.0]]), np.array([[3.0, 700.0]])
    >>> SquaredError()(prediction, y), SquaredError(scale=(2.0, 100.0))(prediction, y)
    (array([40004.]), array([5.]))
    """

    scale: float | tuple[float, ...] | None = None
    ceiling: ClassVar[float] = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = 2

    def __post_init__(self) -> None:
        if self.scale is not None and not all(0 < number < math.inf for number in self.numbers):
            raise InputError("scale", got=repr(self.scale), wanted="positive numbers, one for each output")

    @property
    def numbers(self) -> tuple[float, ...]:
        """The numbers that errors are divided by: one for all outputs, or one for each."""
        if self.scale is None:
            return (1.0,)
        return self.scale if isinstance(self.scale, tuple) else (self.scale,)

    @property
    def name(self) -> str:
        if self.scale is None:
            return "squared error"
        return f"squared error({', '.join(repr(float(number)) for number in self.numbers)})"

    @property
    def debiasing(self) -> Debiasing:
        return UnbiasedSquare(scale=None if self.scale is None else self.numbers)

    def units(self, outputs: int) -> np.ndarray:
        """Returns the numbers (k,) that errors are divided by."""
        return np.broadcast_to(self.numbers, outputs).astype(np.float64)

    def of_output(self, output: int) -> SquaredError:
        """Returns the loss of a single output."""
        return self if len(self.numbers) == 1 else SquaredError(self.numbers[output])

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        target = numeric_target(y, outputs, self.name)
        if len(self.numbers) not in (1, outputs.shape[1]):
            raise InputError(
                "scale",
                got=f"{len(self.numbers)} numbers",
                wanted=f"one for each of {outputs.shape[1]} outputs",
            )
        largest = max(np.abs(target).max(), np.abs(outputs).max())
        if 0 < largest < 1 / LARGEST:
            raise InputError(
                "y",
                got=f"responses and predictions of at most {largest:.3g}, whose squares underflow",
                wanted=f"numbers above {1 / LARGEST:g}",
                hint="other units",
            )
        return target

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as a prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            error = prediction - target if self.scale is None else (prediction - target) / self.numbers
            return moderate(np.asarray((error**2).sum(axis=-1)), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the weighted mean."""
        return np.asarray(np.average(target, axis=0, weights=weights))


@dataclass(frozen=True)
class AbsoluteError:
    """Absolute error abs(prediction - y), summed over the outputs of a multi-output model.

    Examples
    --------
    >>> AbsoluteError()(np.array([[1.0], [5.0]]), np.array([[3.0], [4.0]]))
    array([2., 1.])
    """

    name: str = "absolute error"
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(is_adjusted=True)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return numeric_target(y, outputs, self.name)

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as a prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return moderate(np.asarray(np.abs(prediction - target).sum(axis=-1)), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the weighted median."""
        return np.array([weighted_quantile(column, weights) for column in target.T])


@dataclass(frozen=True)
class Output:
    """Minus one output of the model, for any y, so that the payoff of a coalition is that output of f_S.

    Examples
    --------
    >>> Output(1)(np.array([[0.2, 0.8]]), np.zeros(1))
    array([-0.8])
    """

    number: int
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "any"
    degree: ClassVar[int | None] = 1
    debiasing: ClassVar[Debiasing] = UnbiasedLinear()

    @property
    def name(self) -> str:
        return f"output {self.number}"

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return np.zeros(len(outputs))

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as an output."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.asarray(-prediction[..., self.number])

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns zeros, since there is no best constant."""
        return np.zeros(outputs)


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float = 0.5) -> float:
    """Returns a weighted quantile, by default the median, the midpoint where two values qualify.

    Examples
    --------
    >>> weighted_quantile(np.array([1.0, 2.0, 5.0]), np.array([1.0, 1.0, 2.0]))
    3.5
    """
    order = np.argsort(values[weights > 0], kind="stable")
    ranked, below = values[weights > 0][order], np.cumsum(weights[weights > 0][order])
    ends = np.searchsorted(below, below[-1] * (level + np.array([-ROUNDING, ROUNDING])))
    return float(ranked[np.minimum(ends, len(ranked) - 1)].mean())


def numeric_target(y: np.ndarray, outputs: np.ndarray, loss: str) -> np.ndarray:
    """Returns y as float64 (N, k), one number for each output of the model."""
    try:
        target = y.astype(np.float64).reshape(len(y), -1)
    except (TypeError, ValueError) as error:
        raise InputError(
            "y",
            got=f"labels such as {y.ravel().tolist()[0]!r}",
            wanted=f'numbers, for the loss "{loss}"',
            hint=[Set("loss", "cross entropy"), Or(" or "), Set("loss", "brier"), " for a classifier"],
        ) from error
    if target.shape != outputs.shape:
        hint: Words = "one column"
        if outputs.shape[1] > 1:
            hint = [Set("loss", "brier"), Or(" or "), Set("loss", "cross entropy"), " for class probabilities"]
        raise InputError(
            "y",
            got=f"shape {y.shape} with model outputs of shape {outputs.shape}",
            wanted=f'one number for each output, for the loss "{loss}"',
            hint=hint,
        )
    return target


def moderate(losses: np.ndarray, name: str) -> np.ndarray:
    """Returns the losses if all are finite and small enough for a finite variance, and raises an error otherwise.

    Examples
    --------
    >>> moderate(np.array([0.5]), "squared error")
    array([0.5])
    """
    if np.isfinite(losses).all() and np.abs(losses).max(initial=0.0) < LARGEST:
        return losses
    worst = losses.flat[int(np.nan_to_num(np.abs(losses), nan=np.inf).argmax())]
    raise InputError(
        "loss",
        got=f"{worst:.3g} from {name}",
        wanted=f"finite values below {LARGEST:g}",
        hint="y and predictions in other units, or another loss",
    )
