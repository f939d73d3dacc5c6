"""SAGE values against exact enumeration, closed forms and the paper's own example."""

from __future__ import annotations

import numpy as np
import pytest

import clarysage as cs
import oracle

SAMPLERS = ["permutation", "kernel"]


def mixture(Z: np.ndarray) -> np.ndarray:
    """A regression function with interactions and a feature it ignores."""
    return Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + Z[:, 3] - 0.5 * Z[:, 0] * Z[:, 2] * Z[:, 3]


def three_classes(Z: np.ndarray) -> np.ndarray:
    scores = np.exp(np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2] - Z[:, 0], 0.5 * Z[:, 3]]))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture
def problem(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(30, 5)), rng.normal(size=(12, 5))
    return X, background, rng


def within_six_errors(explanation: cs.Explanation, truth: np.ndarray) -> bool:
    return bool(np.all(np.abs(explanation.values - truth) <= 6 * explanation.std_error + 1e-9))


def test_exact_agrees_with_enumeration_for_squared_error(problem):
    X, background, rng = problem
    y = mixture(X) + rng.normal(size=30)
    truth = oracle.sage(mixture, oracle.squared_error, X, y, background)
    found = cs.sage(mixture, X, y, background=background, method="exact")
    assert np.allclose(found.values, truth, atol=1e-10)
    assert found.values[4] == 0.0
    assert found.total == pytest.approx(truth.sum(), abs=1e-10)


def test_exact_agrees_with_enumeration_for_cross_entropy(problem):
    X, background, rng = problem
    y = rng.integers(3, size=30)
    truth = oracle.sage(three_classes, oracle.cross_entropy, X, y, background)
    found = cs.sage(three_classes, X, y, background=background, method="exact", loss="cross entropy")
    assert np.allclose(found.values, truth, atol=1e-10)


def test_exact_agrees_with_enumeration_for_eight_features(seed):
    rng = np.random.default_rng(seed)
    X, background, mix = rng.normal(size=(4, 8)), rng.normal(size=(5, 8)), rng.normal(size=(8, 8))

    def f(Z):
        return np.tanh(Z @ mix).sum(axis=1)

    y = f(X) + rng.normal(size=4)
    truth = oracle.sage(f, oracle.squared_error, X, y, background)
    assert np.allclose(cs.sage(f, X, y, background=background, method="exact").values, truth, atol=1e-10)


@pytest.mark.parametrize("method", SAMPLERS)
@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_sampling_agrees_with_enumeration_for_regression(problem, method, loss, seed):
    X, background, rng = problem
    y = mixture(X) + rng.normal(size=30)
    truth = cs.sage(mixture, X, y, background=background, method="exact", loss=loss).values
    found = cs.sage(mixture, X, y, background=background, method=method, loss=loss, rng=seed)
    assert found.converged
    assert within_six_errors(found, truth)


@pytest.mark.parametrize("method", SAMPLERS)
@pytest.mark.parametrize("loss", ["cross entropy", "brier", "zero one"])
def test_sampling_agrees_with_enumeration_for_classification(problem, method, loss, seed):
    X, background, rng = problem
    y = rng.integers(3, size=30)
    truth = cs.sage(three_classes, X, y, background=background, method="exact", loss=loss).values
    found = cs.sage(three_classes, X, y, background=background, method=method, loss=loss, rng=seed, budget=2_000_000)
    assert within_six_errors(found, truth)


def test_groups_weights_and_weighted_backgrounds_agree_with_enumeration(problem):
    X, background, rng = problem
    y, weights, mass = mixture(X), rng.exponential(size=30), rng.exponential(size=12)
    truth = oracle.sage(
        mixture, oracle.squared_error, X, y, background, weights=weights, mass=mass, groups=[[0, 2], [1], [3, 4]]
    )
    found = cs.sage(
        mixture,
        X,
        y,
        removal=cs.Marginal(background, weights=mass),
        method="exact",
        sample_weight=weights,
        groups={"a": [0, 2], "b": [3, 4]},
    )
    assert found.feature_names == ("a", "x1", "b")
    assert np.allclose(found.values, truth, atol=1e-10)


@pytest.mark.parametrize("method", SAMPLERS)
def test_sampling_honours_sample_weights(problem, method, seed):
    X, background, rng = problem
    y, weights = mixture(X) + rng.normal(size=30), rng.exponential(size=30)
    weights[:5] = 0.0
    options = {"background": background, "sample_weight": weights}
    truth = cs.sage(mixture, X, y, method="exact", **options).values
    assert within_six_errors(cs.sage(mixture, X, y, method=method, rng=seed, **options), truth)


def test_multi_output_squared_error_sums_over_outputs(problem):
    X, background, rng = problem

    def both(Z):
        return np.column_stack([mixture(Z), Z[:, 4]])

    y = both(X) + rng.normal(size=(30, 2))
    truth = oracle.sage(both, oracle.squared_error, X, y, background)
    assert np.allclose(cs.sage(both, X, y, background=background, method="exact").values, truth, atol=1e-10)


def test_several_losses_in_one_pass_give_what_each_gives_alone(problem, seed):
    X, background, rng = problem
    y = rng.integers(3, size=30)
    options = {"background": background, "method": "permutation", "budget": 200_000, "tolerance": None, "rng": seed}
    together = cs.sage(three_classes, X, y, loss=["cross entropy", "brier", "zero one"], **options)
    for found in together:
        alone = cs.sage(three_classes, X, y, loss=found.loss, **options)
        assert np.array_equal(found.values, alone.values)
        assert found.model_rows == alone.model_rows


def test_shapley_effects_share_out_the_variance_of_the_output(problem):
    X, background, _ = problem
    truth = oracle.sage(mixture, oracle.squared_error, X, mixture(X), background)
    found = cs.sage(mixture, X, background=background, method="exact")
    assert found.measure == "shapley effects"
    assert np.allclose(found.values, truth, atol=1e-10)
    everything = cs.sage(mixture, X, method="exact")
    assert everything.total == pytest.approx(mixture(X).var())


def linear_closed_form(beta, X, y, background):
    """phi_i = mean of h_i (2 (y - c) - sum of h_j), with h_i = beta_i (x_i - mean b_i) and c = f(mean b)."""
    h = beta * (X - background.mean(axis=0))
    return (h * (2 * (y - background.mean(axis=0) @ beta)[:, None] - h.sum(axis=1, keepdims=True))).mean(axis=0)


@pytest.mark.parametrize("method", ["exact", *SAMPLERS])
def test_linear_models_with_squared_error_have_a_closed_form(problem, method, seed):
    X, background, rng = problem
    beta = np.array([3.0, 2.0, 1.0, 0.0, -1.0])
    y = X @ beta + rng.normal(size=30)
    truth = linear_closed_form(beta, X, y, background)
    found = cs.sage(lambda Z: Z @ beta, X, y, background=background, method=method, rng=seed)
    assert within_six_errors(found, truth)
    assert method != "exact" or np.allclose(found.values, truth, atol=1e-10)


def test_a_linear_model_with_independent_inputs_gives_squared_coefficients_and_not_twice_that(seed):
    """Averaging losses instead of predictions doubles every value: the variance of the stand-ins is added."""
    rng = np.random.default_rng(seed)
    beta = np.array([3.0, 2.0, 1.0, 0.0])
    X, background = rng.normal(size=(2, 2000, 4))
    y = X @ beta
    values = cs.sage(lambda Z: Z @ beta, X[:1000], y[:1000], background=background[:200], method="exact").values
    # a value is a mean of h_i (2 h - h_i)-like terms over 1,000 rows, over a background mean of 200: bounds of 5 errors
    spread = np.array([beta[i] ** 2 * np.sqrt(2) + 2 * beta[i] * np.sqrt(beta @ beta) for i in range(4)])
    error = 5 * spread * (1 / np.sqrt(1000) + 1 / np.sqrt(200))
    assert np.all(np.abs(values - beta**2) <= error + 1e-9)

    rows, others = rng.normal(size=(2, 200_000, 4))

    def mean_of_losses(kept: list[int]) -> float:
        hybrid = others.copy()
        hybrid[:, kept] = rows[:, kept]
        return float(((hybrid @ beta - rows @ beta) ** 2).mean())

    doubled = [mean_of_losses([]) - mean_of_losses([i]) for i in range(2)]
    assert doubled == pytest.approx(2 * beta[:2] ** 2, rel=0.1)


@pytest.mark.parametrize("method", ["exact", "permutation", "kernel"])
@pytest.mark.parametrize("labels", [True, False])
def test_model_rows_count_every_row_that_the_model_saw(problem, method, labels):
    X, background, _ = problem
    seen = []

    def f(Z):
        seen.append(len(Z))
        return mixture(Z)

    found = cs.sage(f, X, mixture(X) if labels else None, background=background, method=method, rng=0)
    assert sum(seen) == found.model_rows


def test_predictive_power_in_five_lines_gives_what_sage_gives(problem):
    from clarysage.estimators import estimate

    X, background, _ = problem
    f = cs.as_predictor(mixture)
    f_S = cs.Marginal(background).restrict(f, X)
    v = cs.PredictivePower.of(f_S, "squared error", X, mixture(X))
    found = estimate(v, cs.Permutation(), seed=3)
    assert np.array_equal(
        found.values[0], cs.sage(mixture, X, mixture(X), background=background, method="permutation", rng=3).values
    )


def test_a_restricted_model_takes_columns_in_the_order_its_model_was_fitted_on(problem):
    import pandas as pd

    X, background, _ = problem
    frame, rows = (pd.DataFrame(table, columns=list("abcde")) for table in (X, background))
    f = cs.Predictor(lambda Z: mixture(np.asarray(Z)), "mixture", feature_names=tuple("abcde"), containers=("numpy",))
    f_S = cs.Marginal(rows).restrict(f, frame[list("edcba")])
    assert f_S.schema.names == tuple("abcde")
    assert np.allclose(f_S.full(f_S.schema.encode(frame[list("edcba")], "X"))[:, 0], mixture(X))


def test_product_of_marginals_breaks_the_dependence_between_withheld_features(seed):
    """With x1 = x0 always, f = x0 x1 has mean E[x^2] over joint rows and E[x]^2 over columns drawn apart."""
    rng = np.random.default_rng(seed)
    column = rng.normal(size=4000)
    pairs = np.column_stack([column, column])

    def f(Z):
        return Z[:, 0] * Z[:, 1]

    joint = cs.Marginal(pairs).restrict(f, pairs[:2]).empty()[0]
    apart = cs.ProductOfMarginals(pairs, rng=seed).restrict(f, pairs[:2]).empty()[0]
    assert joint == pytest.approx((column**2).mean())
    assert abs(apart) <= 6 / np.sqrt(4000)


def test_product_of_marginals_keeps_each_column_as_it_is(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(50, 3))
    model = cs.ProductOfMarginals(rows, rng=seed).restrict(lambda Z: Z[:, 0], rows)
    assert np.array_equal(np.sort(model.background, axis=0), np.sort(rows, axis=0))
    assert not np.array_equal(model.background, rows)
    weights = rng.exponential(size=50)
    weighted = cs.ProductOfMarginals(rows, weights=weights, rng=seed).restrict(lambda Z: Z[:, 0], rows)
    truth = weights @ rows / weights.sum()
    assert np.all(np.abs(weighted.background.mean(axis=0) - truth) <= 6 * rows.std(axis=0) / np.sqrt(50))


@pytest.mark.parametrize(("values", "wanted"), [("mean", [2.0, 25.0]), ("median", [1.5, 20.0]), ("mode", [1.0, 20.0])])
def test_baselines_are_the_mean_median_or_mode_of_each_column(values, wanted):
    background = np.array([[1.0, 20.0], [1.0, 20.0], [2.0, 20.0], [4.0, 40.0]])
    model = cs.Baseline(values, background=background).restrict(lambda Z: Z[:, 0], background)
    assert np.allclose(model.background, [wanted])


def test_the_mean_of_whole_numbers_is_not_cut_to_a_whole_number():
    X = np.array([[4, 1], [5, 1], [5, 2]])
    model = cs.Baseline("mean").restrict(lambda Z: Z.astype(float).sum(axis=1), X)
    assert model.empty()[0] == pytest.approx(14 / 3 + 4 / 3)


def test_a_weighted_median_is_that_of_rows_as_often_as_they_weigh(seed):
    rng = np.random.default_rng(seed)
    background, times = rng.normal(size=(9, 2)), rng.integers(0, 5, size=9) + 1
    weighted = cs.Baseline("median", background=background, weights=times)
    nothing = np.zeros((1, 2), dtype=bool)
    for column in range(2):
        f_S = weighted.restrict(lambda Z, column=column: Z[:, column], background[:1])
        expected = np.median(np.repeat(background[:, column], times))
        assert f_S.predict(background[:1], nothing, None).item() == pytest.approx(expected, abs=1e-12)
