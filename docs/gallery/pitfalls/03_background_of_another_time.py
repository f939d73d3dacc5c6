"""
A background of another time
============================

**Rule: the background is a sample of the rows that the model will meet.** The model predicts the sale of ice in summer.
With rows of the winter as a background, a removed temperature becomes a frost, and most of its value is the
difference of the seasons. That it is summer is known to everyone, though, also without this column.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)


def season(mean, n=400):
    """Makes the days of a season, with their sales."""
    days = pd.DataFrame({"temperature": rng.normal(mean, 4, n), "visitors": rng.normal(50, 10, n)})
    return days, 2 * days["temperature"] + days["visitors"] + 5 * rng.normal(size=n)


winter, sales_in_winter = season(2)
summer, sales_in_summer = season(24)
model = LinearRegression().fit(pd.concat([winter, summer]), pd.concat([sales_in_winter, sales_in_summer]))

test = {"X": summer[:200], "y": sales_in_summer[:200], "check_manifold": False, "rng": 0}
wrong = cs.sage(model, **test, background=winter)
right = cs.sage(model, **test, background=summer[200:])
figure, axes = plt.subplots(1, 2, figsize=(11, 2.8), layout="constrained")
wrong.plot(ax=axes[0], title="wrong: background of the winter")
right.plot(ax=axes[1], title="right: background of the summer")

# %%
print(f"temperature: {wrong['temperature']:.0f} with the winter, {right['temperature']:.0f} with the summer")
assert right.top(1) == ["visitors"] != wrong.top(1)
