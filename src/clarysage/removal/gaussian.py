"""Withheld features drawn from a conditional Gaussian distribution, given the kept ones.

This is the simplest conditional (observational) removal (Aas, Jullum & Loland 2021). The draws are made by
Matheron's rule (:mod:`clarysage.removal.restricted.matheron`).

References
----------
K. Aas, M. Jullum, A. Loland (2021). Explaining individual predictions when features are dependent: more accurate
approximations to Shapley values. Artificial Intelligence 298, 103502.
O. Ledoit, M. Wolf (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
Multivariate Analysis 88, 365-411.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._utils.threads import one_thread
from clarysage.errors import InputError, Or, Set, Words
from clarysage.removal.background import BoundTables, bound_to, seed_of
from clarysage.removal.restricted.hybrid import HybridModel
from clarysage.removal.restricted.matheron import RIDGE, GaussianSimulation
from clarysage.removal.restricted.native import native_of
from clarysage.synonyms import with_synonyms
from clarysage.tables import Schema, read_weights

LINEAR = "The model is linear: its mean prediction is the prediction for the mean of the withheld features."
ROUNDING, FLOOR = 1e-10, 1e-2  # of the eigenvalues of a correlation matrix
ROWS_A_COLUMN = 4  # background rows below which correlations are shrunk


@with_synonyms
@dataclass(frozen=True)
class Gaussian:
    r"""Withheld features are drawn given the kept ones, from a Gaussian with the background's mean and covariance.

    .. math:: q(x_{\bar S} | x_S) = N(\mu_{\bar S} + \Sigma_{\bar S S} \Sigma_{S S}^{-1} (x_S - \mu_S), \;
        \Sigma_{\bar S \bar S} - \Sigma_{\bar S S} \Sigma_{S S}^{-1} \Sigma_{S \bar S})

    This is exact for columns that are jointly Gaussian. For others it preserves means and correlations, but may draw
    values that never occur, such as fractions in a column of counts. It takes columns of numbers only; see
    :class:`~clarysage.Copula` for others. If the model is known to be linear, the mean prediction is computed exactly,
    without draws. With fewer than four background rows per column, correlations are shrunk towards zero (Ledoit & Wolf,
    A well-conditioned estimator for large-dimensional covariance matrices, 2004).

    Parameters
    ----------
    background : table of rows with the columns of X, to which the distribution is fitted
    weights : one weight for each background row
    draws : number of rows that are drawn from the distribution, once; predictions are averaged over them
    rng : seed or Generator of these draws
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
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever the removal is used

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        bound = bound_to(predictor, X, self.background, self.memory_limit)
        rows, codes = bound.background, bound.examples.codes
        for argument, table in (("background", rows), ("X", codes)):
            _check(bound.schema, table, argument)
        weights = read_weights(self.weights, self.background, len(rows), "background weights", "background")
        scale = Standardisation.fitted(rows, weights)
        with one_thread():
            scores = scale.of(rows)
            R = positive_definite((scores * weights[:, None]).T @ scores * (1 - shrinkage(scores, weights)))
        simulation = GaussianSimulation(scale, draw_scores(R, self.draws, np.random.default_rng(self.rng)), R)
        reading = native_of(bound.predictor, simulation.background, np.full(self.draws, 1 / self.draws), codes)
        f_S = conditional_model(bound, simulation, reading.rows)
        if reading.native is None or not reading.native.is_linear_mean:
            return f_S
        of_mean = conditional_model(bound, replace(simulation, latent=np.zeros((1, len(R)))), reading.rows)
        return replace(of_mean, remarks=(of_mean.remarks[0], LINEAR), drawn=replace(f_S, encoded=None))

    def limited(self, memory_limit: float) -> Gaussian:
        return replace(self, memory_limit=memory_limit)


@dataclass(frozen=True)
class Standardisation:
    """Scores of cells: their difference from the mean (d,) in units of the standard deviation (d,); 0 for constants."""

    mean: np.ndarray
    std: np.ndarray
    has_ties: bool = False

    @classmethod
    def fitted(cls, rows: np.ndarray, weights: np.ndarray) -> Standardisation:
        mean = rows[0] + weights @ (rows - rows[0])
        is_constant = (rows == rows[0]).all(axis=0)
        std = np.sqrt(weights @ (rows - mean) ** 2)
        return cls(np.where(is_constant, rows[0], mean), np.where(is_constant, 0.0, std))

    def of(self, x: np.ndarray) -> np.ndarray:
        """Returns scores (n, d) of rows; 0 for columns that are constant in the background."""
        return np.asarray(np.divide(x - self.mean, self.std, out=np.zeros_like(x), where=self.std > 0))

    def scores(self, x: np.ndarray, background_index: np.ndarray) -> np.ndarray:
        return self.of(x)[:, None, :]

    def joint_scores(self, x: np.ndarray, background_index: np.ndarray, precision: np.ndarray) -> np.ndarray:
        return self.scores(x, background_index)

    def cells(self, scores: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        index = slice(None) if columns is None else columns
        cells = scores * self.std[index]
        cells += self.mean[index]
        return np.asarray(cells)


def shrinkage(scores: np.ndarray, weights: np.ndarray) -> float:
    """Returns the shrinkage (0 to 1) of the correlations of scores (n, d) towards zero; 0 if there are enough rows."""
    scores, weights = scores[weights > 0], weights[weights > 0]
    n, d = scores.shape
    if n >= ROWS_A_COLUMN * d:
        return 0.0
    from sklearn.covariance import ledoit_wolf_shrinkage

    return float(ledoit_wolf_shrinkage(scores * np.sqrt(n * weights)[:, None], assume_centered=True))


def positive_definite(R: np.ndarray) -> np.ndarray:
    """Returns a positive definite correlation matrix near R.

    Correlations that were estimated pair by pair may contradict each other, so that R has negative eigenvalues.
    Eigenvalues below a floor are then raised to it, without which a small contradiction would have a large effect on
    draws. In any case a tiny ridge is added.
    """
    R = (R + R.T) / 2
    np.fill_diagonal(R, 1.0)
    eigenvalues, vectors = np.linalg.eigh(R)
    if eigenvalues[0] < -ROUNDING:
        R = (vectors * np.maximum(eigenvalues, FLOOR)) @ vectors.T
        root = np.sqrt(np.diagonal(R))
        R = R / root / root[:, None]
        np.fill_diagonal(R, 1.0)
    return np.asarray((R + RIDGE * np.eye(len(R))) / (1 + RIDGE))


def draw_scores(R: np.ndarray, draws: Any, rng: np.random.Generator) -> np.ndarray:
    """Draws rows of scores from N(0, R)."""
    if not isinstance(draws, (int, np.integer)) or isinstance(draws, bool) or draws < 2:
        raise InputError("draws", got=f"{draws!r}", wanted="a whole number of two or more", hint=Set("draws", 512))
    noise = rng.normal(size=(int(draws), len(R)))
    with one_thread():
        return np.asarray(noise @ np.linalg.cholesky(R).T)


def conditional_model(bound: BoundTables, simulation: GaussianSimulation, rows_of_checks: int = 0) -> HybridModel:
    """Makes the restricted model of a conditional distribution that was fitted to the background."""
    background, rows = simulation.background, len(bound.background)
    predictor = replace(bound.predictor, schema=bound.predictor.schema.widened(background))
    m = len(background)
    remarks = [
        f"Withheld features were drawn given the kept ones, from a distribution fitted to {rows:,} background rows. "
        "Intervals do not cover the errors of this fit."
    ]
    if predictor.predictor.structure is not None:
        remarks.append(
            f"{predictor.predictor.name} was called row by row: its structure helps only if withheld features are "
            "drawn independently of the kept ones."
        )
    return HybridModel(
        predictor,
        background,
        np.full(m, 1 / m),
        remarks=tuple(remarks),
        rows_of_checks=predictor.rows_asked + rows_of_checks,
        source=np.full(m, -1),  # drawn rows are no examples, even if all their cells are equal
        simulation=simulation,
        encoded=bound.examples,
    )


def _check(schema: Schema, rows: np.ndarray, argument: str) -> None:
    """Raises an error unless all columns hold finite numbers."""
    for column, (cells, name) in enumerate(zip(rows.T, schema.names, strict=True)):
        if not schema.is_number[column]:
            got = f"'gaussian' for column {name!r}, which does not hold numbers"
            raise InputError("removal", got=got, wanted="columns of numbers", hint=Set("removal", "copula"))
        if not np.isfinite(cells).all():
            got = f"missing or infinite cells in column {name!r}, for a Gaussian distribution"
            hint: Words = [Set("removal", "copula"), Or(), "an imputer"]
            raise InputError(argument, got=got, wanted="finite numbers", hint=hint)
