"""Distributions with known conditional expectations: correlated Gaussians, and a small discrete distribution."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np


class Gaussian:
    """Columns of unit variance with correlation ``rho`` between all of them, and a linear model."""

    def __init__(self, d: int = 5, rho: float = 0.7) -> None:
        self.covariance = np.full((d, d), rho) + (1 - rho) * np.eye(d)
        self.beta = np.linspace(1.5, -0.5, d)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return rng.multivariate_normal(np.zeros(len(self.beta)), self.covariance, size=n)

    def f(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z @ self.beta)

    @property
    def variance(self) -> float:
        return float(self.beta @ self.covariance @ self.beta)

    def expected(self, x: np.ndarray, coalition: np.ndarray) -> np.ndarray:
        """Returns E[f | x_S] for one coalition (d,)."""
        C, S = self.covariance, np.flatnonzero(coalition)
        rest = np.flatnonzero(~coalition)
        filled = x.copy()
        filled[:, rest] = x[:, S] @ np.linalg.solve(C[np.ix_(S, S)], C[np.ix_(S, rest)])
        return self.f(filled)


class Discrete:
    """Three columns of two, three and two values with any joint distribution, and a model with interactions."""

    def __init__(self, seed: int) -> None:
        self.cells = np.array(list(product([0.0, 1.0], [0.0, 1.0, 2.0], [0.0, 1.0])))
        self.law = np.random.default_rng(seed).dirichlet(np.full(len(self.cells), 2.0))

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        return self.cells[rng.choice(len(self.cells), size=n, p=self.law)]

    @staticmethod
    def f(Z: np.ndarray) -> np.ndarray:
        return np.asarray(Z[:, 0] + Z[:, 1] * Z[:, 2] - 2 * Z[:, 0] * Z[:, 1])

    def expected(self, x: np.ndarray, coalition: np.ndarray) -> np.ndarray:
        """Returns E[f | x_S] by enumeration."""
        alike = (self.cells[None, :, coalition] == x[:, None, coalition]).all(axis=2) * self.law
        return np.asarray(alike @ self.f(self.cells) / alike.sum(axis=1))


def coalitions(d: int) -> np.ndarray:
    """Returns all coalitions except the empty and the full one, (2^d - 2, d)."""
    return np.array(list(product([False, True], repeat=d)))[1:-1]


def mean_error(removal: Any, law: Any, X: np.ndarray) -> float:
    """Returns the mean squared error of f_S against E[f | x_S], over examples and all coalitions."""
    f_S = removal.restrict(law.f, X)
    errors = [
        (f_S.predict(X, np.tile(coalition, (len(X), 1)), None)[:, 0] - law.expected(X, coalition)) ** 2
        for coalition in coalitions(X.shape[1])
    ]
    return float(np.mean(errors))
