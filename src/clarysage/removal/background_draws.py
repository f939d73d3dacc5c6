"""Subsamples of the background: simple random samples, or stratified ones with one row from each stratum.

Variances of their means are those of sampling from a finite population (Cochran, Sampling techniques, 1977, chs. 2, 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BackgroundDraws:
    """Draws of ``rows`` of the m background rows of weights w_k, such that a plain mean over them is unbiased.

    Without ``ranked`` a draw is simple: without replacement, or with it where masses differ. With ``ranked`` (c, m),
    the background in the order of a key for each of c kinds of examples, one row comes from each of as many strata of
    equal weights along that order: their mean scatters less, the more so the better the key tells predictions apart.

    Examples that are background rows themselves may be given with the number of that row as ``self_match`` (n,), -1 for
    others: it is then not drawn for them, unless all rows are.

    Examples
    --------
    >>> everything = BackgroundDraws(3, np.full(3, 1 / 3))
    >>> everything.draw(np.zeros(1, dtype=int), np.random.default_rng(0))
    array([[0, 1, 2]])
    """

    rows: int
    weights: np.ndarray
    ranked: np.ndarray | None = None

    @property
    def takes_all(self) -> bool:
        return self.rows == len(self.weights)

    @property
    def is_even(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    def draw(self, kinds: np.ndarray, rng: np.random.Generator, self_match: np.ndarray | None = None) -> np.ndarray:
        """Numbers of the rows drawn for examples of the given kinds: (n,) -> (n, rows)."""
        n, m = len(kinds), len(self.weights)
        if self.takes_all:
            return np.broadcast_to(np.arange(m), (n, m))
        if self.ranked is not None:
            return self._at((np.arange(self.rows) + rng.random((n, self.rows))) / self.rows, kinds, self_match)
        if not self.is_even:
            return self._at(rng.random((n, self.rows)), kinds, self_match)
        return _beside(_distinct(n, self.rows, self.left(self_match), rng), self_match)

    def partition(
        self, kinds: np.ndarray, rng: np.random.Generator, self_match: np.ndarray | None = None
    ) -> np.ndarray:
        """Draws that share out the background, each of them by itself a draw as above: (n,) -> (n, g, rows)."""
        n, m = len(kinds), len(self.weights)
        groups = (m - (self_match is not None)) // self.rows
        if self.ranked is not None:
            place = rng.permuted(np.broadcast_to(np.arange(groups), (n, self.rows, groups)), axis=2)
            within = (place + rng.random(place.shape)) / groups  # one point a group in each stratum
            points = (np.arange(self.rows)[:, None] + within) / self.rows
            return np.stack([self._at(points[:, :, group], kinds, self_match) for group in range(groups)], axis=1)
        if not self.is_even:
            points = rng.random((n, groups, self.rows)).reshape(n, -1)
            return self._at(points, kinds, self_match).reshape(n, groups, self.rows)
        shuffled = rng.permuted(np.broadcast_to(np.arange(m), (n, m)), axis=1)
        if self_match is not None:  # to the end with it, where no group is
            last = np.argsort(shuffled == self_match[:, None], axis=1, kind="stable")
            shuffled = np.take_along_axis(shuffled, last, axis=1)
        return shuffled[:, : groups * self.rows].reshape(n, groups, self.rows)

    def left(self, self_match: np.ndarray | None) -> Any:
        """Rows that may be drawn: for each example (n,) where some have a row of their self_match."""
        return len(self.weights) if self_match is None else len(self.weights) - (self_match >= 0)

    def variance_of_mean(self, drawn: np.ndarray, self_match: np.ndarray | None = None) -> np.ndarray:
        """Estimated variance over draws of the mean along axis 1 of what was drawn: (n, rows, ...) -> (n, ...)."""
        q = self.rows
        is_finite = self.is_even or self.ranked is not None
        unseen = np.asarray(1 - q / self.left(self_match) if is_finite else 1.0).reshape(-1, *[1] * (drawn.ndim - 2))
        if self.ranked is None:
            return np.asarray((drawn - drawn[:, :1]).var(axis=1, ddof=1) * (unseen / q))  # exactly 0 for equal numbers
        steps = np.diff(drawn, axis=1)  # rows stand in the order of their strata: neighbours stand in for a second draw
        return np.asarray((steps**2).sum(axis=1) * (unseen / (2 * q * (q - 1))))

    def concentration(self, self_match: np.ndarray | None) -> Any:
        """Sum of squared weights, without the self-match: 1 / m where all weigh the same; (n,) where some have one."""
        whole = float((self.weights**2).sum())
        if self_match is None:
            return whole
        mine = np.where(self_match >= 0, self.weights[self_match], 0.0)
        return (whole - mine**2) / (1 - mine) ** 2

    def variance_by_sampling(self, drawn: np.ndarray, self_match: np.ndarray | None = None) -> np.ndarray:
        """Estimated variance of the mean over the whole background that comes from its rows being a sample.

        (n, rows, ...) -> (n, ...); where all rows are drawn the self_match one has no part in it.
        """
        shape = (-1, *[1] * (drawn.ndim - 2))
        share = np.asarray(self.concentration(self_match)).reshape(shape)
        if self.takes_all:
            return np.asarray(self._variance(drawn, self_match) * by_sampling(share))
        centred = drawn - drawn[:, :1]
        if self.ranked is not None:
            return np.asarray((centred.var(axis=1) + self.variance_of_mean(drawn, self_match)) * share)
        return np.asarray(centred.var(axis=1, ddof=1) * (share if self.is_even else by_sampling(share)))

    def _variance(self, values: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
        """Variance of values (n, m, ...) of all rows, by weights, without the self_match one."""
        weights = np.broadcast_to(self.weights, values.shape[:2]).copy()
        if self_match is not None:
            weights[np.flatnonzero(self_match >= 0), self_match[self_match >= 0]] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        centred = values - values[:, :1]
        mean = np.einsum("nm,nm...->n...", weights, centred)
        return np.asarray(np.einsum("nm,nm...->n...", weights, (centred - mean[:, None]) ** 2))

    @cached_property
    def _places(self) -> np.ndarray:
        """Where each row stands in the order of each kind, (c, m)."""
        assert self.ranked is not None
        return np.argsort(self.ranked, axis=1, kind="stable")

    def _at(self, points: np.ndarray, kinds: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
        """Rows at quantile levels (n, q) of the weights of all but the self-match, in the order of each kind."""
        m = len(self.weights)
        if self.is_even:
            assert self.ranked is not None
            left = m if self_match is None else self.left(self_match)[:, None]
            place = np.minimum((points * left).astype(np.intp), left - 1)
            if self_match is not None:
                place = _beside(place, np.where(self_match >= 0, self._places[kinds, self_match], -1))
            return np.asarray(self.ranked[kinds[:, None], place])
        found = np.empty(points.shape, dtype=np.intp)
        for kind in np.unique(kinds):
            is_kind = kinds == kind
            order = np.arange(m) if self.ranked is None else self.ranked[kind]
            mine = None if self_match is None else self_match[is_kind]
            found[is_kind] = _along(self.weights[order], order, points[is_kind], mine)
        return found


def by_sampling(concentration: np.ndarray) -> np.ndarray:
    """The variance of a mean over independent rows, as a share of their variance: 1 / (m - 1) if equal.

    Zero for one row alone, of whose variance nothing is known.
    """
    left = 1 - np.asarray(concentration)
    return np.asarray(np.divide(concentration, left, out=np.zeros_like(left), where=left > 0))


def _along(weights: np.ndarray, order: np.ndarray, points: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
    """Rows in the given order at quantile levels (n, q) of their weights, the self-match of each example left out."""
    summed = np.cumsum(weights)
    ends = summed / summed[-1]
    if self_match is None:
        return np.asarray(order[np.minimum(np.searchsorted(ends, points, side="right"), len(weights) - 1)])
    has = (self_match >= 0)[:, None]
    place = np.argsort(order)[self_match][:, None]
    end = ends[place]
    start = np.where(place > 0, ends[place - 1], 0.0)
    width = np.where(has, end - start, 0.0)
    moved = points * (1 - width)
    moved = np.where(has & (moved >= start), moved + width, moved)
    found = np.minimum(np.searchsorted(ends, moved, side="right"), len(weights) - 1)
    beside = np.where(found > 0, found - 1, found + 1)  # where rounding leads to the self_match row after all
    return np.asarray(order[np.where(has & (found == place), beside, found)])


def _beside(numbers: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
    """Numbers (n, ...), those from ``self_match`` (n,) on moved up by one; -1 and None leave them as they are."""
    if self_match is None:
        return numbers
    mine = self_match.reshape(-1, *[1] * (numbers.ndim - 1))
    return np.asarray(numbers + ((numbers >= mine) & (mine >= 0)))


def _distinct(n: int, q: int, m: Any, rng: np.random.Generator) -> np.ndarray:
    """n uniform subsets of q of the numbers below m, (n, q), each grown one number at a time (Floyd)."""
    found = np.empty((n, q), dtype=np.intp)
    for place in range(q):
        last = m - q + place
        number = rng.integers(last + 1, size=n)
        is_taken = (found[:, :place] == number[:, None]).any(axis=1)
        found[:, place] = np.where(is_taken, last, number)
    return found


def at_levels(weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Numbers of rows at quantile levels (...) of their weights (m,), each with the probability of its weight.

    Examples
    --------
    >>> at_levels(np.array([0.5, 0.25, 0.25]), np.array([0.1, 0.49, 0.5, 0.99]))
    array([0, 0, 1, 2])
    """
    ends = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(ends, levels * ends[-1], side="right"), len(weights) - 1))
