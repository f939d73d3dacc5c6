"""Gaussian features and a linear response, of which explained variances are known."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from oracle import shapley


class LinearLaw:
    """Y = X beta + noise, with X of the given covariance."""

    def __init__(self, covariance: np.ndarray, beta: np.ndarray, noise: float = 0.5) -> None:
        self.covariance, self.beta, self.noise = np.asarray(covariance), np.asarray(beta), noise
        self.d = len(self.beta)
        self.variance = float(self.beta @ self.covariance @ self.beta + noise**2)  # of Y

    @classmethod
    def correlated(cls, seed: int, d: int = 4) -> LinearLaw:
        rng = np.random.default_rng(seed)
        root = rng.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
        return cls(root @ root.T, rng.normal(size=d))

    @classmethod
    def independent(cls) -> LinearLaw:
        return cls(np.diag([1.0, 4.0, 0.25, 1.0]), np.array([2.0, 0.5, -1.0, 0.0]))

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.multivariate_normal(np.zeros(self.d), self.covariance, size=n)
        return X, X @ self.beta + self.noise * rng.normal(size=n)

    def explained(self, columns: tuple[int, ...]) -> float:
        """Var(E[Y | X_S])."""
        if not columns:
            return 0.0
        S = list(columns)
        c = self.covariance[S] @ self.beta  # Cov(X_S, Y)
        return float(c @ np.linalg.solve(self.covariance[np.ix_(S, S)], c))

    @property
    def net_effects(self) -> np.ndarray:
        """Shapley values of explained variance, by enumeration (Eq. 6)."""
        sets = [S for size in range(self.d + 1) for S in combinations(range(self.d), size)]
        return shapley({frozenset(S): self.explained(S) for S in sets}, self.d)

    @property
    def ablation(self) -> np.ndarray:
        """beta_i^2 Var(X_i | all others)."""
        return self.beta**2 / np.diag(np.linalg.inv(self.covariance))

    @property
    def alone(self) -> np.ndarray:
        """Cov(X_i, Y)^2 / Var(X_i)."""
        return (self.covariance @ self.beta) ** 2 / np.diag(self.covariance)

    def risk(self, coefficients: np.ndarray, intercept: float) -> float:
        """Mean squared error of a given linear model."""
        off = self.beta - coefficients
        return float(off @ self.covariance @ off + self.noise**2 + intercept**2)
