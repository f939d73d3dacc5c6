"""Processes that live long hold no more after many calls than after the first."""

import sys
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
from soak import WORKERS, holdings, soak

from clarysage.execution import joblib
from clarysage.execution.joblib import run_in_processes

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="counts what Linux tells"),
]
COUNTS = ("open files", "threads", "children", "shared memory", "temporary files", "exit handlers")


def twice(group):
    return [2 * task for task in group], 0.0


def ends_itself(group):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def unlimited():
    return float("inf")


@pytest.fixture(autouse=True)
def no_processes_wait_before_or_after():
    yield
    while joblib._waiting:
        joblib._waiting.pop().executor.shutdown(kill_workers=True)


def test_dozens_of_calls_leave_nothing_behind():
    first, *later = soak(calls=12 * len(WORKERS), every=4 * len(WORKERS))
    assert len(later) == 2
    for line in later:
        assert {name: line[name] for name in COUNTS} == {name: first[name] for name in COUNTS}


def test_processes_serve_later_calls_of_the_same_size_and_are_replaced_for_others():
    def workers():
        return [pool.workers for pool in joblib._waiting]

    groups = [[1, 2], [3]]
    assert [results for results, _ in run_in_processes(twice, groups, 2, unlimited)] == [[2, 4], [6]]
    (pool,) = joblib._waiting
    list(run_in_processes(twice, groups, 2, unlimited))
    assert joblib._waiting == [pool]
    before = holdings()["children"]
    list(run_in_processes(twice, groups, 1, unlimited))
    assert workers() == [1]
    assert holdings()["children"] < before


def test_calls_at_the_same_time_have_processes_of_their_own_and_one_pool_is_left():
    first = run_in_processes(twice, [[1], [2]], 1, unlimited)
    assert next(first)[0] == [2]
    assert [results for results, _ in run_in_processes(twice, [[5]], 1, unlimited)] == [[10]]
    assert [results for results, _ in first] == [[4]]
    assert len(joblib._waiting) == 1


def test_a_call_that_ends_early_kills_its_processes_and_the_next_one_starts_others():
    late = run_in_processes(lambda group: time.sleep(60), [[1], [2]], 1, lambda: 0.5)
    with pytest.raises(TimeoutError):
        next(late)
    assert joblib._waiting == []
    assert [results for results, _ in run_in_processes(twice, [[1]], 1, unlimited)] == [[2]]


def test_a_call_that_ends_early_prints_no_error_of_threads(monkeypatch):
    """Groups that were not handed over yet are not left in a queue of processes that are killed."""
    errors = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: errors.append(arguments.exc_value))
    for _ in range(5):
        late = run_in_processes(twice, [[1]] * 3 + [[2]] * 60, 2, unlimited)
        next(late)
        late.close()
    time.sleep(0.5)
    assert errors == []


def test_lost_processes_are_not_used_again():
    with pytest.raises(BrokenExecutor):
        list(run_in_processes(ends_itself, [[1]], 1, unlimited))
    assert joblib._waiting == []


def test_an_error_of_a_task_is_raised_and_processes_that_have_nothing_left_to_do_wait():
    with pytest.raises(ZeroDivisionError):
        list(run_in_processes(lambda group: 1 / 0, [[1]], 1, unlimited))
    assert [results for results, _ in run_in_processes(twice, [[1]], 1, unlimited)] == [[2]]
