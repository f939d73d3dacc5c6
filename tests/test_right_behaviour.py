"""Right behaviour where the reference implementation is known to go wrong, one test for each of its bugs."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import clarysage as cs
import oracle
from clarysage import StopReason
from clarysage.estimators import estimate

BETA = np.array([3.0, 2.0, 1.0])


@pytest.fixture
def data(seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    return X, X @ BETA


@pytest.fixture
def labelled(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    return X, (X @ BETA + rng.logistic(size=80) > 0).astype(int)


def linear(Z):
    return Z @ BETA


def test_zero_one_loss_can_be_asked_for_by_name_and_a_loss_can_be_a_callable(labelled):
    X, y = labelled
    model = LogisticRegression().fit(X, y)
    found = cs.sage(model, X, y, loss="zero one", method="exact")
    accuracy = model.score(X, y)
    assert found.base - found.total == pytest.approx(1 - accuracy)
    own = cs.sage(model, X, y, loss=lambda truth, p: (p.argmax(axis=1) != truth) * 1.0, method="exact")
    assert np.allclose(own.values, found.values)


def test_a_baseline_of_shape_1_by_d_is_accepted(data):
    X, y = data
    row = X.mean(axis=0, keepdims=True)
    truth = oracle.sage(linear, oracle.squared_error, X, y, row)
    for values in (row, row[0], row[0].tolist(), pd.DataFrame(row)):
        assert np.allclose(cs.sage(linear, X, y, removal=cs.Baseline(values), method="exact").values, truth)


def test_workers_draw_different_permutations(seed):
    """Means of m chunks must vary as 1/m: chunks that repeat each other would not."""
    game = cs.TabularGame(np.random.default_rng(seed).normal(size=(5, 16)), rows_per_payoff=1000)
    chunk = cs.Permutation().chunk(game)
    result = estimate(game, cs.Permutation(), stop=[cs.Budget(cs.Permutation().rows(game, 64 * chunk))], seed=seed)
    truth = cs.estimators.estimate(game, cs.Exact()).values[0]
    assert np.all(np.abs(result.values[0] - truth) <= 6 * result.std_error[0] + 1e-12)
    assert result.draws == 64 * chunk


def test_the_kernel_interval_of_a_null_game_is_no_wider_than_its_spread(seed):
    """With a plus in place of the minus the reported error of a game without signal is 90 times too large."""
    rng = np.random.default_rng(seed)
    payoffs = np.repeat(rng.normal(size=(200, 1)) * 10, 16, axis=1) + 0.01 * rng.normal(size=(200, 16))
    game = cs.TabularGame(payoffs)
    runs = [
        estimate(game, cs.Kernel(), stop=[cs.Budget(cs.Kernel().rows(game, 300))], seed=number) for number in range(200)
    ]
    spread = np.std([run.values[0] for run in runs], axis=0, ddof=1)
    reported = np.sqrt(np.mean([run.std_error[0] ** 2 for run in runs], axis=0))
    assert np.all(np.abs(reported / spread - 1) <= 5 / np.sqrt(400))


@pytest.mark.parametrize(
    "names", [(-1, 1), (1, 2), (0, 2), ("no", "yes"), (False, True), (0.0, 1.0), (np.int8(3), np.int8(7))], ids=str
)
def test_labels_of_any_kind_give_the_values_of_labels_0_and_1(labelled, names):
    X, y = labelled
    truth = cs.sage(LogisticRegression().fit(X, y), X, y, method="exact").values
    labels = np.array(names)[y]
    found = cs.sage(LogisticRegression().fit(X, labels), X, labels, method="exact")
    assert found.loss == "cross entropy"
    assert np.allclose(found.values, truth, atol=1e-8)
    assert found.total > 0


def test_a_series_with_a_shuffled_index_goes_by_position_or_is_refused(data):
    X, y = data
    shuffled = pd.Series(y, index=np.random.default_rng(0).permutation(60))
    truth = cs.sage(linear, X, y, method="exact").values
    assert np.allclose(cs.sage(linear, X, shuffled, method="exact").values, truth)
    frame = pd.DataFrame(X, columns=list("abc"))
    with pytest.raises(cs.InputError, match=r"y: got an index that disagrees with the index of X.*\.loc\[X\.index\]"):
        cs.sage(linear, frame, shuffled, method="exact")


def test_a_data_frame_is_accepted_and_unequal_lengths_are_noticed(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    found = cs.sage(LinearRegression().fit(frame, y), frame, y, method="exact")
    assert found.feature_names == ("a", "b", "c")
    assert np.allclose(found.values, cs.sage(linear, X, y, method="exact").values)
    with pytest.raises(cs.InputError, match="y: got 59 responses; wanted 60"):
        cs.sage(linear, X, y[:-1])


def test_integer_rows_do_not_cut_a_background_of_fractions():
    X = np.array([[4, 1], [5, 0], [6, 3], [1, 1]])
    background = np.array([[0.5, 0.25], [4.6, 0.75]])

    def f(Z):
        return Z[:, 0] * Z[:, 1]

    truth = oracle.sage(f, oracle.squared_error, X.astype(float), np.arange(4.0), background)
    assert np.allclose(cs.sage(f, X, np.arange(4.0), background=background, method="exact").values, truth)


def test_pipelines_searches_and_classifiers_without_probabilities_are_accepted(labelled):
    X, y = labelled
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    search = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2).fit(X, y)
    one, two = (cs.sage(model, X, y, method="exact") for model in (pipeline, search))
    assert np.allclose(one.values, two.values)
    votes = cs.sage(LinearSVC().fit(X, y), X, y, method="exact")
    assert votes.loss == "zero one"


@pytest.mark.needs("xgboost")
def test_an_xgboost_booster_trained_with_names_is_accepted(data):
    import xgboost

    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    booster = xgboost.train({"max_depth": 2}, xgboost.DMatrix(frame, y), 5)
    found = cs.sage(booster, frame, y, method="exact")
    truth = cs.sage(lambda Z: booster.predict(xgboost.DMatrix(Z)), frame, y, method="exact")
    assert np.allclose(found.values, truth.values)
    assert np.allclose(cs.sage(booster, X, y, method="exact").values, truth.values)


@pytest.mark.needs("lightgbm")
def test_lightgbm_with_categories_is_accepted(data):
    import lightgbm

    X, y = data
    frame = pd.DataFrame({"kind": pd.Categorical(np.where(X[:, 0] > 0, "up", "down")), "b": X[:, 1]})
    model = lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=2, verbose=-1).fit(frame, y)
    found = cs.sage(model, frame, y, method="exact")
    assert np.allclose(found.values, cs.sage(model.predict, frame, y, method="exact").values)
    assert found.values[0] > 0


def test_a_budget_of_ten_walks_makes_ten_walks(data):
    X, y = data
    found = cs.sage(linear, X, y, background=X[:5], method="permutation", tolerance=None, budget=60 + 5 + 10 * 2 * 5)
    assert found.draws == 10
    assert found.model_rows == 165


def test_float32_probabilities_with_1000_background_rows_are_averaged_in_float64(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(40, 3)), rng.normal(size=(1000, 3))

    def f(Z):
        p = (1 / (1 + np.exp(-(Z @ BETA)))).astype(np.float32)
        return np.column_stack([1 - p, p])

    y = rng.integers(2, size=40)
    truth = oracle.sage(lambda Z: f(Z).astype(np.float64), oracle.cross_entropy, X, y, background)
    assert np.allclose(cs.sage(f, X, y, background=background, method="exact").values, truth, atol=1e-9)


def test_a_float32_probability_of_one_for_the_wrong_class_costs_a_finite_loss():
    X = np.array([[0.0], [1.0], [1.0]])
    found = cs.sage(lambda Z: np.column_stack([1 - Z, Z]).astype(np.float32), X, [0, 1, 0], loss="cross entropy")
    assert np.isfinite(found.values).all()
    assert found.base - found.total == pytest.approx(-np.log(1e-12) / 3)


def test_columns_in_no_group_stay_players_of_their_own(data):
    X, y = data
    found = cs.sage(linear, X, y, groups={"pair": [0, 1]}, method="exact")
    assert found.feature_names == ("pair", "x2")
    assert found.values.sum() == pytest.approx(cs.sage(linear, X, y, method="exact").total)


@pytest.mark.parametrize("method", ["exact", "permutation", "kernel"])
def test_one_feature_gets_everything_at_once(data, method):
    X, y = data
    found = cs.sage(lambda Z: Z[:, 0], X[:, :1], y, method=method)
    assert found.values[0] == pytest.approx(found.total)
    assert found.converged
    grouped = cs.sage(linear, X, y, groups={"all": [0, 1, 2]}, method=method)
    assert grouped.values[0] == pytest.approx(grouped.total)


@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_a_perfect_model_of_two_features_ends(method, seed):
    X = np.random.default_rng(seed).normal(size=(50, 2))
    assert cs.sage(lambda Z: Z.sum(axis=1), X, X.sum(axis=1), method=method, rng=seed).converged


@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_a_prediction_of_nan_is_an_error_and_not_an_endless_loop(data, method):
    X, y = data
    with pytest.raises(cs.ModelError, match="NaN or infinity"):
        cs.sage(lambda Z: np.where(Z[:, 0] > X[:, 0].max() - 1e-9, np.nan, Z[:, 0]), X, y, method=method)


def test_full_and_empty_coalitions_are_not_evaluated_again(data):
    X, y = data
    rows = []

    def f(Z):
        rows.append(len(Z))
        return linear(Z)

    background = X[:10]
    found = cs.sage(
        f, X, y, background=background, method="permutation", tolerance=None, budget=70 + 100 * 20, loss="squared error"
    )
    assert found.draws == 100
    assert sum(rows) == 60 + 10 + 100 * 2 * 10


def test_an_interval_says_what_it_is_about(data):
    X, y = data
    found = cs.sage(linear, X, y, method="permutation", rng=0)
    assert "this data and this background" in str(found)
    with pytest.raises(cs.InputError, match="about"):
        found.interval(about="population")


def test_sparse_rows_are_filled_in_and_images_get_advice(data):
    from scipy.sparse import csr_matrix

    X, y = data
    truth = cs.sage(linear, X, y, method="exact").values
    assert np.allclose(cs.sage(linear, csr_matrix(X), y, method="exact").values, truth)
    with pytest.raises(cs.InputError, match="X: got an array of 3 dimensions"):
        cs.sage(linear, X.reshape(20, 3, 3), y)


def test_nothing_is_printed_and_nobody_is_warned(data, capsys):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = pd.DataFrame(X, columns=["a", "b", "c"])
        for fitted, shown in ((X, frame), (frame, X)):
            cs.sage(LinearRegression().fit(fitted, y), shown, y, method="permutation", rng=0)
    assert capsys.readouterr() == ("", "")


def test_a_constant_model_stops_for_every_method(data):
    X, y = data
    for method in ("exact", "permutation", "kernel"):
        found = cs.sage(lambda Z: np.full(len(Z), 0.3), X, y, method=method)
        assert found.stopped is (StopReason.EXACT if method == "exact" else StopReason.NO_EFFECT)
        assert np.array_equal(found.values, np.zeros(3))


def test_what_is_presumed_of_classes_is_said_aloud(labelled):
    X, y = labelled

    def f(Z):
        p = 1 / (1 + np.exp(-(Z @ BETA)))
        return np.column_stack([1 - p, p])

    named = cs.sage(f, X, np.array(["no", "yes"])[y], method="exact")
    assert any("assumed to be of the classes 'no', 'yes', in this order" in note for note in named.notes)
    numbered = cs.sage(lambda Z: np.column_stack([np.full(len(Z), 0.5), f(Z) / 2]), X, 1 + y, method="exact")
    assert any("assumed to be of the classes 0, 1, 2" in note for note in numbered.notes)
    known = cs.as_predictor(f, classes=["no", "yes"])
    for found in (cs.sage(f, X, y, method="exact"), cs.sage(known, X, np.array(["no", "yes"])[y], method="exact")):
        assert not any("presumed" in note for note in found.notes)
        assert np.allclose(found.values, named.values)


def test_rows_are_handed_to_a_callable_as_x_has_them_whatever_the_background_is(data):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    truth = cs.sage(linear, X, y, background=X[:9], method="exact")
    found = cs.sage(lambda Z: Z[:, 0] * 3 + Z[:, 1] * 2 + Z[:, 2], X, y, background=frame[:9], method="exact")
    assert np.allclose(found.values, truth.values)
    assert found.feature_names == ("a", "b", "c")


def test_a_model_whose_outputs_change_in_number_is_refused(data):
    X, y = data
    with pytest.raises(cs.ModelError, match="2 outputs per row for some rows and 1 for others"):
        cs.sage(lambda Z: np.outer(Z[:, 0], np.ones(1 + (len(Z) > 60))), X, y, background=X[:30], method="exact")


def test_masked_outputs_and_durations_are_refused(data):
    X, y = data
    with pytest.raises(cs.ModelError, match="masked outputs"):
        cs.sage(lambda Z: np.ma.masked_array(Z[:, 0], mask=Z[:, 0] > 0), X, y)
    with pytest.raises(cs.ModelError, match="not numbers"):
        cs.sage(lambda Z: (100 * Z[:, 0]).astype("m8[s]"), X, y)


def test_weights_in_two_columns_and_an_empty_list_of_losses_are_refused(data):
    X, y = data
    with pytest.raises(cs.InputError, match=r"sample_weight: got shape \(30, 2\); wanted one weight for each row"):
        cs.sage(linear, X, y, sample_weight=np.ones((30, 2)))
    with pytest.raises(cs.InputError, match="loss: got an empty list"):
        cs.sage(linear, X, y, loss=[])


def test_groups_of_one_keep_their_names(data):
    X, y = data
    found = cs.sage(linear, X, y, groups={"first": ["x0"]}, method="exact")
    assert found.groups == {"first": ["x0"], "x1": ["x1"], "x2": ["x2"]}


def test_very_small_and_very_large_values_can_be_read(data):
    X, y = data
    for scale in (1e-12, 1e30):
        text = str(cs.sage(lambda Z, scale=scale: scale * linear(Z), X, scale * y, method="exact"))
        assert "e-2" in text or "e+6" in text
        assert max(map(len, text.splitlines())) < 200


@pytest.mark.needs("sage")
def test_values_agree_with_the_reference_where_it_is_right(data, seed):
    import sage

    X, y = data
    model = LinearRegression().fit(X[:, [2, 0, 1]], y)
    shown = X[:, [2, 0, 1]]
    theirs = sage.PermutationEstimator(sage.MarginalImputer(model, shown), "mse", random_state=seed)(
        shown, y, batch_size=512, detect_convergence=False, n_permutations=4096, bar=False
    )
    ours = cs.sage(model, shown, y, background=shown, method="exact")
    assert np.all(np.abs(ours.values - theirs.values) <= 6 * theirs.std)
