r"""Empirical influence functions of values with respect to the background rows, and their sampling noise.

A value is a functional T of the distribution B of the background, which is known by a sample of m rows of weights w_k.
Its influence function (Hampel 1974) at a row b is the Gateaux derivative of T when weight moves to b,

.. math:: \psi(b) = \frac{d}{dt} T((1 - t) B + t \delta_b) \Big|_{t = 0}

and the sum of squares of w_k psi_k estimates the variance of T over samples of the background (the infinitesimal
jackknife: Jaeckel 1972; Efron & Tibshirani 1993, ch. 21). Influences on payoffs are accumulated over walks here; they
are computed in :mod:`clarysage.games.payoff_influence`. Walks that draw a few rows each give noisy influences. The
variance of the noise is estimated as well, so that it can be subtracted from the sum of squares (the Monte Carlo
bias correction of the infinitesimal jackknife: Wager, Hastie & Efron 2014).

References
----------
F. R. Hampel (1974). The influence curve and its role in robust estimation. JASA 69, 383-393.
L. A. Jaeckel (1972). The infinitesimal jackknife. Bell Laboratories Memorandum MM 72-1215-11.
B. Efron, R. J. Tibshirani (1993). An Introduction to the Bootstrap. Chapman & Hall.
S. Wager, T. Hastie, B. Efron (2014). Confidence intervals for random forests: the jackknife and the infinitesimal
jackknife. JMLR 15, 1625-1651.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class InfluenceSums:
    """Sums of influences, and of their squares, for each drawn background row in each stratum (group) of examples.

    Attributes
    ----------
    index : (t,) number of the group times number of background rows, plus the number of the row
    total, squares : (t, L, p) the sums
    walks : (G,) number of walks in each group
    correction, correction_squares : (G, L, p) sums of corrections for the finite background, and of their squares
    size : number of groups times number of background rows
    rows_per_walk : number of background rows that a walk draws
    """

    index: np.ndarray
    total: np.ndarray
    squares: np.ndarray
    walks: np.ndarray
    correction: np.ndarray
    correction_squares: np.ndarray
    size: int
    rows_per_walk: int

    @classmethod
    def of(
        cls, group: np.ndarray, rows: np.ndarray, influence: np.ndarray, correction: np.ndarray, shape: tuple[int, int]
    ) -> InfluenceSums:
        """Sums influences (n, q, L, p) of rows (n, q) on walks of examples of groups (n,), and corrections (n, L, p).

        ``shape`` is the number of groups and the number of background rows.
        """
        groups, m = shape
        index = (group[:, None] * m + rows).ravel()
        order = np.argsort(index, kind="stable")
        distinct, starts = np.unique(index[order], return_index=True)
        values = influence.reshape(-1, *influence.shape[2:])[order]
        corrections, correction_squares = (np.zeros((groups, *correction.shape[1:])) for _ in range(2))
        np.add.at(corrections, group, correction)
        np.add.at(correction_squares, group, correction**2)
        total, squares = (np.add.reduceat(terms, starts, axis=0) for terms in (values, values**2))
        walks = np.bincount(group, minlength=groups)
        return cls(distinct, total, squares, walks, corrections, correction_squares, groups * m, rows.shape[1])

    def dense(self) -> InfluenceSums:
        """Returns the sums with an entry for every group and row, zero for rows that were never drawn."""
        if len(self.index) == self.size:
            return self
        total, squares = (np.zeros((self.size, *self.total.shape[1:])) for _ in range(2))
        total[self.index], squares[self.index] = self.total, self.squares
        return replace(self, index=np.arange(self.size), total=total, squares=squares)

    def merge(self, other: InfluenceSums) -> InfluenceSums:
        """Returns sums over both sets of walks; if ``self`` is dense, its arrays are overwritten."""
        both = self.dense()
        both.total[other.index] += other.total
        both.squares[other.index] += other.squares
        return replace(
            both,
            walks=self.walks + other.walks,
            correction=self.correction + other.correction,
            correction_squares=self.correction_squares + other.correction_squares,
        )

    def over_all_examples(self, sizes: np.ndarray) -> BackgroundInfluence:
        r"""Returns the influences on the values of all examples, with ``sizes`` (G,) of the groups.

        A walk draws row k of weight w_k on average q w_k times. With U its influence on a walk, and V walks in a group
        of N examples, the stratified estimates are

        .. math:: w_k \psi_k = \sum_g \frac{N_g}{q V_g} \sum U, \qquad
            \widehat{noise}_k = \sum_g \Big(\frac{N_g}{q V_g}\Big)^2 \frac{V_g}{V_g - 1}
            \Big(\sum U^2 - (\sum U)^2 / V_g\Big)
        """
        dense = self.dense()
        total, squares = (sums.reshape(len(sizes), -1, *sums.shape[1:]) for sums in (dense.total, dense.squares))
        walks = np.maximum(self.walks, 1)
        factor = sizes / (self.rows_per_walk * walks)
        unbiased = factor**2 * walks / np.maximum(walks - 1, 1)
        noise = np.einsum("g,gmlp->lp", unbiased, squares) - np.einsum("g,gmlp->lp", unbiased / walks, total**2)
        correction = np.tensordot(sizes / walks, self.correction, axes=1)
        scatter = self.correction_squares - self.correction**2 / walks[:, None, None]
        correction_variance = np.tensordot(sizes**2 / (walks * np.maximum(walks - 1, 1)), scatter, axes=1)
        return BackgroundInfluence(np.tensordot(factor, total, axes=1), noise, correction, correction_variance)


@dataclass(frozen=True)
class BackgroundInfluence:
    """Empirical influence of single background rows on values, and the correction for a finite background.

    Influences are linear in the game, as values are, so that they add up where values do.

    Attributes
    ----------
    rows : (m, L, p) influence of each row on the values, times the row's weight
    noise : (L, p) expected contribution of sampling noise to the sum of squares of ``rows``
    correction, correction_variance : (L, p) the correction of the values towards an infinite background, and its
        sampling variance
    """

    rows: np.ndarray
    noise: np.ndarray
    correction: np.ndarray
    correction_variance: np.ndarray

    def plus(self, other: BackgroundInfluence) -> BackgroundInfluence:
        """Returns the influence on a sum of values, which is the sum of the influences."""
        return BackgroundInfluence(
            self.rows + other.rows,
            self.noise + other.noise,
            self.correction + other.correction,
            self.correction_variance + other.correction_variance,
        )

    def times(self, weight: float) -> BackgroundInfluence:
        """Returns the influence on the values times a number."""
        return BackgroundInfluence(
            weight * self.rows, weight**2 * self.noise, weight * self.correction, weight**2 * self.correction_variance
        )
