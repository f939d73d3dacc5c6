"""Pairwise interactions against enumeration, closed forms and identities; and what SAGE values leave unexplained."""

from __future__ import annotations

import json
from itertools import combinations, product
from math import factorial

import matplotlib
import numpy as np
import pytest

import clarysage as cs
from clarysage.coalitions import draw_uniform_sizes, interaction_coefficients, masks, shapley_values
from clarysage.estimators import estimate
from clarysage.estimators.additive_fit import Blocks, enumerated_share, sampled_share
from clarysage.estimators.interactions import ExactInteractions, SampledInteractions, unbiased_payoffs
from clarysage.inference.estimate import StopReason
from clarysage.inference.intervals import interval
from clarysage.inference.stopping import ConvergedRelativeTo
from clarysage.results.text import number_format
from tests.lab.coverage import binomial_room, covers

matplotlib.use("Agg")
SIGNS = np.array(list(product([-1.0, 1.0], repeat=3)))  # all rows once: columns are independent, exactly


def by_formula(v, p):
    """The Shapley interaction index, subset by subset; v maps frozensets to numbers."""
    found = {}
    for i, j in combinations(range(p), 2):
        others, value = [k for k in range(p) if k not in (i, j)], 0.0
        for size in range(p - 1):
            for subset in combinations(others, size):
                S = frozenset(subset)
                weight = factorial(size) * factorial(p - size - 2) / factorial(p - 1)
                value += weight * (v[S | {i, j}] - v[S | {i}] - v[S | {j}] + v[S])
        found[i, j] = value
    return np.array([found[pair] for pair in combinations(range(p), 2)])


def as_mapping(table):
    p = len(table).bit_length() - 1
    return {
        frozenset(np.flatnonzero(mask)): value for mask, value in zip(masks(np.arange(2**p), p), table, strict=True)
    }


def every_pair(p):
    return np.array(list(combinations(range(p), 2)))


def random_game(seed, *, examples=1, p=5, weights=None):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(examples, 2**p)) + masks(np.arange(2**p), p).sum(axis=1)
    return cs.TabularGame(table, **({} if weights is None else {"weights": weights}))


def product_of_two(Z):
    return Z[:, 0] * Z[:, 1]


def mixture(Z):
    return Z[:, 0] * Z[:, 1] + np.sin(2 * Z[:, 2]) + Z[:, 3] - 0.5 * Z[:, 0] * Z[:, 2] * Z[:, 3]


def wide_mixture(Z):
    return mixture(Z) + 0.5 * Z[:, 4] * Z[:, 5] + 0.2 * Z[:, 6:].sum(axis=1)


# the index itself


@pytest.mark.parametrize("p", [2, 3, 5])
def test_shares_add_up_to_the_formula(seed, p):
    table = np.random.default_rng(seed).normal(size=2**p)
    shares = np.array([interaction_coefficients(mask, every_pair(p)) for mask in masks(np.arange(2**p), p)])
    assert np.allclose(table @ shares, by_formula(as_mapping(table), p), atol=1e-12)


def test_enumeration_agrees_with_the_formula(seed):
    weights = np.array([0.5, 0.2, 0.3, 0.0])
    game = random_game(seed, examples=4, weights=weights)
    found = estimate(game, ExactInteractions(every_pair(5)))
    mean = weights @ game.payoffs
    assert found.stopped is StopReason.EXACT
    assert np.allclose(found.values[0, 5:], by_formula(as_mapping(mean), 5), atol=1e-12)
    assert np.allclose(found.values[0, :5], shapley_values(mean), atol=1e-12)


def test_interaction_is_the_gain_of_playing_as_one_over_playing_without_the_other(seed):
    """I_ij = phi_[ij] of the game in which i and j are one - phi_i where j is away - phi_j where i is away."""
    table = random_game(seed, p=4).payoffs[0]
    S = np.arange(16)
    i, j = 1, 3

    def of_the_rest(mapped):
        """Shapley values of the game of three players 0, 2 and (last) what stands for the pair."""
        return shapley_values(np.array([table[mapped(code)] for code in range(8)]))[2]

    rest = {code: (code & 1) | ((code >> 1 & 1) << 2) for code in range(8)}
    merged = of_the_rest(lambda code: rest[code] | ((code >> 2 & 1) * (2**i | 2**j)))
    alone_i = of_the_rest(lambda code: rest[code] | ((code >> 2 & 1) * 2**i))
    alone_j = of_the_rest(lambda code: rest[code] | ((code >> 2 & 1) * 2**j))
    found = estimate(cs.TabularGame(table), ExactInteractions(np.array([[i, j]]))).values[0, 4]
    assert len(S) == len(table)
    assert found == pytest.approx(merged - alone_i - alone_j, abs=1e-12)


@pytest.mark.needs("shapiq")
def test_enumeration_agrees_with_shapiq(seed):
    import shapiq

    p = 6
    table = np.random.default_rng(seed).normal(size=2**p)
    table -= table[0]  # shapiq's games begin at zero
    peer = shapiq.ExactComputer(lambda S: table[S @ (1 << np.arange(p))], n_players=p)("SII", order=2)
    found = estimate(cs.TabularGame(table), ExactInteractions(every_pair(p))).values[0, p:]
    assert np.allclose(found, [peer[pair] for pair in combinations(range(p), 2)], atol=1e-10)


def test_sizes_are_uniform_whoever_is_taken_out(seed):
    n, p = 20_000, 6
    T = draw_uniform_sizes(n, p, np.random.default_rng(seed))
    for left in (T, np.delete(T, [1, 4], axis=1)):
        counts = np.bincount(left.sum(axis=1), minlength=left.shape[1] + 1)
        expected = n / (left.shape[1] + 1)
        assert np.all(np.abs(counts - expected) <= 5 * np.sqrt(expected))


# random coalitions


def test_random_coalitions_agree_with_enumeration_on_random_games(seed):
    game = random_game(seed, examples=30, p=6)
    truth = estimate(game, ExactInteractions(every_pair(6))).values[0, 6:]
    found = estimate(game, SampledInteractions(every_pair(6)), stop=[ConvergedRelativeTo(0.05, np.ones(1))], seed=seed)
    assert found.stopped is StopReason.CONVERGED
    assert np.all(np.abs(found.values[0] - truth) <= 5 * found.std_error[0])
    assert 0 < found.std_error.max() <= 0.05 * max(1, np.abs(found.values).max())


def test_random_coalitions_do_not_mind_the_order_within_a_pair(seed):
    game = random_game(seed, examples=10)
    one, other = (
        estimate(game, SampledInteractions(np.array(pairs)), stop=[cs.Budget(20_000)], seed=seed).values
        for pairs in ([[0, 3], [1, 2]], [[3, 0], [2, 1]])
    )
    assert np.array_equal(one, other)


def test_random_coalitions_of_a_game_of_two_players_have_no_error(seed):
    game = random_game(seed, examples=20, p=2)
    found = estimate(game, SampledInteractions(np.array([[0, 1]])), seed=seed)
    table = game.payoffs.mean(axis=0)
    assert found.values[0, 0] == pytest.approx(table[3] - table[1] - table[2] + table[0], abs=1e-12)
    assert found.std_error[0, 0] < 1e-12


@pytest.mark.statistical
def test_intervals_about_the_data_hold_as_often_as_they_say(seed):
    game, pairs = random_game(seed, examples=12, p=5), every_pair(5)
    truth = estimate(game, ExactInteractions(pairs)).values[0, 5:]
    runs = 100
    toggled = [
        estimate(game, SampledInteractions(pairs), stop=[cs.Budget(8_000)], seed=1000 * seed + run)
        for run in range(runs)
    ]
    ends = (interval(found.values[0], found.std_error[0], found.dof[0], 0.95) for found in toggled)
    shares = covers(ends, truth).mean(axis=1)
    # the pairs of a run go together, so that the error of the share is judged by runs
    assert abs(shares.mean() - 0.95) <= 4 * shares.std(ddof=1) / np.sqrt(runs) + 0.01


@pytest.mark.statistical
def test_intervals_about_rows_hold_as_often_as_they_say(seed):
    """Examples drawn from a population of 2,000 games, of which the interaction is known."""
    rng = np.random.default_rng(seed)
    population = rng.normal(size=(2000, 8)) * rng.gamma(2.0, size=(2000, 1)) + rng.normal(size=8)
    truth = estimate(cs.TabularGame(population), ExactInteractions(np.array([[0, 2]]))).values[0, 3]

    def interval_of(run):
        sample = cs.TabularGame(population[rng.integers(2000, size=60)])
        target = estimate(sample, SampledInteractions(np.array([[0, 2]])), stop=[cs.Budget(500)], seed=run).targets[
            "rows"
        ]
        return interval(*(part[0] for part in (target.values, target.std_error, target.dof)), skew=target.skew[0])

    coverage = covers((interval_of(run) for run in range(150)), truth).mean()
    assert abs(coverage - 0.95) <= binomial_room(150, std_errors=4) + 0.01


@pytest.mark.parametrize("is_wide", [False, True])
def test_few_background_rows_are_right_on_average(seed, is_wide):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(3, 4)), rng.normal(size=(150, 4))
    f_S = cs.Marginal(background).restrict(cs.as_predictor(mixture), X)
    game = cs.PredictivePower.of(f_S, "squared error", X, X[:, 0])
    few = game.subsampled.enlarged if is_wide else game.subsampled
    n, examples = 3000, np.arange(3)
    S = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1]], dtype=bool)
    exact = game.payoff(examples, S, rng)[:, 0]
    found, rows = unbiased_payoffs(game, few, np.tile(examples, n), np.tile(S[:, None], (n, 1, 1)), rng, skip=True)
    found = found.reshape(n, 3)
    assert few.rows < 150
    assert rows <= n * 3 * few.rows
    assert np.all(np.abs(found.mean(axis=0) - exact) <= 5 * found.std(axis=0) / np.sqrt(n))


def test_random_coalitions_with_few_of_many_background_rows_agree_with_enumeration(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(25, 4)), rng.normal(size=(150, 4))
    exact, found = (
        cs.interactions(mixture, X, mixture(X), background=background, method=method, tolerance=0.05, rng=seed)
        for method in ("exact", "random coalitions")
    )
    assert np.all(np.abs(found.values - exact.values) <= 5 * found.std_error)
    assert np.all(found.std_error > 0)


# closed forms


@pytest.mark.parametrize("method", ["exact", "random coalitions"])
@pytest.mark.parametrize("slope", [0.5, 1.0], ids=["mean", "sum"])
def test_two_copies_share_what_they_know(seed, slope, method):
    """f = slope (x0 + x1) + x2 with x1 = x0: I = -2 slope^2 Var(x0)."""
    Z = np.random.default_rng(seed).normal(size=(60, 2))
    Z -= Z.mean(axis=0)
    X = np.column_stack([Z[:, 0], Z[:, 0], Z[:, 1]])

    def f(Z):
        return slope * (Z[:, 0] + Z[:, 1]) + Z[:, 2]

    found = cs.interactions(f, X, f(X), background=X, method=method, tolerance=0.01, rng=seed)
    truth = -2 * slope**2 * X[:, 0].var()
    off = abs(found.between("x0", "x1") - truth)
    assert off <= (1e-10 if method == "exact" else 5 * found.std_error[0] + 1e-10)
    assert found.meanings()[0] == "share what they know"


@pytest.mark.parametrize("method", ["exact", "random coalitions"])
def test_exclusive_or_is_worth_all_of_the_variance_together(method, seed):
    """Neither x0 nor x1 alone helps: v = 0, 0, 0, 1, whatever x2 does, and nothing else interacts."""
    y = product_of_two(SIGNS)
    found = cs.interactions(product_of_two, SIGNS, y, background=SIGNS, method=method, tolerance=0.005, rng=seed)
    truth = np.array([1.0, 0.0, 0.0])
    assert found.pairs == (("x0", "x1"), ("x0", "x2"), ("x1", "x2"))
    assert np.all(np.abs(found.values - truth) <= 5 * found.std_error + 1e-10)
    assert found.meanings(about="data")[0] == "worth more together"


@pytest.mark.parametrize("method", ["exact", "random coalitions"])
def test_exclusive_or_of_classes_is_worth_the_entropy_it_saves(method, seed):
    """P(y = 1) = 0.5 + 0.4 x0 x1: I = log 2 - H(0.9) under cross entropy."""
    X = np.vstack([SIGNS, SIGNS])
    y = np.repeat([0, 1], len(SIGNS))
    p = 0.5 + 0.4 * product_of_two(X)

    def model(Z):
        chance = 0.5 + 0.4 * product_of_two(Z)
        return np.column_stack([1 - chance, chance])

    found = cs.interactions(
        model,
        X,
        y,
        background=SIGNS,
        loss="cross entropy",
        sample_weight=np.where(y == 1, p, 1 - p),
        method=method,
        pairs=[("x0", "x1")],
        tolerance=0.005,
        rng=seed,
    )
    truth = np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)
    assert abs(found.values[0] - truth) <= 5 * found.std_error[0] + 1e-10


def test_additive_parts_interact_by_their_covariance_alone(seed):
    """f = sum of g_i(x_i), squared error: I_ij = -2 Cov(g_i, g_j) over the examples, where the background is these."""
    X = np.random.default_rng(seed).normal(size=(80, 4))
    parts = np.column_stack([2 * X[:, 0], np.sin(X[:, 1]), X[:, 2] ** 2, 0 * X[:, 3]])

    def f(Z):
        return 2 * Z[:, 0] + np.sin(Z[:, 1]) + Z[:, 2] ** 2

    found = cs.interactions(f, X, f(X), background=X, method="exact")
    truth = -2 * np.cov(parts.T, bias=True)[np.triu_indices(4, 1)]
    assert np.allclose(found.values, truth, atol=1e-10)


@pytest.mark.parametrize("method", ["exact", "random coalitions"])
def test_independent_parts_of_an_additive_model_do_not_interact(method, seed):
    """Over all rows of a product no two columns are correlated: zeros, and SAGE values say all there is to say."""

    def f(Z):
        return Z @ [1.0, 2.0, 3.0]

    found = cs.interactions(f, SIGNS, f(SIGNS), background=SIGNS, method=method, rng=seed)
    assert found.converged
    assert np.all(np.abs(found.values) <= 5 * found.std_error + 1e-10)
    assert abs(found.unexplained) <= 5 * found.unexplained_error + 1e-10
    assert found.std_error.max() <= 0.025 * 9.0


def test_both_or_nothing_leaves_three_eighths_unexplained():
    """v = 0, 0, 0, 1 of two players: E[(v - u)^2] = 1/12, Var(v) = 2/9."""
    X = SIGNS[:, :2]
    found = cs.interactions(product_of_two, X, product_of_two(X), background=X, method="exact")
    assert found.unexplained == pytest.approx(3 / 8, abs=1e-12)
    assert found.unexplained_error == 0.0


# what is left unexplained


def test_enumerated_share_is_that_over_subsets_drawn_as_in_table_2(seed):
    table = random_game(seed, p=5).payoffs[0]
    values = shapley_values(table)
    S = draw_uniform_sizes(200_000, 5, np.random.default_rng(seed))
    v = table[S @ (1 << np.arange(5))] - table[0]
    squares = (v - S @ values) ** 2
    share = enumerated_share(table, values).value
    error = np.std(squares / v.var() - share * (v - v.mean()) ** 2 / v.var()) / np.sqrt(len(v))
    assert abs(squares.mean() / v.var() - share) <= 5 * error


def test_blocks_agree_with_enumeration_and_know_their_error(seed):
    game = random_game(seed, examples=40, p=5)
    table = game.payoffs.mean(axis=0)
    values = shapley_values(table)
    truth = enumerated_share(table, values).value
    shares = [
        sampled_share(
            estimate(game, Blocks(values[None]), stop=[cs.Budget(128 * 100)], seed=100 * seed + run),
            0,
            np.zeros((5, 5)),
        )
        for run in range(40)
    ]
    found, errors = np.array([(share.value, share.std_error) for share in shares]).T
    assert abs(found.mean() - truth) <= 5 * found.std(ddof=1) / np.sqrt(40) + 0.1 * errors.mean()  # a ratio leans a bit
    assert 0.6 < found.std(ddof=1) / errors.mean() < 1.6


@pytest.mark.statistical
def test_errors_of_sage_values_are_taken_off_the_share(seed):
    """With values that err the share is that of the right ones on average; its error is rather too large.

    Where errors of the values are all there is, it is so by up to one and a half times: what is known of their part
    has their chance in it, and the larger of two bounds is taken.
    """
    rng = np.random.default_rng(seed)
    S = masks(np.arange(32), 5)
    table = S @ [2.0, 1.0, 0.5, 1.5, 1.0] + 0.2 * np.random.default_rng(0).normal(size=32)
    game = cs.TabularGame(table)  # of one example, so that blocks see v itself
    values, covariance = shapley_values(table), np.diag([0.04, 0.01, 0.09, 0.04, 0.01])
    truth = enumerated_share(table, values).value
    shares = []
    for run in range(100):
        off = values + rng.normal(size=5) * np.sqrt(np.diag(covariance))
        found = estimate(game, Blocks(off[None]), stop=[cs.Budget(128 * 64)], seed=1000 * seed + run)
        shares.append(sampled_share(found, 0, covariance))
    found, errors = np.array([(share.value, share.std_error) for share in shares]).T
    error = found.std(ddof=1) / np.sqrt(100)
    sizes = S.sum(axis=1)
    chance = 1 / (6 * np.bincount(sizes)[sizes])
    left_in = chance @ (S @ covariance.diagonal()) / (chance @ table**2 - (chance @ table) ** 2)
    assert abs(found.mean() - truth) <= 5 * error
    assert left_in > 5 * error  # which would be the bias if it were not taken off, so that the check can fail
    assert 0.4 < found.std(ddof=1) / np.sqrt(np.mean(errors**2)) < 1.3


def test_unexplained_is_what_agreement_over_all_subsets_leaves(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(20, 4)), rng.normal(size=(9, 4))
    y = mixture(X) + rng.normal(size=20)
    found = cs.interactions(mixture, X, y, background=background, method="exact")
    game = cs.PredictivePower.of(cs.Marginal(background).restrict(mixture, X), "squared error", X, y)
    assert found.unexplained == pytest.approx(1 - found.sage.agreement(game).r2, abs=1e-10)


# models and data


@pytest.fixture
def wide(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 8))
    return X, wide_mixture(X) + 0.3 * rng.normal(size=70), rng.normal(size=(25, 8))


def test_sampling_agrees_with_enumeration_of_a_model(wide, seed):
    X, y, background = wide
    options = {"background": background, "rng": seed, "top": 4}
    exact = cs.interactions(wide_mixture, X, y, method="exact", **options)
    found = cs.interactions(
        wide_mixture, X, y, method="random coalitions", pairs=list(exact.pairs), background=background, rng=seed
    )
    assert exact.is_complete
    assert len(exact.pairs) == 6
    assert found.converged
    assert np.all(np.abs(found.values - exact.values) <= 5 * found.std_error + 1e-10)
    assert abs(found.unexplained - exact.unexplained) <= 5 * found.unexplained_error


def test_exact_values_beside_interactions_are_sage_values(wide):
    X, y, background = wide
    found = cs.interactions(wide_mixture, X, y, background=background, method="exact")
    sage = cs.sage(wide_mixture, X, y, background=background, method="exact")
    assert np.allclose(found.sage.values, sage.values, atol=1e-12)
    for about in ("rows", "population"):
        assert np.allclose(found.sage.interval(about=about), sage.interval(about=about), atol=1e-10)
    assert set(found.players) == set(sage.top(5))


def test_known_sage_values_spare_the_run_that_finds_them(wide, seed):
    X, y, background = wide
    options = {"background": background, "rng": seed, "method": "random coalitions"}
    sage = cs.sage(wide_mixture, X, y, background=background, rng=seed)
    anew, spared = (cs.interactions(wide_mixture, X, y, of=of, **options) for of in (None, sage))
    assert np.array_equal(anew.sage.values, sage.values)
    assert np.array_equal(anew.values, spared.values)
    assert anew.unexplained == spared.unexplained
    ends = len(X) + len(background)
    assert anew.model_rows == spared.model_rows + sage.model_rows - ends


def test_groups_interact_as_one(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(20, 5)), rng.normal(size=(8, 5))
    y = mixture(X)
    found = cs.interactions(
        mixture, X, y, background=background, groups={"a": [0, 2], "b": ["x1", "x4"]}, method="exact"
    )
    columns = {"a": [0, 2], "b": [1, 4], "x3": [3]}

    def v(names):
        rows = np.repeat(background[None], 20, axis=0)
        for name in names:
            rows[:, :, columns[name]] = X[:, None, columns[name]]
        outputs = mixture(rows.reshape(-1, 5)).reshape(20, 8).mean(axis=1)
        return -np.mean((outputs - y) ** 2)

    names = ["a", "b", "x3"]
    table = {frozenset(S): v([names[i] for i in S]) for size in range(4) for S in combinations(range(3), size)}
    assert found.feature_names == ("a", "b", "x3")
    assert np.allclose(found.values, by_formula(table, 3), atol=1e-10)


@pytest.mark.parametrize("method", ["exact", "random coalitions"])
def test_a_list_of_losses_gives_a_list_of_interactions(wide, method, seed):
    X, y, background = wide
    X, background = X[:, :4], background[:, :4]
    losses = ["squared error", "absolute error"]
    options = {"background": background, "method": method, "rng": seed, "tolerance": 0.1, "pairs": [(0, 1), (2, 3)]}
    both = cs.interactions(mixture, X, y, loss=losses, **options)
    exact = [cs.interactions(mixture, X, y, loss=loss, **{**options, "method": "exact"}) for loss in losses]
    assert [one.loss for one in both] == losses
    for found, truth in zip(both, exact, strict=True):
        assert np.all(np.abs(found.values - truth.values) <= 5 * found.std_error + 1e-10)


def test_without_responses_the_variance_of_outputs_is_shared(seed):
    found = cs.interactions(product_of_two, SIGNS, background=SIGNS, method="exact")
    assert found.sage.measure == "shapley effects"
    assert found.between("x1", "x0") == pytest.approx(1.0, abs=1e-12)
    assert "variance" in str(found)


def test_names_follow_the_user_and_not_the_model(seed):
    """Columns of a frame in another order than the model's: the same pairs, the same numbers."""
    import pandas as pd
    from sklearn.ensemble import RandomForestRegressor

    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
    y = frame["a"] * frame["b"] + frame["c"]
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(frame, y)
    one, other = (
        cs.interactions(model, frame[list(order)], y, background=frame, method="exact") for order in ("abc", "cba")
    )
    assert other.pairs == (("c", "b"), ("c", "a"), ("b", "a"))
    for pair in one.pairs:
        assert one.between(*pair) == pytest.approx(other.between(*pair), abs=1e-12)
    numbered = cs.interactions(model, frame[["c", "b", "a"]], y, background=frame, method="exact", pairs=(0, 2))
    assert numbered.pairs == (("c", "a"),)


def test_answer_does_not_depend_on_the_number_of_jobs(wide):
    X, y, background = wide
    runs = [
        cs.interactions(
            wide_mixture, X, y, background=background, method="random coalitions", tolerance=0.1, rng=5, n_jobs=jobs
        )
        for jobs in (1, 2)
    ]
    assert runs[0].to_dict() == runs[1].to_dict()


# when to stop


def test_budget_is_kept(wide, seed):
    X, y, background = wide
    found = cs.interactions(wide_mixture, X, y, background=background, budget=60_000, tolerance=0.001, rng=seed)
    assert found.stopped is StopReason.BUDGET
    assert found.model_rows <= 60_000
    assert np.isfinite(found.std_error).all()


def test_what_is_unexplained_stays_unknown_where_the_budget_is_spent(wide, seed):
    X, y, background = wide
    found = cs.interactions(wide_mixture, X, y, background=background, budget=12_000, rng=seed)
    assert found.model_rows <= 12_000
    assert found.unexplained is None
    assert "is unknown" in str(found)


def test_deadline_ends_the_run(wide, seed):
    X, y, background = wide
    found = cs.interactions(wide_mixture, X, y, background=background, deadline=1.0, tolerance=1e-6, rng=seed)
    assert found.stopped is StopReason.DEADLINE


def test_a_model_without_effect_has_no_interactions(seed):
    X = np.random.default_rng(seed).normal(size=(30, 4))
    for method in ("exact", "random coalitions"):
        found = cs.interactions(lambda Z: np.zeros(len(Z)), X, X[:, 0], method=method, rng=seed)
        assert not found.values.any()
        assert found.unexplained is None
        assert found.meanings() == ["none"] * 6


def test_interrupted_run_hands_out_the_estimate_so_far(wide, seed):
    X, y, background = wide
    sage = cs.sage(wide_mixture, X, y, background=background, rng=seed)
    calls = []

    def impatient(Z):
        calls.append(len(Z))
        if sum(calls) > 100_000:
            raise KeyboardInterrupt
        return wide_mixture(Z)

    options = {"background": background, "tolerance": 0.001, "method": "random coalitions", "rng": seed}
    found = cs.interactions(impatient, X, y, of=sage, **options)
    assert found.stopped is StopReason.INTERRUPTED
    assert found.unexplained is None


# the result


@pytest.fixture
def result(seed):
    X = np.random.default_rng(seed).normal(size=(40, 4))
    return cs.interactions(mixture, X, mixture(X), rng=seed, feature_names=["age", "<b>", "x y", "$z$"])


def test_result_reads_back_from_its_file(result, tmp_path):
    result.save(tmp_path / "found.json")
    again = cs.load(tmp_path / "found.json")
    assert isinstance(again, cs.Interactions)
    assert again.to_dict() == result.to_dict()
    assert str(again) == str(result)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pairs", [["age", "age"]]),
        ("pairs", [[["age"], "x y"]] * 6),
        ("pairs", [["age", "x y"]] * 6),
        ("version", 1),
        ("version", 3),
        ("sage", None),
        ("unexplained", "much"),
    ],
)
def test_a_damaged_file_is_refused(result, tmp_path, field, value):
    path = tmp_path / "found.json"
    path.write_text(json.dumps({**result.to_dict(), field: value}))
    with pytest.raises(cs.InputError, match=field):
        cs.load(path)


def test_table_says_in_words_what_signs_mean():
    X = np.repeat(SIGNS, 5, axis=0)
    X = np.column_stack([X[:, 0], X[:, 1], X[:, 2], X[:, 2]])

    def f(Z):
        return Z[:, 0] * Z[:, 1] + Z[:, 2] + Z[:, 3]

    found = cs.interactions(f, X, f(X), background=X, method="exact")
    frame = found.to_frame()
    assert frame["value"].abs().is_monotonic_decreasing
    said = {(a, b): meaning for a, b, meaning in zip(frame["feature"], frame["other"], frame["meaning"], strict=True)}
    assert said["x0", "x1"] == "worth more together"
    assert said["x2", "x3"] == "share what they know"
    assert said["x0", "x2"] == "undecided"  # in the population; on these rows it is zero
    assert found.meanings(about="data")[found.pairs.index(("x0", "x2"))] == "none"
    for text in (str(found), found._repr_html_()):
        assert "worth more together" in text
        assert "share information" in text
        assert "unexplained" in text


def test_html_escapes_names(result):
    assert "<b>" not in result._repr_html_().replace("<body>", "")
    assert "&lt;b&gt;" in result._repr_html_()


def test_matrix_is_symmetric_and_agrees_with_the_pairs(result):
    matrix = result.matrix
    assert np.array_equal(matrix, matrix.T, equal_nan=True)
    assert np.isnan(np.diag(matrix)).all()
    for one, other in combinations(range(4), 2):
        assert matrix[one, other] == result.between(result.players[one], result.players[other])


def test_heat_map_has_a_number_for_each_pair_and_bars_an_interval(result):
    ax = result.plot(title="pairs")
    written = [text for text in ax.texts if text.get_gid() == "value"]
    assert len(written) == 6
    show, cells = number_format(result.explanation), ax.images[0].get_array()
    for text in written:
        column, row = text.get_position()
        assert text.get_text().strip("()") == show(float(cells[int(row), int(column)]))
    ax = result.plot(kind="bars")
    assert len(ax.get_yticklabels()) == 6
    X, y = SIGNS.repeat(2, axis=1)[:, :4], SIGNS[:, 0]
    few = cs.interactions(mixture, X, y, loss="squared error", pairs=[(0, 1), (2, 3)])
    assert len(few.plot().get_yticklabels()) == 2
    with pytest.raises(cs.InputError, match="kind"):
        result.plot(kind="pie")


def test_the_note_below_a_heat_map_is_not_cut(result):
    figure = result.plot().figure
    figure.canvas.draw()
    (text,) = figure.findobj(lambda one: one.get_gid() == "note")
    box = text.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert box.y0 >= 0


# bad inputs


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"pairs": []}, "pairs"),
        ({"pairs": "ab"}, "pairs"),
        ({"pairs": 3}, "pairs"),
        ({"pairs": [("x0", "x0")]}, "pairs"),
        ({"pairs": [("x0", "x1"), (1, 0)]}, "pairs"),
        ({"pairs": [("x0", "x1", "x2")]}, "pairs"),
        ({"pairs": [("x0", "nobody")]}, "pairs"),
        ({"pairs": [(0, 7)]}, "pairs"),
        ({"pairs": [(0, 1)], "top": 3}, "top"),
        ({"top": 1}, "top"),
        ({"top": True}, "top"),
        ({"top": 2.5}, "top"),
        ({"method": "paired walks"}, "method"),
        ({"method": None}, "method"),
        ({"of": 3}, "of"),
        ({"tolerance": None}, "tolerance"),
        ({"tolerance": 2.0}, "tolerance"),
        ({"groups": {"all": ["x0", "x1", "x2"]}}, "X"),
        ({"method": "exact", "budget": 20}, "budget"),
        ({"method": "random coalitions", "budget": 20}, "budget"),
    ],
)
def test_bad_inputs_are_named(options, argument):
    with pytest.raises(cs.InputError) as caught:
        cs.interactions(product_of_two, SIGNS, product_of_two(SIGNS), **options)
    assert caught.value.argument == argument


def test_sage_values_of_something_else_are_refused(wide):
    X, y, background = wide
    options = {"background": background, "method": "random coalitions"}
    for of in (
        cs.sage(wide_mixture, X, y, background=background, loss="absolute error", tolerance=0.2),
        cs.sage(wide_mixture, X, y, background=background, feature_names=list("abcdefgh"), tolerance=0.2),
        cs.sage(wide_mixture, X, background=background, tolerance=0.2),
        cs.sage(wide_mixture, X, y, background=background[1:], tolerance=0.2),
        cs.sage(wide_mixture, X, y + 1, background=background, tolerance=0.2),
    ):
        with pytest.raises(cs.InputError) as caught:
            cs.interactions(wide_mixture, X, y, of=of, **options)
        assert caught.value.argument == "of"
