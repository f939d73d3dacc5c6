"""Linear forms: margins are weighted sums, so a step of a walk adds what a column brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import Link, mean_predictions, n_outputs

EXAMPLES_AT_ONCE = 8
FARTHEST = 600.0  # from zero that a margin may be, for its odds to be a number


@dataclass(frozen=True)
class Linear:
    """Margins z w + c, with weights w (D, K) and intercept c (K,).

    A row is seen by what each of the model's columns brings to the margins, (n, d, K).

    Examples
    --------
    >>> form = Linear(np.array([[2.0], [1.0]]), np.array([1.0]))
    >>> form.margins(form.encode(np.array([[1.0, 1.0]])))
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
        brought = np.zeros((len(z), int(self.owner.max()) + 1, self.n_margins))
        for column in range(brought.shape[1]):
            its = self.owner == column
            brought[:, column] = z[:, its] @ self.weights[its]
        return brought

    def margins(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows.sum(axis=1) + self.intercept)

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        """Running sums of what columns of x bring beyond those of b, in the order of arrival."""
        when, rows = entry_position[:, : x.shape[1]], b[background_index]  # (n, d), (n, q, d, K)
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)[:, None, :, None]
        moves = np.take_along_axis(x[:, None] - rows, order[:, None, :, None], axis=2)
        margins = np.cumsum(moves, axis=2, out=moves)
        known = np.where(ends < 0, 0.0, np.take_along_axis(margins, np.maximum(ends, 0), axis=2))
        return np.asarray((rows.sum(axis=2) + self.intercept)[:, :, None] + known)

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        kept = kept[:, : x.shape[1]]
        withheld = np.einsum("nd,bdk->nbk", (~kept).astype(np.float64), b, optimize=True)
        return np.asarray((np.einsum("nd,ndk->nk", kept, x) + self.intercept)[:, None] + withheld)

    def with_background(self, b: np.ndarray, mass: np.ndarray, link: Link) -> LinearEvaluator | OddsEvaluator:
        if link == "identity":  # the mean of a linear function is the function of the mean
            b, mass = b[:1] + np.einsum("m,mdk->dk", mass, b - b[:1]), np.ones(1)
        sums = LinearEvaluator(self, np.ascontiguousarray(b.transpose(1, 2, 0)), self.margins(b).T, mass, link)
        if link in ("logistic", "positive") and self.n_margins == 1:
            return OddsEvaluator(b[0, :, 0], sums.brought[:, 0] - sums.brought[:, 0, :1], sums)
        return sums


@dataclass(frozen=True)
class LinearEvaluator:
    """What background rows bring to the margins, (d, K, m), and their margins with nothing known, (K, m)."""

    representation: Linear
    brought: np.ndarray
    start: np.ndarray
    mass: np.ndarray
    link: Link

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        when = arrivals[:, : x.shape[1]]
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)
        found = np.empty((len(x), steps - 1, n_outputs(self.representation.n_margins, self.link)))
        for i in range(len(x)):
            path = np.empty((len(order[i]) + 1, *self.start.shape))  # (d + 1, K, m), the first with nothing known
            path[0] = self.start
            np.subtract(x[i, order[i], :, None], self.brought[order[i]], out=path[1:])
            for step in range(1, len(path)):  # a running sum over steps, whole rows at a time
                path[step] += path[step - 1]
            found[i] = mean_predictions(path[ends[i] + 1], self.mass, self.link)
        return found


@dataclass(frozen=True)
class OddsEvaluator:
    """The same for probabilities, by odds against: these are products, so that a step multiplies and no step takes exp.

    Columns count from those of one background row, ``origin`` (d,), beyond which background rows bring ``brought``
    (d, m): a column that is always the same brings nothing. ``sums`` does the same by margins, for rows whose odds are
    too large or too small to be numbers.
    """

    origin: np.ndarray
    brought: np.ndarray
    sums: LinearEvaluator

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        when = arrivals[:, : x.shape[1]]
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)
        moves = x[:, :, 0] - self.origin
        reach = np.abs(moves).sum(axis=1) + self._reach
        positive = np.empty((len(x), steps - 1))
        far = ~(reach < FARTHEST)
        if far.any():
            positive[far] = self.sums.walk(x[far], arrivals[far], steps)[:, :, -1]
        for near in _blocks(np.flatnonzero(~far)):
            means = self._means(moves[near], order[near])
            positive[near] = np.take_along_axis(means, ends[near] + 1, axis=1)
        both = [positive] if self.sums.link == "positive" else [1 - positive, positive]
        return np.stack(both, axis=-1)

    def _means(self, moves: np.ndarray, order: np.ndarray) -> np.ndarray:
        """Mean probabilities (n, d + 1) when no, one, ... columns have arrived.

        With odds a of the example's columns and o of background rows' they are the means of 1 / (1 + o / a), a times
        those of 1 / (a + o).
        """
        n, columns = order.shape
        means = np.empty((n, columns + 1))
        start, factors = self._odds
        odds, room = np.tile(start, (n, 1)), np.empty((n, len(start)))
        known = np.exp(np.cumsum(np.take_along_axis(moves, order, axis=1), axis=1))
        means[:, 0] = (1 / (1 + start)) @ self.sums.mass
        for place in range(columns):
            odds *= np.take(factors, order[:, place], axis=0, out=room, mode="clip")
            np.add(odds, known[:, place, None], out=room)
            means[:, place + 1] = np.reciprocal(room, out=room) @ self.sums.mass
        means[:, 1:] *= known
        return means

    @cached_property
    def _reach(self) -> float:
        """How far margins of background rows can be from zero along a walk."""
        return float(np.abs(self.sums.start).max() + np.abs(self.brought).max(axis=1).sum())

    @cached_property
    def _odds(self) -> tuple[np.ndarray, np.ndarray]:
        """Odds of background rows with nothing known, (m,), and the factors of what they bring, (d, m)."""
        return np.exp(-self.sums.start[0]), np.exp(self.brought)


def _blocks(numbers: np.ndarray) -> list[np.ndarray]:
    return [numbers[start : start + EXAMPLES_AT_ONCE] for start in range(0, len(numbers), EXAMPLES_AT_ONCE)]


def _ends(when: np.ndarray, steps: int) -> np.ndarray:
    """Place, in the order of arrival, of the last column at steps 1 to p - 1, (n, p - 1); -1 where none has arrived."""
    inner = np.arange(1, steps)
    return np.asarray((np.sort(when, axis=1)[:, None, :] <= inner[:, None]).sum(axis=2) - 1)
