"""A warning, and only one, where X has rows that the model or the given background has seen; and no false alarm."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import clarysage as cs

STORING = {
    "neighbours": KNeighborsRegressor(),
    "Gaussian process": GaussianProcessRegressor(),
    "kernel ridge": KernelRidge(kernel="rbf"),
    "support vectors": SVR(epsilon=0.01),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsRegressor()),
    "search": GridSearchCV(
        make_pipeline(StandardScaler(), KNeighborsRegressor()), {"kneighborsregressor__n_neighbors": [3]}
    ),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=80)


def warnings_of(explanation):
    return [note for note in explanation.notes if note.topic == "seen rows"]


def explained(model, X, y, **options):
    return cs.sage(model, X, y, **{"budget": 4000, "rng": 0, "check_manifold": False, **options})


@pytest.mark.parametrize("name", STORING)
@pytest.mark.parametrize("shaped", [np.asarray, lambda X: pd.DataFrame(X, columns=["a", "b"])], ids=["array", "frame"])
def test_rows_that_a_model_stores_are_warned_of_once(name, shaped, data):
    X, y = data
    model = STORING[name].fit(shaped(X[:40]), y[:40])
    for background in (X[40:60], X[:40]):
        (warning,) = warnings_of(explained(model, shaped(X[:40]), y[:40], background=shaped(background)))
        assert "was fitted on: its loss on them is too small" in warning
        assert warning.level == "warning"
    assert not warnings_of(explained(model, shaped(X[40:]), y[40:], background=shaped(X[:20])))


def test_the_number_of_rows_is_stated(data):
    X, y = data
    model = KNeighborsRegressor().fit(X[:40], y[:40])
    (warning,) = warnings_of(explained(model, X[:60], y[:60], background=X[60:]))
    assert "40 of the 60 rows of X are rows that KNeighborsRegressor was fitted on" in warning
    (warning,) = warnings_of(explained(model, X[:40], y[:40], background=X[60:]))
    assert "All rows of X are rows that" in warning


def test_rows_of_the_given_background_are_warned_of(data):
    X, y = data
    model = LinearRegression().fit(X[:40], y[:40])
    for options in ({"background": X[:40]}, {"removal": cs.Marginal(X[:40])}):
        (warning,) = warnings_of(explained(model, X[:40], y[:40], **options))
        assert "All rows of X are rows of the background. If the model was fitted on them" in warning
    (warning,) = warnings_of(explained(model, X[:60], y[:60], background=X[:40]))
    assert "40 of the 60 rows of X are rows of the background" in warning


def test_there_is_no_false_alarm(data):
    X, y = data
    model = RandomForestRegressor(5, random_state=0).fit(X[:40], y[:40])
    assert not warnings_of(explained(model, X[:40], y[:40]))  # the default background is of X
    assert not warnings_of(explained(model, X[40:], y[40:], background=X[:40]))
    rounded = np.round(X)  # many rows are equal, but not those of the same individuals
    neighbours = KNeighborsRegressor().fit(rounded[:40], y[:40])
    assert not warnings_of(explained(neighbours, rounded[40:], y[40:], background=rounded[:20]))
    stored = KNeighborsRegressor().fit(X[:40], y[:40])
    assert not warnings_of(cs.shapley_effects(stored, X[:40], budget=4000, rng=0))  # which has no loss


@pytest.mark.parametrize("measure", [cs.permutation_importance, cs.mean_importance, cs.mean_loss_shap, cs.interactions])
def test_other_measures_warn_too(measure, data):
    X, y = data
    model = KNeighborsRegressor().fit(X[:40], y[:40])
    result = measure(model, X[:40], y[:40], background=X[40:60], rng=0)
    assert len(warnings_of(result)) == 1
