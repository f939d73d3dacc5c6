"""Intervals of differences between whole runs hold what they say: sampled runs, of rows drawn afresh each time.

In tests/test_compare.py parts of rows are made by closed form; here they come from runs with few draws, whose noise
intervals must count.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import clarysage as cs
from tests.lab.bank import CORRUPTIONS, bank, bank_model

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


def is_about(hits, expected=0.95):
    """Whether intervals (runs, p) hold the truth as often as they say, of each player."""
    least, most = binom.ppf([RARE / hits.shape[1], 1 - RARE / hits.shape[1]], len(hits), expected)
    return ((least <= hits.sum(axis=0)) & (hits.sum(axis=0) <= most)).all()


def holds(found, truth):
    low, high = found.interval()
    return (low <= truth) & (truth <= high)


@pytest.mark.parametrize("runs", [50, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_paired", [True, False], ids=["the same rows", "fresh rows"])
def test_intervals_of_differences_of_two_linear_models_hold(seed, is_paired, runs):
    rng = np.random.default_rng([seed, 1])
    half = rng.normal(size=(8, 4))
    background = np.concatenate([half, -half])  # whose means are zero
    shared = {"background": background, "loss": "squared error", "method": "paired walks", "tolerance": 0.2}
    hits, errors = [], []
    for i in range(runs):
        X, y = rows_like(rng, 150)
        Z, w = (X, y) if is_paired else rows_like(rng, 150)
        one = cs.sage(linear(MODEL), X, y, rng=i, **shared)
        other = cs.sage(linear(WEAKER), Z, w, rng=i, **shared)
        found = cs.compare(one, other)
        assert found.is_paired is is_paired
        hits.append(holds(found, worth(WEAKER) - worth(MODEL)))
        errors.append(found.std_error / cs.compare(one, other, paired=False).std_error)
    assert is_about(np.array(hits)), np.mean(hits, axis=0)
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


@pytest.mark.parametrize("runs", [15, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("is_paired", [True, False], ids=["the same rows", "fresh rows"])
def test_intervals_of_differences_hold_for_rows_drawn_from_a_bank(seed, is_paired, runs):
    model, rows, background = banked(seed)
    fault = CORRUPTIONS["month, the next"]
    truth = np.subtract(*(
        explained(model, table, background, method="exact", rng=0).values for table in (fault(rows), rows)
    ))  # fmt: skip
    rng, hits = np.random.default_rng([seed, 3]), []
    for i in range(runs):
        drawn = rng.integers(POOL, size=400)
        others = drawn if is_paired else rng.integers(POOL, size=400)
        sides = rows.iloc[drawn], fault(rows.iloc[others])
        found = cs.compare(
            *(explained(model, side, background, method="paired walks", tolerance=0.1, rng=i) for side in sides),
            paired=is_paired,
        )
        hits.append(holds(found, truth))
    assert is_about(np.array(hits)), np.mean(hits, axis=0)
