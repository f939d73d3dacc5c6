"""Every method keeps its word on problems whose answer is known, and a planted fault is found out.

The table in docs/appendix/calibration.md is made with thousands of runs. Here there are fewer, so each bar is widened
by four standard errors of what is measured: a sound method fails about once in ten thousand seeds.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import clarysage as cs
import oracle
from clarysage.estimators import METHODS, estimate
from clarysage.losses import as_loss
from tests.lab.calibration import AT_OWN_STOP, CalibrationLimits, violations
from tests.lab.calibration_runs import calibrate, losses_of, settings_of, tolerance_for_twice
from tests.lab.estimate_faults import ESTIMATE_FAULTS
from tests.lab.problems import PROBLEMS, exact_values, problem, tabulated

ROOT = Path(__file__).parent.parent
SAMPLING = [name for name in METHODS if name != "exact"]
QUICK = [name for name in SAMPLING if name != "surrogate walks"]
LOSSES = [(name, loss) for name in PROBLEMS for loss in problem(name).losses]
CELLS = [(method, name, loss) for method in SAMPLING for name in PROBLEMS for loss in losses_of(method, name)]
LIMITS = CalibrationLimits(allowance=4)
LIMITS_AT_OWN_STOP = replace(AT_OWN_STOP, allowance=4)
BIASES = 8 * len(CELLS)


def words(*cell):
    """How a cell is called among the tests."""
    return "-".join(part.replace(" ", "_") for part in (*cell[:-1], as_loss(cell[-1]).name))


@pytest.mark.parametrize(
    ("name", "loss"), [("linear", "squared error"), ("logistic", "cross entropy"), ("null", "squared error")]
)
@pytest.mark.statistical
@pytest.mark.parametrize("method", QUICK)
def test_intervals_errors_and_values_are_right_within_what_300_runs_can_tell(method, name, loss, seed):
    assert violations(calibrate(method, name, loss, runs=300, seed=seed), LIMITS, tests=BIASES) == []


@pytest.mark.statistical
@pytest.mark.parametrize("method", QUICK)
def test_convergence_that_is_claimed_in_spite_of_a_rare_example_is_true(method, seed):
    calibration = calibrate(method, "rare", "squared error", runs=60, tolerance=0.05, seed=seed)
    assert violations(calibration, LIMITS_AT_OWN_STOP) == []


@pytest.mark.statistical
@pytest.mark.parametrize("method", QUICK)
def test_planted_faults_are_found_out(method, seed):
    """All faults in one test: those of readings are planted in the same runs."""
    cells = {
        name: calibrate(method, "linear", "squared error", runs=600, fault=fault, seed=seed)
        for name, fault in ESTIMATE_FAULTS.items()
    }
    assert [name for name, cell in cells.items() if not violations(cell, LIMITS, tests=BIASES)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("method", "name", "loss"), CELLS, ids=[words(*cell) for cell in CELLS])
def test_so_they_are_in_every_cell_of_the_table_and_where_the_data_say_when_to_stop(method, name, loss, seed):
    runs, stop_runs = (round(share * n) for share, n in zip(settings_of(method).shares, (400, 200), strict=True))
    fixed = calibrate(method, name, loss, runs=runs, seed=seed)
    assert violations(fixed, LIMITS, tests=BIASES) == []
    stopped = calibrate(method, name, loss, runs=stop_runs, tolerance=tolerance_for_twice(fixed), seed=seed)
    assert violations(stopped, LIMITS_AT_OWN_STOP) == []


@pytest.mark.parametrize(("name", "loss"), LOSSES, ids=[words(*cell) for cell in LOSSES])
def test_exact_values_of_a_problem_are_those_of_the_paper_s_equations(name, loss, seed):
    tiny = problem(name, seed, examples=4, background=3)
    values = estimate(tiny.game(loss), cs.Exact()).values[0]
    slow = oracle.sage(tiny.model, one_loss(loss), tiny.X, tiny.y, tiny.background)
    assert np.allclose(values, slow, rtol=1e-10, atol=1e-13)
    assert np.allclose(exact_values(tabulated(tiny.game(loss))), values, rtol=1e-10, atol=1e-13)


def one_loss(loss):
    """The loss of one example, written out."""
    if loss == "squared error":
        return oracle.squared_error
    if loss == "cross entropy":
        return oracle.cross_entropy
    if loss == "absolute error":
        return lambda y, prediction: float(np.abs(prediction - y))
    if loss == "brier":
        return lambda y, p: float(sum((p[k] - (k == y)) ** 2 for k in range(len(p)))) / (2 if len(p) == 2 else 1)
    if loss == "zero one":
        return lambda y, p: float((np.argmax(p) if np.ndim(p) else p > 0.5) != y)
    return lambda y, prediction: float(np.log(np.cosh(prediction - y)))


@pytest.mark.parametrize("method", ["permutation", "kernel"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_game_and_its_table_give_the_same_estimate(method, name, seed):
    game = problem(name, seed, examples=20, background=10).game(problem(name).losses[0])
    budget = [cs.Budget(game.rows_spent + METHODS[method]().rows(game, 200))]
    by_model, by_table = (
        estimate(one, METHODS[method](), stop=budget, seed=seed)
        for one in (game, replace(tabulated(game, game.rows_per_payoff), rows_spent=game.rows_spent))
    )
    assert by_model.draws == by_table.draws == 200
    assert np.allclose(by_model.values, by_table.values, rtol=1e-9, atol=1e-12)
    assert np.allclose(by_model.covariance, by_table.covariance, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(("name", "ignored"), [("linear", [7]), ("logistic", [7]), ("interaction", [6, 7])])
@pytest.mark.parametrize("method", [name for name in QUICK if name != "kernel"])  # which spreads its error over all
def test_a_feature_that_the_model_ignores_is_worth_exactly_nothing(method, name, ignored, seed):
    calibration = calibrate(method, name, problem(name).losses[0], runs=5, seed=seed)
    assert np.flatnonzero(~calibration.varies).tolist() == ignored
    assert (calibration.coverage_by_player[ignored] == 1).all()


def kept():
    return json.loads((ROOT / "docs" / "appendix" / "calibration.json").read_text())  # made by make calibrate


def test_the_table_that_is_kept_has_every_method_on_every_problem_and_no_failure():
    cells = kept()["cells"]
    assert {(cell["method"], cell["problem"], cell["loss"]) for cell in cells} == {
        (method, name, as_loss(loss).name) for method, name, loss in CELLS
    }
    assert [cell for cell in cells if cell["missed"]] == []
    assert min(cell["fixed work"]["runs"] for cell in cells) >= 1000


def test_the_table_that_is_kept_says_how_it_was_made():
    numbers, page = kept(), (ROOT / "docs" / "appendix" / "calibration.md").read_text()
    digest = hashlib.sha256(json.dumps(numbers["cells"], sort_keys=True).encode()).hexdigest()
    assert numbers["sha256 of cells"] == digest
    assert digest[:16] in page
    assert set(numbers["made"]) == {cell["method"] for cell in numbers["cells"]}
    for how in numbers["made"].values():
        assert re.fullmatch(r"[0-9a-f]{40}", how["commit"])
        assert how["command"] in page
        assert how["commit"] in page
