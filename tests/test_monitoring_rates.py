"""How often monitoring is right: the paper's three faults (Figure 3) and nothing else, and quiet where nothing changed.

Every run has fresh rows, of a table like a bank's; its model is fitted to others. Options make runs cheap: few
background rows, and few draws, whose noise is part of what is tested.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import clarysage as cs
from clarysage.drift import shifts
from clarysage.inference.intervals import holm
from clarysage.results.finding import CERTAIN, SURE_SHIFT
from tests.lab.bank import CORRUPTIONS, bank, bank_model

pytestmark = pytest.mark.statistical
RATE = 0.05  # of runs with any false alarm, at most
RARE = 1e-4  # the chance at which a simulation may fail where all is right
CHEAP = {"target": "subscribed", "background_rows": 24, "tolerance": 0.1, "method": "paired walks"}
ROWS = 1000
FEW, MANY = 4, 50


@cache
def model(seed):
    return bank_model(np.random.default_rng([seed, 8]))


def sides(rng, rows=ROWS, current=None):
    """Reference rows and current ones, fresh both."""
    return bank(rows, rng), bank(rows if current is None else current, rng)


def allowed(runs, rate=RATE):
    """How many runs may have a false alarm."""
    return binom.ppf(1 - RARE, runs, rate)


# what is broken is named


@pytest.mark.parametrize("runs", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_fault_is_flagged_and_nothing_else_where_its_rows_are_known_without_it(seed, name, runs):
    fault = CORRUPTIONS[name]
    for i in range(runs):
        rows = bank(ROWS, np.random.default_rng([seed, i]))
        found = cs.monitor(model(seed), rows, fault(rows), paired=True, rng=i, **CHEAP)
        assert found.comparison.is_paired
        assert found.flagged == [fault.column], f"run {i}"
        assert found.shifted == [fault.column], f"run {i}"


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_fault_is_flagged_and_nothing_else_in_fresh_rows(seed, name):
    fault, others = CORRUPTIONS[name], 0
    for i in range(MANY):
        reference, current = sides(np.random.default_rng([seed, i]))
        found = cs.monitor(model(seed), reference, fault(current), rng=i, **CHEAP)
        assert found.flagged[0] == fault.column, f"run {i}: {found}"
        finding = next(one for one in found.findings() if one.feature == fault.column)
        assert finding.verdict == "inputs and contribution"
        assert finding.difference < 0
        others += len(found.flagged) > 1  # where inputs that did not shift surely seem to
    assert others <= allowed(MANY, SURE_SHIFT * RATE)


# where nothing is broken, nothing is said


def fresh(seed, rng):
    return cs.monitor(model(seed), *sides(rng, 300), rng=rng, **CHEAP)


def few(seed, rng):
    """A large reference, and few current rows."""
    return cs.monitor(model(seed), *sides(rng, 2000, 200), rng=rng, **CHEAP)


def slices(seed, rng):
    """Twelve slices at once."""
    return cs.monitor(model(seed), *sides(rng, 300, 12 * 60), every=60, rng=rng, **CHEAP)


def unlabelled(seed, rng):
    """Before responses are known."""
    reference, current = (side.drop(columns="subscribed") for side in sides(rng, 300))
    return cs.monitor(model(seed), reference, current, rng=rng, **{**CHEAP, "target": None})


def measured_twice(seed, rng):
    """The same rows, each measured twice, with errors: neither of the measurements is the better one."""
    rows, background = sides(rng, 300, 24)

    def measured():
        noise = {"age": rng.normal(0, 3, len(rows)), "duration": rng.normal(0, 0.5, len(rows))}
        return rows.assign(**{column: rows[column] + error for column, error in noise.items()})

    others = {name: option for name, option in CHEAP.items() if name != "background_rows"}
    found = cs.monitor(
        model(seed),
        measured(),
        measured(),
        paired=True,
        rng=rng,
        background=background.drop(columns="subscribed"),
        **others,
    )
    assert found.comparison.is_paired
    assert (found.comparison.std_error > 0).any()
    return found


FORMS = {fresh: 6, few: 6, slices: 4, unlabelled: 6, measured_twice: 6}  # with how many runs


@pytest.mark.parametrize(
    ("form", "runs"),
    [*FORMS.items(), *(pytest.param(form, 200, marks=pytest.mark.slow) for form in FORMS)],
)
def test_alarms_on_clean_rows_are_as_rare_as_they_say(seed, form, runs):
    found = [form(seed, np.random.default_rng([seed, 5, i])) for i in range(runs)]
    certain = sum(any(finding.verdict == CERTAIN for finding in one.all_findings) for one in found)
    assert certain <= allowed(runs, SURE_SHIFT * RATE)
    for what in ("flagged", "shifted"):
        alarms = sum(bool(getattr(one, what)) for one in found)
        assert alarms <= allowed(runs), f"{what} in {alarms} of {runs} runs"
    if form is slices:
        assert all(len(one.names) == 12 for one in found)
        unadjusted = sum(bool((one.comparison.p_values(None) < RATE).any()) for one in found)
        assert unadjusted > allowed(runs)  # so that it is the correction for their number that keeps quiet


@pytest.mark.parametrize(
    ("rows", "runs"), [(30, 400), *(pytest.param(rows, 3000, marks=pytest.mark.slow) for rows in (30, 200))]
)
def test_inputs_of_clean_slices_shift_as_rarely_as_their_p_values_say(seed, rows, runs):
    """Tables of eight columns, far out into the tail in which inputs count as shifted for certain."""
    smallest = []
    for i in range(runs):
        reference, current = sides(np.random.default_rng([seed, 6, i]), 300, rows)
        smallest.append(holm(np.array([shift.p_value for shift in shifts(reference, current)])).min())
    for level in (0.05, 0.005, 5e-4, SURE_SHIFT * RATE):
        alarms = int((np.array(smallest) < level).sum())
        assert alarms <= allowed(runs, level), f"p < {level} in {alarms} of {runs} tables"
