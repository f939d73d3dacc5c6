"""Withheld features drawn given the kept ones by ranks: a Gaussian law behind columns of any kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from clarysage._utils.threads import one_thread
from clarysage.removal.gaussian import conditionable, drawn, filled, shrinkage
from clarysage.removal.hybrid import HybridModel
from clarysage.removal.latent_correlation import latent_correlation
from clarysage.removal.marginal import bound_to
from clarysage.removal.margins import Margin, orders
from clarysage.removal.matheron import Filling
from clarysage.removal.product import shuffled
from clarysage.removal.seed import seed_of
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
