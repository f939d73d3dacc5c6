"""Least squares as a learner, for the very many fits that subsets of features take."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin

ROUNDING = 16 * np.finfo(np.float64).eps  # of a column, by which its cells may differ from their mean for nothing


class LeastSquares(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression of the least norm, as scikit-learn's but for checks of what it is handed, which take longer.

    ``penalty`` is that of the squared norm of coefficients, beside squared errors of rows that weigh 1 on average.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])  # twice the same column
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
        rows[:, np.abs(rows).max(axis=0) <= size] = 0.0  # constant columns, of which rounding alone would be left
        if self.penalty:
            alpha = self.penalty * (1.0 if sample_weight is None else float(np.mean(sample_weight)))
            rows = np.vstack([rows, np.sqrt(alpha) * np.eye(rows.shape[1])])
            responses = np.concatenate([responses, np.zeros((rows.shape[1], *y.shape[1:]))])
        self.coef_: Any = np.linalg.lstsq(rows, responses, rcond=None)[0]  # (q,) or (q, k)
        self.intercept_: Any = mean - centre @ self.coef_
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X @ self.coef_ + self.intercept_)
