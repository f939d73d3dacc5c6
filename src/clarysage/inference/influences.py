"""Influences of background rows on values, summed over walks that drew them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Influences:
    """Of each background row that was drawn, in each group of examples, the sum of its influences and of their squares.

    Attributes
    ----------
    place : (t,) group times background rows, plus the number of the row
    total, squares : (t, L, p)
    walks : (G,) walks in each group
    gain : (G, L, p) sums of what an endless background would add
    places : groups times background rows
    drawn : background rows of a walk
    """

    place: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    walks: np.ndarray
    gain: np.ndarray
    places: int
    drawn: int

    @classmethod
    def of(
        cls, group: np.ndarray, rows: np.ndarray, influence: np.ndarray, gain: np.ndarray, shape: tuple[int, int]
    ) -> Influences:
        """Influences (n, q, L, p) of rows (n, q) on walks of examples of groups (n,), and gains (n, L, p).

        ``shape`` is how many groups and how many background rows there are.
        """
        groups, m = shape
        place = (group[:, None] * m + rows).ravel()
        order = np.argsort(place, kind="stable")
        found, starts = np.unique(place[order], return_index=True)
        values = influence.reshape(-1, *influence.shape[2:])[order]
        gains = np.zeros((groups, *gain.shape[1:]))
        np.add.at(gains, group, gain)
        if not len(order):
            return cls(found, values, values, np.zeros(groups, dtype=np.int64), gains, groups * m, rows.shape[1])
        total, squares = (np.add.reduceat(one, starts, axis=0) for one in (values, values**2))
        return cls(found, total, squares, np.bincount(group, minlength=groups), gains, groups * m, rows.shape[1])

    def spread(self) -> Influences:
        """The same with every place in it."""
        if len(self.place) == self.places:
            return self
        total, squares = (np.zeros((self.places, *self.total.shape[1:])) for _ in range(2))
        total[self.place], squares[self.place] = self.total, self.squares
        return Influences(np.arange(self.places), total, squares, self.walks, self.gain, self.places, self.drawn)

    def merged(self, other: Influences) -> Influences:
        """Both together; ``self`` may be changed, once it has a place for each row."""
        whole = self.spread()
        whole.total[other.place] += other.total
        whole.squares[other.place] += other.squares
        walks, gain = self.walks + other.walks, self.gain + other.gain
        return Influences(whole.place, whole.total, whole.squares, walks, gain, self.places, self.drawn)


@dataclass(frozen=True)
class Leaning:
    """How values lean on single background rows, and what they lack for an endless background. Adds up, like values.

    Attributes
    ----------
    rows : (m, L, p) change of the values when all weight moves to a row, times its mass
    noise : (L, p) what sampling adds to the sum of squares of these
    gain : (L, p) to be added to the values
    """

    rows: np.ndarray
    noise: np.ndarray
    gain: np.ndarray

    def plus(self, other: Leaning) -> Leaning:
        """That of the sum of two sets of values."""
        return Leaning(self.rows + other.rows, self.noise + other.noise, self.gain + other.gain)

    def times(self, weight: float) -> Leaning:
        return Leaning(weight * self.rows, weight**2 * self.noise, weight * self.gain)


def leaning(found: Influences, sizes: np.ndarray) -> Leaning:
    r"""What the influences are for all examples, of which ``sizes`` (G,) are in each group.

    A walk draws row k with mass w_k on average q w_k times, so with U its influence on a walk, V walks in a group of N
    examples, and sums over them,

    .. math:: w_k \psi_k = \sum_g \frac{N_g}{q V_g} \sum U, \qquad
        \widehat{noise}_k = \sum_g \Big(\frac{N_g}{q V_g}\Big)^2 \frac{V_g}{V_g - 1}
        \Big(\sum U^2 - (\sum U)^2 / V_g\Big)
    """
    whole = found.spread()
    total, squares = (one.reshape(len(sizes), -1, *one.shape[1:]) for one in (whole.total, whole.squares))
    walks = np.maximum(found.walks, 1)
    factor = sizes / (found.drawn * walks)
    beside = factor**2 * walks / np.maximum(walks - 1, 1)
    noise = np.einsum("g,gmlp->lp", beside, squares) - np.einsum("g,gmlp->lp", beside / walks, total**2)
    gain = np.tensordot(sizes / walks, found.gain, axes=1)
    return Leaning(np.tensordot(factor, total, axes=1), noise, gain)
