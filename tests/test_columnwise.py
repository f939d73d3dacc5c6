"""Transformers that keep columns apart: a transform of hybrid rows is, by definition, a hybrid of transforms."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import (
    compose,
    decomposition,
    ensemble,
    feature_selection,
    impute,
    linear_model,
    neural_network,
    pipeline,
    preprocessing,
)
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.estimators import ClosedFormValues, Exact, estimate
from clarysage.models import as_predictor
from clarysage.structure.base import UnknownStructureError
from clarysage.structure.columnwise import RULES, Transformed, owners

N, FITTED = 240, 160

_draws = np.random.default_rng(5)
NUMBERS = _draws.normal(size=(N, 4))
POSITIVE = np.exp(NUMBERS)
WITH_GAPS = np.where(_draws.random((N, 4)) < 0.2, np.nan, NUMBERS)
EMPTY = np.column_stack([WITH_GAPS[:, :2], np.full(N, np.nan), WITH_GAPS[:, 3]])
CODES = np.column_stack([_draws.integers(size, size=N) for size in (2, 3, 5, 40)])
FRAME = pd.DataFrame(
    {
        "a": WITH_GAPS[:, 0],
        "b": CODES[:, 2].astype(float),
        "c": _draws.choice(["x", "y", "z"], N),
        "d": pd.Categorical(_draws.choice(list("uvw"), N)),
    }
)
SCORE = FRAME["a"].fillna(0).to_numpy() + (FRAME["c"] == "x") * FRAME["b"] + _draws.normal(size=N) * 0.2
TWO, THREE = (SCORE > 0).astype(int).to_numpy(), np.digitize(SCORE, [0.0, 1.0])
SCORE = SCORE.to_numpy()


@pytest.fixture(autouse=True)
def one_thread():
    """Small models are slow on many threads that others use too."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn")  # columns of nothing, bins that are joined
        yield


def _imputed_and_scaled(**options: Any) -> Any:
    return pipeline.make_pipeline(impute.SimpleImputer(add_indicator=True, **options), preprocessing.StandardScaler())


def _columns(*parts: Any, **options: Any) -> Any:
    return compose.make_column_transformer(*parts, **options)


# name -> transformer, the table it is fitted to
CASES: dict[str, tuple[Any, Any]] = {
    "StandardScaler": (preprocessing.StandardScaler(), WITH_GAPS),
    "MinMaxScaler": (preprocessing.MinMaxScaler(clip=True), WITH_GAPS),
    "MaxAbsScaler": (preprocessing.MaxAbsScaler(), NUMBERS),
    "RobustScaler": (preprocessing.RobustScaler(), WITH_GAPS),
    "PowerTransformer": (preprocessing.PowerTransformer(), WITH_GAPS),
    "PowerTransformer, box-cox": (preprocessing.PowerTransformer("box-cox"), POSITIVE),
    "QuantileTransformer": (preprocessing.QuantileTransformer(n_quantiles=20), WITH_GAPS),
    "OrdinalEncoder": (preprocessing.OrdinalEncoder(), FRAME),
    "OrdinalEncoder, rare ones joined": (preprocessing.OrdinalEncoder(min_frequency=10), CODES),
    "Binarizer": (preprocessing.Binarizer(), NUMBERS),
    "OneHotEncoder": (preprocessing.OneHotEncoder(), FRAME[["c", "d"]]),
    "OneHotEncoder, dense": (preprocessing.OneHotEncoder(sparse_output=False), CODES),
    "OneHotEncoder, one dropped": (preprocessing.OneHotEncoder(drop="first"), CODES),
    "OneHotEncoder, one of two dropped": (preprocessing.OneHotEncoder(drop="if_binary"), CODES),
    "OneHotEncoder, rare ones joined": (preprocessing.OneHotEncoder(min_frequency=10, drop="first"), CODES),
    "OneHotEncoder, few kept": (preprocessing.OneHotEncoder(max_categories=3), CODES),
    "KBinsDiscretizer": (preprocessing.KBinsDiscretizer(3), NUMBERS),
    "KBinsDiscretizer, joined": (preprocessing.KBinsDiscretizer(6), np.minimum(CODES, 4).astype(float)),
    "KBinsDiscretizer, numbers": (preprocessing.KBinsDiscretizer(4, encode="ordinal"), NUMBERS),
    "KBinsDiscretizer, dense": (preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), NUMBERS),
    "SplineTransformer": (preprocessing.SplineTransformer(4, degree=2), NUMBERS),
    "SplineTransformer, without one": (preprocessing.SplineTransformer(include_bias=False), NUMBERS),
    "SplineTransformer, periodic": (preprocessing.SplineTransformer(extrapolation="periodic"), NUMBERS),
    "SimpleImputer": (impute.SimpleImputer(), WITH_GAPS),
    "SimpleImputer, marks": (impute.SimpleImputer(add_indicator=True), WITH_GAPS),
    "SimpleImputer, a column of nothing": (impute.SimpleImputer(), EMPTY),
    "SimpleImputer, a column of nothing, marks": (impute.SimpleImputer(add_indicator=True), EMPTY),
    "SimpleImputer, a column of nothing kept": (impute.SimpleImputer(keep_empty_features=True), EMPTY),
    "SimpleImputer, constant": (impute.SimpleImputer(strategy="constant"), WITH_GAPS),
    "SimpleImputer, constant, a column of nothing": (impute.SimpleImputer(strategy="constant", fill_value=3.0), EMPTY),
    "SimpleImputer, most frequent": (impute.SimpleImputer(strategy="most_frequent"), EMPTY),
    "FunctionTransformer": (preprocessing.FunctionTransformer(np.log1p), POSITIVE),
    "FunctionTransformer, nothing": (preprocessing.FunctionTransformer(), NUMBERS),
    "VarianceThreshold": (feature_selection.VarianceThreshold(1.2), CODES),
    "SelectKBest": (feature_selection.SelectKBest(feature_selection.f_regression, k=2), NUMBERS),
    "SelectPercentile": (feature_selection.SelectPercentile(feature_selection.f_regression, percentile=60), NUMBERS),
    "SelectFpr": (feature_selection.SelectFpr(feature_selection.f_regression), NUMBERS),
    "SelectFdr": (feature_selection.SelectFdr(feature_selection.f_regression), NUMBERS),
    "SelectFwe": (feature_selection.SelectFwe(feature_selection.f_regression), NUMBERS),
    "GenericUnivariateSelect": (
        feature_selection.GenericUnivariateSelect(feature_selection.f_regression, mode="k_best", param=3),
        NUMBERS,
    ),
    "SelectFromModel": (feature_selection.SelectFromModel(linear_model.LinearRegression()), NUMBERS),
    "SequentialFeatureSelector": (
        feature_selection.SequentialFeatureSelector(linear_model.LinearRegression(), n_features_to_select=2),
        NUMBERS,
    ),
    "RFE": (feature_selection.RFE(linear_model.LinearRegression(), n_features_to_select=2), NUMBERS),
    "RFECV": (feature_selection.RFECV(linear_model.LinearRegression(), min_features_to_select=2), NUMBERS),
    "TargetEncoder": (preprocessing.TargetEncoder(random_state=0), CODES),
    "Pipeline": (_imputed_and_scaled(), WITH_GAPS),
    "Pipeline, a column of nothing": (_imputed_and_scaled(), EMPTY),
    "Pipeline, step that does nothing": (
        pipeline.make_pipeline("passthrough", preprocessing.StandardScaler(), None),
        NUMBERS,
    ),
    "Pipeline, bins of marks": (
        pipeline.make_pipeline(_imputed_and_scaled(), preprocessing.KBinsDiscretizer(3), preprocessing.MaxAbsScaler()),
        WITH_GAPS,
    ),
    "FeatureUnion": (
        pipeline.make_union(_imputed_and_scaled(), impute.SimpleImputer(strategy="median"), "drop"),
        WITH_GAPS,
    ),
    "FeatureUnion, weights": (
        pipeline.FeatureUnion(
            [("one", preprocessing.StandardScaler()), ("hot", preprocessing.KBinsDiscretizer(3))],
            transformer_weights={"hot": 2.0},
        ),
        NUMBERS,
    ),
    "ColumnTransformer": (
        _columns((_imputed_and_scaled(), ["b", "a"]), (preprocessing.OneHotEncoder(), ["d", "c"])),
        FRAME,
    ),
    "ColumnTransformer, positions": (
        _columns((preprocessing.OneHotEncoder(), [-1, 2]), (preprocessing.StandardScaler(), [1])),
        FRAME,
    ),
    "ColumnTransformer, masks": (
        _columns(
            (preprocessing.OneHotEncoder(), [False, True, True, False]),
            (preprocessing.MinMaxScaler(), np.array([True, False, False, False])),
        ),
        CODES,
    ),
    "ColumnTransformer, slices": (
        _columns((preprocessing.OneHotEncoder(), slice(1, 3)), remainder=preprocessing.StandardScaler()),
        CODES,
    ),
    "ColumnTransformer, kinds": (
        _columns(
            (preprocessing.OrdinalEncoder(), compose.make_column_selector(dtype_exclude=np.number)),
            (impute.SimpleImputer(), compose.make_column_selector(dtype_include=np.number)),
        ),
        FRAME,
    ),
    "ColumnTransformer, rest passed through": (
        _columns((preprocessing.OneHotEncoder(), ["d", "c"]), remainder="passthrough"),
        FRAME,
    ),
    "ColumnTransformer, rest dropped": (_columns((preprocessing.OneHotEncoder(), ["d"]), ("drop", ["a"])), FRAME),
    "ColumnTransformer, passed through": (
        _columns(("passthrough", ["b", "a"]), (preprocessing.OrdinalEncoder(), ["c"])),
        FRAME,
    ),
    "ColumnTransformer, one column twice": (
        _columns(
            (preprocessing.StandardScaler(), ["a", "b"]),
            (preprocessing.KBinsDiscretizer(3), ["b"]),
            (preprocessing.OneHotEncoder(), ["c"]),
            ("passthrough", ["b"]),
        ),
        FRAME,
    ),
    "ColumnTransformer, no columns": (
        _columns((preprocessing.OneHotEncoder(), []), (preprocessing.OrdinalEncoder(), ["c", "d"])),
        FRAME,
    ),
    "ColumnTransformer, sparse": (
        _columns((preprocessing.OneHotEncoder(), [2, 3]), ("passthrough", [0]), sparse_threshold=1.0),
        CODES,
    ),
    "ColumnTransformer, frames": (
        _columns(
            (preprocessing.OneHotEncoder(sparse_output=False), ["d", "c"]),
            (_imputed_and_scaled(), ["a", "b"]),
        ).set_output(transform="pandas"),
        FRAME,
    ),
    "ColumnTransformer within another": (
        pipeline.make_pipeline(
            _columns((preprocessing.OrdinalEncoder(), ["c", "d"]), (_imputed_and_scaled(), ["b", "a"])),
            _columns((preprocessing.OneHotEncoder(), [1, 0]), remainder="passthrough"),
        ),
        FRAME,
    ),
}


@cache
def fitted(name: str) -> Any:
    transformer, table = CASES[name]
    y = THREE if "three" in name else SCORE
    return transformer.fit(table, y)


def swapped(x: Any, b: Any, column: int) -> Any:
    """Rows x with one column of rows b."""
    if isinstance(x, np.ndarray):
        return np.where(np.arange(x.shape[1]) == column, b, x)
    label = x.columns[column]
    return x.assign(**{label: b[label].set_axis(x.index)})


def hybrid(x: Any, b: Any, columns: np.ndarray) -> Any:
    for column in columns:
        x = swapped(x, b, column)
    return x


def test_every_rule_has_a_case():
    assert {name.partition(",")[0].partition(" ")[0] for name in CASES} == set(RULES)


@pytest.mark.parametrize("name", CASES)
def test_swapping_a_column_changes_the_inner_columns_it_owns_alone(name, seed):
    transformer, table = fitted(name), CASES[name][1]
    owner, view, rng = owners(transformer), Transformed(transformer), np.random.default_rng(seed)
    x, b = (pd.DataFrame(table).iloc[rng.integers(N, size=80)] for _ in range(2))
    x, b = (x, b) if isinstance(table, pd.DataFrame) else (x.to_numpy(), b.to_numpy())
    of_x, of_b = view(x), view(b)
    assert of_x.shape == (80, len(owner))
    for column in range(table.shape[1]):
        found = view(swapped(x, b, column))
        assert_same(found, np.where(owner == column, of_b, of_x))
    for _ in range(4):
        chosen = rng.random(table.shape[1]) < 0.5
        assert_same(view(hybrid(x, b, np.flatnonzero(chosen))), np.where(chosen[owner], of_b, of_x))


def test_target_encoder_of_several_classes_keeps_columns_apart():
    encoder = preprocessing.TargetEncoder(random_state=0).fit(CODES, THREE)
    assert owners(encoder).tolist() == np.repeat(np.arange(4), 3).tolist()
    x, b = CODES[:40], CODES[40:80]
    for column in range(4):
        wanted = np.where(owners(encoder) == column, encoder.transform(b), encoder.transform(x))
        assert_same(encoder.transform(swapped(x, b, column)), wanted)


def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.shape == wanted.shape
    assert np.allclose(found, wanted, rtol=1e-13, atol=1e-13, equal_nan=True)


def _halved(X: np.ndarray) -> np.ndarray:
    return X / 2


def _own(kind: type) -> Any:
    """A transformer of the user's own, with the name of one that is known."""
    return type(kind.__name__, (kind,), {"__module__": "mine"})()


MIXING = {
    "PCA": decomposition.PCA(2),
    "Normalizer": preprocessing.Normalizer(),
    "PolynomialFeatures": preprocessing.PolynomialFeatures(2),
    "KNNImputer": impute.KNNImputer(),
    "FunctionTransformer(_halved)": preprocessing.FunctionTransformer(_halved),
    "StandardScaler": _own(preprocessing.StandardScaler),
}


@pytest.mark.parametrize("name", MIXING)
def test_transformers_that_may_mix_columns_are_refused_by_name(name):
    transformer = MIXING[name].fit(NUMBERS)
    many = pipeline.make_pipeline(preprocessing.MinMaxScaler(), transformer).fit(NUMBERS)
    columns = _columns((transformer, [0, 1]), remainder="passthrough").fit(NUMBERS)
    for one in (transformer, many, columns, pipeline.make_union(many).fit(NUMBERS)):
        with pytest.raises(UnknownStructureError, match=name.replace("(", r"\(").replace(")", r"\)")):
            owners(one)


# ------------------------------------------------------------------------------------------------- models behind them


def _prepared(*, ordinal: bool = False) -> Any:
    if ordinal:
        return _columns((preprocessing.OrdinalEncoder(), ["c", "d"]), remainder="passthrough")
    return _columns((_imputed_and_scaled(), ["a", "b"]), (preprocessing.OneHotEncoder(drop="first"), ["d", "c"]))


def _behind(model: Any, **options: Any) -> Any:
    return pipeline.make_pipeline(_prepared(**options), model)


def _lightgbm(kind: str, **options: Any) -> Any:
    import lightgbm

    return getattr(lightgbm, kind)(n_estimators=12, verbose=-1, n_jobs=1, min_child_samples=5, **options)


def _xgboost(kind: str) -> Any:
    import xgboost

    return getattr(xgboost, kind)(n_estimators=12, n_jobs=1)


def _network() -> Any:
    return neural_network.MLPRegressor(hidden_layer_sizes=(6,), max_iter=40, random_state=0)


# name -> the library it needs, the model, the response
MODELS: dict[str, tuple[str, Any, np.ndarray]] = {
    "line": ("sklearn", lambda: _behind(linear_model.Ridge()), SCORE),
    "logistic": ("sklearn", lambda: _behind(linear_model.LogisticRegression()), TWO),
    "logistic of three": ("sklearn", lambda: _behind(linear_model.LogisticRegression()), THREE),
    "forest": ("sklearn", lambda: _behind(ensemble.RandomForestClassifier(8, random_state=0)), THREE),
    "boosting": ("sklearn", lambda: _behind(ensemble.GradientBoostingClassifier(n_estimators=9)), TWO),
    "histograms": ("sklearn", lambda: _behind(ensemble.HistGradientBoostingRegressor(max_iter=9), ordinal=True), SCORE),
    "histograms of categories": (
        "sklearn",
        lambda: _behind(ensemble.HistGradientBoostingRegressor(max_iter=9, categorical_features=[0, 1]), ordinal=True),
        SCORE,
    ),
    "network": ("sklearn", lambda: _behind(_network()), SCORE),
    "search": (
        "sklearn",
        lambda: GridSearchCV(_behind(linear_model.Ridge()), {"ridge__alpha": [0.1, 9.0]}, cv=2),
        SCORE,
    ),
    "search behind a Pipeline": (
        "sklearn",
        lambda: _behind(GridSearchCV(linear_model.Ridge(), {"alpha": [0.1, 9.0]}, cv=2)),
        SCORE,
    ),
    "Pipeline in a Pipeline": (
        "sklearn",
        lambda: _behind(pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())),
        SCORE,
    ),
    "frames between": (
        "sklearn",
        lambda: pipeline.make_pipeline(
            _columns(
                (preprocessing.OneHotEncoder(sparse_output=False), ["d", "c"]), (_imputed_and_scaled(), ["a", "b"])
            ),
            linear_model.Ridge(),
        ).set_output(transform="pandas"),
        SCORE,
    ),
    "lightgbm": ("lightgbm", lambda: _behind(_lightgbm("LGBMRegressor"), ordinal=True), SCORE),
    "lightgbm of three": ("lightgbm", lambda: _behind(_lightgbm("LGBMClassifier")), THREE),
    "xgboost": ("xgboost", lambda: _behind(_xgboost("XGBClassifier")), TWO),
}


def marked(names: Any) -> list[Any]:
    return [
        pytest.param(name, marks=() if MODELS[name][0] == "sklearn" else pytest.mark.needs(MODELS[name][0]))
        for name in names
    ]


@cache
def model_of(name: str) -> Any:
    _, made, y = MODELS[name]
    return made().fit(FRAME[:FITTED], y[:FITTED])


@pytest.mark.parametrize("name", marked(MODELS))
def test_values_of_a_pipeline_are_those_of_the_same_as_a_plain_function(name, seed):
    model, y = model_of(name), MODELS[name][2]
    rng = np.random.default_rng(seed)
    places, rows = rng.permutation(np.arange(FITTED, N))[:30], rng.integers(N, size=12)
    X, b = FRAME.iloc[places], FRAME.iloc[rows]
    predictor = as_predictor(model)
    asked = model.predict if predictor.classes is None else model.predict_proba
    loss = "squared error" if predictor.classes is None else cs.CrossEntropy(floor=1e-3)  # that of forests is their own
    options = {"background": b, "loss": loss, "method": "exact", "rng": 0}
    told, plain = (
        cs.sage(one, X, y[places], **options)
        for one in (model, as_predictor(lambda frame: asked(frame), classes=predictor.classes))
    )
    allowed = (1e-5 if name == "xgboost" else 1e-9) * np.abs(plain.values).max()  # XGBoost adds in single precision
    assert not any("row by row" in note for note in told.notes)
    assert np.abs(told.values - plain.values).max() <= allowed

    f_S = cs.Marginal(b).restrict(predictor, X)
    assert f_S.native is not None
    v = cs.PredictivePower.of(f_S, loss, X, y[places])
    assert (v.closed_form is None) == (name in ("network", "logistic", "logistic of three"))
    if v.closed_form is not None:
        assert np.abs(estimate(v, ClosedFormValues()).values[0] - plain.values).max() <= allowed


@pytest.mark.parametrize("name", ["PCA", "Normalizer"])
def test_pipeline_that_mixes_columns_is_asked_row_by_row_and_says_so(name):
    mixing = MIXING[name]
    model = pipeline.make_pipeline(_prepared(), mixing, linear_model.Ridge()).fit(FRAME[:FITTED], SCORE[:FITTED])
    told, plain = (
        cs.sage(one, FRAME[FITTED:], SCORE[FITTED:], background=FRAME[:12], method="exact", rng=0)
        for one in (model, lambda frame: model.predict(frame))
    )
    assert any("was called row by row" in note and name in note for note in told.notes), told.notes
    assert np.allclose(told.values, plain.values, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("steps", [[], ["passthrough"], [None, "passthrough"]])
def test_pipeline_of_a_model_alone_is_that_model(steps):
    line = linear_model.Ridge().fit(NUMBERS[:FITTED], SCORE[:FITTED])
    model = pipeline.make_pipeline(*steps, linear_model.Ridge()).fit(NUMBERS[:FITTED], SCORE[:FITTED])
    told, alone = (
        cs.sage(one, NUMBERS[FITTED:], SCORE[FITTED:], background=NUMBERS[:12], method="exact", rng=0)
        for one in (model, line)
    )
    assert np.allclose(told.values, alone.values, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("wrong", [[1, 0, 2, 3], [0, 0, 2, 3], [0, 1, 2]])
def test_wrong_owners_of_columns_are_found_out(wrong, monkeypatch):
    monkeypatch.setitem(RULES, "StandardScaler", lambda scaler: wrong)
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.Ridge())
    model.fit(NUMBERS[:FITTED], SCORE[:FITTED])
    f_S = cs.Marginal(NUMBERS[:12]).restrict(as_predictor(model), NUMBERS[FITTED:])
    assert f_S.native is None
    assert "does not keep columns apart" in f_S.remarks[0]


def test_column_in_two_transformers_is_one_player():
    columns = _columns(
        (preprocessing.StandardScaler(), ["a", "b"]),
        (preprocessing.KBinsDiscretizer(3), ["b"]),
        (preprocessing.OneHotEncoder(), ["c"]),
    )
    table = FRAME.assign(a=FRAME["a"].fillna(0))
    model = pipeline.make_pipeline(columns, linear_model.Ridge()).fit(table[:FITTED], SCORE[:FITTED])
    f_S = cs.Marginal(table[:12]).restrict(as_predictor(model), table[FITTED:])
    assert f_S.native is not None
    v, box = (
        cs.PredictivePower.of(one, "squared error", table[FITTED:], SCORE[FITTED:])
        for one in (f_S, replace(f_S, native=None))
    )
    told, asked = estimate(v, ClosedFormValues()).values, estimate(box, Exact()).values
    assert np.abs(told - asked).max() <= 1e-10 * np.abs(asked).max()
    assert told[0, 3] == 0, "the transformer drops this column"


@pytest.mark.parametrize("method", ["exact", "paired walks", "auto"])
@pytest.mark.parametrize(
    "model", [linear_model.Ridge(), ensemble.RandomForestRegressor(5), ensemble.HistGradientBoostingRegressor()]
)
def test_features_that_are_dropped_are_worth_exactly_nothing(model, method, seed):
    whole = pipeline.make_pipeline(_columns((preprocessing.OneHotEncoder(), ["c"]), ("passthrough", ["b"])), model)
    whole.fit(FRAME[:FITTED], SCORE[:FITTED])
    told = cs.sage(whole, FRAME[FITTED:], SCORE[FITTED:], background=FRAME[:40], method=method, rng=seed)
    assert told.feature_names == ("a", "b", "c", "d")
    assert told.values[0] == told.values[3] == 0
    assert told.std_error[0] == told.std_error[3] == 0
