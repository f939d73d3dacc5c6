"""
A background that is too small
==============================

**Rule: take a few hundred background rows.** Removed features are replaced by those of background rows. Five rows
happen to be high or low, and the values change with them; other five rows would rank the features differently.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = X[["bmi", "s5", "bp", "age"]]
model = LinearRegression().fit(X[:242], y[:242])

rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, rows, verdict in zip(axes, [5, 200], ["wrong", "right"], strict=True):
    values = []
    for _ in range(30):  # backgrounds
        background = X[:242].sample(rows, replace=True, random_state=rng)
        values.append(cs.sage(model, X[242:], y[242:], background=background, check_manifold=False, rng=0).values)
    heights = np.tile(np.arange(4), (30, 1)) + rng.uniform(-0.2, 0.2, (30, 4))
    ax.scatter(values, heights, s=12)
    ax.set(title=f"{verdict}: {rows} rows", xlabel="SAGE value, one dot for each of 30 backgrounds")
    s5_first = sum(np.argmax(row) == 1 for row in values)
    print(f"{rows:>3} rows: bmi from {np.min(values, axis=0)[0]:.0f} to {np.max(values, axis=0)[0]:.0f}, ", end="")
    print(f"s5 before bmi for {s5_first} of 30 backgrounds")
axes[0].set_yticks(range(4), X.columns)
axes[0].invert_yaxis()
