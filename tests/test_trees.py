"""Tree ensembles taken apart: each library's own predictions on rows that lie on its thresholds, and hybrid rows."""

from __future__ import annotations

import importlib
import pickle
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

import clarysage as cs
from clarysage.models import as_predictor
from clarysage.removal.hybrid import HybridModel
from clarysage.removal.native import beside
from clarysage.structure.decisions import MISSING, MISSING_IS_ZERO, ZERO_IS_MISSING, Decisions
from clarysage.structure.form import Structure
from clarysage.structure.oblivious import Level, ObliviousTree, PairedCrowd, TabulatedCrowd, in_levels, tabulated
from clarysage.structure.trees import Tree, planted

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
MIXED = pd.DataFrame({"a": WITH_GAPS[:, 0], "words": pd.Categorical(WORDS), "c": NUMBERS[:, 2], "letters": pd.Categorical(LETTERS)})  # fmt: skip
TEXT = pd.DataFrame({"a": WITH_GAPS[:, 0], "words": WORDS, "c": NUMBERS[:, 2], "codes": _draws.integers(0, 6, N)})
BY_CATEGORY = SCORE + 2 * (WORDS == "bee") + np.where(LETTERS == "q", NUMBERS[:, 2], 0) + (TEXT["codes"] == 3)


def _xgboost(kind: str = "XGBRegressor", **options: Any) -> Any:
    return getattr(importlib.import_module("xgboost"), kind)(
        **{"n_estimators": 12, "max_depth": 4, "n_jobs": 1, **options}
    )


def _stopped(**options: Any) -> Any:
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
        "xgboost", lambda: _xgboost(booster="dart", rate_drop=0.4, skip_drop=0.1).fit(WITH_GAPS, SCORE), WITH_GAPS),
    "xgboost, forest": ("xgboost", lambda: _xgboost("XGBRFRegressor").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "xgboost, counts": ("xgboost", lambda: _xgboost(objective="count:poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "xgboost, two quantiles": (
        "xgboost", lambda: _xgboost(objective="reg:quantileerror", quantile_alpha=[0.2, 0.8]).fit(NUMBERS, SCORE),
        NUMBERS),
    "xgboost, survival": (
        "xgboost", lambda: _booster({"objective": "survival:aft"}, SCORE * 0, label_lower_bound=COUNTS + 1,
                                    label_upper_bound=COUNTS + 1), NUMBERS),
    "xgboost, two classes": ("xgboost", lambda: _xgboost("XGBClassifier").fit(WITH_GAPS, TWO), WITH_GAPS),
    "xgboost, three classes": ("xgboost", lambda: _xgboost("XGBClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "xgboost, categories": (
        "xgboost", lambda: _xgboost(enable_categorical=True, max_cat_to_onehot=1).fit(MIXED, BY_CATEGORY), MIXED),
    "xgboost, one category": (
        "xgboost", lambda: _xgboost(enable_categorical=True, max_cat_to_onehot=9).fit(MIXED, BY_CATEGORY), MIXED),
    "xgboost, stopped": ("xgboost", _stopped, NUMBERS),
    "xgboost, booster stopped": ("xgboost", lambda: _stopped().get_booster(), NUMBERS),
    "lightgbm": ("lightgbm", lambda: _lightgbm().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, without gaps": ("lightgbm", lambda: _lightgbm().fit(NUMBERS, SCORE), NUMBERS),
    "lightgbm, zero is missing": (
        "lightgbm", lambda: _lightgbm(zero_as_missing=True).fit(np.where(np.isnan(WITH_GAPS), np.nan, ROUND), SCORE),
        np.where(np.isnan(WITH_GAPS), np.nan, ROUND)),
    "lightgbm, missing is zero": ("lightgbm", lambda: _lightgbm(use_missing=False).fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, dart": ("lightgbm", lambda: _lightgbm(boosting_type="dart").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "lightgbm, forest": ("lightgbm", lambda: _lightgbm("LGBMClassifier", **RF).fit(WITH_GAPS, TWO), WITH_GAPS),
    "lightgbm, counts": ("lightgbm", lambda: _lightgbm(objective="poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "lightgbm, three classes": ("lightgbm", lambda: _lightgbm("LGBMClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "lightgbm, categories": (
        "lightgbm", lambda: _lightgbm(min_child_samples=5, cat_smooth=1, cat_l2=1, min_data_per_group=5, max_cat_to_onehot=1)
        .fit(MIXED, BY_CATEGORY), MIXED),
    "lightgbm, categories as numbers": (
        "lightgbm", lambda: _lightgbm(min_child_samples=5, cat_smooth=1, cat_l2=1, min_data_per_group=5)
        .fit(ROUND + 4, SCORE, categorical_feature=[0, 1]), ROUND + 4),
    "lightgbm, stopped": ("lightgbm", _lightgbm_stopped, NUMBERS),
    "lightgbm, booster stopped": ("lightgbm", lambda: _lightgbm_stopped().booster_, NUMBERS),
    "lightgbm, single leaves": ("lightgbm", lambda: _lightgbm(min_child_samples=290).fit(NUMBERS, SCORE), NUMBERS),
    "catboost": ("catboost", lambda: _catboost().fit(NUMBERS, SCORE), NUMBERS),
    "catboost, missing least": ("catboost", lambda: _catboost().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "catboost, missing most": ("catboost", lambda: _catboost(nan_mode="Max").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "catboost, counts": ("catboost", lambda: _catboost(loss_function="Poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "catboost, two responses": (
        "catboost", lambda: _catboost(loss_function="MultiRMSE").fit(NUMBERS, np.c_[SCORE, SCORE**2]), NUMBERS),
    "catboost, two classes": ("catboost", lambda: _catboost("CatBoostClassifier").fit(WITH_GAPS, TWO), WITH_GAPS),
    "catboost, three classes": ("catboost", lambda: _catboost("CatBoostClassifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "catboost, categories": ("catboost", lambda: _catboost(**ONE_HOT).fit(TEXT, BY_CATEGORY), TEXT),
    "catboost, categories of three classes": (
        "catboost", lambda: _catboost("CatBoostClassifier", **ONE_HOT).fit(TEXT, THREE), TEXT),
    "catboost, deep": ("catboost", lambda: _catboost(iterations=4, depth=10).fit(NUMBERS, SCORE), NUMBERS),
    "catboost, depth by depth": ("catboost", lambda: _catboost(grow_policy="Depthwise").fit(WITH_GAPS, SCORE), WITH_GAPS),
    "catboost, leaf by leaf": (
        "catboost", lambda: _catboost("CatBoostClassifier", grow_policy="Lossguide").fit(WITH_GAPS, THREE), WITH_GAPS),
    "decision tree": ("sklearn", lambda: tree.DecisionTreeRegressor().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "decision tree, three classes": ("sklearn", lambda: tree.DecisionTreeClassifier(max_depth=4).fit(NUMBERS, THREE), NUMBERS),
    "decision tree, two responses": (
        "sklearn", lambda: tree.DecisionTreeRegressor(max_depth=5).fit(NUMBERS, np.c_[SCORE, SCORE**2]), NUMBERS),
    "decision tree, single leaf": ("sklearn", lambda: tree.DecisionTreeRegressor().fit(NUMBERS, np.ones(N)), NUMBERS),
    "extra tree": ("sklearn", lambda: tree.ExtraTreeRegressor(random_state=0).fit(NUMBERS, SCORE), NUMBERS),
    "forest": ("sklearn", lambda: ensemble.RandomForestRegressor(**FOREST).fit(WITH_GAPS, SCORE), WITH_GAPS),
    "forest, three classes": ("sklearn", lambda: ensemble.RandomForestClassifier(**FOREST).fit(WITH_GAPS, THREE), WITH_GAPS),
    "extra trees": ("sklearn", lambda: ensemble.ExtraTreesRegressor(**FOREST).fit(NUMBERS, SCORE), NUMBERS),
    "extra trees, two classes": ("sklearn", lambda: ensemble.ExtraTreesClassifier(**FOREST).fit(NUMBERS, TWO), NUMBERS),
    "boosting": ("sklearn", lambda: ensemble.GradientBoostingRegressor(n_estimators=12).fit(NUMBERS, SCORE), NUMBERS),
    "boosting from zero": (
        "sklearn", lambda: ensemble.GradientBoostingRegressor(n_estimators=12, init="zero").fit(NUMBERS, SCORE), NUMBERS),
    "boosting, exponential loss": (
        "sklearn", lambda: ensemble.GradientBoostingClassifier(n_estimators=12, loss="exponential").fit(NUMBERS, TWO),
        NUMBERS),
    "boosting, three classes": (
        "sklearn", lambda: ensemble.GradientBoostingClassifier(n_estimators=12).fit(NUMBERS, THREE), NUMBERS),
    "histograms": ("sklearn", lambda: _histograms().fit(WITH_GAPS, SCORE), WITH_GAPS),
    "histograms, counts": ("sklearn", lambda: _histograms(loss="poisson").fit(WITH_GAPS, COUNTS), WITH_GAPS),
    "histograms, three classes": ("sklearn", lambda: _histograms("Classifier").fit(WITH_GAPS, THREE), WITH_GAPS),
    "histograms, categories": (
        "sklearn", lambda: _histograms(categorical_features=["words", "codes"], min_samples_leaf=5).fit(TEXT, BY_CATEGORY),
        TEXT),
    "histograms, categories of a frame": (
        "sklearn", lambda: _histograms(categorical_features="from_dtype", min_samples_leaf=5).fit(MIXED, BY_CATEGORY), MIXED),
}  # fmt: skip


def _histograms(kind: str = "Regressor", **options: Any) -> Any:
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**{"max_iter": 12, "max_depth": 4, **options})


def _booster(options: dict[str, Any], y: Any, **known: Any) -> Any:
    import xgboost

    data = xgboost.DMatrix(NUMBERS, **known) if known else xgboost.DMatrix(NUMBERS, y)
    return xgboost.train({"nthread": 1, "max_depth": 4, **options}, data, num_boost_round=12)


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
    marks = {int(owner[inner]): found for inner, found in case.structure.form.thresholds().items()}
    columns: list[Any] = []
    for place in range(D):
        cells = pd.DataFrame(case.table).iloc[:, place]
        drawn = cells.to_numpy()[rng.integers(N, size=ROWS)]
        if place in marks and not isinstance(cells.dtype, pd.CategoricalDtype):
            is_whole = cells.dtype.kind == "i"
            drawn = drawn if is_whole else np.asarray(beside(rng.choice(marks[place], ROWS), rng))
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
    decisions = case.structure.form.decisions
    moved = replace(decisions, threshold=np.nextafter(decisions.threshold, way))
    wrong = replace(case.structure, form=replace(case.structure.form, decisions=moved))
    gap = case.gap(awkward_rows(name, np.random.default_rng(seed)), wrong)
    assert (gap > 100 * case.allowed).mean() > 0.05
