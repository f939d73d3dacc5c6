"""Main effects of players on predictions, by an additive ridge regression that is fitted to the background rows.

Main effects serve as control variates (:mod:`clarysage.games.control_variates`). The penalty minimises the
leave-one-out error, which ridge regression has in closed form (PRESS, Allen 1974).

References
----------
D. M. Allen (1974). The relationship between variable selection and data augmentation and a method for prediction.
Technometrics 16, 125-127.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage._utils.threads import one_thread

FEWEST_ROWS = 32  # background rows below which nothing is fitted
MOST_ROWS = 512  # background rows that the regression is fitted to
BINS = 16  # bins of a numeric column
PENALTIES = 10.0 ** np.arange(-3, 2.5, 0.5)  # ridge penalties, from which leave-one-out cross-validation chooses


@dataclass(frozen=True)
class Bins:
    """The bins of a column's cells: bounded by quantiles, or one for each value where there are few.

    Attributes
    ----------
    index : (m,) the bin of each cell
    count : number of bins, one for missing cells included
    """

    index: np.ndarray
    count: int

    @classmethod
    def of(cls, column: np.ndarray) -> Bins:
        values = np.unique(column[~np.isnan(column)])
        edges = values if len(values) <= BINS else np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
        index = np.searchsorted(edges, column, side="right")
        index[np.isnan(column)] = len(edges) + 1
        return cls(index, len(edges) + 2)


def main_effects(
    background: np.ndarray, alone: np.ndarray, weights: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    r"""Returns main effects h_i (m, p, k) of an additive fit to the predictions (m, k) for background rows b.

    .. math:: f(b) \approx \bar f + \sum_i h_i(b_i)

    They are fitted by ridge regression on the bins of columns. Effects have mean 0 over the background, so that a
    control variate made of them changes no expectation; how well they fit matters only for the variance. The result is
    None where they explain nothing.
    """
    m = len(background)
    if m < FEWEST_ROWS:
        return None
    with one_thread():
        return _additive_fit(background, alone - weights @ alone, weights, owner, players)


def _additive_fit(
    background: np.ndarray, y: np.ndarray, weights: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    m = len(background)
    bins = [Bins.of(column) for column in background.T]
    rows = np.unique(np.linspace(0, m - 1, min(m, MOST_ROWS)).astype(np.intp))
    root = np.sqrt(weights[rows] / weights[rows].mean())[:, None]
    designs = [_design(of_column, rows) for of_column in bins]
    coefficients = _ridge(np.concatenate(designs, axis=1) * root, root * y[rows])
    if coefficients is None:
        return None
    effects, first = np.zeros((m, players, y.shape[1])), 0
    for column, of_column in enumerate(bins):
        scale = _scale(of_column, rows)
        effect_of_bin = coefficients[first : first + of_column.count] * scale[:, None]
        first += of_column.count
        effects[:, owner[column]] += effect_of_bin[of_column.index]
    return np.asarray(effects - np.einsum("m,mpk->pk", weights, effects))


def slopes(scores: np.ndarray, alone: np.ndarray) -> np.ndarray | None:
    """Returns ridge regression slopes (d, k) of predictions (m, k) on scores (m, d); None if they explain nothing."""
    if len(scores) < FEWEST_ROWS:
        return None
    rows = slice(0, MOST_ROWS)
    with one_thread():
        return _ridge(scores[rows] - scores[rows].mean(axis=0), alone[rows] - alone[rows].mean(axis=0))


def _ridge(Z: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Returns the coefficients of ridge regression under the best penalty; None where they explain nothing."""
    eigenvalues, basis = np.linalg.eigh(Z @ Z.T)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    rotated = basis.T @ y
    errors = [_leave_one_out_error(eigenvalues, basis, rotated, y, penalty) for penalty in PENALTIES]
    best = int(np.argmin(errors))
    if errors[best] >= (y**2).sum():
        return None
    return np.asarray(Z.T @ (basis @ (rotated / (eigenvalues + PENALTIES[best])[:, None])))


def _scale(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """Returns the scales (count,) of bins under which the penalty has the same strength for all."""
    return np.asarray(1 / np.sqrt(np.maximum(np.bincount(bins.index[rows], minlength=bins.count), 1)))


def _design(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """Returns indicators of the bins of rows, centred and scaled, (r, count)."""
    is_in = np.eye(bins.count)[bins.index[rows]]
    return np.asarray((is_in - is_in.mean(axis=0)) * _scale(bins, rows))


def _leave_one_out_error(
    eigenvalues: np.ndarray, basis: np.ndarray, rotated: np.ndarray, y: np.ndarray, penalty: float
) -> float:
    """Returns the sum of squared leave-one-out errors of ridge regression (PRESS)."""
    shrinkage = eigenvalues / (eigenvalues + penalty)
    error = y - basis @ (shrinkage[:, None] * rotated)
    leverage = np.minimum((basis**2) @ shrinkage, 0.999)
    return float(((error / (1 - leverage)[:, None]) ** 2).sum())
