"""Convergence curves: distance from the converged values by model evaluations, and ratios of costs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True, eq=False)
class ConvergenceCurve:
    """Distances from converged values at growing numbers of model evaluations.

    Attributes
    ----------
    evaluations : (m,)
    mse, correlation : (R, m), one row per repetition
    """

    evaluations: np.ndarray
    mse: np.ndarray
    correlation: np.ndarray

    @classmethod
    def of(cls, evaluations: np.ndarray, values: np.ndarray, converged: np.ndarray) -> ConvergenceCurve:
        """Compares values (R, m, d) with the converged ones (d,)."""
        return cls(np.asarray(evaluations, float), mse(values, converged), correlation(values, converged))

    @property
    def costs(self) -> np.ndarray:
        """Evaluations times MSE in each repetition (R,), averaged over the points of the curve.

        The variance of a mean is inversely proportional to the number of draws, so this product is constant along a
        curve except for noise, and the ratio of two such products is the ratio of evaluations at equal error.
        """
        return np.asarray(np.mean(self.evaluations * self.mse, axis=1))

    @property
    def slope(self) -> float:
        """Slope of log(mean MSE) by log(evaluations); -1 if values converge like means."""
        return float(np.polyfit(np.log(self.evaluations), np.log(self.mse.mean(axis=0)), 1)[0])

    def needed(self, reached: float) -> float | None:
        """Returns the evaluations from which on the mean correlation stays above this; None if it does not."""
        return crossing(self.evaluations, self.correlation.mean(axis=0), reached)


def mse(values: np.ndarray, converged: np.ndarray) -> np.ndarray:
    """Returns mean squared differences over the last axis."""
    return np.asarray(np.mean((values - converged) ** 2, axis=-1))


def correlation(values: np.ndarray, converged: np.ndarray) -> np.ndarray:
    """Returns correlations with the converged values over the last axis; 0 for constant values.

    Examples
    --------
    >>> correlation(np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 3.0]]), np.array([0.0, 5.0])).round(6).tolist()
    [1.0, -1.0, 0.0]
    """
    a, b = values - values.mean(axis=-1, keepdims=True), converged - converged.mean()
    sizes = np.sqrt((a**2).sum(axis=-1) * (b**2).sum())
    return np.asarray(np.divide((a * b).sum(axis=-1), sizes, out=np.zeros_like(sizes), where=sizes > 0))


def crossing(evaluations: np.ndarray, heights: np.ndarray, reached: float) -> float | None:
    """Returns where a curve finally reaches this height, interpolated between its points on a logarithmic axis.

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
    """Returns means of the first ``counts`` rows (m,) of random permutations of values (n, d): (R, m, d)."""
    means = []
    for _ in range(repetitions):
        sums = np.cumsum(values[rng.permutation(len(values))], axis=0)
        means.append(sums[counts - 1] / counts[:, None])
    return np.array(means)


def costs_of_means(values: np.ndarray, price: float) -> np.ndarray:
    """Returns the cost, (n,) to be averaged, of a mean of rows of values (n, d), each with this number of evaluations.

    The variance of a mean of K rows is that of the rows divided by K, and it needs K times the evaluations.
    """
    n = len(values)
    return price * np.mean((values - values.mean(axis=0)) ** 2, axis=1) * n / (n - 1)


@dataclass(frozen=True)
class Cost:
    """A positive number with its standard error.

    Attributes
    ----------
    relative : the standard error as a share of the value
    dof : degrees of freedom of the standard error
    """

    value: float
    relative: float
    dof: int

    @classmethod
    def of(cls, several: np.ndarray) -> Cost:
        """Returns the mean of independent values."""
        mean, n = float(np.mean(several)), len(several)
        return cls(mean, float(np.std(several, ddof=1) / np.sqrt(n) / mean), n - 1)

    def times(self, other: Cost) -> Cost:
        return Cost(self.value * other.value, float(np.hypot(self.relative, other.relative)), min(self.dof, other.dof))

    def by(self, other: Cost) -> Cost:
        return self.times(Cost(1 / other.value, other.relative, other.dof))

    def interval(self, level: float) -> tuple[float, float]:
        """Returns the ends of an interval that is symmetric for the logarithm, as for a positive number."""
        reach = float(np.exp(student.ppf(0.5 + level / 2, self.dof) * self.relative))
        return self.value / reach, self.value * reach

    def orders_of_magnitude(self, level: float) -> tuple[float, float, float]:
        """Returns its decimal logarithm, and the ends of its interval."""
        low, high = self.interval(level)
        return float(np.log10(self.value)), float(np.log10(low)), float(np.log10(high))
