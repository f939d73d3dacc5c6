"""Withheld features drawn from the background rows that are nearest in the kept columns.

A k-nearest-neighbour estimate of the conditional distribution (hot-deck imputation), with Epanechnikov weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.removal.background import BackgroundRows
from clarysage.removal.normal_scores import ColumnFeatures, ColumnScores
from clarysage.removal.restricted.weighted import NOTE, WeightedModel
from clarysage.tables import Schema

FEWEST, PER_ROOT = 10, 2.0  # default number of neighbours: at least, and per square root of the background's size
MISMATCH = 2.0  # squared distance of two categories: the mean for two independent normal scores
EVEN_SHARE = 0.2  # share of a distance in which all kept columns count the same
NEGLIGIBLE = 1e-12  # weight of chosen rows that are no nearer than the rows left out
LEVELS = 8  # categories of a column that take part in the regression on kept columns
NUMBERS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Neighbours:
    r"""Withheld features come from the rows of ``background`` that are most similar to the example in the kept ones.

    .. math:: f_S(x_S) = \sum_k w_k(x_S) f(x_S, b_{k, \bar S}), \qquad
        w_k \propto 1 - D_k^2 / h^2, \qquad D_k^2 = \sum_{j \in S} r_j(S) (z_j(x) - z_j(b_k))^2

    over the K nearest rows; h is the distance of the nearest row left out. z are normal scores of ranks, so that
    increasing maps of columns change nothing. Two different categories, and a missing and a present cell, have the mean
    squared distance of two random numbers. r_j(S) is the relevance of kept column j for the withheld ones, from a
    linear regression of these on those; a fifth of it is the same for all kept columns. An example that is a background
    row is no neighbour of itself.

    This estimates p(x_rest | x_S), with an error that grows with the number of kept columns: in many dimensions the
    nearest rows are not near.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight for each background row
    neighbours : K; default twice the square root of the number of background rows, at least 10
    memory_limit : bytes that the rows given to the model at once may take
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; without
        it, such rows are recognised if they equal exactly one row of X

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat([[0.0, 0.0], [1.0, 5.0]], 20, axis=0)
    >>> f_S = Neighbours(rows).restrict(lambda X: X.sum(axis=1), [[1.0, 7.0]])
    >>> f_S.predict(np.array([[1.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[6.]])
    """

    background: Any
    weights: Any = None
    neighbours: int | None = None
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "neighbours"

    def restrict(self, predictor: Any, X: Any) -> WeightedModel:
        given = self.neighbours
        if given is not None and (isinstance(given, bool) or not isinstance(given, Integral) or given < 1):
            raise InputError("neighbours", got=f"{given!r}", wanted="a whole number of rows, or None")
        background, examples = BackgroundRows.of(self, predictor, X)
        f, rows, weights, self_matches = (
            background.predictor,
            background.rows,
            background.weights,
            background.self_matches,
        )
        m = len(rows)
        count = max(FEWEST, round(PER_ROOT * m**0.5)) if given is None else int(given)
        count = min(count, m - 1 if len(self_matches) else m)
        choice = NearestRows.of(f.schema, rows, weights, count)
        note = NOTE.format(f"the {count} nearest of {m:,} background rows")
        return WeightedModel(f, rows, weights, choice, self_matches, (note,), examples)

    def limited(self, memory_limit: float) -> Neighbours:
        return replace(self, memory_limit=memory_limit)

    def with_self_matches(self, examples: np.ndarray) -> Neighbours:
        return replace(self, examples=examples)


@dataclass(frozen=True)
class NearestRows:
    """The choice of the nearest rows; among ties, the first rows of the background.

    Attributes
    ----------
    rows : the number of neighbours, K
    background : (m, d) scores of the background rows
    features : the numeric features of columns in the regression of withheld on kept columns
    correlation : (q, q) correlations of features over the background
    """

    rows: int
    scores: ColumnScores
    background: np.ndarray
    weights: np.ndarray
    features: ColumnFeatures
    correlation: np.ndarray

    @classmethod
    def of(cls, schema: Schema, rows: np.ndarray, weights: np.ndarray, count: int) -> NearestRows:
        scores = ColumnScores.of(schema, rows, weights)
        z = scores(rows)
        features = ColumnFeatures.of(z, weights, scores.is_number, LEVELS)
        return cls(count, scores, z, weights, features, _correlation(features(z), weights))

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, relevance = self.scores(x), self.relevance(is_kept)
        index, weights = (np.empty((len(x), self.rows), dtype=kind) for kind in (np.intp, np.float64))
        size = max(1, NUMBERS_AT_ONCE // len(self.weights))
        for part in (slice(start, start + size) for start in range(0, len(x), size)):
            distance = self._distances(z[part], relevance[part])
            has_match = np.flatnonzero(self_match[part] >= 0)
            distance[has_match, self_match[part][has_match]] = np.inf
            index[part], weights[part] = self._nearest(distance)
        return index, weights

    def relevance(self, is_kept: np.ndarray) -> np.ndarray:
        """Returns r (n, d): the relevance of each kept column for the withheld ones, one on average; 0 for these."""
        distinct, inverse = np.unique(is_kept, axis=0, return_inverse=True)
        return np.stack([self._relevance_of(coalition) for coalition in distinct])[inverse.ravel()]

    def _relevance_of(self, is_kept: np.ndarray) -> np.ndarray:
        """Returns the relevance (d,) of kept columns, from squared slopes of a ridge regression."""
        S = is_kept[self.features.owner]
        if not S.any():
            return is_kept.astype(np.float64)  # columns without a feature are constant
        ridge = S.sum() / len(self.weights) * np.eye(S.sum())
        slopes = np.linalg.solve(self.correlation[np.ix_(S, S)] + ridge, self.correlation[np.ix_(S, ~S)])
        explained = (slopes**2) @ self._share_of_column[~S]
        by_column = np.bincount(self.features.owner[S], weights=explained, minlength=len(is_kept))
        mean = by_column.sum() / is_kept.sum()
        even = 1.0 if mean == 0 else EVEN_SHARE
        return np.where(is_kept, even + (1 - even) * by_column / max(mean, 1e-300), 0.0)

    @cached_property
    def _share_of_column(self) -> np.ndarray:
        """The share of each feature in its column, (q,): one over the number of features of the column."""
        return np.asarray(1 / np.bincount(self.features.owner)[self.features.owner])

    def _distances(self, z: np.ndarray, relevance: np.ndarray) -> np.ndarray:
        """Returns squared distances (n, m), summed column by column, so that they do not depend on the batch."""
        total = np.zeros((len(z), len(self.weights)))
        for j in np.flatnonzero(relevance.any(axis=0)):
            a, b = z[:, j, None], self.background[:, j]
            distance = (a - b) ** 2 if self.scores.is_number[j] else np.where(a == b, 0.0, MISMATCH)
            if self._has_missing[j] or np.isnan(a).any():
                is_missing = np.isnan(a), np.isnan(b)
                both = is_missing[0] & is_missing[1]
                distance = np.where(is_missing[0] | is_missing[1], np.where(both, 0.0, MISMATCH), distance)
            distance *= relevance[:, j, None]
            total += distance
        return total

    @cached_property
    def _has_missing(self) -> np.ndarray:
        return np.asarray(np.isnan(self.background).any(axis=0))

    def _nearest(self, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the nearest K rows in the order of the background, and their weights (Epanechnikov kernel)."""
        n, m = distance.shape
        last = min(self.rows, m - 1)
        ordered = np.partition(distance, (self.rows - 1, last), axis=1)
        farthest, next_one = ordered[:, self.rows - 1, None], ordered[:, last, None]
        is_near = distance <= farthest
        if np.count_nonzero(is_near) > n * self.rows:
            is_tied = distance == farthest
            room = self.rows - (is_near & ~is_tied).sum(axis=1, keepdims=True)
            is_near &= ~is_tied | (np.cumsum(is_tied, axis=1, dtype=np.int32) <= room)
        index = np.nonzero(is_near)[1].reshape(n, self.rows)
        chosen = np.take_along_axis(distance, index, axis=1)
        # a self-match has an infinite distance, which is no bandwidth
        bandwidth = np.where(np.isfinite(next_one), next_one, farthest)
        share = np.divide(chosen, bandwidth, out=np.zeros_like(chosen), where=bandwidth > 0)
        weights = np.maximum(1 - share, NEGLIGIBLE) * self.weights[index]
        return index, weights / weights.sum(axis=1, keepdims=True)


def _correlation(features: np.ndarray, weights: np.ndarray) -> np.ndarray:
    centred = features - weights @ features
    std = np.sqrt(weights @ centred**2)
    centred /= np.where(std > 1e-12, std, np.inf)
    return np.asarray(centred.T @ (centred * weights[:, None]))
