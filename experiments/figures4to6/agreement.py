"""How far methods agree on the order of features: rank correlations, and how far these depend on single features."""

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
        """By the jackknife."""
        return float(np.sqrt(len(self.without) - 1) * np.std(self.without))

    def interval(self, level: float) -> tuple[float, float]:
        reach = norm.ppf(0.5 + level / 2) * self.std_error
        return max(-1.0, self.value - reach), min(1.0, self.value + reach)

    @classmethod
    def of(cls, one: Importance, other: Importance) -> Correlation:
        a, b = one.scores, other.scores
        rest = np.array([np.delete(np.arange(len(a)), i) for i in range(len(a))])  # (d, d - 1)
        return cls(float(spearman(a, b)), spearman(a[rest], b[rest]))

    @classmethod
    def mean(cls, several: Iterable[Correlation]) -> Correlation:
        """Of correlations over the same features."""
        values, without = zip(*((one.value, one.without) for one in several), strict=True)
        return cls(float(np.mean(values)), np.mean(without, axis=0))


def between(found: Mapping[str, Importance]) -> dict[frozenset[str], Correlation]:
    """Rank correlations of each two methods."""
    return {frozenset((one, other)): Correlation.of(found[one], found[other]) for one, other in combinations(found, 2)}


def spearman(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Correlation of ranks along the last axis.

    Examples
    --------
    >>> round(float(spearman(np.array([1.0, 2.0, 9.0]), np.array([-1.0, 7.0, 0.0]))), 6)
    0.5
    """
    a, b = (rankdata(one, axis=-1) for one in (a, b))
    a, b = a - a.mean(axis=-1, keepdims=True), b - b.mean(axis=-1, keepdims=True)
    return np.asarray((a * b).sum(axis=-1) / np.sqrt((a**2).sum(axis=-1) * (b**2).sum(axis=-1)))


def apart(ours: Sequence[Correlation], others: Sequence[Correlation], level: float) -> tuple[float, float, float]:
    """By how much the mean of ours is above that of others, which are of other features; and ends of an interval."""
    difference = float(np.mean([one.value for one in ours]) - np.mean([one.value for one in others]))
    error = np.hypot(*(np.sqrt(np.sum([one.std_error**2 for one in all_])) / len(all_) for all_ in (ours, others)))
    reach = float(norm.ppf(0.5 + level / 2) * error)
    return difference, difference - reach, difference + reach


def top(importance: Importance, features: Sequence[str], number: int) -> list[str]:
    """The features with the largest values, the largest first."""
    return [features[i] for i in np.argsort(-importance.scores, kind="stable")[:number]]
