"""Few of the background rows, drawn for each walk: simply, or one from each stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BackgroundDraws:
    """Draws of ``rows`` of the m background rows of mass w_k, such that a plain mean over them is unbiased.

    Without ``ranked`` a draw is simple: without replacement, or with it where masses differ. With ``ranked`` (c, m),
    the background in the order of a key for each of c kinds of examples, one row comes from each of as many strata of
    equal mass along that order: their mean scatters less, the more so the better the key tells predictions apart.

    Examples
    --------
    >>> everything = BackgroundDraws(3, np.full(3, 1 / 3))
    >>> everything.draw(np.zeros(1, dtype=int), np.random.default_rng(0))
    array([[0, 1, 2]])
    """

    rows: int
    mass: np.ndarray
    ranked: np.ndarray | None = None

    @property
    def takes_all(self) -> bool:
        return self.rows == len(self.mass)

    @property
    def is_even(self) -> bool:
        return bool((self.mass == self.mass[0]).all())

    def draw(self, kinds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Numbers of the rows drawn for examples of the given kinds: (n,) -> (n, rows)."""
        n, m = len(kinds), len(self.mass)
        if self.takes_all:
            return np.broadcast_to(np.arange(m), (n, m))
        if self.ranked is not None:
            return self._at((np.arange(self.rows) + rng.random((n, self.rows))) / self.rows, kinds)
        return _distinct(n, self.rows, m, rng) if self.is_even else self._by_mass((n, self.rows), rng)

    def partition(self, kinds: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws that share out the background, each of them by itself a draw as above: (n,) -> (n, g, rows)."""
        n, m = len(kinds), len(self.mass)
        groups = m // self.rows
        if self.ranked is not None:
            place = rng.permuted(np.broadcast_to(np.arange(groups), (n, self.rows, groups)), axis=2)
            within = (place + rng.random(place.shape)) / groups  # one point a group in each stratum
            points = (np.arange(self.rows)[:, None] + within) / self.rows
            return np.stack([self._at(points[:, :, group], kinds) for group in range(groups)], axis=1)
        if not self.is_even:
            return self._by_mass((n, groups, self.rows), rng)
        shuffled = rng.permuted(np.broadcast_to(np.arange(m), (n, m)), axis=1)
        return shuffled[:, : groups * self.rows].reshape(n, groups, self.rows)

    def variance_of_mean(self, drawn: np.ndarray) -> np.ndarray:
        """Estimated variance over draws of the mean along axis 1 of what was drawn: (n, rows, ...) -> (n, ...)."""
        q = self.rows
        unseen = 1 - q / len(self.mass) if self.is_even or self.ranked is not None else 1.0
        if self.ranked is None:
            return np.asarray((drawn - drawn[:, :1]).var(axis=1, ddof=1) * (unseen / q))  # exactly 0 for equal numbers
        steps = np.diff(drawn, axis=1)  # rows stand in the order of their strata: neighbours stand in for a second draw
        return np.asarray((steps**2).sum(axis=1) * (unseen / (2 * q * (q - 1))))

    def _at(self, points: np.ndarray, kinds: np.ndarray) -> np.ndarray:
        """Rows at points (n, q) of [0, 1] along the summed mass, in the order of each example's kind."""
        assert self.ranked is not None
        m = len(self.mass)
        if self.is_even:
            return np.asarray(self.ranked[kinds[:, None], np.minimum((points * m).astype(np.intp), m - 1)])
        found = np.empty(points.shape, dtype=np.intp)
        for kind in np.unique(kinds):
            order = self.ranked[kind]
            summed = np.cumsum(self.mass[order])
            place = np.searchsorted(summed / summed[-1], points[kinds == kind], side="right")
            found[kinds == kind] = order[np.minimum(place, m - 1)]
        return found

    def _by_mass(self, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        summed = np.cumsum(self.mass)
        place = np.searchsorted(summed / summed[-1], rng.random(shape), side="right")
        return np.minimum(place, len(self.mass) - 1)


def _distinct(n: int, q: int, m: int, rng: np.random.Generator) -> np.ndarray:
    """n uniform subsets of q of the numbers below m, (n, q), each grown one number at a time (Floyd)."""
    found = np.empty((n, q), dtype=np.intp)
    for place, last in enumerate(range(m - q, m)):
        number = rng.integers(last + 1, size=n)
        is_taken = (found[:, :place] == number[:, None]).any(axis=1)
        found[:, place] = np.where(is_taken, last, number)
    return found
