"""Beyond the given rows and background: gains, influences, variances and intervals about the population."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import clarysage as cs
from clarysage._measures.problem import Problem
from clarysage.catalogue import ABOUT
from clarysage.estimators import ClosedFormValues, Exact, PairedWalks, Permutation, SurrogateWalks, estimate
from clarysage.execution.n_jobs import as_executor
from clarysage.games import PredictivePower
from clarysage.inference import population
from clarysage.inference.degrees_of_freedom import Estimated
from clarysage.inference.estimate import VarianceComponents
from clarysage.inference.influence import BackgroundInfluence
from clarysage.inference.intervals import adjusted, interval, p_values
from clarysage.inference.population import Sampled
from clarysage.losses import SquaredError
from clarysage.removal import Baseline, Marginal, ProductOfMarginals
from clarysage.removal.background import match_by_cells, row_hashes
from clarysage.results.files import from_plain
from oracle import shapley
from tests.lab.coverage import binomial_room
from tests.lab.population_runs import population_runs
from tests.lab.populations import POPULATIONS
from tests.lab.repeated_runs import AfterDraws

ROOT = Path(__file__).parent.parent
LOSSES = ["squared error", "cross entropy", "brier", "absolute error"]


def f(rows):
    return 1 / (1 + np.exp(-(rows[:, 0] + 0.7 * rows[:, 1] * rows[:, 2])))


def probabilities(rows):
    return np.column_stack([1 - f(rows), f(rows)])


def small(loss="squared error", n=7, m=5, overlap=0, weights=None, mass=None, seed=0, columns=3, model=None):
    """A game of n examples and m background rows, of which the first ``overlap`` are the first examples."""
    rng = np.random.default_rng([seed, 7])
    X, B = rng.normal(size=(n, columns)), rng.normal(size=(m, columns))
    B[:overlap] = X[:overlap]
    y = (rng.random(n) < 0.5).astype(float)
    chosen = probabilities if loss in ("cross entropy", "brier") else f
    return PredictivePower.of(Marginal(B, weights=mass).restrict(model or chosen, X), loss, X, y, sample_weight=weights)


def every_loss_without_bias(game, y):
    """E[(y - f_S)^2] over pairs of distinct background rows, an example's own left out; one value a coalition."""
    X, B, p = game.X, game.restricted.background, game.n_players
    own = np.full(len(X), -1) if game.self_match is None else game.self_match
    found = {}
    for size in range(p + 1):
        for subset in combinations(range(p), size):
            risk = 0.0
            for x, response, mine, weight in zip(X, y, own, game.weights, strict=True):
                rows = np.delete(B, mine, axis=0) if mine >= 0 else B.copy()
                rows[:, list(subset)] = x[list(subset)]
                off = response - f(rows)
                pairs = [off[k] * off[j] for k in range(len(off)) for j in range(len(off)) if k != j]
                risk += weight * np.mean(pairs)
            found[frozenset(subset)] = -risk
    return found


@pytest.mark.parametrize("overlap", [0, 3])
def test_values_of_an_endless_background_are_those_of_distinct_pairs_of_rows(overlap):
    game = small(overlap=overlap)
    found = estimate(game, Exact()).targets["population"]
    wanted = shapley(every_loss_without_bias(game, game.targets[0][:, 0]), game.n_players)
    np.testing.assert_allclose(found.values[0], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mass", [None, [1.0, 2.0, 0.5, 3.0, 1.5]])
@pytest.mark.parametrize("loss", LOSSES)
def test_influences_are_derivatives_in_the_weights_of_background_rows(loss, mass):
    game = small(loss, mass=mass)
    leaning = estimate(game, Exact()).components.background
    step = 1e-6 if loss == "absolute error" else 1e-4
    share = game.restricted.background_weights
    for row in range(5):
        ends = []
        for side in (1, -1):
            moved = (1 - side * step) * share + side * step * np.eye(5)[row]
            ends.append(estimate(small(loss, mass=moved), Exact()).values[0])
        slope = (ends[0] - ends[1]) / (2 * step)
        np.testing.assert_allclose(leaning.rows[row, 0], share[row] * slope, rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("weights", [None, np.arange(1.0, 8.0)])
def test_variances_are_those_of_parts_over_examples_and_of_influences_over_rows(weights):
    game = small(weights=weights)
    found = estimate(game, Exact())
    alone = [estimate(replace(game, weights=np.eye(7)[i]), Exact()).values[0] for i in range(7)]
    w = game.weights[:, None]
    off = w * (np.array(alone) - found.values[0])
    np.testing.assert_allclose(found.targets["rows"].std_error[0] ** 2, 7 / 6 * (off**2).sum(axis=0), rtol=1e-9)
    c = found.components.background.rows[:, 0]
    by_background = 5 / 4 * ((c - c.mean(axis=0)) ** 2).sum(axis=0)
    total = found.targets["population"].std_error[0] ** 2
    np.testing.assert_allclose(total, 7 / 6 * (off**2).sum(axis=0) + by_background, rtol=1e-9)


def test_examples_that_are_background_rows_add_a_covariance():
    game = small(overlap=4)
    found = estimate(game, Exact())
    parts, c = found.components.contributions[:, 0], found.components.background.rows[:, 0]
    off, c = parts - parts.mean(axis=0), c - c.mean(axis=0)
    rows, whole = (found.targets[about].std_error[0] ** 2 for about in ("rows", "population"))
    wanted = rows + 5 / 4 * (c**2).sum(axis=0) + 2 * (off[:4] * c[:4]).sum(axis=0)
    np.testing.assert_allclose(whole, np.maximum(wanted, rows / 4), rtol=1e-9)


def test_noise_of_influences_is_taken_off_their_variance(seed):
    rng = np.random.default_rng(seed)
    n, m = 6, 4
    sampled = Sampled(np.full(n, 1 / n), np.full(m, 1 / m))
    lean = BackgroundInfluence(rng.normal(size=(m, 1, 2)), np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 2)))
    known = Estimated(np.zeros((1, 2)), np.full((1, 2), 1e-6), np.full((1, 2), 9.0))
    parts = VarianceComponents.exact(rng.normal(size=(n, 1, 2)))
    c = lean.rows - lean.rows.mean(axis=0)
    noise = 0.3 * (c**2).sum(axis=0)
    influences = [replace(lean, noise=taken) for taken in (lean.noise, noise)]
    about = [population.estimates(known, replace(parts, background=influence), sampled) for influence in influences]
    clean, noisy = (estimates["population"].variance for estimates in about)
    np.testing.assert_allclose(clean - noisy, noise * m / (m - 1), rtol=1e-9)


def estimates(game, runs, seed, estimator=None, passes=2):
    rules = [AfterDraws(passes * len(game.X))]
    return [estimate(game, estimator or PairedWalks(), stop=rules, seed=1000 * seed + k) for k in range(runs)]


def z_of_mean(found, truth):
    found = np.array(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return np.abs(found.mean(axis=0) - truth) / np.maximum(error, 1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("overlap", [0, 12])
@pytest.mark.parametrize("mass", [None, 1.0 + np.arange(60) % 3])
def test_walks_find_on_average_what_enumeration_does_about_the_population(overlap, mass, seed):
    game = small(n=20, m=60, overlap=overlap, mass=mass)
    exact = estimate(game, Exact())
    runs = estimates(game, 300, seed)
    wanted = exact.targets["population"].values[0]
    assert z_of_mean([run.targets["population"].values[0] for run in runs], wanted).max() < 6
    truth = centred(exact, game)
    found = np.array([centred(run, game) for run in runs])
    room = 3 / 60 * np.abs(truth).max(axis=0)  # of first order in 1 / m
    assert np.all(np.abs(found.mean(axis=0) - truth) < 6 * found.std(axis=0) / np.sqrt(300) + room)
    noise = [run.components.background.noise for run in runs]
    squares = np.array([(c**2).sum(axis=0) - taken for c, taken in zip(found, noise, strict=True)])
    error, wanted = squares.std(axis=0) / np.sqrt(300), (truth**2).sum(axis=0)
    assert np.all(np.abs(squares.mean(axis=0) - wanted) < 6 * error + 6 / 60 * wanted)


def centred(found, game):
    rows = found.components.background.rows
    return rows - game.restricted.background_weights[:, None, None] * rows.sum(axis=0)


def test_noise_of_influences_is_not_small(seed):
    game = small(n=20, m=30)
    truth = (estimate(game, Exact()).components.background.rows ** 2).sum(axis=0)
    raw = [(run.components.background.rows**2).sum(axis=0) for run in estimates(game, 50, seed)]
    assert (np.mean(raw, axis=0) > 2 * truth).all()


@pytest.mark.statistical
@pytest.mark.parametrize("loss", LOSSES)
def test_walks_agree_with_enumeration_about_the_data_where_examples_are_background_rows(loss, seed):
    game = small(loss, n=20, m=30, overlap=15)
    truth = estimate(game, Exact()).values[0]
    assert z_of_mean([run.values[0] for run in estimates(game, 200, seed)], truth).max() < 6


def test_a_linear_model_known_by_its_coefficients_reaches_as_far_as_any_other(seed):
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(40, 3)), rng.normal(size=(30, 3))
    y = X @ [1.0, 0.5, 0.0] + rng.normal(size=40)
    model = LinearRegression().fit(X, y)
    native, black = (Marginal(B).restrict(one, X) for one in (model, model.predict))
    assert native.native is not None
    one, other = (PredictivePower.of(f_S, "squared error", X, y) for f_S in (native, black))
    exact = [estimate(game, Exact()).targets["population"] for game in (one, other)]
    np.testing.assert_allclose(exact[0].values, exact[1].values, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(exact[0].std_error, exact[1].std_error, rtol=1e-8, atol=1e-10)
    runs = [run.targets["population"].values[0] for run in estimates(one, 200, seed)]
    assert z_of_mean(runs, exact[1].values[0]).max() < 6


@pytest.mark.parametrize("mass", [None, [1.0, 2.0, 0.5, 3.0, 1.5, 1.0]])
@pytest.mark.parametrize("weights", [None, np.arange(1.0, 10.0)])
@pytest.mark.parametrize("overlap", [0, 4, 6])
def test_the_influence_on_closed_form_values_is_that_of_enumeration(overlap, weights, mass, seed):
    """Two outputs, a group of two columns, a column without effect, and the example's own row among the others."""
    rng = np.random.default_rng([seed, overlap])
    X, B, y = rng.normal(size=(9, 5)), rng.normal(size=(6, 5)), rng.normal(size=(9, 2))
    B[:overlap] = X[:overlap]
    model = LinearRegression().fit(rng.normal(size=(50, 5)), rng.normal(size=(50, 2)))
    model.coef_[:, 4] = 0.0
    game = PredictivePower.of(
        Marginal(B, weights=mass).restrict(model, X),
        ["squared error", SquaredError()],
        X,
        y,
        sample_weight=weights,
        players=cs.Players.of("abcde", {"bc": ["b", "c"]}),
    )
    result, truth = estimate(game, ClosedFormValues()), estimate(game, Exact())
    assert result.model_rows == game.rows_spent
    for part in ("rows", "noise", "correction", "correction_variance"):
        numbers, wanted = (getattr(of.components.background, part) for of in (result, truth))
        np.testing.assert_allclose(numbers, wanted, rtol=1e-9, atol=1e-11 * np.abs(truth.values).max())
    assert np.abs(truth.components.background.rows).max() > 0
    assert (np.abs(truth.components.background.correction[:, :3]) > 1e-6).all()
    for about in ("rows", "population"):
        for part in ("values", "std_error", "dof"):
            numbers, wanted = (getattr(of.targets[about], part)[:, :3] for of in (result, truth))  # not the idle one
            np.testing.assert_allclose(numbers, wanted, rtol=1e-8, atol=1e-10)


def test_the_influence_on_closed_form_values_is_the_same_in_any_number_of_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 0.5, 0.0] + rng.normal(size=40)
    game = PredictivePower.of(Marginal(X).restrict(LinearRegression().fit(X, y), X), "squared error", X, y)
    at_once = estimate(game, ClosedFormValues())
    monkeypatch.setattr(ClosedFormValues, "chunk", lambda self, game: 7)
    in_chunks = estimate(game, ClosedFormValues(), executor=as_executor(2))
    for about in ("rows", "population"):
        np.testing.assert_allclose(
            in_chunks.targets[about].std_error, at_once.targets[about].std_error, rtol=1e-12, atol=1e-14
        )


@pytest.mark.statistical
def test_surrogate_walks_reach_as_far(seed):
    game = small(n=30, m=40)
    exact = estimate(game, Exact()).targets["population"]
    runs = [estimate(game, SurrogateWalks(), stop=[AfterDraws(200)], seed=20 * seed + k) for k in range(8)]
    errors = np.array([run.targets["population"].std_error[0] for run in runs])
    assert np.all(np.abs(np.sqrt((errors**2).mean(axis=0)) / exact.std_error[0] - 1) < 0.5)
    off = np.array([run.targets["population"].values[0] for run in runs]) - exact.values[0]
    assert np.all(np.abs(off) < 6 * np.array([run.std_error[0] for run in runs]) + 1e-9)


def test_what_a_model_ignores_is_worth_nothing_in_any_population(seed):
    game = small(n=20, m=30, columns=5)  # of which the model reads three
    for found in (estimate(game, Exact()), *estimates(game, 3, seed)):
        for target in found.targets.values():
            assert np.all(np.abs(target.values[0, 3:]) < 1e-15)
            assert np.all(target.std_error[0, 3:] < 1e-15)
    for walked in estimates(game, 3, seed):
        assert np.all(walked.targets["population"].values[0, 3:] == 0)
        assert np.all(walked.targets["population"].std_error[0, 3:] == 0)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 4))
    return X, X @ [2.0, 1.0, 0.0, 0.0] + rng.normal(size=150)


def model(rows):
    return rows @ np.array([2.0, 1.0, -0.5, 0.0])


def test_the_default_shown_is_the_widest_that_is_known(data):
    X, y = data
    shared = {"loss": "squared error", "rng": 0}
    sampled = cs.sage(model, X, y, method="paired walks", **shared)
    assert sampled.shown == "population"
    assert cs.sage(model, X, y, removal="baseline", method="paired walks", **shared).shown == "rows"
    assert cs.sage(model, X, y, method="exact", background=X[:20], **shared).shown == "population"
    assert cs.sage(model, X, y, method="permutation", tolerance=0.2, **shared).shown == "data"
    product = cs.sage(model, X, y, removal=ProductOfMarginals(X), method="paired walks", tolerance=0.2, **shared)
    assert product.shown == "rows"
    widths = [np.ptp(sampled.interval(about=about), axis=0)[:3] for about in ("data", "rows", "population")]
    assert np.all(widths[0] < widths[1])
    for about in ("data", "rows", "population"):
        assert f"Intervals are about {ABOUT[about].summary}" in sampled.table(about=about)
    assert "the population of rows and of background" in str(sampled)
    assert "population" in sampled._repr_html_()
    assert sampled.to_frame().attrs["about"] == "population"


def test_tests_are_in_the_table_on_request(data):
    X, y = data
    found = cs.sage(model, X, y, method="paired walks", rng=0)
    frame = found.to_frame(tests=True)
    assert frame["p_helps_holm"][0] < 0.001
    assert frame["p_hurts"][2] < 0.05
    assert frame["p_helps"][3] == frame["p_hurts"][3] == 1.0
    assert "p helps" in found.table(tests=True)
    assert "p helps" not in str(found)
    assert np.all(found.p_values("helps") + found.p_values("hurts") >= 1 - 1e-12)
    with pytest.raises(cs.InputError, match="alternative: got 'is'"):
        found.p_values("is")
    with pytest.raises(cs.InputError, match="adjust: got 'tukey'"):
        found.p_values(adjust="tukey")


@pytest.mark.parametrize("skew", [-0.8, -0.1, 0.0, 0.3, 1.0])
@pytest.mark.parametrize("level", [0.6, 0.9, 0.95, 0.999])
def test_p_values_agree_with_the_ends_of_intervals(skew, level):
    error, dof = np.array([0.7]), np.array([12.0])
    low, high = interval(np.zeros(1), error, dof, level, skew=skew)
    for end, alternative in (
        (low, "helps"),
        (high, "hurts"),
    ):  # a value just so far off zero that its interval ends there
        found = p_values(-end, error, dof, alternative, skew=skew)
        np.testing.assert_allclose(found, (1 - level) / 2, rtol=1e-9)
    width = np.array([-low[0], high[0]])
    assert np.all(width >= interval(np.zeros(1), error, dof, level)[1] - 1e-12)  # never narrower than Student's


def test_adjusted_p_values_are_those_written_by_hand():
    p = np.array([0.012, 0.001, 0.2, 0.03, 0.5])
    ranked = np.sort(p)
    holm = [max((5 - j) * ranked[j] for j in range(place + 1)) for place in range(5)]
    hochberg = [min(5 / (j + 1) * ranked[j] for j in range(place, 5)) for place in range(5)]
    rank = np.argsort(np.argsort(p))
    np.testing.assert_allclose(adjusted(p, "holm"), np.minimum(holm, 1)[rank])
    np.testing.assert_allclose(adjusted(p, "benjamini-hochberg"), np.minimum(hochberg, 1)[rank])
    assert adjusted(p, None) is p


def test_targets_survive_the_file_and_those_of_others_are_refused(data, tmp_path):
    X, y = data
    found = cs.sage(model, X, y, method="paired walks", rng=0)
    found.save(tmp_path / "found.json")
    again = cs.load(tmp_path / "found.json")
    for about in ("rows", "population"):
        assert np.array_equal(found.interval(about=about), again.interval(about=about))
    with pytest.raises(cs.errors.FormatError, match="targets"):
        from_plain({**found.to_dict(), "targets": {"world": {}}})


def test_a_row_that_carries_a_feature_is_warned_of(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X[7, 1] = 300.0
    found = cs.sage(lambda Z: Z @ [1.0, 1.0, 0.0], X, X.sum(axis=1), background=rng.normal(size=(50, 3)), rng=seed)
    note = next(note for note in found.notes if "of the variance" in note)
    assert "'x1'" in note
    assert "Only 4 rows (1 %)" in note
    calm = cs.sage(lambda Z: Z @ [1.0, 1.0, 0.0], X[8:], X[8:].sum(axis=1), background=X[:7], rng=seed)
    assert not any("of the variance" in note for note in calm.notes)


def test_the_sampling_of_a_gain_is_part_of_the_error(seed):
    """Of a linear model the run knows values nearly exactly; what an endless background adds it has to sample."""
    rng = np.random.default_rng(seed)
    slopes = np.array([1.0, 0.8, 0.6, *([0.01] * 7)])
    X, B = rng.normal(size=(200, 10)), rng.normal(size=(60, 10))
    y = X @ slopes + rng.normal(size=200)
    model = LinearRegression().fit(X, y)
    model.coef_, model.intercept_ = slopes, 0.0
    game = PredictivePower.of(Marginal(B).restrict(model, X), "squared error", X, y)
    black = PredictivePower.of(Marginal(B).restrict(model.predict, X), "squared error", X, y)
    found = [run.components.background for run in estimates(game, 60, seed, passes=1)]
    gains = np.array([one.correction[0] for one in found])
    reported = np.mean([one.correction_variance[0] for one in found], axis=0)
    observed = gains.var(axis=0, ddof=1)
    assert np.all(observed < 2.5 * reported)
    walked = np.array([run.components.background.correction[0] for run in estimates(black, 20, seed)])
    error = np.sqrt(observed / 60 + walked.var(axis=0, ddof=1) / 20)
    assert np.all(np.abs(gains.mean(axis=0) - walked.mean(axis=0)) < 6 * error + 1e-12)


def test_a_value_outside_its_interval_is_drawn_and_said(seed):
    rng = np.random.default_rng(seed)
    X, B = rng.normal(size=(2000, 3)), rng.normal(size=(9, 3))
    found = cs.sage(lambda Z: 9 * Z[:, 0] + Z[:, 1], X, X[:, 0], background=B, loss="squared error", rng=seed)
    shifted = found.parts + 100.0 / len(found.parts)  # parts add up to the values
    far = replace(found, values=found.values + 100.0, parts=shifted)
    assert "outside" in str(far)
    assert "outside" not in far.table(about="data")
    assert len(far.plot().collections) > 0


def test_surrogate_walks_of_a_linear_model_know_the_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    y = X @ [1.0, 0.5, 0.0] + rng.normal(size=60)
    found = cs.sage(LinearRegression().fit(X, y), X, y, method="surrogate walks", tolerance=0.1, rng=seed)
    assert found.shown == "rows"


def test_a_loss_without_a_correction_says_so(data):
    X, y = data
    with_it, without = (
        cs.sage(model, X, y, loss=loss, method="paired walks", rng=0) for loss in ("squared error", "absolute error")
    )
    assert not any("No correction" in note for note in with_it.notes)
    assert any("No correction for the finite background" in note for note in without.notes)


def test_own_rows_are_those_that_are_there_once_or_the_whole_table():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [np.nan, 0.0]])
    assert match_by_cells(X, X.copy()).tolist() == [0, 1, 2, 3]
    assert match_by_cells(X, X[[3, 1, 0]]).tolist() == [2, -1, -1, 0]
    assert match_by_cells(X, X + 1) is None
    other = np.vstack([X[:1], np.arange(20.0).reshape(-1, 2)])
    assert match_by_cells(np.vstack([X, 9 + X, 20 + X]), other) is None  # by chance, as it seems


@pytest.mark.parametrize("columns", [3, 8, 30])
def test_rows_of_whole_numbers_are_told_apart(columns, seed):
    """Their hashes must not collide, or rows that occur once in both tables are taken for repeated ones."""
    cells = np.random.default_rng(seed).integers(-3, 1000, size=(3000, columns)) / 2
    rows = np.unique(cells, axis=0)
    assert len(np.unique(row_hashes(rows))) == len(rows)
    np.testing.assert_array_equal(match_by_cells(rows, rows[::-2]), _positions(len(rows), rows[::-2].shape[0]))


def _positions(count, kept):
    found = np.full(count, -1)
    found[np.arange(count)[::-2]] = np.arange(kept)
    return found


def test_rows_of_the_default_background_are_known_to_be_examples_even_where_they_are_alike():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(700, 3)).astype(float)
    f_S = Problem.of(lambda Z: Z[:, 0], X, rng=0).restricted
    game = PredictivePower.of(f_S, "squared error", X, X[:, 0])
    assert (game.self_match >= 0).sum() == 512
    assert np.array_equal(X[game.self_match >= 0], f_S.background[game.self_match[game.self_match >= 0]])
    for wrong in ([1, 2, 3, 9000], [1, 2, 2, 3], [0, 1], [0.5, 1, 2, 3]):
        with pytest.raises(cs.InputError, match="background examples"):
            Marginal(X[:4], examples=wrong).restrict(lambda Z: Z[:, 0], X)


@pytest.mark.parametrize("removal", [Marginal(np.zeros((1, 3))), Baseline(np.zeros(3))])
def test_one_background_row_is_no_sample(removal):
    X = np.random.default_rng(0).normal(size=(30, 3))
    game = PredictivePower.of(removal.restrict(f, X), "squared error", X, X[:, 0])
    for method in (PairedWalks(), Exact()):
        assert set(estimate(game, method).targets) == {"rows"}
    assert estimate(game, Permutation()).targets == {}


@pytest.mark.parametrize("method", [PairedWalks(), Exact()])
@pytest.mark.parametrize(("n", "m", "overlap"), [(1, 5, 0), (2, 2, 2), (2, 2, 1), (3, 2, 0), (2, 3, 2), (5, 40, 5)])
@pytest.mark.parametrize("loss", LOSSES)
def test_small_tables_have_finite_numbers_or_none(n, m, overlap, loss, method):
    found = estimate(small(loss, n=n, m=m, overlap=overlap), method, stop=[AfterDraws(20)])
    assert set(found.targets) == (set() if n == 1 else {"rows", "population"})
    for target in found.targets.values():
        for numbers in (target.values, target.std_error, target.dof, target.skew):
            assert np.isfinite(numbers).all()
        assert (target.dof >= 1).all()


def test_a_background_row_that_weighs_everything_is_no_sample():
    game = small(n=6, m=3, mass=[1.0, 1e-18, 1e-18])
    assert set(estimate(game, Exact()).targets) == {"rows"}


def test_examples_left_out_for_their_number_make_intervals_about_rows_wider(seed):
    game = small(n=3000, m=20)
    few, all_of_them = (estimate(game, PairedWalks(), stop=[AfterDraws(n)], seed=seed) for n in (400, 6000))
    assert few.coverage.unvisited > 0
    assert few.components.contributions is None
    ratio = few.targets["rows"].std_error / all_of_them.targets["rows"].std_error
    assert np.all(ratio > 1.2)


# how often intervals hold


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "rows", "background", "overlap"),
    [("offset", 100, 64, False), ("offset", 100, 64, True), ("logistic", 100, 64, False), ("boosting", 60, 40, False)],
)
def test_intervals_about_the_population_hold_it(name, rows, background, overlap, seed):
    runs = 150
    found = population_runs(name, rows, background, runs=runs, overlap=overlap, seed=seed)
    room = binomial_room(7 * runs, std_errors=9) + 0.01  # features are not independent; 1 % for so few rows
    assert 0.95 - room < found.coverage < 0.95 + room + 0.015
    assert found.worst > 0.93 - binomial_room(runs, std_errors=4.5, level=0.93)
    assert found.covers_by_data.mean() < 0.85
    assert found.any_false_positive_by_holm < 0.05 + binomial_room(runs, std_errors=4.5, level=0.05)
    assert 0.85 < found.ratio < 1.25


FAULTS = {
    "the background is taken for the whole of it": lambda one: replace(
        one, background=replace(one.background, rows=0 * one.background.rows)
    ),
    "noise of influences is not taken off": lambda one: replace(
        one, background=replace(one.background, noise=0 * one.background.noise)
    ),
    "parts are half of what they are": lambda one: replace(one, contributions=one.contributions / 2),
}


WHERE = {"background": "offset", "noise": "redundant", "parts": "linear"}


@pytest.mark.statistical
@pytest.mark.parametrize("fault", list(FAULTS))
def test_planted_faults_make_intervals_fail(fault, seed, monkeypatch):
    sound = population.targets

    def faulty(found, components, sampled):
        return sound(found, FAULTS[fault](components), sampled)

    monkeypatch.setattr("clarysage.estimators.loop.targets", faulty)
    name = next(name for word, name in WHERE.items() if word in fault)
    found = population_runs(name, 400, 64, runs=60, seed=seed)
    if "noise" in fault:
        assert found.ratio > 1.3
    else:
        assert found.coverage < 0.86


def kept():
    return json.loads((ROOT / "docs" / "appendix" / "populations.json").read_text())  # made by make calibrate


def test_the_table_that_is_kept_has_every_population_and_no_failure():
    numbers = kept()
    cells = {
        (cell["population"], cell["rows"], cell["background"], cell["drawn from the rows"])
        for cell in numbers["populations"]
    }
    sizes = [(n, m) for n in (100, 400, 2000) for m in (64, 256)]
    assert cells == {
        (name, n, m, overlap) for name in POPULATIONS for n, m in sizes for overlap in (False, True)[: 1 + (m < n)]
    }
    every = [*numbers["populations"], *numbers["decisions"]]
    assert [cell for cell in every if cell["missed"]] == []
    assert min(cell["runs"] for cell in every) >= 500


def test_the_table_that_is_kept_says_how_it_was_made():
    numbers, page = kept(), (ROOT / "docs" / "appendix" / "populations.md").read_text()
    cells = json.dumps([numbers["populations"], numbers["decisions"]], sort_keys=True)
    digest = hashlib.sha256(cells.encode()).hexdigest()
    assert numbers["sha256"] == digest
    assert digest[:16] in page
    assert re.fullmatch(r"[0-9a-f]{40}", numbers["made"]["commit"])
    assert numbers["made"]["command"] in page
    assert numbers["made"]["commit"] in page
