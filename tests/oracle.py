"""Reference implementations: slow and plain, written from the paper's equations, without code of the library."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from clarysage.structure.base import apply_link


def shapley(v: dict[frozenset[int], Any], p: int) -> np.ndarray:
    """Returns Shapley values by Eq. 6, subset by subset."""
    values = []
    for i in range(p):
        value: Any = 0.0
        others = [j for j in range(p) if j != i]
        for size in range(p):
            for subset in combinations(others, size):
                weight = factorial(size) * factorial(p - size - 1) / factorial(p)
                value += weight * (v[frozenset(subset) | {i}] - v[frozenset(subset)])
        values.append(value)
    return np.array(values)


def predictive_power(
    f: Any,
    loss: Any,
    X: np.ndarray,
    y: np.ndarray,
    background: np.ndarray,
    *,
    weights: Any = None,
    mass: Any = None,
    groups: list[list[int]] | None = None,
) -> dict[frozenset[int], float]:
    """Returns v(S) for every subset S of players by Eqs. 1 and 2; ``loss(y, prediction)`` is that of one example."""
    groups = groups or [[j] for j in range(X.shape[1])]
    weights = np.full(len(X), 1 / len(X)) if weights is None else np.asarray(weights) / np.sum(weights)
    mass = np.full(len(background), 1 / len(background)) if mass is None else np.asarray(mass) / np.sum(mass)
    risks = {}
    for size in range(len(groups) + 1):
        for subset in combinations(range(len(groups)), size):
            columns = [column for player in subset for column in groups[player]]
            risk = 0.0
            for x, response, weight in zip(X, y, weights, strict=True):
                rows = background.astype(float).copy()
                rows[:, columns] = x[columns]
                outputs = np.asarray(f(rows), dtype=float)
                prediction = np.tensordot(mass, outputs, axes=1)
                risk += weight * loss(response, prediction)
            risks[frozenset(subset)] = risk
    return {subset: risks[frozenset()] - risk for subset, risk in risks.items()}


def sage(f: Any, loss: Any, X: np.ndarray, y: np.ndarray, background: np.ndarray, **options: Any) -> np.ndarray:
    """Returns SAGE values by enumeration."""
    v = predictive_power(f, loss, X, y, background, **options)
    return shapley(v, max(map(len, v)))


def squared_error(y: Any, prediction: Any) -> float:
    return float(np.sum((np.asarray(y) - np.asarray(prediction)) ** 2))


def cross_entropy(y: Any, prediction: Any) -> float:
    """Returns the loss for a class number and probabilities (k,), or the probability of class 1."""
    prediction = np.atleast_1d(prediction)
    if len(prediction) == 1:
        return float(-np.log(prediction[0] if y == 1 else 1 - prediction[0]))
    return float(-np.log(prediction[int(y)]))


@dataclass(frozen=True)
class RowByRow:
    """Evaluates a model representation with all background rows, one example at a time."""

    representation: Any
    b: np.ndarray
    mass: np.ndarray
    link: Any

    def walk(self, x: np.ndarray, positions: np.ndarray, steps: int) -> np.ndarray:
        picks, predictions = np.arange(len(self.b))[None], []
        for i in range(len(x)):
            example, entry = x[i : i + 1], positions[i : i + 1]
            margins = self.representation.prefix_margins(example, self.b, picks, entry, steps)[0]  # (m, p - 1, K)
            predictions.append(np.einsum("m,mpk->pk", self.mass, apply_link(margins, self.link)))
        return np.stack(predictions)


def members(sets: Any, players: int) -> np.ndarray:
    """The players of each set of a ``PlayerSets``, (M, p), by its edges."""
    of_set, _, player = sets.edges
    is_member = np.zeros((sets.count, players), dtype=bool)
    is_member[of_set, player] = True
    return is_member
