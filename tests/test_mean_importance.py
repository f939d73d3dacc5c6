"""Mean importance: closed forms, what stands in for a feature, and the ways it is asked for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage.errors import InputError
from clarysage.inference.estimate import StopReason

BETA = np.array([2.0, 1.0, 0.5, 0.0])


def linear(X):
    return X @ BETA


def problem(seed, n=300, correlation=0.0):
    rng = np.random.default_rng([seed, 17])
    X = rng.normal(size=(n, 4))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X, linear(X) + rng.normal(size=n)


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_linear_models_lose_the_variance_that_a_feature_brings(seed, correlation):
    # (e + beta d)^2 - e^2 with d = x - mean: beta^2 Var x + 2 beta Cov(x, residual), whatever other features do
    X, y = problem(seed, correlation=correlation)
    residual, off = y - linear(X), X - X.mean(axis=0)
    found = cs.mean_importance(linear, X, y)
    np.testing.assert_allclose(found.values, BETA**2 * X.var(axis=0) + 2 * BETA * (off.T @ residual) / len(X))
    assert (found.std_error == 0).all()
    assert found.stopped is StopReason.EXACT
    low, high = found.interval(about="rows", joint=True, level=0.9999)
    assert ((low - 1e-12 <= BETA**2) & (high + 1e-12 >= BETA**2)).all()  # of the population


def test_it_is_half_a_permutation_importance_of_an_additive_model_of_even_parts(seed):
    # E[(g(X) - g(mean))^2] is Var g where g(mean) is the mean of g: of linear parts, not of others
    X, y = problem(seed, n=3000)
    found = cs.mean_importance(linear, X, y)
    test = cs.permutation_importance(linear, X, y, rng=seed)
    error = np.hypot(2 * found.targets["rows"].std_error, test.targets["population"].std_error)
    assert (np.abs(2 * found.values - test.targets["population"].values) <= 5 * error + 1e-12).all()
    even = cs.mean_importance(lambda rows: rows[:, 0] ** 2, X, X[:, 0] ** 2)
    assert even.values[0] == pytest.approx(np.mean((X[:, 0] ** 2 - X[:, 0].mean() ** 2) ** 2))


def test_intervals_about_rows_are_of_means_over_them(seed):
    X, y = problem(seed)
    found = cs.mean_importance(linear, X, y)
    rows = X.copy()
    rows[:, 0] = X[:, 0].mean()
    lost = (y - linear(rows)) ** 2 - (y - linear(X)) ** 2
    assert found.targets["rows"].std_error[0] == pytest.approx(lost.std(ddof=1) / np.sqrt(len(X)))
    assert set(found.targets) == {"rows"}


def test_means_are_those_of_the_background(seed):
    X, y = problem(seed)
    B = X[:50] + 1
    found = cs.mean_importance(linear, X, y, background=B)
    rows = X.copy()
    rows[:, 1] = B[:, 1].mean()
    assert found.values[1] == pytest.approx(((y - linear(rows)) ** 2 - (y - linear(X)) ** 2).mean())


def test_categories_take_the_most_frequent_one():
    X = pd.DataFrame({"kind": ["a", "a", "b", "c"], "size": [1.0, 2.0, 3.0, 6.0]})
    worth = {"a": 0.0, "b": 1.0, "c": 5.0}

    def model(rows):
        return rows["kind"].map(worth).to_numpy(dtype=float) + rows["size"].to_numpy()

    y = model(X)
    found = cs.mean_importance(model, X, y)
    np.testing.assert_allclose(found.values, [(1 + 25) / 4, np.var([1, 2, 3, 6])])


def test_u_of_everything_is_what_the_model_saves_over_the_best_constant(seed):
    X, y = problem(seed)
    squared, absolute = cs.mean_importance(linear, X, y, loss=["squared error", "absolute error"])
    assert squared.base == pytest.approx(y.var())
    assert absolute.base == pytest.approx(np.abs(y - np.median(y)).mean())
    for found in (squared, absolute):
        assert found.power(range(4)) == pytest.approx(found.total)
        assert found.power([1, 2, 3]) == pytest.approx(found.total - found.values[0])


def test_groups_are_set_to_their_means_together(seed):
    X, y = problem(seed)
    f = lambda rows: rows[:, 0] * rows[:, 1] + rows[:, 2]  # noqa: E731
    found = cs.mean_importance(f, X, y, groups={"both": [0, 1]})
    rows = X.copy()
    rows[:, :2] = X[:, :2].mean(axis=0)
    assert found.values[0] == pytest.approx(((y - f(rows)) ** 2 - (y - f(X)) ** 2).mean())
    whole = cs.mean_importance(f, X, y, groups={"all": [0, 1, 2, 3]})
    assert whole.values[0] == pytest.approx(((y - f(X.mean(axis=0)[None])) ** 2 - (y - f(X)) ** 2).mean())


def test_whole_weights_are_rows_repeated(seed):
    X, y = problem(seed, n=50)
    often = np.random.default_rng(seed).integers(0, 4, size=50)
    weighed = cs.mean_importance(linear, X, y, background=X, sample_weight=often)
    repeated = cs.mean_importance(linear, np.repeat(X, often, axis=0), np.repeat(y, often), background=X)
    np.testing.assert_allclose(weighed.values, repeated.values)
    assert weighed.constant == pytest.approx(repeated.constant)


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_known_structure_gives_the_numbers_of_the_black_box(seed, kind):
    X, y = problem(seed)
    model = (LinearRegression() if kind == "linear" else HistGradientBoostingRegressor(max_iter=20)).fit(X, y)
    inside, asked = (cs.mean_importance(f, X, y) for f in (model, lambda rows: model.predict(rows)))
    np.testing.assert_allclose(inside.values, asked.values, rtol=1e-6, atol=1e-9)


def test_multiclass_probabilities_and_jobs(seed):
    rng = np.random.default_rng([seed, 2])
    X = rng.normal(size=(200, 3))
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 0], [-0.5, 0.5])]

    def model(rows):
        logits = np.column_stack([-2 * rows[:, 0], np.zeros(len(rows)), 2 * rows[:, 0]])
        return np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)

    f = cs.as_predictor(model, classes=["low", "mid", "top"])
    found, again = (cs.mean_importance(f, X, y, loss="cross entropy", n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(found.values, again.values)
    shares = np.array([(y == name).mean() for name in ("low", "mid", "top")])
    assert found.base == pytest.approx(-(shares * np.log(shares)).sum())
    assert found.top(1) == ["x0"]
    np.testing.assert_allclose(found.values[1:], 0, atol=1e-15)


def test_it_is_found_by_name_and_bad_inputs_are_named():
    X, y = problem(0, n=30)
    assert cs.importance("mean importance", linear, X, y).measure == "mean importance"
    with pytest.raises(InputError, match="y"):
        cs.mean_importance(linear, X)
    with pytest.raises(InputError, match="background"):
        cs.mean_importance(linear, X, y, background=X[:, :2])


def test_a_large_background_is_no_worry_since_its_mean_is_one_row(seed):
    X = np.random.default_rng(seed).normal(size=(5000, 2))
    found = cs.mean_importance(lambda X: X[:, 0], X[:50], X[:50, 0], background=X, rng=0)
    assert not any("rows are usually enough" in note for note in found.notes)
    averaged = cs.sage(lambda X: X[:, 0], X[:20], X[:20, 0], background=X, budget=10**6, rng=0)
    assert any("rows are usually enough" in note for note in averaged.notes)
