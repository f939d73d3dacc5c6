"""
Feature selection
=================

A model of fewer features, chosen by their SAGE values: the error falls quickly with the first few, and no longer
after that. The features are chosen on the training half, and the errors are those of the other half.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split

import clarysage as cs

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=1)
X_fit, X_choose, y_fit, y_choose = train_test_split(X_train, y_train, test_size=0.5, random_state=1)
model = LinearRegression().fit(X_fit, y_fit)
order = cs.sage(model, X_choose, y_choose, background=X_fit, removal="gaussian", rng=0).top(10)

orders = {"largest values first": order, "smallest values first": order[::-1]}
for label, names in orders.items():
    fits = [LinearRegression().fit(X_train[names[:k]], y_train) for k in range(1, 11)]
    errors = [mean_squared_error(y_test, fit.predict(X_test[names[:k]])) for k, fit in enumerate(fits, 1)]
    plt.plot(range(1, 11), errors, marker="o", label=label)
plt.xlabel("number of features")
plt.ylabel("mean squared error on other rows")
plt.legend()
plt.ylim(0)
