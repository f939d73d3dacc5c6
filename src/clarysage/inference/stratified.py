r"""Stratified sampling: moments of the visits to each stratum, and the stratified estimate of a sum over all examples.

A stratum of the finest level, here called a cell, is one example, or a few neighbours of similar totals where there are
very many examples. Running means and sums of squares of each cell are updated by pairwise merging (Welford 1962; Chan,
Golub & LeVeque 1983). With n_c visits to cell c of N_c examples, of mean e_c and variance s_c^2, the stratified
estimate of the sum is (Cochran 1977, ch. 5)

.. math:: \hat\phi = \sum_c N_c e_c, \qquad \widehat{Var} = \sum_c N_c^2 s_c^2 / n_c

Where each cell is one example, differences between examples do not contribute to the variance, since all examples have
been visited. Cells with fewer than two visits are collapsed into the larger strata that they belong to (Cochran 1977,
Sec. 5A.12).

References
----------
B. P. Welford (1962). Note on a method for calculating corrected sums of squares and products. Technometrics 4, 419-420.
T. F. Chan, G. H. Golub, R. J. LeVeque (1983). Algorithms for computing the sample variance: analysis and
recommendations. The American Statistician 37, 242-247.
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, satterthwaite, satterthwaite_term
from clarysage.inference.moments import FULL_COVARIANCE

FAIR_START = 64  # visits to a simple random sample of examples at the start, so that even a short run is unbiased
TOP = 0  # number of the stratum of examples that are all visited next


@dataclass(frozen=True)
class StratifiedMoments:
    """Moments of the visits to each cell.

    Attributes
    ----------
    cell : (c,) numbers of the visited cells
    count : (c,) numbers of visits
    mean, squares : (c, L, p) means and sums of squared deviations
    weighting : (2, c) weights of a cell's deviations in ``scatter``: equal during the first two passes, and inversely
        proportional to the numbers of visits afterwards
    scatter : (2, L, p, p) sums of products of deviations within cells, in both weightings; None where there are very
        many players
    """

    cell: np.ndarray
    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    weighting: np.ndarray
    scatter: np.ndarray | None

    @classmethod
    def of(cls, cells: np.ndarray, values: np.ndarray, weighting: np.ndarray) -> StratifiedMoments:
        """Returns moments of values (n, L, p) of visits to cells (n,); ``weighting`` (2, C) is that of all cells."""
        order = np.argsort(cells, kind="stable")
        cell, starts, count = np.unique(cells[order], return_index=True, return_counts=True)
        by_cell = values[order]
        mean = np.add.reduceat(by_cell, starts, axis=0) / count[:, None, None]
        deviations = by_cell - np.repeat(mean, count, axis=0)
        squares = np.add.reduceat(deviations**2, starts, axis=0)
        has_scatter = values.shape[2] <= FULL_COVARIANCE
        scatter = _weighted_scatter(deviations, weighting[:, cells[order]]) if has_scatter else None
        return cls(cell, count, mean, squares, weighting[:, cell], scatter)

    def dense(self, cells: int) -> StratifiedMoments:
        """Returns the moments with an entry for each of a number of cells, zero for cells that were not visited."""
        if len(self.count) == cells:
            return self
        count = np.zeros(cells, dtype=np.int64)
        mean, squares = (np.zeros((cells, *self.mean.shape[1:])) for _ in range(2))
        count[self.cell], mean[self.cell], squares[self.cell] = self.count, self.mean, self.squares
        scatter = None if self.scatter is None else self.scatter.copy()
        weighting = np.zeros((2, cells))
        weighting[:, self.cell] = self.weighting
        return StratifiedMoments(np.arange(cells), count, mean, squares, weighting, scatter)

    def add(self, other: StratifiedMoments) -> None:
        """Merges other visits into these, in place; requires that these have an entry for each cell."""
        at, more = other.cell, other.count
        before = self.count[at]
        after = before + more
        shift = other.mean - self.mean[at]
        pull = (before * more / after)[:, None, None]
        self.mean[at] += shift * (more / after)[:, None, None]
        self.squares[at] += other.squares + shift**2 * pull
        self.count[at] = after
        if self.scatter is not None and other.scatter is not None:
            between = _weighted_scatter(shift * np.sqrt(pull), other.weighting)
            np.add(self.scatter, other.scatter + between, out=self.scatter)


def estimated_sum(visits: StratifiedMoments, size: np.ndarray, stratum: np.ndarray) -> Estimated:
    """Returns the stratified estimate of the sum over all examples, from visits to cells of ``size`` (C,) examples.

    The cells of a ``stratum`` (C,) in which some cell has fewer than two visits are collapsed: the variance then
    includes differences between examples, and is conservative. Degrees of freedom are Satterthwaite's.
    """
    shape = visits.mean.shape[1:]
    values, variance, terms = (np.zeros(shape) for _ in range(3))
    scatter = None if visits.scatter is None else visits.scatter[int(visits.count.max() > 2)].copy()
    for cells in _collapsed(visits.count, stratum):
        n, N, mean, squares = visits.count[cells], size[cells], visits.mean[cells], visits.squares[cells]
        if (n >= 2).all():
            by_cell = squares * (N**2 / (n * (n - 1)))[:, None, None]
            variance += by_cell.sum(axis=0)
            terms += satterthwaite_term(by_cell, (n - 1)[:, None, None]).sum(axis=0)
            values += np.tensordot(N, mean, axes=1)
            continue
        overall = np.tensordot(n / n.sum(), mean, axes=1)
        deviations = (mean - overall) * np.sqrt(n)[:, None, None]
        of_one_visit = (squares.sum(axis=0) + (deviations**2).sum(axis=0)) / (n.sum() - 1)
        is_seen = bool((n > 0).all())
        collapsed = of_one_visit * ((N**2 / n).sum() if is_seen else N.sum() ** 2 / n.sum())
        variance += collapsed
        terms += satterthwaite_term(collapsed, n.sum() - 1)
        values += np.tensordot(N, mean, axes=1) if is_seen else N.sum() * overall
        if scatter is not None:
            scatter += _scatter(deviations)
    dof = satterthwaite(variance, terms, unknown=max(1.0, visits.count.sum() - 1.0))
    return Estimated(values, variance if scatter is None else _with_diagonal(scatter, variance), dof)


def contributions_of(
    visits: StratifiedMoments, size: np.ndarray, stratum: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    r"""Returns contributions of cells to the sum, (C, L, p), and the variance of the sum over examples, (L, p).

    Where each cell is one example that was visited, the contributions are known and the variance returned is zero.
    Otherwise the contributions are None, and the variance is estimated from single visits, with e_v the value and w_v
    the weight of the example of visit v,

    .. math:: \sum_{pools} \frac{N}{n} \sum_v (e_v - w_v \hat\phi)^2

    This includes the variance between visits to the same example, and is conservative.
    """
    if (size == 1).all() and (visits.count > 0).all():
        return visits.mean, np.zeros(visits.mean.shape[1:])
    values = estimated_sum(visits, size, stratum).values
    between = np.zeros(values.shape)
    for cells in _collapsed(visits.count, stratum):
        n, mean = visits.count[cells], visits.mean[cells]
        deviations = mean - weights[cells][:, None, None] * values
        scatter = visits.squares[cells].sum(axis=0) + (deviations**2 * n[:, None, None]).sum(axis=0)
        between += scatter * (size[cells].sum() / max(1, n.sum()))
    return None, between


def _collapsed(count: np.ndarray, stratum: np.ndarray) -> list[slice]:
    """Returns slices of cells that are collapsed into strata: all cells at first, later those of each stratum.

    Each stratum needs two visits; otherwise only the top stratum is separate from all others. The choice depends only
    on counts of visits, to which the other strata contribute alike, so that it introduces no bias between strata.
    """
    bounds = np.flatnonzero(np.diff(stratum, prepend=-1, append=-1)).tolist()
    strata = [slice(start, end) for start, end in pairwise(bounds)]
    top_and_others = [strata[0], slice(bounds[1], bounds[-1])] if stratum[0] == TOP and len(strata) > 1 else strata
    all_cells = [slice(0, len(stratum))]
    choices = (strata, top_and_others) if count.sum() > FAIR_START else ()
    return next((pools for pools in choices if all(count[part].sum() >= 2 for part in pools)), all_cells)


def _weighted_scatter(deviations: np.ndarray, weighting: np.ndarray) -> np.ndarray:
    """Returns sums of products (2, L, p, p) of deviations (n, L, p) in two weightings (2, n)."""
    return np.stack([_scatter(deviations * np.sqrt(weights)[:, None, None]) for weights in weighting])


def _scatter(deviations: np.ndarray) -> np.ndarray:
    """Returns sums of products (L, p, p) of deviations (n, L, p)."""
    by_loss = deviations.transpose(1, 0, 2)
    return np.asarray(by_loss.transpose(0, 2, 1) @ by_loss)


def _with_diagonal(scatter: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Returns scatter matrices (L, p, p) scaled so that their diagonals are the given variances (L, p)."""
    diagonal = np.einsum("lii->li", scatter)
    factor = np.sqrt(np.divide(variance, diagonal, out=np.zeros_like(variance), where=diagonal > 0))
    scaled = scatter * factor[:, :, None] * factor[:, None, :]
    at = np.arange(variance.shape[1])
    scaled[:, at, at] = variance
    return np.asarray(scaled)
