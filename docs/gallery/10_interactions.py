"""
Which features work together?
=============================

The model multiplies the price by the discount, and adds the effect of rain. Only the first two are worth more
together than alone.
"""

import numpy as np
import pandas as pd

import clarysage as cs

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(4000, 4)), columns=["price", "discount", "rain", "snow"])
y = X["price"] * X["discount"] + X["rain"] + 0.3 * rng.normal(size=4000)


def model(rows):
    """Predicts from a product and a sum."""
    return rows["price"] * rows["discount"] + rows["rain"]


interactions = cs.interactions(model, X[:2000], y[:2000], background=X[2000:], rng=0)
interactions.plot()
