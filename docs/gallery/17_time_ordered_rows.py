"""
Rows in the order of time
=========================

Split such rows by time: the model is fitted on the past, and explained on what came after. The intervals take rows for
independent, but a warm day follows a warm day, so that 300 days tell less than 300 independent rows. Intervals for
series do not exist here yet. Today's remedy takes whole months as the units.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)
days = 900
weather = np.zeros(days)
for day in range(1, days):
    weather[day] = 0.95 * weather[day - 1] + rng.normal()
X = pd.DataFrame({"weather": weather, "weekend": np.arange(days) % 7 >= 5, "price": rng.normal(size=days)})
demand = -2 * X["weather"] + 6 * X["weekend"] + X["price"] + rng.normal(size=days)

past, future = slice(0, 600), slice(600, days)
model = LinearRegression().fit(X[past], demand[past])
explanation = cs.sage(model, X[future], demand[future], background=X[past], rng=0)

# %%
# ``parts`` has the contribution of each row to each value. Their sums over months of 30 days are nearly independent.
months = 10 * explanation.parts.reshape(10, 30, -1).sum(axis=1)  # (month, feature): the values in each month
by_months = 2.26 * months.std(axis=0, ddof=1) / np.sqrt(10)  # Student's t, 9 degrees of freedom: 2.26
low, high = explanation.interval(about="rows")
for name, value, width, honest in zip(X, explanation.values, (high - low) / 2, by_months, strict=True):
    print(f"{name:>8}: {value:5.2f}, interval by rows ± {width:.2f}, by months ± {honest:.2f}")
assert by_months[0] > (high - low)[0]  # twice as wide at least, for the weather

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
explanation.plot(ax=axes[0], about="rows", title="all 300 days, intervals by rows")
axes[1].plot(np.arange(1, 11), months, marker="o", label=list(X))
axes[1].set(title="the same values in each month", xlabel="month of 30 days", ylabel="SAGE value")
axes[1].legend()
