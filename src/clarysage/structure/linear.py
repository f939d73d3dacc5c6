"""Linear forms: margins are weighted sums, so a step of a walk adds what a column brings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clarysage.structure.links import Link, means, outputs_of


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
        margins = np.cumsum(moves * self.weights[order][:, None], axis=2)
        return np.asarray(self.alone(rows)[:, :, None] + np.take_along_axis(margins, _ends(when, steps), axis=2))

    def hybrid(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        is_kept = kept if self.owner is None else kept[:, self.owner]
        withheld = np.einsum("nd,dk,bd->nbk", ~is_kept, self.weights, b, optimize=True)
        return np.asarray(((x * is_kept) @ self.weights + self.intercept)[:, None] + withheld)

    def crowd(self, b: np.ndarray, mass: np.ndarray, link: Link) -> LinearCrowd:
        if link == "identity":  # the mean of a linear function is the function of the mean
            b, mass = mass[None] @ b, np.ones(1)
        brought = (b[:, :, None] * self.weights).transpose(1, 2, 0).copy()
        return LinearCrowd(self, brought, self.alone(b).T, mass, link)

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
        order, ends = np.argsort(when, axis=1, kind="stable"), _ends(when, steps)[:, 0, :, 0]
        brought = x[:, :, None] * self.form.weights  # (n, D, K)
        found = np.empty((len(x), steps - 1, outputs_of(self.form.margins, self.link)))
        for i in range(len(x)):
            path = brought[i, order[i], :, None] - self.brought[order[i]]  # (D, K, m)
            path[0] += self.start
            for step in range(1, len(path)):  # a running sum over steps, whole rows at a time
                path[step] += path[step - 1]
            found[i] = means(path[ends[i]], self.mass, self.link)
        return found


def _ends(when: np.ndarray, steps: int) -> np.ndarray:
    """Place, in the order of arrival, of the last column of each of the steps 1 to p - 1, (n, 1, p - 1, 1)."""
    inner = np.arange(1, steps)
    return np.asarray((np.sort(when, axis=1)[:, None, :] <= inner[:, None]).sum(axis=2) - 1)[:, None, :, None]
