"""The simulation of many workers keeps to what must hold of any schedule, and numbers of the page are those kept."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import clarysage as cs
from clarysage.estimators import PairedWalks, estimate
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.serial import Serial

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "benchmarks"))

from doc_tables import replace_block  # noqa: E402
from scaling_simulation import Overheads, resampled, rounds_of, simulate  # noqa: E402

COST = Overheads(start=3.0, round=0.5, share=0.25, group=0.01, merge=0.002)
MANY = 10**6


def itself(seconds):
    return seconds


@pytest.fixture
def rounds(rng):
    """Rounds of batches, by their seconds: none so short that they are not worth sharing."""
    return [rng.uniform(0.3, 2.0, size=count).tolist() for count in (3, 1, 17, 40, 64)]


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


def game(batch_size=None):
    X = np.random.default_rng(0).normal(size=(300, 8))
    model = cs.as_predictor(lambda Z: Z[:, 0] * Z[:, 1], batch_size=batch_size)
    return cs.game(model, X, X[:, 0] * X[:, 1], background=X[:40])


def test_one_worker_takes_the_sum_of_all_batches(rounds):
    assert simulate(rounds, itself, 1, Overheads()).seconds == pytest.approx(sum(map(sum, rounds)))


def test_workers_of_half_the_pace_take_twice_as_long(rounds):
    slow, quick = (simulate(rounds, itself, 3, Overheads(pace=pace)).seconds for pace in (0.5, 1.0))
    assert slow == pytest.approx(2 * quick)


def test_one_worker_takes_the_sum_of_all_batches_and_of_what_the_parent_does(rounds):
    found = simulate(rounds, itself, 1, Overheads(start=3.0, round=0.5, share=0.25))
    assert found.seconds == pytest.approx(sum(map(sum, rounds)) + 3.0 + len(rounds) * 0.75)


def test_workers_without_end_take_the_longest_batch_of_each_round(rounds):
    assert simulate(rounds, itself, MANY, Overheads()).seconds == pytest.approx(sum(map(max, rounds)))


def test_two_equal_batches_take_two_workers_the_time_of_one_and_three_take_two():
    assert simulate([[1.0, 1.0]], itself, 2, Overheads()).seconds == pytest.approx(1.0)
    assert simulate([[1.0, 1.0, 1.0]], itself, 2, Overheads()).seconds == pytest.approx(2.0)


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 50])
def test_no_number_of_workers_beats_its_share_of_the_work_or_the_longest_batches(rounds, workers):
    found = simulate(rounds, itself, workers, COST)
    work = sum(map(sum, rounds))
    assert found.work == pytest.approx(work)
    assert found.seconds >= work / workers
    assert found.seconds >= sum(map(max, rounds))
    assert 0 < found.busy <= 1


@pytest.mark.parametrize("workers", [1, 2, 7, 50])
@pytest.mark.parametrize("name", ["start", "round", "share", "group", "merge"])
def test_every_overhead_costs(rounds, workers, name):
    without, with_it = (simulate(rounds, itself, workers, Overheads(**{name: cost})).seconds for cost in (0.0, 0.4))
    assert with_it > without


def test_groups_that_are_handed_out_slowly_keep_all_workers_waiting():
    """Ten batches of a second, each handed out after another second: the last begins at ten."""
    assert simulate([[1.0] * 10], itself, MANY, Overheads(group=1.0)).seconds == pytest.approx(11.0)


def test_rounds_that_are_not_worth_sharing_are_done_by_the_parent():
    """The first is handed out, since nothing is known of it; those after it are shorter than a round's overhead."""
    rounds = [[0.001] * 4] * 5
    found = simulate(rounds, itself, 2, Overheads(share=1.0))
    assert found.rounds == pytest.approx((1.002, 0.004, 0.004, 0.004, 0.004))


@pytest.mark.parametrize("batch_size", [None, 512])
def test_simulated_rounds_are_those_that_a_run_has(batch_size):
    v, seen = game(batch_size), []

    class Recording(Serial):
        def map(self, function, tasks, time_left=None):
            seen.append(list(tasks))
            return super().map(function, tasks)

    estimate(v, PairedWalks(), stop=[lambda found: found.draws >= 900], executor=Recording(), seed=0)
    assert rounds_of(v, 900)[1] == seen


def test_simulated_groups_are_those_that_a_crew_hands_out(rounds):
    """Seconds of tasks are pretended; what is handed out depends on those of the round before."""
    handed = []

    class Engine:
        name = "pretended"

        def workers(self):
            return 3

        def lost(self):
            return 0

        def results(self, function, groups, time_left):
            handed.extend(groups)
            yield from ((list(group), sum(group)) for group in groups)

    scheduler = Scheduler(Engine())
    shorter = [[seconds / 20 for seconds in tasks] for tasks in (rounds[3], rounds[4], rounds[4])]
    for tasks in shorter:
        list(scheduler.map(itself, tasks))
    assert any(len(group) > 1 for group in handed)
    assert simulate(shorter, itself, 3, Overheads()).groups == len(handed)


def test_resampled_seconds_have_the_mean_that_is_expected(rng):
    like = resampled([1.0, 2.0, 3.0], rng)
    found = np.array([like(10.0) for _ in range(2000)])
    assert set(found.tolist()) == {5.0, 10.0, 15.0}
    assert abs(found.mean() - 10.0) < 5 * found.std() / np.sqrt(2000)


def test_text_goes_between_the_marks_of_its_name_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- one -->\nold\n<!-- end -->\nb\n<!-- two -->\nkept\n<!-- end -->\n")
    replace_block(page, "new", "one")
    replace_block(page, "new", "one")
    assert page.read_text() == "a\n<!-- one -->\n\nnew\n\n<!-- end -->\nb\n<!-- two -->\nkept\n<!-- end -->\n"
    with pytest.raises(ValueError, match=r"page.md has 0 blocks between <!-- three -->"):
        replace_block(page, "lost", "three")


def test_tables_of_the_page_are_those_of_the_numbers_that_are_kept():
    from scaling import PARTS, provenance_line

    folder = ROOT / "docs" / "appendix"
    page, kept = (folder / "scaling.md").read_text(), json.loads((folder / "scaling.json").read_text())
    assert set(kept) == set(PARTS)
    for part, one in kept.items():
        assert one["sha256"] == hashlib.sha256(json.dumps(one["cells"], sort_keys=True).encode()).hexdigest()
        for text in [provenance_line(one), *PARTS[part][1](one["cells"])]:
            assert text in page, part


def test_runs_on_threads_are_bitwise_equal_to_those_of_one_process():
    from scaling_workers import bits

    assert bits(1, ("serial", "threads"))["same"] == {"serial": 1, "threads": 1}
