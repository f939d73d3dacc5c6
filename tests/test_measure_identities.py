"""Identities between measures, and where they end.

Where a design is a full grid its columns are independent without error, and so are identities that rest on it; where
rows are drawn they hold within five standard errors.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs

SIGMAS = 5.0
EXACT = 1e-9

GRID = np.array(list(product([-1.0, 0.0, 2.0], [0.0, 1.0, 3.0, 4.0], [-2.0, -1.0, 0.0, 1.0, 5.0])))  # 60 rows
PARTS = (lambda x: 2 * x, lambda x: x**2 / 4, lambda x: np.sin(x))


def additive(X: np.ndarray) -> np.ndarray:
    return np.asarray(sum(part(X[:, i]) for i, part in enumerate(PARTS)))


def interacting(X: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, 0] * X[:, 1] + np.maximum(X[:, 2], X[:, 0]) + 0.5 * X[:, 3])


def variances() -> np.ndarray:
    return np.array([part(GRID[:, i]).var() for i, part in enumerate(PARTS)])


def drawn(seed: int, n: int = 80, d: int = 4) -> np.ndarray:
    rng = np.random.default_rng([seed, 11])
    return rng.normal(size=(n, d)) + 0.6 * rng.normal(size=(n, 1))


def off(one: cs.Explanation, other: cs.Explanation, factor: float = 1.0) -> np.ndarray:
    """How many standard errors of the runs one is off the other, times the factor."""
    error = np.hypot(one.std_error, factor * other.std_error)
    return np.abs(one.values - factor * other.values) / (error + EXACT)


def test_mean_loss_shap_is_sage_without_error_where_both_are_exact(seed):
    X = drawn(seed)
    y = interacting(X) + np.random.default_rng(seed).normal(size=len(X))
    options = {"loss": ["squared error", "absolute error"], "method": "exact", "background": X[:30]}
    for sage, mean in zip(
        cs.sage(interacting, X, y, **options), cs.mean_loss_shap(interacting, X, y, **options), strict=True
    ):
        np.testing.assert_allclose(mean.values, sage.values, rtol=0, atol=EXACT)


def test_mean_loss_shap_is_sage_within_errors_where_both_are_sampled(seed):
    X = drawn(seed)
    y = (interacting(X) > np.random.default_rng(seed).normal(size=len(X))).astype(int)
    model = LogisticRegression().fit(np.hstack([X, X**2]), y)

    def probability(X):
        return model.predict_proba(np.hstack([X, X**2]))

    options = {"method": "paired walks", "background": X[:30], "tolerance": 0.05}
    sage = cs.sage(probability, X, y, rng=seed + 1, **options)
    mean = cs.mean_loss_shap(probability, X, y, rng=seed + 2, **options)
    assert (sage.std_error > 0).all()
    assert (off(mean, sage) < SIGMAS).all()


@pytest.mark.parametrize("removal", ["marginal", "product of marginals", "baseline", "gaussian"])
def test_sage_of_a_models_own_output_is_its_shapley_effects(removal, seed):
    X = drawn(seed)
    options = {"background": X[:40], "removal": removal, "rng": 3}
    effects = cs.shapley_effects(interacting, X, **options)
    sage = cs.sage(interacting, X, interacting(X), loss="squared error", **options)
    np.testing.assert_allclose(sage.values, effects.values, rtol=0, atol=EXACT)
    np.testing.assert_allclose(sage.total, effects.total, rtol=0, atol=EXACT)
    assert effects.measure == "shapley effects"
    assert sage.measure == "sage"


def test_labels_change_sage_values_and_not_shapley_effects(seed):
    X = drawn(seed)
    noise = np.random.default_rng(seed).normal(size=len(X))
    effects = [cs.shapley_effects(interacting, X, y, rng=3) for y in (noise, interacting(X))]
    assert (effects[0].values == effects[1].values).all()
    sage = cs.sage(interacting, X, noise, loss="squared error", rng=3)
    assert np.abs(sage.values - effects[0].values).max() > 0.1 * effects[0].values.max()


def test_the_permutation_importance_of_an_additive_model_is_twice_sage_under_independence(seed):
    """SAGE has Var(g_i), and the test E[(g_i(X) - g_i(X'))^2] = 2 Var(g_i), with independent draws X and X'."""
    y = additive(GRID)
    sage = cs.sage(additive, GRID, y, loss="squared error", background=GRID)
    np.testing.assert_allclose(sage.values, variances(), rtol=0, atol=EXACT)
    test = cs.permutation_importance(additive, GRID, y, loss="squared error", background=GRID, rng=seed)
    assert (off(test, sage, factor=2) < SIGMAS).all()
    assert (off(test, sage) > SIGMAS).all()  # once does not hold


def test_the_factor_of_two_asks_for_errors_that_features_tell_nothing_of(seed):
    """Of a model that exaggerates, the test has 2 Cov(g_i, y) and SAGE 2 Cov(g_i, y) - Var(g_i): Var(g_i) apart."""
    y = additive(GRID) / 2
    sage = cs.sage(additive, GRID, y, loss="squared error", background=GRID)
    np.testing.assert_allclose(sage.values, 0, rtol=0, atol=EXACT)
    test = cs.permutation_importance(additive, GRID, y, loss="squared error", background=GRID, rng=seed)
    assert (np.abs(test.values - sage.values - variances()) < SIGMAS * test.std_error + EXACT).all()


def test_the_factor_of_two_is_lost_where_features_depend_on_each_other(seed):
    """Of x0 + x1 with correlation r, SAGE shares 2 + 2r equally, and the test stays at 2."""
    rng = np.random.default_rng([seed, 5])
    x = rng.normal(size=1000)
    X = np.column_stack([x, 0.9 * x + np.sqrt(1 - 0.81) * rng.normal(size=1000)])
    y = X.sum(axis=1)
    sage = cs.sage(lambda X: X.sum(axis=1), X, y, background=X[:500], rng=seed)
    test = cs.permutation_importance(lambda X: X.sum(axis=1), X, y, background=X[:500], rng=seed)
    np.testing.assert_allclose(sage.values / y.var(), 0.5, rtol=0.15)
    assert (off(test, sage, factor=2) > SIGMAS).all()


def test_mean_importance_of_a_linear_model_is_sage_under_independence():
    X = GRID - GRID.mean(axis=0)
    y = X @ [3.0, -1.0, 0.5]
    options = {"loss": "squared error", "background": X}
    mean = cs.mean_importance(lambda X: X @ [3.0, -1.0, 0.5], X, y, **options)
    sage = cs.sage(lambda X: X @ [3.0, -1.0, 0.5], X, y, **options)
    np.testing.assert_allclose(mean.values, sage.values, rtol=0, atol=EXACT)


def test_mean_importance_of_a_curved_model_is_not_sage():
    """g(E[X]) is not E[g(X)]: Var(g) + (E[g(X)] - g(E[X]))^2 is what it has."""
    y = additive(GRID)
    mean = cs.mean_importance(additive, GRID, y, loss="squared error", background=GRID)
    bias = [part(GRID[:, i]).mean() - part(GRID[:, i].mean()) for i, part in enumerate(PARTS)]
    np.testing.assert_allclose(mean.values, variances() + np.square(bias), rtol=0, atol=EXACT)


def test_all_measures_of_the_data_agree_on_a_linear_response_to_independent_features(seed):
    """Judged by the rows it was fitted on, a linear model on a grid gains Var(y) r_i^2 by a feature, always."""
    y = GRID @ [3.0, -1.0, 0.5] + np.random.default_rng(seed).normal(size=len(GRID))
    shares = y.var() * cs.squared_correlation(None, GRID, y).values
    np.testing.assert_allclose(shares, [y.var() * np.corrcoef(x, y)[0, 1] ** 2 for x in GRID.T], rtol=0, atol=EXACT)
    for measure in (cs.univariate_predictors, cs.drop_column_importance, cs.shapley_net_effects):
        found = measure(LinearRegression(), GRID, y, train=(GRID, y), loss="squared error", rng=0)
        np.testing.assert_allclose(found.values, shares, rtol=0, atol=1e-8)


def twins(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose first two columns are the same, and responses."""
    rng = np.random.default_rng([seed, 7])
    x = rng.normal(size=(300, 1))
    X = np.hstack([x, x, rng.normal(size=(300, 1))])
    return X, X @ [1.0, 1.0, 1.0] + 0.1 * rng.normal(size=300)


def test_ablation_gives_two_copies_nothing_and_shapley_values_share(seed):
    X, y = twins(seed)
    model = LinearRegression().fit(X, y)  # which uses both copies alike
    ablation = cs.drop_column_importance(model, X, y, rng=seed)
    np.testing.assert_allclose(ablation.values[:2], 0, rtol=0, atol=EXACT)
    assert ablation.values[2] > 0.5
    for found in (
        cs.sage(model, X, y, rng=seed),
        cs.shapley_net_effects(model, X, y, rng=seed),
        cs.sage(model, X, y, removal="gaussian", rng=seed),
    ):
        low, high = found.interval(1 - 1e-6, about="data")
        assert abs(found.values[0] - found.values[1]) <= (high - low)[:2].max() / 2 + EXACT
        assert found.values[:2].min() > found.values[2] > 0.5  # half of 4 Var(x) against 1
        np.testing.assert_allclose(found.values.sum(), found.total, rtol=1e-6)


def test_univariate_predictors_give_each_of_two_copies_everything(seed):
    X, y = twins(seed)
    alone = cs.univariate_predictors(LinearRegression(), X, y, rng=seed)
    together = cs.shapley_net_effects(None, X, y, rng=seed)
    np.testing.assert_allclose(alone.values[0], alone.values[1], rtol=0, atol=EXACT)
    np.testing.assert_allclose(alone.values[0], together.values[:2].sum(), rtol=0.15)


def test_given_its_copy_a_feature_is_not_missed(seed):
    X, y = twins(seed)
    model = LinearRegression().fit(X, y)
    given = cs.conditional_permutation_importance(model, X, y, removal="gaussian", rng=seed)
    anew = cs.permutation_importance(model, X, y, rng=seed)
    assert (np.abs(given.values[:2]) < 1e-3 * given.values[2]).all()
    assert (anew.values[:2] > 1).all()  # 2 Var(x)


def test_a_model_that_ignores_one_of_two_copies(seed):
    """Marginal removal asks what the model uses, conditional removal what it could know; refits do not ask it."""
    X, y = twins(seed)

    def model(X):
        return 2 * X[:, 0] + X[:, 2]

    marginal = cs.sage(model, X, y, rng=seed)
    assert marginal.values[1] == 0
    given = cs.sage(model, X, y, removal="gaussian", rng=seed)
    low, high = given.interval(1 - 1e-6, about="data")
    assert abs(given.values[0] - given.values[1]) <= (high - low)[:2].max() / 2 + 1e-6 * given.total
    np.testing.assert_allclose(given.values[:2].sum(), marginal.values[0], rtol=0.2)
