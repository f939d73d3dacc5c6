"""
A loss of your own
==================

Too late costs five times as much as too early. A loss is a function of the true and the predicted values that returns
one number for each example.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.exponential(size=(800, 3))
y = X[:, 0] + X[:, 1] + rng.normal(size=800)
model = LinearRegression().fit(X[:400], y[:400])


def lateness(arrival, forecast):
    """Minutes of waiting, or five times the minutes by which a train was missed."""
    late = forecast - arrival
    return np.where(late > 0, 5 * late, -late)


data = {"X": X[400:], "y": y[400:], "background": X[:200], "feature_names": ["traffic", "weather", "moon"], "rng": 0}
figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
cs.sage(model, **data).plot(ax=axes[0], title="squared error")
cs.sage(model, **data, loss=lateness).plot(ax=axes[1], title="lateness")
