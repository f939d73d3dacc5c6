"""Heuristics that are read off a model, against what is computed from its coefficients, trees and weights by hand."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import compose, decomposition, ensemble, linear_model, multiclass, neural_network, svm, tree
from sklearn.feature_selection import SelectKBest, f_regression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

import clarysage as cs
from clarysage._measures.intrinsic import coefficient_size, gini_importance, network_weights, number_of_splits

N = 300
_draws = np.random.default_rng(11)
NUMBERS = _draws.normal(size=(N, 3)) * [1.0, 10.0, 0.1]
RESPONSE = NUMBERS @ [1.0, -0.2, 5.0] + (NUMBERS[:, 0] > 0) * NUMBERS[:, 1] * 0.1
TWO, THREE = (RESPONSE > 0).astype(int), np.digitize(RESPONSE, [-1.5, 1.5])
FRAME = pd.DataFrame(NUMBERS, columns=["a", "b", "c"])
FRAME["d"] = _draws.choice(["x", "y", "z"], N, p=[0.5, 0.3, 0.2])
WEIGHTS = _draws.integers(1, 4, N)
WITH_CATEGORY = RESPONSE + FRAME["d"].map({"x": 0.0, "y": 2.0, "z": -1.0}).to_numpy()
pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
READ_OFF = ("coefficient size", "gini importance", "number of splits", "network weights")


def _encoded(last: Any, **options: Any) -> Any:
    """A pipeline that puts columns in another order, scales one and encodes one."""
    steps = compose.make_column_transformer(
        (StandardScaler(), ["c"]), (OneHotEncoder(**options), ["d"]), ("passthrough", ["b", "a"])
    )
    return make_pipeline(steps, last)


def _values(name: str, model: Any, X: Any, **options: Any) -> np.ndarray:
    return cs.importance(name, model, X, **options).values


# ---------------------------------------------------------------------------------------------------- coefficient size


LINEAR = {
    "least squares": (linear_model.LinearRegression(), RESPONSE),
    "ridge": (linear_model.Ridge(), RESPONSE),
    "lasso": (linear_model.Lasso(0.1), RESPONSE),
    "two classes": (linear_model.LogisticRegression(), TWO),
    "three classes": (linear_model.LogisticRegression(), THREE),
    "support vectors": (svm.LinearSVC(), THREE),
    "support vectors with a linear kernel": (svm.SVC(kernel="linear"), TWO),
    "ridge for classes": (linear_model.RidgeClassifier(), TWO),
    "stochastic": (linear_model.SGDRegressor(random_state=0), RESPONSE),
    "two responses": (linear_model.LinearRegression(), np.column_stack([RESPONSE, TWO])),
}


@pytest.mark.parametrize("name", LINEAR)
def test_coefficient_size_is_the_sum_of_magnitudes_over_outputs(name):
    model, y = LINEAR[name]
    model.fit(StandardScaler().fit_transform(NUMBERS), y)
    wanted = np.abs(np.atleast_2d(model.coef_)).sum(axis=0)
    assert _values("coefficient size", model, NUMBERS) == pytest.approx(wanted)
    scaled = _values("coefficient size", model, NUMBERS, scaled=True, sample_weight=WEIGHTS)
    mean = np.average(NUMBERS, axis=0, weights=WEIGHTS)
    spread = np.sqrt(np.average((NUMBERS - mean) ** 2, axis=0, weights=WEIGHTS))
    assert scaled == pytest.approx(wanted * spread)


def test_one_model_a_class_has_the_coefficients_of_all():
    model = multiclass.OneVsRestClassifier(svm.LinearSVC()).fit(NUMBERS, THREE)
    wanted = sum(np.abs(one.coef_[0]) for one in model.estimators_)
    assert _values("coefficient size", model, NUMBERS) == pytest.approx(wanted)


def test_scaled_coefficients_know_neither_units_nor_scalers():
    plain = linear_model.LinearRegression().fit(NUMBERS, RESPONSE)
    behind = make_pipeline(StandardScaler(), linear_model.LinearRegression()).fit(NUMBERS, RESPONSE)
    other = linear_model.LinearRegression().fit(NUMBERS * [20.0, 1.0, 0.5], RESPONSE)
    wanted = _values("coefficient size", plain, NUMBERS, scaled=True)
    assert _values("coefficient size", behind, NUMBERS, scaled=True) == pytest.approx(wanted)
    assert _values("coefficient size", behind, NUMBERS) == pytest.approx(wanted)
    assert _values("coefficient size", other, NUMBERS * [20.0, 1.0, 0.5], scaled=True) == pytest.approx(wanted)


@pytest.mark.parametrize("drop", [None, "first"])
def test_a_category_has_the_spread_of_its_effects_whichever_is_left_out(drop):
    model = _encoded(linear_model.LinearRegression(), drop=drop).fit(FRAME, WITH_CATEGORY)
    left_out = _encoded(linear_model.LinearRegression(), drop="first").fit(FRAME, WITH_CATEGORY)
    effects = dict(zip("xyz", [0.0, *left_out[-1].coef_[1:3]], strict=True))
    found = coefficient_size(model, FRAME, scaled=True)
    assert found.feature_names == ("a", "b", "c", "d")
    assert found.values[3] == pytest.approx(FRAME["d"].map(effects).std(ddof=0))
    plain = coefficient_size(model, FRAME).values
    coefficients = np.abs(model[-1].coef_)
    assert plain == pytest.approx([coefficients[-1], coefficients[-2], coefficients[0], coefficients[1:-2].sum()])


@pytest.mark.needs("statsmodels")
def test_coefficients_of_statsmodels():
    import statsmodels.api as sm

    X = sm.add_constant(FRAME[["a", "b", "c"]])
    for results in (sm.OLS(RESPONSE, X).fit(), sm.Probit(TWO, X * 0.1).fit(disp=0), sm.MNLogit(THREE, X).fit(disp=0)):
        wanted = np.abs(np.asarray(results.params)).reshape(4, -1).sum(axis=1)
        found = coefficient_size(results, X[["c", "const", "b", "a"]])
        assert found.feature_names == ("c", "const", "b", "a")
        assert found.values == pytest.approx(wanted[[3, 0, 2, 1]])
    assert coefficient_size(results, X, scaled=True).values[0] == 0


@pytest.mark.needs("statsmodels")
def test_a_dispersion_is_no_coefficient():
    import statsmodels.api as sm

    X, counts = FRAME[["a", "b", "c"]] * [0.1, 0.01, 1.0], np.random.default_rng(0).poisson(2, N)
    results = sm.NegativeBinomial(counts, X).fit(disp=0)
    assert len(results.params) == 4
    assert coefficient_size(results, X).values == pytest.approx(np.abs(results.params[:3].to_numpy()))


@pytest.mark.needs("statsmodels")
def test_a_formula_is_refused():
    import statsmodels.formula.api as smf

    results = smf.ols("y ~ a + d", FRAME.assign(y=WITH_CATEGORY)).fit()
    with pytest.raises(cs.InputError, match="linear model"):
        coefficient_size(results, FRAME)


def test_standard_deviations_take_finite_cells():
    model = linear_model.LinearRegression().fit(NUMBERS, RESPONSE)
    X = np.where(np.arange(N)[:, None] == 3, np.nan, NUMBERS)
    with pytest.raises(cs.InputError, match="scaled=False"):
        coefficient_size(model, X, scaled=True)


# ------------------------------------------------------------------------------------- Gini importance and splits


def _nodes(model: Any) -> np.ndarray:
    """Splits on each column, counted node by node."""
    if hasattr(model, "tree_"):
        return np.array([int((model.tree_.feature == j).sum()) for j in range(model.n_features_in_)])
    return sum(_nodes(one) for one in np.ravel(model.estimators_))


SKLEARN_TREES = {
    "tree": (tree.DecisionTreeRegressor(max_depth=4, random_state=0), RESPONSE),
    "random tree": (tree.ExtraTreeClassifier(max_depth=4, random_state=0), THREE),
    "forest": (ensemble.RandomForestClassifier(6, max_depth=4, random_state=0), THREE),
    "random trees": (ensemble.ExtraTreesRegressor(6, max_depth=4, random_state=0), RESPONSE),
    "boosted trees": (ensemble.GradientBoostingClassifier(n_estimators=5, random_state=0), THREE),
    "weighted trees": (ensemble.AdaBoostRegressor(n_estimators=4, random_state=0), RESPONSE),
}


@pytest.mark.parametrize("name", SKLEARN_TREES)
def test_trees_of_scikit_learn(name):
    model, y = SKLEARN_TREES[name]
    model.fit(NUMBERS, y)
    assert _values("gini importance", model, NUMBERS) == pytest.approx(model.feature_importances_)
    assert _values("number of splits", model, NUMBERS).tolist() == _nodes(model).tolist()


def test_a_bag_has_the_mean_of_its_members_in_their_own_columns():
    model = ensemble.BaggingRegressor(max_features=2, n_estimators=4, random_state=0).fit(NUMBERS, RESPONSE)
    shares, counts = np.zeros(3), np.zeros(3)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        shares[columns] += member.feature_importances_ / 4
        counts[columns] += _nodes(member)
    assert _values("gini importance", model, NUMBERS) == pytest.approx(shares)
    assert _values("number of splits", model, NUMBERS).tolist() == counts.tolist()


def test_trees_of_histograms_with_categories_that_they_put_first():
    X = FRAME.assign(d=FRAME["d"].astype("category"))
    model = ensemble.HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype", random_state=0).fit(
        X, WITH_CATEGORY
    )
    gains, counts = np.zeros(4), np.zeros(4)
    for (one,) in model._predictors:
        for node in one.nodes:
            if not node["is_leaf"]:
                column = [3, 0, 1, 2][node["feature_idx"]]
                gains[column] += node["gain"]
                counts[column] += 1
                assert bool(node["is_categorical"]) == (column == 3)
    assert counts[3] > 0
    assert _values("gini importance", model, X) == pytest.approx(gains / gains.sum())
    assert _values("number of splits", model, X).tolist() == counts.tolist()


def test_trees_with_nothing_to_split_have_no_importance():
    model = tree.DecisionTreeRegressor().fit(NUMBERS, np.zeros(N))
    assert _values("gini importance", model, NUMBERS).tolist() == [0.0, 0.0, 0.0]
    assert _values("number of splits", model, NUMBERS).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.needs("xgboost")
def test_trees_of_xgboost_up_to_the_best_iteration():
    import xgboost

    X, rest = FRAME[["a", "b", "c"]][:200], FRAME[["a", "b", "c"]][200:]
    model = xgboost.XGBRegressor(n_estimators=60, max_depth=4, learning_rate=0.5, n_jobs=1, early_stopping_rounds=3)
    model.fit(X, RESPONSE[:200], eval_set=[(rest, RESPONSE[200:])], verbose=False)
    table = model.get_booster().trees_to_dataframe()
    assert model.best_iteration + 1 < table["Tree"].nunique()
    splits = table[(table["Tree"] <= model.best_iteration) & (table["Feature"] != "Leaf")]
    gains, counts = (splits.groupby("Feature")["Gain"].agg(how).reindex(["c", "b", "a"]) for how in ("sum", "count"))
    for one in (model, model.get_booster(), cs.as_predictor(model)):
        assert _values("gini importance", one, X[["c", "b", "a"]]) == pytest.approx(gains / gains.sum(), rel=1e-5)
        assert _values("number of splits", one, X[["c", "b", "a"]]).tolist() == counts.tolist()


@pytest.mark.needs("xgboost")
def test_a_column_that_xgboost_never_splits_on_has_nothing():
    import xgboost

    booster = xgboost.train({"max_depth": 1, "nthread": 1}, xgboost.DMatrix(NUMBERS, RESPONSE), 1)
    score = booster.get_score(importance_type="weight")
    assert _values("number of splits", booster, NUMBERS).tolist() == [score.get(f"f{j}", 0.0) for j in range(3)]
    linear = xgboost.XGBRegressor(booster="gblinear", n_estimators=4, n_jobs=1).fit(NUMBERS, RESPONSE)
    assert _values("coefficient size", linear, NUMBERS) == pytest.approx(np.abs(linear.coef_))
    with pytest.raises(cs.InputError, match="which has no number of splits"):
        number_of_splits(linear, NUMBERS)


@pytest.mark.needs("lightgbm")
def test_trees_of_lightgbm_up_to_the_best_iteration():
    import lightgbm

    X = FRAME.assign(d=FRAME["d"].astype("category"))
    model = lightgbm.LGBMRegressor(n_estimators=8, verbose=-1, n_jobs=1).fit(X, WITH_CATEGORY)
    learn = lightgbm.Dataset(X[:200], WITH_CATEGORY[:200])
    stopped = lightgbm.train(
        {"learning_rate": 0.6, "verbose": -1, "num_threads": 1},
        learn,
        80,
        keep_training_booster=True,
        valid_sets=[lightgbm.Dataset(X[200:], WITH_CATEGORY[200:], reference=learn)],
        callbacks=[lightgbm.early_stopping(3, verbose=False)],
    )
    assert 0 < stopped.best_iteration < stopped.num_trees()
    for one, booster in ((model, model.booster_), (model.booster_, model.booster_), (stopped, stopped)):
        table = booster.trees_to_dataframe()
        by_column = table[table["split_feature"].notna()].groupby("split_feature")["split_gain"]
        gains, counts = (by_column.agg(how).reindex(list("dcba")) for how in ("sum", "count"))
        assert _values("gini importance", one, X[list("dcba")]) == pytest.approx(gains / gains.sum(), rel=1e-5)
        assert _values("number of splits", one, X[list("dcba")]).tolist() == counts.tolist()
        assert booster is not stopped or table["tree_index"].nunique() == stopped.best_iteration


CATBOOST = {
    "one-hot": {"one_hot_max_size": 10},
    "statistics": {"one_hot_max_size": 2, "max_ctr_complexity": 2},
    "trees that are not symmetric": {"one_hot_max_size": 2, "grow_policy": "Depthwise"},
}


@pytest.mark.needs("catboost")
@pytest.mark.parametrize("name", CATBOOST)
def test_trees_of_catboost(name):
    import catboost

    X = FRAME.assign(e=np.tile(list("uvwq"), N // 4))
    y = WITH_CATEGORY + 4 * (X["d"] == "x") * (X["e"] == "u")
    model = catboost.CatBoostRegressor(
        iterations=20,
        depth=4,
        verbose=0,
        cat_features=["d", "e"],
        thread_count=1,
        allow_writing_files=False,
        random_seed=0,
        **CATBOOST[name],
    ).fit(X, y)
    pool, counts = catboost.Pool(X, y, cat_features=["d", "e"]), dict.fromkeys(X.columns, 0)
    for number in range(model.tree_count_):
        shown = model._get_tree_splits(number, pool)  # CatBoost's words for the splits of a tree
        if "grow_policy" in CATBOOST[name]:  # of its leaves, too
            steps = model._get_tree_step_nodes(number)
            shown = [split for split, (left, right) in zip(shown, steps, strict=True) if left or right]
        for split in shown:
            for column in X.columns:
                is_there = split.startswith((f"{column}, ", f"{column} ")) or f"{column}" in _braces(split)
                counts[column] += is_there
    found = number_of_splits(model, X)
    assert found.values.tolist() == list(counts.values())
    assert counts["d"] > 0
    shares = model.get_feature_importance(type="PredictionValuesChange") / 100
    assert gini_importance(model, X[X.columns[::-1]]).values == pytest.approx(shares[::-1])


def _braces(split: str) -> list[str]:
    """Columns of a statistic, as CatBoost writes it: {d, e}."""
    return split[1 : split.index("}")].replace(",", " ").split() if split.startswith("{") else []


def test_what_a_pipeline_makes_of_a_column_is_added_up():
    model = _encoded(ensemble.RandomForestRegressor(5, random_state=0)).fit(FRAME, WITH_CATEGORY)
    inner = model[-1].feature_importances_
    wanted = [inner[5], inner[4], inner[0], inner[1:4].sum()]
    assert _values("gini importance", model, FRAME) == pytest.approx(wanted)
    counts = _nodes(model[-1])
    assert _values("number of splits", model, FRAME).tolist() == [counts[5], counts[4], counts[0], counts[1:4].sum()]


def test_columns_that_a_pipeline_leaves_out_have_nothing():
    model = make_pipeline(SelectKBest(f_regression, k=2), ensemble.RandomForestRegressor(5, random_state=0)).fit(
        NUMBERS, RESPONSE
    )
    wanted = np.zeros(3)
    wanted[model[0].get_support()] = model[-1].feature_importances_
    assert _values("gini importance", model, NUMBERS) == pytest.approx(wanted)


# ---------------------------------------------------------------------------------------------------- network weights


def test_network_weights_of_scikit_learn():
    model = neural_network.MLPClassifier((5, 4), max_iter=3, random_state=0).fit(NUMBERS, THREE)
    first, second, third = map(np.abs, model.coefs_)
    assert _values("network weights", model, NUMBERS) == pytest.approx(first.sum(axis=1))
    wanted = (first @ second @ third).sum(axis=1)
    assert _values("network weights", model, NUMBERS, through="all layers") == pytest.approx(wanted)
    scaled = _values("network weights", model, NUMBERS, through="all layers", scaled=True)
    assert scaled == pytest.approx(wanted * NUMBERS.std(axis=0))


def test_network_weights_in_a_pipeline_and_a_search():
    model = _encoded(neural_network.MLPRegressor(hidden_layer_sizes=(5,), max_iter=3, random_state=0))
    search = GridSearchCV(model, {"mlpregressor__alpha": [0.1]}, cv=2).fit(FRAME, WITH_CATEGORY)
    inner = np.abs(search.best_estimator_[-1].coefs_[0]).sum(axis=1)
    wanted = [inner[5], inner[4], inner[0], inner[1:4].sum()]
    assert _values("network weights", search, FRAME) == pytest.approx(wanted)


@pytest.mark.needs("torch")
def test_network_weights_of_pytorch():
    import torch

    torch_weights = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    first, second = (np.abs(torch_weights[k].weight.detach().double().numpy()).T for k in (0, 2))
    for model in (torch_weights, cs.as_predictor(torch_weights, output="softmax")):
        assert _values("network weights", model, NUMBERS) == pytest.approx(first.sum(axis=1))
        found = _values("network weights", model, NUMBERS, through="all layers")
        assert found == pytest.approx((first @ second).sum(axis=1))


@pytest.mark.needs("torch")
def test_layers_that_rows_go_into_are_found_whatever_their_order():
    import torch

    class Network(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = torch.nn.Linear(3, 1)
            self.body = torch.nn.Linear(3, 3)
            self.aside = torch.nn.Linear(3, 2)

        def forward(self, rows):
            return self.head(torch.relu(self.body(rows))) + self.aside(rows).sum(dim=1, keepdim=True)

    model = Network().train()
    found = network_weights(model, NUMBERS)
    weights = [np.abs(layer.weight.detach().double().numpy()).sum(axis=0) for layer in (model.body, model.aside)]
    assert found.values == pytest.approx(sum(weights))
    assert found.model_rows == 2
    assert model.training
    assert not any(layer._forward_pre_hooks for layer in model.modules())
    with pytest.raises(cs.InputError, match="first layer"):
        network_weights(model, NUMBERS, through="all layers")
    with pytest.raises(cs.InputError, match="which has no network weights"):
        network_weights(torch.nn.Sequential(torch.nn.LayerNorm(3), torch.nn.Linear(3, 1)), NUMBERS)


def test_ways_through_a_network_are_checked():
    model = neural_network.MLPRegressor(hidden_layer_sizes=(2,), max_iter=2).fit(NUMBERS, RESPONSE)
    with pytest.raises(cs.InputError, match="'first layer' or 'all layers'"):
        network_weights(model, NUMBERS, through="last layer")


# ---------------------------------------------------------------------------------------------------- all of them


def _fitted(name: str, X: Any) -> Any:
    model = {
        "coefficient size": linear_model.Ridge(),
        "network weights": neural_network.MLPRegressor(hidden_layer_sizes=(3,), max_iter=3, random_state=0),
    }.get(name, ensemble.RandomForestRegressor(4, random_state=0))
    return model.fit(X, RESPONSE)


@pytest.mark.parametrize("name", READ_OFF)
def test_columns_go_by_name_in_the_order_of_x(name):
    X = FRAME[["a", "b", "c"]]
    model = _fitted(name, X)
    there, back = cs.importance(name, model, X), cs.importance(name, model, X[["c", "a", "b"]])
    assert back.feature_names == ("c", "a", "b")
    assert back.values.tolist() == there.values[[2, 0, 1]].tolist()
    assert cs.importance(name, cs.as_predictor(model), X).values.tolist() == there.values.tolist()


@pytest.mark.parametrize("name", READ_OFF)
def test_groups_have_the_sum_of_their_members(name):
    X = FRAME[["a", "b", "c"]]
    model = _fitted(name, X)
    alone, found = cs.importance(name, model, X), cs.importance(name, model, X, groups={"both": ["a", "c"]})
    assert found.feature_names == ("both", "b")
    assert found.values == pytest.approx([alone.values[0] + alone.values[2], alone.values[1]])
    assert found.groups == {"both": ["a", "c"], "b": ["b"]}


@pytest.mark.parametrize("name", READ_OFF)
def test_a_heuristic_says_that_it_is_one_and_can_be_kept(name, tmp_path):
    found = cs.importance(name, _fitted(name, NUMBERS), NUMBERS, RESPONSE, feature_names=["u", "v", "w"])
    assert found.measure == name
    assert found.feature_names == ("u", "v", "w")
    assert (found.constant, found.total, found.base) == (None, None, None)
    assert found.std_error.tolist() == [0.0, 0.0, 0.0]
    assert found.model_rows == 0
    assert found.stopped is cs.StopReason.EXACT
    assert "heuristic" in str(found)
    with pytest.raises(cs.ClarysageError):
        found.power(["u"])
    found.save(tmp_path / "found.json")
    assert json.loads((tmp_path / "found.json").read_text())["total"] is None
    assert cs.load(tmp_path / "found.json").values.tolist() == found.values.tolist()


@pytest.mark.parametrize("name", [*READ_OFF, "aggregated saliency"])
def test_a_model_without_such_a_thing_is_refused_by_name(name):
    neighbours = KNeighborsRegressor().fit(NUMBERS, RESPONSE)
    for model in (neighbours, make_pipeline(StandardScaler(), neighbours).fit(NUMBERS, RESPONSE), lambda X: X[:, 0]):
        with pytest.raises(cs.InputError, match=f"which has no {name}") as caught:
            cs.importance(name, model, NUMBERS)
        assert caught.value.argument == "model"
        assert "any model" in str(caught.value)


@pytest.mark.parametrize("name", READ_OFF)
def test_columns_that_are_mixed_are_refused(name):
    for mixer in (decomposition.PCA(2), FunctionTransformer(lambda X: X[:, ::-1])):
        model = make_pipeline(mixer, _fitted(name, NUMBERS)).fit(NUMBERS, RESPONSE)
        with pytest.raises(cs.InputError, match="keep columns apart") as caught:
            cs.importance(name, model, NUMBERS)
        assert caught.value.argument == "model"


@pytest.mark.parametrize("name", READ_OFF)
def test_another_number_of_columns_is_refused(name):
    with pytest.raises(cs.InputError, match="columns"):
        cs.importance(name, _fitted(name, NUMBERS), NUMBERS[:, :2])


def test_the_structure_of_a_predictor_is_read_where_nothing_else_is_known():
    """As of a library with an adapter of its own."""
    for name in ("coefficient size", "number of splits", "network weights"):
        f = cs.as_predictor(_fitted(name, NUMBERS))
        bare = cs.Predictor(f.function, "of another library", structure=f.structure)
        assert _values(name, bare, NUMBERS).tolist() == _values(name, f, NUMBERS).tolist()


@pytest.mark.needs("polars")
def test_tables_of_other_libraries():
    import polars

    model = make_pipeline(StandardScaler(), linear_model.Ridge()).fit(FRAME[["a", "b", "c"]], RESPONSE)
    wanted = _values("coefficient size", model, FRAME[["a", "b", "c"]], scaled=True)
    found = coefficient_size(model, polars.DataFrame({name: FRAME[name].to_numpy() for name in "cba"}), scaled=True)
    assert found.feature_names == ("c", "b", "a")
    assert found.values == pytest.approx(wanted[::-1])


def test_a_model_of_a_transformed_response_is_seen_through():
    inner = make_pipeline(StandardScaler(), linear_model.LinearRegression())
    model = compose.TransformedTargetRegressor(inner, func=np.arcsinh, inverse_func=np.sinh).fit(NUMBERS, RESPONSE)
    wanted = np.abs(model.regressor_[-1].coef_)
    assert _values("coefficient size", model, NUMBERS) == pytest.approx(wanted)


def test_steps_within_steps_are_followed_in_turn():
    second = compose.make_column_transformer((StandardScaler(), [1]))
    inner = compose.TransformedTargetRegressor(make_pipeline(second, linear_model.LinearRegression()))
    turned = compose.make_column_transformer(("passthrough", [2, 0]))
    model = make_pipeline(turned, inner).fit(NUMBERS, RESPONSE)
    wanted = [abs(model[-1].regressor_[-1].coef_.item()), 0.0, 0.0]  # the second of the third and the first
    assert _values("coefficient size", model, NUMBERS) == pytest.approx(wanted)
    assert _values("coefficient size", model, NUMBERS, scaled=True) == pytest.approx(wanted)


def test_unfitted_models_are_refused():
    with pytest.raises(cs.InputError, match="not fitted"):
        coefficient_size(linear_model.Ridge(), NUMBERS)


@pytest.mark.parametrize("measure", [coefficient_size, gini_importance, number_of_splits, network_weights])
def test_shared_options_that_have_no_use_are_taken_and_noted(measure):
    models = {
        coefficient_size: linear_model.Ridge(),
        network_weights: neural_network.MLPRegressor(hidden_layer_sizes=(2,), max_iter=20, random_state=0),
    }
    model = models.get(measure, tree.DecisionTreeRegressor()).fit(NUMBERS, RESPONSE)
    plain, noted = measure(model, NUMBERS), measure(model, NUMBERS, background=NUMBERS, tolerance=0.1)
    np.testing.assert_array_equal(plain.values, noted.values)
    said = [str(note) for note in noted.notes if note not in plain.notes]
    assert sorted(said) == [
        f"{option}= was not used: values are read off the model." for option in ("background", "tolerance")
    ]
