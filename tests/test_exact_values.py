"""Exact values from a model's structure, against the enumeration of all coalitions through hybrid rows."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble, linear_model, tree
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Perceptron, RidgeClassifier, RidgeClassifierCV, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

import clarysage as cs
import oracle
from clarysage.estimators import ClosedFormValues, Exact, PairedWalks, choose, estimate, loop
from clarysage.games import PredictivePower, closed_form, sensitivity
from clarysage.inference.estimate import StopReason
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.models import as_predictor
from clarysage.players import Players
from clarysage.structure.base import apply_link, mean_predictions
from clarysage.structure.moebius import Expansion, LinearTerms
from clarysage.structure.oblivious import Level, ObliviousTree, flatten_oblivious_trees
from clarysage.structure.trees import Trees

N, D, FITTED = 260, 5, 200
DOUBLE = 1e-10  # of the largest value
SINGLE = 2e-6  # XGBoost adds leaves in single precision, whose numbers have 24 bits: 6e-8 of a prediction, tree by tree

_draws = np.random.default_rng(7)
NUMBERS = _draws.normal(size=(N, D))
NUMBERS[:FITTED, 4] = 1.0  # so that no model makes use of it
WITH_GAPS = np.where(_draws.random((N, D)) < 0.15, np.nan, NUMBERS)
WITH_GAPS[:FITTED, 4] = 1.0
SCORE = NUMBERS[:, 0] * NUMBERS[:, 1] + NUMBERS[:, 2] - 2 * np.isnan(WITH_GAPS[:, 0]) + _draws.normal(size=N) * 0.3
BOTH = np.c_[SCORE, SCORE**2]
COUNTS = np.exp(SCORE / 2).round()
TWO, THREE = (SCORE > 0).astype(int), np.digitize(SCORE, [-0.5, 0.5])
WORDS = _draws.choice(["ant", "bee", "cat", "dog"], N)
MIXED = pd.DataFrame({"a": WITH_GAPS[:, 0], "words": pd.Categorical(WORDS), "c": NUMBERS[:, 2], "d": NUMBERS[:, 1]})
TEXT = MIXED.assign(words=WORDS)
BY_WORD = SCORE + 2 * (WORDS == "bee")

CLOSED, MULTIPLIED, TABLES = "closed form", "whose values have a formula", "computed from the leaves"
PAIRS, FROM_SUMS = "one pass through the trees", "computed from the weights of the linear model"


def _xgboost(kind: str = "XGBRegressor", **options: Any) -> Any:
    usual = {"n_estimators": 12, "max_depth": 5, "n_jobs": 1}
    return getattr(importlib.import_module("xgboost"), kind)(**{**usual, **options})


def _lightgbm(kind: str = "LGBMRegressor", **options: Any) -> Any:
    usual = {"n_estimators": 12, "n_jobs": 1, "verbose": -1, "min_child_samples": 5}
    return getattr(importlib.import_module("lightgbm"), kind)(**{**usual, **options})


def _catboost(kind: str = "CatBoostRegressor", **options: Any) -> Any:
    usual = {"iterations": 12, "depth": 5, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return getattr(importlib.import_module("catboost"), kind)(**{**usual, **options})


def _histograms(kind: str = "Regressor", **options: Any) -> Any:
    return getattr(ensemble, f"HistGradientBoosting{kind}")(**{"max_iter": 12, **options})


def _forest(**options: Any) -> Any:
    return ensemble.RandomForestClassifier(**{"n_estimators": 8, "random_state": 0, **options})


def _one_hot(model: Any) -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["words"]), ("passthrough", ["c", "d"]))
    return make_pipeline(columns, model)


# name -> the library it needs, the model, its table, the response, the loss or losses, how values are found
CASES: dict[str, tuple[str, Callable[[], Any], Any, Any, Any, str]] = {
    "line": ("sklearn", lambda: linear_model.Lasso(0.01), NUMBERS, SCORE, "squared error", CLOSED),
    "two lines": ("sklearn", linear_model.LinearRegression, NUMBERS[:, :4], BOTH, "squared error", CLOSED),
    "line, absolute": (
        "sklearn",
        lambda: linear_model.Lasso(0.01),
        NUMBERS,
        SCORE,
        ["absolute error", "squared error"],
        FROM_SUMS,
    ),
    "stumps, boosting": (
        "sklearn",
        lambda: ensemble.GradientBoostingRegressor(max_depth=1),
        NUMBERS,
        SCORE,
        "squared error",
        MULTIPLIED,
    ),
    "stumps, histograms": ("sklearn", lambda: _histograms(max_depth=1), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "stumps, xgboost": ("xgboost", lambda: _xgboost(max_depth=1), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "stumps, lightgbm": ("lightgbm", lambda: _lightgbm(num_leaves=2), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "stumps, catboost": ("catboost", lambda: _catboost(depth=1), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "depth 2": (
        "sklearn",
        lambda: ensemble.ExtraTreesRegressor(5, max_depth=2),
        NUMBERS,
        SCORE,
        "squared error",
        MULTIPLIED,
    ),
    "depth 3": ("lightgbm", lambda: _lightgbm(max_depth=3), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "depth 3, xgboost": ("xgboost", lambda: _xgboost(max_depth=3), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "depth 3, two responses": (
        "sklearn",
        lambda: tree.DecisionTreeRegressor(max_depth=3),
        NUMBERS,
        BOTH,
        "squared error",
        MULTIPLIED,
    ),
    "depth 4": ("catboost", lambda: _catboost(depth=4), WITH_GAPS, SCORE, "squared error", MULTIPLIED),
    "depth 4, categories": ("lightgbm", lambda: _lightgbm(max_depth=4), MIXED, BY_WORD, "squared error", MULTIPLIED),
    "deep": ("sklearn", lambda: tree.DecisionTreeRegressor(max_depth=7), NUMBERS, SCORE, "squared error", MULTIPLIED),
    "deep, xgboost": ("xgboost", _xgboost, WITH_GAPS, SCORE, ["squared error", "absolute error"], TABLES),
    "deep, lightgbm": ("lightgbm", _lightgbm, WITH_GAPS, SCORE, ["absolute error", "squared error"], TABLES),
    "deep, catboost": ("catboost", _catboost, WITH_GAPS, SCORE, "absolute error", TABLES),
    "deep, histograms": ("sklearn", _histograms, WITH_GAPS, SCORE, "absolute error", TABLES),
    "forest": ("sklearn", _forest, WITH_GAPS, THREE, ["cross entropy", "brier", "zero one"], TABLES),
    "forest of two classes": ("sklearn", _forest, NUMBERS, TWO, ["brier", "cross entropy"], TABLES),
    "categories": (
        "catboost",
        lambda: _catboost(cat_features=["words"], one_hot_max_size=9),
        TEXT,
        BY_WORD,
        "squared error",
        MULTIPLIED,
    ),
    "two classes, xgboost": ("xgboost", lambda: _xgboost("XGBClassifier"), WITH_GAPS, TWO, "cross entropy", PAIRS),
    "two classes, lightgbm": (
        "lightgbm",
        lambda: _lightgbm("LGBMClassifier"),
        WITH_GAPS,
        TWO,
        ["cross entropy", "zero one"],
        PAIRS,
    ),
    "two classes, catboost": (
        "catboost",
        lambda: _catboost("CatBoostClassifier"),
        WITH_GAPS,
        TWO,
        ["brier", "cross entropy"],
        PAIRS,
    ),
    "two classes, boosting": (
        "sklearn",
        lambda: ensemble.GradientBoostingClassifier(n_estimators=12),
        NUMBERS,
        TWO,
        "cross entropy",
        PAIRS,
    ),
    "three classes, xgboost": ("xgboost", lambda: _xgboost("XGBClassifier"), WITH_GAPS, THREE, "cross entropy", PAIRS),
    "three classes, lightgbm": (
        "lightgbm",
        lambda: _lightgbm("LGBMClassifier"),
        WITH_GAPS,
        THREE,
        ["cross entropy", "brier"],
        PAIRS,
    ),
    "three classes, catboost": (
        "catboost",
        lambda: _catboost("CatBoostClassifier"),
        WITH_GAPS,
        THREE,
        "cross entropy",
        PAIRS,
    ),
    "three classes, histograms": ("sklearn", lambda: _histograms("Classifier"), WITH_GAPS, THREE, "brier", PAIRS),
    "counts, xgboost": (
        "xgboost",
        lambda: _xgboost(objective="count:poisson"),
        NUMBERS,
        COUNTS,
        "squared error",
        PAIRS,
    ),
    "counts, lightgbm": (
        "lightgbm",
        lambda: _lightgbm(objective="poisson"),
        WITH_GAPS,
        COUNTS,
        ["absolute error", "squared error"],
        PAIRS,
    ),
    "counts, catboost": (
        "catboost",
        lambda: _catboost(loss_function="Poisson"),
        NUMBERS,
        COUNTS,
        "squared error",
        PAIRS,
    ),
    "one-hot columns before a line": (
        "sklearn",
        lambda: _one_hot(linear_model.Ridge()),
        TEXT,
        BY_WORD,
        "squared error",
        CLOSED,
    ),
    "one-hot columns before shallow trees": (
        "lightgbm",
        lambda: _one_hot(_lightgbm(max_depth=3)),
        TEXT,
        BY_WORD,
        "squared error",
        MULTIPLIED,
    ),
    "one-hot columns before deep trees": (
        "sklearn",
        lambda: _one_hot(_forest()),
        TEXT,
        THREE,
        ["cross entropy", "zero one"],
        TABLES,
    ),
    "one-hot columns before boosted trees": (
        "sklearn",
        lambda: _one_hot(ensemble.GradientBoostingClassifier(n_estimators=9)),
        TEXT,
        TWO,
        "brier",
        PAIRS,
    ),
}
SOME = ("line", "two lines", "depth 3", "depth 4", "deep", "forest", "two classes, boosting", "counts, lightgbm")
FEW = ("line", "depth 3", "deep, lightgbm", "two classes, boosting")


@pytest.fixture(autouse=True)
def one_thread():
    """Small models are slow on many threads that others use too."""
    with threadpool_limits(1):
        yield


def marked(names: Any) -> list[Any]:
    """Cases with the mark of the library that each needs."""
    return [
        pytest.param(name, marks=() if CASES[name][0] == "sklearn" else pytest.mark.needs(CASES[name][0]))
        for name in names
    ]


@cache
def fitted(name: str) -> Any:
    _, made, table, y, _, _ = CASES[name]
    return made().fit(table[:FITTED], y[:FITTED])


@dataclass(frozen=True)
class Twins:
    """One game twice: with a model whose structure is known, and with the same as a black box."""

    known: PredictivePower
    box: PredictivePower
    allowed: float

    def assert_alike(self) -> np.ndarray:
        """That values agree, and add up to the total; the values (L, p)."""
        told, asked = estimate(self.known, ClosedFormValues()), estimate(self.box, Exact())
        assert_close(told.values, asked.values, self.allowed)
        assert told.clipped == asked.clipped
        total = self.known.weights @ (self.known.ends[1] - self.known.ends[0])
        gap = np.abs(told.values.sum(axis=1) - total)
        assert (gap <= self.allowed * np.abs(told.values).sum(axis=1)).all()
        return told.values


def twins(
    name: str,
    rng: np.random.Generator,
    *,
    rows: int = 24,
    background: int = 14,
    removal: Any = None,
    loss: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
) -> Twins:
    library, _, table, y, usual, _ = CASES[name]
    places = rng.permutation(np.arange(FITTED, N))[:rows]
    X, b = taken(table, places), taken(table, rng.integers(N, size=background))
    f_S = (removal(b) if removal else cs.Marginal(b)).restrict(as_predictor(fitted(name)), X)
    assert f_S.native is not None, f_S.remarks
    who = Players.of(f_S.schema.names, groups)
    known, box = (
        PredictivePower.of(one, loss or usual, X, y[places], players=who, sample_weight=sample_weight)
        for one in (f_S, replace(f_S, native=None))
    )
    return Twins(known, box, SINGLE if library == "xgboost" else DOUBLE)


def taken(table: Any, places: np.ndarray) -> Any:
    return table.iloc[places] if isinstance(table, pd.DataFrame) else table[places]


def assert_close(told: np.ndarray, asked: np.ndarray, allowed: float) -> None:
    assert told.shape == asked.shape
    assert np.abs(told - asked).max() <= allowed * np.abs(asked).max()


# ------------------------------------------------------------------------------------- the same values as enumeration


@pytest.mark.parametrize("name", marked(CASES))
def test_values_from_structure_are_those_of_enumeration_and_add_up(name, seed):
    both = twins(name, np.random.default_rng(seed))
    assert both.known.closed_form is not None
    assert CASES[name][5] in both.known.closed_form.how
    assert both.box.closed_form is None
    values = both.assert_alike()
    if isinstance(CASES[name][2], np.ndarray) and CASES[name][2].shape[1] == D:
        assert (values[:, 4] == 0).all(), "the model never looks at this column"


@pytest.mark.parametrize("name", marked(SOME))
def test_values_of_groups_are_those_of_enumeration(name, seed):
    both = twins(name, np.random.default_rng(seed), groups={"pair": [0, 3], "alone": [2]})
    assert both.known.n_players < both.known.X.shape[1]
    both.assert_alike()


@pytest.mark.parametrize("name", marked(["one-hot columns before shallow trees", "one-hot columns before deep trees"]))
def test_groups_hold_all_inner_columns_of_their_features(name, seed):
    twins(name, np.random.default_rng(seed), groups={"both": ["words", "c"]}).assert_alike()


@pytest.mark.parametrize("name", marked(SOME))
def test_weighted_values_are_those_of_enumeration(name, seed):
    rng = np.random.default_rng(seed)
    weights = np.where(rng.random(24) < 0.3, 0.0, rng.random(24) + 0.1)
    both = twins(name, rng, sample_weight=weights)
    both.assert_alike()
    there = np.flatnonzero(weights > 0)
    without = replace(
        both.known,
        X=both.known.X[there],
        targets=tuple(one[there] for one in both.known.targets),
        weights=both.known.weights[there],
        outputs=both.known.outputs[there],
        ends=(both.known.ends[0][there], both.known.ends[1][there]),
    )
    assert_close(
        estimate(without, ClosedFormValues()).values, estimate(both.known, ClosedFormValues()).values, both.allowed
    )


@pytest.mark.parametrize("name", marked(SOME))
def test_values_beside_background_rows_of_unequal_mass_are_those_of_enumeration(name, seed):
    rng = np.random.default_rng(seed)
    mass = np.where(rng.random(14) < 0.3, 0.0, rng.random(14) ** 4 + 1e-3)
    mass[0] = 1.0
    twins(name, rng, removal=lambda b: cs.Marginal(b, weights=mass)).assert_alike()


@pytest.mark.parametrize("name", marked(SOME))
def test_values_beside_one_row_are_those_of_enumeration(name, seed):
    both = twins(name, np.random.default_rng(seed), removal=lambda b: cs.Baseline("median", background=b))
    both.assert_alike()


@pytest.mark.parametrize("name", marked(SOME))
def test_values_of_examples_that_are_background_rows_are_those_of_enumeration(name, seed):
    _, _, table, y, loss, _ = CASES[name]
    places = np.random.default_rng(seed).permutation(np.arange(FITTED, N))[:20]
    X = taken(table, places)
    f_S = cs.Marginal(X[:12], examples=np.arange(12)).restrict(as_predictor(fitted(name)), X)
    known, box = (PredictivePower.of(one, loss, X, y[places]) for one in (f_S, replace(f_S, native=None)))
    assert known.self_match is not None
    Twins(known, box, DOUBLE).assert_alike()


@pytest.mark.parametrize("name", marked(("line", "two lines", "depth 3", "depth 4", "deep", "counts, lightgbm")))
def test_shapley_effects_from_structure_are_those_of_enumeration(name, seed):
    rng, table = np.random.default_rng(seed), CASES[name][2]
    X, b = (taken(table, rng.integers(N, size=size)) for size in (24, 14))
    f_S = cs.Marginal(b).restrict(as_predictor(fitted(name)), X)
    known, box = (sensitivity(one, X) for one in (f_S, replace(f_S, native=None)))
    Twins(known, box, DOUBLE).assert_alike()


@pytest.mark.parametrize(
    ("name", "loss"),
    [
        ("line", oracle.squared_error),
        ("depth 2", oracle.squared_error),
        ("forest", oracle.cross_entropy),
        ("two classes, boosting", oracle.cross_entropy),
    ],
)
def test_values_from_structure_are_those_of_the_slow_twin(name, loss, seed):
    rng, (_, _, table, y, _, _) = np.random.default_rng(seed), CASES[name]
    model, places = fitted(name), rng.permutation(np.arange(FITTED, N))[:5]
    X, b, mass = table[places], table[rng.integers(N, size=6)], rng.random(6) + 0.1
    f = model.predict_proba if hasattr(model, "predict_proba") else model.predict
    groups, weights = [[0], [1, 4], [2, 3]], rng.random(5) + 0.1

    def bounded(response: Any, prediction: Any) -> float:
        return loss(response, np.maximum(prediction, 1e-12) if loss is oracle.cross_entropy else prediction)

    slow = oracle.sage(f, bounded, X, y[places], b, weights=weights, mass=mass, groups=groups)
    f_S = cs.Marginal(b, weights=mass).restrict(as_predictor(model), X)
    who = Players.of([f"x{i}" for i in range(D)], {"a": [0], "b": [1, 4], "c": [2, 3]})
    kind = "squared error" if loss is oracle.squared_error else "cross entropy"
    v = PredictivePower.of(f_S, kind, X, y[places], players=who, sample_weight=weights)
    assert_close(estimate(v, ClosedFormValues()).values[0], slow, DOUBLE)


# ---------------------------------------------------------------------------------- what is said of errors and targets


@pytest.mark.parametrize("name", marked(FEW))
def test_walks_agree_with_exact_values_within_their_errors(name, seed):
    both = twins(name, np.random.default_rng(seed), rows=60, background=40)
    exact = estimate(both.known, ClosedFormValues()).values
    walked = estimate(both.known, PairedWalks(), stop=[Converged(0.05)], seed=seed)
    assert (np.abs(walked.values - exact) <= 6 * walked.std_error + both.allowed * np.abs(exact).max()).all()
    for found in (walked, *walked.targets.values()):
        assert (found.values[:, 4] == 0).all(), "the model never looks at this column"
        assert (found.std_error[:, 4] == 0).all()


@pytest.mark.parametrize("name", marked(FEW))
def test_what_is_said_of_other_rows_is_what_enumeration_says(name, seed):
    both = twins(name, np.random.default_rng(seed), rows=60, background=20)
    told, asked = (
        estimate(v, way, seed=seed).targets["rows"]
        for v, way in ((both.known, ClosedFormValues()), (both.box, Exact()))
    )
    assert_close(told.values, asked.values, 1e-9)
    assert_close(told.std_error, asked.std_error, 1e-9)
    varies = told.std_error > 0  # the rest is noise in the last bits of enumeration
    assert np.allclose(told.dof[varies], asked.dof[varies], rtol=1e-6)


def wide(name: str, rng: np.random.Generator, *, rows: int = 300, background: int = 40) -> Twins:
    """A game of several hundred examples, for which there are rows that no model was fitted to."""
    X = rng.normal(size=(rows + background, D))
    score = X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=len(X)) * 0.3
    y = (score > 0).astype(int) if "classes" in name else score
    f_S = cs.Marginal(X[rows:]).restrict(as_predictor(fitted(name)), X[:rows])
    loss = "cross entropy" if "classes" in name else "squared error"
    known, box = (PredictivePower.of(one, loss, X[:rows], y[:rows]) for one in (f_S, replace(f_S, native=None)))
    return Twins(known, box, DOUBLE)


@pytest.mark.parametrize("name", marked(FEW))
def test_what_is_said_of_the_population_is_near_what_enumeration_says(name, seed):
    """The part of the background is seen from walks: 1,024 pairs show its variance to a tenth or so."""
    both = wide(name, np.random.default_rng(seed))
    asked = estimate(both.known, Exact()).targets["population"]
    runs = [estimate(both.known, ClosedFormValues(), seed=run).targets["population"] for run in range(seed, seed + 12)]
    assert all((told.std_error[:, 4] == 0).all() and (told.values[:, 4] == 0).all() for told in runs)
    matters = asked.std_error > 0.15 * asked.std_error.max()
    for told in runs:
        ratio = told.std_error[matters] / asked.std_error[matters]
        assert (ratio > 0.7).all()
        assert (ratio < 1.3).all()
    values, errors = (np.array([getattr(told, part) for told in runs]) for part in ("values", "std_error"))
    spread = values.std(axis=0, ddof=1) / np.sqrt(len(runs))
    off = np.abs(values.mean(axis=0) - asked.values) - 0.01 * asked.std_error  # logs are corrected to second order
    assert (off <= 6 * spread + 1e-15).all()
    assert np.allclose(errors.mean(axis=0)[matters], asked.std_error[matters], rtol=0.1)


@pytest.mark.parametrize("way", [ClosedFormValues(), PairedWalks()])
def test_error_about_the_population_does_not_depend_on_other_losses_beside(way, seed):
    """A forest gives most rows a probability of nothing, so that all may hang on one of the rows that were drawn."""
    alone, beside = (
        twins("forest", np.random.default_rng(seed), rows=60, background=40, loss=loss).known
        for loss in (["cross entropy"], ["cross entropy", "brier"])
    )
    asked = estimate(alone, Exact()).targets["population"].std_error[0]
    told = estimate(beside, way, seed=seed).targets["population"].std_error[0]
    matters = asked > 0.1 * asked.max()
    assert (told[matters] < 2 * asked[matters]).all()
    assert (told[matters] > asked[matters] / 2).all()


# ---------------------------------------------------------------------------------------------------------- at the door

ROWS = np.random.default_rng(11).normal(size=(900, 8))
LABELS = ROWS[:, 0] * ROWS[:, 1] + ROWS[:, 2] + np.random.default_rng(12).normal(size=900) * 0.3


@cache
def eight_columns(is_deep: bool) -> Any:
    depth = 6 if is_deep else 2
    return ensemble.GradientBoostingRegressor(n_estimators=20, max_depth=depth).fit(ROWS[:300], LABELS[:300])


def explained(model: Any = None, **options: Any) -> Any:
    usual = {"background": ROWS[300:400], "rng": 0}
    return cs.sage(model or eight_columns(False), ROWS[400:700], LABELS[400:700], **{**usual, **options})


@pytest.mark.parametrize("is_deep", [False, True])
def test_exact_method_says_that_there_is_no_error_and_how_it_was_found(is_deep):
    model = eight_columns(is_deep)
    for method in ("exact", "auto"):
        told = explained(model, method=method)
        assert (told.std_error == 0).all()
        assert told.stopped is StopReason.EXACT
        assert told.method == "exact"
        assert set(told.targets) == {"rows", "population"}
    (chosen,) = (note for note in told.notes if str(note).startswith("Method 'exact' was chosen"))
    assert MULTIPLIED in chosen
    assert abs(told.values.sum() - told.total) <= 1e-10 * abs(told.total)


def test_weighted_sum_is_not_said_to_have_leaves():
    model = linear_model.LinearRegression().fit(ROWS[:300], LABELS[:300])
    told = explained(model, loss="absolute error")
    assert told.method == "exact"
    assert not any("trees" in note for note in told.notes)


@pytest.mark.parametrize("is_deep", [False, True])
def test_exact_values_do_not_depend_on_the_number_of_jobs(is_deep):
    one, two = (explained(eight_columns(is_deep), method="exact", n_jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(one.values, two.values)
    for about, target in one.targets.items():
        assert np.array_equal(target.values, two.targets[about].values)
        assert np.array_equal(target.std_error, two.targets[about].std_error)


@pytest.mark.parametrize("name", marked(FEW))
def test_exact_values_depend_on_how_many_examples_are_held_at_once_by_rounding_alone(name, seed, monkeypatch):
    both = twins(name, np.random.default_rng(seed))
    whole = estimate(both.known, ClosedFormValues()).values
    monkeypatch.setattr(closed_form, "NUMBERS_AT_ONCE", 1)
    few = replace(both.known)
    assert few.closed_form is not None
    assert few.closed_form.at_once == 1
    assert_close(estimate(few, ClosedFormValues()).values, whole, 1e-12)


@pytest.mark.parametrize("is_deep", [False, True])
def test_budget_or_deadline_that_exact_values_may_not_fit_leads_to_walks(is_deep):
    f_S = cs.Marginal(ROWS[300:400]).restrict(as_predictor(eight_columns(is_deep)), ROWS[400:700])
    v = PredictivePower.of(f_S, "squared error", ROWS[400:700], LABELS[400:700])
    assert v.closed_form is not None
    rows = v.rows_spent + ClosedFormValues().rows(v, 300)
    for rule, kind in (
        (Budget(rows), ClosedFormValues),
        (Budget(rows - 1), PairedWalks),
        (Deadline(1e4), ClosedFormValues),
        (Deadline(9 * v.closed_form.seconds), PairedWalks),
    ):
        assert isinstance(choose(v, [rule])[0], kind), rule


@pytest.mark.parametrize("is_deep", [False, True])
def test_exact_values_that_are_done_at_the_deadline_are_not_thrown_away(is_deep, monkeypatch):
    """The clock is looked at between chunks; after the last there is nothing left to save."""
    clock = iter(np.arange(0.0, 1e6, 60.0))
    monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    f_S = cs.Marginal(ROWS[300:400]).restrict(as_predictor(eight_columns(is_deep)), ROWS[400:404])
    v = PredictivePower.of(f_S, "squared error", ROWS[400:404], LABELS[400:404])
    assert ClosedFormValues().chunk(v) >= 4
    assert estimate(v, ClosedFormValues(), stop=[Deadline(1.0)]).stopped is StopReason.EXACT


@pytest.mark.parametrize("is_deep", [False, True])
def test_tight_budget_or_deadline_is_no_error(is_deep):
    few = explained(eight_columns(is_deep), budget=20_000)
    assert few.method == "paired walks"
    assert few.model_rows <= 20_000
    assert explained(eight_columns(is_deep), deadline=0.01).stopped in (StopReason.DEADLINE, StopReason.EXACT)


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("lightgbm", "xgboost")]
)
def test_two_hundred_features_are_paid_everything(library, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 200))
    y = X[:, :20].sum(axis=1) + 2 * X[:, 20] * X[:, 21] + rng.normal(size=600)
    made = _lightgbm if library == "lightgbm" else _xgboost
    model = made(n_estimators=30, max_depth=3).fit(X[:400], y[:400])
    told = cs.sage(model, X[400:], y[400:], background=X[:100], rng=seed)
    assert told.method == "exact"
    assert abs(told.values.sum() - told.total) <= 1e-6 * abs(told.total)
    is_used = as_predictor(model).structure().representation.is_used
    assert (told.values[~is_used] == 0).all()
    assert (told.values[is_used] != 0).all()


# ----------------------------------------------------------------------------------------------- terms and the lattice


def expansion(name: str, rng: np.random.Generator, player: np.ndarray) -> tuple[Expansion, np.ndarray]:
    """A model's form beside ten background rows, for players who hold the given columns, and twelve rows."""
    form = as_predictor(fitted(name)).structure().representation
    rows = np.asarray(CASES[name][2])[rng.integers(N, size=22)]
    return Expansion(form, rows[12:], rng.dirichlet(np.ones(10)), player, int(player.max()) + 1), rows[:12]


@pytest.mark.parametrize("by_number", [False, True])
@pytest.mark.parametrize("player", [np.arange(D), np.array([0, 1, 0, 2, 1])])
@pytest.mark.parametrize(
    "name", marked(["line", "depth 3", "depth 4", "deep, catboost", "deep", "forest", "three classes, histograms"])
)
def test_terms_of_subsets_add_up_to_mean_margins(name, player, by_number, seed):
    parts, z = expansion(name, np.random.default_rng(seed), player)
    terms = parts.linear_terms() or parts.leaf_terms(by_number=by_number)
    assert terms is not None
    found, form = terms(z), parts.representation.with_owner(player)
    if isinstance(terms, LinearTerms):
        sets = np.eye(parts.players + 1, dtype=bool)[:, 1:]
    elif by_number:
        sets = (np.arange(2**parts.players)[:, None] >> np.arange(parts.players)) & 1 > 0
    else:
        sets = oracle.members(terms.sets, parts.players)
    for kept in product([False, True], repeat=parts.players):
        within = ~(sets & ~np.array(kept)).any(axis=1)
        hybrid = form.hybrid_margins(form.encode(z), form.encode(parts.inner), np.tile(np.array(kept), (len(z), 1)))
        means = np.einsum("nmk,m->nk", hybrid, parts.row_weights)
        assert np.allclose(found[:, within].sum(axis=1), means, rtol=1e-11, atol=1e-11 * np.abs(means).max())


@pytest.mark.parametrize("player", [np.arange(D), np.array([0, 1, 0, 2, 1])])
@pytest.mark.parametrize(
    "name", marked(["depth 4", "deep", "three classes, lightgbm", "three classes, catboost", "counts, xgboost"])
)
def test_lattice_holds_the_margins_of_all_coalitions(name, player, seed):
    from clarysage.structure.kernels.trees import margins_of_all_coalitions

    parts, z = expansion(name, np.random.default_rng(seed), player)
    trees = parts.trees
    assert trees is not None
    b = trees.encode(parts.inner)
    margins = np.empty((2**parts.players, trees.n_margins, len(b)))
    for x in trees.encode(z):
        margins_of_all_coalitions(
            x,
            b,
            trees.feature,
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            trees.base,
            trees.depth,
            margins,
        )
        for number, found in enumerate(margins):
            kept = np.array([[number >> player & 1 > 0 for player in range(parts.players)]])
            wanted = trees.hybrid_margins(x[None], b, kept)[0].T
            assert np.allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_oblivious_trees_are_the_same_with_decisions_at_every_node(seed):
    """Trees of unlike depth, one of them a single leaf, categories, gaps, and columns that come more than once."""
    rng = np.random.default_rng(seed)

    def level() -> Level:
        column = int(rng.integers(D))
        if rng.random() < 0.3:
            return Level(column, category=int(rng.integers(70)))
        return Level(column, threshold=float(rng.integers(-1, 60)), missing_left=bool(rng.random() < 0.5))

    own = flatten_oblivious_trees(
        [ObliviousTree(tuple(level() for _ in range(depth)), rng.normal(size=(2**depth, 2))) for depth in (0, 1, 4, 6)],
        np.array([0.5, -1.0]),
        D,
    )
    z = np.where(rng.random((200, D)) < 0.15, np.nan, rng.integers(-2, 75, size=(200, D)).astype(float))
    general = own.as_trees()
    assert isinstance(general, Trees)
    assert np.allclose(general.margins(general.encode(z)), own.margins(own.encode(z)), rtol=1e-13, atol=1e-13)
    assert np.array_equal(general.is_used, own.is_used)


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("name", ["deep, catboost", "categories", "three classes, catboost"])
def test_catboost_is_the_same_with_decisions_at_every_node(name):
    structure = as_predictor(fitted(name)).structure()
    z = np.asarray(CASES[name][2], dtype=float) if structure.view is None else structure.view(CASES[name][2])
    own, general = structure.representation, structure.representation.as_trees()
    assert np.allclose(general.margins(general.encode(z)), own.margins(own.encode(z)), rtol=1e-13, atol=1e-13)


LINEAR_CLASSIFIERS = {
    "two classes": (LinearSVC(), 2),
    "three classes": (LinearSVC(), 3),
    "ridge": (RidgeClassifier(), 3),
    "ridge of two classes": (RidgeClassifierCV(), 2),
    "perceptron": (Perceptron(), 2),
    "hinge by descent": (SGDClassifier(random_state=0), 3),
    "behind a scaler": (make_pipeline(StandardScaler(), LinearSVC()), 2),
}


@pytest.mark.parametrize(("model", "classes"), LINEAR_CLASSIFIERS.values(), ids=list(LINEAR_CLASSIFIERS))
@pytest.mark.parametrize("options", [{}, {"groups": {"both": [1, 4]}}, {"loss": "brier"}], ids=["", "groups", "brier"])
def test_labels_of_linear_models_are_those_of_every_coalition(model, classes, options):
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(150, 6))
    rows[:, 3] = rng.integers(0, 2, size=150)
    y = np.digitize(rows[:, 0] + rows[:, 1] * rows[:, 3] + 0.3 * rng.normal(size=150), [-0.4, 0.5][: classes - 1])
    model, X, background = model.fit(rows, y), rows[:40], rows[30:]
    options = {"background": background, "rng": 0, "check_manifold": False, "loss": "zero one", **options}
    labels = [cs.as_predictor(lambda table: np.eye(classes)[model.predict(table)]), X, y[:40]]
    expected = cs.sage(*labels, method="exact", **options)
    result = cs.sage(model, X, y[:40], **options)
    assert result.method == "exact"
    assert any("labels for all coalitions" in note for note in result.notes)
    np.testing.assert_allclose(result.values, expected.values, atol=1e-12)
    walks = cs.sage(model, X, y[:40], method="paired walks", budget=30_000, **options)
    assert (np.abs(walks.values - expected.values) < 5 * walks.std_error + 1e-12).all()


def test_a_linear_model_of_labels_takes_few_rows_and_calls():
    """It was called row by row, for 26 million rows where 157 million are all coalitions."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(812, 10))
    y = rows @ np.linspace(1, 0, 10) + rng.normal(size=812) > 0
    model = LinearSVC().fit(rows[:512], y[:512])
    result = cs.sage(model, rows[512:], y[512:], background=rows[:512], rng=0, check_manifold=False)
    assert result.stopped is StopReason.EXACT
    assert result.model_rows < 300_000


def test_ties_of_the_largest_margin_go_to_the_first_label():
    margins = np.array([[[1.0, 2.0, 0.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.0]]])  # (1, K, m)
    shares = mean_predictions(margins, np.full(3, 1 / 3), "labels")
    np.testing.assert_allclose(shares, [[1.0, 0.0, 0.0]])
    np.testing.assert_array_equal(apply_link(np.array([[0.0], [1e-9]]), "labels"), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(apply_link(np.array([[2.0, 2.0, 1.0]]), "labels"), [[1, 0, 0]])
