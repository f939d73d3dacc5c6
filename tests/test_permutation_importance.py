"""The permutation importance: closed forms, enumeration, scikit-learn, intervals, and the ways it is asked for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import clarysage as cs
from clarysage.errors import InputError
from clarysage.estimators import Permutation, Repeats, estimate
from clarysage.estimators.permutation_importance import AfterRepeats, influence_of_rows
from clarysage.games import PredictivePower, SingleDraws
from clarysage.inference.estimate import StopReason
from clarysage.inference.intervals import interval
from clarysage.protocols import SplitsBySurrogate, ability
from clarysage.removal import Marginal
from tests.lab.coverage import binomial_room, covers

BETA = np.array([2.0, 1.0, 0.5, 0.0])
FAR = 5.0  # standard errors beyond which chance does not go


def linear(X):
    return X @ BETA


def problem(seed, n=300, correlation=0.0, noise=1.0):
    rng = np.random.default_rng([seed, 11])
    X = rng.normal(size=(n, 4))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X, linear(X) + noise * rng.normal(size=n)


def enumerated(f, loss, X, y, B, mass=None, weights=None, groups=None):
    """phi_i by all pairs of an example and a background row."""
    mass = np.full(len(B), 1 / len(B)) if mass is None else mass / mass.sum()
    weights = np.full(len(X), 1 / len(X)) if weights is None else weights / weights.sum()
    found = []
    for columns in groups or [[j] for j in range(X.shape[1])]:
        lost = 0.0
        for b, share in zip(B, mass, strict=True):
            rows = X.copy()
            rows[:, columns] = b[columns]
            lost += share * (weights @ (loss(y, f(rows)) - loss(y, f(X))))
        found.append(lost)
    return np.array(found)


def square(y, prediction):
    return (y - prediction) ** 2


@pytest.mark.parametrize("others", [0, 5])
def test_an_own_row_among_the_background_is_made_up_for_in_the_population(others, seed):
    """One row of m is the example itself and changes nothing: other rows change it m / (m - 1) times as much."""
    X, y = problem(seed, n=12)
    background = np.vstack([X, problem(seed + 1, n=others)[0]]) if others else X
    m = len(background)
    found = cs.permutation_importance(linear, X, y, background=background, rng=seed)
    np.testing.assert_allclose(found.target("population").values, found.values * m / (m - 1), rtol=1e-9)
    fresh = cs.permutation_importance(linear, X, y, background=background + 1e-3, rng=seed)
    np.testing.assert_allclose(fresh.target("population").values, fresh.values, rtol=1e-12)


def near(explanation, wanted, about="data"):
    found = explanation.target(about)
    error = np.maximum(found.std_error, 1e-12)
    assert (np.abs(found.values - wanted) <= FAR * error).all(), (found.values, wanted, error)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_linear_models_lose_twice_the_variance_that_a_feature_brings(seed, correlation):
    X, y = problem(seed, n=2000, correlation=correlation)
    found = cs.permutation_importance(linear, X, y, rng=seed)
    near(found, 2 * BETA**2, "population")  # whatever the correlation


@pytest.mark.parametrize("overlap", [False, True])
def test_values_are_those_of_all_pairs_of_rows(seed, overlap):
    X, y = problem(seed, n=40)
    B = X[:25] if overlap else problem(seed + 1, n=25)[0]
    f = lambda rows: np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2] ** 2  # noqa: E731
    found = cs.permutation_importance(f, X, y, background=B, repeats=400, rng=seed)
    near(found, enumerated(f, square, X, y, B))
    assert found.values[3] == found.std_error[3] == 0
    if overlap:  # of other rows, an example's own left out
        apart = []
        for column in range(4):
            rows = np.repeat(X[:, None], 25, axis=1)
            rows[:, :, column] = B[:, column]
            lost = square(y[:, None], f(rows.reshape(-1, 4)).reshape(40, 25)) - square(y, f(X))[:, None]
            lost[np.arange(25), np.arange(25)] = np.nan
            apart.append(np.nanmean(lost, axis=1).mean())
        off = found.targets["population"].values - apart
        assert (np.abs(off) <= FAR * np.maximum(found.std_error, 1e-12) * 25 / 24).all()


def test_a_permutation_importance_of_an_additive_model_is_twice_its_sage_values(seed):
    # with independent features and errors that know nothing of them, under squared error:
    # E[(g(X') - g(X) + e)^2] - E[e^2] = 2 Var g, where SAGE has Var g
    rng = np.random.default_rng([seed, 3])
    X = rng.normal(size=(3000, 3))
    f = lambda rows: np.exp(rows[:, 0] / 2) + np.abs(rows[:, 1]) + 0.5 * rows[:, 2]  # noqa: E731
    y = f(X) + rng.normal(size=len(X))
    found = cs.permutation_importance(f, X, y, rng=seed)
    sage = cs.sage(f, X, y, background=X[:1000], rng=seed)
    whole = np.hypot(found.targets["population"].std_error, 2 * sage.targets["population"].std_error)
    off = found.targets["population"].values - 2 * sage.targets["population"].values
    assert (np.abs(off) <= FAR * whole).all()
    wanted = 2 * np.array([np.exp(0.5) - np.exp(0.25), 1 - 2 / np.pi, 0.25])
    near(found, wanted, "population")


def test_the_expectation_is_outside_the_loss(seed):
    # the same coalitions, by mean predictions: half as much
    X, y = problem(seed, n=400)
    B = problem(seed + 1, n=300)[0]
    f_S = Marginal(B).restrict(linear, X)
    v, single = (game.of(f_S, "squared error", X, y) for game in (PredictivePower, SingleDraws))
    full, rng = np.ones((len(X), 4), dtype=bool), np.random.default_rng(seed)
    full[:, 0] = False
    inside = v.payoff(np.arange(len(X)), full, rng).mean()
    outside = np.array([single.payoff(np.arange(len(X)), full, rng).mean() for _ in range(200)])
    gap = BETA[0] ** 2 * B[:, 0].var()
    assert abs(inside - outside.mean() - gap) <= FAR * outside.std() / np.sqrt(200)


def test_games_of_single_draws_agree_with_enumeration_along_walks(seed):
    X, y = problem(seed, n=5)
    v = SingleDraws.of(Marginal(X[:3]).restrict(linear, X), "squared error", X, y)
    orders = np.tile([2, 0, 1, 3], (5 * 2000, 1))
    walks = v.walk(np.repeat(np.arange(5), 2000), orders, np.random.default_rng(seed)).reshape(5, 2000, 5)
    kept = [2, 0]
    wanted = []
    for x, response in zip(X, y, strict=True):
        rows = X[:3].copy()
        rows[:, kept] = x[kept]
        wanted.append(-square(response, linear(rows)).mean())
    error = walks[:, :, 2].std(axis=1) / np.sqrt(2000)
    assert (np.abs(walks[:, :, 2].mean(axis=1) - wanted) <= FAR * error + 1e-12).all()
    np.testing.assert_array_equal(walks[:, 0, [0, 4]], np.column_stack([end[:, 0] for end in v.ends]))
    np.testing.assert_allclose(walks[:, :, 3], walks[:, :, 4])  # the last does nothing
    assert ability(v, SplitsBySurrogate) is None


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_scikit_learn_agrees(seed, kind):
    X, y = problem(seed, n=400)
    if kind == "regression":
        model, loss, scoring = LinearRegression(), "squared error", "neg_mean_squared_error"
    else:
        model, loss, scoring, y = LogisticRegression(), "cross entropy", "neg_log_loss", y > 0
    model.fit(X, y)
    ours = cs.permutation_importance(model, X, y, loss=loss, repeats=60, rng=seed)
    theirs = permutation_importance(model, X, y, scoring=scoring, n_repeats=60, random_state=seed)
    error = np.hypot(ours.std_error, theirs.importances_std / np.sqrt(60))
    assert (np.abs(ours.values - theirs.importances_mean) <= FAR * error).all()
    # rows are shared out over examples as a permutation does: the errors are no larger
    assert ours.std_error.sum() <= 1.5 * (theirs.importances_std / np.sqrt(60)).sum()


def test_u_of_everything_is_what_the_model_saves_over_the_best_constant(seed):
    X, y = problem(seed)
    shifted = lambda rows: linear(rows) + 1  # noqa: E731
    squared, absolute = cs.permutation_importance(shifted, X, y, loss=["squared error", "absolute error"], rng=seed)
    for found, base, loss in (
        (squared, y.var(), square(y, shifted(X)).mean()),
        (absolute, np.abs(y - np.median(y)).mean(), np.abs(y - shifted(X)).mean()),
    ):
        assert found.base == pytest.approx(base)
        assert found.total == pytest.approx(base - loss)
        assert found.power(range(4)) == pytest.approx(found.total)
        assert found.constant == pytest.approx(found.total - found.values.sum())
        assert found.power([1, 2, 3]) == pytest.approx(found.total - found.values[0])
    assert squared.loss == "squared error"
    assert absolute.loss == "absolute error"
    alone = cs.permutation_importance(shifted, X, y, loss="absolute error", rng=seed, repeats=squared.draws // len(X))
    np.testing.assert_array_equal(alone.values, absolute.values)  # one pass over the same draws
    assert not any("correction" in note for note in absolute.notes)


def test_groups_are_drawn_together(seed):
    X, y = problem(seed, n=60)
    B = problem(seed + 1, n=30)[0]
    f = lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2]  # noqa: E731
    found = cs.permutation_importance(f, X, y, background=B, groups={"both": [0, 1]}, repeats=300, rng=seed)
    assert found.feature_names == ("both", "x2", "x3")
    near(found, enumerated(f, square, X, y, B, groups=[[0, 1], [2], [3]]))


def test_one_player_has_it_all_and_everything_is_drawn(seed):
    X, y = problem(seed, n=60)
    B = problem(seed + 1, n=30)[0]
    found = cs.permutation_importance(linear, X, y, background=B, groups={"all": [0, 1, 2, 3]}, repeats=300, rng=seed)
    near(found, enumerated(linear, square, X, y, B, groups=[[0, 1, 2, 3]]))
    assert found.power(["all"]) == pytest.approx(found.total)


def test_whole_weights_are_rows_repeated(seed):
    X, y = problem(seed, n=50)
    B = problem(seed + 1, n=30)[0]
    often = np.random.default_rng(seed).integers(0, 4, size=50)
    weighed = cs.permutation_importance(linear, X, y, background=B, sample_weight=often, repeats=200, rng=seed)
    repeated = cs.permutation_importance(
        linear, np.repeat(X, often, axis=0), np.repeat(y, often), background=B, repeats=200, rng=seed + 1
    )
    near(weighed, enumerated(linear, square, X, y, B, weights=often.astype(float)))
    near(repeated, enumerated(linear, square, X, y, B, weights=often.astype(float)))
    assert weighed.total == pytest.approx(repeated.total)


def test_background_rows_are_drawn_by_their_mass(seed):
    X, y = problem(seed, n=30)
    B, mass = problem(seed + 1, n=7)[0], np.arange(1.0, 8.0)
    v = SingleDraws.of(Marginal(B, weights=mass).restrict(linear, X), "squared error", X, y)
    found = estimate(v, Repeats(400), stop=[AfterRepeats(400, 30)], seed=seed)
    wanted = enumerated(linear, square, X, y, B, mass=mass)
    assert (np.abs(found.values[0] - wanted) <= FAR * np.maximum(found.std_error[0], 1e-12)).all()


def test_leaning_is_the_derivative_in_the_masses_of_background_rows(seed):
    X, y = problem(seed, n=30)
    B, mass = problem(seed + 1, n=7)[0], np.arange(1.0, 8.0)
    v = SingleDraws.of(Marginal(B, weights=mass).restrict(linear, X), "squared error", X, y)
    found = estimate(v, Repeats(2000), stop=[AfterRepeats(2000, 30)], seed=seed)
    each = np.array([enumerated(linear, square, X, y, B[[k]]) for k in range(7)])  # values with one row alone
    share = mass / mass.sum()
    wanted = share[:, None] * (each - share @ each)
    off = found.components.background.rows[:, 0] - wanted
    noise = found.components.background.noise[0]
    assert ((off**2).sum(axis=0) <= FAR**2 * noise + 1e-20).all()


@pytest.mark.parametrize(("n", "m"), [(3, 50), (50, 3)])
def test_leaning_is_summed_up_over_repeats(seed, n, m):
    rng = np.random.default_rng([seed, 12])
    gains, picks, weights = rng.normal(size=(n, 4, 2)), rng.integers(m, size=(n, 4)), rng.dirichlet(np.ones(n))
    c = np.zeros((4, m, 2))
    for x in range(n):
        for r in range(4):
            c[r, picks[x, r]] += gains[x, r] - weights[x] * gains[:, r].sum(axis=0)
    for found, wanted in zip(
        influence_of_rows(gains, picks, weights, m), (c.sum(axis=0), (c**2).sum(axis=0)), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_few_examples_beside_many_background_rows_take_little_memory(seed):
    X, y = problem(seed, n=2)
    B = problem(seed + 1, n=20_000)[0]
    tracemalloc.start()
    try:
        cs.permutation_importance(linear, X, y, background=B, repeats=2048, rng=seed)
        assert tracemalloc.get_traced_memory()[1] < 100e6  # rows by repeats would be 330 MB a player
    finally:
        tracemalloc.stop()


def test_multiclass_with_categories_in_pandas(seed):
    rng = np.random.default_rng([seed, 5])
    n = 300
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(rng.choice(["red", "green", "blue"], size=n)),
            "size": rng.normal(size=n),
            "idle": pd.Categorical(rng.choice(["a", "b"], size=n)),
        }
    )
    y = np.where(X["colour"] == "red", "stop", np.where(X["size"] > 0, "go", "wait"))

    def model(rows):
        is_red, is_up = (rows["colour"] == "red").to_numpy(), (rows["size"] > 0).to_numpy()
        assert isinstance(rows["colour"].dtype, pd.CategoricalDtype)
        p = np.column_stack([~is_red & is_up, is_red, ~is_red & ~is_up])
        return 0.9 * p + 0.1 / 3

    f = cs.as_predictor(model, classes=["go", "stop", "wait"])
    found = cs.permutation_importance(f, X, y, loss="cross entropy", repeats=40, rng=seed)
    assert found.top(2) == ["colour", "size"]
    assert found.values[2] == 0
    codes = X["colour"].cat.codes.to_numpy()
    lost = np.log(0.9 + 0.1 / 3) - np.log(0.1 / 3)  # a wrong class, where there was the right one
    up = (X["size"] > 0).to_numpy()
    wrong = [np.mean([(other == 2) != (mine == 2) for other in codes for mine in codes])]
    wrong.append(np.mean([(mine != 2) * np.mean(up != side) for mine, side in zip(codes, up, strict=True)]))
    near(found, np.array([*wrong, 0.0]) * lost)
    # rows in which nothing changes are not asked for: about a third of colours, half of the idle column
    assert found.model_rows < 0.9 * 40 * 3 * n


MODELS = {
    "linear": LinearRegression(),
    "trees": HistGradientBoostingRegressor(max_iter=20, random_state=0),
    "network": MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["linear", "trees", "network"])
def test_known_structure_gives_the_numbers_of_the_black_box(seed, kind):
    X, y = problem(seed, n=200)
    model = clone(MODELS[kind]).fit(X, y)
    options = {"background": X[:90], "repeats": 6, "rng": seed, "groups": {"pair": [1, 2]}}
    inside = cs.permutation_importance(model, X, y, **options)
    asked = cs.permutation_importance(lambda rows: model.predict(rows), X, y, **options)
    np.testing.assert_allclose(inside.values, asked.values, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(inside.std_error, asked.std_error, rtol=1e-5, atol=1e-9)


def test_structure_behind_a_pipeline_gives_the_numbers_of_the_black_box(seed):
    rng = np.random.default_rng([seed, 8])
    X = pd.DataFrame({"kind": rng.choice(["a", "b", "c"], size=150), "size": rng.normal(size=150)})
    y = (X["kind"] == "a") * 2.0 + X["size"] + rng.normal(size=150)
    view = make_column_transformer((OneHotEncoder(), ["kind"]), (StandardScaler(), ["size"]))
    model = make_pipeline(view, LinearRegression()).fit(X, y)
    options = {"background": X[:60], "repeats": 5, "rng": seed}
    inside = cs.permutation_importance(model, X, y, **options)
    asked = cs.permutation_importance(lambda rows: model.predict(rows), X, y, **options)
    np.testing.assert_allclose(inside.values, asked.values, rtol=1e-9)
    assert Marginal(X[:60]).restrict(cs.as_predictor(model), X).native is not None


def test_a_classifier_with_structure_gives_the_numbers_of_the_black_box(seed):
    X, y = problem(seed, n=200)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y > 0)
    box = cs.as_predictor(lambda rows: model.predict_proba(rows), classes=[False, True])
    options = {"loss": ["brier", "zero one"], "repeats": 5, "rng": seed}
    for inside, asked in zip(
        cs.permutation_importance(model, X, y > 0, **options),
        cs.permutation_importance(box, X, y > 0, **options),
        strict=True,
    ):
        np.testing.assert_allclose(inside.values, asked.values, atol=1e-12)


def test_single_predictions_are_those_of_hybrid_rows(seed):
    X = problem(seed, n=20)[0]
    f_S = Marginal(X[:7], weights=np.arange(1.0, 8.0)).restrict(linear, X)
    kept = np.array([True, False, True, False])
    places = np.random.default_rng(seed).random((20, 3))
    found = f_S.single(X, linear(X)[:, None], kept, places)
    each = f_S.each(X, np.tile(kept, (20, 1)))
    np.testing.assert_allclose(found.outputs, each[np.arange(20)[:, None], found.background_index])
    share = np.cumsum(np.arange(1.0, 8.0)) / 28
    np.testing.assert_array_equal(found.background_index, (places[:, :, None] >= share).sum(axis=2))


def coverage_on_fresh_rows(seed, runs, n, m, repeats, overlap):
    """Coverage of what intervals are about, on fresh rows of correlated columns: (targets, p)."""
    beta = BETA[:3]
    turn = np.linalg.cholesky(np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.3], [0.0, 0.3, 1.0]])).T
    intervals, truth = [], []  # of the data, of the rows, of the population
    for run in range(runs):
        rng = np.random.default_rng([seed, run, n, m])
        X = rng.normal(size=(n, 3)) @ turn
        y = X @ beta + rng.normal(size=n)
        B = X[:m] if overlap else rng.normal(size=(m, 3)) @ turn
        v = SingleDraws.of(Marginal(B).restrict(lambda rows: rows @ beta, X), "squared error", X, y)
        found = estimate(v, Repeats(repeats), stop=[AfterRepeats(repeats, n)], seed=int(rng.integers(2**32)))
        off = (B[None] - X[:, None]) * beta  # (n, m, p)
        about_data = (off**2 - 2 * off * (y - X @ beta)[:, None, None]).mean(axis=(0, 1))
        truth.append([about_data, beta**2 * (1 + (B**2).mean(axis=0)), 2 * beta**2])
        ends = [interval(found.values[0], found.std_error[0], found.dof[0], 0.95)]
        for about in (found.targets["rows"], found.targets["population"]):
            ends.append(interval(about.values[0], about.std_error[0], about.dof[0], 0.95, skew=about.skew[0]))
        intervals.append(np.stack(ends, axis=1))  # (2 ends, 3 targets, p)
    return covers(intervals, truth).mean(axis=0)


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "m", "repeats", "overlap"), [(150, 100, 8, False), (200, 200, 6, True)])
def test_intervals_about_data_rows_and_population_hold(seed, n, m, repeats, overlap):
    runs = 200
    coverage = coverage_on_fresh_rows(seed, runs, n, m, repeats, overlap)
    assert (np.abs(coverage - 0.95) <= 0.015 + binomial_room(runs, std_errors=4)).all(), coverage


def test_intervals_about_the_population_know_of_the_background(seed):
    X, y = problem(seed, n=500)
    few = cs.permutation_importance(linear, X, y, background=problem(seed + 1, n=20)[0], rng=seed)
    many = cs.permutation_importance(linear, X, y, background=problem(seed + 1, n=500)[0], rng=seed)
    assert few.targets["population"].std_error[0] > 2 * few.targets["rows"].std_error[0]
    assert many.targets["population"].std_error[0] < few.targets["population"].std_error[0] / 2
    one = cs.permutation_importance(linear, X, y, background=X[:1], rng=seed)
    assert set(one.targets) == {"rows"}
    assert one.std_error.max() == pytest.approx(0, abs=1e-12)


def test_repeats_are_made_as_asked_for(seed):
    X, y = problem(seed, n=50)
    for repeats in (2, 7, 30):
        found = cs.permutation_importance(linear, X, y, repeats=repeats, tolerance=None, rng=seed)
        assert found.draws == repeats * 50
        assert found.stopped is StopReason.REPEATED
        assert not found.converged
    by_tolerance = cs.permutation_importance(linear, X, y, tolerance=0.02, rng=seed)
    assert by_tolerance.converged
    assert by_tolerance.draws >= 4096
    assert by_tolerance.std_error.max() <= 0.02 * np.ptp(by_tolerance.values)


def test_budgets_deadlines_and_rules_end_runs(seed):
    X, y = problem(seed, n=50)
    found = cs.permutation_importance(linear, X, y, tolerance=1e-6, budget=5000, rng=seed)
    assert found.stopped is StopReason.BUDGET
    assert 4000 < found.model_rows <= 5000
    found = cs.permutation_importance(linear, X, y, repeats=1000, budget=5000, rng=seed)
    assert found.stopped is StopReason.BUDGET
    with pytest.raises(InputError, match="budget"):
        cs.permutation_importance(linear, X, y, budget=300, rng=seed)
    found = cs.permutation_importance(linear, X, y, tolerance=1e-9, deadline=0.2, rng=seed)
    assert found.stopped is StopReason.DEADLINE
    found = cs.permutation_importance(linear, X, y, tolerance=1e-9, stop=lambda found: found.draws > 900, rng=seed)
    assert found.stopped is StopReason.RULE
    found = cs.permutation_importance(linear, X, y, repeats=10**6, stop=cs.TopKnown(1), rng=seed)
    assert found.stopped is StopReason.TOP_KNOWN


def test_model_rows_are_those_that_the_model_was_asked_for(seed):
    X, y = problem(seed, n=50)
    asked = []

    def model(rows):
        asked.append(len(rows))
        return linear(rows)

    found = cs.permutation_importance(model, X, y, repeats=6, rng=seed)
    assert sum(asked) == found.model_rows
    assert max(asked) >= 50  # a call a player and repeat, or fewer


def test_the_number_of_jobs_changes_no_bit(seed):
    X, y = problem(seed, n=400)
    one, two = (cs.permutation_importance(linear, X, y, repeats=12, n_jobs=jobs, rng=seed) for jobs in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.std_error, two.std_error)
    for about in ("rows", "population"):
        np.testing.assert_array_equal(one.targets[about].std_error, two.targets[about].std_error)


def test_a_constant_model_has_nothing_to_lose(seed):
    X, y = problem(seed, n=50)
    found = cs.permutation_importance(lambda rows: np.full(len(rows), 2.0), X, y, rng=seed)
    assert found.stopped is StopReason.NO_EFFECT
    assert (found.values == 0).all()
    assert found.constant == pytest.approx(found.total)


def test_losses_that_cancel_out_are_not_taken_for_none():
    X, y = np.array([[1.0, 0.0], [-1.0, 0.0]] * 40), np.array([1.0, 0.0] * 40)
    options = {"loss": "squared error", "background": np.zeros((1, 2))}
    found = cs.permutation_importance(lambda rows: rows[:, 0], X, y, **options)
    assert found.values == pytest.approx(np.zeros(2), abs=1e-12)
    assert found.stopped is not StopReason.NO_EFFECT
    assert found.target("rows").std_error[0] == pytest.approx(1 / np.sqrt(79))  # each example loses or gains one


def test_it_is_found_by_name_and_in_a_file(seed, tmp_path):
    X, y = problem(seed, n=50)
    found = cs.importance("permutation importance", linear, X, y, repeats=5, rng=seed)
    assert found.measure == "permutation importance"
    assert "Permutation importance: how much the model's squared error increases" in str(found)
    found.save(tmp_path / "test.json")
    back = cs.load(tmp_path / "test.json")
    np.testing.assert_array_equal(back.values, found.values)
    assert back.constant == found.constant
    assert back.stopped is StopReason.REPEATED


@pytest.mark.parametrize("repeats", [0, 1, -3, 2.5, "many", True])
def test_a_number_of_repeats_that_is_none_is_refused(repeats):
    X, y = problem(0, n=20)
    with pytest.raises(InputError, match="repeats"):
        cs.permutation_importance(linear, X, y, repeats=repeats)


def test_bad_inputs_are_named():
    X, y = problem(0, n=20)
    with pytest.raises(InputError, match="y"):
        cs.permutation_importance(linear, X)
    with pytest.raises(InputError, match="y"):
        cs.permutation_importance(linear, X, y[:-1])
    with pytest.raises(InputError, match="background"):
        cs.permutation_importance(linear, X, y, background=X[:, :2])
    with pytest.raises(InputError, match="tolerance"):
        cs.permutation_importance(linear, X, y, tolerance=None)
    with pytest.raises(InputError, match="loss"):
        cs.permutation_importance(linear, X, y, loss=[])
    v = PredictivePower.of(Marginal(X).restrict(linear, X), "squared error", X, y)
    with pytest.raises(InputError, match="single draws"):
        estimate(v, Repeats())


def test_other_estimators_can_play_single_draws(seed):
    X, y = problem(seed, n=30)
    v = SingleDraws.of(Marginal(X).restrict(linear, X), "squared error", X, y)
    found = estimate(v, Permutation(), seed=seed)
    assert found.values.shape == (1, 4)
