"""
Categories and missing values in a pipeline
===========================================

The features are the columns of the table that the pipeline gets, with their categories, strings and missing cells.
"""

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import clarysage as cs

rng = np.random.default_rng(0)
n = 800
X = pd.DataFrame(
    {
        "district": rng.choice(["north", "south", "harbour"], n),
        "area": np.where(rng.random(n) < 0.2, np.nan, rng.gamma(9, 10, n)),
        "rooms": rng.integers(1, 6, n),
        "door": rng.choice(["red", "green"], n),
    }
)
price = 3 * X["area"].fillna(90) + 80 * (X["district"] == "harbour") + 20 * X["rooms"] + 40 * rng.normal(size=n)

columns = make_column_transformer(
    (OneHotEncoder(), ["district", "door"]), (SimpleImputer(), ["area"]), remainder="passthrough"
)
model = make_pipeline(columns, LinearRegression()).fit(X[:400], price[:400])

explanation = cs.sage(model, X[400:], price[400:], background=X[:400], rng=0)
explanation.plot(title="One bar for each column of the table")
