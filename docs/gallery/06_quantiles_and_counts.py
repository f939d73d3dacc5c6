"""
Models of quantiles and of counts
=================================

A model of the 0.9-quantile should not be judged by squared errors, nor one of counts. Here "auto" takes the loss that
each model was fitted with.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import PoissonRegressor, QuantileRegressor

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.uniform(size=(800, 3))
duration = 1 + X[:, 0] + (0.2 + 2 * X[:, 1]) * rng.exponential(size=800)  # column 1 spreads, column 0 shifts
visits = rng.poisson(np.exp(2 * X[:, 0] - 1))
names = ["shifts", "spreads", "none"]

figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
models = [(QuantileRegressor(quantile=0.9, alpha=0), duration), (PoissonRegressor(alpha=0), visits)]
for ax, (model, y) in zip(axes, models, strict=True):
    model.fit(X[:400], y[:400])
    explanation = cs.sage(model, X[400:], y[400:], background=X[:400], feature_names=names, rng=0)
    explanation.plot(ax=ax, title=f"{type(model).__name__}: {explanation.loss}")
