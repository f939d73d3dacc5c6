"""Drop-column importance: closed forms of linear regression, refits by hand, learners of all kinds, and what it costs.

Where data are drawn, an estimate may differ from the truth by five standard errors over the examples, and by the excess
risk of what was fitted, which is known to leading order and allowed for twice.
"""

from __future__ import annotations

import importlib

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import clarysage as cs
from clarysage._measures.table import expected_fits
from clarysage.errors import InputError
from clarysage.models.learners import learner_for_refits
from clarysage.models.least_squares import LeastSquares
from linear_laws import LinearLaw
from tests.lab.coverage import binomial_room, covers

FIVE = 5.0  # standard errors

LAWS = {"independent": lambda seed: LinearLaw.independent(), "correlated": LinearLaw.correlated}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    return X, 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=120)


@pytest.fixture(scope="module")
def frame(data):
    return pd.DataFrame(data[0], columns=list("abcd"))


@pytest.fixture(scope="module")
def mixed():
    """A frame of numbers, missing cells and categories, and responses of two kinds."""
    rng = np.random.default_rng(8)
    n = 200
    kind, size, weight = rng.choice(["red", "green", "blue"], size=n), rng.normal(size=n), rng.normal(size=n)
    y = 2 * size + 3 * (kind == "red") + 0.3 * rng.normal(size=n)
    size[::20] = np.nan
    X = pd.DataFrame({"size": size, "kind": pd.Categorical(kind), "weight": weight})
    return X, y, np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


def pipeline(last):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(
        make_column_transformer((numbers, ["size", "weight"]), (OneHotEncoder(handle_unknown="ignore"), ["kind"])), last
    )


# closed forms


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("has_train", [False, True])
def test_ablation_of_linear_regression_is_the_variance_that_the_others_leave(seed, law, has_train):
    law = LAWS[law](seed)
    rng = np.random.default_rng(seed)
    X, y = law.draw(3000, rng)
    options = {"train": law.draw(2400, rng)} if has_train else {"folds": 5}
    found = cs.drop_column_importance(LinearRegression().fit(X[:50], y[:50]), X, y, rng=seed, **options)
    left = law.noise**2 + law.ablation
    excess = (left + law.noise**2) * (law.d + 1) / 2400
    error = found.target("rows").std_error
    assert np.all(np.abs(found.values - law.ablation) <= FIVE * error + 2 * excess)
    assert np.all(error < 0.1 * law.ablation.max())  # or this would say little


def test_two_copies_of_a_feature_are_worth_nothing_each(data):
    X, y = data  # least squares of the least norm, whose rounding of dependent columns is the same in every release
    found = cs.drop_column_importance(LeastSquares(), np.column_stack([X, X[:, 0]]), y, rng=0)
    assert np.all(np.abs(found.values[[0, 4]]) < 1e-9)
    alone = cs.drop_column_importance(LeastSquares(), X, y, rng=0)
    assert alone.values[0] > 0.5 * alone.total
    as_one = cs.drop_column_importance(LeastSquares(), np.column_stack([X, X[:, 0]]), y, groups={"both": [0, 4]}, rng=0)
    assert as_one.values[0] == pytest.approx(alone.values[0])


@pytest.mark.statistical
def test_intervals_about_rows_hold_what_the_fitted_learners_lose(seed):
    law, rng = LinearLaw.correlated(seed, 3), np.random.default_rng(seed)
    train = law.draw(40, rng)
    full = LinearRegression().fit(*train)
    truth = []
    for i in range(3):
        less = LinearRegression().fit(np.delete(train[0], i, axis=1), train[1])
        truth.append(law.risk(np.insert(less.coef_, i, 0.0), less.intercept_) - law.risk(full.coef_, full.intercept_))
    runs, options = 200, {"learner": LeastSquares(), "train": train}
    explanations = [cs.drop_column_importance(None, *law.draw(100, rng), rng=run, **options) for run in range(runs)]
    coverage = covers((explanation.interval(about="rows") for explanation in explanations), truth).mean(axis=0)
    assert np.all(coverage >= 0.95 - binomial_room(runs, std_errors=4)), coverage


# by hand


@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_values_are_what_refits_by_hand_lose(frame, data, loss):
    y = data[1]
    train, test = frame[:80], frame[80:]
    found = cs.drop_column_importance(Ridge().fit(train, y[:80]), test, y[80:], train=(train, y[:80]), loss=loss, rng=0)

    def risk(prediction):
        off = np.abs(prediction - y[80:])
        return np.mean(off**2 if loss == "squared error" else off)

    whole = risk(Ridge().fit(train, y[:80]).predict(test))
    for i, name in enumerate(frame):
        less = Ridge().fit(train.drop(columns=name), y[:80])
        assert found.values[i] == pytest.approx(risk(less.predict(test.drop(columns=name))) - whole)
    constant = risk(np.mean(y[:80]) if loss == "squared error" else np.median(y[:80]))
    assert found.base == pytest.approx(constant)
    assert found.total == pytest.approx(constant - whole)
    assert found.constant == pytest.approx(found.total - found.values.sum())  # Table 3
    assert found.power(list("abcd")) == pytest.approx(found.total)
    assert found.power(list("bcd")) == pytest.approx(found.total - found.values[0])
    assert (found.measure, found.removal, found.method) == ("drop column importance", "refit", "leave one out")
    assert found.shown == "rows"
    assert not found.std_error.any()


def test_cross_fitting_is_that_of_the_game(data):
    X, y = data
    found = cs.drop_column_importance(KNeighborsRegressor(), X, y, folds=3, rng=5)
    v = cs.UniversalPower.of(KNeighborsRegressor(), X, y, folds=3, seed=5)
    S = np.ones((120, 4), dtype=bool)
    S[:, 2] = False
    less = v.payoff(np.arange(120), S, np.random.default_rng(0))
    assert found.values[2] == pytest.approx(float(v.weights @ (v.ends[1] - less)[:, 0]))
    assert found.fits == found.provenance["fits"] == 15 == expected_fits("drop column importance", 4, 3)
    assert found.model_rows == 15 * 120
    assert any("fitted on folds of X" in note for note in found.notes)
    assert any("cross-fitted in 3 folds; 15 fits for 5 subsets" in note for note in found.notes)


def test_weights_are_as_good_as_copies(data):
    X, y = data
    times, others = np.random.default_rng(0).integers(0, 4, size=(2, 60))
    weighted = cs.drop_column_importance(Ridge(), X[:60], y[:60], sample_weight=times, train=(X[60:], y[60:], others))
    there = (np.repeat(X[60:], others, axis=0), np.repeat(y[60:], others))
    copied = cs.drop_column_importance(Ridge(), np.repeat(X[:60], times, axis=0), np.repeat(y[:60], times), train=there)
    assert np.allclose(weighted.values, copied.values)
    assert weighted.constant == pytest.approx(copied.constant)
    assert not np.allclose(weighted.values, cs.drop_column_importance(Ridge(), X[:60], y[:60], train=there).values)


def test_one_feature_alone_is_worth_everything(data):
    X, y = data
    found = cs.drop_column_importance(Ridge(), X[:, :1], y, rng=0)
    assert found.values[0] == pytest.approx(found.total)
    assert found.constant == pytest.approx(0, abs=1e-12)
    assert found.fits == 5


def test_a_list_of_losses_is_one_explanation_each(data):
    both = cs.drop_column_importance(Ridge(), *data, loss=["squared error", "absolute error"], rng=0)
    for found in both:
        alone = cs.drop_column_importance(Ridge(), *data, loss=found.loss, rng=0)
        assert np.allclose(found.values, alone.values)
        assert found.constant == pytest.approx(alone.constant)


def test_groups_are_left_out_together(frame, data):
    found = cs.drop_column_importance(Ridge(), frame, data[1], groups={"pair": ["b", 2]}, rng=0)
    assert found.feature_names == ("a", "pair", "d")
    assert found.groups == {"a": ["a"], "pair": ["b", "c"], "d": ["d"]}
    each = cs.drop_column_importance(Ridge(), frame, data[1], rng=0)
    assert np.allclose(found.values[[0, 2]], each.values[[0, 3]])


# order, bits, workers


def test_columns_may_come_in_any_order(frame, data):
    y = data[1]
    train, test = frame[:80], frame[80:]
    model = Ridge().fit(train, y[:80])
    first = cs.drop_column_importance(model, test, y[80:], train=(train, y[:80]), groups={"g": ["d", "a"]}, rng=0)
    back = test[list("dcba")]
    for other in (
        cs.drop_column_importance(model, back, y[80:], train=(train, y[:80]), groups={"g": [0, 3]}, rng=0),
        cs.drop_column_importance(
            model, back, y[80:], train=(train[list("bdac")], y[:80]), groups={"g": [0, 3]}, rng=0
        ),
    ):
        assert other.feature_names == ("g", "c", "b")
        assert dict(zip(other.feature_names, other.values, strict=True)) == dict(
            zip(first.feature_names, first.values, strict=True)
        )
    named = cs.drop_column_importance(model, back, y[80:], train=(train, y[:80]), feature_names=list("wxyz"), rng=0)
    assert named.feature_names == tuple("wxyz")
    assert named.values[3] == pytest.approx(
        cs.drop_column_importance(model, test, y[80:], train=(train, y[:80])).values[0]
    )


def test_arrays_take_the_names_of_the_rows_to_fit_on(frame, data):
    y = data[1]
    found = cs.drop_column_importance(Ridge(), frame[80:].to_numpy(), y[80:], train=(frame[:80], y[:80]))
    assert found.feature_names == tuple("abcd")
    assert np.allclose(
        found.values, cs.drop_column_importance(Ridge(), frame[80:], y[80:], train=(frame[:80], y[:80])).values
    )


def test_a_model_that_knows_columns_by_their_places_gets_them_there():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"b": rng.normal(size=150), "a": rng.integers(4, size=150).astype(float)})
    y = X["b"] + np.array([0.0, 3.0, -3.0, 1.0])[X["a"].astype(int)]
    model = HistGradientBoostingRegressor(categorical_features=[1], max_iter=30, min_samples_leaf=2).fit(X, y)
    one = cs.drop_column_importance(model, X, y, rng=0)
    other = cs.drop_column_importance(model, X[["a", "b"]], y, rng=0)
    assert np.array_equal(one.values, other.values[::-1])


def test_bits_do_not_depend_on_workers(data):
    X, y = data
    forest = RandomForestRegressor(3).fit(X, y)
    one, two = (cs.drop_column_importance(forest, X, y, folds=2, n_jobs=jobs, rng=7) for jobs in (1, 2))
    assert one.values.tobytes() == two.values.tobytes()
    assert one.target("rows").std_error.tobytes() == two.target("rows").std_error.tobytes()
    assert one.provenance == two.provenance
    assert one.values.tobytes() != cs.drop_column_importance(forest, X, y, folds=2, rng=8).values.tobytes()


def test_progress_is_shown(data, capsys):
    cs.drop_column_importance(Ridge(), *data, progress=True, rng=0)
    assert "100%" in capsys.readouterr().err


def test_the_model_is_left_alone(data):
    X, y = data
    model = Ridge().fit(X, y)
    before = model.coef_.copy()
    fitted = cs.drop_column_importance(model, X, y, rng=0)
    assert np.array_equal(model.coef_, before)
    given = cs.drop_column_importance(lambda X: X[:, 0], X, y, learner=Ridge(), rng=0)
    assert np.array_equal(fitted.values, given.values)


def test_an_explanation_can_be_saved_and_printed(data, tmp_path):
    found = cs.drop_column_importance(Ridge(), *data, rng=0)
    found.save(tmp_path / "ablation.json")
    assert cs.load(tmp_path / "ablation.json").to_dict() == found.to_dict()
    assert str(found).startswith(
        "Drop-column importance: how much the squared error of a learner increases without each"
    )
    assert "The constant of this measure is " in str(found)
    again = cs.importance("drop column importance", Ridge(), *data, rng=0)
    assert np.array_equal(again.values, found.values)


# learners of all kinds


@pytest.mark.parametrize(
    ("task", "last", "loss"),
    [
        ("numbers", Ridge(), "squared error"),
        ("two", LogisticRegression(), "cross entropy"),
        ("three", LogisticRegression(), "cross entropy"),
        ("three", LogisticRegression(), "zero one"),
    ],
)
def test_a_pipeline_of_categories_for_every_task(mixed, task, last, loss):
    X, y, level = mixed
    target = {"numbers": y, "two": np.where(level > 0, "high", "low"), "three": level}[task]
    found = cs.drop_column_importance(pipeline(last).fit(X, target), X, target, loss=loss, rng=0)
    assert found.top(2) == ["kind", "size"] or found.top(2) == ["size", "kind"]
    assert abs(found.values[2]) < 0.2 * found.values[:2].min()
    assert found.loss == loss


def booster(library: str, is_classifier: bool):
    module = importlib.import_module(library)
    options = {
        "catboost": {
            "iterations": 30,
            "depth": 4,
            "verbose": 0,
            "allow_writing_files": False,
            "cat_features": ["kind"],
            "thread_count": 1,
        },
        "xgboost": {"n_estimators": 30, "max_depth": 4, "enable_categorical": True, "n_jobs": 1},
        "lightgbm": {"n_estimators": 30, "min_child_samples": 5, "verbose": -1, "n_jobs": 1},
    }[library]
    names = {"catboost": "CatBoost", "xgboost": "XGB", "lightgbm": "LGBM"}
    return getattr(module, names[library] + ("Classifier" if is_classifier else "Regressor"))(**options)


BOOSTERS = [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("catboost", "xgboost", "lightgbm")]


@pytest.mark.parametrize("library", BOOSTERS)
@pytest.mark.parametrize("is_classifier", [False, True])
def test_boosters_with_categories_are_cloned_and_narrowed(mixed, library, is_classifier):
    X, y, level = mixed
    target = level if is_classifier else y
    model = booster(library, is_classifier).fit(X, target)
    found = cs.drop_column_importance(model, X, target, folds=2, rng=0)
    assert set(found.top(2)) == {"size", "kind"}
    assert found.loss == ("cross entropy" if is_classifier else "squared error")
    assert found.values[1] > 0.1 * found.total


@pytest.mark.needs("catboost")
def test_categories_that_catboost_was_told_of_by_fit_are_told_to_its_copies(mixed):
    from catboost import CatBoostRegressor

    X, y, _ = mixed
    options = {"iterations": 20, "depth": 3, "verbose": 0, "allow_writing_files": False}
    late = CatBoostRegressor(**options).fit(X, y, cat_features=["kind"])
    early = CatBoostRegressor(**options, cat_features=["kind"]).fit(X, y)
    one, other = (cs.drop_column_importance(model, X, y, folds=2, rng=0) for model in (late, early))
    assert np.allclose(one.values, other.values)


@pytest.mark.needs("lightgbm")
@pytest.mark.filterwarnings("ignore:.*categorical_feature.*")
def test_categories_that_lightgbm_was_told_of_by_fit_are_told_to_its_copies(mixed):
    from lightgbm import LGBMRegressor

    X, y, _ = mixed
    rows = X.assign(kind=X["kind"].cat.codes)
    learner = LGBMRegressor(n_estimators=5, min_child_samples=5, verbose=-1, n_jobs=1)
    told = learner_for_refits(clone(learner).fit(rows, y, categorical_feature=["kind"]))
    assert told.get_params()["categorical_feature"] == [1]
    assert np.allclose(
        told.fit(rows, y).predict(rows), clone(learner).fit(rows, y, categorical_feature=[1]).predict(rows)
    )
    assert (
        learner_for_refits(clone(learner).fit(X, y)).get_params().get("categorical_feature") is None
    )  # known by dtype
    found = cs.drop_column_importance(
        clone(learner).fit(rows, y, categorical_feature=["kind"]), rows, y, folds=2, rng=0
    )
    assert set(found.top(2)) == {"size", "kind"}


def test_a_learner_of_nothing_loses_nothing(data):
    found = cs.drop_column_importance(DummyRegressor(), *data, rng=0)
    assert np.all(np.abs(found.values) < 1e-12)


# bad inputs


class NoCopy(Ridge):
    def get_params(self, deep=True):
        raise RuntimeError("not mine to tell")


def torch_module():
    import torch

    return torch.nn.Linear(4, 1)


def lightgbm_booster():
    import lightgbm

    X = np.random.default_rng(0).normal(size=(60, 4))
    return lightgbm.train({"verbose": -1}, lightgbm.Dataset(X, X[:, 0]), 2)


UNFIT = [
    pytest.param(lambda: None, "and no model to refit", id="none"),
    pytest.param(lambda: lambda X: X[:, 0], "function, which has no 'fit'", id="function"),
    pytest.param(lambda: cs.as_predictor(lambda X: X[:, 0]), "Predictor, which has no 'fit'", id="predictor"),
    pytest.param(lambda: Ridge, "the class Ridge", id="class"),
    pytest.param(lambda: NoCopy(), "not mine to tell", id="no copy"),
    pytest.param(torch_module, "Linear, which has no 'fit'", id="torch", marks=pytest.mark.needs("torch")),
    pytest.param(lightgbm_booster, "Booster, which has no 'fit'", id="booster", marks=pytest.mark.needs("lightgbm")),
]


@pytest.mark.parametrize("measure", [cs.drop_column_importance, cs.univariate_predictors])
@pytest.mark.parametrize(("model", "message"), UNFIT)
def test_a_model_that_cannot_be_fitted_anew_asks_for_a_learner(data, measure, model, message):
    with pytest.raises(InputError, match=rf"learner: got None, .*{message}.* Try learner="):
        measure(model(), *data)


def nan_in(y):
    y = y.copy()
    y[3] = np.nan
    return y


BAD = [
    (lambda X, y: {"learner": "ridge"}, "learner: got str"),
    (lambda X, y: {"learner": LogisticRegression()}, "learner: got LogisticRegression .*continuous"),
    (lambda X, y: {"y": None}, "y: got None"),
    (lambda X, y: {"y": y[:-1]}, "y: got 119 responses"),
    (lambda X, y: {"X": X[:, 0]}, "X: got a one-dimensional array"),
    (lambda X, y: {"folds": 1}, "folds: got 1"),
    (lambda X, y: {"train": X}, "train: got ndarray; .* Try train="),
    (lambda X, y: {"train": (X, y, y, y)}, "train: got tuple"),
    (lambda X, y: {"train": (X[:, :3], y)}, "X: got 4 columns; wanted 3, as in train"),
    (lambda X, y: {"train": (X, y[:-1])}, "train: got 119 responses"),
    (lambda X, y: {"train": (X, nan_in(y))}, "train: got 1 missing"),
    (lambda X, y: {"train": (X, y, -y)}, "train: got negative, missing or infinite weights"),
    (lambda X, y: {"y": nan_in(y), "train": (X, y)}, "y: got 1 missing"),
    (lambda X, y: {"train": (X, y.astype(str))}, "train: got responses of shape .* wanted the same as y"),
    (lambda X, y: {"train": (X, y), "sample_weight": -y}, "sample_weight: got negative"),
    (lambda X, y: {"sample_weight": np.zeros(120)}, "sample_weight: got weights that are all zero"),
    (lambda X, y: {"loss": "roc_auc"}, "loss: got 'roc_auc'"),
    (lambda X, y: {"feature_names": ["a"]}, "feature_names: got 1 names"),
    (lambda X, y: {"groups": {"g": ["z"]}}, "groups: got 'z'"),
    (lambda X, y: {"rng": "seed"}, "rng: got 'seed'"),
    (lambda X, y: {"n_jobs": 0}, "n_jobs: got 0"),
]


@pytest.mark.parametrize("measure", [cs.drop_column_importance, cs.univariate_predictors])
@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_inputs_are_refused_by_name(data, measure, change, message):
    X, y = data
    with pytest.raises(InputError, match=message):
        measure(**{"model": Ridge(), "X": X, "y": y, **change(X, y)})


def test_tables_of_other_columns_are_refused(frame, data):
    y = data[1]
    with pytest.raises(InputError, match="X: got no column 'd'; wanted the columns of train, in any order"):
        cs.drop_column_importance(Ridge(), frame.rename(columns={"d": "e"}), y, train=(frame, y))
    with pytest.raises(
        InputError, match="X: got columns that differ from those Ridge was fitted on: no 'd'; extra 'e'"
    ):
        cs.drop_column_importance(Ridge().fit(frame, y), frame.rename(columns={"d": "e"}), y)


# what it costs


@pytest.mark.parametrize("players", [1, 2, 5])
@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("name", ["drop column importance", "univariate predictors", "shapley net effects"])
def test_fits_are_as_many_as_were_told(data, players, folds, name):
    X, y = np.resize(data[0], (120, players)), data[1]
    design = {"folds": folds} if folds > 1 else {"train": (X, y)}
    model = None if name == "shapley net effects" else LeastSquares()
    assert cs.importance(name, model, X, y, rng=0, **design).fits == expected_fits(name, players, folds)


def test_measures_that_fit_nothing_want_no_fits_and_those_of_others_do_not_say():
    assert expected_fits("sage", 8) == expected_fits("squared correlation", 8) == 0
    row = cs.Measure("own", "Own", "+++++", "v", refits=True, call=lambda model, X, y: None)
    assert expected_fits(row, 8) is None
    assert expected_fits("shapley net effects", 30) == 5 * (1 + 2 * 29 * 128)  # sampled


def test_forests_of_classes_work_on_arrays(data):
    X, _ = data
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    found = cs.drop_column_importance(
        RandomForestClassifier(5, random_state=0).fit(X, y), X, y, loss="brier", folds=2, rng=0
    )
    assert set(found.top(2)) == {"x0", "x1"}
