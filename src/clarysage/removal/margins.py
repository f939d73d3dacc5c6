"""Columns as normal scores, and back: ranks among background rows, whatever a column holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

TIED = 0.02  # of the rows alike, from which on a column is not taken for a continuous one
MOST_LEVELS = 64  # of a column of categories, that have a say in the order of all


@dataclass(frozen=True)
class Margin:
    """One column of n background rows in ascending order, and where its cells stand in it.

    Numbers stand in their own order, categories in that of ``place`` (by code), missing cells before all others.

    Attributes
    ----------
    cells, keys : (n,) cells in order, and by what they are ordered
    """

    cells: np.ndarray
    keys: np.ndarray
    place: np.ndarray | None = None

    @classmethod
    def of(cls, column: np.ndarray, place: np.ndarray | None = None) -> Margin:
        keys = _keys(column, place)
        order = np.argsort(keys, kind="stable")
        return cls(column[order], keys[order], place)

    def ranks(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How many background cells are below each cell, and how many are not above it; any, for unheard-of ones."""
        keys = _keys(column, self.place)
        below, up_to = (np.searchsorted(self.keys, keys, side=side) for side in ("left", "right"))
        if self.place is None:
            return below, up_to
        is_strange = below == up_to  # a category that no background row has tells nothing
        return np.where(is_strange, 0, below), np.where(is_strange, len(self.keys), up_to)

    def score(self, column: np.ndarray, within: np.ndarray) -> np.ndarray:
        """Normal scores of cells, at the given points (0 to 1) of the gaps between ranks that they are in."""
        below, up_to = self.ranks(column)
        return np.asarray(scipy.special.ndtri((below + within * (up_to - below + 1)) / (len(self.keys) + 1)))

    def bounds(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Between which normal scores cells are, minus and plus infinity included."""
        below, up_to = self.ranks(column)
        n = len(self.keys) + 1
        return scipy.special.ndtri(below / n), scipy.special.ndtri((up_to + 1) / n)

    @cached_property
    def is_tied(self) -> bool:
        """Whether many rows have the same cell."""
        return bool(self.levels[1].max() >= TIED * len(self.keys))

    def at(self, scores: np.ndarray) -> np.ndarray:
        """The background's cells at normal scores."""
        n = len(self.cells)
        return np.asarray(self.cells[np.minimum((scipy.special.ndtr(scores) * n).astype(np.intp), n - 1)])

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """Where cells that are alike begin in the order, and how many there are."""
        begins = np.flatnonzero(np.append(True, self.keys[1:] != self.keys[:-1]))
        return begins, np.diff(begins, append=len(self.keys))


def orders(codes: np.ndarray, is_number: np.ndarray) -> list[np.ndarray | None]:
    """For each column of categories where each stands in a row of all, None for a column of numbers.

    Categories have no order of their own. They are put in that of their mean along the direction in which all columns
    together vary most (the first component of ranks and indicators), so that what goes together stands together.
    """
    if is_number.all():
        return [None] * codes.shape[1]
    direction = _direction(codes, is_number)
    return [None if number else _places(column, direction) for column, number in zip(codes.T, is_number, strict=True)]


def _direction(codes: np.ndarray, is_number: np.ndarray) -> np.ndarray:
    """Where rows stand along the first component, (n,)."""
    blocks = []
    for column, number in zip(codes.T, is_number, strict=True):
        if number:
            below, up_to = Margin.of(column).ranks(column)
            blocks.append(_standard(((below + up_to) / 2)[:, None]))
            continue
        kinds, counts = np.unique(column, return_counts=True, equal_nan=True)
        common = kinds[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
        is_in = (column[:, None] == common) | (np.isnan(column)[:, None] & np.isnan(common))
        blocks.append(_standard(is_in.astype(float)) * np.sqrt(1 - is_in.mean(axis=0)))
    Z = np.concatenate(blocks, axis=1)
    turn = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    return np.asarray(Z @ turn * np.sign(turn[np.abs(turn).argmax()]))


def _standard(columns: np.ndarray) -> np.ndarray:
    centred = columns - columns.mean(axis=0)
    size = np.sqrt((centred**2).mean(axis=0))
    return np.asarray(centred / np.where(size > 0, size, 1.0))


def _places(column: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Places of codes in the order of their mean along a direction; missing cells keep to themselves."""
    known = ~np.isnan(column)
    codes = column[known].astype(np.intp)
    counts = np.bincount(codes)
    means = np.divide(np.bincount(codes, direction[known]), counts, out=np.full(len(counts), np.inf), where=counts > 0)
    places = np.empty(len(counts))
    places[np.argsort(means, kind="stable")] = np.arange(len(counts))
    return places


def _keys(column: np.ndarray, place: np.ndarray | None) -> np.ndarray:
    """What cells are ordered by: minus infinity for missing ones."""
    is_missing = np.isnan(column)
    if place is None:
        return np.where(is_missing, -np.inf, np.maximum(column, np.finfo(float).min))
    codes = np.where(is_missing, 0, column).astype(np.intp)
    known = np.append(place, np.inf)  # a code beyond those of the background stands after all
    return np.where(is_missing, -np.inf, known[np.minimum(codes, len(place))])
