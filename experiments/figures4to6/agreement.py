"""Agreement of methods: rank correlations over features, with jackknife standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm, rankdata

from experiments.methods.importance import Importance


@dataclass(frozen=True, eq=False)
class Correlation:
    """A rank correlation (Spearman's) over features, or a mean of some.

    Attributes
    ----------
    value : with all features
    without : (d,) without each of them
    """

    value: float
    without: np.ndarray

    @property
    def std_error(self) -> float:
        """Jackknife standard error."""
        return float(np.sqrt(len(self.without) - 1) * np.std(self.without))

    def interval(self, level: float) -> tuple[float, float]:
        reach = norm.ppf(0.5 + level / 2) * self.std_error
        return max(-1.0, self.value - reach), min(1.0, self.value + reach)

    @classmethod
    def of(cls, importance: Importance, other: Importance) -> Correlation:
        a, b = importance.scores, other.scores
        rest = np.array([np.delete(np.arange(len(a)), i) for i in range(len(a))])  # (d, d - 1)
        return cls(float(spearman(a, b)), spearman(a[rest], b[rest]))

    @classmethod
    def mean(cls, several: Iterable[Correlation]) -> Correlation:
        """Returns the mean of correlations over the same features."""
        values, without = zip(*((correlation.value, correlation.without) for correlation in several), strict=True)
        return cls(float(np.mean(values)), np.mean(without, axis=0))


def between(by_method: Mapping[str, Importance]) -> dict[frozenset[str], Correlation]:
    """Returns the rank correlation of each pair of methods."""
    return {
        frozenset((method, other)): Correlation.of(by_method[method], by_method[other])
        for method, other in combinations(by_method, 2)
    }


def spearman(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Returns Spearman's correlation along the last axis.

    Examples
    --------
    >>> round(float(spearman(np.array([1.0, 2.0, 9.0]), np.array([-1.0, 7.0, 0.0]))), 6)
    0.5
    """
    a, b = (rankdata(values, axis=-1) for values in (a, b))
    a, b = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    return np.asarray((a * b).sum(axis=-1) / np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1)))


def apart(ours: Sequence[Correlation], others: Sequence[Correlation], level: float) -> tuple[float, float, float]:
    """Returns the mean of ours minus the mean of others, which have other features, and the ends of an interval."""
    difference = float(
        np.mean([correlation.value for correlation in ours]) - np.mean([correlation.value for correlation in others])
    )
    error = np.hypot(
        *(np.sqrt(np.sum([correlation.std_error**2 for correlation in all_])) / len(all_) for all_ in (ours, others))
    )
    reach = float(norm.ppf(0.5 + level / 2) * error)
    return difference, difference - reach, difference + reach


def top(importance: Importance, features: Sequence[str], number: int) -> list[str]:
    """Returns the features with the largest values, in descending order."""
    return [features[i] for i in np.argsort(-importance.scores, kind="stable")[:number]]
