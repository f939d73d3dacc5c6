"""Withheld features drawn from a Gaussian law, given the kept ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._utils.threads import one_thread
from clarysage.errors import InputError, Or, Set, Words
from clarysage.removal.background import BoundTables, bound_to, seed_of
from clarysage.removal.restricted.hybrid import HybridModel
from clarysage.removal.restricted.matheron import RIDGE, Filling
from clarysage.removal.restricted.native import native_of
from clarysage.tables import Schema, read_weights

LINEAR = "The model is linear: its mean prediction is that for the mean of the withheld features."
ROUNDING, FLOOR = 1e-10, 1e-2  # of the eigenvalues of correlations
ROWS_A_COLUMN = 4  # background rows below which correlations are shrunk


@dataclass(frozen=True)
class Gaussian:
    r"""Withheld features follow the kept ones as in a Gaussian law with the background's mean and covariance.

    .. math:: q(x_{\bar S} | x_S) = N(\mu_{\bar S} + \Sigma_{\bar S S} \Sigma_{S S}^{-1} (x_S - \mu_S), \;
        \Sigma_{\bar S \bar S} - \Sigma_{\bar S S} \Sigma_{S S}^{-1} \Sigma_{S \bar S})

    Right for columns that are jointly Gaussian; for others it keeps means and correlations, and may put cells where no
    value ever is, such as fractions in a column of counts. For columns of numbers only: see
    :class:`~clarysage.Copula` for others. Of a model that is known to be linear the mean prediction is taken exactly,
    without draws. With fewer than four background rows a column, correlations are shrunk
    towards zero (Ledoit and Wolf).

    Parameters
    ----------
    background : table of rows with the columns of X, to which the law is fitted
    weights : one weight a background row
    draws : rows drawn from the law once, over which predictions are averaged
    rng : seed or Generator for these
    memory_limit : bytes that the rows given to the model at once may take

    Examples
    --------
    >>> import numpy as np
    >>> z = np.random.default_rng(0).normal(size=(1000, 1))
    >>> f_S = Gaussian(np.hstack([z, z])).restrict(lambda X: X[:, 1], z[:1] * [1.0, 1.0])
    >>> f_S.predict(np.array([[2.0, 7.0]]), np.array([[True, False]]), rng=None).round(3)
    array([[2.]])
    """

    background: Any
    weights: Any = None
    draws: int = 512
    rng: Any = 0
    memory_limit: float = 1e9
    name: str = "gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever it is used

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows, codes = bound.background, bound.examples.codes
        for argument, table in (("background", rows), ("X", codes)):
            _check(bound.schema, table, argument)
        mass = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        scale = Scale.fitted(rows, mass)
        with one_thread():
            scores = scale.of(rows)
            R = conditionable((scores * mass[:, None]).T @ scores * (1 - shrinkage(scores, mass)))
        filling = Filling(scale, drawn(R, self.draws, np.random.default_rng(self.rng)), R)
        found = native_of(bound.predictor, filling.background, np.full(self.draws, 1 / self.draws), codes)
        if found.native is None or not found.native.is_linear_mean:
            return filled(bound, filling, found.rows)
        f_S = filled(bound, replace(filling, latent=np.zeros((1, len(R)))), found.rows)
        drawn_anew = replace(filled(bound, filling, found.rows), encoded=None)
        return replace(f_S, remarks=(f_S.remarks[0], LINEAR), drawn=drawn_anew)

    def limited(self, memory_limit: float) -> Gaussian:
        return replace(self, memory_limit=memory_limit)


@dataclass(frozen=True)
class Scale:
    """Scores that are cells, less their mean, in units of their standard deviation: (d,) each; 0 for a constant."""

    mean: np.ndarray
    size: np.ndarray
    has_ties: bool = False

    @classmethod
    def fitted(cls, rows: np.ndarray, mass: np.ndarray) -> Scale:
        mean = rows[0] + mass @ (rows - rows[0])
        is_constant = (rows == rows[0]).all(axis=0)
        return cls(np.where(is_constant, rows[0], mean), np.where(is_constant, 0.0, np.sqrt(mass @ (rows - mean) ** 2)))

    def of(self, x: np.ndarray) -> np.ndarray:
        """Scores (n, d) of rows; 0 for columns that are constant in the background, which tell nothing."""
        return np.asarray(np.divide(x - self.mean, self.size, out=np.zeros_like(x), where=self.size > 0))

    def scores(self, x: np.ndarray, picks: np.ndarray) -> np.ndarray:
        return self.of(x)[:, None, :]

    def agreed(self, x: np.ndarray, picks: np.ndarray, precision: np.ndarray) -> np.ndarray:
        return self.scores(x, picks)

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        which = slice(None) if columns is None else columns
        cells = scores * self.size[which]
        cells += self.mean[which]
        return np.asarray(cells)


def shrinkage(scores: np.ndarray, mass: np.ndarray) -> float:
    """By what share correlations of scores (n, d) are to be shrunk; 0 where there are rows enough."""
    scores, mass = scores[mass > 0], mass[mass > 0]
    n, d = scores.shape
    if n >= ROWS_A_COLUMN * d:
        return 0.0
    from sklearn.covariance import ledoit_wolf_shrinkage

    return float(ledoit_wolf_shrinkage(scores * np.sqrt(n * mass)[:, None], assume_centered=True))


def conditionable(R: np.ndarray) -> np.ndarray:
    """The matrix with ones on its diagonal, and nothing wholly determined by others.

    Correlations that were found pair by pair may not go together: those that can nearly do are taken instead, with a
    floor under what is left of any combination, or a small contradiction would move others far.
    """
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    size, turn = np.linalg.eigh(R)
    if size[0] < -ROUNDING:
        R = (turn * np.maximum(size, FLOOR)) @ turn.T
        root = np.sqrt(np.diagonal(R))
        R = R / root / root[:, None]
        np.fill_diagonal(R, 1.0)
    return np.asarray((R + RIDGE * np.eye(len(R))) / (1 + RIDGE))


def drawn(R: np.ndarray, draws: Any, rng: np.random.Generator) -> np.ndarray:
    """So many rows of scores from N(0, R)."""
    if not isinstance(draws, (int, np.integer)) or isinstance(draws, bool) or draws < 2:
        raise InputError("draws", got=f"{draws!r}", wanted="a whole number of two or more", hint=Set("draws", 512))
    noise = rng.normal(size=(int(draws), len(R)))
    with one_thread():
        return np.asarray(noise @ np.linalg.cholesky(R).T)


def filled(bound: BoundTables, filling: Filling, rows_of_checks: int = 0) -> HybridModel:
    """The restricted model of a filling that was fitted to the background."""
    background, rows = filling.background, len(bound.background)
    predictor = replace(bound.predictor, schema=bound.predictor.schema.widened(background))
    m = len(background)
    remarks = [
        f"Withheld features were drawn given the kept ones, by a law fitted to {rows:,} background rows; intervals "
        "take this law as it is."
    ]
    if predictor.predictor.structure is not None:
        remarks.append(
            f"{predictor.predictor.name} was asked row by row: its structure helps only where withheld features are "
            "drawn whatever the kept ones are."
        )
    nowhere = np.full(m, -1)  # drawn rows are no examples, even where they have the same cells
    return HybridModel(
        predictor,
        background,
        np.full(m, 1 / m),
        remarks=tuple(remarks),
        rows_of_checks=predictor.rows_asked + rows_of_checks,
        source=nowhere,
        filling=filling,
        encoded=bound.examples,
    )


def _check(schema: Schema, rows: np.ndarray, argument: str) -> None:
    """Raise where columns are not of finite numbers."""
    for column, (cells, name) in enumerate(zip(rows.T, schema.names, strict=True)):
        if not schema.is_number[column]:
            got = f"'gaussian' for column {name!r}, which is not of numbers"
            raise InputError("removal", got=got, wanted="columns of numbers", hint=Set("removal", "copula"))
        if not np.isfinite(cells).all():
            got = f"missing or infinite cells in column {name!r}, for a Gaussian law"
            hint: Words = [Set("removal", "copula"), Or(), "an imputer"]
            raise InputError(argument, got=got, wanted="finite numbers", hint=hint)
