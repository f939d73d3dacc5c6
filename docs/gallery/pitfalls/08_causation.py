"""
Importance is not causation
===========================

**Rule: a value says what the model reads from a feature, and not what happens if somebody changes it.** Sun sells
ice, and sun burns. A model that does not know the sun predicts sunburns from the sale of ice, and the value of ice is
right: it helps to predict. To forbid ice would not prevent a single sunburn, though. Only an experiment tells, here
one within the simulation.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

n = 2000


def beach(rng, ice_is_forbidden=False):
    """Simulates days at a beach, with or without ice, and everything else the same."""
    sun, wind = rng.normal(5, 2, n), rng.normal(size=n)
    ice = (3 * sun + rng.normal(size=n)) * (not ice_is_forbidden)
    return pd.DataFrame({"ice": ice, "wind": wind}), 2 * sun - wind + rng.normal(size=n)


X, burns = beach(np.random.default_rng(0))
model = LinearRegression().fit(X[:1000], burns[:1000])
explanation = cs.sage(model, X[1000:], burns[1000:], background=X[:1000], rng=0)

# the same days without ice
forbidden, burns_without_ice = beach(np.random.default_rng(0), ice_is_forbidden=True)
means = {"before": burns.mean(), "predicted\nwithout ice": model.predict(forbidden).mean()}
means["what happens\nwithout ice"] = burns_without_ice.mean()

figure, axes = plt.subplots(1, 2, figsize=(11, 3), layout="constrained")
explanation.plot(ax=axes[0], title="what helps to predict sunburns")
axes[1].bar(means.keys(), means.values(), color=["0.6", "tab:orange", "tab:blue"], width=0.6)
axes[1].set(title="what happens if ice is forbidden", ylabel="sunburns a day")

# %%
for label, mean in means.items():
    print(f"{label.replace(chr(10), ' ')}: {mean:.1f}")
assert explanation.top(1) == ["ice"]
assert np.array_equal(burns, burns_without_ice)
