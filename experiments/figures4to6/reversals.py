"""Two features that one method puts in one order and another method in the other, both beyond noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import norm

from experiments.methods.importance import Importance


@dataclass(frozen=True)
class Reversal:
    """``first`` is above ``second`` by method ``one``, below it by method ``other``.

    Attributes
    ----------
    surely : by how many standard errors, by the method that is less sure of it
    """

    one: str
    other: str
    first: str
    second: str
    surely: float


def reversals(found: Mapping[str, Importance], features: Sequence[str], level: float) -> list[Reversal]:
    """All of them, the surest first; the chance of any where methods agree is at most 1 - level (Bonferroni).

    Errors of two features are taken as independent.
    """
    apart = {method: scores for method, one in found.items() if (scores := leads(one)) is not None}
    pairs = list(combinations(apart, 2))
    tests = len(pairs) * len(features) * (len(features) - 1)
    least = norm.ppf(1 - (1 - level) / tests) if tests else np.inf
    met = []
    for one, other in pairs:
        both = np.minimum(apart[one], -apart[other])
        for i, j in zip(*np.nonzero(both > least), strict=True):
            met.append(Reversal(one, other, features[i], features[j], float(both[i, j])))
    return sorted(met, key=lambda reversal: -reversal.surely)


def leads(importance: Importance) -> np.ndarray | None:
    """By how many standard errors each feature is above each other, (d, d); None for values without errors."""
    if importance.std_errors is None:
        return None
    variance = np.array(importance.std_errors) ** 2
    gaps, errors = np.subtract.outer(importance.scores, importance.scores), np.sqrt(np.add.outer(variance, variance))
    return np.asarray(np.divide(gaps, errors, out=np.zeros_like(gaps), where=errors > 0))
