"""
Rows that do not exist
======================

**Rule: if a note says that rows look unlike real ones, keep what belongs together, by a conditional removal or a
group.** Two thermometers always show nearly the same. Marginal removal combines the first of one day with the second
of another, and there this model is absurd: it has never seen such rows. Its values say how it behaves there.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import clarysage as cs

rng = np.random.default_rng(0)
inside = rng.normal(size=800)
X = pd.DataFrame({"sensor A": inside, "sensor B": inside + 0.1 * rng.normal(size=800), "sun": rng.normal(size=800)})
y = X["sensor A"] + X["sun"] + 0.3 * rng.normal(size=800)


def model(rows):
    """Predicts well for real rows, and absurdly where the sensors disagree."""
    return rows["sensor A"] + rows["sun"] + 3 * (rows["sensor A"] - rows["sensor B"]) ** 2


data = {"X": X[:400], "y": y[:400], "background": X[400:], "rng": 0}
with warnings.catch_warnings(record=True) as caught:
    wrong = cs.sage(model, **data)
explanations = {
    "wrong: marginal": wrong,
    "right: conditional": cs.sage(model, **data, removal="gaussian"),
    "right: as a group": cs.sage(model, **data, groups={"both sensors": ["sensor A", "sensor B"]}),
}
figure, axes = plt.subplots(1, 3, figsize=(14, 3.2), layout="constrained")
for ax, (title, explanation) in zip(axes, explanations.items(), strict=True):
    explanation.plot(ax=ax, title=title)

# %%
# What the library says of the first:
print(next(note for note in wrong.notes if "unlike real ones" in str(note)))
