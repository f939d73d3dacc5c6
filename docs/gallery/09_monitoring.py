"""
Monitoring, and a unit that broke
=================================

Someone now sends seconds in place of minutes. The monitor compares a week of production with the reference, and says
in a sentence which feature it is.
"""

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression

import clarysage as cs

rng = np.random.default_rng(0)


def week(n):
    """Makes the calls of one week, with their prices."""
    rows = pd.DataFrame({"duration": rng.gamma(9, 0.5, n), "age": rng.normal(40, 9, n), "visits": rng.poisson(3, n)})
    return rows.assign(price=2 * rows["duration"] + 0.5 * rows["age"] + rng.normal(size=n))


train, reference, current = week(1000), week(1000), week(1000)
current["duration"] *= 60
features = ["duration", "age", "visits"]
model = LinearRegression().fit(train[features], train["price"])

monitoring = cs.monitor(model, reference, current, target="price", rng=0)
monitoring.plot()

# %%
print(monitoring)
