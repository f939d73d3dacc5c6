"""
A removal of your own
=====================

A removal says which values stand for those that are unknown. It is an object with a method ``restrict``; here it
replaces them by numbers between the smallest and the largest of each column, all equally likely. For skewed columns
such rows are rather extreme, and values grow.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import clarysage as cs


@dataclass(frozen=True)
class Uniform:
    """Withheld features are drawn uniformly between the smallest and the largest background value."""

    background: np.ndarray
    name: str = "uniform"

    def restrict(self, predictor, X):
        """Returns the restricted model: that of marginal removal, with rows drawn here."""
        low, high = self.background.min(axis=0), self.background.max(axis=0)
        rows = np.random.default_rng(0).uniform(low, high, self.background.shape)
        return cs.Marginal(rows).restrict(predictor, X)


rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=800), rng.exponential(size=800), rng.normal(size=800)])
y = X[:, 0] + X[:, 1] + rng.normal(size=800)
model = LinearRegression().fit(X[:400], y[:400])

data = {"X": X[400:], "y": y[400:], "feature_names": ["symmetric", "skewed", "none"], "check_manifold": False, "rng": 0}
figure, axes = plt.subplots(1, 2, figsize=(11, 3), sharex=True, layout="constrained")
cs.sage(model, **data, removal=cs.Marginal(X[:400])).plot(ax=axes[0], title="marginal")
cs.sage(model, **data, removal=Uniform(X[:400])).plot(ax=axes[1], title="uniform, as defined here")
