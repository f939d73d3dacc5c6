"""Reversals: pairs of features that two methods put in opposite orders, both significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from experiments.methods.importance import Importance


@dataclass(frozen=True)
class Reversal:
    """``first`` is above ``second`` by ``method``, below it by the method ``other``.

    Attributes
    ----------
    surely : the smaller of the two differences, in standard errors
    """

    method: str
    other: str
    first: str
    second: str
    surely: float


def reversals(by_method: Mapping[str, Importance], features: Sequence[str], level: float) -> list[Reversal]:
    """Returns all reversals, the most significant first, with Bonferroni's correction for their number.

    Standard errors of two features are treated as independent.
    """
    apart = {method: scores for method, importance in by_method.items() if (scores := leads(importance)) is not None}
    pairs = list(combinations(apart, 2))
    tests = len(pairs) * len(features) * (len(features) - 1)
    least = norm.ppf(1 - (1 - level) / tests) if tests else np.inf
    met = []
    for importance, other in pairs:
        both = np.minimum(apart[importance], -apart[other])
        for i, j in zip(*np.nonzero(both > least), strict=True):
            met.append(Reversal(importance, other, features[i], features[j], float(both[i, j])))
    return sorted(met, key=lambda reversal: -reversal.surely)


def leads(importance: Importance) -> np.ndarray | None:
    """Returns the differences of all pairs in standard errors, (d, d); None for values without standard errors."""
    if importance.std_errors is None:
        return None
    variance = np.array(importance.std_errors) ** 2
    gaps, errors = np.subtract.outer(importance.scores, importance.scores), np.sqrt(np.add.outer(variance, variance))
    return np.asarray(np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0))
