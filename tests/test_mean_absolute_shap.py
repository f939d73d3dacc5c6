"""Mean absolute SHAP: closed forms of linear models, enumeration, shap's own values, and what noise adds to sizes.

A sampled value may differ from the truth by as much as happens once in a million times, by its standard error and
degrees of freedom, which count what may be left of the bias of sizes.
"""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm as normal
from scipy.stats import t as student
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage._measures.mean_shap import mean_absolute_shap
from clarysage.errors import InputError, UnavailableError
from clarysage.estimators import estimate
from clarysage.estimators.absolute import Absolute, Sizes, absolute
from clarysage.games import pointwise
from oracle import shapley

N, D = 24, 4


def product(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.maximum(X[:, 2], X[:, 1])


def chances(X: np.ndarray) -> np.ndarray:
    p = 1 / (1 + np.exp(-2 * product(X)))
    return np.column_stack([1 - p, p])


def three(X: np.ndarray) -> np.ndarray:
    scores = np.exp(np.column_stack([product(X), X[:, 0], X[:, 2]]))
    return scores / scores.sum(axis=1, keepdims=True)


def enumerated(f, X: np.ndarray, background: np.ndarray, groups: list[list[int]] | None = None) -> np.ndarray:
    """SHAP values (N, p, k) from Eqs. 1 and 6, coalition by coalition."""
    groups = groups or [[j] for j in range(X.shape[1])]
    p, found = len(groups), []
    for x in X:
        v = {}
        for number in range(2**p):
            subset = frozenset(i for i in range(p) if number >> i & 1)
            rows = background.copy()
            for player in subset:
                rows[:, groups[player]] = x[groups[player]]
            v[subset] = f(rows).reshape(len(rows), -1).mean(axis=0)
        found.append(shapley(v, p))
    return np.array(found)


def is_near(ours: cs.Explanation, truth: np.ndarray) -> bool:
    allowed = student.isf(5e-7, ours.dof) * ours.std_error
    return bool((np.abs(ours.values - truth) <= allowed + 1e-12 * np.abs(truth).max()).all())


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), rng.normal(size=(11, D))


def test_a_linear_model_has_a_closed_form(data):
    """|beta_i| E|x_i - mean of b_i|, whatever features depend on each other; with weights, the weighted mean."""
    X, background = data
    X = X @ np.array([[1, 0.9, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, -2, 1]])
    beta = np.array([2.0, -1.0, 0.5, 0.0])
    model = LinearRegression().fit(X, X @ beta)
    sizes, weights = np.abs(beta * (X - background.mean(axis=0))), np.arange(1.0, N + 1)
    for f in (model, model.predict):
        ours = mean_absolute_shap(f, X, background=background)
        assert ours.draws == 0
        assert ours.values == pytest.approx(sizes.mean(axis=0), abs=1e-9)
        weighed = mean_absolute_shap(f, X, background=background, sample_weight=weights)
        assert weighed.values == pytest.approx(np.average(sizes, axis=0, weights=weights), abs=1e-9)
        assert ours.per_example == pytest.approx(beta * (X - background.mean(axis=0)), abs=1e-9)


def test_many_columns_of_a_linear_model_are_no_trouble(seed):
    rng = np.random.default_rng(seed)
    X, beta = rng.normal(size=(30, 60)), rng.normal(size=60)
    model = LinearRegression()
    model.coef_, model.intercept_, model.n_features_in_ = beta, 1.0, 60
    ours = mean_absolute_shap(model, X, background=X)
    assert ours.draws == 0
    assert ours.values == pytest.approx(np.abs(beta * (X - X.mean(axis=0))).mean(axis=0), abs=1e-9)


@pytest.mark.parametrize("f", [product, chances, three], ids=["regression", "binary", "multiclass"])
def test_values_agree_with_plain_enumeration(data, f, seed):
    """Two classes count once, several outputs are added up."""
    X, background = data
    truth = enumerated(f, X, background)
    truth = truth[:, :, 1:] if f is chances else truth
    sizes = np.abs(truth).sum(axis=2)
    exact = mean_absolute_shap(f, X, background=background, method="exact")
    assert exact.values == pytest.approx(sizes.mean(axis=0), abs=1e-12)
    assert np.abs(exact.per_example) == pytest.approx(sizes, abs=1e-12)
    assert (exact.per_example_error == 0).all()
    if f is not three:
        assert exact.per_example == pytest.approx(truth[:, :, 0], abs=1e-12)
    sampled = mean_absolute_shap(f, X, background=background, method="paired walks", tolerance=0.02, rng=seed)
    assert sampled.converged
    assert is_near(sampled, sizes.mean(axis=0))
    assert sampled.values[3] <= 1e-12, "a feature without effect moves nothing"


def test_it_is_a_heuristic_and_says_so(data):
    X, background = data
    ours = mean_absolute_shap(product, X, background=background)
    assert ours.constant is None
    assert ours.total is None
    assert ours.base is None
    assert "Mean absolute SHAP" in str(ours)
    assert "rows" in ours.targets
    with pytest.raises(UnavailableError):
        ours.power([0])


def test_intervals_about_rows_are_those_of_a_mean(data):
    X, background = data
    exact = mean_absolute_shap(product, X, background=background, method="exact")
    sizes = np.abs(exact.per_example)
    assert exact.targets["rows"].std_error == pytest.approx(sizes.std(axis=0, ddof=1) / np.sqrt(N))


def left_of(t: float) -> tuple[float, float, float]:
    """Of a number t with a normal error of 1 what noise adds to its size, what is left of that, and what was taken."""
    z = np.linspace(-10, 10, 4001)
    weights = normal.pdf(z) * (z[1] - z[0])
    found, _, less = absolute(t + z, np.ones_like(z))
    return weights @ np.abs(t + z) - abs(t), weights @ found - abs(t), weights @ less


@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, 2.0, 4.0])
def test_what_noise_adds_is_taken_off(t):
    """By sums over the normal distribution: it is what the folded distribution has, and little is left of it."""
    plain, left, taken = left_of(t)
    assert plain == pytest.approx(2 * normal.pdf(t) - 2 * t * normal.cdf(-t), abs=1e-4)
    assert left == pytest.approx(plain - taken, abs=1e-9)
    assert -0.08 <= left <= 0.6 * plain
    assert abs(left) <= 1.5 * taken, "what was taken off tells the size of what is left"


def test_nothing_is_left_of_what_noise_adds_to_numbers_all_over():
    """Numbers spread evenly about zero: what is left of some is what was taken too much of others."""
    plain, left, _ = np.array([left_of(t) for t in np.linspace(-8, 8, 321)]).sum(axis=0)
    assert abs(left) <= 1e-3 * plain


def test_sampled_sizes_are_less_biased_than_absolute_values(seed):
    rng = np.random.default_rng(7)  # always the same examples, of which many have small values
    X, background = rng.normal(size=(100, D)), rng.normal(size=(30, D))
    truth = mean_absolute_shap(product, X, background=background, method="exact").values
    runs = [
        mean_absolute_shap(product, X, background=background, method="paired walks", walks=3, rng=1000 * seed + run)
        for run in range(30)
    ]
    plain = np.array([np.abs(run.per_example).mean(axis=0).sum() for run in runs]) - truth.sum()
    ours = np.array([run.values.sum() for run in runs]) - truth.sum()
    sure = (np.abs(ours) - 0.6 * plain).std(ddof=1) / np.sqrt(len(runs))
    assert plain.mean() > 5 * plain.std(ddof=1) / np.sqrt(len(runs)), "the check could not fail"
    assert abs(ours.mean()) <= 0.6 * plain.mean() + 5 * sure
    assert np.mean([(np.abs(run.values - truth) <= 3 * run.std_error + 1e-12).all() for run in runs]) >= 0.8


def test_what_was_taken_off_counts_as_an_error(seed, monkeypatch):
    rng, n, p = np.random.default_rng(seed), 3, 2
    sizes = Sizes(*rng.random((3, n, p)), weights=np.full(n, 1 / n), share=1.0, dof=np.full(n, 9.0))
    game = cs.TabularGame(rng.normal(size=(n, 2**p)))
    run = estimate(game, cs.Exact())
    monkeypatch.setattr(Absolute, "_sizes", lambda self, local, game: sizes)
    inner = SimpleNamespace(name="sampled", read=lambda game, state: run, local_values=lambda game, state: None)
    found = Absolute(inner).read(game, None)
    of_sampling = sizes.variance.sum(axis=0) / n**2
    assert np.allclose(found.values[0], sizes.sizes.mean(axis=0), rtol=1e-12)
    assert np.allclose(found.std_error[0] ** 2, of_sampling + sizes.bias.mean(axis=0) ** 2, rtol=1e-12)


def test_errors_of_several_outputs_do_not_cancel(data, seed):
    """Two outputs that are one and the same move twice as far, and err twice as much."""
    X, background = data
    options = {"background": background, "method": "paired walks", "walks": 8, "rng": seed}
    one = mean_absolute_shap(product, X, **options)
    two = mean_absolute_shap(lambda rows: np.column_stack([product(rows)] * 2), X, **options)
    assert two.values == pytest.approx(2 * one.values, abs=1e-12)
    assert two.std_error == pytest.approx(2 * one.std_error, abs=1e-12)
    assert two.per_example_error == pytest.approx(2 * one.per_example_error, abs=1e-12)


@pytest.mark.parametrize("method", ["exact", "paired walks"])
@pytest.mark.parametrize("removal", ["marginal", "gaussian", "neighbours"])
def test_model_rows_are_those_that_the_model_was_asked_for(data, method, removal):
    X, background = data
    asked = []

    def f(rows):
        asked.append(len(rows))
        return product(rows)

    found = mean_absolute_shap(f, X, background=background, removal=removal, method=method, walks=2)
    assert found.model_rows == sum(asked)


@pytest.mark.parametrize("method", ["exact", "paired walks"])
def test_groups_play_as_one(data, method, seed):
    X, background = data
    groups = {"first": [0, 2], "rest": [1, 3]}
    truth = np.abs(enumerated(product, X, background, list(groups.values()))[:, :, 0]).mean(axis=0)
    ours = mean_absolute_shap(product, X, background=background, groups=groups, method=method, walks=32, rng=seed)
    assert ours.feature_names == ("first", "rest")
    assert is_near(ours, truth)


def test_examples_without_weight_are_left_out(data, seed):
    X, background = data
    weights = np.ones(N)
    weights[:5] = 0
    for method in ("exact", "paired walks"):
        ours = mean_absolute_shap(
            product, X, background=background, sample_weight=weights, method=method, tolerance=0.02, rng=seed
        )
        truth = np.abs(enumerated(product, X[5:], background)[:, :, 0]).mean(axis=0)
        assert is_near(ours, truth)
        assert np.isnan(ours.per_example[:5]).all()


def test_frames_with_categories(seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], size=80)),
            "size": rng.normal(size=80),
            "noise": rng.normal(size=80),
        }
    )
    y = np.where(frame["colour"] == "red", 2.0, 0.0) * frame["size"]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"),
        GradientBoostingRegressor(n_estimators=20, random_state=0),
    ).fit(frame, y)
    exact = mean_absolute_shap(model, frame[:15], background=frame[40:60])
    assert exact.draws == 0
    codes, colours = frame.assign(colour=frame["colour"].cat.codes).to_numpy(), frame["colour"].cat.categories

    def by_codes(rows):
        table = pd.DataFrame(rows, columns=frame.columns)
        return model.predict(table.assign(colour=colours[rows[:, 0].astype(int)]))

    truth = enumerated(by_codes, codes[:15], codes[40:60])[:, :, 0]
    assert exact.per_example == pytest.approx(truth, abs=1e-9)
    sampled = mean_absolute_shap(model, frame[:15], background=frame[40:60], method="paired walks", walks=32, rng=seed)
    assert is_near(sampled, np.abs(truth).mean(axis=0))


@pytest.mark.parametrize("removal", ["gaussian", "baseline"])
def test_other_removals_have_values_of_their_own(seed, removal):
    """Beside one row f_S is f of a hybrid row; given the kept features a sum has other values than its terms."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 3)) @ np.array([[1, 0.8, 0], [0, 1, 0], [0, 0, 1]])
    model = LinearRegression().fit(X, X @ [1.0, 0.0, -1.0])
    ours = mean_absolute_shap(model.predict, X[:20], background=X[60:], removal=removal, method="exact", rng=seed)
    gain = model.predict(X[:20]) - (ours.per_example.sum(axis=1))
    assert np.ptp(gain) <= 1e-9, "every example starts from the same mean"
    if removal == "gaussian":
        assert ours.values[1] > 0.05, "a feature that is not used tells of one that is"
    else:
        assert ours.values[1] <= 1e-9


@pytest.mark.parametrize("f", [product, three], ids=["regression", "multiclass"])
def test_the_answer_does_not_depend_on_the_number_of_jobs(data, f):
    X, background = data
    options = {"background": background, "method": "paired walks", "walks": 200, "rng": 3}
    runs = [mean_absolute_shap(f, X, n_jobs=jobs, **options) for jobs in (1, 2)]
    for name in ("values", "std_error", "per_example", "per_example_error"):
        assert getattr(runs[0], name).tobytes() == getattr(runs[1], name).tobytes()


def test_a_budget_within_a_pass_is_told(data, seed):
    X, background = data
    truth = np.abs(enumerated(product, X, background)[:, :, 0]).mean(axis=0)
    options = {"background": background, "method": "paired walks", "rng": seed}
    ends, two_passes = N + len(background), 2 * N * 2 * (D - 1) * 2
    for share in (0.3, 0.65):
        ours = mean_absolute_shap(product, X, budget=ends + int(share * two_passes), **options)
        unseen, unsure = (np.isnan(one).all(axis=1).sum() for one in (ours.per_example, ours.per_example_error))
        assert unseen == max(0, N - ours.draws)
        assert unsure == min(N, 2 * N - ours.draws)
        assert unsure > 0
        assert f"{unseen} were not sampled and have no values; {unsure - unseen} were" in ours.notes[-1]
        assert (ours.std_error[:3] > 0).all()
        assert is_near(ours, truth)


def test_a_model_that_nothing_moves(data):
    X, background = data
    for method in ("exact", "paired walks"):
        ours = mean_absolute_shap(lambda rows: np.full(len(rows), 3.0), X, background=background, method=method)
        assert (ours.values == 0).all()
        assert ours.per_example.shape == (N, D)


def test_which_outputs_are_played_for(data):
    X, background = data
    for f, count in ((product, 1), (chances, 1), (three, 3), (lambda rows: rows[:, :2], 2)):
        v = pointwise(cs.Marginal(background).restrict(cs.as_predictor(f), X), X)
        assert len(v.losses) == count
        outputs = f(X).reshape(N, -1)[:, -count:]
        assert v.ends[1] == pytest.approx(outputs)


def test_logistic_models_are_explained_as_probabilities(data, seed):
    X, background = data
    model = LogisticRegression().fit(X, product(X) > np.median(product(X)))
    truth = enumerated(lambda rows: model.predict_proba(rows)[:, 1], X, background)[:, :, 0]
    ours = mean_absolute_shap(model, X, background=background)
    assert is_near(ours, np.abs(truth).mean(axis=0))


def test_boosted_classifiers_are_explained_as_probabilities(data, seed):
    """With or without shap, whose own values for probabilities are rescaled log-odds."""
    X, background = data
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, product(X) > np.median(product(X)))
    truth = enumerated(lambda rows: model.predict_proba(rows)[:, 1], X, background)[:, :, 0]
    for backend in ("auto", "own"):
        ours = mean_absolute_shap(model, X, background=background, backend=backend)
        assert ours.per_example == pytest.approx(truth, abs=1e-9)


TREES = {
    "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": RandomForestRegressor(8, random_state=0),
    "extra": ExtraTreesRegressor(5, max_depth=5, random_state=0),
    "boosted": GradientBoostingRegressor(n_estimators=15, random_state=0),
}


@pytest.mark.needs("shap")
@pytest.mark.parametrize("name", TREES)
def test_regression_trees_agree_with_shap(data, name, seed):
    X, background = data
    model = TREES[name].fit(X, product(X))
    by_shap, own = (mean_absolute_shap(model, X, background=background, backend=one) for one in ("shap", "own"))
    assert by_shap.draws == own.draws == 0
    assert by_shap.per_example == pytest.approx(own.per_example, abs=1e-5)
    assert by_shap.values == pytest.approx(own.values, abs=1e-5)
    assert by_shap.targets["rows"].std_error == pytest.approx(own.targets["rows"].std_error, abs=1e-5)
    assert "shap" in " ".join(map(str, by_shap.notes))
    assert mean_absolute_shap(model, X, background=background).notes == by_shap.notes, "it is the default"
    walked = mean_absolute_shap(model, X, background=background, method="paired walks", walks=64, rng=seed)
    assert "shap" not in " ".join(map(str, walked.notes))
    assert is_near(walked, by_shap.values)


@pytest.mark.needs("shap")
@pytest.mark.parametrize("classes", [2, 3])
def test_forests_of_class_frequencies_agree_with_shap(data, classes, seed):
    import shap

    X, background = data
    labels = np.argsort(np.argsort(product(X))) * classes // N
    model = RandomForestClassifier(8, random_state=0).fit(X, labels)
    raw = shap.TreeExplainer(model, background, feature_perturbation="interventional").shap_values(X)  # (N, p, k)
    once = raw[:, :, 1:] if classes == 2 else raw
    for backend in ("shap", "own"):
        ours = mean_absolute_shap(model, X, background=background, backend=backend)
        assert ours.values == pytest.approx(np.abs(once).sum(axis=2).mean(axis=0), abs=1e-5)
    if classes == 2:
        assert ours.per_example == pytest.approx(raw[:, :, 1], abs=1e-5)
    walked = mean_absolute_shap(model, X, background=background, method="paired walks", walks=64, rng=seed)
    assert is_near(walked, ours.values)


@pytest.mark.needs("shap")
def test_linear_models_agree_with_shap(data):
    import shap

    X, background = data
    model = LinearRegression().fit(X, product(X))
    theirs = shap.LinearExplainer(model, shap.maskers.Independent(background, max_samples=100)).shap_values(X)
    assert mean_absolute_shap(model, X, background=background).per_example == pytest.approx(theirs, abs=1e-9)


@pytest.mark.needs("shap")
def test_a_background_is_not_thinned_by_shap(seed):
    """By itself shap takes a hundred rows of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(250, 3))
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 1])
    by_shap, own = (mean_absolute_shap(model, X[:10], background=X, backend=one) for one in ("shap", "own"))
    assert by_shap.per_example == pytest.approx(own.per_example, abs=1e-5)


@pytest.mark.needs("shap", "xgboost")
def test_boosted_trees_of_others_agree_with_shap(data):
    import xgboost

    X, background = data
    model = xgboost.XGBRegressor(n_estimators=10, max_depth=3).fit(X, product(X))
    by_shap, own = (mean_absolute_shap(model, X, background=background, backend=one) for one in ("shap", "own"))
    assert by_shap.per_example == pytest.approx(own.per_example, abs=1e-5)


@pytest.mark.needs("shap")
def test_shap_is_refused_where_it_has_no_exact_values(data):
    X, background = data
    forest = RandomForestRegressor(3, random_state=0).fit(X, product(X))
    boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, product(X) > np.median(product(X)))
    for model, options, why in (
        (forest, {"groups": {"both": [0, 1]}}, "groups"),
        (cs.as_predictor(forest), {}, "Predictor"),
        (boosted, {}, "log-odds"),
        (product, {}, "not"),
        (forest, {"removal": "gaussian"}, "marginal"),
    ):
        with pytest.raises(InputError, match=f"^backend.*{why}"):
            mean_absolute_shap(model, X, background=background, backend="shap", **options)


@pytest.mark.needs("shap")
@pytest.mark.parametrize("spelling", ["Auto", " AUTO "])
def test_auto_in_any_spelling_leaves_shap_the_values_that_it_has(spelling):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    plain, spelled = (mean_absolute_shap(model, X, method=method, rng=0) for method in ("auto", spelling))
    assert any("shap" in str(note) for note in plain.notes)
    assert spelled.notes == plain.notes
    np.testing.assert_array_equal(spelled.values, plain.values)


@pytest.mark.needs("shap")
def test_shap_is_not_waited_for(data, monkeypatch):
    file = import_module("clarysage._measures.mean_shap")

    X, background = data
    model = RandomForestRegressor(3, random_state=0).fit(X, product(X))
    for most, is_asked in ((3 * N * len(background), True), (3 * N * len(background) - 1, False)):
        monkeypatch.setattr(file, "AFFORDABLE_VISITS", most)
        assert ("shap" in " ".join(map(str, mean_absolute_shap(model, X, background=background).notes))) == is_asked


def test_without_shap_values_are_our_own(data, monkeypatch):
    from clarysage._measures import shap_package

    monkeypatch.setattr(shap_package, "find_spec", lambda name: None)
    X, background = data
    model = RandomForestRegressor(3, random_state=0).fit(X, product(X))
    assert mean_absolute_shap(model, X, background=background).draws == 0
    with pytest.raises(InputError, match="not installed"):
        mean_absolute_shap(model, X, background=background, backend="shap")


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"backend": "lime"}, "backend"),
        ({"backend": None}, "backend"),
        ({"method": "kernel"}, "method"),
        ({"walks": 1}, "walks"),
        ({"tolerance": 0}, "tolerance"),
        ({"groups": {"a": [9]}}, "groups"),
        ({"sample_weight": -np.ones(N)}, "sample_weight"),
    ],
)
def test_bad_input_is_named(data, options, argument):
    X, background = data
    with pytest.raises(InputError, match=f"^{argument}"):
        mean_absolute_shap(product, X, background=background, **options)


def test_it_is_found_by_name(data):
    X, background = data
    ours = cs.importance("mean absolute shap", product, X, background=background)
    assert ours.measure == "mean absolute shap"
    assert ours.per_example.shape == (N, D)
