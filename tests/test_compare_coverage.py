"""Intervals of differences between whole runs hold what they say: sampled runs, of rows drawn afresh each time.

In tests/test_compare.py parts of rows are made by closed form; here they come from runs with few draws, whose noise
intervals must count.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import clarysage as cs
from tests.lab.bank import CORRUPTIONS, bank, bank_model
from tests.lab.coverage import binomial_range, covers

RARE = 1e-4  # the chance at which a simulation may fail where all is right
POOL = 4000  # rows that a bank has
BETA = np.array([2.0, 1.0, 0.5, 0.0])  # of the response
MODEL = np.array([1.8, 1.0, 0.6, 0.2])
WEAKER = MODEL * [1, 0.4, 1, 1]


def linear(coefficients):
    return lambda X: X @ coefficients


def worth(coefficients):
    """SAGE values in the population, for independent standard normal features by squared error."""
    return 2 * BETA * coefficients - coefficients**2


def rows_like(rng, n):
    X = rng.normal(size=(n, 4))
    return X, X @ BETA + rng.normal(size=n)


def assert_covered(comparisons, truth):
    """Intervals hold the truth as often as they say, of each player."""
    coverage = covers((comparison.interval() for comparison in comparisons), truth).mean(axis=0)
    least, most = binomial_range(len(comparisons), chance=RARE / len(truth))
    assert ((least <= coverage) & (coverage <= most)).all(), coverage


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [50, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_paired", [True, False], ids=["the same rows", "fresh rows"])
def test_intervals_of_differences_of_two_linear_models_hold(seed, is_paired, runs):
    rng = np.random.default_rng([seed, 1])
    half = rng.normal(size=(8, 4))
    background = np.concatenate([half, -half])  # whose means are zero
    shared = {"background": background, "loss": "squared error", "method": "paired walks", "tolerance": 0.2}
    comparisons, errors = [], []
    for i in range(runs):
        X, y = rows_like(rng, 150)
        Z, w = (X, y) if is_paired else rows_like(rng, 150)
        one = cs.sage(linear(MODEL), X, y, rng=i, **shared)
        other = cs.sage(linear(WEAKER), Z, w, rng=i, **shared)
        comparisons.append(cs.compare(one, other))
        errors.append(comparisons[-1].std_error / cs.compare(one, other, paired=False).std_error)
    assert all(comparison.is_paired is is_paired for comparison in comparisons)
    assert_covered(comparisons, worth(WEAKER) - worth(MODEL))
    assert (np.mean(errors, axis=0)[[0, 2, 3]] < 0.8).all() == is_paired


@cache
def banked(seed):
    """A model, a bank's rows, and others for the background."""
    rng = np.random.default_rng([seed, 2])
    model, rows, background = bank_model(rng), bank(POOL, rng), bank(24, rng).drop(columns="subscribed")
    return model, rows, background


def explained(model, rows, background, **options):
    X, y = rows.drop(columns="subscribed"), rows["subscribed"]
    return cs.sage(model, X, y, background=background, loss="cross entropy", **options)


@pytest.mark.statistical
@pytest.mark.parametrize("runs", [15, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_paired", [True, False], ids=["the same rows", "fresh rows"])
def test_intervals_of_differences_hold_for_rows_drawn_from_a_bank(seed, is_paired, runs):
    model, rows, background = banked(seed)
    fault = CORRUPTIONS["month, the next"]
    truth = np.subtract(
        *(explained(model, table, background, method="exact", rng=0).values for table in (fault(rows), rows))
    )
    rng, comparisons = np.random.default_rng([seed, 3]), []
    for i in range(runs):
        drawn = rng.integers(POOL, size=400)
        others = drawn if is_paired else rng.integers(POOL, size=400)
        tables = rows.iloc[drawn], fault(rows.iloc[others])
        sides = [explained(model, table, background, method="paired walks", tolerance=0.1, rng=i) for table in tables]
        comparisons.append(cs.compare(*sides, paired=is_paired))
    assert_covered(comparisons, truth)
