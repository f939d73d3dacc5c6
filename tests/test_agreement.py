"""Agreement of u(S) with v(S): against brute force and closed forms, with noise of v(S) and without."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations, product
from math import comb
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import chi2, norm

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.figure import Figure
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage.coalitions import codes, draw_uniform_sizes, masks, shapley_values, uniform_size_probabilities
from clarysage.errors import InputError
from clarysage.games.coalition_value import _by_subsamples, _regression_estimate
from clarysage.inference.association import Association, _bca_levels
from clarysage.plots import proxy
from clarysage.results import Agreement
from tests.lab.coverage import binomial_room, covers


def explain(values: Any, **changes: Any) -> cs.Explanation:
    values = np.array(values, dtype=float)
    p = len(values)
    fields: dict[str, Any] = {
        "values": values,
        "std_error": np.zeros(p),
        "covariance": np.zeros((p, p)),
        "feature_names": tuple(f"x{i}" for i in range(p)),
        "total": values.sum(),
        "base": 1.0,
        "model_rows": 10,
        "draws": 0,
        "stopped": cs.StopReason.EXACT,
        "measure": "sage",
        "loss": "squared error",
        "removal": "marginal",
        "method": "exact",
    }
    return cs.Explanation(**{**fields, **changes})


def random_table(p: int, rng: np.random.Generator, noise: float = 0.3) -> np.ndarray:
    return 1 + masks(np.arange(2**p), p) @ rng.random(p) + noise * rng.normal(size=2**p)


def by_brute_force(table: np.ndarray, values: np.ndarray, constant: float) -> tuple[float, float]:
    """Correlation and R2 with the paper's chances of subsets, subset by subset."""
    p = len(values)
    u, v, w = [], [], []
    for size in range(p + 1):
        for subset in combinations(range(p), size):
            u.append(constant + sum(values[i] for i in subset))
            v.append(table[sum(2**i for i in subset)] - table[0])
            w.append(1 / (p + 1) / comb(p, size))
    u_, v_, w_ = np.array(u), np.array(v), np.array(w)
    assert w_.sum() == pytest.approx(1)
    u_mean, v_mean = w_ @ u_, w_ @ v_
    spread = w_ @ (v_ - v_mean) ** 2
    correlation = w_ @ ((u_ - u_mean) * (v_ - v_mean)) / np.sqrt(w_ @ (u_ - u_mean) ** 2 * spread)
    return float(correlation), float(1 - w_ @ (v_ - u_) ** 2 / spread)


def errors_of(found: Agreement) -> dict[str, float]:
    """Standard errors of the two numbers, by the width of their intervals."""
    return {name: (ends[1] - ends[0]) / 3.92 for name, ends in found.interval().items() if ends is not None}


def black_box(X: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, 0] * X[:, 1] + X[:, 2] - 0.5 * X[:, 3])


def probability(X: np.ndarray) -> np.ndarray:
    chance = 1 / (1 + np.exp(-2 * black_box(X)))
    return np.column_stack([1 - chance, chance])


def regression(seed: int, n: int = 120, m: int = 80, p: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(n, p)), rng.normal(size=(m, p))
    return X, black_box(X) + rng.normal(size=n), background


def game_of(f: Any, loss: Any, X: np.ndarray, y: np.ndarray, background: np.ndarray, **options: Any) -> Any:
    return cs.PredictivePower.of(cs.Marginal(background).restrict(cs.as_predictor(f), X), loss, X, y, **options)


def powers(game: Any, subsets: np.ndarray, loss: int = 0) -> np.ndarray:
    """v(S) with all examples and all background rows."""
    everyone, rng = np.arange(len(game.weights)), np.random.default_rng(0)
    return np.array(
        [
            game.weights @ (game.payoff(everyone, np.tile(S, (len(everyone), 1)), rng) - game.ends[0])[:, loss]
            for S in subsets
        ]
    )


# the numbers


def test_additive_game_agrees_with_its_values(seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=6)
    game = cs.TabularGame(3 + masks(np.arange(64), 6) @ values)
    for n in (64, 40):
        found = explain(values).agreement(game, n, rng=seed)
        assert found.is_complete == (n == 64)
        assert found.correlation == pytest.approx(1)
        assert found.r2 == pytest.approx(1)
        np.testing.assert_allclose(found.v, found.u, atol=1e-12)


def test_pair_that_tells_only_together_has_the_agreement_worked_out_by_hand() -> None:
    found = explain([0.5, 0.5]).agreement(cs.TabularGame([0, 0, 0, 1]))
    assert found.correlation == pytest.approx(np.sqrt(27) / 6)  # variances 1/6 and 2/9, covariance 1/6
    assert found.r2 == pytest.approx(0.625)  # 1 - (1/12) / (2/9)


def test_enumeration_agrees_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table, values = random_table(4, rng), rng.normal(size=4)
    found = explain(values, constant=0.7).agreement(cs.TabularGame(table), 16)
    assert (found.correlation, found.r2) == pytest.approx(by_brute_force(table, values, 0.7))
    assert found.is_complete
    assert len(found.subsets) == 16
    ends = found.interval()
    assert ends["correlation"] == (found.correlation, found.correlation)
    assert ends["r2"] == (found.r2, found.r2)


def test_constant_moves_r2_and_not_the_correlation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = random_table(4, rng)
    near, far = (explain(shapley_values(table), constant=c).agreement(cs.TabularGame(table)) for c in (0.0, 5.0))
    assert near.correlation == pytest.approx(far.correlation)
    assert near.r2 is not None
    assert far.r2 is not None
    assert near.r2 > far.r2


def test_drawn_subsets_agree_with_enumeration(seed: int) -> None:
    table = random_table(10, np.random.default_rng(seed))
    values = shapley_values(table)
    found = explain(values).agreement(cs.TabularGame(table), 1000, rng=seed)
    assert not found.is_complete
    errors, wanted = errors_of(found), by_brute_force(table, values, 0.0)
    assert found.correlation == pytest.approx(wanted[0], abs=5 * errors["correlation"])
    assert found.r2 == pytest.approx(wanted[1], abs=5 * errors["r2"])
    assert errors["correlation"] < 0.02


def test_sizes_are_uniform_and_so_are_subsets_of_a_size(seed: int) -> None:
    n, p = 12_000, 4
    drawn = draw_uniform_sizes(n, p, np.random.default_rng(seed))
    counts = np.bincount(codes(drawn), minlength=2**p)
    expected = n * uniform_size_probabilities(masks(np.arange(2**p), p))
    assert expected.sum() == pytest.approx(n)
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 2**p - 1)


@pytest.mark.statistical
@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_interval_covers_truth_95_percent_of_the_time(seed: int, noise: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarysage.inference.association.RESAMPLES", 500)
    rng, runs, n = np.random.default_rng(seed), 200, 150
    table = random_table(8, np.random.default_rng(3))
    values = shapley_values(table)
    u, v, truth = masks(np.arange(256), 8) @ values, table - table[0], by_brute_force(table, values, 0.0)

    def interval() -> tuple[np.ndarray, np.ndarray]:
        subsets = codes(draw_uniform_sizes(n, 8, rng))
        powers = v[subsets] + noise * rng.normal(size=n)
        association = Association(u[subsets], powers, np.full(n, noise**2), np.full(n, 1 / n))
        return association.interval(0.95, is_drawn=True, rng=rng)

    coverage = covers((interval() for _ in range(runs)), truth).mean(axis=0)
    assert (np.abs(coverage - 0.95) < binomial_room(runs, std_errors=4.5)).all(), coverage


def test_interval_of_all_subsets_is_about_the_noise_of_powers(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clarysage.inference.association.RESAMPLES", 500)
    rng, runs, noise = np.random.default_rng(seed), 200, 0.1
    table = random_table(6, np.random.default_rng(3))
    values, subsets = shapley_values(table), masks(np.arange(64), 6)

    def interval() -> tuple[np.ndarray, np.ndarray]:
        powers = table - table[0] + noise * rng.normal(size=64)
        association = Association(subsets @ values, powers, np.full(64, noise**2), uniform_size_probabilities(subsets))
        return association.interval(0.95, is_drawn=False, rng=rng)

    coverage = covers((interval() for _ in range(runs)), by_brute_force(table, values, 0.0)).mean(axis=0)
    assert (np.abs(coverage - 0.95) < binomial_room(runs, std_errors=4.5)).all(), coverage


@pytest.mark.parametrize(("n", "is_told"), [(9, False), (10, True)])
def test_a_handful_of_subsets_has_no_interval(seed: int, n: int, is_told: bool) -> None:
    rng = np.random.default_rng(seed)
    game = cs.TabularGame(random_table(8, rng))
    found = explain(rng.random(8)).agreement(game, n=n, rng=seed)
    assert found.correlation is not None
    assert (found.interval()["correlation"] is not None) == is_told
    assert ("95% interval" in str(found)) == is_told
    found.plot()
    pyplot.close("all")


def test_wider_level_has_wider_interval(seed: int) -> None:
    found = explain(np.ones(9)).agreement(cs.TabularGame(random_table(9, np.random.default_rng(seed))), 100, rng=seed)
    (low, high), (lower, higher) = (found.interval(level)["correlation"] or (0, 0) for level in (0.5, 0.99))
    assert lower < low < high < higher


# powers of a model


def test_powers_of_a_linear_model_are_those_of_the_closed_form(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, background, slopes = rng.normal(size=(300, 4)), 1 + rng.normal(size=(400, 4)), np.array([2.0, -1.0, 0.5, 0.0])
    model = LinearRegression().fit(X, X @ slopes)
    y = X @ slopes + rng.normal(size=300)
    found = explain(slopes**2).agreement(game_of(model, "squared error", X, y, background))
    mean = background.mean(axis=0)
    shown = [np.where(S, X, mean) @ slopes for S in found.subsets]
    losses = np.array([np.mean((y - one) ** 2) for one in shown])
    np.testing.assert_allclose(found.v, losses[0] - losses, atol=1e-9)
    assert not found.std_error.any()


def test_intervals_of_drawn_subsets_are_moved_as_efron_says(seed: int) -> None:
    """The BCa interval (Efron 1987), written out: the jackknife's skewness and the median bias move both ends."""
    rng = np.random.default_rng(seed)
    found, around, left_out = np.array([0.3, -0.2]), rng.gamma(2.0, size=(400, 2)) - 1.5, rng.gamma(1.0, size=(30, 2))
    tails = np.array([0.025, 0.975])
    shares = _bca_levels(found, around, left_out, tails)
    for number, (end, tail) in product(range(2), enumerate(tails)):
        jackknife = left_out[:, number].mean() - left_out[:, number]
        a = sum(jackknife**3) / (6 * sum(jackknife**2) ** 1.5)
        z0 = norm.ppf(np.mean(around[:, number] < found[number]))
        z = z0 + norm.ppf(tail)
        assert shares[end, number] == pytest.approx(norm.cdf(z0 + z / (1 - a * z)), rel=1e-9)


def test_numbers_without_a_pair_are_those_of_the_others(seed: int) -> None:
    u, v, variance = np.random.default_rng(seed).random((3, 9))
    whole = Association(u, v, 0.01 * variance, np.full(9, 1 / 9))
    for pair, numbers in enumerate(whole._left_out(whole._terms())):
        rest = np.arange(9) != pair
        others = Association(u[rest], v[rest], 0.01 * variance[rest], np.full(8, 1 / 8))
        assert np.allclose(numbers, others._from_sums(others._terms().sum(axis=0)), rtol=0, atol=1e-9)


def test_the_variance_of_a_power_by_few_rows_is_that_over_all_draws() -> None:
    """Each of two examples gains one of two numbers, drawn twice: all sixteen outcomes, one as likely as the other."""
    weights, gains = np.array([0.3, 0.7]), np.array([[1.0, 4.0], [-2.0, 0.5]])
    shown = []
    for picks in product(range(2), repeat=4):
        drawn = np.array([gains[place % 2, pick] for place, pick in enumerate(picks)])[:, None]
        subsampled = SimpleNamespace(
            rows=1, at=lambda examples, coalitions, rng, skip, drawn=drawn: (drawn[:, None], 4)
        )
        game = SimpleNamespace(weights=weights, ends=(np.zeros((2, 1)), None))
        everyone = np.ones(3, dtype=bool)
        shown.append(_by_subsamples(game, subsampled, np.arange(2), everyone, 100, np.random.default_rng(0)))
    values, variances = np.array([(power.value[0], power.variance[0]) for power in shown]).T
    assert values.mean() == pytest.approx(weights @ gains.mean(axis=1), rel=1e-12)
    assert variances.mean() == pytest.approx(values.var(), rel=1e-12)


def test_gains_that_follow_known_ones_are_known_for_all_examples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    known, weights = rng.normal(size=(200, 2)), rng.dirichlet(np.ones(200))
    game = SimpleNamespace(weights=weights, ends=(np.zeros((200, 2)), known))
    drawn = rng.choice(200, size=40, p=weights)
    value, variance = _regression_estimate(game, drawn, 2 + 3 * known[drawn])
    assert np.allclose(value, 2 + 3 * (weights @ known), rtol=0, atol=1e-9)
    assert np.all(variance < 1e-18)


@pytest.mark.parametrize(
    ("f", "loss"),
    [
        (black_box, "squared error"),
        (black_box, "absolute error"),
        (probability, "cross entropy"),
        (probability, "zero one"),
        (probability, "brier"),
    ],
)
@pytest.mark.parametrize("few_examples", [False, True])
def test_powers_by_few_rows_are_right_within_their_errors(
    f: Any, loss: str, few_examples: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, background = regression(seed, n=250, m=100)
    y = (y > 0).astype(int) if f is probability else y
    game = game_of(f, loss, X, y, background)
    monkeypatch.setattr("clarysage.games.coalition_value.ROWS", 1500 if few_examples else 8000)
    subsets = draw_uniform_sizes(200, 5, np.random.default_rng(seed))
    subsets = subsets[subsets.any(axis=1) & ~subsets.all(axis=1)][:60]
    shown = [game.value(S, np.random.default_rng([seed, place])) for place, S in enumerate(subsets)]
    value, error = (
        np.array([one[0] for one in ones])
        for ones in ([one.value for one in shown], [np.sqrt(one.variance) for one in shown])
    )
    off = value - powers(game, subsets)
    assert np.median(error) > 0
    assert abs(off.sum()) < 5 * np.sqrt((error**2).sum())
    assert (off**2).sum() == pytest.approx((error**2).sum(), rel=5 * np.sqrt(3 / len(off)))
    assert np.median([one.rows for one in shown]) < 250 * 100 / 2


def means(background: np.ndarray) -> Any:
    return cs.Baseline(background=background)


@pytest.mark.parametrize("removal", [cs.Gaussian, cs.Neighbours, cs.ProductOfMarginals, cs.TreeConditional, means])
def test_powers_under_any_removal_are_right_within_their_errors(
    removal: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, background = regression(seed, n=200, m=100)
    restricted = removal(background).restrict(cs.as_predictor(black_box), X)
    game = cs.PredictivePower.of(restricted, "squared error", X, y)
    monkeypatch.setattr("clarysage.games.coalition_value.ROWS", 3000 if removal is cs.Gaussian else 150)
    subsets = masks(np.arange(1, 31), 5)
    shown = [game.value(S, np.random.default_rng([seed, place])) for place, S in enumerate(subsets)]
    off = np.array([one.value[0] for one in shown]) - powers(game, subsets)
    variance = np.array([one.variance[0] for one in shown])
    is_known = np.isin(subsets[:, :4].sum(axis=1), (0, 4))  # as an end: the model does not look at the fifth column
    assert (variance[~is_known] > 0).all()
    assert abs(off.sum()) < 5 * np.sqrt(variance.sum())
    assert (off**2).sum() == pytest.approx(variance.sum(), rel=5 * np.sqrt(3 / len(off)))


def test_powers_of_trees_on_drawn_examples_are_right_within_their_errors(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, background = regression(seed, n=400, m=50)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    game = game_of(model, "squared error", X, y, background)
    assert game.restricted.native is not None
    subsets = masks(np.arange(1, 31), 5)
    exact = [game.value(S, np.random.default_rng(seed)) for S in subsets]
    np.testing.assert_allclose([one.value[0] for one in exact], powers(game, subsets), atol=1e-12)
    assert not any(one.variance.any() for one in exact)
    monkeypatch.setattr("clarysage.games.coalition_value.ROWS_OF_NATIVE", 5000)
    shown = [game.value(S, np.random.default_rng([seed, place])) for place, S in enumerate(subsets)]
    off = np.array([one.value[0] for one in shown]) - powers(game, subsets)
    variance = np.array([one.variance[0] for one in shown])
    assert (off**2).sum() == pytest.approx(variance.sum(), rel=5 * np.sqrt(3 / len(off)))
    assert abs(off.sum()) < 5 * np.sqrt(variance.sum())


def additive(X: np.ndarray) -> np.ndarray:
    return np.asarray(X[:, 0] + np.abs(X[:, 1]) + X[:, 2])


def test_noise_of_powers_does_not_pass_for_lack_of_agreement(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, _, background = regression(seed, n=150, m=60, p=11)
    game = game_of(additive, "squared error", X, additive(X), background)
    values = np.array([1, 1 - 2 / np.pi, 1, 0.4, 0, 0, 0, 0, 0, 0, 0])  # variances, but for one that is nothing
    monkeypatch.setattr("clarysage.games.coalition_value.ROWS", 1e9)
    exact = explain(values).agreement(game, 1000, rng=seed)
    monkeypatch.setattr("clarysage.games.coalition_value.ROWS", 100)
    found = explain(values).agreement(game, 1000, rng=seed)
    np.testing.assert_array_equal(found.subsets, exact.subsets)
    assert not exact.std_error.any()
    assert found.model_rows < exact.model_rows / 10
    errors = errors_of(found)
    assert exact.correlation is not None
    assert np.corrcoef(found.u, found.v)[0, 1] < exact.correlation - 3 * errors["correlation"]  # as it comes
    assert found.correlation == pytest.approx(exact.correlation, abs=5 * errors["correlation"])
    assert found.r2 == pytest.approx(exact.r2, abs=5 * errors["r2"])


def test_weights_of_examples_count(seed: int) -> None:
    X, y, background = regression(seed)
    weights = np.random.default_rng(seed).random(len(X)) * (np.arange(len(X)) % 3 > 0)
    game = game_of(black_box, "squared error", X, y, background, sample_weight=weights)
    found = explain(np.ones(5)).agreement(game)
    kept = np.flatnonzero(weights)
    wanted = powers(
        game_of(black_box, "squared error", X[kept], y[kept], background, sample_weight=weights[kept]), found.subsets
    )
    np.testing.assert_allclose(found.v, wanted, atol=1e-12)


def test_exact_sage_of_a_model_agrees_as_brute_force_says(seed: int) -> None:
    X, y, background = regression(seed)
    game = game_of(black_box, "squared error", X, y, background)
    explanation = cs.sage(black_box, X, y, background=background, method="exact", loss="squared error")
    found = explanation.agreement(game)
    table = powers(game, masks(np.arange(32), 5))
    np.testing.assert_allclose(explanation.values, shapley_values(table), atol=1e-12)
    assert (found.correlation, found.r2) == pytest.approx(by_brute_force(table, explanation.values, 0.0))


def test_groups_are_players(seed: int) -> None:
    X, y, background = regression(seed)
    groups = {"pair": ["x0", "x1"]}
    explanation = cs.sage(black_box, X, y, background=background, groups=groups, method="exact", loss="squared error")
    game = game_of(
        black_box, "squared error", X, y, background, players=cs.Players.of([f"x{i}" for i in range(5)], groups)
    )
    found = explanation.agreement(game)
    assert found.subsets.shape == (16, 4)
    at = [found.names.index("pair")]
    alone = (found.subsets.sum(axis=1) == 1) & found.subsets[:, at].all(axis=1)
    apart = game_of(black_box, "squared error", X, y, background)
    assert found.v[alone][0] == pytest.approx(powers(apart, np.array([[True, True, False, False, False]]))[0])


def test_players_are_found_by_name_whatever_their_order(seed: int) -> None:
    X, y, background = regression(seed)
    game = game_of(black_box, "squared error", X, y, background)
    values = np.array([0.5, 0.4, 1.0, 0.2, 0.0])
    straight = explain(values)
    turned = explain(values[::-1], feature_names=straight.feature_names[::-1])
    one, other = straight.agreement(game), turned.agreement(game)
    assert one.correlation == pytest.approx(other.correlation)
    assert other.names == turned.feature_names
    by_members = {frozenset(m): v for m, v in zip(one.to_frame()["members"], one.v, strict=True)}
    for members, v in zip(other.to_frame()["members"], other.v, strict=True):
        assert v == pytest.approx(by_members[frozenset(members)])
    assert straight.agreement(game).against(turned).r2 == pytest.approx(one.r2)


def test_loss_is_that_of_the_explanation(seed: int) -> None:
    X, y, background = regression(seed)
    game = game_of(black_box, ["squared error", "absolute error"], X, y, background)
    for number, loss in enumerate(("squared error", "absolute error")):
        found = explain(np.ones(5), loss=loss).agreement(game)
        assert found.loss == loss
        np.testing.assert_allclose(found.v, powers(game, found.subsets, number), atol=1e-12)
    assert explain(np.ones(5), loss="none", base=None, total=None).agreement(game).loss == "squared error"
    with pytest.raises(InputError, match="'cross entropy', as explained"):
        explain(np.ones(5), loss="cross entropy").agreement(game)


# powers by refits


def refits(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 4))
    y = X @ [2.0, 1.0, 0.5, 0.0] + rng.normal(size=200)
    game = cs.UniversalPower.of(LinearRegression(), X[:120], y[:120], test=(X[120:], y[120:]), loss="squared error")
    return game, (X, y)


def test_powers_by_refits_are_those_of_least_squares(seed: int) -> None:
    game, (X, y) = refits(seed)
    found = explain([4, 1, 0.25, 0]).agreement(game, 16)
    base = np.mean((y[120:] - y[:120].mean()) ** 2)
    for S, v in zip(found.subsets, found.v, strict=True):
        design = np.column_stack([np.ones(200), X[:, S]])
        fit = np.linalg.lstsq(design[:120], y[:120], rcond=None)[0]
        assert v == pytest.approx(base - np.mean((y[120:] - design[120:] @ fit) ** 2))
    assert found.fits == 14


def test_each_subset_is_fitted_once(seed: int) -> None:
    game, _ = refits(seed)
    found = explain(np.ones(4)).agreement(game, 12, rng=seed)
    distinct = len({row.tobytes() for row in found.subsets if 0 < row.sum() < 4})
    assert found.fits == distinct
    again = explain([4, 1, 0.25, 0]).agreement(game, 12, rng=seed)
    assert again.fits == again.model_rows == 0
    np.testing.assert_array_equal(again.v, found.v)


def test_answer_does_not_depend_on_number_of_jobs(seed: int) -> None:
    X, y, background = regression(seed, n=250, m=100)
    few = game_of(black_box, "squared error", X, y, background)
    for game, p in ((few, 5), (refits(seed)[0], 4)):
        one = explain(np.arange(1.0, p + 1)).agreement(game, 15, rng=seed)
        game = refits(seed)[0] if p == 4 else game
        two = explain(np.arange(1.0, p + 1)).agreement(game, 15, rng=seed, n_jobs=2)
        assert one.to_dict() == two.to_dict()
    assert few.subsampled.rows * 2 * 250 < 2**14 < 250 * 100  # so that rows were drawn


# heuristics, and powers that never change


def test_heuristics_have_a_correlation_and_no_r2(seed: int) -> None:
    table = random_table(4, np.random.default_rng(seed))
    values = shapley_values(table)
    found = explain(10 * values, constant=None, base=None, total=None).agreement(cs.TabularGame(table))
    assert found.r2 is None
    assert found.interval()["r2"] is None
    assert found.correlation == pytest.approx(by_brute_force(table, values, 0.0)[0])
    assert "No R2" in str(found)


def test_shares_of_variance_are_not_compared_with_losses(seed: int) -> None:
    game, (X, y) = refits(seed)
    explanation = cs.importance("squared correlation", None, X, y)
    found = explanation.agreement(game)
    assert explanation.constant == 0
    assert found.r2 is None
    assert found.correlation is not None
    assert found.correlation == explain([4, 1, 0.25, 0]).agreement(game).against(explanation).correlation


def test_nothing_correlates_with_what_does_not_vary() -> None:
    for values, table in (([1.0, 2.0], np.ones(4)), ([0.0, 0.0], [0, 1, 2, 3])):
        found = explain(values).agreement(cs.TabularGame(table))
        assert found.correlation is None
        assert "No correlation" in str(found)
        json.dumps(found.to_dict(), allow_nan=False)
    drawn = explain(np.ones(6)).agreement(cs.TabularGame(np.ones(64)), 20, rng=0)
    assert drawn.correlation is None
    assert drawn.interval() == {"correlation": None, "r2": None}


# what can be done with it


def test_other_explanation_is_judged_by_the_same_powers(seed: int) -> None:
    table = random_table(7, np.random.default_rng(seed))
    game = cs.TabularGame(table)
    one, other = explain(np.ones(7)), explain(shapley_values(table), measure="other")
    found = one.agreement(game, 100, rng=seed).against(other)
    assert (found.measure, found.model_rows) == ("other", 0)
    wanted = other.agreement(game, 100, rng=seed)
    assert (found.correlation, found.r2) == (wanted.correlation, wanted.r2)
    with pytest.raises(InputError):
        found.against(explain(np.ones(6)))


def test_frame_text_and_file_hold_the_numbers(seed: int, tmp_path: Any) -> None:
    found = explain([1.0, 2.0, 3.0]).agreement(cs.TabularGame(random_table(3, np.random.default_rng(seed))), 8)
    frame = found.to_frame()
    assert list(frame.columns) == ["size", "members", "u", "v", "std_error", "weight"]
    assert frame["members"][5] == ("x0", "x2")
    assert frame["u"][5] == 4.0
    words = " ".join(str(found).split())
    assert f"correlation {found.correlation:.4f}" in words
    assert f"R2 {found.r2:.4f}" in words
    assert "all 8 subsets of 3 features" in str(found)
    found.save(tmp_path / "agreement.json")
    read = json.loads((tmp_path / "agreement.json").read_text())
    assert read["r2"] == found.r2
    assert read["subsets"][5] == [True, False, True]
    again = cs.load(tmp_path / "agreement.json")
    assert (again.to_dict(), str(again)) == (found.to_dict(), str(found))
    with pytest.raises(ValueError, match="read-only"):
        found.v[0] = 1.0


def test_progress_is_shown_where_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    game = cs.TabularGame(np.arange(16.0))
    explain(np.ones(4)).agreement(game)
    assert capsys.readouterr().err == ""
    explain(np.ones(4)).agreement(game, progress=True)
    assert "100%" in capsys.readouterr().err


@pytest.mark.parametrize("n", [0, 1, -5, True, 10.0, "10", None])
def test_bad_number_of_subsets_is_refused(n: Any) -> None:
    with pytest.raises(InputError) as caught:
        explain(np.ones(2)).agreement(cs.TabularGame(np.arange(4)), n)
    assert caught.value.argument == "n"


@pytest.mark.parametrize("game", [None, "game", np.arange(4), black_box, cs.TabularGame(np.arange(8))])
def test_what_is_no_game_of_these_players_is_refused(game: Any) -> None:
    with pytest.raises(InputError) as caught:
        explain(np.ones(2)).agreement(game)
    assert caught.value.argument == "game"


def test_players_of_other_names_are_refused(seed: int) -> None:
    X, y, background = regression(seed)
    game = game_of(black_box, "squared error", X, y, background)
    with pytest.raises(InputError, match="only one of the two has 'age'"):
        explain(np.ones(5), feature_names=("x0", "x1", "x2", "x3", "age")).agreement(game)


@pytest.mark.parametrize(("option", "value"), [("n_jobs", 0), ("rng", -1)])
def test_bad_option_is_named(option: str, value: Any) -> None:
    with pytest.raises(InputError) as caught:
        explain(np.ones(2)).agreement(cs.TabularGame(np.arange(4)), **{option: value})
    assert caught.value.argument == option


@pytest.mark.parametrize("level", [0, 1, "0.95", None])
def test_bad_level_is_refused(level: Any) -> None:
    with pytest.raises(InputError) as caught:
        explain(np.ones(2)).agreement(cs.TabularGame(np.arange(4))).interval(level)
    assert caught.value.argument == "level"


# the picture


def test_picture_shows_every_subset_and_the_line(seed: int) -> None:
    found = explain(np.ones(4)).agreement(cs.TabularGame(random_table(4, np.random.default_rng(seed))))
    ax = found.plot(ax=Figure(layout="constrained").add_subplot(), title="a title")
    (dots,) = (one for one in ax.collections if one.get_gid() == "subsets")
    np.testing.assert_allclose(dots.get_offsets(), np.column_stack([found.v, found.u]))
    np.testing.assert_array_equal(dots.get_array(), found.subsets.sum(axis=1))
    (line,) = (one for one in ax.lines if one.get_gid() == "diagonal")
    np.testing.assert_array_equal(line.get_xdata(), line.get_ydata())
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_title() == "a title"
    (text,) = (one.get_text() for one in ax.texts if one.get_gid() == "note")
    assert f"Correlation {found.correlation:.3f}" in text


def test_picture_of_a_heuristic_has_no_line(seed: int) -> None:
    found = explain(np.ones(4), constant=None).agreement(cs.TabularGame(np.arange(16.0)))
    ax = proxy(found, ax=Figure().add_subplot())
    assert not ax.lines
    assert ax.get_ylabel() == "u(S): sum of scores in S"


def test_nothing_in_the_picture_is_cut() -> None:
    found = explain(np.ones(4)).agreement(cs.TabularGame(np.arange(16.0) ** 2))
    noisy = replace(found, loss="a loss whose name is long", std_error=np.full(16, 0.1))  # so that intervals are told
    ax = noisy.plot(title="A title")
    ax.figure.canvas.draw()
    (text,) = ax.figure.findobj(lambda one: one.get_gid() == "note")
    for box in (one.get_window_extent() for one in (text, ax.title, ax.xaxis.label, ax.yaxis.label)):
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= ax.figure.bbox.width
        assert box.y1 <= ax.figure.bbox.height
    pyplot.close(ax.figure)


@pytest.mark.parametrize(("argument", "changes"), [("agreement", {"agreement": "x"}), ("ax", {"ax": "axis"})])
def test_bad_argument_of_the_picture_is_named(argument: str, changes: dict[str, Any]) -> None:
    found = explain(np.ones(2)).agreement(cs.TabularGame(np.arange(4)))
    with pytest.raises(InputError) as caught:
        proxy(**{"agreement": found, **changes})
    assert caught.value.argument == argument
