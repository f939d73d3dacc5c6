"""Intervals hold as often as they say, on ordinary, redundant and null problems, and a fault in them is found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

import clarysage as cs
from clarysage.coalitions import masks, shapley_values
from clarysage.estimators import METHODS, estimate
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.seeds import DRAWS, stream
from clarysage.inference.estimate import Estimate
from clarysage.inference.intervals import interval
from clarysage.inference.moments import Moments
from tests.lab.coverage import covers

RUNS = 1000
N_DRAWS = 1500
PLAYERS = 5


def ordinary(rng: np.random.Generator):
    X = rng.normal(size=(40, PLAYERS))
    beta = np.array([2.0, 1.0, 0.5, 0.3, -1.0])
    return (lambda Z: Z @ beta + Z[:, 0] * Z[:, 1]), X, X @ beta + rng.normal(size=40)


def redundant(rng: np.random.Generator):
    signal = rng.choice([-1.0, 1.0], size=40)
    X = signal[:, None] + 0.1 * rng.normal(size=(40, PLAYERS))
    return (lambda Z: np.sign(Z.sum(axis=1))), X, signal


def null(rng: np.random.Generator):
    X = rng.normal(size=(40, PLAYERS))
    return (lambda Z: 0.01 * Z.sum(axis=1)), X, rng.normal(size=40)


PROBLEMS = {"ordinary": ordinary, "redundant": redundant, "null": null}


@cache
def table_of(problem: str, seed: int) -> tuple[cs.TabularGame, np.ndarray]:
    """The whole game of a problem as a table, so that a run costs little, and its exact values."""
    f, X, y = PROBLEMS[problem](np.random.default_rng(seed))
    f_S = cs.Marginal(X[:16]).restrict(f, X)
    v = cs.PredictivePower.of(f_S, "squared error", X, y)
    rows = masks(np.arange(2**PLAYERS), PLAYERS)
    rng = np.random.default_rng(0)
    payoffs = [v.payoff(np.full(len(rows), i), rows, rng)[:, 0] for i in range(len(X))]
    game = cs.TabularGame(np.array(payoffs), rows_per_payoff=64)
    return game, shapley_values(game.weights @ game.payoffs)


def run(estimator: Any, game: cs.TabularGame, seed: int, executor: Any = None) -> Estimate:
    return estimate(game, estimator, stop=[cs.Budget(estimator.rows(game, N_DRAWS))], seed=seed, executor=executor)


def runs_of(estimator: Any, problem: str, seed: int) -> list[Estimate]:
    """Independent runs."""
    game, _ = table_of(problem, seed)
    return [run(estimator, game, 1_000_003 * (seed + 1) + number) for number in range(RUNS)]


def covered(estimates: Iterable[Estimate], truth: np.ndarray, *, joint: bool = False) -> np.ndarray:
    """Which 95 % intervals hold the exact values, (runs, players)."""
    ends = (interval(found.values[0], found.std_error[0], found.dof[0], joint=joint) for found in estimates)
    return covers(ends, truth, rounding=1e-12)


def narrow(found: Estimate, truth: np.ndarray) -> Estimate:
    """A planted fault: standard errors times 0.8."""
    return replace(found, covariance=found.covariance * 0.64)


def shift(found: Estimate, truth: np.ndarray) -> Estimate:
    """A planted fault: values off by two percent of their range."""
    return replace(found, values=found.values + 0.02 * np.ptp(truth))


@pytest.mark.statistical
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_95_percent_intervals_hold_the_exact_value_92_to_98_percent_of_the_time(method, problem, seed):
    """What else can be read off the same runs is looked at here too, since the runs are what takes time."""
    _, truth = table_of(problem, seed)
    estimates = runs_of(METHODS[method](), problem, seed)
    assert 0.92 <= covered(estimates, truth).mean() <= 0.98
    assert covered(estimates, truth, joint=True).all(axis=1).mean() >= 0.92  # Bonferroni: no less often than it says
    reported = np.sqrt(np.mean([found.std_error[0] ** 2 for found in estimates], axis=0))
    spread = np.std([found.values[0] for found in estimates], axis=0, ddof=1)
    # the spread of R runs has a relative error of 1/sqrt(2 R), about 0.022, for near-normal estimates: five of them
    assert np.all(np.abs(reported / spread - 1) <= 5 / np.sqrt(2 * RUNS))
    if (method, problem) == ("permutation", "ordinary"):
        for fault in (narrow, shift):
            assert not 0.92 <= covered((fault(found, truth) for found in estimates), truth).mean() <= 0.98


@dataclass(frozen=True)
class Repeating(cs.Permutation):
    """A planted fault: every second chunk draws the same orders and examples again."""

    def draw(self, game: Any, first: int, draws: int, rng: np.random.Generator) -> Any:
        number = first // self.chunk(game)
        key = int(rng.bit_generator.seed_seq.entropy)
        return super().draw(game, first, draws, stream(key, DRAWS, number // 2))


@pytest.mark.statistical
def test_a_planted_fault_of_draws_makes_the_coverage_test_fail(seed):
    _, truth = table_of("ordinary", seed)
    assert not 0.92 <= covered(runs_of(Repeating(), "ordinary", seed), truth).mean() <= 0.98


def run_both_ways(method: str, game: cs.TabularGame, seed: int) -> tuple[Estimate, Estimate]:
    """Makes a run with one job, and the same run with two."""
    alone, shared = (run(METHODS[method](), game, seed, executor) for executor in (None, Scheduler(Joblib(2))))
    return alone, shared


def have_same_bits(alone: Estimate, shared: Estimate) -> bool:
    """Tells whether two estimates have the same values and covariances, to the last bit."""
    return np.array_equal(alone.values, shared.values) and np.array_equal(alone.covariance, shared.covariance)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_two_jobs_give_the_same_bits(method, problem, seed):
    game, _ = table_of(problem, seed)
    for number in range(5):
        assert have_same_bits(*run_both_ways(method, game, number))


@pytest.mark.statistical
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_two_jobs_give_the_same_intervals_over_200_seeds(method, problem, seed):
    """Coverage with two jobs is that of one: every run has the same bits."""
    game, truth = table_of(problem, seed)
    pairs = [run_both_ways(method, game, number) for number in range(200)]
    assert all(have_same_bits(*pair) for pair in pairs)
    coverage = covered((shared for _, shared in pairs), truth).mean()
    assert 0.92 <= coverage <= 0.98  # 200 runs of 5 players: a standard error of about 0.007, so four of them


def test_the_kernel_covariance_sums_to_zero_along_the_efficiency_constraint(seed):
    game, _ = table_of("null", seed)
    result = run(cs.Kernel(), game, seed)
    covariance = result.covariance[0]
    assert np.abs(covariance.sum(axis=0)).max() <= 1e-9 * np.abs(covariance).max()
    assert result.values[0].sum() == pytest.approx(float(game.weights @ (game.payoffs[:, -1] - game.payoffs[:, 0])))


def test_merged_moments_are_those_of_all_draws_together(seed):
    draws = np.random.default_rng(seed).normal(size=(90, 2, 4)) + 100
    parts = [Moments.of(draws[:1]), Moments.of(draws[1:40]), Moments.of(draws[40:])]
    for merged in (parts[0].merge(parts[1]).merge(parts[2]), parts[0].merge(parts[1].merge(parts[2]))):
        assert merged.count == 90
        assert np.allclose(merged.mean, draws.mean(axis=0))
        for loss in range(2):
            assert np.allclose(merged.covariance_of_mean()[loss], np.cov(draws[:, loss].T) / 90)


def test_an_exact_explanation_has_intervals_without_width():
    explanation = cs.sage(lambda Z: Z[:, 0], np.eye(3), [1.0, 0.0, 0.0], method="exact", loss="squared error")
    low, high = explanation.interval(about="data")
    assert np.array_equal(low, high)
    assert np.array_equal(low, explanation.values)
