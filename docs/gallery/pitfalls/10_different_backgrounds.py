"""
Comparing runs with different backgrounds
=========================================

**Rule: compare explanations with the same background.** A model was moved to another program, which computes the same.
The old program is explained with rows of last year as the background, the new one with rows of this year. The income
seems to have changed: incomes have risen, so that a removed income is replaced by another one. With the same
background nothing has changed.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)


def year(mean_income, n=500):
    """Makes the customers of a year, with their spending."""
    X = pd.DataFrame({"income": rng.normal(mean_income, 1, n), "age": rng.normal(size=n)})
    return X, 2 * X["income"] + 2 * X["age"] + rng.normal(size=n)


(X_old, y_old), (X_new, _), (X, y) = year(0.0), year(1.5), year(1.5)
model = LinearRegression().fit(X_old, y_old)  # both programs are this one

data = {"X": X, "y": y, "check_manifold": False, "rng": 0}
names = ["old program", "new program"]
wrong = cs.compare(cs.sage(model, **data, background=X_old), cs.sage(model, **data, background=X_new), names=names)
right = cs.compare(cs.sage(model, **data, background=X_new), cs.sage(model, **data, background=X_new), names=names)

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
wrong.plot(ax=axes[0], title="wrong: each with its own background")
right.plot(ax=axes[1], title="right: one background for both")

# %%
print("changed, with two backgrounds:", wrong.changed)
print("changed, with one background:", right.changed)
print(*wrong.notes, sep="\n")
assert wrong.changed == ["income"]
assert not right.changed
