"""Univariate predictors: closed forms of linear regression, refits by hand, and learners of all kinds.

Where data are drawn, an estimate may differ from the truth by five standard errors over the examples, and by the excess
risk of what was fitted, which is known to leading order and allowed for twice.
"""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage.models.least_squares import LeastSquares
from linear_laws import LinearLaw

FIVE = 5.0  # standard errors
LAWS = {"independent": lambda seed: LinearLaw.independent(), "correlated": LinearLaw.correlated}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    return X, 2 * X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=120)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("has_train", [False, True])
def test_values_of_linear_regression_are_the_variance_that_each_feature_explains(seed, law, has_train):
    law = LAWS[law](seed)
    rng = np.random.default_rng(seed)
    X, y = law.draw(3000, rng)
    options = {"train": law.draw(2400, rng)} if has_train else {}
    found = cs.univariate_predictors(None, X, y, learner=LinearRegression(), rng=seed, **options)
    error = found.target("rows").std_error
    excess = 2 * (law.variance - law.alone) / 2400 + law.variance / 2400  # of two coefficients, and of the constant
    assert np.all(np.abs(found.values - law.alone) <= FIVE * error + 2 * excess)
    assert np.all(error < 0.1 * law.alone.max())  # or this would say little
    assert found.constant == 0.0


@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_values_are_what_refits_by_hand_gain(data, loss):
    X, y = data
    found = cs.univariate_predictors(Ridge(), X[80:], y[80:], train=(X[:80], y[:80]), loss=loss, rng=0)

    def risk(prediction):
        off = np.abs(prediction - y[80:])
        return np.mean(off**2 if loss == "squared error" else off)

    constant = risk(np.mean(y[:80]) if loss == "squared error" else np.median(y[:80]))
    for i in range(4):
        one = Ridge().fit(X[:80, [i]], y[:80])
        assert found.values[i] == pytest.approx(constant - risk(one.predict(X[80:, [i]])))
    assert found.base == pytest.approx(constant)
    assert found.total == pytest.approx(constant - risk(Ridge().fit(X[:80], y[:80]).predict(X[80:])))
    assert found.power(["x1"]) == found.values[1]
    assert (found.measure, found.removal, found.method) == ("univariate predictors", "refit", "leave one in")
    assert found.fits == 5
    assert str(found).startswith(
        "Univariate predictors: how much each feature alone reduces the squared error"
        if loss[0] == "s"
        else "Univariate"
    )


def test_two_copies_of_a_feature_are_each_given_all_of_it(data):
    X, y = data
    found = cs.univariate_predictors(Ridge(), np.column_stack([X, X[:, 0]]), y, rng=0)
    assert found.values[0] == found.values[4] > 0.5 * found.total


def test_a_feature_that_helps_with_another_alone_is_worth_nothing():
    X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (50, 1))
    y = X[:, 0] != X[:, 1]
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    found = cs.univariate_predictors(tree, X, y.astype(float), loss="squared error", rng=0)
    assert np.all(np.abs(found.values) < 0.02)
    pair = cs.univariate_predictors(tree, X, y.astype(float), loss="squared error", groups={"both": [0, 1]}, rng=0)
    assert pair.feature_names == ("both",)
    assert pair.values[0] == pytest.approx(pair.total)
    assert pair.total > 0.2


def test_bits_do_not_depend_on_workers_and_losses_come_as_a_list(data):
    losses = ["squared error", "absolute error"]
    one, two = (
        cs.univariate_predictors(LeastSquares(), *data, folds=2, loss=losses, n_jobs=jobs, rng=7) for jobs in (1, 2)
    )
    assert [found.loss for found in one] == losses
    for first, second in zip(one, two, strict=True):
        assert first.values.tobytes() == second.values.tobytes()
        assert first.target("rows").std_error.tobytes() == second.target("rows").std_error.tobytes()


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(8)
    n = 200
    kind, size, weight = rng.choice(["red", "green", "blue"], size=n), rng.normal(size=n), rng.normal(size=n)
    y = 2 * size + 3 * (kind == "red") + 0.3 * rng.normal(size=n)
    X = pd.DataFrame({"size": size, "kind": pd.Categorical(kind), "weight": weight})
    return X, y, np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["cross entropy", "brier", "zero one"])
def test_classes_with_categories(mixed, classes, loss):
    X, _, level = mixed
    target = np.array(["low", "high", "top"])[np.minimum(level, classes - 1)]
    columns = make_column_transformer((StandardScaler(), ["size", "weight"]), (OneHotEncoder(), ["kind"]))
    model = make_pipeline(columns, LogisticRegression()).fit(X, target)
    found = cs.univariate_predictors(model, X, target, loss=loss, rng=0)
    assert found.top(1) == ["size"]
    assert found.values[2] < 0.2 * found.values[0]
    assert found.values[1] > 0 or loss == "zero one"  # no kind may have another class as its most frequent


BOOSTERS = {
    "catboost": (
        "CatBoostRegressor",
        {"iterations": 30, "depth": 4, "verbose": 0, "allow_writing_files": False, "cat_features": ["kind"]},
    ),
    "xgboost": ("XGBRegressor", {"n_estimators": 30, "max_depth": 4, "enable_categorical": True}),
    "lightgbm": ("LGBMRegressor", {"n_estimators": 30, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}),
}


@pytest.mark.parametrize("library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in BOOSTERS])
def test_boosters_with_categories_are_fitted_on_one_column(mixed, library):
    X, y, _ = mixed
    name, options = BOOSTERS[library]
    model = getattr(importlib.import_module(library), name)(**options).fit(X, y)
    found = cs.univariate_predictors(model, X, y, folds=2, rng=0)
    between = sum(
        (X["kind"] == k).mean() * (y[X["kind"] == k].mean() - y.mean()) ** 2 for k in ("red", "green", "blue")
    )
    assert set(found.top(2)) == {"size", "kind"}
    assert abs(found.values[1] - between) <= FIVE * found.target("rows").std_error[1]
    assert found.total > found.values.max()
