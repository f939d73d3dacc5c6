"""Tree ensembles taken apart: each library's own predictions on rows that lie on its thresholds, and hybrid rows."""

from __future__ import annotations

import importlib
import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, tree
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

import clarysage as cs
from clarysage.models import as_predictor
from clarysage.removal.restricted.hybrid import HybridModel
from clarysage.removal.restricted.native import near
from clarysage.structure.base import Structure
from clarysage.structure.oblivious import (
    Level,
    ObliviousEvaluator,
    ObliviousTables,
    ObliviousTree,
    flatten_oblivious_trees,
    tabulate_means,
)
from clarysage.structure.trees import (
    MISSING,
    MISSING_IS_ZERO,
    ZERO_IS_MISSING,
    SplitRules,
    Tree,
    TreeEvaluator,
    bit_set,
    flatten_trees,
)
from oracle import RowByRow

N, D, ROWS = 300, 4, 400
DOUBLE, SINGLE = 1e-12, 2e-6  # of the largest prediction: what sums of few trees differ by

_draws = np.random.default_rng(3)
NUMBERS = _draws.normal(size=(N, D))
WITH_GAPS = np.where(_draws.random((N, D)) < 0.15, np.nan, NUMBERS)
ROUND = NUMBERS.round(0) + 0.0
SCORE = NUMBERS[:, 0] * NUMBERS[:, 1] + NUMBERS[:, 2] - 2 * np.isnan(WITH_GAPS[:, 0]) + _draws.normal(size=N) * 0.3
COUNTS = np.exp(SCORE / 2).round()
TWO, THREE = (SCORE > 0).astype(int), np.digitize(SCORE, [-0.5, 0.5])
WORDS, LETTERS = _draws.choice(["ant", "bee", "cat", "dog", "elk"], N), _draws.choice(list("pqr"), N)
MIXED = pd.DataFrame(
    {"a": WITH_GAPS[:, 0], "words": pd.Categorical(WORDS), "c": NUMBERS[:, 2], "letters": pd.Categorical(LETTERS)}
)
TEXT = pd.DataFrame({"a": WITH_GAPS[:, 0], "words": WORDS, "c": NUMBERS[:, 2], "codes": _draws.integers(0, 6, N)})
BY_CATEGORY = SCORE + 2 * (WORDS == "bee") + np.where(LETTERS == "q", NUMBERS[:, 2], 0) + (TEXT["codes"] == 3)


def _xgboost(kind: str = "XGBRegressor", **options: Any) -> Any:
    return getattr(importlib.import_module("xgboost"), kind)(
        **{"n_estimators": 12, "max_depth": 4, "n_jobs": 1, **options}
    )


def _stopped() -> Any:
    """XGBoost that goes on after its best round."""
    model = _xgboost(n_estimators=40, learning_rate=0.8, early_stopping_rounds=8)
    model.fit(NUMBERS[:200], SCORE[:200], eval_set=[(NUMBERS[200:], SCORE[200:])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    return model


def _lightgbm(kind: str = "LGBMRegressor", **options: Any) -> Any:
    usual = {"n_estimators": 12, "num_leaves": 8, "n_jobs": 1, "verbose": -1}
    return getattr(importlib.import_module("lightgbm"), kind)(**{**usual, **options})


def _lightgbm_stopped() -> Any:
    stop = importlib.import_module("lightgbm").early_stopping(8, verbose=False)
    model = _lightgbm(n_estimators=60, learning_rate=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions have another name for eval_set
        model.fit(NUMBERS[:200], SCORE[:200], eval_set=[(NUMBERS[200:], SCORE[200:])], callbacks=[stop])
    assert model.best_iteration_ < 40
    return model


def _catboost(kind: str = "CatBoostRegressor", **options: Any) -> Any:
    usual = {"iterations": 12, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return getattr(importlib.import_module("catboost"), kind)(**{**usual, **options})


ONE_HOT = {"cat_features": ["words", "codes"], "one_hot_max_size": 10}
FOREST = {"n_estimators": 8, "random_state": 0, "max_depth": 6}
RF = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}

# name -> the library it needs, how the model is fitted, the rows it is fitted on
CASES: dict[str, tuple[str, Callable[[], Any], Any]] = {
    "xgboost": ("xgboost", lambda: _xgboost().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "xgboost, missing as a number": ("xgboost", lambda: _xgboost().fit(ROUND, SCORE), ROUND),
    "xgboost, dart": (
        "xgboost",
        lambda: _xgboost(booster="dart", rate_drop=0.4, skip_drop=0.1).fit(WITH_GAPS, SCORE),
        WITH_GAPS,
    ),
    "xgboost, forest": ("xgboost", lambda: _xgboost("XGBRFRegressor").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "xgboost, counts": ("xgboost", lambda: _xgboost(objective="count:poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "xgboost, two quantiles": (
        "xgboost",
        lambda: _xgboost(objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]).fit(NUMBERS, SCORE),
        NUMBERS,
    ),
    "xgboost, survival": (
        "xgboost",
        lambda: _booster(
            {"objective": "survival:aft"}, SCORE * 0, label_lower_bound=COUNTS + 1, label_upper_bound=COUNTS + 1
        ),
        NUMBERS,
    ),
    "xgboost, two classes": ("xgboost", lambda: _xgboost("XGBClassifier").fit(WITH_GAPS, TWO), WITH_GAPS),
    "xgboost, three classes": ("xgboost", lambda: _xgboost("XGBClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "xgboost, categories": (
        "xgboost",
        lambda: _xgboost(enable_categorical=True, max_cat_to_onehot=1).fit(MIXED, BY_CATEGORY),
        MIXED,
    ),
    "xgboost, one category": (
        "xgboost",
        lambda: _xgboost(enable_categorical=True, max_cat_to_onehot=9).fit(MIXED, BY_CATEGORY),
        MIXED,
    ),
    "xgboost, stopped": ("xgboost", _stopped, NUMBERS),
    "xgboost, booster stopped": ("xgboost", lambda: _stopped().get_booster(), NUMBERS),
    "lightgbm": ("lightgbm", lambda: _lightgbm().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, without gaps": ("lightgbm", lambda: _lightgbm().fit(NUMBERS, SCORE), NUMBERS),
    "lightgbm, zero is missing": (
        "lightgbm",
        lambda: _lightgbm(zero_as_missing=True).fit(np.where(np.isnan(WITH_GAPS), np.nan, ROUND), SCORE),
        np.where(np.isnan(WITH_GAPS), np.nan, ROUND),
    ),
    "lightgbm, missing is zero": ("lightgbm", lambda: _lightgbm(use_missing=False).fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, dart": ("lightgbm", lambda: _lightgbm(boosting_type="dart").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, forest": ("lightgbm", lambda: _lightgbm("LGBMClassifier", **RF).fit(WITH_GAPS, TWO), WITH_GAPS),
    "lightgbm, counts": ("lightgbm", lambda: _lightgbm(objective="poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "lightgbm, three classes": ("lightgbm", lambda: _lightgbm("LGBMClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "lightgbm, categories": (
        "lightgbm",
        lambda: _lightgbm(min_child_samples=5, cat_smooth=1, cat_l2=1, min_data_per_group=5, max_cat_to_onehot=1).fit(
            MIXED, BY_CATEGORY
        ),
        MIXED,
    ),
    "lightgbm, categories as numbers": (
        "lightgbm",
        lambda: _lightgbm(min_child_samples=5, cat_smooth=1, cat_l2=1, min_data_per_group=5).fit(
            ROUND + 4, SCORE, categorical_feature=[0, 1]
        ),
        ROUND + 4,
    ),
    "lightgbm, stopped": ("lightgbm", _lightgbm_stopped, NUMBERS),
    "lightgbm, booster stopped": ("lightgbm", lambda: _lightgbm_stopped().booster_, NUMBERS),
    "lightgbm, single leaves": ("lightgbm", lambda: _lightgbm(min_child_samples=290).fit(NUMBERS, SCORE), NUMBERS),
    "catboost": ("catboost", lambda: _catboost().fit(NUMBERS, SCORE), NUMBERS),
    "catboost, missing least": ("catboost", lambda: _catboost().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "catboost, missing most": ("catboost", lambda: _catboost(nan_mode="Max").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "catboost, counts": ("catboost", lambda: _catboost(loss_function="Poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "catboost, two responses": (
        "catboost",
        lambda: _catboost(loss_function="MultiRMSE").fit(NUMBERS, np.c_[SCORE, SCORE**2]),
        NUMBERS,
    ),
    "catboost, two classes": ("catboost", lambda: _catboost("CatBoostClassifier").fit(WITH_GAPS, TWO), WITH_GAPS),
    "catboost, three classes": ("catboost", lambda: _catboost("CatBoostClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "catboost, categories": ("catboost", lambda: _catboost(**ONE_HOT).fit(TEXT, BY_CATEGORY), TEXT),
    "catboost, categories of three classes": (
        "catboost",
        lambda: _catboost("CatBoostClassifier", **ONE_HOT).fit(TEXT, THREE),
        TEXT,
    ),
    "catboost, deep": ("catboost", lambda: _catboost(iterations=4, depth=10).fit(NUMBERS, SCORE), NUMBERS),
    "catboost, depth by depth": (
        "catboost",
        lambda: _catboost(grow_policy="Depthwise").fit(WITH_GAPS, SCORE),
        WITH_GAPS,
    ),
    "catboost, leaf by leaf": (
        "catboost",
        lambda: _catboost("CatBoostClassifier", grow_policy="Lossguide").fit(WITH_GAPS, THREE),
        WITH_GAPS,
    ),
    "decision tree": ("sklearn", lambda: tree.DecisionTreeRegressor().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "decision tree, three classes": (
        "sklearn",
        lambda: tree.DecisionTreeClassifier(max_depth=4).fit(NUMBERS, THREE),
        NUMBERS,
    ),
    "decision tree, two responses": (
        "sklearn",
        lambda: tree.DecisionTreeRegressor(max_depth=5).fit(NUMBERS, np.c_[SCORE, SCORE**2]),
        NUMBERS,
    ),
    "decision tree, single leaf": ("sklearn", lambda: tree.DecisionTreeRegressor().fit(NUMBERS, np.ones(N)), NUMBERS),
    "extra tree": ("sklearn", lambda: tree.ExtraTreeRegressor(random_state=0).fit(NUMBERS, SCORE), NUMBERS),
    "forest": ("sklearn", lambda: ensemble.RandomForestRegressor(**FOREST).fit(WITH_GAPS, SCORE), WITH_GAPS),
    "forest, three classes": (
        "sklearn",
        lambda: ensemble.RandomForestClassifier(**FOREST).fit(WITH_GAPS, THREE),
        WITH_GAPS,
    ),
    "extra trees": ("sklearn", lambda: ensemble.ExtraTreesRegressor(**FOREST).fit(NUMBERS, SCORE), NUMBERS),
    "extra trees, two classes": ("sklearn", lambda: ensemble.ExtraTreesClassifier(**FOREST).fit(NUMBERS, TWO), NUMBERS),
    "boosting": ("sklearn", lambda: ensemble.GradientBoostingRegressor(n_estimators=12).fit(NUMBERS, SCORE), NUMBERS),
    "boosting from zero": (
        "sklearn",
        lambda: ensemble.GradientBoostingRegressor(n_estimators=12, init="zero").fit(NUMBERS, SCORE),
        NUMBERS,
    ),
    "boosting, exponential loss": (
        "sklearn",
        lambda: ensemble.GradientBoostingClassifier(n_estimators=12, loss="exponential").fit(NUMBERS, TWO),
        NUMBERS,
    ),
    "boosting, three classes": (
        "sklearn",
        lambda: ensemble.GradientBoostingClassifier(n_estimators=12).fit(NUMBERS, THREE),
        NUMBERS,
    ),
    "histograms": ("sklearn", lambda: _histograms().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "histograms, counts": ("sklearn", lambda: _histograms(loss="poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "histograms, three classes": ("sklearn", lambda: _histograms("Classifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "histograms, categories": (
        "sklearn",
        lambda: _histograms(categorical_features=["words", "codes"], min_samples_leaf=5).fit(TEXT, BY_CATEGORY),
        TEXT,
    ),
    "histograms, categories of a frame": (
        "sklearn",
        lambda: _histograms(categorical_features="from_dtype", min_samples_leaf=5).fit(MIXED, BY_CATEGORY),
        MIXED,
    ),
}


def _histograms(kind: str = "Regressor", **options: Any) -> Any:
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**{"max_iter": 12, "max_depth": 4, **options})


def _booster(options: dict[str, Any], y: Any, **known: Any) -> Any:
    import xgboost

    data = xgboost.DMatrix(NUMBERS, **known) if known else xgboost.DMatrix(NUMBERS, y)
    return xgboost.train({"nthread": 1, "max_depth": 4, **options}, data, num_boost_round=12)


@pytest.fixture(autouse=True)
def one_thread():
    """Small models are slow on many threads that others use too."""
    with threadpool_limits(1):
        yield


@dataclass(frozen=True)
class Taken:
    """A model that was taken apart."""

    model: Any
    structure: Structure
    table: Any

    @property
    def allowed(self) -> float:
        return SINGLE if self.structure.rounding > 1e-8 else DOUBLE

    def inner(self, rows: Any) -> np.ndarray:
        return np.asarray(rows if self.structure.view is None else self.structure.view(rows), dtype=np.float64)

    def gap(self, rows: Any, structure: Structure | None = None) -> np.ndarray:
        """By what predictions differ from the library's, row by row, as a share of the largest."""
        said = as_predictor(self.model)(rows)
        return np.abs((structure or self.structure)(self.inner(rows)) - said).max(axis=1) / np.abs(said).max()


@cache
def taken(name: str) -> Taken:
    _, fit, table = CASES[name]
    model = fit()
    read = as_predictor(model).structure
    assert read is not None
    return Taken(model, pickle.loads(pickle.dumps(read))(), table)


def marked(names: Any) -> list[Any]:
    """Cases with the mark of the library that each needs."""
    return [
        pytest.param(name, marks=() if CASES[name][0] == "sklearn" else pytest.mark.needs(CASES[name][0]))
        for name in names
    ]


def awkward_rows(name: str, rng: np.random.Generator) -> Any:
    """Rows whose numbers lie on thresholds or next to them, whose gaps are where the model knows gaps."""
    case = taken(name)
    owner = np.arange(D) if case.structure.owner is None else case.structure.owner
    marks = {int(owner[inner]): found for inner, found in case.structure.representation.thresholds().items()}
    columns: list[Any] = []
    for place in range(D):
        cells = pd.DataFrame(case.table).iloc[:, place]
        drawn = cells.to_numpy()[rng.integers(N, size=ROWS)]
        if place in marks and not isinstance(cells.dtype, pd.CategoricalDtype):
            is_whole = cells.dtype.kind == "i"
            drawn = drawn if is_whole else np.asarray(near(rng.choice(marks[place], ROWS), rng))
        if cells.isna().any():
            drawn = np.where(rng.random(ROWS) < 0.2, np.nan, drawn.astype(float))
        columns.append(drawn)
    if not isinstance(case.table, pd.DataFrame):
        return np.column_stack(columns)
    frame = pd.DataFrame(dict(zip(case.table.columns, columns, strict=True)))
    return frame.astype({label: kind for label, kind in case.table.dtypes.items() if kind == "category"})


@pytest.mark.parametrize("name", marked(CASES))
def test_structure_predicts_as_the_library_on_rows_on_its_thresholds(name, seed):
    case = taken(name)
    gap = case.gap(awkward_rows(name, np.random.default_rng(seed)))
    assert gap.max() <= case.allowed, f"{(gap > case.allowed).sum()} of {ROWS} rows differ, by up to {gap.max():.1e}"


@pytest.mark.parametrize("name", marked(["xgboost", "lightgbm", "catboost", "forest", "histograms"]))
def test_a_wrong_side_of_thresholds_would_be_seen(name, seed):
    """The control of the test above: strictly less for less or equal, and the other way round."""
    case = taken(name)
    way = np.inf if name == "xgboost" else -np.inf
    split_rules = case.structure.representation.split_rules
    moved = replace(split_rules, threshold=np.nextafter(split_rules.threshold, way))
    wrong = replace(case.structure, representation=replace(case.structure.representation, split_rules=moved))
    gap = case.gap(awkward_rows(name, np.random.default_rng(seed)), wrong)
    assert (gap > 100 * case.allowed).mean() > 0.05


# where the library takes them: categories that training did not have, and missing ones
STRANGE = {
    "xgboost, categories": (None,),
    "xgboost, one category": (None,),
    "lightgbm, categories": (None, "fox"),
    "histograms, categories": (None, "fox"),
    "histograms, categories of a frame": (None, "fox"),
    "catboost, categories": ("fox",),
    "catboost, categories of three classes": ("fox",),
}


@pytest.mark.parametrize("name", marked(STRANGE))
def test_strange_categories_go_where_the_library_sends_them(name, seed):
    case, rng = taken(name), np.random.default_rng(seed)
    rows = awkward_rows(name, rng)
    words = rows["words"].astype(object)
    words[rng.random(ROWS) < 0.5] = rng.choice(STRANGE[name])
    is_category = isinstance(rows["words"].dtype, pd.CategoricalDtype)
    rows["words"] = pd.Categorical(words) if is_category else words
    assert case.gap(rows).max() <= case.allowed


@pytest.mark.parametrize(
    "name", marked(["lightgbm", "catboost, missing least", "catboost, missing most", "histograms"])
)
def test_infinite_cells_go_where_the_library_sends_them(name, seed):
    case, rng = taken(name), np.random.default_rng(seed)
    rows = awkward_rows(name, rng)
    rows = np.where(rng.random(rows.shape) < 0.4, rng.choice([-np.inf, np.inf], rows.shape), rows)
    assert case.gap(rows).max() <= case.allowed


def test_histograms_that_split_on_gaps_alone_send_infinity_to_the_numbers():
    X = np.array([[np.nan], [1.0], [2.0], [3.0]] * 20)
    model = _histograms(min_samples_leaf=5).fit(X, np.isnan(X[:, 0]) * 1.0)
    structure = as_predictor(model).structure()
    rows = np.array([[np.nan], [2.0], [np.inf], [-np.inf]])
    assert np.allclose(structure(rows)[:, 0], model.predict(rows), rtol=1e-12, atol=0)


@pytest.mark.needs("xgboost")
def test_xgboost_with_a_number_for_missing_is_asked_row_by_row():
    X = np.where(np.isnan(WITH_GAPS), -999.0, WITH_GAPS)
    model = _xgboost(missing=-999.0).fit(X, SCORE)
    f_S = cs.Marginal(X[:20]).restrict(model, X[20:40])
    assert f_S.native is None
    assert "-999" in f_S.remarks[0]


def test_bits_of_decisions_are_those_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    nodes, sizes = 150, rng.integers(0, 3, 150)
    is_set = rng.random(nodes) < 0.4
    for is_single in (False, True):
        split_rules = SplitRules(
            column=rng.integers(D, size=nodes),
            threshold=rng.choice([-1.5, -1e-35, 0.0, 1e-35, 0.1, np.float64(np.float32(0.1)), 2.0, np.inf], nodes),
            missing_left=rng.random(nodes) < 0.5,
            rule=rng.choice([MISSING, MISSING_IS_ZERO, ZERO_IS_MISSING], nodes).astype(np.uint8),
            first=np.concatenate([[0], np.cumsum(sizes)[:-1]]),
            count=np.where(is_set, sizes, -1),
            in_left=rng.random(nodes) < 0.5,
            sets=rng.integers(2**32, size=sizes.sum(), dtype=np.uint32),
            is_single=is_single,
        )
        cells = [np.nan, -np.inf, np.inf, -1e-35, 0.0, 5e-36, 0.1, np.float32(0.1), 2.0, 31.0, 32.0, 63.0, 64.0, -1.0]
        z = rng.choice(np.array(cells, dtype=np.float64), (200, D))
        bits = np.unpackbits(split_rules.bits(z).astype("<u8").view(np.uint8), axis=1, bitorder="little")
        assert np.array_equal(bits[:, :nodes].astype(bool), split_rules.table(z))
        assert not bits[:, nodes:].any()


# --------------------------------------------------------------------------------------------------------- kernels

# one and several margins, every link, every way of walking
KERNELS = {
    "xgboost, dart": "identity",
    "xgboost, counts": "exponential",
    "xgboost, three classes": "softmax",
    "lightgbm, forest": "logistic",
    "lightgbm, booster of two classes": "positive",
    "lightgbm, categories": "identity",
    "lightgbm, single leaves": "identity",
    "catboost, missing least": "identity",
    "catboost, two responses": "identity",
    "catboost, deep": "identity",
    "catboost, two classes": "logistic",
    "catboost, three classes": "softmax",
    "catboost, counts": "exponential",
    "catboost, categories": "identity",
    "catboost, leaf by leaf": "softmax",
    "decision tree, single leaf": "identity",
    "decision tree, two responses": "identity",
    "forest, three classes": "identity",
    "boosting, three classes": "softmax",
    "histograms, categories": "identity",
}
CASES["lightgbm, booster of two classes"] = (
    "lightgbm",
    lambda: _lightgbm("LGBMClassifier").fit(WITH_GAPS, TWO).booster_,
    WITH_GAPS,
)


def pair(name: str, background: int, rng: np.random.Generator) -> tuple[HybridModel, HybridModel, np.ndarray]:
    """The restricted model by its structure and by hybrid rows given to the library itself, and rows of codes."""
    case = taken(name)
    table = pd.DataFrame(case.table)
    rows, few = (table.iloc[rng.integers(N, size=size)] for size in (background, 12))
    if not isinstance(case.table, pd.DataFrame):
        rows, few = rows.to_numpy(), few.to_numpy()
    f_S = cs.Marginal(rows, weights=rng.random(background) + 0.1).restrict(case.model, few)
    assert f_S.native is not None, f_S.remarks
    return f_S, replace(f_S, native=None), f_S.schema.encode(few, "X")


def walks(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Arrivals of each column by itself, and of several at one step."""
    alone = np.argsort(rng.random((count, D)), axis=1) + 1
    return [alone, np.array([1, 1, 2, 3])[alone - 1], np.where(alone > 2, 2, 1)]


@pytest.mark.parametrize("name", marked(KERNELS))
def test_kernels_predict_as_the_library_on_hybrid_rows(name, seed):
    rng = np.random.default_rng(seed)
    fast, slow, x = pair(name, 30, rng)
    assert fast.native is not None
    assert fast.native.structure.link == KERNELS[name]
    allowed = taken(name).allowed
    picks, full = rng.integers(30, size=(len(x), 3)), slow.full(x)
    for arrivals in walks(rng, len(x)):
        assert_close(fast.walk(x, arrivals, rng), slow.walk(x, arrivals, rng), allowed)
        told, asked = (f.steps(x, full, arrivals, picks, skip=False, keep=False).outputs for f in (fast, slow))
        assert_close(told, asked, allowed)
    for kept in (rng.random((len(x), D)) < 0.5, np.zeros((len(x), D), dtype=bool), np.ones((len(x), D), dtype=bool)):
        assert_close(fast.each(x, kept), slow.each(x, kept), allowed)
        assert_close(fast.predict(x, kept, rng), slow.predict(x, kept, rng), allowed)
    assert_close(fast.background_outputs, slow.background_outputs, allowed)
    assert_close(fast.empty(), slow.empty(), allowed)


MANY = (
    "lightgbm",
    "lightgbm, forest",
    "lightgbm, booster of two classes",
    "lightgbm, three classes",
    "lightgbm, counts",
    "catboost",
    "catboost, two classes",
    "catboost, three classes",
    "catboost, counts",
)


@pytest.mark.parametrize("name", marked(MANY))
def test_kernels_take_more_background_rows_than_are_walked_together(name, seed):
    rng = np.random.default_rng(seed)
    fast, slow, x = pair(name, 1100, rng)
    for arrivals in walks(rng, len(x)):
        assert_close(fast.walk(x, arrivals, rng), slow.walk(x, arrivals, rng), taken(name).allowed)


@pytest.mark.parametrize("name", marked(["lightgbm", "catboost", "catboost, two classes"]))
def test_kernels_answer_alike_from_two_threads_at_once(name, seed):
    rng = np.random.default_rng(seed)
    fast, _, x = pair(name, 200, rng)
    x, arrivals = np.tile(x, (20, 1)), np.tile(walks(rng, len(x))[0], (20, 1))
    once = fast.walk(x, arrivals, rng)
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda _: fast.walk(x, arrivals, rng), range(6)))
    assert all(np.array_equal(one, once) for one in found)


def assert_close(told: np.ndarray, asked: np.ndarray, allowed: float) -> None:
    assert told.shape == asked.shape
    assert np.abs(told - asked).max() <= allowed * np.abs(asked).max()


# ------------------------------------------------------------------------------------------------- oblivious trees


def test_table_of_a_tree_holds_the_means_over_the_background(seed):
    rng = np.random.default_rng(seed)
    levels, values = 3, rng.normal(size=(8, 2))
    leaves, mass = rng.integers(8, size=20), rng.dirichlet(np.ones(20))
    table = tabulate_means(np.bincount(leaves, weights=mass, minlength=8), values)
    for code, found in enumerate(table):
        digits = [code // 3**level % 3 for level in range(levels)]
        known = sum(1 << level for level, digit in enumerate(digits) if digit < 2)
        own = sum(1 << level for level, digit in enumerate(digits) if digit == 1)
        assert np.allclose(found, mass @ values[own | (leaves & ~known)], rtol=1e-13, atol=1e-15)


def test_ways_of_walking_trees_agree_with_one_row_after_the_other(seed):
    """Trees of unlike depth, one of them a single leaf, categories, and columns that come more than once."""
    rng = np.random.default_rng(seed)
    trees = [
        ObliviousTree(tuple(_level(rng) for _ in range(depth)), rng.normal(size=(2**depth, 2)))
        for depth in (0, 1, 4, 3, 6)
    ]
    base, count = np.array([0.5, -1.0]), 40
    own, general = flatten_oblivious_trees(trees, base, D), flatten_trees([_grown(one) for one in trees], base, D)
    z = np.where(rng.random((count, D)) < 0.1, np.nan, rng.integers(-2, 70, size=(count, D)).astype(float))
    mass, arrivals = rng.dirichlet(np.ones(count)), walks(rng, count)
    x, others = own.encode(z), general.encode(z)
    assert np.allclose(own.margins(x), general.margins(others), rtol=1e-13, atol=1e-13)
    for when in arrivals:
        steps = int(when.max())
        wanted = RowByRow(general, others, mass, "identity").walk(others, when, steps)
        for crowd, seen in (
            (own.with_background(x, mass, "identity"), x),
            (ObliviousEvaluator(own, x, mass, "identity"), x),
            (general.with_background(others, mass, "identity"), others),
            (TreeEvaluator(general, others, mass, "identity"), others),
        ):
            assert np.allclose(crowd.walk(seen, when, steps), wanted, rtol=1e-13, atol=1e-13)
    assert isinstance(own.with_background(x, mass, "identity"), ObliviousTables)


def _level(rng: np.random.Generator) -> Level:
    column = int(rng.integers(D))
    if rng.random() < 0.3:
        return Level(column, category=int(rng.integers(70)))
    return Level(column, threshold=float(rng.integers(-1, 60)), missing_left=bool(rng.random() < 0.5))


def _grown(oblivious: ObliviousTree) -> Tree:
    """The same with a node for each decision: children of node i are 2 i + 1 and 2 i + 2, the last level on top."""
    inner = len(oblivious.values) - 1
    place = np.arange(2 * inner + 1)
    depth = [int(np.log2(one + 1)) for one in place[:inner]]
    levels = [oblivious.levels[len(oblivious.levels) - 1 - one] for one in depth] + [Level(0)] * (inner + 1)
    values = np.zeros((len(place), oblivious.values.shape[1]))
    values[inner:] = oblivious.values
    return Tree(
        left=np.where(place < inner, 2 * place + 1, -1),
        right=np.where(place < inner, 2 * place + 2, -1),
        column=np.array([level.column for level in levels]),
        threshold=np.array([level.threshold for level in levels]),
        values=values,
        missing_left=np.array([level.missing_left for level in levels]),
        categories={node: bit_set([level.category]) for node, level in enumerate(levels) if level.category is not None},
        in_left=False,
    )


# ------------------------------------------------------------------------------------------- what is not taken apart

REFUSED: dict[str, tuple[str, Callable[[], Any], Any, str]] = {
    "lightgbm, lines": (
        "lightgbm",
        lambda: _lightgbm(linear_tree=True).fit(NUMBERS, SCORE),
        NUMBERS,
        "linear models in their leaves",
    ),
    "lightgbm, one class against all": (
        "lightgbm",
        lambda: _lightgbm("LGBMClassifier", objective="multiclassova").fit(NUMBERS, THREE),
        NUMBERS,
        "multiclassova",
    ),
    "catboost, target statistics": (
        "catboost",
        lambda: _catboost(cat_features=["words", "codes"]).fit(TEXT, BY_CATEGORY),
        TEXT,
        "target statistics",
    ),
    "catboost, one class against all": (
        "catboost",
        lambda: _catboost("CatBoostClassifier", loss_function="MultiClassOneVsAll").fit(NUMBERS, THREE),
        NUMBERS,
        "MultiClassOneVsAll",
    ),
    "catboost, categories depth by depth": (
        "catboost",
        lambda: _catboost(grow_policy="Depthwise", **ONE_HOT).fit(TEXT, BY_CATEGORY),
        TEXT,
        "not symmetric",
    ),
    "xgboost, line": (
        "xgboost",
        lambda: _xgboost(booster="gblinear", max_depth=None).fit(NUMBERS, SCORE),
        NUMBERS,
        "gblinear",
    ),
    "boosting from a model": (
        "sklearn",
        lambda: ensemble.GradientBoostingRegressor(n_estimators=5, init=LinearRegression()).fit(NUMBERS, SCORE),
        NUMBERS,
        "with LinearRegression as its initial model",
    ),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if one[0] == "sklearn" else pytest.mark.needs(one[0]))
        for name, one in REFUSED.items()
    ],
)
def test_what_is_not_taken_apart_is_asked_row_by_row_and_said(name):
    _, fit, X, reason = REFUSED[name]
    model, y = fit(), THREE if "class" in name else SCORE
    predictor = as_predictor(model)
    told, asked = (
        cs.sage(one, X[:40], y[:40], background=X[40:60], rng=0, method="exact")
        for one in (predictor, replace(predictor, structure=None))
    )
    assert any("was called row by row" in note and reason in note for note in told.notes), told.notes
    assert np.array_equal(told.values, asked.values)


@dataclass(frozen=True)
class Tampered:
    """A structure with one value of a leaf changed: of the first leaves that which most rows reach."""

    read: Callable[[], Structure]
    rows: np.ndarray

    def __call__(self) -> Structure:
        right = self.read()
        wrong = [self._changed(right, leaf) for leaf in range(8)]
        return max(wrong, key=lambda one: int((one(self.rows) != right(self.rows)).sum()))

    def _changed(self, right: Structure, leaf: int) -> Structure:
        values = right.representation.values.copy()
        values.ravel()[leaf] += 1e-3
        return replace(right, representation=replace(right.representation, values=values))


@pytest.mark.parametrize("name", marked(["xgboost", "lightgbm", "catboost", "forest"]))
def test_structure_that_predicts_something_else_is_found_out(name):
    predictor, X = as_predictor(taken(name).model), taken(name).table
    assert predictor.structure is not None
    odd = replace(predictor, structure=Tampered(predictor.structure, X))
    told = cs.sage(odd, X[:40], SCORE[:40], background=X[40:60], rng=0, method="exact")
    asked = cs.sage(replace(predictor, structure=None), X[:40], SCORE[:40], background=X[40:60], rng=0, method="exact")
    assert any("differ from those of its structure" in note for note in told.notes)
    assert np.array_equal(told.values, asked.values)


@pytest.mark.needs("xgboost")
@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_a_large_mean_does_not_drown_the_values_of_a_model_in_single_precision(offset, seed):
    from xgboost import XGBRegressor

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + offset
    model = XGBRegressor(n_estimators=40, max_depth=3, n_jobs=1).fit(X, y)
    options = {"background": X[80:140], "method": "exact", "loss": "squared error", "rng": 0}
    native, black = (cs.sage(f, X[:80], y[:80], **options) for f in (model, lambda rows: model.predict(rows)))
    spacing = float(np.spacing(np.float32(max(offset, 1.0))))  # of its predictions, beside which errors are of size 3
    np.testing.assert_allclose(native.values, black.values, rtol=0, atol=1e-5 + 3 * spacing)


@pytest.mark.needs("xgboost")
def test_a_model_that_never_splits_is_worth_exactly_nothing(seed):
    from xgboost import XGBClassifier

    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] > 0).astype(int)
    model = XGBClassifier(n_estimators=3, gamma=1e9, n_jobs=1).fit(X, y)
    assert (cs.sage(model, X[:80], y[:80], background=X[80:], rng=0).values == 0).all()
