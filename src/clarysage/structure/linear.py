"""Linear forms: margins are weighted sums, so a step of a walk adds what a column brings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.structure.links import Link, means, outputs_of

EXAMPLES_AT_ONCE = 8
FARTHEST = 600.0  # from zero that a margin may be, for its odds to be a number


@dataclass(frozen=True)
class Linear:
    """Margins z w + c, with weights w (D, K) and intercept c (K,).

    Examples
    --------
    >>> Linear(np.array([[2.0], [1.0]]), np.array([1.0])).alone(np.array([[1.0, 1.0]]))
    array([[4.]])
    """

    weights: np.ndarray
    intercept: np.ndarray
    owner: np.ndarray | None = None
    is_linear: bool = True
    takes_missing: bool = False

    @property
    def margins(self) -> int:
        return int(self.weights.shape[1])

    @property
    def is_used(self) -> np.ndarray:
        return np.asarray((self.weights != 0).any(axis=1))

    def thresholds(self) -> dict[int, np.ndarray]:
        return {}

    def owned(self, owner: np.ndarray) -> Linear:
        return replace(self, owner=owner)

    def seen(self, z: np.ndarray) -> np.ndarray:
        return z

    def alone(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows @ self.weights + self.intercept)

    def along(self, x: np.ndarray, b: np.ndarray, picks: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        """Running sums of w_i (x_i - b_i) in the order of arrival."""
        when, rows = self._when(arrivals), b[picks]  # (n, D), (n, q, D)
        order = np.argsort(when, axis=1, kind="stable")
        moves = np.take_along_axis(x[:, None, :] - rows, order[:, None, :], axis=2)[..., None]
        margins, ends = np.cumsum(moves * self.weights[order][:, None], axis=2), _ends(when, steps)[:, None, :, None]
        known = np.where(ends < 0, 0.0, np.take_along_axis(margins, np.maximum(ends, 0), axis=2))
        return np.asarray(self.alone(rows)[:, :, None] + known)

    def hybrid(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        is_kept = kept if self.owner is None else kept[:, self.owner]
        withheld = np.einsum("nd,dk,bd->nbk", ~is_kept, self.weights, b, optimize=True)
        return np.asarray(((x * is_kept) @ self.weights + self.intercept)[:, None] + withheld)

    def crowd(self, b: np.ndarray, mass: np.ndarray, link: Link) -> LinearCrowd | OddsCrowd:
        if link == "identity":  # the mean of a linear function is the function of the mean
            b, mass = mass[None] @ b, np.ones(1)
        brought, start = (b[:, :, None] * self.weights).transpose(1, 2, 0).copy(), self.alone(b).T
        if link in ("logistic", "positive") and self.margins == 1:
            return OddsCrowd(b[0], brought[:, 0] - brought[:, 0, :1], LinearCrowd(self, brought, start, mass, link))
        return LinearCrowd(self, brought, start, mass, link)

    def _when(self, arrivals: np.ndarray) -> np.ndarray:
        return arrivals if self.owner is None else arrivals[:, self.owner]


@dataclass(frozen=True)
class LinearCrowd:
    """What background rows bring to the margins, (D, K, m), and their margins with nothing known, (K, m)."""

    form: Linear
    brought: np.ndarray
    start: np.ndarray
    mass: np.ndarray
    link: Link

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        when = self.form._when(arrivals)
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)
        brought = x[:, :, None] * self.form.weights  # (n, D, K)
        found = np.empty((len(x), steps - 1, outputs_of(self.form.margins, self.link)))
        for i in range(len(x)):
            path = np.empty((len(order[i]) + 1, *self.start.shape))  # (D + 1, K, m), the first with nothing known
            path[0] = self.start
            np.subtract(brought[i, order[i], :, None], self.brought[order[i]], out=path[1:])
            for step in range(1, len(path)):  # a running sum over steps, whole rows at a time
                path[step] += path[step - 1]
            found[i] = means(path[ends[i] + 1], self.mass, self.link)
        return found


@dataclass(frozen=True)
class OddsCrowd:
    """The same for probabilities, by odds against: these are products, so that a step multiplies and no step takes exp.

    Columns count from those of one background row, ``origin`` (D,), beyond which background rows bring ``brought``
    (D, m): a column that is always the same brings nothing. ``sums`` does the same by margins, for rows whose odds are
    too large or too small to be numbers.
    """

    origin: np.ndarray
    brought: np.ndarray
    sums: LinearCrowd

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        when, weights = self.sums.form._when(arrivals), self.sums.form.weights[:, 0]
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)
        moves = (x - self.origin) * weights
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
        """Mean probabilities (n, D + 1) when no, one, ... columns have arrived.

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
        """Odds of background rows with nothing known, (m,), and the factors of what they bring, (D, m)."""
        return np.exp(-self.sums.start[0]), np.exp(self.brought)


def _blocks(numbers: np.ndarray) -> list[np.ndarray]:
    return [numbers[start : start + EXAMPLES_AT_ONCE] for start in range(0, len(numbers), EXAMPLES_AT_ONCE)]


def _ends(when: np.ndarray, steps: int) -> np.ndarray:
    """Place, in the order of arrival, of the last column at steps 1 to p - 1, (n, p - 1); -1 where none has arrived."""
    inner = np.arange(1, steps)
    return np.asarray((np.sort(when, axis=1)[:, None, :] <= inner[:, None]).sum(axis=2) - 1)
