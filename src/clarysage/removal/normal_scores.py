"""Columns on one scale: normal (van der Waerden) scores of the ranks of numbers; codes or indicators of categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.tables import Schema


@dataclass(frozen=True)
class ColumnScores:
    r"""Normal scores of cells, by their ranks among the cells of a background.

    .. math:: z(c) = \Phi^{-1}(F(c)), \qquad F(c) = P(b < c) + P(b = c) / 2

    F is the weighted distribution of the cells that are not missing. Scores depend only on the order of a column's
    cells: an increasing map changes none, a decreasing one only their signs. Codes of categories stay as they are, and
    missing cells stay NaN.

    Attributes
    ----------
    is_number : (d,)
    cells, below : for each column its cells in order, and the weight below each of them, with 1 at the end
    """

    is_number: np.ndarray
    cells: tuple[np.ndarray, ...]
    below: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, schema: Schema, rows: np.ndarray, weights: np.ndarray) -> ColumnScores:
        cells, below = [], []
        for column in rows.T:
            present = np.flatnonzero(~np.isnan(column))
            order = present[np.argsort(column[present], kind="stable")]
            summed = np.concatenate([[0.0], np.cumsum(weights[order])])
            cells.append(column[order])
            below.append(summed / summed[-1] if len(order) else np.array([0.5]))
        return cls(schema.is_number, tuple(cells), tuple(below))

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Returns scores of codes: (n, d) -> (n, d)."""
        from scipy.special import ndtri

        scores = codes.copy()
        for j in np.flatnonzero(self.is_number):
            cells, below = self.cells[j], self.below[j]
            least = 0.25 / max(len(cells), 1)
            is_present = ~np.isnan(codes[:, j])
            low, high = (below[np.searchsorted(cells, codes[is_present, j], side=side)] for side in ("left", "right"))
            scores[is_present, j] = ndtri(np.clip((low + high) / 2, least, 1 - least))
        return scores


@dataclass(frozen=True)
class ColumnFeatures:
    """Columns as numeric features: the score of a number, indicators of frequent categories and of missing cells.

    Attributes
    ----------
    owner : (q,) the column of each feature
    level : (q,) the category that a feature indicates; NaN for missing cells, inf for a score
    """

    owner: np.ndarray
    level: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, weights: np.ndarray, is_number: np.ndarray, most: int) -> ColumnFeatures:
        """Chooses features of columns (n, d), with indicators for at most ``most`` categories of each column."""
        owner: list[int] = []
        level: list[float] = []
        for j, column in enumerate(scores.T):
            is_missing = np.isnan(column)
            present, weights_there = column[~is_missing], weights[~is_missing]
            levels = [np.inf] if is_number[j] else frequent(present, weights_there, most).tolist()
            levels += [np.nan] if is_missing.any() else []
            owner += [j] * len(levels)
            level += levels
        return cls(np.array(owner, dtype=np.intp), np.array(level))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Returns the features of scores: (n, d) -> (n, q)."""
        cells = scores[:, self.owner]
        features = np.where(np.isinf(self.level), np.nan_to_num(cells), cells == self.level)
        return np.asarray(np.where(np.isnan(self.level), np.isnan(cells), features), dtype=np.float64)


def frequent(codes: np.ndarray, weights: np.ndarray, most: int) -> np.ndarray:
    """Returns at most ``most`` distinct codes of largest weight, the lower code first where weights are equal."""
    distinct, index = np.unique(codes, return_inverse=True)
    weight = np.bincount(index.ravel(), weights=weights, minlength=len(distinct))
    return np.asarray(distinct[np.argsort(-weight, kind="stable")[:most]])
