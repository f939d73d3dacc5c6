"""Ordinary and ridge least squares as a learner, for the very many fits that subsets of features need."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

ROUNDING = 16 * np.finfo(np.float64).eps  # relative deviation from the mean that counts as a constant column


class LeastSquares(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression of least norm, as in scikit-learn, without input checks, which would take longer than the fit.

    ``penalty`` multiplies the squared norm of the coefficients; rows weigh 1 on average.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])  # the same column twice
    >>> LeastSquares().fit(X, np.array([1.0, 3.0, 5.0])).coef_.round(6)
    array([1., 1.])
    """

    def __init__(self, penalty: float = 0.0) -> None:
        self.penalty = penalty

    def fit(self, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> LeastSquares:
        y = np.asarray(y, dtype=np.float64)
        centre, mean = np.average(X, axis=0, weights=sample_weight), np.average(y, axis=0, weights=sample_weight)
        rows, responses = X - centre, y - mean
        if sample_weight is not None:
            root = np.sqrt(sample_weight)
            rows, responses = root[:, None] * rows, (root * responses.T).T
        size = ROUNDING * np.abs(X if sample_weight is None else root[:, None] * X).max(axis=0)
        rows[:, np.abs(rows).max(axis=0) <= size] = 0.0  # constant columns, where only rounding errors would remain
        if self.penalty:
            alpha = self.penalty * (1.0 if sample_weight is None else float(np.mean(sample_weight)))
            rows = np.vstack([rows, np.sqrt(alpha) * np.eye(rows.shape[1])])
            responses = np.concatenate([responses, np.zeros((rows.shape[1], *y.shape[1:]))])
        self.coef_: Any = np.linalg.lstsq(rows, responses, rcond=None)[0]  # (q,) or (q, k)
        self.intercept_: Any = mean - centre @ self.coef_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X @ self.coef_ + self.intercept_)
