"""Losses that grow linearly with large errors: pinball (quantile) loss, Huber loss and log cosh.

References
----------
R. Koenker, G. Bassett (1978). Regression quantiles. Econometrica 46, 33-50.
P. J. Huber (1964). Robust estimation of a location parameter. Annals of Mathematical Statistics 35, 73-101.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.errors import InputError, ModelError
from clarysage.losses.debiasing import Debiasing, PlugIn, SmoothLoss, Taylor
from clarysage.losses.regression import moderate, numeric_target, weighted_quantile
from clarysage.protocols import LossTask

HALVINGS = 200  # bisections of an interval; it has no inner number after about 60, or 1100 if it starts at zero
SERIES = 1.0  # error below which log cosh is computed without cancellation


@dataclass(frozen=True)
class Pinball:
    """Pinball loss of a quantile: ``alpha`` times the error where y is above the prediction, else ``1 - alpha`` times.

    The prediction of least mean loss is the ``alpha``-quantile of y; with ``alpha=0.5`` the loss is half the absolute
    error. It is summed over the outputs of a multi-output model. For a model that predicts several quantiles of one
    response, ``alpha`` is a tuple with the level of each output.

    Parameters
    ----------
    alpha : the level of the quantile, between 0 and 1, or one for each output

    Examples
    --------
    >>> Pinball(0.9)(np.array([[0.0], [0.0]]), np.array([[1.0], [-1.0]]))
    array([0.9, 0.1])
    >>> Pinball((0.1, 0.9)).encode(np.array([3.0]), None, np.array([[1.0, 5.0]]))
    array([[3., 3.]])
    """

    alpha: float | tuple[float, ...] = 0.5
    ceiling: ClassVar[float] = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(is_adjusted=True)

    def __post_init__(self) -> None:
        if not self.levels or not all(0 < level < 1 for level in self.levels):
            raise InputError(
                "alpha", got=repr(self.alpha), wanted="a number between 0 and 1", hint="0.5 for the median"
            )

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of the quantiles: one for all outputs, or one for each."""
        return self.alpha if isinstance(self.alpha, tuple) else (self.alpha,)

    def of_output(self, output: int) -> Pinball:
        """Returns the loss of a single output."""
        return self if len(self.levels) == 1 else Pinball(self.levels[output])

    @property
    def name(self) -> str:
        if isinstance(self.alpha, tuple):
            return f"pinball({', '.join(repr(float(level)) for level in self.alpha)})"
        return named("pinball", self.alpha, 0.5)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        width = outputs.shape[1]
        if len(self.levels) not in (1, width):
            raise ModelError(
                "model",
                got=f"{width} outputs for each row",
                wanted=f'one for each of the {len(self.levels)} levels of the loss "{self.name}"',
            )
        is_of_one_response = len(self.levels) > 1 and y.size == len(y)
        return numeric_target(
            np.repeat(y.reshape(-1, 1), width, axis=1) if is_of_one_response else y, outputs, self.name
        )

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as a prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        alpha = np.array(self.levels)
        with np.errstate(over="ignore", invalid="ignore"):
            error = target - prediction
            losses = np.maximum(alpha * error, (alpha - 1) * error).sum(axis=-1)
        return moderate(np.asarray(losses), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the weighted quantiles."""
        levels = np.broadcast_to(self.levels, outputs).tolist()
        return np.array(
            [weighted_quantile(column, weights, level) for column, level in zip(target.T, levels, strict=True)]
        )


@dataclass(frozen=True)
class Huber:
    """Huber loss: half the squared error up to errors of ``delta``, and linear with the same slope beyond.

    It is summed over the outputs of a multi-output model.

    Parameters
    ----------
    delta : the error up to which the loss is quadratic

    Examples
    --------
    >>> Huber(2.0)(np.array([[1.0], [5.0]]), np.zeros((2, 1)))
    array([0.5, 8. ])
    """

    delta: float = 1.0
    ceiling: ClassVar[float] = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = Taylor()

    def __post_init__(self) -> None:
        if not 0 < self.delta < math.inf:
            raise InputError("delta", got=repr(self.delta), wanted="a positive number, in the unit of y")

    @property
    def name(self) -> str:
        return named("huber", self.delta, Huber.delta)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return numeric_target(y, outputs, self.name)

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as a prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            error = np.abs(prediction - target)
            inner = np.minimum(error, self.delta)
            losses = (inner * (error - 0.5 * inner)).sum(axis=-1)
        return moderate(np.asarray(losses), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns Huber's M-estimate of location, by bisection."""
        return root_of_slope(self, target, weights)

    def derivatives(self, prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first and the second derivative by each output, (n, k)."""
        error = prediction - target
        return np.clip(error, -self.delta, self.delta), (np.abs(error) <= self.delta).astype(np.float64)

    def scale(self, prediction: np.ndarray) -> np.ndarray:
        """Returns the change of a prediction for which the second derivative may be taken as constant, (n, k)."""
        return np.full(prediction.shape, self.delta)


@dataclass(frozen=True)
class LogCosh:
    """The logarithm of cosh(prediction - y): half the squared error where that is small, else about its absolute value.

    It is summed over the outputs of a multi-output model.

    Examples
    --------
    >>> LogCosh()(np.array([[1e-3], [1e6]]), np.zeros((2, 1))).round(9)
    array([5.00000000e-07, 9.99999307e+05])
    """

    ceiling: ClassVar[float] = math.inf
    name: ClassVar[str] = "log cosh"
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = Taylor()

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return numeric_target(y, outputs, self.name)

    def check(self, outputs: np.ndarray) -> None:
        """Accepts any finite number as a prediction."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            error = np.abs(prediction - target)
            near = np.log1p(2 * np.sinh(np.minimum(error, SERIES) / 2) ** 2)
            far = error + np.log1p(np.exp(-2 * error)) - math.log(2)
        return moderate(np.asarray(np.where(error < SERIES, near, far).sum(axis=-1)), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the constant at which the weighted mean of tanh(constant - y) is zero, by bisection."""
        return root_of_slope(self, target, weights)

    def derivatives(self, prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first and the second derivative by each output, (n, k)."""
        slope = np.tanh(prediction - target)
        return slope, 1 - slope**2

    def scale(self, prediction: np.ndarray) -> np.ndarray:
        """Returns the change of a prediction for which the second derivative may be taken as constant, (n, k)."""
        return np.ones(prediction.shape)


def named(name: str, parameter: float, default: float) -> str:
    """Returns the name of a loss with a parameter, which is shown where it is not the default.

    Examples
    --------
    >>> named("huber", 2.0, 1.0), named("huber", 1.0, 1.0)
    ('huber(2.0)', 'huber')
    """
    return name if parameter == default else f"{name}({float(parameter)!r})"


def root_of_slope(loss: SmoothLoss, target: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Returns the constant (k,) at which the mean slope of a convex loss changes its sign, by bisection.

    Examples
    --------
    >>> root_of_slope(Huber(1.0), np.array([[0.0], [1.0], [9.0]]), np.ones(3)).round(6)
    array([1.])
    """
    used = target[weights > 0]
    low, high = used.min(axis=0), used.max(axis=0)
    for _ in range(HALVINGS):
        middle = low / 2 + high / 2
        slopes, _ = loss.derivatives(np.broadcast_to(middle, used.shape), used)
        is_above = weights[weights > 0] @ slopes > 0
        low, high = np.where(is_above, low, middle), np.where(is_above, middle, high)
    return np.asarray(low / 2 + high / 2)
