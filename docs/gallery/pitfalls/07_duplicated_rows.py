"""
Duplicated rows
===============

**Rule: intervals take rows for independent; if several rows are one customer, explain one row of each.** Here every
customer occurs four times. Four copies know no more than one, but the intervals count them as four, and are about half
as wide as they should be. How often an interval contains the true value is tried with 200 samples of customers.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)


def customers(n):
    """Makes customers, with their spending."""
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["income", "age"])
    return X, 2 * X["income"] + X["age"] + 2 * rng.normal(size=n)


model = LinearRegression().fit(*customers(1000))
data = {"background": customers(200)[0], "check_manifold": False, "rng": 0}
truth = cs.sage(model, *customers(100_000), **data)["income"]

intervals = {"wrong: each customer four times": [], "right: each customer once": []}
for _ in range(200):
    X, y = customers(100)
    for collected, copies in zip(intervals.values(), [4, 1], strict=True):
        rows = np.repeat(np.arange(100), copies)
        collected.append(cs.sage(model, X.iloc[rows], y.iloc[rows], **data)["income"].interval(about="rows"))

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharex=True, layout="constrained")
for ax, (title, collected) in zip(axes, intervals.items(), strict=True):
    low, high = np.transpose(collected)
    is_right = (low <= truth) & (truth <= high)
    ax.hlines(np.arange(40), low[:40], high[:40], colors=np.where(is_right[:40], "0.6", "tab:red"))
    ax.axvline(truth, color="black", linewidth=1)
    ax.set(title=title, xlabel="SAGE value of income: the true one, and 40 intervals", yticks=[])
    print(f"{title}: {is_right.mean():.0%} of the 95 % intervals contain the true value")
