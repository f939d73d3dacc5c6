"""Linear models: margins are weighted sums, so a step of a walk adds the contribution of one column.

For one probability under the logistic link, odds are multiplied instead, so that no step takes an exponential.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import Link, mean_predictions, n_outputs

EXAMPLES_AT_ONCE = 8
LARGEST_LOG_ODDS = 600.0  # in absolute value, for which odds and their inverses are finite


@dataclass(frozen=True)
class Linear:
    """Margins z w + c, with weights w (D, K) and intercept c (K,).

    An encoded row holds the contribution of each of the model's columns to the margins, (n, d, K).

    Examples
    --------
    >>> linear = Linear(np.array([[2.0], [1.0]]), np.array([1.0]))
    >>> linear.margins(linear.encode(np.array([[1.0, 1.0]])))
    array([[4.]])
    """

    weights: np.ndarray
    intercept: np.ndarray
    owner: np.ndarray | None = None
    is_linear: bool = True
    takes_missing: bool = False

    @property
    def n_margins(self) -> int:
        return int(self.weights.shape[1])

    @property
    def is_used(self) -> np.ndarray:
        return np.asarray((self.weights != 0).any(axis=1))

    def thresholds(self) -> dict[int, np.ndarray]:
        return {}

    def coefficients(self) -> np.ndarray:
        return self.weights

    def with_owner(self, owner: np.ndarray) -> Linear:
        return replace(self, owner=owner)

    def encode(self, z: np.ndarray) -> np.ndarray:
        if self.owner is None or np.array_equal(self.owner, np.arange(len(self.weights))):
            return np.asarray(z[:, :, None] * self.weights)
        contributions = np.zeros((len(z), int(self.owner.max()) + 1, self.n_margins))
        for column in range(contributions.shape[1]):
            is_of_column = self.owner == column
            contributions[:, column] = z[:, is_of_column] @ self.weights[is_of_column]
        return contributions

    def margins(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.sum(axis=1) + self.intercept)

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        """Returns running sums of the differences between contributions of x and of b, in the order of entry."""
        entry = entry_position[:, : x.shape[1]]  # (n, d)
        start = (b.sum(axis=1) + self.intercept)[background_index]  # (n, q, K)
        if steps == 2:
            return np.asarray(start + _change_at_once(x, b, background_index, entry == 1))[:, :, None]
        rows = b[background_index]  # (n, q, d, K)
        order, last = np.argsort(entry, axis=1, kind="stable"), _last_entered(entry, steps)[:, None, :, None]
        differences = np.take_along_axis(x[:, None] - rows, order[:, None, :, None], axis=2)
        sums = np.cumsum(differences, axis=2, out=differences)
        change = np.where(last < 0, 0.0, np.take_along_axis(sums, np.maximum(last, 0), axis=2))
        return np.asarray(start[:, :, None] + change)

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        is_kept = is_kept[:, : x.shape[1]]
        withheld = np.einsum("nd,bdk->nbk", (~is_kept).astype(np.float64), b, optimize=True)
        return np.asarray((np.einsum("nd,ndk->nk", is_kept, x) + self.intercept)[:, None] + withheld)

    def with_background(self, b: np.ndarray, row_weights: np.ndarray, link: Link) -> LinearEvaluator | OddsEvaluator:
        if link == "identity":  # the mean of a linear function is the function of the mean
            b, row_weights = b[:1] + np.einsum("m,mdk->dk", row_weights, b - b[:1]), np.ones(1)
        sums = LinearEvaluator(self, np.ascontiguousarray(b.transpose(1, 2, 0)), self.margins(b).T, row_weights, link)
        if link in ("logistic", "positive") and self.n_margins == 1:
            return OddsEvaluator(b[0, :, 0], sums.contributions[:, 0] - sums.contributions[:, 0, :1], sums)
        return sums


@dataclass(frozen=True)
class LinearEvaluator:
    """Mean predictions of a linear model over background rows, by running sums of margins.

    Attributes
    ----------
    contributions : (d, K, m) of the columns of background rows to the margins
    start : (K, m) margins of background rows, with no column known
    """

    linear: Linear
    contributions: np.ndarray
    start: np.ndarray
    row_weights: np.ndarray
    link: Link

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        entry = entry_position[:, : x.shape[1]]
        order, last = np.argsort(entry, axis=1, kind="stable"), _last_entered(entry, steps)
        means = np.empty((len(x), steps - 1, n_outputs(self.linear.n_margins, self.link)))
        for i in range(len(x)):
            path = np.empty((len(order[i]) + 1, *self.start.shape))  # (d + 1, K, m), the first with nothing known
            path[0] = self.start
            np.subtract(x[i, order[i], :, None], self.contributions[order[i]], out=path[1:])
            for step in range(1, len(path)):  # a running sum over steps, whole rows at a time
                path[step] += path[step - 1]
            means[i] = mean_predictions(path[last[i] + 1], self.row_weights, self.link)
        return means


@dataclass(frozen=True)
class OddsEvaluator:
    """Mean probabilities of one logistic margin, by products of odds against the positive class.

    Contributions are measured from those of one background row, so that a constant column has the factor 1. Examples
    whose odds might overflow are left to ``sums``.

    Attributes
    ----------
    origin : (d,) contributions of the first background row
    differences : (d, m) contributions of all background rows beyond ``origin``
    sums : evaluator of the same means by margins
    """

    origin: np.ndarray
    differences: np.ndarray
    sums: LinearEvaluator

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        entry = entry_position[:, : x.shape[1]]
        order, last = np.argsort(entry, axis=1, kind="stable"), _last_entered(entry, steps)
        x_differences = x[:, :, 0] - self.origin
        bound = np.abs(x_differences).sum(axis=1) + self._largest_margin
        positive = np.empty((len(x), steps - 1))
        may_overflow = ~(bound < LARGEST_LOG_ODDS)
        if may_overflow.any():
            positive[may_overflow] = self.sums.walk(x[may_overflow], entry_position[may_overflow], steps)[:, :, -1]
        for block in _blocks(np.flatnonzero(~may_overflow)):
            means = self._means(x_differences[block], order[block])
            positive[block] = np.take_along_axis(means, last[block] + 1, axis=1)
        both = [positive] if self.sums.link == "positive" else [1 - positive, positive]
        return np.stack(both, axis=-1)

    def _means(self, x_differences: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Returns mean probabilities (n, d + 1) with 0, 1, ..., d columns known.

        With odds a of the example's known columns and odds o of background rows' other columns they are the means of
        1 / (1 + o / a), which is a times the mean of 1 / (a + o).
        """
        n, columns = order.shape
        means = np.empty((n, columns + 1))
        start, factors = self._odds
        odds, buffer = np.tile(start, (n, 1)), np.empty((n, len(start)))
        x_odds = np.exp(np.cumsum(np.take_along_axis(x_differences, order, axis=1), axis=1))
        means[:, 0] = (1 / (1 + start)) @ self.sums.row_weights
        for step in range(columns):
            odds *= np.take(factors, order[:, step], axis=0, out=buffer, mode="clip")
            np.add(odds, x_odds[:, step, None], out=buffer)
            means[:, step + 1] = np.reciprocal(buffer, out=buffer) @ self.sums.row_weights
        means[:, 1:] *= x_odds
        return means

    @cached_property
    def _largest_margin(self) -> float:
        """An upper bound of the absolute margins of background rows along any walk."""
        return float(np.abs(self.sums.start).max() + np.abs(self.differences).max(axis=1).sum())

    @cached_property
    def _odds(self) -> tuple[np.ndarray, np.ndarray]:
        """Odds of background rows with nothing known, (m,), and the factor of each column, (d, m)."""
        return np.exp(-self.sums.start[0]), np.exp(self.differences)


def _change_at_once(x: np.ndarray, b: np.ndarray, background_index: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
    """Returns the change of margins (n, q, K) where columns ``is_kept`` (n, d) enter in one step, summed in order."""
    change = np.zeros((*background_index.shape, x.shape[2]))
    for column in np.flatnonzero(is_kept.any(axis=0)):
        difference = x[:, column][:, None] - b[:, column][background_index]
        change += np.where(is_kept[:, column, None, None], difference, 0.0)
    return change


def _blocks(numbers: np.ndarray) -> list[np.ndarray]:
    return [numbers[start : start + EXAMPLES_AT_ONCE] for start in range(0, len(numbers), EXAMPLES_AT_ONCE)]


def _last_entered(entry: np.ndarray, steps: int) -> np.ndarray:
    """Returns the rank, in order of entry, of the last known column at steps 1 to p - 1; -1 for none: (n, p - 1).

    Examples
    --------
    >>> _last_entered(np.array([[2, 5, 4]]), 5)  # at step 3 it is still the column that entered at step 2
    array([[-1,  0,  0,  1]])
    """
    n, width = len(entry), steps + 1
    counted = np.clip(entry, 0, steps) + width * np.arange(n)[:, None]
    entered = np.bincount(counted.ravel(), minlength=n * width).reshape(n, width).cumsum(axis=1)
    return np.asarray(entered[:, 1:steps] - 1)
