"""
Training rows as X
==================

**Rule: explain a model on rows that it was not fitted on.** A deep tree has learned its training rows by heart, and on
these even columns of noise seem to help.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(600, 4)), columns=["signal", "noise 1", "noise 2", "noise 3"])
y = X["signal"] + rng.normal(size=600)
model = DecisionTreeRegressor(max_depth=8, random_state=0).fit(X[:300], y[:300])

wrong = cs.sage(model, X[:300], y[:300], background=X[300:], check_manifold=False, rng=0)
right = cs.sage(model, X[300:], y[300:], background=X[:300], check_manifold=False, rng=0)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.3), sharex=True, layout="constrained")
wrong.plot(ax=axes[0], title="wrong: the rows it was fitted on")
right.plot(ax=axes[1], title="right: other rows")

# %%
# The noise, in total: it helped on the training rows, and it hurts on others.
noise = ["noise 1", "noise 2", "noise 3"]
print(f"noise on training rows: {sum(wrong[name] for name in noise):+.2f}")
print(f"noise on other rows:    {sum(right[name] for name in noise):+.2f}")
assert sum(wrong[name] for name in noise) > 0 > sum(right[name] for name in noise)
