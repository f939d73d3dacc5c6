"""Elementwise functions between the layers of networks, as their libraries compute them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy


@dataclass(frozen=True)
class Activation:
    """One of ``FUNCTIONS`` with its settings, which may write over what it is given.

    Examples
    --------
    >>> Activation("leaky relu", (0.5,))(np.array([-2.0, 2.0]))
    array([-1.,  2.])
    """

    name: str
    settings: tuple[float, ...] = ()

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return FUNCTIONS[self.name](z, *self.settings)


def _relu(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(z, 0, out=z))


def _tanh(z: np.ndarray) -> np.ndarray:
    return np.asarray(np.tanh(z, out=z))


def _logistic(z: np.ndarray) -> np.ndarray:
    return np.asarray(scipy.special.expit(z, out=z))


def _gelu(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * (0.5 * (1 + scipy.special.erf(z * math.sqrt(0.5)))))


def _gelu_by_tanh(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * (0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z * z * z)))))


def _elu(z: np.ndarray, alpha: float) -> np.ndarray:
    return np.where(z > 0, z, alpha * np.expm1(np.minimum(z, 0)))


def _leaky_relu(z: np.ndarray, slope: float) -> np.ndarray:
    return np.where(z > 0, z, slope * z)


def _silu(z: np.ndarray) -> np.ndarray:
    return np.asarray(z * scipy.special.expit(z))


def _softplus(z: np.ndarray, beta: float, threshold: float) -> np.ndarray:
    is_straight = z * beta > threshold
    return np.where(is_straight, z, np.log1p(np.exp(np.where(is_straight, 0, z * beta))) / beta)


FUNCTIONS: dict[str, Callable[..., np.ndarray]] = {
    "relu": _relu,
    "tanh": _tanh,
    "logistic": _logistic,
    "gelu": _gelu,
    "gelu by tanh": _gelu_by_tanh,
    "elu": _elu,
    "leaky relu": _leaky_relu,
    "silu": _silu,
    "softplus": _softplus,
}
