"""
Duplicated rows
===============

**Rule: intervals count rows; if several rows are one customer, explain one row of each.** Here every customer
occurs four times. Four copies know no more than one, but the intervals believe it, and are half as wide as they
should be. Two hundred samples of customers show how often they contain the value of the whole population.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import clarysage as cs

rng = np.random.default_rng(0)


def customers(n):
    """Makes customers with their spending."""
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["income", "age"])
    return X, 2 * X["income"] + X["age"] + 2 * rng.normal(size=n)


model = cs.as_predictor(lambda rows: 2 * rows["income"] + rows["age"])
background, _ = customers(200)
data = {"background": background, "check_manifold": False, "rng": 0}
truth = cs.sage(model, *customers(100_000), max_rows=100_000, **data)
