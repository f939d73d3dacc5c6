"""Main effects of players on predictions for background rows, from an additive model that is fitted to these.

They serve as control variates (:mod:`clarysage.games.control_variates`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage._utils.threads import one_thread

FEWEST_ROWS = 32  # of the background, below which there is nothing to be fitted
MOST_ROWS = 512  # that are fitted to
BINS = 16  # of a column of numbers
PENALTIES = 10.0 ** np.arange(-3, 2.5, 0.5)  # on the effects of bins, of which the best is found by leaving rows out


@dataclass(frozen=True)
class Bins:
    """Which of so many bins each cell of a column is in: quantiles of numbers, or values where there are few."""

    place: np.ndarray
    count: int

    @classmethod
    def of(cls, column: np.ndarray) -> Bins:
        values = np.unique(column[~np.isnan(column)])
        edges = values if len(values) <= BINS else np.unique(np.quantile(values, np.arange(1, BINS) / BINS))
        place = np.searchsorted(edges, column, side="right")
        place[np.isnan(column)] = len(edges) + 1
        return cls(place, len(edges) + 2)


def main_effects(
    background: np.ndarray, alone: np.ndarray, mass: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    r"""Effects h_i (m, p, k) with which predictions for background rows (m, k) are about their mean + sum_i h_i(b_i).

    Ridge regression on the bins of columns; the penalty is the one under which rows that were left out are predicted
    best. Effects have mean 0 over the background, as a control variate must have that is to change no expectation;
    how good they are decides on nothing but variance. None where they explain nothing.
    """
    m = len(background)
    if m < FEWEST_ROWS:
        return None
    with one_thread():
        return _fitted(background, alone - mass @ alone, mass, owner, players)


def _fitted(
    background: np.ndarray, y: np.ndarray, mass: np.ndarray, owner: np.ndarray, players: int
) -> np.ndarray | None:
    m = len(background)
    bins = [Bins.of(column) for column in background.T]
    rows = np.unique(np.linspace(0, m - 1, min(m, MOST_ROWS)).astype(np.intp))
    root = np.sqrt(mass[rows] / mass[rows].mean())[:, None]
    designs = [_design(one, rows) for one in bins]
    weights = _ridge(np.concatenate(designs, axis=1) * root, root * y[rows])
    if weights is None:
        return None
    effects, first = np.zeros((m, players, y.shape[1])), 0
    for column, one in enumerate(bins):
        scale = _scale(one, rows)
        own = weights[first : first + one.count] * scale[:, None]
        first += one.count
        effects[:, owner[column]] += own[one.place]
    return np.asarray(effects - np.einsum("m,mpk->pk", mass, effects))


def slopes(scores: np.ndarray, alone: np.ndarray) -> np.ndarray | None:
    """Slopes (d, k) of a linear function of scores (m, d) that predictions (m, k) are near; None where they are not."""
    if len(scores) < FEWEST_ROWS:
        return None
    rows = slice(0, MOST_ROWS)
    with one_thread():
        return _ridge(scores[rows] - scores[rows].mean(axis=0), alone[rows] - alone[rows].mean(axis=0))


def _ridge(Z: np.ndarray, wanted: np.ndarray) -> np.ndarray | None:
    """Weights of ridge regression under the best penalty; None where they explain nothing."""
    size, basis = np.linalg.eigh(Z @ Z.T)
    size = np.maximum(size, 0.0)
    turned = basis.T @ wanted
    left_out = [_left_out(size, basis, turned, wanted, penalty) for penalty in PENALTIES]
    best = int(np.argmin(left_out))
    if left_out[best] >= (wanted**2).sum():
        return None
    return np.asarray(Z.T @ (basis @ (turned / (size + PENALTIES[best])[:, None])))


def _scale(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """By how much bins are scaled, (count,), so that a penalty weighs the same on all."""
    return np.asarray(1 / np.sqrt(np.maximum(np.bincount(bins.place[rows], minlength=bins.count), 1)))


def _design(bins: Bins, rows: np.ndarray) -> np.ndarray:
    """Which bin rows are in, centred and scaled, (r, count)."""
    is_in = np.eye(bins.count)[bins.place[rows]]
    return np.asarray((is_in - is_in.mean(axis=0)) * _scale(bins, rows))


def _left_out(size: np.ndarray, basis: np.ndarray, turned: np.ndarray, wanted: np.ndarray, penalty: float) -> float:
    """Sum of squared errors of ridge regression for rows that it was not fitted to."""
    shrunk = size / (size + penalty)
    error = wanted - basis @ (shrunk[:, None] * turned)
    leverage = np.minimum((basis**2) @ shrunk, 0.999)
    return float(((error / (1 - leverage)[:, None]) ** 2).sum())
