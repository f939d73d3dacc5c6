"""Linear models: predictions are a link of a weighted sum, so a walk updates margins instead of asking the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import expit, softmax

Link = Literal["identity", "logistic", "softmax", "exponential"]


@dataclass(frozen=True)
class LinearMap:
    """f(x) = link(x w + c), with weights w (d, k) and intercept c (k,).

    Examples
    --------
    >>> LinearMap(np.array([[2.0], [1.0]]), np.array([1.0]))(np.array([[1.0, 1.0]]))
    array([[4.]])
    """

    weights: np.ndarray
    intercept: np.ndarray
    link: Link = "identity"

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return self.linked(x @ self.weights + self.intercept)

    def linked(self, margins: np.ndarray) -> np.ndarray:
        """Predictions of margins (..., k)."""
        if self.link == "identity":
            return margins
        if self.link == "exponential":
            return np.asarray(np.exp(margins))
        if self.link == "softmax":
            return np.asarray(softmax(margins, axis=-1))
        positive = expit(margins)
        return np.concatenate([1 - positive, positive], axis=-1)

    def walk(self, x: np.ndarray, background: np.ndarray, mass: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
        """Mean predictions at the proper prefixes of a walk: (n, d), (m, d), (m,), (n, d) -> (n, p - 1, k).

        The margin of a hybrid row moves by w_i (x_i - b_i) when column i enters, so one running sum over the steps
        replaces p - 1 calls of the model.
        """
        steps, k = int(arrivals.max()), self.weights.shape[1]
        if self.link == "identity":  # the mean of a linear function is the function of the mean
            background, mass = mass[None] @ background, np.ones(1)
        start = (background @ self.weights + self.intercept).T  # (k, m), margins with nothing known
        from_x = x[:, :, None] * self.weights  # (n, d, k)
        from_background = (background[:, :, None] * self.weights).transpose(1, 2, 0).copy()  # (d, k, m)
        order = np.argsort(arrivals, axis=1, kind="stable")
        last = np.arange(1, steps)[None, :, None] >= np.sort(arrivals, axis=1)[:, None, :]
        ends = last.sum(axis=2) - 1  # place in ``order`` of the last column of each step, (n, p - 1)
        predictions = np.empty((len(x), steps - 1, 2 if self.link == "logistic" else k))
        for i in range(len(x)):
            path = from_x[i, order[i], :, None] - from_background[order[i]]  # (d, k, m)
            path[0] += start
            for step in range(1, len(path)):  # a running sum over steps, whole rows at a time
                path[step] += path[step - 1]
            predictions[i] = self._means(path[ends[i]], mass)
        return predictions

    def steps(self, x: np.ndarray, b: np.ndarray, arrivals: np.ndarray) -> np.ndarray:
        """Predictions at the proper prefixes of walks for each of q background rows b (n, q, d): (n, q, p - 1, k)."""
        inner = np.arange(1, int(arrivals.max()))
        order = np.argsort(arrivals, axis=1, kind="stable")
        moves = (
            np.take_along_axis(x[:, None, :] - b, order[:, None, :], axis=2)[..., None] * self.weights[order][:, None]
        )
        margins = (b @ self.weights + self.intercept)[:, :, None, :] + np.cumsum(moves, axis=2)
        ends = (np.sort(arrivals, axis=1)[:, None, :] <= inner[:, None]).sum(axis=2) - 1  # last column of each step
        return self.linked(np.take_along_axis(margins, ends[:, None, :, None], axis=2))

    def predict(self, x: np.ndarray, background: np.ndarray, mass: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Mean predictions with only the kept columns known: (n, d), (m, d), (m,), (n, d) -> (n, k)."""
        if self.link == "identity":
            background, mass = mass[None] @ background, np.ones(1)
        return self._means(self._margins(x, background, kept), mass)

    def each(self, x: np.ndarray, background: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Predictions with each background row: (n, d), (m, d), (n, d) -> (n, m, k)."""
        return self.linked(self._margins(x, background, kept).transpose(0, 2, 1))

    def _margins(self, x: np.ndarray, background: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """(n, k, m)."""
        withheld = np.einsum("nd,dk,bd->nkb", ~kept, self.weights, background, optimize=True)
        return np.asarray(((x * kept) @ self.weights + self.intercept)[:, :, None] + withheld)

    def _means(self, margins: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """Mean predictions of margins (p, k, m) over background rows of the given mass: (p, k)."""
        if self.link == "logistic":
            positive = expit(margins, out=margins) @ mass
            return np.concatenate([1 - positive, positive], axis=-1)
        return np.asarray(self.linked(margins.transpose(0, 2, 1)).transpose(0, 2, 1) @ mass)
