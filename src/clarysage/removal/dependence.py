"""Rows as a classifier of dependence sees them: columns on a common scale, and how far they are from one another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

LARGEST = 1e300  # whose differences are still finite
LEVELS = 8  # values of a category that are told apart, the most frequent ones
UNKNOWN = -6.0  # where a missing cell stands on a scale of normal scores: beyond all others
RIDGE = 0.1  # of the columns' variance, times columns a row


@dataclass(frozen=True)
class Scale:
    """Columns of codes on a common scale: numbers as normal scores of their ranks among ``ordered`` (n, d), whatever
    their unit and tails; categories as they are, missing cells too."""

    ordered: np.ndarray
    is_number: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, is_number: np.ndarray) -> Scale:
        return cls(np.sort(_bounded(rows), axis=0), is_number)  # missing cells come last

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        found = rows.copy()
        present = (~np.isnan(self.ordered)).sum(axis=0)
        for j in np.flatnonzero(self.is_number & (present > 0)):
            scores = scipy.special.ndtri((np.arange(present[j]) + 0.5) / present[j])
            found[:, j] = np.interp(_bounded(rows[:, j]), self.ordered[: present[j], j], scores)
        return found


@dataclass(frozen=True)
class Dependence:
    """What real rows (n, d), scaled, tell about how columns go together.

    Each number, and each indicator of a frequent category or of a missing cell, is predicted from all others by ridge
    regression; what is left is small in rows whose columns go together as they do in real ones, and large in others.
    """

    levels: tuple[tuple[int, float], ...]
    is_number: np.ndarray
    mean: np.ndarray
    spread: np.ndarray
    whitened: np.ndarray
    ridge: float

    @classmethod
    def of(cls, rows: np.ndarray, is_number: np.ndarray) -> Dependence:
        n, levels = len(rows), _levels(rows, is_number)
        columns = _columns(rows, levels, is_number)
        mean, spread = columns.mean(axis=0), columns.std(axis=0)
        spread[spread < 1e-9] = 1.0
        scaled = (columns - mean) / (spread * np.sqrt(n))
        ridge = RIDGE * columns.shape[1] / n
        root = np.linalg.cholesky(scaled @ scaled.T + ridge * np.eye(n))  # (n, n): there may be many more columns
        return cls(levels, is_number, mean, spread, scipy.linalg.solve_triangular(root, scaled, lower=True), ridge)

    def features(self, rows: np.ndarray, some: np.ndarray) -> np.ndarray:
        """What a classifier is to see of scaled rows: the columns ``some``, and how large residuals of all are."""
        z = (_columns(rows, self.levels, self.is_number) - self.mean) / self.spread
        pulled = (z - (z @ self.whitened.T) @ self.whitened) / self.ridge  # (C + ridge)^-1 z (Woodbury)
        precision = np.maximum(1 - (self.whitened**2).sum(axis=0), 1e-9) / self.ridge
        residuals = pulled**2 / precision
        top = min(2, residuals.shape[1])
        largest = np.partition(residuals, -top, axis=1)[:, -top:]
        seen = np.where(np.isnan(rows[:, some]), UNKNOWN, rows[:, some])
        return np.column_stack([seen, largest, residuals.mean(axis=1), (pulled * z).sum(axis=1)])


def _bounded(values: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(values, -LARGEST, LARGEST))


def _columns(rows: np.ndarray, levels: tuple[tuple[int, float], ...], is_number: np.ndarray) -> np.ndarray:
    """Numbers, zero where missing, and an indicator for each level."""
    numbers = rows[:, is_number]
    marks = [np.isnan(rows[:, j]) if np.isnan(value) else rows[:, j] == value for j, value in levels]
    return np.asarray(np.column_stack([np.where(np.isnan(numbers), 0.0, numbers), *marks]))


def _levels(rows: np.ndarray, is_number: np.ndarray) -> tuple[tuple[int, float], ...]:
    """Columns with the values that are told apart in them: frequent categories, and missing."""
    found = []
    for j in np.flatnonzero(~is_number):
        values, counts = np.unique(rows[~np.isnan(rows[:, j]), j], return_counts=True)
        found += [(int(j), float(value)) for value in values[np.argsort(-counts, kind="stable")[:LEVELS]]]
    return (*found, *((int(j), np.nan) for j in np.flatnonzero(np.isnan(rows).any(axis=0))))
