"""Withheld features drawn given the kept ones by a Gaussian copula: normal scores of ranks are jointly Gaussian.

Ties, categories and missing cells hide a part of the scores. Their correlations are then polychoric ones (tetrachoric
for two columns of two values: Olsson 1979).

References
----------
U. Olsson (1979). Maximum likelihood estimation of the polychoric correlation coefficient. Psychometrika 44, 443-460.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from clarysage._utils.threads import one_thread
from clarysage.removal.background import bound_to, seed_of
from clarysage.removal.gaussian import conditional_model, draw_scores, positive_definite, shrinkage
from clarysage.removal.product import shuffled
from clarysage.removal.restricted.hybrid import HybridModel
from clarysage.removal.restricted.matheron import GaussianSimulation
from clarysage.synonyms import with_synonyms
from clarysage.tables import read_weights

SWEEPS = 4  # of the Gibbs sampler for scores of tied cells: the first independent, the others given all known scores
TIED = 0.02  # share of equal cells from which on a column does not count as continuous
MOST_LEVELS = 64  # categories of a column that take part in the ordering of all, at most
TERMS = 60  # of Mehler's series
HALVINGS = 40


@with_synonyms
@dataclass(frozen=True)
class Copula:
    r"""Withheld features are drawn given the kept ones by their ranks: a Gaussian copula with empirical margins.

    .. math:: x_j = F_j^{-1}(\Phi(z_j)), \qquad z \sim N(0, R)

    Every value that is drawn for a column occurs there in the background. A monotone change of a column's units or
    shape changes nothing. Columns of any kind are accepted:

    - numbers are used by their rank; for a value that many rows share, a rank among these is drawn, separately for each
      drawn row, and given the other known cells;
    - categories are used as if they had an order: that of their mean along the direction in which all columns together
      vary most; a category that the background does not have carries no information about other columns;
    - missing cells are a value below all others.

    R is such that its scores, with ties as in the background, have the background's correlations (for two columns of
    two values: the tetrachoric correlation). With few background rows per column it is shrunk as in
    :class:`~clarysage.Gaussian`, whose parameters this class shares.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight for each background row
    draws : rows drawn for each coalition and example, of which walks take a few
    rng : seed or Generator of the draws
    memory_limit : bytes that the rows given to the model at once may take

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
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever the removal is used

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        schema, rows = bound.schema, bound.background
        weights = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        rng = np.random.default_rng(self.rng)
        if (weights != weights[0]).any():
            rows = rows[shuffled(weights, rng)]
        with one_thread():
            orders = category_orders(rows, schema.is_number)
            margins = [Margin.of(column, order) for column, order in zip(rows.T, orders, strict=True)]
            mid_scores = np.column_stack(
                [margin.score(column, np.array(0.5)) for margin, column in zip(margins, rows.T, strict=True)]
            )
            share = shrinkage(mid_scores, np.full(len(rows), 1 / len(rows)))
            R = positive_definite(latent_correlation(rows, margins) * (1 - share))
        latent = draw_scores(R, self.draws, rng)
        levels = np.maximum(rng.random((SWEEPS, *latent.shape)), np.finfo(float).tiny)  # a score might be infinite at 0
        return conditional_model(bound, GaussianSimulation(RankTransform(tuple(margins), levels), latent, R))

    def limited(self, memory_limit: float) -> Copula:
        return replace(self, memory_limit=memory_limit)


@dataclass(frozen=True)
class RankTransform:
    """Normal scores of ranks.

    ``levels`` (sweeps, m, d) are the quantile levels of a cell's score between those of its neighbours in rank, for
    each drawn row.
    """

    margins: tuple[Margin, ...]
    levels: np.ndarray

    @cached_property
    def tied(self) -> list[int]:
        """The columns in which many rows have the same cell."""
        return [column for column, margin in enumerate(self.margins) if margin.is_tied]

    @property
    def has_ties(self) -> bool:
        return len(self.tied) > 0

    def scores(self, x: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        levels = np.moveaxis(self.levels[0][background_index], 2, 0)  # (d, n, q)
        columns = zip(self.margins, x.T, levels, strict=True)
        return np.stack([margin.score(column[:, None], level) for margin, column, level in columns], axis=2)

    def joint_scores(self, x: np.ndarray, background_index: np.ndarray, precision: np.ndarray) -> np.ndarray:
        """Draws scores of ties given all other known scores, in turns (Gibbs sampling), from independent ones."""
        z = self.scores(x, background_index)
        bounds = {column: self.margins[column].bounds(x[:, column]) for column in self.tied}
        for levels in self.levels[1:]:
            for column, (low, high) in bounds.items():
                row = precision[:, column]
                std = np.sqrt(1 / row[:, column])[:, None]
                mean = z[:, :, column] - np.einsum("nqd,nd->nq", z, row) * std**2
                level = levels[background_index, column]
                z[:, :, column] = _truncated_normal(mean, std, low[:, None], high[:, None], level)
        return z

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        margins = self.margins if columns is None else [self.margins[j] for j in columns]
        return np.stack([margin.at(scores[..., j]) for j, margin in enumerate(margins)], axis=-1)


def _truncated_normal(
    mean: np.ndarray, std: np.ndarray, low: np.ndarray, high: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """Returns quantiles, at levels 0 to 1, of normal distributions truncated to the interval from low to high."""
    sign = np.where(mean < low, -1.0, 1.0)  # probabilities of a lower tail are the more precise ones
    bounds = np.sort(np.stack([sign * (low - mean), sign * (high - mean)]) / std, axis=0)
    least, most = scipy.special.ndtr(bounds)
    quantile = mean + sign * std * scipy.special.ndtri(least + level * (most - least))
    nearest = np.clip(mean, low, high)
    return np.asarray(np.clip(np.where(np.isfinite(quantile), quantile, nearest), low, high))


@dataclass(frozen=True)
class Margin:
    """The empirical distribution of one column: its n background cells in ascending order.

    Numbers have their own order, categories that of ``order`` (by code); missing cells come before all others.

    Attributes
    ----------
    cells, keys : (n,) the cells in order, and the keys by which they are ordered
    """

    cells: np.ndarray
    keys: np.ndarray
    order: np.ndarray | None = None

    @classmethod
    def of(cls, column: np.ndarray, order: np.ndarray | None = None) -> Margin:
        keys = _sort_keys(column, order)
        index = np.argsort(keys, kind="stable")
        return cls(column[index], keys[index], order)

    def ranks(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Counts background cells below each cell, and those not above it; 0 and n for an unknown category."""
        keys = _sort_keys(column, self.order)
        below, up_to = (np.searchsorted(self.keys, keys, side=side) for side in ("left", "right"))
        if self.order is None:
            return below, up_to
        is_unknown = below == up_to  # a category that no background row has carries no information
        return np.where(is_unknown, 0, below), np.where(is_unknown, len(self.keys), up_to)

    def score(self, column: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Returns normal scores of cells, at the given levels (0 to 1) of the gaps between ranks that they are in."""
        below, up_to = self.ranks(column)
        return np.asarray(scipy.special.ndtri((below + level * (up_to - below + 1)) / (len(self.keys) + 1)))

    def bounds(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the lowest and the highest normal score of each cell, which may be infinite."""
        below, up_to = self.ranks(column)
        n = len(self.keys) + 1
        return scipy.special.ndtri(below / n), scipy.special.ndtri((up_to + 1) / n)

    @cached_property
    def is_tied(self) -> bool:
        """True if many rows have the same cell."""
        return bool(self.levels[1].max() >= TIED * len(self.keys))

    def at(self, scores: np.ndarray) -> np.ndarray:
        """Returns the background's cells at normal scores."""
        n = len(self.cells)
        return np.asarray(self.cells[np.minimum((scipy.special.ndtr(scores) * n).astype(np.intp), n - 1)])

    @cached_property
    def levels(self) -> tuple[np.ndarray, np.ndarray]:
        """The first position of each distinct cell in the order, and the number of equal cells."""
        begins = np.flatnonzero(np.append(True, self.keys[1:] != self.keys[:-1]))
        return begins, np.diff(begins, append=len(self.keys))


def _sort_keys(column: np.ndarray, order: np.ndarray | None) -> np.ndarray:
    """Returns the keys by which cells are sorted: minus infinity for missing ones."""
    is_missing = np.isnan(column)
    if order is None:
        return np.where(is_missing, -np.inf, np.maximum(column, np.finfo(float).min))
    codes = np.where(is_missing, 0, column).astype(np.intp)
    extended = np.append(order, np.inf)  # a code that the background does not have comes after all others
    return np.where(is_missing, -np.inf, extended[np.minimum(codes, len(order))])


def category_orders(codes: np.ndarray, is_number: np.ndarray) -> list[np.ndarray | None]:
    """Returns for each column of categories the rank of every code, None for a column of numbers.

    Categories have no order of their own. They are sorted by their mean along the direction in which all columns
    together vary most (the first principal component of ranks and indicators), so that similar ones are neighbours.
    """
    if is_number.all():
        return [None] * codes.shape[1]
    component = _first_component(codes, is_number)
    return [None if number else _order_by(column, component) for column, number in zip(codes.T, is_number, strict=True)]


def _first_component(codes: np.ndarray, is_number: np.ndarray) -> np.ndarray:
    """Returns the first principal component of the rows, (n,)."""
    blocks = []
    for column, number in zip(codes.T, is_number, strict=True):
        if number:
            below, up_to = Margin.of(column).ranks(column)
            blocks.append(_standardised(((below + up_to) / 2)[:, None]))
            continue
        levels, counts = np.unique(column, return_counts=True, equal_nan=True)
        frequent = levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
        indicators = (column[:, None] == frequent) | (np.isnan(column)[:, None] & np.isnan(frequent))
        blocks.append(_standardised(indicators.astype(float)) * np.sqrt(1 - indicators.mean(axis=0)))
    Z = np.concatenate(blocks, axis=1)
    loadings = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    return np.asarray(Z @ loadings * np.sign(loadings[np.abs(loadings).argmax()]))


def _standardised(columns: np.ndarray) -> np.ndarray:
    centred = columns - columns.mean(axis=0)
    std = np.sqrt((centred**2).mean(axis=0))
    return np.asarray(centred / np.where(std > 0, std, 1.0))


def _order_by(column: np.ndarray, component: np.ndarray) -> np.ndarray:
    """Returns the rank of each code by its mean of the component; missing cells are not counted."""
    is_present = ~np.isnan(column)
    codes = column[is_present].astype(np.intp)
    counts = np.bincount(codes)
    sums = np.bincount(codes, component[is_present])
    means = np.divide(sums, counts, out=np.full(len(counts), np.inf), where=counts > 0)
    ranks = np.empty(len(counts))
    ranks[np.argsort(means, kind="stable")] = np.arange(len(counts))
    return ranks


def latent_correlation(codes: np.ndarray, margins: Sequence[Margin]) -> np.ndarray:
    r"""Returns correlations (d, d) of Gaussian scores that give, cut into cells as the columns are, codes (n, d).

    Of a score z only the mean m(z) over the cell that contains it is observed. With Hermite's coefficients c_k of m,

    .. math:: E[m_i(z_i) m_j(z_j)] = \sum_k c_{ik} c_{jk} \rho_{ij}^k

    (Mehler), which increases with rho, so that rho is found by bisection. For continuous columns only c_1 = 1 is not
    zero, and rho is the correlation of scores; for two columns of two values it is the tetrachoric correlation.
    """
    cells = [_cell_means(margin) for margin in margins]
    observed = np.column_stack(
        [
            mean[np.searchsorted(margin.levels[0], margin.ranks(column)[0], side="right") - 1]
            for column, margin, (mean, _) in zip(codes.T, margins, cells, strict=True)
        ]
    )
    c = np.array([coefficients for _, coefficients in cells])  # (d, TERMS)
    return _by_bisection(observed.T @ observed / len(codes), c)


def _cell_means(margin: Margin) -> tuple[np.ndarray, np.ndarray]:
    """Returns mean scores of the cells of a column, and the first coefficients of normalised Hermite polynomials."""
    begins, counts = margin.levels
    n = len(margin.keys)
    ends = scipy.special.ndtri(np.append(begins, n) / n)
    density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
    means = -np.diff(density) * n / counts
    coefficients = np.zeros(TERMS)
    if not margin.is_tied:
        coefficients[0] = np.sqrt((means**2) @ counts / n)  # so that a column has correlation 1 with itself
        return means, coefficients
    # the integral of H_k over a cell is H_{k-1} times the density at its beginning, minus that at its end
    is_finite = np.isfinite(ends)
    z = np.where(is_finite, ends, 0.0)
    before, current = np.zeros_like(z), density.copy()  # H_{-1} and H_0, times the density
    for k in range(TERMS):
        coefficients[k] = -(means @ np.diff(current)) / np.sqrt(k + 1)
        before, current = current, (z * current - np.sqrt(k) * before) / np.sqrt(k + 1)
    return means, coefficients


def _by_bisection(covariance: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Solves Mehler's series for rho, given the covariance (d, d) of observed cell means."""
    low, high = np.full_like(covariance, -1.0), np.ones_like(covariance)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_less = _mehler(middle, c) < covariance
        low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
    is_informative = np.abs(c).max(axis=1) > 0  # a constant column says nothing about its scores
    return np.where(np.outer(is_informative, is_informative), (low + high) / 2, 0.0)


def _mehler(rho: np.ndarray, c: np.ndarray) -> np.ndarray:
    total = np.zeros_like(rho)
    for column in c.T[::-1]:
        total = (total + column[:, None] * column) * rho
    return total
