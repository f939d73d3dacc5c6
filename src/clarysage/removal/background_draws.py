"""Subsamples of the background: simple random samples, or stratified ones with one row from each stratum.

Variances of their means are those of sampling from a finite population (Cochran 1977, chs. 2, 5). Where each stratum
has one row, they are estimated by successive differences (Wolter 2007, ch. 8).

References
----------
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
K. M. Wolter (2007). Introduction to Variance Estimation, 2nd edition. Springer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class BackgroundDraws:
    """Draws of ``rows`` of the m background rows of weights w_k, such that a plain mean over them is unbiased.

    Without ``ranked`` a draw is a simple random sample: without replacement, or with it if weights differ. With
    ``ranked`` (c, m), the background rows sorted by a key for each of c classes of examples, one row is drawn from each
    of ``rows`` strata of equal weight along that order: the better the key predicts f, the smaller the variance of the
    mean.

    For examples that are background rows themselves, ``self_match`` (n,) gives the number of that row, -1 for others:
    it is then not drawn for them, unless all rows are.

    Examples
    --------
    >>> everything = BackgroundDraws(3, np.full(3, 1 / 3))
    >>> everything.draw(np.zeros(1, dtype=int), np.random.default_rng(0))
    array([[0, 1, 2]])
    """

    rows: int
    weights: np.ndarray
    ranked: np.ndarray | None = None

    @cached_property
    def uses_all_rows(self) -> bool:
        return self.rows == len(self.weights)

    @cached_property
    def has_equal_weights(self) -> bool:
        return bool((self.weights == self.weights[0]).all())

    def draw(self, class_of: np.ndarray, rng: np.random.Generator, self_match: np.ndarray | None = None) -> np.ndarray:
        """Draws row numbers for examples of the given classes: (n,) -> (n, rows)."""
        n, m = len(class_of), len(self.weights)
        if self.uses_all_rows:
            return np.broadcast_to(np.arange(m), (n, m))
        if self.ranked is not None:
            return self._at_levels(
                (np.arange(self.rows) + rng.random((n, self.rows))) / self.rows, class_of, self_match
            )
        if not self.has_equal_weights:
            return self._at_levels(rng.random((n, self.rows)), class_of, self_match)
        return _skip(_subsets(n, self.rows, self.population_size(self_match), rng), self_match)

    def partition(
        self, class_of: np.ndarray, rng: np.random.Generator, self_match: np.ndarray | None = None
    ) -> np.ndarray:
        """Divides the background into g draws, each distributed as one of :meth:`draw`: (n,) -> (n, g, rows)."""
        n, m = len(class_of), len(self.weights)
        groups = (m - (self_match is not None)) // self.rows
        if self.ranked is not None:
            cell = rng.permuted(np.broadcast_to(np.arange(groups), (n, self.rows, groups)), axis=2)
            within = (cell + rng.random(cell.shape)) / groups  # one level for each group in each stratum
            levels = ((np.arange(self.rows)[:, None] + within) / self.rows).transpose(0, 2, 1)
            return self._at_levels(levels.reshape(n, -1), class_of, self_match).reshape(n, groups, self.rows)
        if not self.has_equal_weights:
            levels = rng.random((n, groups, self.rows)).reshape(n, -1)
            return self._at_levels(levels, class_of, self_match).reshape(n, groups, self.rows)
        shuffled = rng.permuted(np.broadcast_to(np.arange(m), (n, m)), axis=1)
        if self_match is not None:  # moved to the end, which no group takes
            last = np.argsort(shuffled == self_match[:, None], axis=1, kind="stable")
            shuffled = np.take_along_axis(shuffled, last, axis=1)
        return shuffled[:, : groups * self.rows].reshape(n, groups, self.rows)

    def population_size(self, self_match: np.ndarray | None) -> Any:
        """Returns how many rows may be drawn: m, or (n,) where some examples have a self-match."""
        return len(self.weights) if self_match is None else len(self.weights) - (self_match >= 0)

    def variance_of_mean(self, drawn: np.ndarray, self_match: np.ndarray | None = None) -> np.ndarray:
        """Estimates the variance over draws of the mean over axis 1 of drawn values: (n, rows, ...) -> (n, ...)."""
        q = self.rows
        is_finite = self.has_equal_weights or self.ranked is not None
        correction = 1 - q / self.population_size(self_match) if is_finite else 1.0  # finite population correction
        correction = np.asarray(correction).reshape(-1, *[1] * (drawn.ndim - 2))
        if self.ranked is None:
            variance = (drawn - drawn[:, :1]).var(axis=1, ddof=1)  # exactly 0 for equal numbers
            return np.asarray(variance * (correction / q))
        # one row in each stratum: differences between neighbouring strata replace a second draw in each
        steps = np.diff(drawn, axis=1)
        return np.asarray((steps**2).sum(axis=1) * (correction / (2 * q * (q - 1))))

    def concentration(self, self_match: np.ndarray | None) -> Any:
        """Returns the sum of squared weights without the self-match: 1 / m if equal; (n,) where some have a match."""
        total = float((self.weights**2).sum())
        if self_match is None:
            return total
        weight = np.where(self_match >= 0, self.weights[self_match], 0.0)
        return (total - weight**2) / (1 - weight) ** 2

    def sampling_variance(self, drawn: np.ndarray, self_match: np.ndarray | None = None) -> np.ndarray:
        """Estimates the variance of the mean over the full background, as an independent sample of a population.

        (n, rows, ...) -> (n, ...); if all rows are drawn, the self-match is left out.
        """
        shape = (-1, *[1] * (drawn.ndim - 2))
        concentration = np.asarray(self.concentration(self_match)).reshape(shape)
        if self.uses_all_rows:
            return np.asarray(self._variance(drawn, self_match) * variance_factor(concentration))
        centred = drawn - drawn[:, :1]
        if self.ranked is not None:
            return np.asarray((centred.var(axis=1) + self.variance_of_mean(drawn, self_match)) * concentration)
        factor = concentration if self.has_equal_weights else variance_factor(concentration)
        return np.asarray(centred.var(axis=1, ddof=1) * factor)

    def _variance(self, values: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
        """Returns the weighted variance of values (n, m, ...) of all rows but the self-match."""
        weights = np.broadcast_to(self.weights, values.shape[:2]).copy()
        if self_match is not None:
            weights[np.flatnonzero(self_match >= 0), self_match[self_match >= 0]] = 0.0
        weights /= weights.sum(axis=1, keepdims=True)
        centred = values - values[:, :1]
        mean = np.einsum("nm,nm...->n...", weights, centred)
        return np.asarray(np.einsum("nm,nm...->n...", weights, (centred - mean[:, None]) ** 2))

    @cached_property
    def _ranks(self) -> np.ndarray:
        """Ranks of the rows in the order of each class, (c, m)."""
        assert self.ranked is not None
        return np.argsort(self.ranked, axis=1, kind="stable")

    def _at_levels(self, levels: np.ndarray, class_of: np.ndarray, self_match: np.ndarray | None) -> np.ndarray:
        """Returns the rows at quantile levels (n, q) of all weights but the self-match's, in the order of a class."""
        m = len(self.weights)
        if self.has_equal_weights:
            assert self.ranked is not None
            count = m if self_match is None else self.population_size(self_match)[:, None]
            rank = np.minimum((levels * count).astype(np.intp), count - 1)
            if self_match is not None:
                rank = _skip(rank, np.where(self_match >= 0, self._ranks[class_of, self_match], -1))
            return np.asarray(self.ranked[class_of[:, None], rank])
        rows = np.empty(levels.shape, dtype=np.intp)
        for number in np.unique(class_of):
            is_in_class = class_of == number
            order = np.arange(m) if self.ranked is None else self.ranked[number]
            match = None if self_match is None else self_match[is_in_class]
            rows[is_in_class] = _inverse_cdf_without(self.weights[order], order, levels[is_in_class], match)
        return rows


def variance_factor(concentration: np.ndarray) -> np.ndarray:
    """Returns the variance of a weighted mean over independent rows, as a share of their variance.

    It is C / (1 - C) for a sum C of squared weights: 1 / (m - 1) for m equal weights. It is zero for a single row,
    whose variance cannot be estimated.
    """
    complement = 1 - np.asarray(concentration)
    return np.asarray(np.divide(concentration, complement, out=np.zeros_like(complement), where=complement > 0))


def inverse_cdf(weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Returns the numbers of the rows at quantile levels (...) of their weights (m,).

    Uniform levels thus draw each row with the probability of its weight.

    Examples
    --------
    >>> inverse_cdf(np.array([0.5, 0.25, 0.25]), np.array([0.1, 0.49, 0.5, 0.99]))
    array([0, 0, 1, 2])
    """
    ends = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(ends, levels * ends[-1], side="right"), len(weights) - 1))


def _inverse_cdf_without(
    weights: np.ndarray, order: np.ndarray, levels: np.ndarray, self_match: np.ndarray | None
) -> np.ndarray:
    """Returns the rows at quantile levels (n, q) of weights in a given order, without each example's self-match."""
    summed = np.cumsum(weights)
    ends = summed / summed[-1]
    if self_match is None:
        return np.asarray(order[np.minimum(np.searchsorted(ends, levels, side="right"), len(weights) - 1)])
    has_match = (self_match >= 0)[:, None]
    rank = np.argsort(order)[self_match][:, None]
    end = ends[rank]
    start = np.where(rank > 0, ends[rank - 1], 0.0)
    width = np.where(has_match, end - start, 0.0)
    levels_without = levels * (1 - width)
    levels_without = np.where(has_match & (levels_without >= start), levels_without + width, levels_without)
    drawn = np.minimum(np.searchsorted(ends, levels_without, side="right"), len(weights) - 1)
    neighbour = np.where(drawn > 0, drawn - 1, drawn + 1)  # where rounding leads to the self-match all the same
    return np.asarray(order[np.where(has_match & (drawn == rank), neighbour, drawn)])


def _skip(numbers: np.ndarray, skipped: np.ndarray | None) -> np.ndarray:
    """Adds one to the numbers (n, ...) from ``skipped`` (n,) on, so that it cannot occur; -1 and None skip nothing."""
    if skipped is None:
        return numbers
    first = skipped.reshape(-1, *[1] * (numbers.ndim - 1))
    return np.asarray(numbers + ((numbers >= first) & (first >= 0)))


def _subsets(n: int, q: int, m: Any, rng: np.random.Generator) -> np.ndarray:
    """Draws n uniform subsets of q of the numbers below m, (n, q), one number at a time (Floyd's algorithm)."""
    drawn = np.empty((n, q), dtype=np.intp)
    for step in range(q):
        last = m - q + step
        number = rng.integers(last + 1, size=n)
        is_taken = (drawn[:, :step] == number[:, None]).any(axis=1)
        drawn[:, step] = np.where(is_taken, last, number)
    return drawn
