"""Columns that a model was not fitted on are left out of its tables, with a note that names them."""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import clarysage as cs

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "c"])
Y = X["a"] - 2 * X["b"] + RNG.normal(size=60)
MODEL = LinearRegression().fit(X, Y)
FOREST = RandomForestRegressor(5, max_depth=3, random_state=0).fit(X, Y)
EXTRA = {"id": range(60), "day": "monday"}
WITH_EXTRA = X.assign(**EXTRA)[["id", "a", "day", "b", "c"]]
LEFT_OUT = "X: left out the columns 'id', 'day', which LinearRegression was not fitted on."

CALLS = {
    "sage": lambda X: cs.sage(MODEL, X, Y, rng=0),
    "shapley effects": lambda X: cs.shapley_effects(MODEL, X, rng=0),
    "mean loss shap": lambda X: cs.mean_loss_shap(MODEL, X, Y, rng=0),
    "mean absolute shap": lambda X: cs.mean_absolute_shap(MODEL, X, rng=0),
    "permutation importance": lambda X: cs.permutation_importance(MODEL, X, Y, rng=0),
    "mean importance": lambda X: cs.mean_importance(MODEL, X, Y, rng=0),
    "drop column": lambda X: cs.drop_column_importance(MODEL, X, Y, rng=0),
    "drop column of other rows": lambda X: cs.drop_column_importance(MODEL, X, Y, train=(X, Y), rng=0),
    "univariate predictors": lambda X: cs.univariate_predictors(MODEL, X, Y, rng=0),
    "coefficient size": lambda X: cs.coefficient_size(MODEL, X),
    "a sample of the rows": lambda X: cs.sage(MODEL, X, Y, max_rows=40, rng=0),
    "groups": lambda X: cs.sage(MODEL, X, Y, groups={"both": ["a", "c"]}, rng=0),
}


def notes(result) -> list[str]:
    return [str(note) for note in result.notes]


@pytest.mark.parametrize("name", CALLS)
def test_extra_columns_change_no_value_and_are_named_in_a_note(name):
    plain, extra = CALLS[name](X), CALLS[name](WITH_EXTRA)
    assert extra.feature_names == plain.feature_names
    np.testing.assert_array_equal(extra.values, plain.values)
    assert notes(extra).count(LEFT_OUT) == 1
    assert not [note for note in notes(plain) if "left out" in note]


def test_extra_columns_of_the_background_and_of_training_rows_are_left_out_too():
    plain = cs.sage(MODEL, X, Y, background=X[:20], rng=0)
    extra = cs.sage(MODEL, X, Y, background=WITH_EXTRA[:20], rng=0)
    np.testing.assert_array_equal(extra.values, plain.values)
    assert LEFT_OUT.replace("X:", "background:") in notes(extra)
    refitted = cs.drop_column_importance(MODEL, X, Y, train=(WITH_EXTRA, Y), rng=0)
    np.testing.assert_array_equal(refitted.values, cs.drop_column_importance(MODEL, X, Y, train=(X, Y), rng=0).values)
    assert LEFT_OUT.replace("X:", "train:") in notes(refitted)


def test_measures_side_by_side_have_the_same_features():
    options = {"measures": ["sage", "squared correlation", "shapley net effects"], "rng": 0}
    plain, extra = cs.importances(MODEL, X, Y, **options), cs.importances(MODEL, WITH_EXTRA, Y, **options)
    pd.testing.assert_frame_equal(extra.to_frame(), plain.to_frame())
    assert all(notes(explanation).count(LEFT_OUT) == 1 for explanation in extra.values())


def test_interactions_and_the_quality_of_removals_leave_them_out():
    plain, extra = (cs.interactions(MODEL, table, Y, rng=0) for table in (X, WITH_EXTRA))
    assert extra.pairs == plain.pairs
    np.testing.assert_array_equal(extra.values, plain.values)
    plain, extra = (cs.removal_quality(["marginal", "gaussian"], MODEL, table, rng=0) for table in (X, WITH_EXTRA))
    np.testing.assert_array_equal(extra.scores, plain.scores)
    assert LEFT_OUT in notes(extra)


def test_a_column_that_is_the_response_is_not_said_to_be_left_out():
    explanation = cs.sage(MODEL, WITH_EXTRA.assign(y=Y), "y", rng=0)
    np.testing.assert_array_equal(explanation.values, cs.sage(MODEL, X, Y, rng=0).values)
    assert LEFT_OUT in notes(explanation)


def test_gains_and_splits_of_a_forest():
    for measure in (cs.gini_importance, cs.number_of_splits):
        plain, extra = measure(FOREST, X), measure(FOREST, WITH_EXTRA)
        np.testing.assert_array_equal(extra.values, plain.values)
        assert LEFT_OUT.replace("LinearRegression", "RandomForestRegressor") in notes(extra)


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("polars", "pyarrow")]
)
def test_frames_of_other_libraries(library):
    frames = importlib.import_module(library)
    make = frames.from_pandas if library == "polars" else frames.Table.from_pandas
    model = cs.as_predictor(lambda Z: np.asarray(Z)[:, :2].sum(axis=1), feature_names=["a", "b", "c"])
    plain, extra = (cs.sage(model, make(table), Y.to_numpy(), rng=0) for table in (X, WITH_EXTRA))
    np.testing.assert_array_equal(extra.values, plain.values)
    assert any("left out the columns 'id', 'day'" in note for note in notes(extra))


@pytest.mark.needs("lightgbm")
def test_names_in_the_spelling_of_lightgbm_are_no_extra_columns():
    from lightgbm import LGBMRegressor

    table = X.rename(columns={"a": "body mass"})
    model = LGBMRegressor(n_estimators=3, min_child_samples=5, verbose=-1).fit(table, Y)
    explanation = cs.sage(model, table.assign(**EXTRA), Y, rng=0)
    assert explanation.feature_names == ("body mass", "b", "c")
    assert any("left out the columns 'id', 'day'" in note for note in notes(explanation))


def test_a_table_without_a_column_of_the_model_is_an_error_that_names_both():
    with pytest.raises(cs.InputError, match="LinearRegression was fitted on: no 'b'; extra 'id', 'day'"):
        cs.sage(MODEL, WITH_EXTRA.drop(columns="b"), Y)


def test_every_column_is_a_feature_where_the_model_knows_none():
    explanation = cs.sage(lambda Z: Z["a"], WITH_EXTRA, Y, rng=0)
    assert explanation.feature_names == ("id", "a", "day", "b", "c")
    assert not [note for note in notes(explanation) if "left out" in note]


def test_learners_of_the_power_of_data_use_every_column():
    explanation = cs.universal_power(MODEL, WITH_EXTRA.drop(columns="day"), Y, rng=0)
    assert explanation.feature_names == ("id", "a", "b", "c")
