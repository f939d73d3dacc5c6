"""Decisions: signs and the largest values, how often runs that stop by them are wrong, and when they look."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest

import clarysage as cs
from clarysage import StopReason
from clarysage.estimators import PairedWalks, estimate
from clarysage.inference.sequential import least_lead, level_of, sign_names
from clarysage.inference.stopping import Budget
from tests.lab.decision_runs import UnadjustedRule, decision_runs
from tests.lab.problems import exact_values, problem, tabulated


def test_levels_of_all_looks_add_up_to_the_whole():
    spent = [1 - level_of(0.95, look) for look in range(1, 2000)]
    assert sum(spent) == pytest.approx(0.05, rel=1e-3)
    assert sum(spent) < 0.05


@pytest.fixture(scope="module")
def linear():
    return problem("linear").game("squared error")


@pytest.fixture(scope="module")
def truth(linear):
    return exact_values(tabulated(linear))


@dataclass
class Watch:
    """A rule that never stops, and remembers what it saw."""

    seen: list = field(default_factory=list)
    confidence = 0.95

    def __call__(self, estimate):
        interim = estimate.interim
        self.seen.append((estimate.draws, interim.count, interim.is_now, estimate.coverage.is_settled))


def test_looks_come_when_examples_were_visited_twice_and_when_draws_have_doubled(linear, seed):
    watch = Watch()
    found = estimate(linear, PairedWalks(), stop=[watch, Budget(400_000)], seed=seed)
    looks = [draws for draws, _, is_look, _ in watch.seen if is_look]
    assert looks[0] == 2 * len(linear.X)
    assert all(later >= 2 * sooner for sooner, later in pairwise(looks))
    assert all(is_settled for draws, _, _, is_settled in watch.seen if draws in looks)
    assert [number for _, number, is_look, _ in watch.seen if is_look] == list(range(1, len(looks) + 1))
    assert found.interim.count == len(looks) + 1  # the end is one more


def test_runs_without_a_rule_that_decides_have_had_one_look(linear, seed):
    assert estimate(linear, PairedWalks(), stop=[Budget(200_000)], seed=seed).interim.count == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_decisions_are_the_same_bits_for_any_number_of_jobs(n_jobs):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    options = {"method": "paired walks", "tolerance": None, "budget": 500_000, "rng": 4}
    found = [
        cs.sage(lambda Z: Z @ [1.0, 0.5, -0.5, 0.2], X, X[:, 0], stop=cs.SignsKnown(), n_jobs=jobs, **options)
        for jobs in (1, n_jobs)
    ]
    assert found[0].values.tobytes() == found[1].values.tobytes()
    assert found[0].looks == found[1].looks


def test_signs_are_known_and_said(linear, truth, seed):
    found = estimate(linear, PairedWalks(), stop=[cs.SignsKnown()], seed=seed)
    assert found.stopped is StopReason.SIGNS_KNOWN
    said = sign_names(found.values[0], found.std_error[0], found.dof[0], level_of(0.95, found.interim.count))
    assert said[7] == "no effect"  # the model ignores it
    assert "undecided" not in said[:6]


def test_the_largest_are_known_or_said_not_to_be():
    values, dof = np.array([3.0, 1.0, 0.9, -1.0]), np.full(4, 1e6)
    covariance = np.diag([0.01, 0.01, 0.01, 0.01])
    assert least_lead(values, covariance, dof, 1, 0.95)[0] == pytest.approx(2 - 1.6449 * np.sqrt(0.02), abs=1e-3)
    least, most = least_lead(values, covariance, dof, 2, 0.95)
    assert least < 0
    assert most == pytest.approx(0.1 + 1.6449 * np.sqrt(0.02), abs=1e-3)
    alone = least_lead(values, np.diag(covariance), dof, 1, 0.95)[0]  # without covariances: the worst they may be
    assert alone == pytest.approx(2 - 1.6449 * 0.2, abs=1e-3)
    tied = covariance.copy()
    tied[1, 2] = tied[2, 1] = 0.0099  # which vary together, so that their difference is known
    assert least_lead(values, tied, dof, 2, 0.95)[0] > 0
    assert least_lead(values, covariance, dof, 4, 0.95)[0] == np.inf


def test_top_says_whether_it_is_certain(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 3))
    y = X @ [2.0, 1.0, 0.1]
    found = cs.sage(lambda Z: Z @ [2.0, 1.0, 0.1], X, y, method="paired walks", stop=cs.TopKnown(1), rng=seed)
    assert found.top(1) == ["x0"]
    assert found.top(1).is_certain
    assert found.top(3).is_certain
    exact = cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, X[:, 0] + X[:, 1], method="exact", background=X[:10])
    assert exact.top(2).is_certain
    tie = cs.sage(lambda Z: Z.sum(axis=1), np.eye(3), np.ones(3), background=np.zeros((1, 3)), method="exact")
    assert not tie.top(1).is_certain


def test_rules_work_together_and_the_first_to_say_so_ends_the_run(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(100, 4))
    y = X @ [1.0, 0.9, 0.8, 0.001]
    options = {"method": "paired walks", "rng": seed}

    def model(rows):
        return rows @ np.array([1.0, 0.9, 0.8, 0.001]) + 0.3 * rows[:, 0] * rows[:, 1]

    loose = cs.sage(model, X, y, stop=[cs.SignsKnown(), cs.TopKnown(1)], tolerance=0.3, **options)
    assert loose.stopped in (StopReason.CONVERGED, StopReason.TOP_KNOWN, StopReason.SIGNS_KNOWN)
    short = cs.sage(model, X, y, stop=cs.TopKnown(2, negligible=1e-6), tolerance=None, budget=4000, **options)
    assert short.stopped is StopReason.BUDGET
    late = cs.sage(model, X, y, stop=cs.TopKnown(2, negligible=1e-9), tolerance=None, deadline=0.05, **options)
    assert late.stopped in (StopReason.DEADLINE, StopReason.TOP_KNOWN)


@pytest.mark.parametrize("rule", [cs.SignsKnown(), cs.TopKnown(2)])
@pytest.mark.parametrize("method", ["paired walks", "surrogate walks", "permutation", "kernel"])
def test_decisions_work_with_every_method_that_samples(rule, method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    y = X @ [2.0, 1.0, -0.4]
    found = cs.sage(
        lambda Z: Z @ [2.0, 1.0, 0.4],
        X,
        y,
        background=X[:12],
        stop=rule,
        method=method,
        tolerance=None,
        budget=2e6,
        rng=seed,
    )
    assert found.stopped in (StopReason.SIGNS_KNOWN, StopReason.TOP_KNOWN)
    assert found.top(1) == ["x0"]


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: cs.SignsKnown(confidence=95), "confidence"),
        (lambda: cs.SignsKnown(negligible=0), "negligible"),
        (lambda: cs.TopKnown(0), "k"),
        (lambda: cs.TopKnown(True), "k"),
        (lambda: cs.TopKnown(2, confidence="0.9"), "confidence"),
    ],
)
def test_rules_that_make_no_sense_are_refused(make, argument):
    with pytest.raises(cs.InputError) as caught:
        make()
    assert caught.value.argument == argument


# how often decisions are wrong


RUNS = 120


@pytest.fixture(scope="module")
def close():
    """A game in which one value is next to nothing: a sign that haste gets wrong."""
    rng = np.random.default_rng(5)
    X, B = rng.normal(size=(60, 5)), rng.normal(size=(40, 5))
    slopes = np.array([1.0, 0.7, 0.5, 0.4, 0.0])

    def model(rows):
        return rows @ slopes + rows[:, 4] * rows[:, 0]

    y = X @ slopes + 0.5 * X[:, 4] * X[:, 0] + 0.3 * rng.normal(size=60)
    low, high = 0.0, 1.0
    for _ in range(40):  # how much of the interaction there is in y, so that the last feature is worth nothing
        middle = (low + high) / 2
        y = X @ slopes + middle * X[:, 4] * X[:, 0]
        game = cs.PredictivePower.of(cs.Marginal(B).restrict(model, X), "squared error", X, y)
        worth = exact_values(tabulated(game))[4]
        low, high = (middle, high) if worth < 0 else (low, middle)
    return game


def test_an_end_comes_to_what_is_worth_nothing(close, seed):
    """A feature that is used, and worth exactly nothing, has no sign to find."""
    found = estimate(close, PairedWalks(), stop=[cs.SignsKnown(negligible=0.05), Budget(10**7)], seed=seed)
    assert found.stopped is StopReason.SIGNS_KNOWN
    said = sign_names(found.values[0], found.std_error[0], found.dof[0], level_of(0.95, found.interim.count))
    assert "undecided" not in said[:4]


@pytest.mark.statistical
def test_signs_are_rarely_wrong_however_often_one_looks_and_haste_makes_them_wrong(close, seed):
    truth = exact_values(tabulated(close))
    truth = np.where(np.abs(truth) < 1e-9 * np.abs(truth).max(), 0.0, truth)
    assert truth[4] == 0.0
    rule = cs.SignsKnown(negligible=0.02)
    found = decision_runs(close, truth, rule, runs=RUNS, budget=1e5, seed=seed)
    unadjusted = decision_runs(close, truth, UnadjustedRule(rule), runs=RUNS, budget=1e5, seed=seed)
    room = 4.5 * np.sqrt(0.05 * 0.95 / RUNS)
    assert found.wrong.mean() <= 0.05 + room
    assert unadjusted.wrong.mean() > 0.05 + room


@pytest.mark.statistical
def test_the_largest_are_rarely_wrong(linear, truth, seed):
    found = decision_runs(linear, truth, cs.TopKnown(3), runs=40, seed=seed)
    assert found.decided.all()
    assert found.wrong.mean() <= 0.05 + 4.5 * np.sqrt(0.05 * 0.95 / 40)
