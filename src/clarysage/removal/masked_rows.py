"""Rows with cells withheld at random, as a regressor sees them: what is left of each, and a mark for what is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MaskedRows:
    """Copies of background rows: ``row`` (c,) is the one that each is of, ``kept`` (c, d) the columns left to it.

    Sizes of coalitions are uniform over 1, ..., d - 1, and coalitions uniform among those of a size.

    Examples
    --------
    >>> copies = MaskedRows.drawn(np.full(4, 0.25), 8, 3, np.random.default_rng(0))
    >>> np.bincount(copies.row)
    array([2, 2, 2, 2])
    """

    row: np.ndarray
    kept: np.ndarray

    @classmethod
    def drawn(
        cls, mass: np.ndarray, count: int, columns: int, rng: np.random.Generator, *, least: np.ndarray | int = 0
    ) -> MaskedRows:
        """So many copies, shared out among rows by their mass, but at least so many of each, (m,) or the same."""
        shared = np.diff(np.floor(np.cumsum(np.concatenate([[rng.random()], count * mass])))).astype(int)
        row = np.repeat(np.arange(len(mass)), np.maximum(shared, least))
        size = rng.integers(1, columns, size=len(row))
        rank = np.argsort(rng.random((len(row), columns)), axis=1)
        return cls(row, np.argsort(rank, axis=1) < size[:, None])

    def weights(self, mass: np.ndarray) -> np.ndarray:
        """Weights (c,), one on average, by which the copies of each row count together as its mass."""
        share = mass[self.row] / np.bincount(self.row, minlength=len(mass))[self.row]
        return np.asarray(share / share.mean())


def as_seen(codes: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Cells (n, d) with those withheld missing, beside marks of the kept ones: (n, 2 d)."""
    return np.hstack([np.where(kept, codes, np.nan), kept])
