"""
Bars without intervals
======================

**Rule: do not read the order of bars without their intervals.** Eight features are worth exactly the same here. Bars
alone have an order all the same, and other rows have another one. The intervals say that the order is not
known.
"""

import matplotlib.pyplot as plt
import numpy as np

import clarysage as cs

rng = np.random.default_rng(0)
X = rng.normal(size=(360, 8))
y = X.sum(axis=1) + 2 * rng.normal(size=360)
names = [f"feature {letter}" for letter in "ABCDEFGH"]


def model(rows):
    """Predicts the sum of all columns."""
    return rows.sum(axis=1)


data = {"background": X[:200], "feature_names": names, "rng": 0}
first = cs.sage(model, X[200:280], y[200:280], **data)
second = cs.sage(model, X[280:], y[280:], **data)

figure, axes = plt.subplots(1, 3, figsize=(14, 3.8), layout="constrained")
for ax, explanation, title in zip(axes, [first, second], ["80 rows", "other 80 rows"], strict=False):
    order = np.argsort(explanation.values)
    ax.barh(np.array(names)[order], explanation.values[order])
    ax.set(title=f"wrong: bars of {title}", xlabel="SAGE value")
first.plot(ax=axes[2], title="right: with intervals")

# %%
for title, explanation in [("80 rows", first), ("other 80 rows", second)]:
    top = explanation.top(1)
    print(f"the largest of {title}: {top[0]}, certain: {top.is_certain}")
assert first.top(1) != second.top(1)
assert not first.top(1).is_certain
