"""Figures 3 to 7 of the paper: their parts, on made-up tasks and on curves with known answers."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from experiments.figure3.figure import figure as monitored
from experiments.figure3.losses import Mean, added, losses
from experiments.figure3.monitored import MonitoredVersion, compared
from experiments.figure3.run import fallen, named, worse_on_all
from experiments.figure3.versions import CLEAN, CORRUPTED, VERSIONS
from experiments.figure7.black_box import black_box, evaluations
from experiments.figure7.compared import PAIRED, SAGE, SHAP, Compared, iterations_to
from experiments.figure7.curves import ConvergenceCurve, Cost, averages, correlation, costs_of_means, crossing
from experiments.figure7.figure import figure as convergence
from experiments.figure7.pieces import budgets, sampled
from experiments.figure7.run import converge, more, rows, size
from experiments.figures4to6.agreement import Correlation, apart, between, spearman, top
from experiments.figures4to6.figure import figure as explained
from experiments.figures4to6.reversals import reversals
from experiments.methods.importance import Importance
from experiments.parts import Part, Parts
from experiments.tasks import Task
from tests.lab.bank import TARGET, bank, bank_model

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


class Fitted:
    """A learner that has learnt."""

    def __init__(self, model):
        self.model = model

    def fit(self, parts):
        return self.model


@pytest.fixture(scope="module")
def task():
    """A bank's task in the paper's column names: of tests.lab, in which month and duration matter most."""
    rng = np.random.default_rng(7)
    model = bank_model(rng, rows=4000)

    def renamed(X):
        return X.rename(columns=str.lower)

    fitted = SimpleNamespace(
        predict_proba=lambda X: model.predict_proba(renamed(X)), classes_=model.classes_, fit=lambda X, y: None
    )

    def part(rows):
        table = bank(rows, rng)
        X = table.drop(columns=TARGET).rename(columns={"month": "Month", "duration": "Duration"})
        return Part(X, table[TARGET].to_numpy(str))

    parts = Parts(part(300), part(500), part(500))
    return Task("bank", "Bank", parts, Fitted(fitted), "cross entropy", parts.train.X[:24])


def importance(values, errors=None, method="sage"):
    return Importance(method, values, errors, "rows", 0.0, 0.0)


# Figure 3: versions of the test part


def test_the_month_after_december_is_january():
    X = pd.DataFrame({"Month": pd.Categorical(["nov", "dec", "jan"], categories=list(MONTHS)), "Duration": [1, 2, 3]})
    changed = VERSIONS["month"].of(Part(X, np.zeros(3)))
    assert list(changed.X["Month"]) == ["dec", "jan", "feb"]
    assert list(changed.X["Month"].cat.categories) == list(MONTHS)


@pytest.mark.parametrize(("name", "expected"), [("seconds", [60.0, 180.0]), ("hours", [1 / 60, 0.05])])
def test_durations_are_multiplied_and_divided_by_60(name, expected):
    part = Part(pd.DataFrame({"Duration": [1, 3], "Age": [40, 50]}), np.array([0, 1]))
    changed = VERSIONS[name].of(part)
    np.testing.assert_allclose(changed.X["Duration"], expected)
    assert list(part.X["Duration"]) == [1, 3]
    assert list(changed.X["Age"]) == [40, 50]


@pytest.mark.parametrize("name", CORRUPTED)
def test_a_version_touches_its_own_column_alone(task, name):
    version = VERSIONS[name]
    X, column = version.of(task.test).X, version.column
    pd.testing.assert_frame_equal(X.drop(columns=column), task.test.X.drop(columns=column))
    assert not X[column].astype(object).equals(task.test.X[column].astype(object))


def test_the_clean_version_is_the_test_part(task):
    assert VERSIONS[CLEAN].of(task.test) is task.test


def test_losses_of_versions_are_those_of_the_model(task):
    by_version = losses(task, 0.95)
    chances = task.model.predict_proba(task.test.X)
    expected = -np.log(np.where(task.test.y == "yes", chances[:, 1], chances[:, 0]))
    assert by_version[CLEAN].value == pytest.approx(expected.mean())
    assert by_version[CLEAN].reach == pytest.approx(1.959964 * expected.std(ddof=1) / np.sqrt(len(expected)))
    assert added(task, "seconds", 0.95).value == pytest.approx(by_version["seconds"].value - by_version[CLEAN].value)


@pytest.mark.parametrize("name", VERSIONS)
def test_the_column_that_broke_is_flagged_and_no_other(task, name):
    comparison = compared(task, VERSIONS[name].of(task.test), tolerance=0.1, level=0.95, rng=0)
    assert named(name, comparison).verdict == "confirmed", comparison
    if name in CORRUPTED:
        assert fallen(name, comparison).verdict == "confirmed"


def test_findings_are_refuted_by_results_that_are_otherwise():
    ends = [[0.0, 0.0], [0.2, 0.2]]
    rose = MonitoredVersion(
        ["Month", "Age"], [0.1, 0.1], [0.1, 0.1], ends, ends, [[-0.1, -0.1], [0.1, 0.1]], [], [], []
    )
    assert fallen("month", rose).verdict == named("month", rose).verdict == "refuted"
    other = MonitoredVersion(["Month", "Age"], [0.1, 0.1], [0.0, 0.0], ends, ends, ends, ["Month", "Age"], [], [])
    assert named("month", other).verdict == named(CLEAN, other).verdict == "refuted"
    assert worse_on_all({"month": Mean(0.1, 0.2)}).verdict == "refuted"
    assert worse_on_all({"month": Mean(0.1, 0.05)}).verdict == "confirmed"


# Figures 4 to 6: agreement


def test_rank_correlations_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, 12)).round(1)  # with ties
    rank_correlation = Correlation.of(importance(a), importance(b))
    assert rank_correlation.value == pytest.approx(spearmanr(a, b).statistic)
    rest = [spearmanr(np.delete(a, i), np.delete(b, i)).statistic for i in range(12)]
    np.testing.assert_allclose(rank_correlation.without, rest)
    low, high = rank_correlation.interval(0.95)
    assert -1 <= low <= rank_correlation.value <= high <= 1


def test_the_jackknife_of_a_mean_of_one_is_its_own(seed):
    a, b, c = np.random.default_rng(seed).normal(size=(3, 9))
    pairs = between({"a": importance(a), "b": importance(b), "c": importance(c)})
    assert set(map(frozenset, pairs)) == {frozenset("ab"), frozenset("ac"), frozenset("bc")}
    mean = Correlation.mean(pairs.values())
    assert mean.value == pytest.approx(np.mean([spearman(a, b), spearman(a, c), spearman(b, c)]))
    alone = Correlation.mean([pairs[frozenset("ab")]])
    assert alone.std_error == pytest.approx(pairs[frozenset("ab")].std_error)


def test_the_difference_of_means_has_both_their_errors():
    ours, others = Correlation(0.9, np.array([0.8, 1.0])), Correlation(0.5, np.array([0.3, 0.7]))
    difference, low, high = apart([ours, ours], [others], 0.95)
    assert difference == pytest.approx(0.4)
    reach = 1.959964 * np.hypot(ours.std_error / np.sqrt(2), others.std_error)
    assert (low, high) == pytest.approx((0.4 - reach, 0.4 + reach))


def test_top_features_are_those_with_the_largest_values():
    assert top(importance([0.1, -5.0, 3.0]), ["a", "b", "c"], 2) == ["c", "a"]


def test_reversals_are_found_beyond_noise_alone():
    sage = importance([1.0, 0.0, 0.5], [0.01, 0.01, 0.4], "sage")
    other = importance([0.0, 1.0, 0.5], [0.01, 0.01, 0.4], "permutation test")
    pairs = reversals({"sage": sage, "permutation test": other}, ["a", "b", "c"], 0.95)
    assert [(reversal.method, reversal.other, reversal.first, reversal.second) for reversal in pairs] == [
        ("sage", "permutation test", "a", "b")
    ]
    assert pairs[0].surely == pytest.approx(1 / np.hypot(0.01, 0.01))
    assert reversals({"sage": sage, "again": sage}, ["a", "b", "c"], 0.95) == []


# Figure 7: curves


def test_a_curve_is_read_between_its_points_where_it_comes_to_stay():
    x, heights = np.array([10.0, 100.0, 1000.0, 10000.0]), np.array([0.5, 0.9, 0.8, 1.0])
    assert crossing(x, heights, 0.9) == pytest.approx(10**3.5)
    assert crossing(x, heights, 0.4) == 10.0
    assert crossing(x, heights, 1.1) is None


def test_correlations_are_those_of_numpy(seed):
    rng = np.random.default_rng(seed)
    values, converged = rng.normal(size=(4, 3, 7)), rng.normal(size=7)
    computed = correlation(values, converged)
    assert computed[2, 1] == pytest.approx(np.corrcoef(values[2, 1], converged)[0, 1])


def test_averages_are_means_of_the_first_rows_of_random_orders(seed):
    values = np.arange(12.0).reshape(6, 2)
    means = averages(values, np.array([1, 6]), 3, np.random.default_rng(seed))
    assert means.shape == (3, 2, 2)
    assert all(row in values.tolist() for row in means[:, 0].tolist())
    np.testing.assert_allclose(means[:, 1], np.tile(values.mean(axis=0), (3, 1)))


def test_the_ratio_of_two_means_that_converge_is_that_of_what_a_draw_costs(seed):
    """Means of 1 to 64 draws of noise, a draw costing 10 here and 1000 there: two orders of magnitude."""
    rng, counts, converged = np.random.default_rng(seed), 2 ** np.arange(7), np.arange(5.0)

    def curve(price, repetitions=400):
        noise = rng.normal(size=(repetitions, 64, 5)).cumsum(axis=1)[:, counts - 1] / counts[:, None]
        return ConvergenceCurve.of(price * counts, converged + noise, converged)

    expensive, cheap = curve(1000), curve(10)
    ratio = Cost.of(expensive.costs).by(Cost.of(cheap.costs))
    value, low, high = ratio.orders_of_magnitude(0.95)
    error = (high - low) / 2 / 1.96
    assert low < value < high
    assert 0 < error < 0.05
    assert value == pytest.approx(2, abs=4.5 * error)  # four and a half standard errors: one seed in 100,000
    assert expensive.slope == pytest.approx(-1, abs=0.2)


def test_what_averages_cost_is_their_error_times_their_price(seed):
    """In the mean over all pairs of rows, as averages of two, without replacement from n: K (1 - K / n) / (1 / K)."""
    values = np.random.default_rng(seed).normal(size=(20, 3))
    pairs = np.array([(values[i] + values[j]) / 2 for i in range(20) for j in range(i)])
    error = np.mean((pairs - values.mean(axis=0)) ** 2)
    cost = Cost.of(costs_of_means(values, price=7.0))
    assert cost.value * (1 - 2 / 20) == pytest.approx(2 * 7.0 * error)


def test_relative_errors_of_factors_add_up_as_squares():
    ratio = Cost(10.0, 0.3, 9).by(Cost(5.0, 0.4, 4))
    assert (ratio.value, ratio.relative, ratio.dof) == (2.0, pytest.approx(0.5), 4)
    low, high = ratio.interval(0.95)
    assert low * high == pytest.approx(4.0)
    assert high == pytest.approx(2 * np.exp(2.776445 * 0.5), rel=1e-5)


def test_iterations_beyond_a_run_are_reckoned_from_its_errors():
    """Errors fall with the root: twice the share wanted takes four times the iterations."""
    np.testing.assert_allclose(iterations_to(0.01, np.array([100.0, 50.0]), np.array([0.02, 0.001])), [400.0, 50.0])


def test_runs_of_a_black_box_cost_what_algorithm_1_says(task):
    d, m = len(task.features), len(task.background)
    settings = {"least": 2_000, "most": 8_000}
    points = np.array(sampled("permutation", task, settings, 0))
    assert points.shape == (3, 1 + d)
    for budget, spent in zip(budgets(**settings), points[:, 0], strict=True):
        iterations = (budget - len(task.test) - m) // ((d - 1) * m)
        assert spent == evaluations(task, iterations, len(task.test))


def test_a_black_box_answers_as_its_model(task):
    np.testing.assert_allclose(black_box(task)(task.test.X), task.model.predict_proba(task.test.X))


def made_up(ratio, rows, slope=-1.0):
    """Curves of which that of averaged SHAP values is so many times as dear."""
    x = 2.0 ** np.arange(6)

    def curve(price):
        return ConvergenceCurve(price * x, np.tile(x**slope, (3, 1)), np.tile(1 - 0.1 / x, (3, 1)))

    curves = {SAGE: curve(1.0), PAIRED: curve(0.1), SHAP: curve(ratio)}
    costs = {name: Cost(prices, 0.1, 9) for name, prices in ((SAGE, 1.0), (PAIRED, 0.1), (SHAP, ratio))}
    return Compared("Made up", rows, 1.0, curves, costs, Cost(50.0, 0.1, 9), 0.0, 0.01)


def test_findings_on_convergence_follow_the_ratios():
    assert more([made_up(1000, 500), made_up(200, 100)], 0.95).verdict == "confirmed"
    assert more([made_up(1000, 500), made_up(20, 100)], 0.95).verdict == "refuted"
    assert more([made_up(95, 500)], 0.95).verdict == "open"
    assert size([made_up(1000, 500)]).verdict == "confirmed"
    assert size([made_up(1000, 100)]).verdict == "refuted"
    assert converge([made_up(1000, 500)]).verdict == "confirmed"
    assert converge([made_up(1000, 500, slope=0.0)]).verdict == "refuted"


def test_rows_of_convergence_have_ratios_in_orders_of_magnitude():
    settings = {"level": 0.95, "pilots": 6, "iterations": 300, "accuracy": 0.05, "reached": 0.99}
    numbers = {number.what.split(": ", 1)[1]: number for number in rows(made_up(1000, 500), settings)}
    assert numbers["SHAP / SAGE, orders of magnitude"].ours == pytest.approx(3)
    assert numbers["SAGE / paired walks, orders of magnitude"].ours == pytest.approx(1)
    assert numbers[f"evaluations to an error of 5% of the range, {SAGE}"].ours == pytest.approx(1 / 0.05**2)


# What is drawn is what was found


def test_the_figure_of_monitoring_draws_both_sides_and_marks_what_is_flagged():
    ends = [[0.0, 0.4], [0.2, 0.6]]
    version = MonitoredVersion(["Age", "Month"], [0.1, 0.5], [0.1, -0.3], ends, ends, ends, ["Month"], [], [])
    means = {name: Mean(0.5, 0.1) for name in ("base rate", "train", "validation", *VERSIONS)}
    axes = monitored(means, dict.fromkeys(CORRUPTED, version)).axes
    assert len(axes) == 4
    assert [bar.get_height() for bar in axes[1].patches] == [0.5, 0.1, -0.3, 0.1]  # the largest of validation first
    assert [text.get_text() for text in axes[1].texts] == ["★ flagged"]
    assert axes[1].texts[0].xy[0] == pytest.approx(0, abs=0.5)


def test_figures_of_methods_have_features_in_the_order_of_sage():
    by_version = {
        "permutation test": importance([3.0, 1.0, 2.0], [0.1] * 3, "permutation test"),
        "sage": importance([1, 2, 3]),
    }
    axes = explained("Made up", by_version, ["a", "b", "c"], 0.95).axes
    assert [ax.get_title() for ax in axes] == ["SAGE", "Permutation Test"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["a", "b", "c"]  # from the bottom
    assert [bar.get_width() for bar in axes[1].patches] == [3.0, 1.0, 2.0]


def test_the_figure_of_convergence_has_three_lines_in_each_panel():
    axes = convergence([made_up(1000, 500), made_up(100, 100)]).axes
    assert [len(ax.lines) for ax in axes] == [3] * 4
    np.testing.assert_allclose(axes[0].lines[0].get_ydata(), 1 / 2.0 ** np.arange(6))
