"""Withheld features drawn from the background rows that are nearest in what is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.removal.background import BackgroundRows
from clarysage.removal.normal_scores import ColumnFeatures, ColumnScores
from clarysage.removal.restricted.weighted import FOLLOWS, WeightedModel
from clarysage.tables import Schema

FEWEST, PER_ROOT = 10, 2.0  # neighbours: so many at least, or so many times the root of the background's size
MISMATCH = 2.0  # squared distance of two categories: what two numbers drawn apart have on average
EVENLY = 0.2  # part of a distance in which all kept columns count the same
NEGLIGIBLE = 1e-12  # weight beside others, of rows no nearer than those left out
LEVELS = 8  # categories of a column that are looked at to see what tells of what
NUMBERS_AT_ONCE = 2**16


@dataclass(frozen=True)
class Neighbours:
    r"""Withheld features come from the rows of ``background`` that are most like the example in the kept ones.

    .. math:: f_S(x_S) = \sum_k w_k(x_S) f(x_S, b_{k, \bar S}), \qquad
        w_k \propto 1 - D_k^2 / h^2, \qquad D_k^2 = \sum_{j \in S} r_j(S) (z_j(x) - z_j(b_k))^2

    over the K nearest rows; h is the distance of the nearest row left out. z are normal scores of ranks, so that
    increasing maps of columns change nothing; categories that differ, and a missing cell beside one that is not, are as
    far apart as two numbers drawn at random. r_j(S) tells how much kept column j has to say about the withheld ones, by
    a linear regression of these on those; a fifth of it is the same for all kept columns. An example that is a
    background row is no neighbour of itself.

    This estimates p(x_rest | x_S), at a price that grows with the number of columns kept: the nearest rows of many
    columns are not near.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight a background row
    neighbours : K; default twice the square root of the number of background rows, at least 10
    memory_limit : bytes that the rows given to the model at once may take
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; such
        rows are otherwise known by being equal to a row of X, if there is but one of the kind

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
        wanted = self.neighbours
        if wanted is not None and (isinstance(wanted, bool) or not isinstance(wanted, Integral) or wanted < 1):
            raise InputError("neighbours", got=f"{wanted!r}", wanted="a whole number of rows, or None")
        found, examples = BackgroundRows.of(self, predictor, X)
        m = len(found.rows)
        count = max(FEWEST, round(PER_ROOT * m**0.5)) if wanted is None else int(wanted)
        count = min(count, m - 1 if len(found.known) else m)
        choice = Nearest.of(found.predictor.schema, found.rows, found.mass, count)
        said = FOLLOWS.format(f"the {count} nearest of {m:,} background rows")
        return WeightedModel(found.predictor, found.rows, found.mass, choice, found.known, (said,), examples)

    def limited(self, memory_limit: float) -> Neighbours:
        return replace(self, memory_limit=memory_limit)

    def knowing_examples(self, examples: np.ndarray) -> Neighbours:
        return replace(self, examples=examples)


@dataclass(frozen=True)
class Nearest:
    """The choice of the nearest rows; ties go to the first in the background."""

    rows: int
    scores: ColumnScores
    background: np.ndarray  # (m, d) as scores
    mass: np.ndarray
    features: ColumnFeatures
    correlation: np.ndarray  # (q, q) of features, over the background

    @classmethod
    def of(cls, schema: Schema, rows: np.ndarray, mass: np.ndarray, count: int) -> Nearest:
        scores = ColumnScores.of(schema, rows, mass)
        z = scores(rows)
        features = ColumnFeatures.of(z, mass, scores.is_number, LEVELS)
        return cls(count, scores, z, mass, features, _correlation(features(z), mass))

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z, relevance = self.scores(x), self.relevance(is_kept)
        picks, weights = (np.empty((len(x), self.rows), dtype=kind) for kind in (np.intp, np.float64))
        size = max(1, NUMBERS_AT_ONCE // len(self.mass))
        for part in (slice(start, start + size) for start in range(0, len(x), size)):
            distance = self._distances(z[part], relevance[part])
            is_own = np.flatnonzero(own[part] >= 0)
            distance[is_own, own[part][is_own]] = np.inf
            picks[part], weights[part] = self._nearest(distance)
        return picks, weights

    def relevance(self, is_kept: np.ndarray) -> np.ndarray:
        """r (n, d): how much each kept column tells of the withheld ones, on average one; 0 for these."""
        distinct, place = np.unique(is_kept, axis=0, return_inverse=True)
        return np.stack([self._told(one) for one in distinct])[place.ravel()]

    def _told(self, is_kept: np.ndarray) -> np.ndarray:
        S = is_kept[self.features.owner]
        if not S.any():
            return is_kept.astype(np.float64)  # columns without a feature are constant
        ridge = S.sum() / len(self.mass) * np.eye(S.sum())
        slopes = np.linalg.solve(self.correlation[np.ix_(S, S)] + ridge, self.correlation[np.ix_(S, ~S)])
        told = (slopes**2) @ self._share[~S]
        by_column = np.bincount(self.features.owner[S], weights=told, minlength=len(is_kept))
        mean = by_column.sum() / is_kept.sum()
        even = 1.0 if mean == 0 else EVENLY
        return np.where(is_kept, even + (1 - even) * by_column / max(mean, 1e-300), 0.0)

    @cached_property
    def _share(self) -> np.ndarray:
        """What part of its column each feature is, (q,)."""
        return np.asarray(1 / np.bincount(self.features.owner)[self.features.owner])

    def _distances(self, z: np.ndarray, relevance: np.ndarray) -> np.ndarray:
        """Squared distances (n, m), column by column, so that they are the same however rows are put together."""
        total = np.zeros((len(z), len(self.mass)))
        for j in np.flatnonzero(relevance.any(axis=0)):
            here, there = z[:, j, None], self.background[:, j]
            apart = (here - there) ** 2 if self.scores.is_number[j] else np.where(here == there, 0.0, MISMATCH)
            if self._has_gaps[j] or np.isnan(here).any():
                gaps = np.isnan(here), np.isnan(there)
                apart = np.where(gaps[0] | gaps[1], np.where(gaps[0] & gaps[1], 0.0, MISMATCH), apart)
            apart *= relevance[:, j, None]
            total += apart
        return total

    @cached_property
    def _has_gaps(self) -> np.ndarray:
        return np.asarray(np.isnan(self.background).any(axis=0))

    def _nearest(self, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest K rows in the order of the background, and their weights."""
        n, m = distance.shape
        last = min(self.rows, m - 1)
        ordered = np.partition(distance, (self.rows - 1, last), axis=1)
        farthest, beyond = ordered[:, self.rows - 1, None], ordered[:, last, None]
        is_in = distance <= farthest
        if np.count_nonzero(is_in) > n * self.rows:
            is_tied = distance == farthest
            room = self.rows - (is_in & ~is_tied).sum(axis=1, keepdims=True)
            is_in &= ~is_tied | (np.cumsum(is_tied, axis=1, dtype=np.int32) <= room)
        picks = np.nonzero(is_in)[1].reshape(n, self.rows)
        chosen = np.take_along_axis(distance, picks, axis=1)
        reach = np.where(np.isfinite(beyond), beyond, farthest)  # a row left out for being one's own is no measure
        share = np.divide(chosen, reach, out=np.zeros_like(chosen), where=reach > 0)
        weights = np.maximum(1 - share, NEGLIGIBLE) * self.mass[picks]
        return picks, weights / weights.sum(axis=1, keepdims=True)


def _correlation(features: np.ndarray, mass: np.ndarray) -> np.ndarray:
    centred = features - mass @ features
    spread = np.sqrt(mass @ centred**2)
    centred /= np.where(spread > 1e-12, spread, np.inf)
    return np.asarray(centred.T @ (centred * mass[:, None]))
