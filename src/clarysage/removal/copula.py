"""Withheld features drawn given the kept ones by ranks: a Gaussian law behind columns of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from clarysage._utils.threads import one_thread
from clarysage.removal.background import bound_to, seed_of
from clarysage.removal.gaussian import conditionable, drawn, filled, shrinkage
from clarysage.removal.product import shuffled
from clarysage.removal.restricted.hybrid import HybridModel
from clarysage.removal.restricted.matheron import Filling
from clarysage.tables import read_weights

SWEEPS = 4  # of the scores of tied cells: the first by themselves, the others given what else is known


@dataclass(frozen=True)
class Copula:
    r"""Withheld features follow the kept ones by their ranks: a Gaussian copula with the background's own margins.

    .. math:: x_j = F_j^{-1}(\Phi(z_j)), \qquad z \sim N(0, R)

    Every value that is drawn for a column is one that the background has there. A monotone change of units, or of
    shape, changes nothing. What a column holds is understood so:

    - numbers by their rank; of a value that many rows share, a place among these is drawn, for each row that stands in
      anew, and given what else is known;
    - categories as if they had an order, that of their mean along the direction in which all columns together vary
      most; one that the background does not have tells nothing about others;
    - missing cells as a value below all others.

    R is such that columns, cut into ties as they are, would be correlated as the background's are (for two columns of
    two values: the tetrachoric correlation). With few background rows a column it is shrunk as in
    :class:`~clarysage.Gaussian`, whose parameters it shares.

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(1000, 1))
    >>> f_S = Copula(np.hstack([z, np.exp(z)])).restrict(lambda X: X[:, 1], np.hstack([z, np.exp(z)]))
    >>> f_S.predict(np.array([[0.0, 9.0]]), np.array([[True, False]]), rng=None).round(2)
    array([[1.]])
    """

    background: Any
    weights: Any = None
    draws: int = 512
    rng: Any = 0
    memory_limit: float = 1e9
    name: str = "copula"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever it is used

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        schema, rows = bound.schema, bound.background
        mass = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        rng = np.random.default_rng(self.rng)
        if (mass != mass[0]).any():
            rows = rows[shuffled(mass, rng)]
        with one_thread():
            margins = [
                Margin.of(column, order) for column, order in zip(rows.T, orders(rows, schema.is_number), strict=True)
            ]
            middle = np.column_stack(
                [margin.score(column, np.array(0.5)) for margin, column in zip(margins, rows.T, strict=True)]
            )
            share = shrinkage(middle, np.full(len(rows), 1 / len(rows)))
            R = conditionable(latent_correlation(rows, margins) * (1 - share))
        latent = drawn(R, self.draws, rng)
        within = np.maximum(rng.random((SWEEPS, *latent.shape)), np.finfo(float).tiny)  # or a score might be infinite
        return filled(bound, Filling(Ranks(tuple(margins), within), latent, R))

    def limited(self, memory_limit: float) -> Copula:
        return replace(self, memory_limit=memory_limit)


@dataclass(frozen=True)
class Ranks:
    """Normal scores of ranks.

    ``within`` (sweeps, m, d) says where a cell stands among its like when a drawn row goes with it.
    """

    margins: tuple[Margin, ...]
    within: np.ndarray

    @cached_property
    def tied(self) -> list[int]:
        """Columns of which many rows have the same cell."""
        return [column for column, margin in enumerate(self.margins) if margin.is_tied]

    @property
    def has_ties(self) -> bool:
        return len(self.tied) > 0

    def scores(self, x: np.ndarray, picks: np.ndarray) -> np.ndarray:
        within = np.moveaxis(self.within[0][picks], 2, 0)  # (d, n, q)
        columns = zip(self.margins, x.T, within, strict=True)
        return np.stack([margin.score(column[:, None], place) for margin, column, place in columns], axis=2)

    def agreed(self, x: np.ndarray, picks: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Scores of ties drawn given all others that are known, in turns (Gibbs), from where they are by themselves."""
        z = self.scores(x, picks)
        cells = {column: self.margins[column].bounds(x[:, column]) for column in self.tied}
        for sweep in self.within[1:]:
            for column, (low, high) in cells.items():
                row = precision[:, column]
                size = np.sqrt(1 / row[:, column])[:, None]
                mean = z[:, :, column] - np.einsum("nqd,nd->nq", z, row) * size**2
                z[:, :, column] = _between(mean, size, low[:, None], high[:, None], sweep[picks, column])
        return z

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        margins = self.margins if columns is None else [self.margins[j] for j in columns]
        return np.stack([margin.at(scores[..., j]) for j, margin in enumerate(margins)], axis=-1)


def _between(mean: np.ndarray, size: np.ndarray, low: np.ndarray, high: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Normal scores between two bounds, at the given places (0 to 1) of their law there."""
    sign = np.where(mean < low, -1.0, 1.0)  # a tail is best looked at from below
    bounds = np.sort(np.stack([sign * (low - mean), sign * (high - mean)]) / size, axis=0)
    least, most = scipy.special.ndtr(bounds)
    found = mean + sign * size * scipy.special.ndtri(least + place * (most - least))
    nearest = np.clip(mean, low, high)
    return np.asarray(np.clip(np.where(np.isfinite(found), found, nearest), low, high))


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


TERMS = 60  # of Mehler's series
HALVINGS = 40


def latent_correlation(codes: np.ndarray, margins: Sequence[Margin]) -> np.ndarray:
    r"""Correlations (d, d) of Gaussian scores whose ranks, cut into cells as the columns of codes (n, d) are, agree.

    What is seen of a score z is the mean m(z) over the cell that it falls in. With Hermite's coefficients c_k of m,

    .. math:: E[m_i(z_i) m_j(z_j)] = \sum_k c_{ik} c_{jk} \rho_{ij}^k

    (Mehler), which grows with rho: it is found by halving. For continuous columns c_1 = 1 is all there is, and rho is
    the correlation of scores; for two columns of two values it is the tetrachoric correlation.
    """
    found = [_cell_means(margin) for margin in margins]
    seen = np.column_stack(
        [
            mean[np.searchsorted(margin.levels[0], margin.ranks(column)[0], side="right") - 1]
            for column, margin, (mean, _) in zip(codes.T, margins, found, strict=True)
        ]
    )
    c = np.array([coefficients for _, coefficients in found])  # (d, TERMS)
    return _halved(seen.T @ seen / len(codes), c)


def _cell_means(margin: Margin) -> tuple[np.ndarray, np.ndarray]:
    """Mean scores of the cells of a column, and the first coefficients of Hermite polynomials, scaled to norm 1."""
    begins, counts = margin.levels
    n = len(margin.keys)
    ends = scipy.special.ndtri(np.append(begins, n) / n)
    density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
    means = -np.diff(density) * n / counts
    coefficients = np.zeros(TERMS)
    if not margin.is_tied:
        coefficients[0] = np.sqrt((means**2) @ counts / n)  # so that a column is correlated with itself by 1
        return means, coefficients
    # the integral of H_k over a cell is H_{k-1} times the density at its beginning, less that at its end
    inside = np.isfinite(ends)
    z = np.where(inside, ends, 0.0)
    before, now = np.zeros_like(z), density.copy()  # H_{-1} and H_0, times the density
    for k in range(TERMS):
        coefficients[k] = -(means @ np.diff(now)) / np.sqrt(k + 1)
        before, now = now, (z * now - np.sqrt(k) * before) / np.sqrt(k + 1)
    return means, coefficients


def _halved(wanted: np.ndarray, c: np.ndarray) -> np.ndarray:
    low, high = np.full_like(wanted, -1.0), np.ones_like(wanted)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_less = _mehler(middle, c) < wanted
        low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
    tells = np.abs(c).max(axis=1) > 0  # a constant column tells nothing of its scores
    return np.where(np.outer(tells, tells), (low + high) / 2, 0.0)


def _mehler(rho: np.ndarray, c: np.ndarray) -> np.ndarray:
    total = np.zeros_like(rho)
    for column in c.T[::-1]:
        total = (total + column[:, None] * column) * rho
    return total
