"""Runs end when they should, say why, and never lose what they have."""

from __future__ import annotations

import pickle
import time
from dataclasses import replace

import numpy as np
import pytest

import clarysage as cs
from clarysage import Deadline, StopReason
from clarysage.estimators import estimate
from clarysage.estimators.limits import PILOT_ROWS_UNDER_DEADLINE, ROWS_PER_CHUNK


def f(Z):
    return Z[:, 0] * Z[:, 1] + Z[:, 2]


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 4))
    return X, f(X) + rng.normal(size=50)


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
@pytest.mark.parametrize("tolerance", [0.2, 0.05])
def test_convergence_means_the_papers_criterion_holds(data, method, tolerance, seed):
    X, y = data

    def steep(Z):
        return f(Z) + 3 * Z[:, 2]  # whose values are soon told apart, so that their range is the scale

    found = cs.sage(steep, X, y + 3 * X[:, 2], method=method, tolerance=tolerance, rng=seed)
    assert found.stopped is StopReason.CONVERGED
    assert found.converged
    assert found.std_error.max() <= tolerance * (found.values.max() - found.values.min())


def test_errors_that_are_known_by_few_draws_put_off_convergence():
    """What counts is the width of the interval: with one degree of freedom 12.706 standard errors in place of 1.96."""
    run = estimate(cs.TabularGame([0, 1, 2, 4]), cs.Permutation(), stop=[lambda now: now.draws >= 200], seed=0)
    error = 0.5 * 0.025 * np.ptp(run.values)
    known = replace(run, covariance=np.full((1, 2), error**2), dof=np.full((1, 2), np.inf))
    unsure = replace(known, dof=np.ones((1, 2)))
    assert np.allclose(known.cautious_error, error, rtol=1e-9)
    assert np.allclose(unsure.cautious_error, error * 12.7062047 / 1.95996398, rtol=1e-6)
    assert cs.Converged(0.025)(known) is StopReason.CONVERGED
    assert cs.Converged(0.025)(unsure) is None


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
@pytest.mark.parametrize("budget", [2_000, 12_345, 400_000])
def test_a_budget_is_kept_and_used_up(data, method, budget, seed):
    X, y = data
    seen = []

    def counted(Z):
        seen.append(len(Z))
        return f(Z)

    found = cs.sage(counted, X, y, method=method, tolerance=None, budget=budget, rng=seed, loss="squared error")
    assert sum(seen) == found.model_rows <= budget
    assert found.stopped is StopReason.BUDGET
    assert not found.converged
    assert budget - found.model_rows < 4 * 50


def test_whichever_comes_first_ends_the_run(data, seed):
    X, y = data
    options = {"method": "permutation", "rng": seed}
    assert cs.sage(f, X, y, tolerance=0.3, budget=10**8, deadline=600, **options).stopped is StopReason.CONVERGED
    assert cs.sage(f, X, y, tolerance=1e-6, budget=10**5, deadline=600, **options).stopped is StopReason.BUDGET
    assert cs.sage(f, X, y, tolerance=1e-6, budget=10**12, deadline=0.2, **options).stopped is StopReason.DEADLINE


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_deadline_ends_a_slow_run_with_the_estimate_so_far(data, n_jobs, seed):
    X, y = data

    def slow(Z):
        time.sleep(0.02)
        return f(Z)

    begun = time.monotonic()
    found = cs.sage(slow, X, y, method="permutation", tolerance=1e-9, deadline=1.0, rng=seed, n_jobs=n_jobs)
    assert time.monotonic() - begun < 60
    assert found.stopped is StopReason.DEADLINE
    assert found.draws > 0
    assert np.isfinite(found.values).all()


def test_an_estimate_is_never_handed_out_without_a_standard_error(seed):
    X = np.random.default_rng(seed).normal(size=(300, 200))  # one walk a chunk
    found = cs.sage(f, X, X[:, 0], background=X[:200], method="permutation", tolerance=1e-9, deadline=1e-3, rng=seed)
    assert found.stopped is StopReason.DEADLINE
    assert found.draws >= 2
    assert np.isfinite(found.std_error).all()


def test_preparations_are_short_where_there_is_a_deadline(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(50, 784)), rng.normal(size=(128, 784))
    y = rng.integers(2, size=50)
    options = {"background": background, "tolerance": 1e-9, "rng": seed}
    found = cs.sage(lambda Z: 1 / (1 + np.exp(-Z[:, :9].sum(axis=1))), X, y, deadline=1e-6, **options)
    assert found.stopped is StopReason.DEADLINE
    assert found.model_rows < 2 * PILOT_ROWS_UNDER_DEADLINE / 16 + 3 * ROWS_PER_CHUNK  # preparations, and about a chunk


@pytest.mark.parametrize("method", ["paired walks", "permutation"])
def test_the_one_row_of_400_that_carries_a_feature_is_not_missed(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    X[:, 2] = 0.0
    X[217, 2] = 1.0
    y = X[:, 0] + 200 * X[:, 2]

    def g(Z):
        return Z[:, 0] + 200 * Z[:, 2]

    background = X[:16].copy()
    truth = cs.sage(g, X, y, background=background, method="exact").values
    found = cs.sage(g, X, y, background=background, method=method, tolerance=0.1, rng=seed)
    assert found.converged
    assert np.all(np.abs(found.values - truth) <= 6 * found.std_error + 1e-9)
    assert found.values[2] > 0


@pytest.mark.parametrize("method", ["paired walks", "permutation"])
def test_a_claim_that_rests_on_part_of_the_examples_says_so(method, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30_000, 3))
    found = cs.sage(f, X, f(X), background=X[:4], method=method, tolerance=0.2, rng=seed)
    assert found.converged
    assert any("examples: using all would take too long" in note for note in found.notes)


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
def test_a_constant_model_ends_at_once_with_zeros_and_a_reason(method, seed):
    X = np.random.default_rng(seed).normal(size=(500, 6))
    found = cs.sage(lambda Z: np.full(len(Z), 0.1), X, X[:, 0], method=method, rng=seed)
    assert found.stopped is StopReason.NO_EFFECT
    assert np.array_equal(found.values, np.zeros(6))
    assert np.array_equal(found.std_error, np.zeros(6))
    assert found.model_rows <= 500 + 500 + 4_000_000


def test_a_constant_model_has_exact_zeros(seed):
    X = np.random.default_rng(seed).normal(size=(100, 3))
    found = cs.sage(lambda Z: np.full(len(Z), 0.1), X, X[:, 0], method="exact", rng=seed)
    assert found.stopped is StopReason.EXACT
    assert np.array_equal(found.values, np.zeros(3))


def test_a_constant_model_keeps_to_a_budget_and_a_deadline(seed):
    X = np.random.default_rng(seed).normal(size=(400, 8))
    seen = []

    def slow(Z):
        seen.append(len(Z))
        time.sleep(1e-6 * len(Z))
        return np.ones(len(Z))

    found = cs.sage(slow, X, X[:, 0], budget=50_000, rng=seed)
    assert found.stopped is StopReason.BUDGET
    assert sum(seen) == found.model_rows <= 50_000
    assert cs.sage(slow, X, X[:, 0], deadline=0.1, rng=seed).stopped is StopReason.DEADLINE


def test_a_model_that_moves_only_on_hybrid_rows_of_one_example_is_not_taken_for_constant(seed):
    X = np.zeros((300, 2))
    X[0] = 7

    def f(Z):
        return ((Z[:, 0] == 7) & (Z[:, 1] != 7)).astype(float)

    options = {"background": np.zeros((4, 2)), "loss": "squared error", "rng": seed}
    truth = cs.sage(f, X, np.zeros(300), method="exact", **options).values
    assert np.allclose(truth, [-0.5 / 300, 0.5 / 300])
    found = cs.sage(f, X, np.zeros(300), method="permutation", **options)
    assert np.all(np.abs(found.values - truth) <= 6 * found.std_error)
    assert found.stopped is not StopReason.NO_EFFECT


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
@pytest.mark.parametrize("features", [2, 3])
def test_a_perfect_model_ends(method, features, seed):
    X = np.random.default_rng(seed).normal(size=(60, features))
    found = cs.sage(lambda Z: Z.sum(axis=1), X, X.sum(axis=1), method=method, rng=seed)
    assert found.converged


@pytest.mark.parametrize("method", ["paired walks", "permutation", "kernel"])
def test_equal_features_end_and_are_said_to_be_equal(method, seed):
    column = np.random.default_rng(seed).normal(size=40)
    X = np.column_stack([column, column])
    found = cs.sage(lambda Z: Z[:, 0] * Z[:, 1], X, column**2, method=method, rng=seed)
    assert found.converged
    assert abs(found.values[0] - found.values[1]) <= 12 * found.std_error.max() + 1e-9


def test_features_that_bring_nothing_against_a_noisy_response_end(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    found = cs.sage(lambda Z: 1e-3 * Z.sum(axis=1), X, rng.normal(size=60), method="permutation", rng=seed)
    assert found.converged


def test_a_rule_of_ones_own_ends_the_run(data, seed):
    X, y = data
    told = []

    def enough(estimate):
        told.append(estimate.draws)
        return StopReason.RULE if estimate.draws >= 500 else None

    found = cs.sage(f, X, y, method="permutation", tolerance=None, stop=enough, rng=seed)
    assert found.stopped is StopReason.RULE
    assert found.draws == told[-1] >= 500


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_model_that_raises_leaves_the_estimate_so_far_on_the_error(data, n_jobs, tmp_path, seed):
    X, y = data

    def fails_later(Z):
        mark = tmp_path / "calls"
        with mark.open("ab") as file:
            file.write(b".")
        if mark.stat().st_size > 60:
            raise RuntimeError("the disk is full")
        return f(Z)

    with pytest.raises(cs.RunFailedError, match="the disk is full") as caught:
        cs.sage(fails_later, X, y, method="permutation", tolerance=1e-9, rng=seed, n_jobs=n_jobs)
    partial = caught.value.partial
    assert partial.stopped is StopReason.FAILED
    assert not partial.converged
    assert partial.draws > 0
    assert np.isfinite(partial.interval()[0]).all()


def test_ctrl_c_returns_the_estimate_so_far(data, seed):
    X, y = data
    calls = []

    def interrupted(Z):
        calls.append(1)
        if len(calls) > 40:
            raise KeyboardInterrupt
        return f(Z)

    found = cs.sage(interrupted, X, y, method="permutation", tolerance=1e-9, rng=seed)
    assert found.stopped is StopReason.INTERRUPTED
    assert found.draws > 0


@pytest.mark.parametrize(("said", "reason"), [(True, StopReason.RULE), (np.True_, StopReason.RULE)])
def test_a_rule_may_say_true_or_false(data, said, reason, seed):
    X, y = data
    found = cs.sage(f, X, y, method="kernel", tolerance=None, stop=lambda e: said if e.draws > 300 else False, rng=seed)
    assert found.stopped is reason
    assert found.draws > 300


def test_a_rule_that_says_something_else_is_refused(data, seed):
    X, y = data
    with pytest.raises(cs.RunFailedError, match="stop: got 'enough' from a rule") as caught:
        cs.sage(f, X, y, method="kernel", tolerance=None, stop=lambda e: "enough", rng=seed)
    assert isinstance(caught.value.__cause__, cs.InputError)


def test_auto_does_not_choose_what_a_budget_or_a_deadline_would_refuse(data, seed):
    X, y = data
    for budget in range(24_000, 42_000, 1_500):
        assert cs.sage(f, X, y, budget=budget, rng=seed).model_rows <= budget
    assert cs.sage(f, X, y, deadline=30, rng=seed).method == "paired walks"
    assert cs.sage(f, X, y, groups={"all": [0, 1, 2, 3]}, method="permutation", budget=200, rng=seed).converged


def test_ctrl_c_before_the_first_draw_is_ctrl_c(data):
    X, y = data

    def interrupted(Z):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cs.sage(interrupted, X, y)


def test_exact_enumeration_is_refused_above_its_stated_cost():
    X = np.zeros((100, 20))
    with pytest.raises(cs.InputError, match=r"method: got exact enumeration of 20 players, 1.05e\+10 model rows"):
        cs.sage(lambda Z: Z[:, 0] + 1.0 * (Z[:, 1] > 5), X + np.arange(100)[:, None], np.zeros(100), method="exact")


def test_auto_takes_exact_enumeration_where_it_is_cheaper(data, seed):
    X, y = data
    exact = cs.sage(f, X, y, rng=seed)
    assert exact.method == "exact"
    assert any("all coalitions take 35,000 model rows" in note for note in exact.notes)
    wide = np.random.default_rng(seed).normal(size=(50, 12))
    for X_, more, why in ((wide, {"tolerance": 0.3}, "walks about"), (X, {"budget": 20_000}, "more than the budget")):
        found = cs.sage(f, X_, X_[:, 0], rng=seed, **more)
        assert found.method == "paired walks"
        assert [
            note for note in found.notes if str(note).startswith("Method 'paired walks' was chosen") and why in note
        ]


def test_progress_counts_model_rows_and_ends_at_100_percent(data, capsys, seed):
    X, y = data
    cs.sage(f, X, y, method="permutation", progress=True, rng=seed)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "100%" in shown.err.split("\r")[-1]
    assert "model rows" in shown.err
    cs.sage(f, X, y, method="permutation", rng=seed)
    assert capsys.readouterr().err == ""
    cs.sage(f, X, y, method="exact", progress=True)
    assert "100%" in capsys.readouterr().err.split("\r")[-1]


def test_the_error_of_a_run_that_failed_carries_a_list_for_a_list_of_losses_and_survives_a_pickle(data, seed):
    X, y = data
    calls = []

    def failing(Z):
        calls.append(len(Z))
        if len(calls) > 40:
            raise OSError("gone")
        return f(Z)

    losses = ["squared error", "absolute error"]
    with pytest.raises(cs.RunFailedError, match=r"OSError from .*: gone.* error\.partial") as caught:
        cs.sage(failing, X, y, loss=losses, method="permutation", tolerance=1e-9, rng=seed)
    assert [one.loss for one in caught.value.partial] == losses
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert [one.draws for one in again.partial] == [one.draws for one in caught.value.partial]


def test_what_is_done_before_a_run_counts_towards_its_deadline(data, monkeypatch):
    from clarysage._measures import run, sage

    X, y = data
    seconds = []

    def look_for_strange_rows(*args):
        time.sleep(0.3)
        return []

    def recording(game, estimator, *, stop, **options):
        seconds.extend(rule.seconds for rule in stop if isinstance(rule, Deadline))
        return estimate(game, estimator, stop=stop, **options)

    monkeypatch.setattr(sage, "about_manifold", look_for_strange_rows)
    monkeypatch.setattr(run, "estimate", recording)
    cs.sage(f, X, y, deadline=60, method="paired walks", tolerance=0.5, rng=0)
    assert len(seconds) == 1
    assert seconds[0] <= 60 - 0.3
