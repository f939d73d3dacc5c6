"""Withheld features drawn given the kept ones by ranks: a Gaussian law behind columns of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.removal.filling import Filling
from clarysage.removal.gaussian import conditionable, drawn, filled, shrinkage
from clarysage.removal.hybrid import HybridModel
from clarysage.removal.latent_correlation import latent_correlation
from clarysage.removal.marginal import bound_to
from clarysage.removal.margins import Margin, orders
from clarysage.removal.one_thread import one_thread
from clarysage.removal.product import generator, shuffled
from clarysage.tables import read_weights


@dataclass(frozen=True)
class Copula:
    r"""Withheld features follow the kept ones by their ranks: a Gaussian copula with the background's own margins.

    .. math:: x_j = F_j^{-1}(\Phi(z_j)), \qquad z \sim N(0, R)

    Every value that is drawn for a column is one that the background has there. A monotone change of units, or of
    shape, changes nothing. What a column holds is understood so:

    - numbers by their rank; of a value that many rows share, a place among these is drawn, for each row that stands in
      anew;
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

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        schema, bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows = schema.encode(self.background, "background")
        mass = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        rng = generator(self.rng)
        if (mass != mass[0]).any():
            rows = rows[shuffled(mass, rng)]
        with one_thread():
            margins = [Margin.of(column, order)
                       for column, order in zip(rows.T, orders(rows, schema.is_number), strict=True)]  # fmt: skip
            middle = np.column_stack([margin.score(column, np.array(0.5))
                                      for margin, column in zip(margins, rows.T, strict=True)])  # fmt: skip
            share = shrinkage(middle, np.full(len(rows), 1 / len(rows)))
            R = conditionable(latent_correlation(rows, margins) * (1 - share))
        latent = drawn(R, self.draws, rng)
        within = np.maximum(rng.random(latent.shape), np.finfo(float).tiny)  # or a score might be infinite
        return filled(bound, Filling(Ranks(tuple(margins), within), latent, R), len(rows))


@dataclass(frozen=True)
class Ranks:
    """Normal scores of ranks; ``within`` (m, d) is where a cell stands among its like when a drawn row goes with it."""

    margins: tuple[Margin, ...]
    within: np.ndarray

    def scores(self, x: np.ndarray, picks: np.ndarray) -> np.ndarray:
        within = self.within[picks]  # (n, q, d)
        columns = zip(self.margins, x.T, np.moveaxis(within, 2, 0), strict=True)
        return np.stack([margin.score(column[:, None], place) for margin, column, place in columns], axis=2)

    def cells(self, scores: np.ndarray) -> np.ndarray:
        return np.stack([margin.at(scores[..., j]) for j, margin in enumerate(self.margins)], axis=-1)
