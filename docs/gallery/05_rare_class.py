"""
A rare class
============

Three cases in a hundred are positive. Even without features the loss is then small, and so are the values: compare
them with each other and with their intervals, not with those of another problem. Weights let both classes count the
same.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.normal(size=(8000, 3))
y = rng.random(8000) < 1 / (1 + np.exp(5.5 - 2 * X[:, 0] - X[:, 1]))
X_train, X_test, y_train, y_test = X[:4000], X[4000:], y[:4000], y[4000:]
weights = np.where(y_test, 0.5 / y_test.mean(), 0.5 / (1 - y_test.mean()))
balanced = LogisticRegression(class_weight="balanced").fit(X_train, y_train)
plain = LogisticRegression().fit(X_train, y_train)

data = {"X": X_test, "y": y_test, "background": X_train[:256], "feature_names": ["strong", "weak", "none"], "rng": 0}
figure, axes = plt.subplots(1, 2, figsize=(10, 3), layout="constrained")
cs.sage(plain, **data).plot(ax=axes[0], title=f"as it is: {y_test.mean():.1%} positive")
cs.sage(balanced, **data, sample_weight=weights).plot(ax=axes[1], title="balanced model and weights")
