"""The memory of a run stays within data plus the limit, for wide inputs and for many rows."""

from __future__ import annotations

import subprocess
import sys

import pytest

MEASURE = """
import resource
import numpy as np
import clarysage as cs
import clarysage._measures.sage, scipy.stats, joblib

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rng = np.random.default_rng(0)
{setup}
before = peak()
{run}
print(peak() - before)
"""

LIMIT = 1e9


def growth(setup: str, run: str) -> int:
    script = MEASURE.format(setup=setup, run=run)
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    return int(shown.stdout)


@pytest.mark.subprocess
@pytest.mark.parametrize("method", ["permutation", "kernel", "paired walks"])
def test_784_features_and_512_background_rows_stay_within_the_limit(method):
    setup = "X = rng.random((600, 784))\ny = X[:, 0]"
    run = (
        "cs.sage(lambda Z: Z[:, :9].sum(axis=1), X, y, background=X[:512], loss='squared error', "
        f"method='{method}', tolerance=None, budget=600 + 512 + 2 * 783 * 512, rng=0)"
    )
    assert growth(setup, run) <= LIMIT


@pytest.mark.subprocess
def test_a_smaller_limit_is_kept_too():
    setup = "X = rng.random((300, 784))\ny = X[:, 0]"
    run = (
        "cs.sage(lambda Z: Z[:, :9].sum(axis=1), X, y, removal=cs.Marginal(X[:256], memory_limit=1e8), "
        "loss='squared error', method='permutation', tolerance=None, budget=600 + 2 * 783 * 256, rng=0)"
    )
    assert growth(setup, run) <= 1e8 + 5e7  # beside it: codes of the data and the covariance of 784 values


@pytest.mark.subprocess
@pytest.mark.parametrize("method", ["kernel", "paired walks"])
def test_a_smaller_limit_of_the_run_is_kept_by_a_removal_named_by_a_string(method):
    setup = "X = rng.random((300, 784))\ny = X[:, 0]"
    run = (
        "cs.sage(lambda Z: Z[:, :9].sum(axis=1), X, y, background=X[:256], memory_limit=1e8, "
        f"loss='squared error', method='{method}', tolerance=None, budget=600 + 2 * 783 * 256, rng=0)"
    )
    # beside it, whatever the limit: codes, covariances and main effects of 784 columns; a limit of 1e9 takes 3.2e8
    assert growth(setup, run) <= 1e8 + 1e8


@pytest.mark.subprocess
@pytest.mark.parametrize("method", ["permutation", "kernel", "paired walks"])
def test_200_000_examples_stay_within_the_limit(method):
    setup = "X = rng.random((200_000, 20))\ny = X[:, 0] + X[:, 1]"
    run = (
        "cs.sage(lambda Z: Z[:, 0] + Z[:, 1], X, y, loss='squared error', "
        f"method='{method}', tolerance=None, budget=3_000_000, rng=0)"
    )
    assert growth(setup, run) <= LIMIT


@pytest.mark.subprocess
@pytest.mark.slow
def test_a_default_call_stays_within_the_limit_for_784_features_and_ten_classes():
    setup = "X = rng.random((600, 784))\ny = rng.integers(10, size=600)\nW = rng.normal(size=(784, 10)) / 9"
    run = (
        "f = lambda Z: (lambda e: e / e.sum(axis=1, keepdims=True))(np.exp(Z @ W))\n"
        "cs.sage(f, X, y, background=X[:512], loss='cross entropy', tolerance=None, budget=3_000_000, rng=0)"
    )
    assert growth(setup, run) <= LIMIT


@pytest.mark.subprocess
@pytest.mark.slow
def test_a_default_call_stays_within_the_limit_for_a_million_examples():
    setup = "X = rng.random((1_000_000, 100))\ny = X[:, 0] + X[:, 1]"
    run = "cs.sage(lambda Z: Z[:, 0] + Z[:, 1] * Z[:, 2], X, y, loss='squared error', rng=0)"
    assert growth(setup, run) <= LIMIT
