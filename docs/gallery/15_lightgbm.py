"""
LightGBM, natively
==================

The trees of the model are read and evaluated directly; the model itself is called only to check that they were read
correctly. A function around the same model hides its trees, so that it has to predict every row. The values agree.
"""

from unittest import mock

import lightgbm
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = lightgbm.LGBMRegressor(n_estimators=30, num_leaves=6, verbose=-1).fit(X_train, y_train)
data = {"X": X_test, "y": y_test, "background": X_train, "check_manifold": False, "rng": 0}

predict, rows_predicted = lightgbm.Booster.predict, [0]


def counted_predict(booster, rows, *args, **options):
    """Predicts as LightGBM does, and counts the rows."""
    rows_predicted[-1] += len(rows)
    return predict(booster, rows, *args, **options)


with mock.patch.object(lightgbm.Booster, "predict", counted_predict):
    native = cs.sage(model, **data)
    rows_predicted.append(0)
    row_by_row = cs.sage(lambda rows: model.predict(rows), **data)

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), sharex=True, layout="constrained")
native.plot(ax=axes[0], title=f"natively: {rows_predicted[0]:,} rows predicted by LightGBM")
row_by_row.plot(ax=axes[1], title=f"as a function: {rows_predicted[1]:,} rows")

# %%
# Natively, the values of these small trees are exact; those of the function are estimated.
print(f"natively:      {native.method}, largest standard error {native.std_error.max():.2g}")
print(f"as a function: {row_by_row.method}, largest standard error {row_by_row.std_error.max():.2g}")
print(f"largest difference: {np.abs(native.values - row_by_row.values).max():.2g}")
