"""The conditional permutation importance: closed forms, every removal that draws, and those that do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage.errors import InputError
from clarysage.estimators import Repeats, estimate
from clarysage.estimators.permutation_importance import AfterRepeats
from clarysage.games import SingleDraws
from clarysage.inference.intervals import interval
from clarysage.removal import Copula, Gaussian, Neighbours, TreeConditional
from tests.lab.coverage import binomial_room, covers

BETA = np.array([2.0, 1.0, 0.5])
COVARIANCE = np.array([[1.0, 0.8, 0.2], [0.8, 1.0, 0.0], [0.2, 0.0, 1.0]])
GIVEN = 1 / np.diag(np.linalg.inv(COVARIANCE))  # Var(X_i | X_rest)
FAR = 5.0
REMOVALS = ["gaussian", "copula", "neighbours", "trees"]


def linear(X):
    return X @ BETA


def problem(seed, n=500):
    rng = np.random.default_rng([seed, 23])
    X = rng.normal(size=(n, 3)) @ np.linalg.cholesky(COVARIANCE).T
    return X, linear(X) + rng.normal(size=n)


def test_linear_models_lose_twice_the_variance_that_others_leave(seed):
    # the law is fitted to many rows, so that its own error is small beside that of the draws
    X, y = problem(seed, n=1000)
    law = problem(seed + 1, n=200_000)[0]
    found = cs.conditional_permutation_importance(linear, X, y, removal=Gaussian(law, draws=4096, rng=seed), rng=seed)
    about = found.targets["population"]
    assert (np.abs(about.values - 2 * BETA**2 * GIVEN) <= FAR * about.std_error).all()


def test_a_linear_model_of_known_structure_is_drawn_for_too(seed):
    # of which mean predictions are taken without draws, and these would lose half as much
    X, y = problem(seed)
    model = LinearRegression().fit(X, y)
    inside, asked = (
        cs.conditional_permutation_importance(f, X, y, removal="gaussian", repeats=8, rng=seed)
        for f in (model, lambda rows: model.predict(rows))
    )
    np.testing.assert_allclose(inside.values, asked.values, rtol=1e-9)
    wanted = 2 * model.coef_**2 / np.diag(np.linalg.inv(np.cov(X.T)))
    assert (np.abs(inside.values - wanted) <= FAR * inside.targets["population"].std_error).all()


@pytest.mark.parametrize("removal", ["gaussian", "copula", "auto conditional"])
def test_what_others_tell_of_a_feature_is_not_lost(seed, removal):
    X, y = problem(seed, n=1500)
    found = cs.conditional_permutation_importance(linear, X, y, removal=removal, rng=seed)
    free = cs.permutation_importance(linear, X, y, rng=seed)
    np.testing.assert_allclose(found.values, 2 * BETA**2 * GIVEN, rtol=0.25)
    assert found.values[0] < free.values[0] / 2


@pytest.mark.parametrize(
    "removal", [lambda rows: Neighbours(rows, neighbours=9), lambda rows: TreeConditional(rows, trees=4)]
)
def test_rows_that_are_chosen_are_drawn_by_their_weights(seed, removal):
    # beside an enumeration of all rows that the removal chooses
    X, y = problem(seed, n=60)
    B = problem(seed + 1, n=80)[0]
    f = lambda rows: np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2]  # noqa: E731
    found = cs.conditional_permutation_importance(f, X, y, removal=removal(B), repeats=300, rng=seed)
    f_S = removal(B).restrict(f, X)
    wanted = []
    for column in range(3):
        kept = np.tile(np.arange(3) != column, (len(X), 1))
        picks, weights = f_S.choice(X, kept, np.full(len(X), -1))
        rows = np.where(kept[:, None], X[:, None], f_S.background[picks])
        lost = (y[:, None] - f(rows.reshape(-1, 3)).reshape(picks.shape)) ** 2 - (y - f(X))[:, None] ** 2
        wanted.append((weights * lost).sum(axis=1).mean())
    assert (np.abs(found.values - wanted) <= FAR * found.std_error).all()
    assert set(found.targets) == {"rows"}


@pytest.mark.parametrize("removal", [Gaussian, Copula])
def test_drawn_rows_are_those_that_mean_predictions_average_over(seed, removal):
    X, y = problem(seed, n=40)
    f = lambda rows: np.sin(rows[:, 0]) * rows[:, 1] + rows[:, 2]  # noqa: E731
    q = removal(problem(seed + 1, n=200)[0].round(1), draws=16)  # rounded, so that there are ties
    found = cs.conditional_permutation_importance(f, X, y, removal=q, repeats=300, rng=seed)
    f_S = q.restrict(f, X)
    wanted = []
    for column in range(3):
        each = f_S.each(X, np.tile(np.arange(3) != column, (len(X), 1)))[:, :, 0]
        wanted.append(((y[:, None] - each) ** 2 - (y - f(X))[:, None] ** 2).mean())
    assert (np.abs(found.values - wanted) <= FAR * found.std_error).all()


@pytest.mark.parametrize("removal", REMOVALS)
def test_every_removal_shares_out_rows_and_counts_them(seed, removal):
    X, y = problem(seed, n=120)
    asked = []

    def model(rows):
        asked.append(len(rows))
        return linear(rows)

    found = cs.conditional_permutation_importance(model, X, y, removal=removal, repeats=5, rng=seed)
    assert found.removal == removal
    assert sum(asked) == found.model_rows
    assert found.constant == pytest.approx(found.total - found.values.sum())
    assert (found.values[:2] > 0).all()
    again = cs.conditional_permutation_importance(linear, X, y, removal=removal, repeats=5, n_jobs=2, rng=seed)
    np.testing.assert_array_equal(found.values, again.values)
    np.testing.assert_array_equal(found.targets["rows"].std_error, again.targets["rows"].std_error)


def test_columns_of_any_kind_by_default(seed):
    rng = np.random.default_rng([seed, 4])
    n = 400
    size = rng.normal(size=n)
    X = pd.DataFrame(
        {
            "kind": pd.Categorical(np.where(size + 0.3 * rng.normal(size=n) > 0, "large", "small")),
            "size": np.where(rng.random(n) < 0.1, np.nan, size),
            "idle": rng.integers(0, 3, size=n),
        }
    )

    def model(rows):
        return (rows["kind"] == "large").to_numpy() + np.nan_to_num(rows["size"].to_numpy(dtype=float))

    found = cs.conditional_permutation_importance(model, X, model(X), rng=seed)
    free = cs.permutation_importance(model, X, model(X), rng=seed)
    assert found.removal == "copula"
    assert (found.values[:2] < 0.7 * free.values[:2]).all()
    assert found.values[2] == 0


@pytest.mark.parametrize("removal", REMOVALS)
def test_groups_and_one_player_alone(seed, removal):
    X, y = problem(seed, n=100)
    pair = cs.conditional_permutation_importance(
        linear, X, y, removal=removal, groups={"pair": [0, 1]}, repeats=5, rng=seed
    )
    assert pair.feature_names == ("pair", "x2")
    both = {"all": [0, 1, 2]}
    whole = cs.conditional_permutation_importance(linear, X, y, removal=removal, groups=both, repeats=20, rng=seed)
    # nothing is known: the law of all columns, as fitted; about twice the variance of the model
    assert whole.values[0] == pytest.approx(2 * linear(X).var(), rel=0.5)


def test_a_feature_that_is_known_from_others_is_worth_nothing(seed):
    x = np.random.default_rng([seed, 6]).normal(size=400)
    X = np.column_stack([x, -x, np.random.default_rng([seed, 7]).normal(size=400)])
    y = X[:, 0] + X[:, 2]
    f = lambda rows: rows[:, 0] + rows[:, 2]  # noqa: E731
    found = cs.conditional_permutation_importance(f, X, y, removal="gaussian", rng=seed)
    assert abs(found.values[0]) < 1e-6
    assert found.values[2] > 1


@pytest.mark.statistical
def test_intervals_about_data_rows_and_endless_draws_hold(seed):
    runs, m = 150, 60
    law = Gaussian(problem(seed + 1, n=5000)[0])
    precision = np.linalg.inv(np.cov(law.background.T, ddof=0))
    # endless draws from the law: the misfit of x_i from its mean given the rest, and the law's own variance
    slope = -(precision - np.diag(np.diag(precision))) / np.diag(precision)[:, None]
    weights = np.eye(3) - slope
    misfit = np.einsum("ij,jk,ik->i", weights, COVARIANCE, weights)
    endless = BETA**2 * (misfit + 1 / np.diag(precision))
    intervals, truth = [], []  # about data rows and about endless draws
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        X = rng.normal(size=(100, 3)) @ np.linalg.cholesky(COVARIANCE).T
        y = linear(X) + rng.normal(size=100)
        q = Gaussian(law.background, draws=m, rng=run)
        v = SingleDraws.of(q.restrict(linear, X), "squared error", X, y)
        found = estimate(v, Repeats(8), stop=[AfterRepeats(8, 100)], seed=run)
        kept = ~np.eye(3, dtype=bool)
        each = [v.power.restricted.each(X, np.tile(one, (100, 1)))[:, :, 0] for one in kept]
        data = np.array([((y[:, None] - one) ** 2).mean() - ((y - linear(X)) ** 2).mean() for one in each])
        narrow = interval(found.values[0], found.std_error[0], found.dof[0], 0.95)
        about = found.targets["population"]
        wide = interval(about.values[0], about.std_error[0], about.dof[0], 0.95, skew=about.skew[0])
        intervals.append(np.stack([narrow, wide], axis=1))  # (2 ends, 2 targets, p)
        truth.append([data, endless])
    coverage = covers(intervals, truth).mean(axis=0)
    assert (np.abs(coverage - 0.95) <= 0.02 + binomial_room(runs, std_errors=4)).all(), coverage


@pytest.mark.parametrize("removal", ["marginal", "product of marginals", "baseline"])
def test_removals_that_do_not_look_at_other_features_are_refused(removal):
    X, y = problem(0, n=50)
    with pytest.raises(InputError, match="permutation_importance"):
        cs.conditional_permutation_importance(linear, X, y, removal=removal)


@pytest.mark.parametrize("removal", [cs.Marginal, cs.ProductOfMarginals])
def test_objects_that_do_not_look_at_other_features_are_refused(removal):
    X, y = problem(0, n=50)
    with pytest.raises(InputError, match="permutation_importance"):
        cs.conditional_permutation_importance(linear, X, y, removal=removal(X))


def test_a_surrogate_has_nothing_to_draw():
    X, y = problem(0, n=50)
    for removal in ("surrogate", "Surrogate", cs.Surrogate(X)):
        with pytest.raises(InputError, match="copula"):
            cs.conditional_permutation_importance(linear, X, y, removal=removal)
    with pytest.raises(InputError, match="draws no values"):
        SingleDraws.of(cs.Surrogate(X).restrict(linear, X), "squared error", X, y)


def test_bad_inputs_are_named():
    X, y = problem(0, n=50)
    with pytest.raises(InputError, match="removal"):
        cs.conditional_permutation_importance(linear, X, y, removal="copulae")
    with pytest.raises(InputError, match="removal"):
        cs.conditional_permutation_importance(linear, X, y, removal=3)
    with pytest.raises(InputError, match="background"):
        cs.conditional_permutation_importance(linear, X, y, removal=Gaussian(X), background=X)
    with pytest.raises(InputError, match="y"):
        cs.conditional_permutation_importance(linear, X)


def test_auto_conditional_does_not_choose_a_surrogate(seed):
    X, y = problem(seed, n=300)
    found = cs.conditional_permutation_importance(linear, X, y, removal="auto conditional", repeats=5, rng=seed)
    assert found.removal in REMOVALS
    note = next(note for note in found.notes if "was chosen: mean squared error" in note)
    assert "surrogate" not in note
    named = cs.conditional_permutation_importance(linear, X, y, removal=found.removal, repeats=5, rng=seed)
    np.testing.assert_array_equal(found.values, named.values)
    assert found.model_rows > named.model_rows  # those of the choice
