"""
What intervals are about
========================

The values of a linear model are exact for the rows at hand. Other rows, and another background, would still give
others: an interval says how different they could be, and about which of these changes.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = LinearRegression().fit(X_train, y_train)
explanation = cs.sage(model, X_test, y_test, background=X_train, rng=0)

figure, axes = plt.subplots(1, 3, figsize=(13, 4), sharex=True, layout="constrained")
for ax, about in zip(axes, ["data", "rows", "population"], strict=True):
    explanation.plot(ax=ax, about=about, title=f'about="{about}"')

# %%
# The width of an interval of ``bmi``: none about this data, most about the population of rows and background.
bmi = explanation.feature_names.index("bmi")
for about in ["data", "rows", "population"]:
    low, high = explanation.interval(about=about)
    print(f"{about:>10}: [{low[bmi]:.0f}, {high[bmi]:.0f}]")
