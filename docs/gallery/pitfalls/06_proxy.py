"""
A proxy of a feature
====================

**Rule: that a model does not read a column does not mean that its predictions do not depend on it.** The model of
salaries does not get the sex, but the hours, which go with it. Marginal removal asks what the model reads, and says
zero. Conditional removal asks what knowing the sex would tell about its predictions.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)
sex = rng.choice(["f", "m"], 1200)
X = pd.DataFrame({"hours": 30 + 8 * (sex == "m") + 3 * rng.normal(size=1200), "school": rng.normal(12, 2, 1200)})
salary = X["hours"] + 2 * X["school"] + 3 * rng.normal(size=1200)
fitted = LinearRegression().fit(X[:600], salary[:600])
X["sex"] = sex


def model(rows):
    """Predicts without reading the sex."""
    return fitted.predict(rows[["hours", "school"]])


data = {"X": X[600:], "background": X[:600], "rng": 0}  # without y: the variance of the predictions is explained
wrong = cs.sage(model, **data, check_manifold=False)
right = cs.sage(model, **data, removal="copula", tolerance=0.05)
figure, axes = plt.subplots(1, 2, figsize=(11, 3), sharex=True, layout="constrained")
wrong.plot(ax=axes[0], title="wrong question: what does the model read?")
right.plot(ax=axes[1], title="right question: what tells about its predictions?")

# %%
print(f"sex: {wrong['sex']:.1f} by marginal, {right['sex']:.1f} by conditional removal")
predictions = pd.Series(model(X[600:]), X.index[600:])
print("mean prediction:", predictions.groupby(X["sex"][600:]).mean().round(1).to_dict())
assert wrong["sex"] == 0 < right["sex"].interval()[0]
