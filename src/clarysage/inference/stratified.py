"""Moments of repeated visits to many places, and what a sum over the places is known to from them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from clarysage.inference.degrees_of_freedom import Estimated, degrees, doubt_in
from clarysage.inference.moments import FULL_COVARIANCE

FAIR_START = 64  # visits to examples drawn simply, before anything else, so that even a short run is a fair one
TOP = 0  # the stratum of examples that are all visited next


@dataclass(frozen=True)
class Visits:
    """Of each visited cell its number, count of visits, mean (L, p) and sum of squared deviations (L, p).

    ``together`` (2, L, p, p) is the scatter within cells, added up over them in two ways, with weights ``worth``
    (2, C): as is fair while no cell has had more than two visits, and after that; None where there are very many
    players.
    """

    cell: np.ndarray
    count: np.ndarray
    mean: np.ndarray
    squares: np.ndarray
    worth: np.ndarray
    together: np.ndarray | None

    @classmethod
    def of(cls, cells: np.ndarray, values: np.ndarray, worth: np.ndarray) -> Visits:
        """Visits to cells (n,) that found values (n, L, p); worth is that of every cell there is, (2, C)."""
        order = np.argsort(cells, kind="stable")
        cell, starts, count = np.unique(cells[order], return_index=True, return_counts=True)
        found = values[order]
        mean = np.add.reduceat(found, starts, axis=0) / count[:, None, None]
        off = found - np.repeat(mean, count, axis=0)
        squares = np.add.reduceat(off**2, starts, axis=0)
        is_kept = values.shape[2] <= FULL_COVARIANCE
        together = _weighted(off, worth[:, cells[order]]) if is_kept else None
        return cls(cell, count, mean, squares, worth[:, cell], together)

    def spread(self, cells: int) -> Visits:
        """The same with a place for each of so many cells."""
        count = np.zeros(cells, dtype=np.int64)
        mean, squares = (np.zeros((cells, *self.mean.shape[1:])) for _ in range(2))
        count[self.cell], mean[self.cell], squares[self.cell] = self.count, self.mean, self.squares
        together = None if self.together is None else self.together.copy()
        worth = np.zeros((2, cells))
        worth[:, self.cell] = self.worth
        return Visits(np.arange(cells), count, mean, squares, worth, together)

    def add(self, other: Visits) -> None:
        """Takes in other visits, in place; only where there is a place for each cell."""
        at, more = other.cell, other.count
        before = self.count[at]
        after = before + more
        shift = other.mean - self.mean[at]
        pull = (before * more / after)[:, None, None]
        self.mean[at] += shift * (more / after)[:, None, None]
        self.squares[at] += other.squares + shift**2 * pull
        self.count[at] = after
        if self.together is not None and other.together is not None:
            np.add(self.together, other.together + _weighted(shift * np.sqrt(pull), other.worth), out=self.together)


def estimated_sum(visits: Visits, size: np.ndarray, stratum: np.ndarray) -> Estimated:
    r"""The sum over all examples of what a visit to them finds on average.

    With n_c visits to cell c of N_c examples, of mean e_c and variance s_c^2,

    .. math:: \hat\phi = \sum_c N_c e_c, \qquad \widehat{Var} = \sum_c N_c^2 s_c^2 / n_c

    so where a cell is one example, differences between examples add nothing: all of them have been looked at. A stratum
    in which some cell has been visited less than twice is taken as one: its variance then holds differences between
    examples too, and is too large rather than too small. Degrees of freedom are those of :func:`degrees`.
    """
    shape = visits.mean.shape[1:]
    values, variance, doubt = (np.zeros(shape) for _ in range(3))
    together = None if visits.together is None else visits.together[int(visits.count.max() > 2)].copy()
    for cells in _pools(visits.count, stratum):
        n, N, mean, squares = visits.count[cells], size[cells], visits.mean[cells], visits.squares[cells]
        if (n >= 2).all():
            own = squares * (N**2 / (n * (n - 1)))[:, None, None]
            variance += own.sum(axis=0)
            doubt += doubt_in(own, (n - 1)[:, None, None]).sum(axis=0)
            values += np.tensordot(N, mean, axes=1)
            continue
        middle = np.tensordot(n / n.sum(), mean, axes=1)
        off = (mean - middle) * np.sqrt(n)[:, None, None]
        scatter = (squares.sum(axis=0) + (off**2).sum(axis=0)) / (n.sum() - 1)
        is_seen = bool((n > 0).all())
        own = scatter * ((N**2 / n).sum() if is_seen else N.sum() ** 2 / n.sum())
        variance += own
        doubt += doubt_in(own, n.sum() - 1)
        values += np.tensordot(N, mean, axes=1) if is_seen else N.sum() * middle
        if together is not None:
            together += _scatter(off)
    dof = degrees(variance, doubt, unknown=max(1.0, visits.count.sum() - 1.0))
    return Estimated(values, variance if together is None else _with_diagonal(together, variance), dof)


def parts_of(
    visits: Visits, size: np.ndarray, stratum: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray]:
    r"""What cells contribute to the sum, (C, L, p), and the sum's variance over other examples like these, (L, p).

    Where each cell is one example that was visited, the first says all and the second is zero. Else the first is None,
    and the second is found from single visits, with e_v the finding and w_v the weight of the example of visit v,

    .. math:: \sum_{pools} \frac{N}{n} \sum_v (e_v - w_v \hat\phi)^2

    which also holds what differs between visits to the same example, and is so rather too large.
    """
    if (size == 1).all() and (visits.count > 0).all():
        return visits.mean, np.zeros(visits.mean.shape[1:])
    values = estimated_sum(visits, size, stratum).values
    between = np.zeros(values.shape)
    for cells in _pools(visits.count, stratum):
        n, mean = visits.count[cells], visits.mean[cells]
        off = mean - weights[cells][:, None, None] * values
        scatter = visits.squares[cells].sum(axis=0) + (off**2 * n[:, None, None]).sum(axis=0)
        between += scatter * (size[cells].sum() / max(1, n.sum()))
    return None, between


def _pools(count: np.ndarray, stratum: np.ndarray) -> list[slice]:
    """All cells together at first; then those of each stratum if all were visited twice, else the top and the rest.

    Which is chosen hangs on counts of visits, in which strata of the rest take part alike, so that no stratum is
    favoured by the choice.
    """
    bounds = np.flatnonzero(np.diff(stratum, prepend=-1, append=-1)).tolist()
    strata = [slice(start, end) for start, end in pairwise(bounds)]
    top_and_rest = [strata[0], slice(bounds[1], bounds[-1])] if stratum[0] == TOP and len(strata) > 1 else strata
    everything = [slice(0, len(stratum))]
    choices = (strata, top_and_rest) if count.sum() > FAIR_START else ()
    return next((pools for pools in choices if all(count[part].sum() >= 2 for part in pools)), everything)


def _weighted(off: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Sums of products of deviations (n, L, p) in two weightings (2, n): (2, L, p, p)."""
    return np.stack([_scatter(off * np.sqrt(weights)[:, None, None]) for weights in worth])


def _scatter(off: np.ndarray) -> np.ndarray:
    """Sums of products of deviations (n, L, p): (L, p, p)."""
    by_loss = off.transpose(1, 0, 2)
    return np.asarray(by_loss.transpose(0, 2, 1) @ by_loss)


def _with_diagonal(scatter: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The scatter matrices (L, p, p), scaled so that their diagonals are the given variances (L, p)."""
    spread = np.einsum("lii->li", scatter)
    factor = np.sqrt(np.divide(variance, spread, out=np.zeros_like(variance), where=spread > 0))
    scaled = scatter * factor[:, :, None] * factor[:, None, :]
    at = np.arange(variance.shape[1])
    scaled[:, at, at] = variance
    return np.asarray(scaled)
