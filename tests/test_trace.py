"""The trace of a run: it ends in the result, is the same on any executor, is kept in the file, and stays small."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import clarysage as cs
from clarysage.errors import FormatError
from clarysage.estimators.progress import MOST_POINTS, Trace


@pytest.fixture(scope="module")
def sampled() -> cs.Explanation:
    return explained(n_jobs=1)


def explained(**options: object) -> cs.Explanation:
    X = np.random.default_rng(0).normal(size=(60, 4))
    return cs.sage(lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2], X, X[:, 0], method="permutation", rng=0, **options)


def test_a_trace_ends_in_the_result_and_errors_shrink_on_the_way(sampled):
    draws, rows, errors, spans = sampled.trace.T
    assert len(draws) >= 3
    assert (np.diff(draws) > 0).all()
    assert (np.diff(rows) > 0).all()
    assert (draws[-1], rows[-1]) == (sampled.draws, sampled.model_rows)
    assert errors[-1] == pytest.approx(sampled.std_error.max(), rel=1e-12)
    assert spans[-1] == pytest.approx(np.ptp(sampled.values), rel=1e-12)
    assert errors[-1] < errors[0]


def test_each_loss_has_a_trace_of_its_own():
    one, other = explained(loss=["squared error", "absolute error"])
    assert one.trace[-1, 2] == pytest.approx(one.std_error.max(), rel=1e-12)
    assert other.trace[-1, 2] == pytest.approx(other.std_error.max(), rel=1e-12)
    assert one.trace[-1, 2] != other.trace[-1, 2]


def test_a_trace_does_not_depend_on_the_number_of_jobs(sampled):
    np.testing.assert_array_equal(explained(n_jobs=2).trace, sampled.trace)


def test_an_exact_run_has_no_trace():
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert cs.sage(lambda Z: Z[:, 0], X, X[:, 0], method="exact").trace is None
    assert cs.sage(lambda Z: np.zeros(len(Z)), X, X[:, 0], method="permutation", rng=0).trace is None


def test_a_trace_is_in_the_file(sampled, tmp_path):
    sampled.save(tmp_path / "a.json")
    np.testing.assert_array_equal(cs.load(tmp_path / "a.json").trace, sampled.trace)


@pytest.mark.parametrize("wrong", [[[1, 2, 3]], [[1, 2, -3, 4]], [[1, 2, 3, "4"]], "many", {}])  # null: there is none
def test_a_damaged_trace_is_refused(sampled, tmp_path, wrong):
    (tmp_path / "a.json").write_text(json.dumps({**sampled.to_dict(), "trace": wrong}))
    with pytest.raises(FormatError, match="trace"):
        cs.load(tmp_path / "a.json")


def test_a_long_run_keeps_points_from_all_of_it():
    trace = Trace()
    for draws in range(1, 5001):
        trace.add(_estimate(draws))
    points = trace.ended(_estimate(5001))
    draws = points[:, 0, 0]
    assert len(points) <= MOST_POINTS + 1
    assert (draws[0], draws[-1]) == (1, 5001)
    assert np.diff(draws).max() <= 5001 / (MOST_POINTS / 2) + 1


def _estimate(draws: int) -> SimpleNamespace:
    return SimpleNamespace(
        draws=draws, model_rows=10 * draws, values=np.array([[0.0, 1.0]]), std_error=np.full((1, 2), draws**-0.5)
    )
