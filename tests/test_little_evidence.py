"""Results that rest on a single row, or on nothing, say so, and are not praised for being exact."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

import clarysage as cs


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, X[:, 0] + 0.1 * rng.normal(size=40)


def linear(X):
    return X[:, 0] + X[:, 1] / 2


def warned(explanation, words):
    return [note for note in explanation.notes if words in note and note.level == "warning"]


@pytest.mark.parametrize("method", ["exact", "paired walks"])
def test_a_single_row_is_no_evidence_on_others(method, data):
    X, y = data
    explanation = cs.sage(linear, X[:1], y[:1], background=X[1:], method=method, rng=0)
    assert len(warned(explanation, "X has a single row")) == 1
    assert "no sampling error" not in str(explanation)
    assert "The values are those of a single row: of other rows they say nothing." in str(explanation)


def test_a_class_of_a_single_row_is_no_evidence_on_others(data):
    X, _ = data
    model = cs.as_predictor(linear, output="sigmoid")
    single, others = cs.sage(model, X, np.arange(40) > 0, per_class=True, background=X[:9], method="exact")
    assert "The values are those of a single row" in str(single)
    assert "The values are those of a single row" not in str(others)


def test_a_background_of_a_single_row_is_pointed_out(data):
    X, y = data
    explanation = cs.sage(linear, X[1:], y[1:], background=X[:1], rng=0)
    assert len(warned(explanation, "Background: one row")) == 1
    assert not warned(cs.sage(linear, X[1:], y[1:], background=X[:1], removal="baseline", rng=0), "Background: one row")


def test_a_response_that_is_the_same_in_all_rows_is_pointed_out(data):
    X, _ = data
    assert len(warned(cs.sage(linear, X, np.full(40, 3.0), rng=0), "y is 3.0 in every row")) == 1


@pytest.mark.parametrize("y", ["given", None])
def test_a_model_that_is_the_same_for_all_rows_is_pointed_out(y, data):
    X, numbers = data
    explanation = cs.sage(lambda X: np.full(len(X), 2.0), X, numbers if y else None, background=X[:9], rng=0)
    assert len(warned(explanation, "The model predicts the same for every row")) == 1
    assert (explanation.values == 0).all()


def test_ordinary_data_have_none_of_these_warnings(data):
    X, y = data
    for explanation in (cs.sage(linear, X, y, method="exact"), cs.sage(linear, X, background=X[:9])):
        assert not [
            note
            for words in ("single row", "one row", "in every row", "every row")
            for note in warned(explanation, words)
        ]
        assert "single row" not in str(explanation)
    assert "no sampling error" in str(cs.sage(linear, X, y, method="exact"))


def test_a_single_row_that_is_its_own_background_is_named_in_the_singular(data):
    X, y = data
    notes = cs.sage(linear, X[:1], y[:1], rng=0).notes
    assert any("Background: the only row of X, since none was given" in note for note in notes)


FULL = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 3)), columns=["Temp", "Wind", "Hour"])
EMPTY = FULL.assign(Temp=np.nan)
LOAD = FULL["Wind"] + np.random.default_rng(2).normal(size=60)
BLIND = make_pipeline(SimpleImputer(keep_empty_features=True), LinearRegression()).fit(FULL, LOAD)


@pytest.mark.parametrize(
    ("rows", "background", "words"),
    [
        (EMPTY, FULL, "'Temp' has no value in X. Check"),
        (FULL, EMPTY, "'Temp' has no value in the background. Check"),
        (EMPTY, EMPTY, "'Temp' has no value in X. 'Temp' has no value in the background. Check"),
        (EMPTY, None, "'Temp' has no value in X. Check"),
        (EMPTY.assign(Hour=np.nan), FULL, "'Temp', 'Hour' have no value in X. Check"),
        (EMPTY.assign(Temp=None), FULL, "'Temp' has no value in X. Check"),
    ],
    ids=["X", "background", "both", "X alone", "two", "None"],
)
def test_columns_without_any_value_are_named(rows, background, words):
    (note,) = warned(cs.sage(BLIND, rows, LOAD, background=background, rng=0), "no value in")
    assert words in str(note)


@pytest.mark.parametrize("removal", ["trees", "neighbours", "baseline", "product of marginals"])
def test_columns_without_any_value_are_named_whatever_the_removal(removal):
    groups = {"air": ["Temp", "Wind"]}
    explanation = cs.sage(BLIND, EMPTY, LOAD, background=FULL, removal=removal, groups=groups, rng=0)
    assert len(warned(explanation, "'Temp' has no value in X")) == 1


@pytest.mark.parametrize(
    "measure",
    [
        cs.permutation_importance,
        cs.conditional_permutation_importance,
        cs.mean_absolute_shap,
        cs.mean_loss_shap,
        cs.mean_importance,
        cs.shapley_effects,
        cs.drop_column_importance,
        cs.univariate_predictors,
        cs.universal_power,
        cs.shapley_net_effects,
    ],
)
def test_measures_name_columns_without_any_value(measure):
    assert len(warned(measure(BLIND, EMPTY, LOAD, rng=0), "'Temp' has no value in X")) == 1
    assert not warned(measure(BLIND, EMPTY.fillna({"Temp": LOAD[:1]}), LOAD, rng=0), "no value")


def test_interactions_and_training_rows_name_columns_without_any_value():
    assert "'Temp' has no value in X" in str(cs.interactions(BLIND, EMPTY, LOAD, rng=0))
    explanation = cs.drop_column_importance(BLIND, FULL, LOAD, train=(EMPTY, LOAD), rng=0)
    assert len(warned(explanation, "'Temp' has no value in the training rows")) == 1
