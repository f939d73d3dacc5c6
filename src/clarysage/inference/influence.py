"""Influences of background rows on values, summed over walks that drew them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Influences:
    """Of each background row that was drawn, in each group of examples, the sum of its influences and of their squares.

    Attributes
    ----------
    place : (t,) group times background rows, plus the number of the row
    total, squares : (t, L, p)
    walks : (G,) walks in each group
    gain, gain_squares : (G, L, p) sums of what an endless background would add, and of the squares
    places : groups times background rows
    drawn : background rows of a walk
    """

    place: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    walks: np.ndarray
    gain: np.ndarray
    gain_squares: np.ndarray
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
        gains, gain_squares = (np.zeros((groups, *gain.shape[1:])) for _ in range(2))
        np.add.at(gains, group, gain)
        np.add.at(gain_squares, group, gain**2)
        total, squares = (np.add.reduceat(one, starts, axis=0) for one in (values, values**2))
        walks = np.bincount(group, minlength=groups)
        return cls(found, total, squares, walks, gains, gain_squares, groups * m, rows.shape[1])

    def spread(self) -> Influences:
        """The same with every place in it."""
        if len(self.place) == self.places:
            return self
        total, squares = (np.zeros((self.places, *self.total.shape[1:])) for _ in range(2))
        total[self.place], squares[self.place] = self.total, self.squares
        return replace(self, place=np.arange(self.places), total=total, squares=squares)

    def merged(self, other: Influences) -> Influences:
        """Both together; ``self`` may be changed, once it has a place for each row."""
        whole = self.spread()
        whole.total[other.place] += other.total
        whole.squares[other.place] += other.squares
        return replace(
            whole,
            walks=self.walks + other.walks,
            gain=self.gain + other.gain,
            gain_squares=self.gain_squares + other.gain_squares,
        )


@dataclass(frozen=True)
class Leaning:
    """How values lean on single background rows, and what they lack for an endless background. Adds up, like values.

    Attributes
    ----------
    rows : (m, L, p) change of the values when all weight moves to a row, times its mass
    noise : (L, p) what sampling adds to the sum of squares of these
    gain, gain_variance : (L, p) to be added to the values, and the variance that the sampling of it adds
    """

    rows: np.ndarray
    noise: np.ndarray
    gain: np.ndarray
    gain_variance: np.ndarray

    def plus(self, other: Leaning) -> Leaning:
        """That of the sum of two sets of values."""
        return Leaning(
            self.rows + other.rows,
            self.noise + other.noise,
            self.gain + other.gain,
            self.gain_variance + other.gain_variance,
        )

    def times(self, weight: float) -> Leaning:
        """That of the values, times a number."""
        return Leaning(weight * self.rows, weight**2 * self.noise, weight * self.gain, weight**2 * self.gain_variance)


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
    scatter = found.gain_squares - found.gain**2 / walks[:, None, None]
    gain_variance = np.tensordot(sizes**2 / (walks * np.maximum(walks - 1, 1)), scatter, axes=1)
    return Leaning(np.tensordot(factor, total, axes=1), noise, gain, gain_variance)
