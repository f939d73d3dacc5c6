"""
Comparing two models
====================

Both explain the same rows with the same background, so that differences are computed row by row. A star marks a
difference that is significant after Holm's adjustment.
"""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X = X[["bmi", "bp", "s5", "s3", "age"]]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
data = {"X": X_test, "y": y_test, "background": X_train, "check_manifold": False, "rng": 0}
explanations = {
    "linear": cs.sage(LinearRegression().fit(X_train, y_train), **data),
    "tree": cs.sage(DecisionTreeRegressor(max_depth=2, random_state=0).fit(X_train, y_train), **data),
}
comparison = cs.compare(explanations)
comparison.plot()

# %%
print("changed:", *comparison.changed or ["nothing that is significant"])
