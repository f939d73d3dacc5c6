"""Curves of convergence: how far values are from the converged ones, by model evaluations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True, eq=False)
class Curve:
    """Distances from converged values at growing numbers of model evaluations.

    Attributes
    ----------
    evaluations : (m,)
    mse, correlation : (R, m), a row a repetition
    """

    evaluations: np.ndarray
    mse: np.ndarray
    correlation: np.ndarray

    @classmethod
    def of(cls, evaluations: np.ndarray, values: np.ndarray, converged: np.ndarray) -> Curve:
        """Of values (R, m, d) beside the converged ones (d,)."""
        return cls(np.asarray(evaluations, float), mse(values, converged), correlation(values, converged))

    @property
    def costs(self) -> np.ndarray:
        """What a unit of accuracy costs in each repetition, (R,): the geometric mean of evaluations times MSE.

        Errors of means fall with the root of their number, so that this product is the same along a curve but for
        chance, and ratios of it are ratios of evaluations at equal error.
        """
        return np.asarray(np.exp(np.mean(np.log(self.evaluations * self.mse), axis=1)))

    @property
    def slope(self) -> float:
        """Of the logarithm of the mean MSE by that of evaluations; -1 where values converge as means do."""
        return float(np.polyfit(np.log(self.evaluations), np.log(self.mse.mean(axis=0)), 1)[0])

    def needed(self, reached: float) -> float | None:
        """Evaluations at which the mean correlation has come to stay above this; None where it has not."""
        return crossing(self.evaluations, self.correlation.mean(axis=0), reached)


def mse(values: np.ndarray, converged: np.ndarray) -> np.ndarray:
    """Mean squared differences over the last axis."""
    return np.asarray(np.mean((values - converged) ** 2, axis=-1))


def correlation(values: np.ndarray, converged: np.ndarray) -> np.ndarray:
    """Correlations with the converged values over the last axis; 0 where values are all the same.

    Examples
    --------
    >>> correlation(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]), np.array([0.0, 5.0])).round(6).tolist()
    [1.0, -1.0, 0.0]
    """
    a, b = values - values.mean(axis=-1, keepdims=True), converged - converged.mean()
    sizes = np.sqrt((a**2).sum(axis=-1) * (b**2).sum())
    return np.asarray(np.divide((a * b).sum(axis=-1), sizes, out=np.zeros_like(sizes), where=sizes > 0))


def crossing(evaluations: np.ndarray, heights: np.ndarray, reached: float) -> float | None:
    """Where a curve comes to stay at this height or above, read off between its points on a logarithmic axis.

    Examples
    --------
    >>> crossing(np.array([10.0, 1000.0]), np.array([0.0, 1.0]), 0.5)
    100.0
    >>> crossing(np.array([10.0, 1000.0]), np.array([0.0, 1.0]), 2.0)
    """
    below = np.flatnonzero(heights < reached)
    if len(below) == 0:
        return float(evaluations[0])
    last = below[-1]
    if last == len(heights) - 1:
        return None
    share = (reached - heights[last]) / (heights[last + 1] - heights[last])
    low, high = np.log10(evaluations[last : last + 2])
    return float(10 ** (low + share * (high - low)))


def averages(values: np.ndarray, counts: np.ndarray, repetitions: int, rng: np.random.Generator) -> np.ndarray:
    """Means of the first rows of random orders of values (n, d), as many as ``counts`` says: (R, m, d)."""
    found = []
    for _ in range(repetitions):
        sums = np.cumsum(values[rng.permutation(len(values))], axis=0)
        found.append(sums[counts - 1] / counts[:, None])
    return np.array(found)


@dataclass(frozen=True)
class Ratio:
    """A ratio in orders of magnitude, and its interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, one: np.ndarray, other: np.ndarray, level: float, error: float = 0.0) -> Ratio:
        """Of costs in repetitions (R,); ``error``: of something else in it, in orders of magnitude."""
        logs = np.log10(one) - np.log10(other)
        spread = np.hypot(np.std(logs, ddof=1) / np.sqrt(len(logs)), error)
        reach = student.ppf(0.5 + level / 2, len(logs) - 1) * spread
        return cls(float(logs.mean()), float(logs.mean() - reach), float(logs.mean() + reach))
