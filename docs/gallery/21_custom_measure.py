"""
A measure of your own
=====================

A measure is a function that returns an explanation. This one asks what features are worth on the tenth of the rows
that the model predicts worst. With a row of the table of measures it stands beside the others.
"""

import numpy as np
from sklearn.linear_model import LinearRegression

import clarysage as cs


def sage_of_worst_rows(model, X, y, *, background=None, feature_names=None, rng=None):
    """SAGE values on the tenth of the rows that the model predicts worst."""
    errors = np.abs(y - model.predict(X))
    is_bad = errors >= np.quantile(errors, 0.9)
    return cs.sage(model, X[is_bad], y[is_bad], background=background, feature_names=feature_names, rng=rng)


rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 3))
y = 2 * X[:, 0] + 2 * X[:, 1] + rng.normal(size=2000)
y[X[:, 2] > 1.2] += 6 * X[X[:, 2] > 1.2, 1]  # where the third column is large, the second has another effect
model = LinearRegression().fit(X[:1000], y[:1000])

worst_rows = cs.Measure(
    "worst rows", "SAGE values on the rows that are predicted worst", "+++~~", "v_f", call=sage_of_worst_rows
)
names = ["steady", "changing", "switch"]
importances = cs.importances(
    model, X[1000:], y[1000:], measures=["sage", worst_rows], background=X[:200], feature_names=names, rng=0
)
importances.plot()
