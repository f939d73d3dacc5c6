r"""Deviances of generalised linear models for counts and amounts: Poisson, gamma and Tweedie.

The unit deviance of power p has, for a prediction :math:`\mu`, the derivative

.. math:: \frac{\partial d(\mu, y)}{\partial \mu} = \frac{2 (\mu - y)}{\mu^p}

so that the mean of y is the constant of least mean deviance, whatever the power.

References
----------
B. Jørgensen (1987). Exponential dispersion models. Journal of the Royal Statistical Society B 49, 127-162.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from clarysage.errors import InputError, ModelError, Or, Set
from clarysage.losses.debiasing import Debiasing, Taylor
from clarysage.losses.regression import LARGEST, moderate, numeric_target
from clarysage.losses.robust import named
from clarysage.protocols import LossTask


class HasPower(Protocol):
    """A deviance: its name, and the power p of the mean to which the variance of y is proportional."""

    @property
    def name(self) -> str: ...

    @property
    def power(self) -> float: ...


class Deviance:
    """Methods of all deviances; they need positive predictions, of which means are positive, too."""

    ceiling: ClassVar[float] = math.inf
    task: ClassVar[LossTask] = "regression"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = Taylor(least=0.5, error_grows_with_loss=True)

    def encode(self: HasPower, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        target = numeric_target(y, outputs, self.name)
        has_zero = self.power < 2
        if target.min() < 0 or (target.min() == 0 and not has_zero):
            raise InputError(
                "y",
                got=f"responses down to {target.min():.4g}",
                wanted=f'{"numbers of zero or more" if has_zero else "positive numbers"}, for the loss "{self.name}"',
                hint=[Set("loss", "squared error"), Or(), Set("loss", "tweedie deviance"), " for y of zero or more"],
            )
        return target

    def check(self: HasPower, outputs: np.ndarray) -> None:
        if outputs.min() < 1 / LARGEST:
            raise ModelError(
                "model",
                got=f"predictions down to {outputs.min():.4g}",
                wanted=f'positive predictions, for the loss "{self.name}"',
                hint=["a model with a logarithmic link", Or(), Set("loss", "squared error")],
            )

    def __call__(self: HasPower, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            losses = unit_deviance(prediction, target, self.power).sum(axis=-1)
        return moderate(np.asarray(losses), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the weighted mean."""
        return np.asarray(np.average(target, axis=0, weights=weights))

    def derivatives(self: HasPower, prediction: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the first and the second derivative by each output, (n, k)."""
        p = self.power
        factor = 2 * prediction**-p
        return factor * (prediction - target), factor * (1 - p + p * target / prediction)

    def scale(self, prediction: np.ndarray) -> np.ndarray:
        """Returns the change of a prediction for which the second derivative may be taken as constant, (n, k)."""
        return prediction


@dataclass(frozen=True)
class PoissonDeviance(Deviance):
    """Poisson deviance 2 (y log(y / prediction) - y + prediction), for counts, summed over outputs.

    Examples
    --------
    >>> PoissonDeviance()(np.array([[1.0], [1.0]]), np.array([[0.0], [2.0]])).round(4)
    array([2.    , 0.7726])
    """

    name: ClassVar[str] = "poisson deviance"
    power: ClassVar[float] = 1.0


@dataclass(frozen=True)
class GammaDeviance(Deviance):
    """Gamma deviance 2 (log(prediction / y) + y / prediction - 1), for positive amounts, summed over outputs.

    It depends on the ratio of y and the prediction alone, so that it is the same in any unit.

    Examples
    --------
    >>> GammaDeviance()(np.array([[1.0], [50.0]]), np.array([[2.0], [100.0]])).round(4)
    array([0.6137, 0.6137])
    """

    name: ClassVar[str] = "gamma deviance"
    power: ClassVar[float] = 2.0


@dataclass(frozen=True)
class TweedieDeviance(Deviance):
    """Tweedie deviance for amounts whose variance is proportional to a ``power`` of their mean, summed over outputs.

    A power of 1 is the Poisson deviance, 2 is the gamma deviance, and between them are amounts that may be zero, such
    as claims of insured people.

    Parameters
    ----------
    power : the power of the mean that the variance is proportional to, 1 or more

    Examples
    --------
    >>> TweedieDeviance(1.5)(np.array([[1.0], [1.0]]), np.array([[0.0], [4.0]]))
    array([4., 4.])
    """

    power: float = 1.5

    def __post_init__(self) -> None:
        if not 1 <= self.power < math.inf:
            raise InputError(
                "power",
                got=repr(self.power),
                wanted="a number of 1 (Poisson) or more",
                hint=[Set("loss", "squared error"), " for a power of 0"],
            )

    @property
    def name(self) -> str:
        return named("tweedie deviance", self.power, TweedieDeviance.power)


def unit_deviance(mean: np.ndarray, y: np.ndarray, power: float) -> np.ndarray:
    """Returns the unit deviances of a power of 1 or more.

    Examples
    --------
    >>> unit_deviance(np.array([2.0]), np.array([2.0]), 3.0)
    array([0.])
    """
    is_zero = y == 0
    ratio = np.where(is_zero, 1.0, y) / mean
    if power == 1:
        return np.asarray(2 * np.where(is_zero, mean, y * np.log(ratio) - y + mean))
    if power == 2:
        return np.asarray(2 * (ratio - 1 - np.log(ratio)))
    ratio = np.where(is_zero, 0.0, ratio)
    first, second = 1 - power, 2 - power
    with np.errstate(divide="ignore"):  # a power above 2 has no y of zero
        return np.asarray(2 * mean**second * (ratio**second / (first * second) - ratio / first + 1 / second))
