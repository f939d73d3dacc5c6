"""Anything fitted becomes a Predictor: each library against its own predictions, on arrays and on frames."""

from __future__ import annotations

import copy
import inspect
import pickle
import re
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn import linear_model, svm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

import clarysage as cs
from clarysage.models import adapter, libraries
from clarysage.models.onnx import class_labels
from clarysage.models.scikit_learn import LINKS
from clarysage.registry import loaded
from clarysage.structure.base import Structure
from clarysage.structure.linear import Linear

N, M, TRAIN = 40, 10, 200
NAMES = ["a", "b", "c"]
LIBRARIES = ("sklearn", "torch", "xgboost", "lightgbm", "catboost", "onnxruntime", "pandas", "polars")

_draws = np.random.default_rng(5)
X_TRAIN, X = _draws.normal(size=(TRAIN, 3)), _draws.normal(size=(N, 3))
BACKGROUND = X_TRAIN[:M]


def score(x: Any) -> np.ndarray:
    """What the responses are made of: 2 a - b + a c."""
    x = np.asarray(x, dtype=float)
    return 2 * x[:, 0] - x[:, 1] + x[:, 0] * x[:, 2]


def noisy(x: Any, seed: int = 0) -> np.ndarray:
    return score(x) + np.random.default_rng(seed).normal(size=len(x))


def binary(x: Any) -> np.ndarray:
    return (noisy(x) > 0).astype(int)


def three(x: Any) -> np.ndarray:
    return np.digitize(noisy(x), [-1, 1])


def frame(x: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(x, columns=NAMES)


def mixed(x: np.ndarray, kind: str = "category") -> pd.DataFrame:
    """Numbers, whole numbers and colours."""
    colours = np.array(["red", "green", "blue"])[np.digitize(x[:, 2], [-0.5, 0.5])]
    colour = pd.Categorical(colours, categories=["red", "green", "blue"]) if kind == "category" else list(colours)
    return pd.DataFrame({"a": x[:, 0], "b": np.round(2 * x[:, 1]).astype(int), "c": colour})


def assert_agreement(
    model: Any,
    own: Any,
    X: Any,
    y: Any,
    *,
    codes: Any = None,
    background: Any = None,
    loss: Any = "auto",
    atol: float = 1e-9,
) -> Any:
    """The explanation of a model, once it equals that of a plain callable around the library's own call.

    ``codes`` are the responses as class numbers, so that the callable owes nothing to how labels are read.
    """
    rows = {"background": X[:M] if background is None else background, "method": "exact"}
    ours = cs.sage(model, X, y, loss=loss, **rows)
    floor = ours.provenance.get("probability_floor") if ours.loss == "cross entropy" else None
    same_loss = ours.loss if floor is None else cs.CrossEntropy(floor=floor)  # which a callable does not know
    theirs = cs.sage(own, X, y if codes is None else codes, loss=same_loss, **rows)
    assert np.abs(ours.values).max() > 1e-3
    is_single = type(model).__module__.startswith("xgboost")  # which adds up in single precision
    rounding = 1e-6 * np.abs(theirs.values).max() if is_single else 0.0
    np.testing.assert_allclose(ours.values, theirs.values, rtol=0, atol=max(atol, rounding))
    return ours


def second(predict_proba: Any) -> Any:
    """A callable that returns the probability of the second class alone."""
    return lambda rows: predict_proba(rows)[:, 1]


# ---------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], ["yes", "no"], [1, 2], [-1, 1], [False, True], [0.0, 1.0], [10, -10]],
    ids=["strings", "strings the other way", "1 2", "-1 1", "booleans", "floats", "10 -10"],
)
@pytest.mark.parametrize("make", [LogisticRegression, DecisionTreeClassifier], ids=["logistic", "tree"])
def test_a_classifier_keeps_its_own_labels(labels, make):
    model = make(**({"max_depth": 3} if make is DecisionTreeClassifier else {}))
    model.fit(X_TRAIN, np.array(labels)[binary(X_TRAIN)])
    y = np.array(labels)[binary(X)]
    f = cs.as_predictor(model)
    assert f.classes == tuple(sorted(labels))
    assert (f.task, f.hard) == ("classification", False)
    np.testing.assert_array_equal(f(X), model.predict_proba(X))
    assert_agreement(model, model.predict_proba, X, y, codes=np.searchsorted(model.classes_, y))


def test_labels_of_y_need_not_hold_every_class():
    model = LogisticRegression().fit(X_TRAIN, 1 + three(X_TRAIN))
    few = three(X) < 2
    assert_agreement(model, model.predict_proba, X[few], 1 + three(X)[few], codes=three(X)[few])


def test_a_label_that_the_model_does_not_have_is_an_error():
    model = LogisticRegression().fit(X_TRAIN, np.array(["no", "yes"])[binary(X_TRAIN)])
    with pytest.raises(cs.InputError, match=r"maybe.*'no', 'yes'"):
        cs.sage(model, X, np.where(X[:, 0] > 0, "yes", "maybe"), background=BACKGROUND)


CLASSIFIERS = {
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "grid search": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "random search": lambda: RandomizedSearchCV(DecisionTreeClassifier(), {"max_depth": [2, 3]}, n_iter=2, cv=2),
    "search over a pipeline": lambda: GridSearchCV(
        make_pipeline(StandardScaler(), DecisionTreeClassifier()), {"decisiontreeclassifier__max_depth": [2]}, cv=2
    ),
    "soft vote": lambda: VotingClassifier(
        [("one", LogisticRegression()), ("two", DecisionTreeClassifier(max_depth=3))], voting="soft"
    ),
    "calibrated": lambda: CalibratedClassifierCV(LinearSVC(), cv=2),
    "forest": lambda: RandomForestClassifier(n_estimators=5, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=5),
}


@pytest.mark.parametrize("make", CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
def test_a_fitted_classifier_answers_as_its_predict_proba(make, shaped):
    model = make().fit(shaped(X_TRAIN), np.array(["no", "yes"])[binary(X_TRAIN)])
    y = np.array(["no", "yes"])[binary(X)]
    f = cs.as_predictor(model)
    np.testing.assert_array_equal(f(shaped(X)), model.predict_proba(shaped(X)))
    assert f.feature_names == (tuple(NAMES) if shaped is frame else None)
    found = assert_agreement(model, model.predict_proba, shaped(X), y, codes=binary(X))
    assert found.loss == "cross entropy"


def test_a_forest_of_three_classes_answers_as_its_predict_proba():
    labels = np.array(["low", "mid", "top"])
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X_TRAIN, labels[three(X_TRAIN)])
    for loss in ("cross entropy", "brier", "zero one"):
        assert_agreement(model, model.predict_proba, X, labels[three(X)], codes=three(X), loss=loss)


HARD = {
    "linear svc": LinearSVC,
    "svc": SVC,
    "ridge": RidgeClassifier,
    "hard vote": lambda: VotingClassifier([("one", LogisticRegression()), ("two", LinearSVC())], voting="hard"),
}


@pytest.mark.parametrize("make", HARD.values(), ids=HARD)
@pytest.mark.parametrize("labels", [["low", "mid", "top"], [3, 1, 2]], ids=["strings", "numbers"])
def test_a_classifier_without_probabilities_votes_and_is_judged_by_zero_one(make, labels):
    labels = np.array(labels)
    model = make().fit(X_TRAIN, labels[three(X_TRAIN)])
    f = cs.as_predictor(model)
    assert f.hard
    np.testing.assert_array_equal(f(X), model.predict(X)[:, None] == np.unique(labels))
    found = assert_agreement(
        model,
        lambda rows: (model.predict(rows)[:, None] == np.unique(labels)).astype(float),
        X,
        labels[three(X)],
        codes=np.searchsorted(np.unique(labels), labels[three(X)]),
    )
    assert found.loss == "zero one"


def test_the_vote_of_labels_of_several_types_is_counted():
    class Mixed:
        classes_ = np.array([1, "one", True], dtype=object)

        def predict(self, rows):
            return np.array([1, "one"], dtype=object)[(rows[:, 0] > 0).astype(int)]

    np.testing.assert_array_equal(cs.as_predictor(Mixed())(X)[:, 1], X[:, 0] > 0)


@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
@pytest.mark.parametrize("make", [LinearRegression, partial(HistGradientBoostingRegressor, max_iter=5)])
def test_a_regressor_answers_as_its_predict(make, shaped):
    model = make().fit(shaped(X_TRAIN), noisy(X_TRAIN))
    f = cs.as_predictor(model)
    assert f.task == "regression"
    np.testing.assert_array_equal(f(shaped(X))[:, 0], model.predict(shaped(X)))
    assert assert_agreement(model, model.predict, shaped(X), noisy(X)).loss == "squared error"


def test_a_regressor_of_several_responses_is_judged_on_all_of_them():
    both = np.column_stack([noisy(X_TRAIN), X_TRAIN[:, 2]])
    y = np.column_stack([noisy(X), X[:, 2]])
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X_TRAIN, both)
    found = assert_agreement(model, model.predict, X, y)
    one = assert_agreement(lambda rows: model.predict(rows)[:, 0], lambda rows: model.predict(rows)[:, 0], X, y[:, 0])
    two = assert_agreement(lambda rows: model.predict(rows)[:, 1], lambda rows: model.predict(rows)[:, 1], X, y[:, 1])
    np.testing.assert_allclose(found.values, one.values + two.values, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [MultiOutputClassifier(LogisticRegression()), RandomForestClassifier(n_estimators=2)],
    ids=["multi-output", "forest"],
)
def test_a_classifier_of_several_responses_is_refused(model):
    model = copy.deepcopy(model).fit(X_TRAIN, np.column_stack([binary(X_TRAIN), three(X_TRAIN)]))
    with pytest.raises(
        cs.ModelError, match="2 responses that are not zeros and ones; wanted a classifier with one response"
    ):
        cs.as_predictor(model)


def test_gradient_boosting_takes_missing_cells_and_categories():
    train, test = mixed(X_TRAIN), mixed(X)
    train.loc[::7, "a"] = np.nan
    test.loc[::5, "a"] = np.nan
    test.loc[3, "c"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype").fit(train, binary(X_TRAIN))
    np.testing.assert_array_equal(cs.as_predictor(model)(test), model.predict_proba(test))
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


def test_a_pipeline_encodes_strings_of_a_frame():
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    train, test = mixed(X_TRAIN, "string"), mixed(X, "string")
    model = make_pipeline(encoder, LogisticRegression()).fit(train, binary(X_TRAIN))
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


def test_a_pipeline_encodes_strings_of_an_array_of_objects():
    encoder = make_column_transformer((OneHotEncoder(), [2]), remainder="passthrough")
    train, test = (mixed(x, "string").astype(object).to_numpy() for x in (X_TRAIN, X))
    model = make_pipeline(encoder, LogisticRegression()).fit(train, binary(X_TRAIN))
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


def test_nullable_whole_numbers_reach_the_model_as_they_are():
    seen: list[Any] = []

    def watch(rows):
        seen.append(rows.dtypes["b"])
        return rows.fillna(0)

    train = frame(X_TRAIN).assign(b=pd.array(np.round(X_TRAIN[:, 1]), dtype="Int64"))
    test = frame(X).assign(b=pd.array(np.round(X[:, 1]), dtype="Int64"))
    test.loc[::6, "b"] = pd.NA
    model = make_pipeline(FunctionTransformer(watch), LinearRegression()).fit(train, noisy(X_TRAIN))
    assert_agreement(model, lambda rows: model.predict(rows), test, noisy(X), background=train[:M])
    assert {str(dtype) for dtype in seen} == {"Int64"}


@pytest.mark.needs("polars")
def test_a_model_fitted_on_polars_gets_polars():
    import polars as pl

    def double(rows):
        assert isinstance(rows, pl.DataFrame)
        return rows.with_columns(pl.col("a") * 2)

    def shaped(x):
        return pl.DataFrame(dict(zip(NAMES, x.T, strict=True)))

    model = make_pipeline(FunctionTransformer(double), StandardScaler(), LogisticRegression())
    model.fit(shaped(X_TRAIN), binary(X_TRAIN))
    assert_agreement(model, second(model.predict_proba), shaped(X), binary(X), background=shaped(BACKGROUND))


@pytest.mark.needs("polars")
def test_strings_of_a_polars_frame_pass_through_a_column_transformer():
    import polars as pl

    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    train, test = (pl.DataFrame(mixed(x, "string").to_dict("list")) for x in (X_TRAIN, X))
    model = make_pipeline(encoder, LogisticRegression()).fit(train, binary(X_TRAIN))
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


@pytest.mark.needs("pyarrow")
def test_an_arrow_table_becomes_a_frame_for_a_model_that_knows_names():
    import pyarrow as pa

    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    train, test = mixed(X_TRAIN, "string"), mixed(X, "string")
    model = make_pipeline(encoder, LogisticRegression()).fit(train, binary(X_TRAIN))
    table, rows = (pa.Table.from_pandas(part, preserve_index=False) for part in (test, train[:M]))
    found = cs.sage(model, table, binary(X), background=rows, method="exact")
    wanted = cs.sage(second(model.predict_proba), test, binary(X), background=train[:M], method="exact")
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-9)


def test_columns_in_another_order_are_put_in_the_order_of_the_model():
    model = HistGradientBoostingRegressor(max_iter=5).fit(frame(X_TRAIN), noisy(X_TRAIN))
    other = ["c", "a", "b"]
    f = cs.as_predictor(model)
    np.testing.assert_array_equal(f(frame(X)[other]), f(frame(X)))
    one = cs.sage(model, frame(X), noisy(X), background=frame(BACKGROUND), method="exact")
    two = cs.sage(model, frame(X)[other], noisy(X), background=frame(BACKGROUND), method="exact")
    assert two.feature_names == tuple(other)
    np.testing.assert_array_equal(two.values, one.values[[2, 0, 1]])


def test_a_frame_with_a_column_named_columns_or_column_names_is_a_frame():
    names = ["columns", "column_names", "c"]
    model = LinearRegression().fit(frame(X_TRAIN).set_axis(names, axis=1), noisy(X_TRAIN))
    test = frame(X).set_axis(names, axis=1)
    np.testing.assert_array_equal(cs.as_predictor(model)(test[names[::-1]])[:, 0], model.predict(test))


@pytest.mark.parametrize(("columns", "said"), [(["a", "b"], "no 'c'"), (["a", "b", "d"], "no 'c'; extra 'd'")])
def test_missing_columns_are_named_with_those_that_may_stand_for_them(columns, said):
    model = LinearRegression().fit(frame(X_TRAIN), noisy(X_TRAIN))
    with pytest.raises(cs.InputError, match=said):
        cs.sage(model, frame(X).assign(d=1.0)[columns], noisy(X))


def test_arrays_go_to_a_model_fitted_on_a_frame_without_a_word_of_warning(recwarn):
    model = LinearRegression().fit(frame(X_TRAIN), noisy(X_TRAIN))
    found = cs.sage(model, X, noisy(X), background=BACKGROUND, method="exact")
    wanted = cs.sage(model, frame(X), noisy(X), background=frame(BACKGROUND), method="exact")
    assert found.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert [str(one.message) for one in recwarn] == []


def test_frames_go_to_a_model_fitted_on_arrays_without_a_word_of_warning(recwarn):
    model = LogisticRegression().fit(X_TRAIN, binary(X_TRAIN))
    found = cs.sage(model, frame(X), binary(X), background=frame(BACKGROUND), method="exact")
    wanted = cs.sage(model, X, binary(X), background=BACKGROUND, method="exact")
    np.testing.assert_array_equal(found.values, wanted.values)
    assert [str(one.message) for one in recwarn] == []


def test_a_transformer_is_not_a_model():
    with pytest.raises(cs.ModelError, match="StandardScaler, which has no method 'predict'"):
        cs.as_predictor(StandardScaler().fit(X_TRAIN))


def test_a_clusterer_has_no_task():
    model = KMeans(2, n_init=1, random_state=0).fit(X_TRAIN)
    f = cs.as_predictor(model)
    assert f.task is None
    np.testing.assert_array_equal(f(X)[:, 0], model.predict(X))


UNFITTED = {
    "LogisticRegression": ("sklearn", LogisticRegression),
    "LinearRegression": ("sklearn", LinearRegression),
    "LinearSVC": ("sklearn", LinearSVC),
    "RandomForestRegressor": ("sklearn", RandomForestRegressor),
    "Pipeline": ("sklearn", lambda: make_pipeline(StandardScaler(), LogisticRegression())),
    "GridSearchCV": ("sklearn", lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]})),
    "XGBClassifier": ("xgboost", lambda: _library("xgboost").XGBClassifier()),
    "XGBRegressor": ("xgboost", lambda: _library("xgboost").XGBRegressor()),
    "Booster": ("xgboost", lambda: _library("xgboost").Booster()),
    "LGBMClassifier": ("lightgbm", lambda: _library("lightgbm").LGBMClassifier()),
    "LGBMRegressor": ("lightgbm", lambda: _library("lightgbm").LGBMRegressor()),
    "CatBoostClassifier": ("catboost", lambda: _library("catboost").CatBoostClassifier()),
    "CatBoostRegressor": ("catboost", lambda: _library("catboost").CatBoostRegressor()),
}


def _library(name: str) -> Any:
    return __import__(name)


@pytest.mark.parametrize(
    ("name", "make"),
    [pytest.param(name, make, marks=pytest.mark.needs(library)) for name, (library, make) in UNFITTED.items()],
    ids=UNFITTED,
)
def test_a_model_that_was_not_fitted_is_refused(name, make):
    with pytest.raises(cs.ModelError, match=f"{name}, which is not fitted.*Try model.fit"):
        cs.as_predictor(make())


class Careless(RegressorMixin, BaseEstimator):
    """An estimator of a user's own, which keeps nothing under a name that ends in an underscore."""

    def __init__(self, weight=2.0):
        self.weight = weight

    def fit(self, X, y):
        return self

    def predict(self, rows):
        return self.weight * np.asarray(rows)[:, 0]


class LateRegression(LinearRegression):
    """A subclass in a module of the user's own."""


class CarelessClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of a user's own that does not say what its classes are."""

    def fit(self, X, y):
        return self

    def predict_proba(self, rows):
        positive = expit(score(rows))
        return np.column_stack([1 - positive, positive])


def test_an_estimator_of_ones_own_need_not_look_fitted():
    np.testing.assert_array_equal(cs.as_predictor(Careless())(X)[:, 0], 2 * X[:, 0])
    assert cs.as_predictor(Careless()).task == "regression"
    own = CarelessClassifier()
    assert_agreement(own, own.predict_proba, X, binary(X))


def test_a_subclass_that_was_not_fitted_is_told_so_when_it_predicts():
    with pytest.raises(cs.ModelError, match="LateRegression, which is not fitted"):
        cs.sage(LateRegression(), X, noisy(X), background=BACKGROUND)


# ------------------------------------------------------------------------------------ outputs that the user names


def test_a_named_method_is_called():
    model = LogisticRegression().fit(X_TRAIN, three(X_TRAIN))
    for output in ("decision_function", "predict_log_proba"):
        f = cs.as_predictor(model, output=output)
        assert (f.task, f.classes) == (None, None)
        np.testing.assert_array_equal(f(X), getattr(model, output)(X))
    np.testing.assert_array_equal(cs.as_predictor(model, output="predict_proba")(X), model.predict_proba(X))
    scaler = StandardScaler().fit(X_TRAIN)
    np.testing.assert_array_equal(cs.as_predictor(scaler, output="transform")(X), scaler.transform(X))


def test_the_labels_of_a_classifier_are_votes():
    model = LogisticRegression().fit(X_TRAIN, np.array(["low", "mid", "top"])[three(X_TRAIN)])
    f = cs.as_predictor(model, output="predict")
    assert f.hard
    np.testing.assert_array_equal(f(X), model.predict(X)[:, None] == model.classes_)


def test_naming_the_usual_method_changes_nothing():
    regressor, classifier = LinearRegression().fit(X_TRAIN, noisy(X_TRAIN)), LogisticRegression()
    classifier.fit(X_TRAIN, binary(X_TRAIN))
    for model, output in ((regressor, "predict"), (classifier, "predict_proba")):
        usual, named = cs.as_predictor(model), cs.as_predictor(model, output=output)
        assert (usual.task, usual.classes) == (named.task, named.classes)
        assert named.structure is not None


def test_sigmoid_and_softmax_turn_decisions_into_probabilities():
    two = LinearSVC().fit(X_TRAIN, binary(X_TRAIN))
    many = LogisticRegression().fit(X_TRAIN, three(X_TRAIN))
    f = cs.as_predictor(two, output="sigmoid")
    assert (f.task, f.classes, f.hard) == ("classification", (0, 1), False)
    np.testing.assert_allclose(f(X)[:, 1], expit(two.decision_function(X)), atol=1e-12)
    assert_agreement(f, lambda rows: expit(two.decision_function(rows)), X, binary(X))
    np.testing.assert_allclose(cs.as_predictor(many, output="softmax")(X), many.predict_proba(X), atol=1e-12)


def test_a_regressor_of_logits_can_be_read_through_a_sigmoid():
    model = LinearSVR().fit(X_TRAIN, noisy(X_TRAIN))
    f = cs.as_predictor(model, output="sigmoid")
    assert f.structure is None
    found = assert_agreement(f, lambda rows: expit(model.predict(rows)), X, binary(X))
    assert not [note for note in found.notes if "row by row" in note]


def test_links_say_when_they_do_not_fit():
    model = LogisticRegression().fit(X_TRAIN, three(X_TRAIN))
    with pytest.raises(cs.ModelError, match=r'"sigmoid" for 3 logits for each row.*Try output="softmax"'):
        cs.as_predictor(model, output="sigmoid")(X)
    with pytest.raises(cs.ModelError, match=r'"softmax" for one logit a row.*Try output="sigmoid"'):
        cs.as_predictor(score, output="softmax")(X)


@pytest.mark.parametrize(
    "model",
    [LogisticRegression().fit(X_TRAIN, binary(X_TRAIN)), Careless(), score, cs.as_predictor(score)],
    ids=["classifier", "own estimator", "function", "predictor"],
)
def test_an_output_that_is_not_there_is_an_error(model):
    with pytest.raises(cs.InputError, match="output: got 'predict_probs'"):
        cs.as_predictor(model, output="predict_probs")


def test_classes_can_be_named_for_a_model_that_does_not_know_them():
    def chance(rows):
        return np.column_stack([1 - expit(score(rows)), expit(score(rows))])

    labels = np.array(["zebra", "ant"])  # not in sorted order, which would otherwise be presumed
    f = cs.as_predictor(chance, classes=labels)
    assert (f.classes, f.task) == (("zebra", "ant"), "classification")
    assert_agreement(f, chance, X, labels[binary(X)], codes=binary(X))


def test_feature_names_can_be_named_for_a_model_that_does_not_know_them():
    f = cs.as_predictor(score, feature_names=NAMES)
    np.testing.assert_array_equal(f(frame(X)[["b", "c", "a"]])[:, 0], score(X))


def test_a_predictor_stays_what_it_is_and_can_be_linked():
    f = cs.as_predictor(score)
    assert cs.as_predictor(f) is f
    np.testing.assert_allclose(cs.as_predictor(f, output="sigmoid")(X)[:, 1], expit(score(X)))


# ------------------------------------------------------------------------------------- callables and look-alikes


def test_any_callable_is_a_model():
    class Caller:
        def __call__(self, rows):
            return score(rows)

    for model in (score, lambda rows: score(rows), partial(np.dot, b=np.array([2.0, -1.0, 0.0])), Caller()):
        assert_agreement(model, lambda rows, model=model: np.asarray(model(rows))[:, None], X, noisy(X))


def test_an_object_with_predict_is_a_model():
    class Predicts:
        def predict(self, rows):
            return score(rows)

    f = cs.as_predictor(Predicts())
    assert (f.task, f.classes, f.name) == (None, None, "Predicts")
    assert_agreement(Predicts(), score, X, noisy(X))


def test_an_object_with_predict_proba_is_a_classifier():
    class Chances:
        classes_ = np.array(["no", "yes"])

        def predict(self, rows):
            raise AssertionError("labels were asked for")

        def predict_proba(self, rows):
            return np.column_stack([1 - expit(score(rows)), expit(score(rows))])

    f = cs.as_predictor(Chances())
    assert (f.task, f.classes) == ("classification", ("no", "yes"))
    assert_agreement(Chances(), lambda rows: expit(score(rows)), X, np.array(["no", "yes"])[binary(X)], codes=binary(X))


def test_an_object_with_predict_and_classes_votes():
    class Labels:
        classes_ = ("no", "yes")

        def predict(self, rows):
            return np.where(score(rows) > 0, "yes", "no")

    f = cs.as_predictor(Labels())
    assert f.hard
    np.testing.assert_array_equal(f(X)[:, 1], score(X) > 0)


@pytest.mark.parametrize("model", [None, 3.0, "model.pkl", {}, X, object()], ids=lambda model: type(model).__name__)
def test_what_is_not_a_model_is_refused(model):
    with pytest.raises(cs.InputError, match=f"{type(model).__name__}, which is neither callable nor has a predict"):
        cs.as_predictor(model)


def test_a_class_in_place_of_an_object_is_refused():
    with pytest.raises(cs.InputError, match="the class LogisticRegression; wanted a fitted model, not its class"):
        cs.as_predictor(LogisticRegression)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda rows: score(rows).mean(), r"outputs of shape \(\)"),
        (lambda rows: score(rows)[:-1], r"outputs of shape \(9,\) .* for 10 rows|outputs of shape \(39,\)"),
        (lambda rows: np.where(score(rows) > 0, "yes", "no"), "not numbers"),
        (lambda rows: np.sqrt(score(rows) - 100 + 0j), "complex"),
        (lambda rows: np.where(score(rows) > 0, np.nan, 0.0), "NaN or infinity"),
        (lambda rows: 1 / 0, "ZeroDivisionError from <lambda>: division by zero"),
    ],
)
def test_outputs_that_are_no_predictions_are_described(function, said):
    with pytest.raises(cs.ModelError, match=said):
        cs.sage(function, X, noisy(X), background=BACKGROUND)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, bool])
def test_outputs_of_any_number_type_become_float64(dtype):
    outputs = cs.as_predictor(lambda rows: (score(rows) > 0).astype(dtype))(X)
    assert outputs.dtype == np.float64
    np.testing.assert_array_equal(outputs[:, 0], score(X) > 0)


@pytest.mark.parametrize("shaped", [np.asarray, frame, mixed], ids=["array", "frame", "mixed frame"])
def test_a_model_that_writes_into_its_input_corrupts_nothing(shaped):
    def polite(rows):
        return np.asarray(rows)[:, 0].astype(float) * 2 + np.asarray(rows)[:, 1].astype(float)

    def rude(rows):
        found = polite(rows)
        rows[:] = 0 if not isinstance(rows, pd.DataFrame) else rows.iloc[::-1].to_numpy()
        return found

    table, background = shaped(X), shaped(BACKGROUND)
    before = copy.deepcopy(table)
    for method in ("exact", "permutation", "kernel"):
        options = {"background": background, "method": method, "budget": 20_000, "rng": 0}
        found = cs.sage(rude, table, noisy(X), **options)
        np.testing.assert_array_equal(found.values, cs.sage(polite, table, noisy(X), **options).values)
    assert np.array_equal(np.asarray(table), np.asarray(before))


def test_a_model_that_reuses_its_output_corrupts_nothing():
    buffer = np.empty(100_000)

    def thrifty(rows):
        buffer[: len(rows)] = score(rows)
        return buffer[: len(rows)]

    assert_agreement(thrifty, score, X, noisy(X))


# --------------------------------------------------------------------------------------------- linear structure


def _linear_model(name: str) -> Any:
    make = getattr(svm if name in ("LinearSVC", "LinearSVR") else linear_model, name)
    options = {"LogisticRegressionCV": {"Cs": 2, "cv": 2}, "SGDRegressor": {"random_state": 0}}
    if name == "LogisticRegressionCV":  # spelled out, since scikit-learn is about to change these defaults
        options[name] |= {"use_legacy_attributes": False, "scoring": "neg_log_loss"}
    known = inspect.signature(make).parameters
    return make(**{option: value for option, value in options.get(name, {}).items() if option in known})


def _response(name: str, x: np.ndarray) -> np.ndarray:
    responses = {"exponential": np.exp(score(x) / 4), "logistic": binary(x), "labels": binary(x), "identity": noisy(x)}
    return responses[LINKS[name]]


def enough(estimate: Any) -> bool:
    return bool(estimate.draws >= 400)


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.filterwarnings("ignore")
def test_the_native_walk_equals_the_walk_of_a_black_box(name):
    model = _linear_model(name).fit(X_TRAIN, _response(name, X_TRAIN))
    own = getattr(model, "predict_proba", model.predict)
    if LINKS[name] == "labels":
        own = cs.as_predictor(model).function
    assert cs.as_predictor(model).structure is not None
    for method in ("permutation", "kernel", "exact"):
        options = {"background": BACKGROUND, "method": method, "stop": enough, "rng": 0, "tolerance": None}
        native = cs.sage(model, X, _response(name, X), **options)
        black = cs.sage(lambda rows: own(rows), X, _response(name, X), loss=native.loss, **options)
        assert not [note for note in native.notes if "row by row" in note]
        np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9)
        np.testing.assert_allclose(native.std_error, black.std_error, rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", ["three classes", "two responses"])
def test_the_native_walk_of_several_outputs_equals_that_of_a_black_box(shape):
    if shape == "three classes":
        model, y = LogisticRegression().fit(X_TRAIN, three(X_TRAIN)), three(X)
    else:
        model = LinearRegression().fit(X_TRAIN, np.column_stack([noisy(X_TRAIN), X_TRAIN[:, 2]]))
        y = np.column_stack([noisy(X), X[:, 2]])
    own = getattr(model, "predict_proba", model.predict)
    options = {"background": BACKGROUND, "method": "permutation", "stop": enough, "rng": 0, "tolerance": None}
    native = cs.sage(model, X, y, **options)
    black = cs.sage(lambda rows: own(rows), X, y, loss=native.loss, **options)
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9)


def test_a_structure_that_lies_is_not_used_and_a_note_says_so():
    model = LinearRegression().fit(X_TRAIN, noisy(X_TRAIN))
    f = cs.as_predictor(model)
    truth = f.structure().representation
    lie = Structure(Linear(truth.weights * 1.001, truth.intercept))
    options = {"background": BACKGROUND, "method": "permutation", "stop": enough, "rng": 0, "tolerance": None}
    found = cs.sage(replace(f, structure=lambda: lie), X, noisy(X), **options)
    wanted = cs.sage(lambda rows: model.predict(rows), X, noisy(X), **options)
    np.testing.assert_array_equal(found.values, wanted.values)
    assert any("LinearRegression was called row by row" in note for note in found.notes)


def test_coefficients_changed_after_fitting_are_the_ones_used():
    model = LinearRegression().fit(X_TRAIN, noisy(X_TRAIN))
    model.coef_ = np.array([5.0, 0.0, 0.0])
    assert_agreement(model, lambda rows: model.predict(rows), X, noisy(X))


def test_a_model_that_predicts_otherwise_than_its_coefficients_say_is_asked_itself(monkeypatch):
    monkeypatch.setattr(LinearRegression, "predict", lambda self, rows: score(rows))
    found = assert_agreement(LinearRegression().fit(X_TRAIN, noisy(X_TRAIN)), score, X, noisy(X))
    assert any("row by row" in note for note in found.notes)


def test_sparse_coefficients_are_no_hindrance():
    model = LogisticRegression().fit(X_TRAIN, binary(X_TRAIN)).sparsify()
    assert_agreement(model, second(model.predict_proba), X, binary(X))


# ------------------------------------------------------------------------------------------------------ dispatch


@pytest.mark.subprocess
def test_a_callable_imports_no_library():
    code = (
        "import sys, numpy as np, clarysage\n"
        "f = clarysage.as_predictor(lambda rows: rows[:, 0])\n"
        "assert f(np.ones((3, 2))).shape == (3, 1)\n"
        f"print(sorted(set(sys.modules) & {set(LIBRARIES)!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.subprocess
@pytest.mark.needs("torch")
def test_a_module_imports_no_other_library():
    code = (
        "import sys, numpy as np, torch, clarysage\n"
        "before = set(sys.modules)\n"
        "f = clarysage.as_predictor(torch.nn.Linear(2, 1))\n"
        "assert f(np.ones((3, 2))).shape == (3, 1)\n"
        f"print(sorted((set(sys.modules) - before) & {set(LIBRARIES)!r}))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


ADAPTER = """
import clarysage as cs
import numpy as np

class Oracle:
    def ask(self, rows):
        return np.asarray(rows)[:, 0] * 3

class Child(Oracle):
    pass

def adapt(model, output):
    return cs.Predictor(model.ask, f"an oracle ({output})", task="regression")
"""


@pytest.fixture
def forget_adapters():
    """Entry points are read once; a test that adds some has them read anew, before and after."""
    adapter._entries.cache_clear()
    yield
    adapter._entries.cache_clear()
    sys.modules.pop("delphi", None)


@pytest.mark.usefixtures("forget_adapters")
def test_a_third_party_registers_an_adapter_by_an_entry_point(tmp_path: Path, monkeypatch):
    (tmp_path / "delphi.py").write_text(ADAPTER)
    about = tmp_path / "delphi-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: delphi\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[clarysage.models]\ndelphi.Oracle = delphi:adapt\n")
    monkeypatch.syspath_prepend(tmp_path)
    import delphi

    for model in (delphi.Oracle(), delphi.Child()):
        f = cs.as_predictor(model, output="loud")
        assert (f.name, f.task) == ("an oracle (loud)", "regression")
        np.testing.assert_array_equal(f(X)[:, 0], 3 * X[:, 0])
        assert_agreement(model, lambda rows: 3 * rows[:, 0], X, noisy(X))


@pytest.mark.usefixtures("forget_adapters")
def test_an_adapter_of_a_third_party_goes_before_our_own(monkeypatch):
    class Entry:
        name = "sklearn.LinearRegression"

        def load(self):
            return lambda model, output: cs.Predictor(score, "theirs")

    monkeypatch.setattr(adapter, "entry_points", lambda group: [Entry()])
    assert cs.as_predictor(LinearRegression().fit(X_TRAIN, noisy(X_TRAIN))).name == "theirs"
    assert cs.as_predictor(linear_model.Ridge().fit(X_TRAIN, noisy(X_TRAIN))).name == "Ridge"


def test_every_row_of_the_table_of_libraries_leads_somewhere():
    for library in libraries.LIBRARIES.values():
        assert library.adapters
        assert all(isinstance(loaded(path), type) for path in library.adapters.values())
        assert library.file is None or callable(loaded(library.file.load))


# ------------------------------------------------------------------------------------------------------- XGBoost


def _boosted(objective: str, y: np.ndarray, rounds: int = 5, **options: Any) -> Any:
    import xgboost as xgb

    data = xgb.DMatrix(X_TRAIN, y, feature_names=options.pop("names", None))
    return xgb.train({"objective": objective, "nthread": 1, **options}, data, rounds)


XGBOOST_WRAPPERS = {
    "XGBClassifier": binary,
    "XGBRFClassifier": three,
    "XGBRegressor": noisy,
    "XGBRFRegressor": noisy,
}


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
@pytest.mark.parametrize(("name", "response"), XGBOOST_WRAPPERS.items(), ids=XGBOOST_WRAPPERS)
def test_a_wrapper_of_xgboost_answers_as_it_does_itself(name, response, shaped):
    import xgboost as xgb

    model = getattr(xgb, name)(n_estimators=5, max_depth=3, n_jobs=1).fit(shaped(X_TRAIN), response(X_TRAIN))
    own = getattr(model, "predict_proba", model.predict)
    f = cs.as_predictor(model)
    assert f.task == ("regression" if name.endswith("Regressor") else "classification")
    np.testing.assert_array_equal(f(shaped(X)).squeeze(), own(shaped(X)))
    assert_agreement(model, own, shaped(X), response(X))


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_a_wrapper_of_xgboost_gives_probabilities_of_many_classes(objective):
    import xgboost as xgb

    model = xgb.XGBClassifier(n_estimators=5, objective=objective, n_jobs=1).fit(X_TRAIN, three(X_TRAIN))
    np.testing.assert_allclose(cs.as_predictor(model)(X), model.predict_proba(X), atol=1e-7)
    assert_agreement(model, model.predict_proba, X, three(X))


@pytest.mark.needs("xgboost")
def test_a_wrapper_of_xgboost_with_margins_or_labels_is_understood():
    import xgboost as xgb

    raw = xgb.XGBClassifier(n_estimators=5, objective="binary:logitraw", n_jobs=1).fit(X_TRAIN, binary(X_TRAIN))
    margin = raw.predict(X, output_margin=True)
    np.testing.assert_allclose(cs.as_predictor(raw)(X)[:, 1], expit(margin.astype(float)), atol=1e-12)
    np.testing.assert_array_equal(cs.as_predictor(raw, output="decision_function")(X)[:, 0], margin)
    hinge = xgb.XGBClassifier(n_estimators=5, objective="binary:hinge", n_jobs=1).fit(X_TRAIN, binary(X_TRAIN))
    assert cs.as_predictor(hinge).hard
    assert cs.sage(hinge, X, binary(X), background=BACKGROUND).loss == "zero one"


@pytest.mark.needs("xgboost")
def test_a_wrapper_of_xgboost_takes_categories():
    import xgboost as xgb

    train, test = mixed(X_TRAIN), mixed(X)
    test["c"] = test["c"].cat.reorder_categories(["blue", "red", "green"])  # codes differ, names are the same
    model = xgb.XGBClassifier(n_estimators=5, enable_categorical=True, n_jobs=1).fit(train, binary(X_TRAIN))
    assert_agreement(model, model.predict_proba, test, binary(X), background=train[:M])
    booster = model.get_booster()
    assert_agreement(booster, second(model.predict_proba), test, binary(X), background=train[:M])


@pytest.mark.needs("xgboost", "polars")
def test_a_wrapper_of_xgboost_takes_polars():
    import polars as pl
    import xgboost as xgb

    train, test = (pl.DataFrame(dict(zip(NAMES, x.T, strict=True))) for x in (X_TRAIN, X))
    model = xgb.XGBRegressor(n_estimators=5, n_jobs=1).fit(train, noisy(X_TRAIN))
    assert_agreement(model, model.predict, test, noisy(X), background=train[:M])
    assert_agreement(model.get_booster(), model.predict, test, noisy(X), background=train[:M])


@pytest.mark.needs("xgboost")
def test_early_stopping_of_xgboost_is_honoured():
    import xgboost as xgb

    train, held_out = (xgb.DMatrix(x, noisy(x, seed)) for x, seed in ((X_TRAIN[:60], 0), (X_TRAIN[60:], 1)))
    booster = xgb.train(
        {"eta": 0.8, "nthread": 1},
        train,
        40,
        evals=[(held_out, "apart")],
        early_stopping_rounds=10,
        verbose_eval=False,
    )
    best = booster.predict(xgb.DMatrix(X), iteration_range=(0, booster.best_iteration + 1))
    assert booster.best_iteration + 1 < booster.num_boosted_rounds()
    assert np.abs(best - booster.predict(xgb.DMatrix(X))).max() > 0.01
    np.testing.assert_array_equal(cs.as_predictor(booster)(X)[:, 0], best)
    copied = pickle.loads(pickle.dumps(booster))
    np.testing.assert_array_equal(cs.as_predictor(copied)(X)[:, 0], best)

    model = xgb.XGBRegressor(n_estimators=40, learning_rate=0.8, early_stopping_rounds=10, n_jobs=1)
    model.fit(X_TRAIN[:60], noisy(X_TRAIN[:60]), eval_set=[(X_TRAIN[60:], noisy(X_TRAIN[60:], 1))], verbose=False)
    best = model.predict(X, iteration_range=(0, model.best_iteration + 1))
    assert np.abs(best - model.get_booster().predict(xgb.DMatrix(X))).max() > 0.01
    np.testing.assert_array_equal(cs.as_predictor(model)(X)[:, 0], best)


XGBOOST_OBJECTIVES = {
    "binary:logistic": (binary, "classification", lambda b, d: b.predict(d)),
    "binary:logitraw": (binary, "classification", lambda b, d: expit(b.predict(d).astype(float))),
    "multi:softprob": (three, "classification", lambda b, d: b.predict(d)),
    "multi:softmax": (three, "classification", lambda b, d: softmax(b.predict(d, output_margin=True).astype(float), 1)),
    "reg:squarederror": (noisy, "regression", lambda b, d: b.predict(d)),
    "reg:absoluteerror": (noisy, "regression", lambda b, d: b.predict(d)),
    "count:poisson": (lambda x: np.exp(score(x) / 2).round(), "regression", lambda b, d: b.predict(d)),
    "rank:pairwise": (noisy, "ranking", lambda b, d: b.predict(d)),
}


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("objective", XGBOOST_OBJECTIVES)
def test_a_booster_of_xgboost_answers_by_its_objective(objective):
    import xgboost as xgb

    response, task, own = XGBOOST_OBJECTIVES[objective]
    options = {"num_class": 3} if response is three else {}
    booster = _boosted(objective, response(X_TRAIN), **options)
    f = cs.as_predictor(booster)
    assert f.task == task
    outputs = f(X)[:, 1] if objective == "binary:logitraw" else f(X).squeeze()
    np.testing.assert_allclose(outputs, own(booster, xgb.DMatrix(X)), atol=1e-12)
    y = None if task == "ranking" else response(X)  # whose scores do not predict it
    assert_agreement(booster, lambda rows: own(booster, xgb.DMatrix(rows)), X, y)
    margin = cs.as_predictor(booster, output="decision_function")
    np.testing.assert_array_equal(margin(X).squeeze(), booster.predict(xgb.DMatrix(X), output_margin=True))


@pytest.mark.needs("xgboost")
def test_a_booster_of_xgboost_with_an_objective_of_ones_own_returns_margins():
    import xgboost as xgb

    def logistic(margin, data):
        chance = expit(margin)
        return chance - data.get_label(), chance * (1 - chance)

    options = {"max_depth": 3, "nthread": 1, "base_score": 0.0}
    booster = xgb.train(options, xgb.DMatrix(X_TRAIN, binary(X_TRAIN)), 5, obj=logistic)
    f = cs.as_predictor(booster, output="sigmoid")
    np.testing.assert_allclose(f(X)[:, 1], expit(booster.predict(xgb.DMatrix(X)).astype(float)), atol=1e-12)
    assert_agreement(f, lambda rows: expit(booster.predict(xgb.DMatrix(rows)).astype(float)), X, binary(X))


@pytest.mark.needs("xgboost")
def test_a_booster_of_hinge_loss_votes():
    f = cs.as_predictor(_boosted("binary:hinge", binary(X_TRAIN)))
    assert f.hard
    assert set(np.unique(f(X))) == {0.0, 1.0}
    labels = cs.as_predictor(_boosted("multi:softmax", three(X_TRAIN), num_class=3), output="predict")
    assert labels.hard
    np.testing.assert_array_equal(labels(X).sum(axis=1), 1)


@pytest.mark.needs("xgboost")
def test_a_booster_of_xgboost_with_names_takes_arrays_and_frames_in_any_order():
    import xgboost as xgb

    booster = _boosted("reg:squarederror", noisy(X_TRAIN), names=NAMES)
    own = booster.predict(xgb.DMatrix(X, feature_names=NAMES))
    f = cs.as_predictor(booster)
    for rows in (X, frame(X), frame(X)[["c", "a", "b"]]):
        np.testing.assert_array_equal(f(rows)[:, 0], own)
    one = assert_agreement(booster, lambda rows: f(rows), X, noisy(X))
    two = assert_agreement(booster, lambda rows: f(rows), frame(X)[["c", "a", "b"]], noisy(X))
    assert one.feature_names == tuple(NAMES)
    np.testing.assert_array_equal(one.values[[2, 0, 1]], two.values)


@pytest.mark.needs("xgboost")
def test_a_linear_booster_is_a_booster():
    import xgboost as xgb

    booster = _boosted("reg:squarederror", noisy(X_TRAIN), booster="gblinear")
    assert_agreement(booster, lambda rows: booster.predict(xgb.DMatrix(rows)), X, noisy(X))


@pytest.mark.needs("xgboost")
def test_too_few_columns_are_not_taken_for_missing_ones():
    with pytest.raises(cs.ModelError, match="got 2 columns; wanted the 3"):
        cs.as_predictor(_boosted("reg:squarederror", noisy(X_TRAIN)))(X[:, :2])


# ------------------------------------------------------------------------------------------------------ LightGBM

LIGHT = {"n_estimators": 5, "num_leaves": 5, "verbose": -1, "n_jobs": 1}


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
@pytest.mark.parametrize(
    ("name", "response"),
    [("LGBMClassifier", binary), ("LGBMClassifier", three), ("LGBMRegressor", noisy)],
    ids=["binary", "three classes", "regression"],
)
def test_lightgbm_answers_as_it_does_itself(name, response, shaped, recwarn):
    import lightgbm as lgb

    model = getattr(lgb, name)(**LIGHT).fit(shaped(X_TRAIN), response(X_TRAIN))
    own = getattr(model, "predict_proba", model.predict)
    f = cs.as_predictor(model)
    assert f.feature_names == (tuple(NAMES) if shaped is frame else None)
    np.testing.assert_allclose(f(shaped(X)).squeeze(), own(shaped(X)), atol=1e-12)
    assert_agreement(model, own, shaped(X), response(X))
    booster = cs.as_predictor(model.booster_)
    assert booster.task == f.task
    np.testing.assert_allclose(booster(shaped(X)).squeeze(), model.booster_.predict(shaped(X)), atol=1e-12)
    assert_agreement(model.booster_, own, shaped(X), response(X))
    cs.sage(model, X, response(X), background=BACKGROUND)
    assert not [str(one.message) for one in recwarn if "feature names" in str(one.message)]


@pytest.mark.needs("lightgbm")
def test_lightgbm_keeps_its_own_labels():
    import lightgbm as lgb

    labels = np.array(["no", "yes"])
    model = lgb.LGBMClassifier(**LIGHT).fit(X_TRAIN, labels[binary(X_TRAIN)])
    assert cs.as_predictor(model).classes == ("no", "yes")
    assert_agreement(model, model.predict_proba, X, labels[binary(X)], codes=binary(X))


@pytest.mark.needs("lightgbm")
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_probabilities_of_lightgbm_add_up_to_one(objective):
    import lightgbm as lgb

    options = {"objective": objective, "num_class": 3, "verbose": -1, "num_threads": 1}
    booster = lgb.train(options, lgb.Dataset(X_TRAIN, three(X_TRAIN)), 5)
    loaded = lgb.Booster(model_str=booster.model_to_string())
    wrapper = lgb.LGBMClassifier(objective=objective, **LIGHT).fit(X_TRAIN, three(X_TRAIN))
    for model in (booster, loaded, wrapper):
        own = getattr(model, "predict_proba", model.predict)(X)
        np.testing.assert_allclose(cs.as_predictor(model)(X), own / own.sum(axis=1, keepdims=True), atol=1e-12)
        assert cs.sage(model, X, three(X), background=BACKGROUND).loss == "cross entropy"


@pytest.mark.needs("lightgbm")
def test_lightgbm_takes_categories():
    import lightgbm as lgb

    train, test = mixed(X_TRAIN), mixed(X)
    test["c"] = test["c"].cat.reorder_categories(["blue", "red", "green"])
    model = lgb.LGBMRegressor(**LIGHT).fit(train, noisy(X_TRAIN))
    assert_agreement(model, model.predict, test, noisy(X), background=train[:M])
    assert_agreement(
        model.booster_, lambda rows: model.predict(rows[NAMES]), test[["c", "b", "a"]], noisy(X), background=train[:M]
    )


@pytest.mark.needs("lightgbm")
def test_names_with_blanks_are_found_however_lightgbm_spells_them():
    import lightgbm as lgb

    names = ["first of all", "b", "the third"]
    train, test = (pd.DataFrame(x, columns=names) for x in (X_TRAIN, X))
    model = lgb.LGBMRegressor(**LIGHT).fit(train, noisy(X_TRAIN))
    own = model.predict(test)
    for fitted in (model, model.booster_):
        f = cs.as_predictor(fitted)
        np.testing.assert_array_equal(f(test)[:, 0], own)
        np.testing.assert_array_equal(f(test[names[::-1]])[:, 0], own)
        found = assert_agreement(fitted, model.predict, test, noisy(X))
        assert found.feature_names == tuple(names)
        other = cs.sage(fitted, test[names[::-1]], noisy(X), background=test[:M], method="exact")
        np.testing.assert_array_equal(other.values, found.values[::-1])


@pytest.mark.needs("lightgbm")
def test_early_stopping_of_lightgbm_is_honoured():
    import lightgbm as lgb

    y, held_out = noisy(X_TRAIN[:60]), lgb.Dataset(X_TRAIN[60:], noisy(X_TRAIN[60:], 1))
    options = {"num_leaves": 5, "learning_rate": 0.8, "verbose": -1, "num_threads": 1}
    stop = [lgb.early_stopping(10, verbose=False)]
    stopped = lgb.train(options, lgb.Dataset(X_TRAIN[:60], y), 60, valid_sets=[held_out], callbacks=stop)
    assert 0 < stopped.best_iteration < 60
    whole = lgb.train(options, lgb.Dataset(X_TRAIN[:60], y), 60)
    best = whole.predict(X, num_iteration=stopped.best_iteration)
    assert np.abs(whole.predict(X) - best).max() > 0.01
    whole.best_iteration = stopped.best_iteration  # as it is where LightGBM keeps the trees after the best one
    for booster in (stopped, whole, pickle.loads(pickle.dumps(whole))):
        np.testing.assert_array_equal(cs.as_predictor(booster)(X)[:, 0], best)
    model = lgb.LGBMRegressor(**LIGHT | {"n_estimators": 60, "learning_rate": 0.8}).fit(X_TRAIN[:60], y)
    model.booster_.best_iteration = stopped.best_iteration
    np.testing.assert_array_equal(cs.as_predictor(model)(X)[:, 0], best)


@pytest.mark.needs("lightgbm")
def test_scores_of_lightgbm_can_be_named_or_linked():
    import lightgbm as lgb

    model = lgb.LGBMClassifier(**LIGHT).fit(X_TRAIN, binary(X_TRAIN))
    raw = model.booster_.predict(X, raw_score=True)
    for fitted in (model, model.booster_):
        np.testing.assert_array_equal(cs.as_predictor(fitted, output="decision_function")(X)[:, 0], raw)
        np.testing.assert_allclose(cs.as_predictor(fitted, output="sigmoid")(X)[:, 1], model.predict_proba(X)[:, 1])


@pytest.mark.needs("lightgbm")
@pytest.mark.filterwarnings("ignore:Cannot compute class probabilities")
def test_lightgbm_with_an_objective_of_ones_own_returns_scores():
    import lightgbm as lgb

    def logistic(y, scores):
        return expit(scores) - y, expit(scores) * (1 - expit(scores))

    model = lgb.LGBMClassifier(objective=logistic, **LIGHT).fit(X_TRAIN, binary(X_TRAIN))
    for fitted in (model, model.booster_):
        f = cs.as_predictor(fitted, output="sigmoid")
        assert_agreement(f, lambda rows: expit(model.booster_.predict(rows)), X, binary(X))
    assert cs.as_predictor(model.booster_).task is None
    with pytest.raises(cs.ModelError, match='output="softmax" or "sigmoid" for logits'):
        cs.sage(model, X, binary(X), background=BACKGROUND)


# ------------------------------------------------------------------------------------------------------ CatBoost

CAT = {"iterations": 5, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
@pytest.mark.parametrize(
    ("name", "response", "labels"),
    [
        ("CatBoostClassifier", binary, np.array(["no", "yes"])),
        ("CatBoostClassifier", binary, np.array([-1, 1])),
        ("CatBoostClassifier", binary, np.array([False, True])),
        ("CatBoostClassifier", three, np.array(["low", "mid", "top"])),
        ("CatBoostRegressor", noisy, None),
    ],
    ids=["strings", "-1 1", "booleans", "three classes", "regression"],
)
def test_catboost_answers_as_it_does_itself(name, response, labels, shaped):
    import catboost

    y_train, y = (response(x) if labels is None else labels[response(x)] for x in (X_TRAIN, X))
    model = getattr(catboost, name)(**CAT).fit(shaped(X_TRAIN), y_train)
    own = getattr(model, "predict_proba", model.predict)
    f = cs.as_predictor(model)
    np.testing.assert_allclose(f(shaped(X)).squeeze(), own(shaped(X)), atol=1e-12)
    assert_agreement(model, own, shaped(X), y, codes=response(X))


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("kind", ["category", "string"])
def test_catboost_takes_categories_of_a_frame(kind):
    import catboost

    train, test = mixed(X_TRAIN, kind), mixed(X, kind)
    model = catboost.CatBoostClassifier(cat_features=["b", "c"], **CAT).fit(train, binary(X_TRAIN))
    np.testing.assert_allclose(cs.as_predictor(model)(test[["c", "b", "a"]]), model.predict_proba(test), atol=1e-12)
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


@pytest.mark.needs("catboost")
def test_catboost_takes_categories_of_an_array_of_objects():
    import catboost

    train, test = (mixed(x, "string").astype(object).to_numpy() for x in (X_TRAIN, X))
    model = catboost.CatBoostClassifier(cat_features=[1, 2], **CAT).fit(train, binary(X_TRAIN))
    assert_agreement(model, second(model.predict_proba), test, binary(X), background=train[:M])


@pytest.mark.needs("catboost")
def test_catboost_takes_categories_of_an_array_of_whole_numbers():
    import catboost

    train, test = (np.round(2 * x).astype(int) for x in (X_TRAIN, X))
    model = catboost.CatBoostRegressor(cat_features=[0, 2], **CAT).fit(train, noisy(X_TRAIN))
    assert_agreement(model, model.predict, test, noisy(X), background=train[:M])


class HalfSquares:
    """A loss of the user's own for CatBoost, minus its gradient and hessian."""

    def calc_ders_range(self, approxes, targets, weights):
        return [(targets[i] - approxes[i], -1.0) for i in range(len(targets))]


@pytest.mark.needs("catboost")
@pytest.mark.parametrize(
    ("loss", "judged_by"),
    [
        ("RMSE", "squared error"),
        ("MAE", "absolute error"),
        ("Quantile:alpha=0.7", "pinball(0.7)"),
        ("Poisson", "poisson deviance"),
        ("Tweedie:variance_power=1.5", "tweedie deviance"),
        ("own", "squared error"),
    ],
)
def test_catboost_predicts_on_the_scale_of_the_response(loss, judged_by):
    import catboost

    y_train, y = (np.exp(score(x) / 2).round() for x in (X_TRAIN, X))
    chosen = HalfSquares() if loss == "own" else loss
    model = catboost.CatBoostRegressor(loss_function=chosen, eval_metric="RMSE", **CAT).fit(X_TRAIN, y_train)
    raw = model.predict(X, prediction_type="RawFormulaVal")
    wanted = np.exp(raw) if loss.startswith(("Poisson", "Tweedie")) else raw
    np.testing.assert_allclose(cs.as_predictor(model)(X)[:, 0], wanted, atol=1e-12)
    np.testing.assert_allclose(cs.as_predictor(model)(X)[:, 0], model.predict(X), atol=1e-12)
    assert assert_agreement(model, model.predict, X, y).loss == judged_by


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("loss", ["Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll"])
def test_a_plain_catboost_model_loaded_from_a_file_says_what_it_is(loss, tmp_path):
    import catboost

    response = three if loss.startswith("Multi") else binary
    catboost.CatBoostClassifier(loss_function=loss, **CAT).fit(X_TRAIN, response(X_TRAIN)).save_model(tmp_path / "it")
    model = catboost.CatBoost().load_model(tmp_path / "it")
    own = model.predict(X, prediction_type="Probability")
    np.testing.assert_allclose(cs.as_predictor(model)(X), own / own.sum(axis=1, keepdims=True), atol=1e-12)
    assert cs.sage(model, X, response(X), background=BACKGROUND).loss == "cross entropy"


@pytest.mark.needs("catboost")
def test_a_poisson_model_of_catboost_loaded_from_a_file_still_predicts_counts(tmp_path):
    import catboost

    model = catboost.CatBoostRegressor(loss_function="Poisson", **CAT).fit(X_TRAIN, np.exp(score(X_TRAIN) / 2).round())
    model.save_model(tmp_path / "it")
    loaded = catboost.CatBoostRegressor().load_model(tmp_path / "it")
    np.testing.assert_allclose(cs.as_predictor(loaded)(X)[:, 0], model.predict(X), atol=1e-12)


@pytest.mark.needs("catboost")
def test_outputs_of_catboost_can_be_named():
    import catboost

    labels = np.array(["no", "yes"])
    model = catboost.CatBoostClassifier(**CAT).fit(X_TRAIN, labels[binary(X_TRAIN)])
    raw = model.predict(X, prediction_type="RawFormulaVal")
    np.testing.assert_array_equal(cs.as_predictor(model, output="decision_function")(X)[:, 0], raw)
    np.testing.assert_allclose(cs.as_predictor(model, output="sigmoid")(X), model.predict_proba(X), atol=1e-12)
    f = cs.as_predictor(model, output="predict_proba")
    assert (f.classes, f.task) == (("no", "yes"), "classification")
    votes = cs.as_predictor(model, output="predict")
    assert votes.hard
    np.testing.assert_array_equal(votes(X)[:, 1], model.predict(X) == "yes")


# ------------------------------------------------------------------------------------------------------- PyTorch


def _network(outputs: int = 1, dtype: Any = None) -> Any:
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(8, outputs)
    )
    return network if dtype is None else network.to(dtype)


def _forward(module: Any, dtype: Any = None) -> Any:
    import torch

    def forward(rows):
        with torch.no_grad():
            twin = copy.deepcopy(module).eval()
            return twin(torch.tensor(np.asarray(rows), dtype=dtype or torch.float32)).double().numpy()

    return forward


@pytest.mark.needs("torch")
@pytest.mark.parametrize("shaped", [np.asarray, frame], ids=["array", "frame"])
@pytest.mark.parametrize("precision", ["float32", "float64", "bfloat16"])
def test_a_network_answers_in_its_own_precision(precision, shaped):
    import torch

    dtype = getattr(torch, precision)
    network = _network(dtype=dtype)
    np.testing.assert_array_equal(cs.as_predictor(network)(shaped(X)), _forward(network, dtype)(X))
    atol = 1e-6 if precision == "float32" else 1e-9  # its layers are followed, in that precision
    assert_agreement(network, _forward(network, dtype), shaped(X), noisy(X), loss="squared error", atol=atol)


@pytest.mark.needs("torch")
def test_a_network_is_left_as_it_was():
    import torch

    network = _network()
    network.train()
    network[2].eval()
    network[0].weight.requires_grad_(False)
    before = [(part.training, [p.requires_grad for p in part.parameters(False)]) for part in network.modules()]
    weights = copy.deepcopy(network.state_dict())
    f = cs.as_predictor(network)
    np.testing.assert_array_equal(f(X), f(X))
    assert [(part.training, [p.requires_grad for p in part.parameters(False)]) for part in network.modules()] == before
    assert all(torch.equal(value, weights[name]) for name, value in network.state_dict().items())
    assert all(parameter.grad is None for parameter in network.parameters())
    assert torch.is_grad_enabled()


@pytest.mark.needs("torch")
def test_a_network_evaluates_without_dropout_and_without_a_graph():
    import torch

    seen: list[Any] = []

    class Watched(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = _network()

        def forward(self, rows):
            outputs = self.inner(rows)
            seen.append((self.training, self.inner[2].training, outputs.requires_grad, len(rows)))
            return outputs

    module = Watched().train()
    outputs = cs.as_predictor(module)(X)
    assert seen == [(False, False, False, N)]
    assert module.training
    assert module.inner[2].training
    np.testing.assert_array_equal(outputs, _forward(module.inner)(X))


@pytest.mark.needs("torch")
def test_a_network_that_raises_is_left_as_it_was():
    import torch

    class Broken(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = _network()

        def forward(self, rows):
            raise ArithmeticError("out of order")

    module = Broken().train()
    module.inner[2].eval()
    with pytest.raises(cs.ModelError, match="ArithmeticError from Broken: out of order"):
        cs.as_predictor(module)(X)
    assert module.training
    assert module.inner.training
    assert not module.inner[2].training


@pytest.mark.needs("torch")
def test_a_network_in_training_can_be_asked_from_several_threads():
    import torch

    seen: list[bool] = []

    class Slow(torch.nn.Module):
        def forward(self, rows):
            time.sleep(0.001 * (1 + len(seen) % 3))  # long enough for another thread to come and go
            seen.append(self.training)
            return rows.sum(dim=1)

    module = Slow().train()
    f = cs.as_predictor(module)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: f(X), range(60)))
    assert seen == [False] * 60
    assert module.training


@pytest.mark.needs("torch")
def test_rows_go_through_a_network_in_batches(monkeypatch):
    import torch

    from clarysage.models import torch as adapter

    sizes: list[int] = []
    network = _network(dtype=torch.float64)
    network.register_forward_pre_hook(lambda module, inputs: sizes.append(len(inputs[0])))
    monkeypatch.setattr(adapter, "BATCH", 16)
    np.testing.assert_allclose(cs.as_predictor(network)(X), _forward(_network(), None)(X), atol=1e-6)
    assert sizes == [16, 16, 8]


@pytest.mark.needs("torch")
def test_logits_of_a_network_become_probabilities_on_request():
    two, many = _network(1), _network(3)
    f = cs.as_predictor(two, output="sigmoid")
    assert f.task == "classification"
    np.testing.assert_allclose(f(X)[:, 1], expit(_forward(two)(X)[:, 0]), atol=1e-12)
    single = {"atol": 1e-6}  # the layers are followed in the network's precision
    assert_agreement(f, lambda rows: expit(_forward(two)(rows)), X, binary(X), **single)
    labels = np.array(["low", "mid", "top"])
    g = cs.as_predictor(many, output="softmax", classes=labels)
    own = _forward(many)
    assert_agreement(g, lambda rows: softmax(own(rows), axis=1), X, labels[three(X)], codes=three(X), **single)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("labels", [np.array([0, 1, 2]), np.array(["low", "mid", "top"])], ids=["numbers", "strings"])
def test_logits_of_a_network_are_not_taken_for_probabilities(labels):
    with pytest.raises(cs.ModelError, match='output="softmax" or "sigmoid" for logits'):
        cs.sage(_network(3), X, labels[three(X)], background=BACKGROUND)


@pytest.mark.needs("torch")
@pytest.mark.parametrize("labels", [np.array([False, True]), np.array(["no", "yes"])], ids=["booleans", "strings"])
def test_one_logit_of_a_network_is_not_taken_for_a_probability(labels):
    import torch

    network = torch.nn.Sequential(_network(1), torch.nn.Linear(1, 1))
    torch.nn.init.constant_(network[1].weight, 50.0)
    with pytest.raises(cs.ModelError, match=r'output="sigmoid"\) for logits'):
        cs.sage(network, X, labels[binary(X)], background=BACKGROUND)


@pytest.mark.needs("torch")
def test_a_network_that_returns_several_things_is_refused():
    import torch

    class Two(torch.nn.Module):
        def forward(self, rows):
            return rows, rows

    with pytest.raises(cs.ModelError, match="a tuple from Two; wanted one tensor"):
        cs.as_predictor(Two())(X)


@pytest.mark.needs("torch")
def test_a_network_that_writes_into_its_input_corrupts_nothing():
    import torch

    class Rude(torch.nn.Module):
        def forward(self, rows):
            return rows.mul_(2).sum(dim=1)

    kept = X.copy()
    outputs = cs.as_predictor(Rude().double())(X)
    np.testing.assert_array_equal(X, kept)
    np.testing.assert_allclose(outputs[:, 0], 2 * X.sum(axis=1), atol=1e-5)


@pytest.mark.needs("torch")
def test_a_network_traced_or_without_weights_is_a_network():
    import torch

    class Total(torch.nn.Module):
        def forward(self, rows):
            return rows.sum(dim=1)

    np.testing.assert_allclose(cs.as_predictor(Total())(X)[:, 0], X.sum(axis=1), atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced = torch.jit.trace(_network().eval(), torch.zeros(2, 3)).train()
    np.testing.assert_allclose(cs.as_predictor(traced)(X), _forward(_network())(X), atol=1e-6)
    assert traced.training


@pytest.mark.needs("torch")
def test_a_callable_that_returns_a_tensor_with_a_graph_is_a_model():
    import torch

    network = _network(dtype=torch.float64).eval()
    assert_agreement(lambda rows: network(torch.as_tensor(rows)), _forward(network, torch.float64), X, noisy(X))


# -------------------------------------------------------------------------------------------------- ONNX Runtime


def _session(model: Any, example: Any, **options: Any) -> Any:
    import onnxruntime
    from skl2onnx import to_onnx

    written = to_onnx(model, example, options={id(model): options} if options else None)
    return onnxruntime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])


@pytest.mark.needs("onnxruntime", "skl2onnx")
@pytest.mark.parametrize("labels", [[0, 1, 2], [3, 5, 4], ["low", "top", "mid"]], ids=["counts", "numbers", "strings"])
@pytest.mark.parametrize("zipmap", [True, False], ids=["zipmap", "tensor"])
def test_a_session_of_a_classifier_gives_its_probabilities(zipmap, labels):
    labels = np.array(labels)
    model = LogisticRegression().fit(X_TRAIN, labels[three(X_TRAIN)])
    session = _session(model, X_TRAIN[:1].astype(np.float32), zipmap=zipmap)
    f = cs.as_predictor(session)
    assert f.task == "classification"
    assert f.classes == tuple(sorted(labels.tolist()))
    np.testing.assert_allclose(f(X), model.predict_proba(X), atol=1e-5)

    def own(rows):
        found = session.run(None, {session.get_inputs()[0].name: np.asarray(rows, dtype=np.float32)})[1]
        return np.array([[row[label] for label in model.classes_.tolist()] for row in found]) if zipmap else found

    y = labels[three(X)]
    assert_agreement(session, own, X, y, codes=np.searchsorted(model.classes_, y))
    assert_agreement(session, own, frame(X), y, codes=np.searchsorted(model.classes_, y))


@pytest.mark.needs("onnxruntime", "skl2onnx")
@pytest.mark.parametrize("labels", [[-4, 3, 5], ["low", "mid", "top"]], ids=["numbers", "strings"])
@pytest.mark.parametrize(
    "make",
    [
        partial(LogisticRegression),
        partial(RandomForestClassifier, n_estimators=2),
        partial(CalibratedClassifierCV, LogisticRegression(), cv=2),
        partial(GaussianNB),
        partial(GridSearchCV, LogisticRegression(), {"C": [1.0]}, cv=2),
    ],
    ids=["linear", "forest", "calibrated", "bayes", "search"],
)
def test_a_session_knows_the_labels_of_its_model(make, labels, tmp_path):
    import onnxruntime

    labels = np.array(labels)
    model = make().fit(X_TRAIN, labels[three(X_TRAIN)])
    session = _session(model, X_TRAIN[:1].astype(np.float32), zipmap=False)
    (tmp_path / "model.onnx").write_bytes(session._model_bytes)
    from_file = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    few = three(X) > 0  # as numbers these would pass for other classes
    for opened in (session, from_file):
        assert cs.as_predictor(opened).classes == tuple(labels.tolist())
        found = cs.sage(opened, X[few], labels[three(X)[few]], background=BACKGROUND, method="exact")
        wanted = cs.sage(lambda rows: model.predict_proba(rows), X[few], three(X)[few], background=BACKGROUND)
        np.testing.assert_allclose(found.values, wanted.values, atol=1e-4)


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "one a field"])
def test_labels_are_read_from_the_bytes_of_a_model_or_not_at_all(packed):
    def field(number, content):
        return bytes([number << 3 | 2, len(content)]) + content

    minus_four = b"\xfc" + b"\xff" * 8 + b"\x01"
    ints = field(8, b"\x03" + minus_four) if packed else b"\x40\x03\x40" + minus_four
    attribute = field(5, field(1, b"classlabels_int64s") + ints)
    classifier = field(1, field(1, b"rows") + field(2, b"inner") + attribute)
    cast = field(1, field(1, b"inner") + field(2, b"label"))
    model = b"\x08\x07" + field(7, classifier + cast)
    assert class_labels(model, "label") == (3, -4)
    assert class_labels(model, "other") is None
    assert class_labels(model[:-3], "label") is None
    table = field(8, b"inner") + b"\x10\x07" + field(9, np.array([3, -4]).tobytes())
    assert class_labels(field(7, field(5, table) + cast), "label") == (3, -4)


@pytest.mark.needs("onnxruntime", "skl2onnx")
def test_a_session_of_a_regressor_gives_its_predictions():
    model = RandomForestRegressor(n_estimators=5, random_state=0).fit(X_TRAIN, noisy(X_TRAIN))
    session = _session(model, X_TRAIN[:1].astype(np.float32))
    np.testing.assert_allclose(cs.as_predictor(session)(X)[:, 0], model.predict(X.astype(np.float32)), atol=1e-5)

    def own(rows):
        return session.run(None, {session.get_inputs()[0].name: np.asarray(rows, dtype=np.float32)})[0]

    assert assert_agreement(session, own, X, noisy(X)).loss == "squared error"


@pytest.mark.needs("onnxruntime", "skl2onnx")
def test_outputs_of_a_session_go_by_name():
    model = LogisticRegression().fit(X_TRAIN, binary(X_TRAIN))
    session = _session(model, X_TRAIN[:1].astype(np.float32), zipmap=False, raw_scores=True)
    names = [part.name for part in session.get_outputs()]
    np.testing.assert_array_equal(cs.as_predictor(session, output=names[0])(X)[:, 0], model.predict(X))
    with pytest.raises(cs.InputError, match=f"'logits', which the session .outputs {', '.join(names)}. does not have"):
        cs.as_predictor(session, output="logits")
    many = LogisticRegression().fit(X_TRAIN, three(X_TRAIN))
    raw = _session(many, X_TRAIN[:1].astype(np.float32), zipmap=False, raw_scores=True)
    np.testing.assert_allclose(cs.as_predictor(raw, output="softmax")(X), many.predict_proba(X), atol=1e-5)


@pytest.mark.needs("onnxruntime", "skl2onnx")
@pytest.mark.parametrize("zipmap", [True, False], ids=["zipmap", "tensor"])
def test_a_session_with_an_input_for_each_column_takes_mixed_types(zipmap):
    train, test = (mixed(x, "string").astype({"a": np.float32}) for x in (X_TRAIN, X))
    encoder = make_column_transformer((OneHotEncoder(), ["c"]), (StandardScaler(), ["a"]), (StandardScaler(), ["b"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(train, np.array(["no", "yes"])[binary(X_TRAIN)])
    session = _session(model, train[:1], zipmap=zipmap)
    f = cs.as_predictor(session)
    assert f.feature_names == ("a", "b", "c")
    assert f.classes == ("no", "yes")
    np.testing.assert_allclose(f(test[["c", "a", "b"]]), model.predict_proba(test), atol=1e-5)

    def own(rows):
        found = session.run(None, {name: rows[[name]].to_numpy() for name in NAMES})[1]
        return np.array([[row["no"], row["yes"]] for row in found]) if zipmap else found

    y = np.array(["no", "yes"])[binary(X)]
    assert_agreement(session, own, test, y, codes=binary(X), background=train[:M])
    arrays = cs.sage(session, test.astype(object).to_numpy(), y, background=train[:M], method="exact")
    np.testing.assert_allclose(
        arrays.values, cs.sage(session, test, y, background=train[:M], method="exact").values, atol=1e-9
    )


@pytest.mark.needs("onnxruntime", "skl2onnx")
def test_a_session_gives_the_same_bits_in_other_processes(tmp_path):
    import onnxruntime

    model = RandomForestRegressor(n_estimators=100, random_state=0).fit(X_TRAIN, noisy(X_TRAIN))
    session = _session(model, X_TRAIN[:1].astype(np.float32))
    (tmp_path / "model.onnx").write_bytes(session._model_bytes)
    from_file = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    options = {"background": BACKGROUND, "method": "permutation", "budget": 20_000, "rng": 0}
    wanted = cs.sage(session, X, noisy(X), **options).values
    for shared in (session, from_file):
        np.testing.assert_array_equal(cs.sage(shared, X, noisy(X), n_jobs=2, **options).values, wanted)


# ------------------------------------------------------------------------------------------------- all libraries


def _categorical_model(library: str) -> Any:
    from importlib import import_module

    makers = {
        "sklearn": lambda lib: HistGradientBoostingRegressor(max_iter=5),
        "xgboost": lambda lib: lib.XGBRegressor(n_estimators=5, enable_categorical=True, n_jobs=1),
        "lightgbm": lambda lib: lib.LGBMRegressor(**LIGHT),
        "catboost": lambda lib: lib.CatBoostRegressor(cat_features=["c"], **CAT),
    }
    return makers[library](import_module(library))


@pytest.mark.needs("polars")
@pytest.mark.parametrize("kind", ["Categorical", "Enum"])
@pytest.mark.parametrize(
    "library",
    [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("xgboost", "lightgbm", "catboost")] + ["sklearn"],
)
def test_categories_of_polars_reach_a_model_fitted_on_pandas(library, kind):
    import polars as pl

    train, test = mixed(X_TRAIN), mixed(X)
    dtype = pl.Categorical if kind == "Categorical" else pl.Enum(["red", "green", "blue"])
    rows, background = (
        pl.DataFrame(part.astype({"c": str}).to_dict("list")).with_columns(pl.col("c").cast(dtype))
        for part in (test, train[:M])
    )
    model = _categorical_model(library).fit(train, noisy(X_TRAIN))
    found = cs.sage(model, rows, noisy(X), background=background, method="exact")
    wanted = cs.sage(model.predict, test, noisy(X), background=train[:M], method="exact")
    assert np.abs(wanted.values).max() > 1e-3
    np.testing.assert_allclose(found.values, wanted.values, atol=1e-9)


def _any_model(library: str) -> Any:
    from importlib import import_module

    makers = {
        "sklearn": lambda lib: LogisticRegression().fit(X_TRAIN, binary(X_TRAIN)),
        "xgboost": lambda lib: _boosted("binary:logitraw", binary(X_TRAIN)),
        "lightgbm": lambda lib: lib.LGBMClassifier(**LIGHT).fit(X_TRAIN, binary(X_TRAIN)),
        "catboost": lambda lib: lib.CatBoostClassifier(**CAT).fit(X_TRAIN, binary(X_TRAIN)),
        "torch": lambda lib: _network(),
        "skl2onnx": lambda lib: _session(
            LogisticRegression().fit(X_TRAIN, binary(X_TRAIN)), X_TRAIN[:1].astype(np.float32)
        ),
    }
    return makers[library](import_module(library))


ANY = ("sklearn", "xgboost", "lightgbm", "catboost", "torch", "skl2onnx")


@pytest.mark.parametrize("library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ANY])
def test_a_predictor_survives_the_way_to_another_process(library):
    f = cs.as_predictor(_any_model(library))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(X), f(X))


@pytest.mark.parametrize("library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ANY])
def test_an_output_that_a_library_does_not_have_is_an_error(library):
    with pytest.raises(cs.InputError, match="output: got 'nonsense'"):
        cs.as_predictor(_any_model(library), output="nonsense")


@pytest.mark.parametrize("library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ANY])
def test_a_table_with_other_columns_than_the_model_was_fitted_on_is_an_error(library):
    with pytest.raises(cs.ModelError, match=re.compile("got")):
        cs.sage(_any_model(library), X[:, :2], binary(X))


# --------------------------------------------------------------------------------------------------- statsmodels


STATSMODELS = {
    "OLS": lambda sm, X: sm.OLS(noisy(X), sm.add_constant(X)).fit(),
    "RLM": lambda sm, X: sm.RLM(noisy(X), sm.add_constant(X)).fit(),
    "Logit": lambda sm, X: sm.Logit(binary(X), sm.add_constant(X)).fit(disp=0),
    "Probit": lambda sm, X: sm.Probit(binary(X), sm.add_constant(X)).fit(disp=0),
    "Poisson": lambda sm, X: sm.Poisson(np.round(np.exp(score(X) / 4)), sm.add_constant(X)).fit(disp=0),
    "MNLogit": lambda sm, X: sm.MNLogit(three(X), sm.add_constant(X)).fit(disp=0, maxiter=3),
    "binomial": lambda sm, X: sm.GLM(binary(X), sm.add_constant(X), family=sm.families.Binomial()).fit(),
    "log": lambda sm, X: sm.GLM(
        np.exp(score(X) / 4), sm.add_constant(X), family=sm.families.Gaussian(sm.families.links.Log())
    ).fit(),
}


@pytest.mark.needs("statsmodels")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", STATSMODELS)
def test_results_of_statsmodels_are_walked_by_their_coefficients(name):
    import statsmodels.api as sm

    model, x = STATSMODELS[name](sm, X_TRAIN), sm.add_constant(X)
    y = {"MNLogit": three(X), "Poisson": np.exp(score(X) / 4), "log": np.exp(score(X) / 4)}.get(name, noisy(X))
    y = binary(X) if name in ("Logit", "Probit", "binomial") else y
    f = cs.as_predictor(model)
    assert (f.structure is None) == (name == "Probit")
    options = {
        "background": sm.add_constant(BACKGROUND),
        "method": "permutation",
        "stop": enough,
        "rng": 0,
        "tolerance": None,
    }
    native = cs.sage(model, x, y, **options)
    black = cs.sage(lambda rows: model.predict(rows), x, y, loss=native.loss, **options)
    assert not [note for note in native.notes if "row by row" in note]
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-9)
    assert native.values[0] == 0.0  # the constant


@pytest.mark.needs("statsmodels")
def test_results_of_a_formula_take_the_frame_that_it_speaks_of():
    import statsmodels.formula.api as smf

    train, test = (pd.DataFrame(x, columns=list("abc")) for x in (X_TRAIN, X))
    model = smf.ols("y ~ a * b + c", train.assign(y=noisy(X_TRAIN))).fit()
    assert_agreement(model, lambda rows: model.predict(rows), test, noisy(X), background=test[:M])


def test_a_linear_model_in_single_precision_is_walked_by_its_coefficients():
    single = X_TRAIN.astype(np.float32)
    model = linear_model.Ridge().fit(single, noisy(X_TRAIN).astype(np.float32))
    assert model.coef_.dtype == np.float32
    found = cs.sage(model, X.astype(np.float32), noisy(X), background=single[:M], rng=0)
    assert found.method == "exact"
    assert not [note for note in found.notes if "row by row" in note]


class LabelsAlone:
    """A classifier that predicts labels and has no probabilities."""

    classes_ = np.array(["no", "yes"])

    def predict(self, rows):
        return self.classes_[(np.asarray(rows)[:, 0] > 0).astype(int)]


@pytest.mark.parametrize("loss", ["cross entropy", ["zero one", "cross entropy"]], ids=str)
def test_labels_are_not_taken_for_probabilities(loss):
    model = LabelsAlone()
    with pytest.raises(cs.ModelError, match="labels") as refused:
        cs.sage(model, X, model.predict(X), loss=loss, background=X[:M])
    assert 'loss="zero one"' in str(refused.value)
    assert cs.sage(model, X, model.predict(X), loss="zero one", background=X[:M]).loss == "zero one"


@pytest.mark.needs("sklearn")
def test_margins_of_a_classifier_without_probabilities_may_become_some():
    from sklearn.svm import LinearSVC

    model = LinearSVC().fit(X_TRAIN, binary(X_TRAIN))
    with pytest.raises(cs.ModelError, match="labels"):
        cs.sage(model, X, binary(X), loss="cross entropy", background=X[:M])
    f = cs.as_predictor(model, output="sigmoid")
    assert cs.sage(f, X, binary(X), loss="cross entropy", background=X[:M]).loss == "cross entropy"
