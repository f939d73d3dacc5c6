"""
Correlated features
===================

The model reads the first column alone, but the second one is nearly its copy. Marginal removal says what the model
uses; conditional removal also credits what is known through another column; a group asks no such question.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import clarysage as cs

rng = np.random.default_rng(0)
used = rng.normal(size=600)
X = pd.DataFrame({"used": used, "near copy": used + 0.3 * rng.normal(size=600), "other": rng.normal(size=600)})
y = 2 * X["used"] + X["other"] + rng.normal(size=600)


def model(rows):
    """Predicts from two of the three columns."""
    return 2 * rows["used"] + rows["other"]


data = {"X": X[:300], "y": y[:300], "background": X[300:], "rng": 0}
explanations = {
    "marginal": cs.sage(model, **data, check_manifold=False),
    "conditional (Gaussian)": cs.sage(model, **data, removal="gaussian"),
    "both in a group": cs.sage(model, **data, groups={"used and copy": ["used", "near copy"]}),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 3), sharex=True, layout="constrained")
for ax, (title, explanation) in zip(axes, explanations.items(), strict=True):
    explanation.plot(ax=ax, title=title)
