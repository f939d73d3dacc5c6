"""Columns on one scale: numbers by normal scores of their ranks, categories by their codes, missing cells apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.tables import Schema


@dataclass(frozen=True)
class ColumnScores:
    r"""Scores of cells among those of a background.

    .. math:: z(c) = \Phi^{-1}(F(c)), \qquad F(c) = P(b < c) + P(b = c) / 2

    F is by mass over the cells that are there. Scores depend on the order of a column's cells alone: an increasing map
    changes none, a decreasing one all of their signs. The codes of categories stay as they are, and missing cells NaN.

    Attributes
    ----------
    is_number : (d,)
    cells, below : for each column of numbers its cells in order, and the mass below each, with 1 at the end
    """

    is_number: np.ndarray
    cells: tuple[np.ndarray, ...]
    below: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, schema: Schema, rows: np.ndarray, mass: np.ndarray) -> ColumnScores:
        cells, below = [], []
        for column in rows.T:
            there = np.flatnonzero(~np.isnan(column))
            order = there[np.argsort(column[there], kind="stable")]
            summed = np.concatenate([[0.0], np.cumsum(mass[order])])
            cells.append(column[order])
            below.append(summed / summed[-1] if len(order) else np.array([0.5]))
        return cls(schema.is_number, tuple(cells), tuple(below))

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """(n, d) -> (n, d)."""
        from scipy.special import ndtri

        scores = codes.copy()
        for j in np.flatnonzero(self.is_number):
            cells, below = self.cells[j], self.below[j]
            least = 0.25 / max(len(cells), 1)
            there = ~np.isnan(codes[:, j])
            place = [below[np.searchsorted(cells, codes[there, j], side=side)] for side in ("left", "right")]
            scores[there, j] = ndtri(np.clip((place[0] + place[1]) / 2, least, 1 - least))
        return scores


@dataclass(frozen=True)
class ColumnFeatures:
    """Columns as numbers for linear algebra: a score, a mark for each frequent category, one for missing cells.

    ``owner`` (q,) is the column that each feature is of.
    """

    owner: np.ndarray
    level: np.ndarray  # (q,) the category that a feature marks; NaN for missing cells, inf for a score

    @classmethod
    def of(cls, scores: np.ndarray, mass: np.ndarray, is_number: np.ndarray, most: int) -> ColumnFeatures:
        """At most so many categories of a column, the most frequent ones by mass."""
        owner: list[int] = []
        level: list[float] = []
        for j, column in enumerate(scores.T):
            missing = np.isnan(column)
            marks = [np.inf] if is_number[j] else frequent(column[~missing], mass[~missing], most).tolist()
            marks += [np.nan] if missing.any() else []
            owner += [j] * len(marks)
            level += marks
        return cls(np.array(owner, dtype=np.intp), np.array(level))

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """(n, d) -> (n, q)."""
        cells = scores[:, self.owner]
        found = np.where(np.isinf(self.level), np.nan_to_num(cells), cells == self.level)
        return np.asarray(np.where(np.isnan(self.level), np.isnan(cells), found), dtype=np.float64)


def frequent(codes: np.ndarray, mass: np.ndarray, most: int) -> np.ndarray:
    """The distinct codes of largest mass, at most so many, those met with first where masses are equal."""
    distinct, place = np.unique(codes, return_inverse=True)
    weight = np.bincount(place.ravel(), weights=mass, minlength=len(distinct))
    return np.asarray(distinct[np.argsort(-weight, kind="stable")[:most]])
