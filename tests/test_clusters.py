"""Workers of every kind compute the same bits, are replaced when they die, and stop when they are told to."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor

import clarysage as cs
from clarysage.estimators.limits import chunk_ends
from clarysage.execution.broadcast import BroadcastFunction
from clarysage.execution.n_jobs import as_executor, workers_of
from clarysage.execution.scheduler import SECONDS_PER_GROUP, Scheduler
from tests.clusters import KINDS, Counting, Deadly, Slow, backend_of, bits, dask_cluster, made_up, plain

NEEDED = {"dask": "distributed", "ray": "ray"}
CASES = [
    pytest.param(kind, marks=pytest.mark.needs(NEEDED[kind]) if kind in NEEDED else pytest.mark.cluster)
    for kind in KINDS
]
PROCESSES = [case for case in CASES if case.values[0] != "threads"]


@pytest.fixture(scope="module")
def backends() -> Iterator[Any]:
    """Workers by their kind; clusters are started when they are first asked for."""
    from contextlib import ExitStack

    found: dict[str, Any] = {}
    with ExitStack() as stack:

        def backend_of_kind(kind: str) -> Any:
            if kind not in found:
                found[kind] = stack.enter_context(backend_of(kind))
            return found[kind]

        yield backend_of_kind


MODELS = {
    "neighbours": lambda X, y: KNeighborsRegressor().fit(X, y),
    "forest": lambda X, y: RandomForestRegressor(10, random_state=0).fit(X, y),
    "network": lambda X, y: MLPRegressor(hidden_layer_sizes=(16,), max_iter=50, tol=1.0, random_state=0).fit(X, y),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_kind_of_worker_gives_the_bits_of_one_process(backends, kind, model):
    X, y = made_up()
    f = MODELS[model](X, y)
    options = {"background": X[:32], "method": "paired walks", "tolerance": 0.02, "rng": 11}
    alone = cs.sage(f, X, y, **options)
    assert alone.converged
    assert bits(cs.sage(f, X, y, n_jobs=backends(kind), **options)) == bits(alone)


@pytest.mark.parametrize("kind", CASES)
def test_decisions_have_the_same_bits_with_every_kind_of_worker(backends, kind):
    X, y = made_up()
    model = LogisticRegression().fit(X, y > 0)
    runs = [
        cs.sage(model.predict_proba, X, y > 0, loss="cross entropy", stop=cs.TopKnown(2), rng=2, n_jobs=workers)
        for workers in (1, backends(kind))
    ]
    assert bits(runs[0]) == bits(runs[1])


@pytest.mark.parametrize("kind", PROCESSES)
def test_a_model_goes_to_each_worker_once(backends, kind, tmp_path):
    X, y = made_up()
    model = Counting(tmp_path / "marks")
    options = {"method": "permutation", "tolerance": 0.02, "rng": 3, "loss": "squared error", "background": X[:64]}
    shared = cs.sage(model, X, y, n_jobs=backends(kind), **options)
    marks = (tmp_path / "marks").read_text().splitlines()
    unpacked = [mark for mark in marks if mark.startswith("unpacked")]
    assert marks.count("packed") == 1
    assert 1 <= len(unpacked) == len(set(unpacked)) <= 2
    assert bits(shared) == bits(cs.sage(model, X, y, **options))


@pytest.mark.needs("distributed")
def test_data_that_dask_has_thinned_out_do_not_travel_again(backends):
    backend = cs.Dask(backends("dask").client)
    scheduler, data = Scheduler(backend, group=1), np.arange(1000.0)

    def slowly(task):
        time.sleep(0.02)
        return data[task]

    assert list(scheduler.map(slowly, range(20))) == list(range(20))
    for _ in range(3):
        backend.client.amm.run_once()  # as Dask does by itself every two seconds: one copy of what was sent is left
        time.sleep(0.1)
        before = backend.client.run(received)
        assert list(scheduler.map(slowly, range(20))) == list(range(20))
        assert backend.client.run(received) == before


@pytest.mark.needs("distributed")
def test_threads_of_a_worker_wait_for_a_group_and_no_longer(backends):
    client = backends("dask").client
    before = client.run(sys.getswitchinterval)
    during = list(Scheduler(cs.Dask(client), group=1).map(lambda task: sys.getswitchinterval(), range(4)))
    assert min(during) > max(before.values())
    assert client.run(sys.getswitchinterval) == before
    with pytest.raises(ZeroDivisionError):
        list(Scheduler(cs.Dask(client), group=1).map(lambda task: 1 / task, [1, 0]))
    assert client.run(sys.getswitchinterval) == before


@pytest.mark.needs("distributed")
@pytest.mark.parametrize(
    "shape",
    [
        {"threads_per_worker": 2},
        {"threads_per_worker": 1, "processes": False},
        {"threads_per_worker": 1, "processes": False, "protocol": "tcp"},
    ],
)
def test_threads_of_others_do_not_wait_longer(shape):
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=1, dashboard_address=None, **shape) as cluster, Client(cluster) as client:
        during = list(Scheduler(cs.Dask(client), group=1).map(lambda task: sys.getswitchinterval(), range(4)))
        assert set(during) == {sys.getswitchinterval()}


def received(dask_worker):
    return dask_worker.state.transfer_incoming_count_total


def whoever(task):
    time.sleep(0.05)
    return os.getpid()


def someone(task):
    return whoever(task)


def shares(scheduler, tasks=40):
    """How many tasks each worker has done, in a round for which all of them have what they need."""
    list(scheduler.map(whoever, range(tasks)))
    done = list(scheduler.map(whoever, range(tasks)))
    return [done.count(pid) for pid in set(done)]


@pytest.mark.needs("distributed")
def test_workers_have_even_shares_whatever_happened_between_rounds():
    with dask_cluster(2) as client:
        scheduler = Scheduler(cs.Dask(client), group=1)
        list(scheduler.map(whoever, range(1)))  # which one of them does
        assert min(shares(scheduler)) >= 10
        list(Scheduler(cs.Dask(client), group=1).map(someone, range(8)))  # another run, whose function workers now have
        assert min(shares(scheduler)) >= 10
        client.cluster.scale(3)
        client.wait_for_workers(3)
        assert len(found := shares(scheduler, 60)) == 3
        assert min(found) >= 10


@pytest.mark.parametrize("kind", PROCESSES)
@pytest.mark.parametrize("times", [1, 2])
def test_what_a_killed_worker_had_to_do_is_done_again_with_the_same_bits_and_a_warning(backends, kind, times, tmp_path):
    X, y = made_up()
    options = {"method": "permutation", "tolerance": 0.05, "rng": 3, "loss": "squared error", "background": X[:64]}
    alone = cs.sage(plain, X, y, **options)
    model = Deadly(tmp_path / "marks", times)
    with pytest.warns(cs.ClarysageWarning, match=r"lost.*The result does not change"):
        found = cs.sage(model, X, y, n_jobs=backends(kind), **options)
    assert (tmp_path / "marks").read_text() == ""
    assert bits(found) == bits(alone)


@pytest.mark.parametrize("kind", [case for case in CASES if case.values[0] in ("processes", "dask")])
def test_workers_that_always_die_end_the_run_with_an_error(kind, tmp_path):
    X, y = made_up()
    model = Deadly(tmp_path / "marks", 1000)
    with (  # a cluster of its own, which such a run leaves in ruins
        backend_of(kind) as workers,
        pytest.warns(cs.ClarysageWarning, match="A worker was lost"),
        pytest.raises(cs.WorkersLostError, match=r"n_jobs: got workers that were lost 3 times in a row"),
    ):
        cs.sage(model, X, y, method="permutation", tolerance=0.001, rng=3, n_jobs=workers)


@pytest.mark.needs("ray")
def test_a_group_whose_worker_was_lost_twice_is_sent_anew_and_then_given_up(backends, monkeypatch):
    from clarysage.execution import ray as backend

    class CrashedError(Exception):
        """As Ray has it when a worker is gone."""

    CrashedError.__name__ = "WorkerCrashedError"
    asked = []

    def got(ray, reference, timeout):
        asked.append(reference)
        raise CrashedError("gone")

    backends("ray")
    monkeypatch.setattr(backend, "_get", got)
    with (
        pytest.warns(cs.ClarysageWarning, match="A worker was lost"),
        pytest.raises(cs.WorkersLostError, match="3 times in a row"),
    ):
        list(Scheduler(cs.Ray(), group=1).map(abs, [-1, -2]))
    assert len(asked) == 3 * (1 + backend.MAX_LOSSES_OF_GROUP)


@pytest.mark.parametrize("kind", PROCESSES)
def test_a_deadline_cancels_what_is_pending_and_returns_the_estimate_so_far(backends, kind, tmp_path):
    X, y = made_up()
    model = Slow(tmp_path / "marks", 0.4)
    options = {"method": "permutation", "tolerance": 1e-9, "deadline": 3.0, "rng": 3, "background": X[:64]}
    found = cs.sage(model, X, y, n_jobs=backends(kind), **options)
    assert found.stopped is cs.StopReason.DEADLINE
    assert found.draws >= 2
    assert np.isfinite(found.interval()[0]).all()
    _assert_nobody_works_on(tmp_path / "marks")


@pytest.mark.parametrize("kind", PROCESSES)
def test_ctrl_c_cancels_what_is_pending_and_returns_the_estimate_so_far(backends, kind, tmp_path):
    X, y = made_up()
    model = Slow(tmp_path / "marks", 0.4)
    options = {"method": "permutation", "tolerance": 1e-9, "rng": 3, "background": X[:64], "n_jobs": backends(kind)}
    interrupting = threading.Thread(target=_interrupt_after, args=(tmp_path / "marks", 6), daemon=True)
    interrupting.start()
    found = cs.sage(model, X, y, **options)
    assert found.stopped is cs.StopReason.INTERRUPTED
    assert found.draws >= 2
    _assert_nobody_works_on(tmp_path / "marks")


def _interrupt_after(marks: Path, calls: int) -> None:
    """Ctrl-C once the model has been called so often, so that some batches are done."""
    while marks.stat().st_size < calls:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGINT)


def _assert_nobody_works_on(marks: Path) -> None:
    """Once those who were amid a group are through with it."""
    time.sleep(3.0)
    before = marks.stat().st_size
    time.sleep(1.5)
    assert marks.stat().st_size == before


@pytest.mark.needs("distributed")
def test_a_slow_batch_does_not_outlast_the_deadline(backends, tmp_path):
    X, y = made_up()

    def asleep(Z):
        begun = time.monotonic()
        while os.getpid() != parent and Path(tmp_path / "mark").exists() and time.monotonic() - begun < 60:
            time.sleep(0.05)
        return plain(Z)

    parent = os.getpid()

    def rule(estimate):  # from the first round on, batches take a minute
        Path(tmp_path / "mark").touch()

    for kind in ("processes", "dask"):
        begun = time.monotonic()
        options = {"method": "permutation", "tolerance": None, "stop": rule, "deadline": 4.0, "rng": 3}
        found = cs.sage(asleep, X, y, n_jobs=backends(kind), **options)
        assert found.stopped is cs.StopReason.DEADLINE
        assert time.monotonic() - begun < 30  # not a bound on speed: a batch alone would take 60
        (tmp_path / "mark").unlink()  # whoever sleeps wakes up, for the next test


@pytest.mark.needs("distributed", "ray")
def test_a_configuration_of_joblib_leads_to_the_cluster(backends, tmp_path):
    X, y = made_up()
    options = {"method": "permutation", "tolerance": 0.05, "rng": 4, "loss": "squared error", "background": X[:16]}
    alone = bits(cs.sage(plain, X, y, **options))
    forest = RandomForestRegressor(10, random_state=0, n_jobs=2).fit(X, y)
    bits_of_forest = bits(cs.sage(forest.predict, X, y, **options))
    client = backends("dask").client
    with joblib.parallel_config("dask", client=client):
        assert as_executor(None).backend.client is client
        assert as_executor(2).backend.client is client
        assert bits(cs.sage(forest.predict, X, y, **options)) == bits_of_forest
        assert bits(cs.sage(plain, X, y, **options)) == alone
    from ray.util.joblib import register_ray

    register_ray()
    backends("ray")
    with joblib.parallel_config("ray", n_jobs=2):
        assert isinstance(as_executor(None).backend, cs.Ray)
        assert bits(cs.sage(plain, X, y, **options)) == alone


@pytest.mark.needs("distributed")
def test_a_client_will_do_for_a_cluster(backends):
    X, y = made_up()
    client = backends("dask").client
    assert bits(cs.sage(plain, X, y, rng=1, n_jobs=client)) == bits(cs.sage(plain, X, y, rng=1))
    assert isinstance(as_executor(client), Scheduler)


@pytest.mark.needs("distributed")
def test_an_address_leads_to_the_cluster_as_its_client_does(backends):
    X, y = made_up()
    options = {"method": "permutation", "tolerance": 0.05, "rng": 4, "loss": "squared error"}
    address = backends("dask").client.scheduler.address
    assert bits(cs.sage(plain, X, y, n_jobs=cs.Dask(address), **options)) == bits(cs.sage(plain, X, y, **options))


@pytest.mark.needs("distributed")
def test_other_measures_take_a_cluster_too(backends):
    X, y = made_up(60, 4)
    for name in ("permutation importance", "mean loss shap", "drop column importance"):
        model = KNeighborsRegressor().fit(X, y)
        options = {"rng": 1, "background": X[:16]} if name != "drop column importance" else {"rng": 1}
        n_jobs = (1, backends("dask"))
        alone, shared = (cs.importance(name, model, X, y, n_jobs=workers, **options) for workers in n_jobs)
        assert alone.values.tobytes() == shared.values.tobytes()


@pytest.mark.needs("distributed")
def test_a_cluster_that_is_not_there_is_refused_by_name(monkeypatch):
    from clarysage.execution import dask

    def no_client() -> None:
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr(dask, "SECONDS_TO_CONNECT", 1)
    monkeypatch.setattr("distributed.get_client", no_client)
    X, y = made_up()
    with pytest.raises(cs.InputError, match=r"n_jobs: got Dask\(\) with 'tcp://127.0.0.1:9', where no scheduler"):
        cs.sage(plain, X, y, method="permutation", n_jobs=cs.Dask("tcp://127.0.0.1:9"))
    with pytest.raises(cs.InputError, match=r"n_jobs: got Dask\(\) with no Dask client"):
        cs.sage(plain, X, y, method="permutation", n_jobs=cs.Dask())


@pytest.mark.needs("distributed")
def test_an_adaptive_cluster_brings_workers_when_it_is_asked():
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        cluster.adapt(minimum=0, maximum=2)
        assert list(Scheduler(cs.Dask(client), group=1).map(abs, [-1, -2, -3])) == [1, 2, 3]


@pytest.mark.needs("distributed")
def test_a_cluster_that_is_closed_is_refused():
    with dask_cluster(1) as client:
        cluster = client.cluster
    with pytest.raises(cs.InputError, match=r"n_jobs: got .*closed"):
        as_executor(cluster).backend.workers()


@pytest.mark.needs("distributed")
def test_an_address_where_somebody_else_listens_is_refused(monkeypatch):
    monkeypatch.setattr("clarysage.execution.dask.SECONDS_TO_CONNECT", 0.5)
    refused = pytest.raises(cs.InputError, match=r"n_jobs: got .*where no scheduler answers")
    with socket.create_server(("127.0.0.1", 0)) as other, refused:
        cs.Dask(f"tcp://127.0.0.1:{other.getsockname()[1]}").workers()


@pytest.mark.needs("distributed")
def test_a_cluster_without_workers_is_refused(monkeypatch):
    from clarysage.execution import dask

    monkeypatch.setattr(dask, "SECONDS_FOR_A_WORKER", 1)
    X, y = made_up()
    with dask_cluster(0) as client, pytest.raises(cs.InputError, match="n_jobs: got a Dask cluster without workers"):
        cs.sage(plain, X, y, method="permutation", n_jobs=cs.Dask(client))


@pytest.mark.parametrize("kind", [case for case in PROCESSES if case.values[0] != "processes"])
def test_a_model_that_cannot_be_packed_is_refused_by_a_cluster(backends, kind):
    X, y = made_up()
    lock = threading.Lock()

    def model(Z):
        with lock:
            return plain(Z)

    with pytest.raises(cs.ModelError, match="model: got a model that cannot be sent to other processes"):
        cs.sage(model, X, y, method="permutation", n_jobs=backends(kind))


@pytest.mark.parametrize("wrong", [0, True, 2.0, "dask", [1], cs.Dask, cs.Ray])
def test_what_is_no_number_of_workers_and_no_cluster_is_refused(wrong):
    with pytest.raises(cs.InputError, match=r"n_jobs: got .*a cluster by a Dask client, Dask\(address\)"):
        as_executor(wrong)


def test_names_of_backends_lead_to_workers():
    assert workers_of(3) == 3
    assert workers_of(2, "threads").backend == "threading"
    assert repr(workers_of(1, "ray")) == "Ray()"
    for options, argument in [((1, "spark"), "backend"), ((1, "dask"), "address"), ((2, "threads", "a:1"), "address")]:
        with pytest.raises(cs.InputError, match=f"{argument}: got"):
            workers_of(*options)


class Idle:
    """A backend of so many workers that nobody asks to work."""

    name = "idle"

    def __init__(self, number: int) -> None:
        self.number = number

    def workers(self) -> int:
        return self.number

    def lost(self) -> int:
        return 0

    def is_loss(self, error: BaseException) -> bool:
        return False


@pytest.mark.parametrize("seconds", [None, 1e-6, 1e-3, 0.1, 10.0])
@pytest.mark.parametrize("workers", [1, 2, 7])
@pytest.mark.parametrize("tasks", [1, 5, 64, 1000])
def test_groups_hold_every_task_once_and_none_is_larger_than_the_part_of_a_worker(seconds, workers, tasks):
    scheduler = Scheduler(Idle(workers))
    scheduler.seconds = seconds
    groups = scheduler.groups(range(tasks))
    assert [task for group in groups for task in group] == list(range(tasks))
    sizes = [len(group) for group in groups]
    assert sizes[0] <= -(-tasks // workers)
    assert len(sizes) <= 12 * workers
    if seconds is not None:
        assert all(size * seconds >= SECONDS_PER_GROUP or size >= tasks / workers for size in sizes[:-1])


@pytest.mark.parametrize("workers", [2, 7, 100])
@pytest.mark.parametrize("tasks", [16, 80, 1000, 20_000])
def test_groups_are_few_and_workers_end_at_the_same_time(workers, tasks):
    scheduler = Scheduler(Idle(workers))
    scheduler.seconds = 1.0
    sizes = [len(group) for group in scheduler.groups(range(tasks))]
    part = tasks / workers
    assert len(sizes) <= 12 * workers
    ends = [0.0] * workers
    paces = np.linspace(1.5, 1.0, workers)  # of workers that are not alike; the slowest takes the largest group
    for size in sizes:
        worker = int(np.argmin(ends))
        ends[worker] += size * paces[worker]
    assert max(ends) - min(ends) <= 1.5 * max(1, np.ceil(part / 32)) + 1e-9


class Cut:
    """An estimator that says how large chunks are to be, and nothing else."""

    def __init__(self, least: int, most: int) -> None:
        self.least, self.most = least, most

    def chunk(self, game: Any) -> int:
        return self.most

    def finest(self, game: Any) -> int:
        return self.least


@pytest.mark.parametrize("least", [1, 2, 13])
@pytest.mark.parametrize("most", [1, 2, 3, 26, 400])
def test_rounds_are_cut_into_chunks_that_two_four_and_eight_workers_share_evenly(least, most):
    for draws in (*range(1, 300), 1000, 12_345):
        ends = chunk_ends(Cut(least, most), None, draws)
        sizes = np.diff([0, *ends])
        assert ends[-1] == draws
        assert 1 <= sizes.min() <= sizes.max() <= most
        if least != most:
            assert sizes.max() - sizes.min() <= 1
            assert len(sizes) in (1, 2, 4) or len(sizes) % 8 == 0 or len(sizes) == draws
    assert chunk_ends(Cut(least, most), None, 0) == []


def test_rounds_that_are_sooner_done_than_handed_over_are_done_here():
    class Refuses(Idle):
        def results(self, *args: Any) -> Any:
            raise AssertionError("asked to work")

    scheduler = Scheduler(Refuses(2))
    scheduler.seconds = 1e-5
    assert list(scheduler.map(abs, [-1, -2, -3])) == [1, 2, 3]
    scheduler.seconds = 1.0
    with pytest.raises(AssertionError, match="asked to work"):
        list(scheduler.map(abs, [-1, -2, -3]))


def test_what_is_shipped_arrives_with_arrays_that_can_be_written_to_but_are_nobody_elses():
    import pickle

    arrays = {
        "a": np.arange(5.0),
        "f": np.asfortranarray(np.ones((3, 4))),
        "none": np.empty((0, 3)),
        "s": np.array("x"),
    }
    shipped = BroadcastFunction(lambda task: arrays)
    one = pickle.loads(pickle.dumps(shipped))(None)
    assert all(np.array_equal(one[name], arrays[name]) and one[name].dtype == arrays[name].dtype for name in arrays)
    one["a"][:] = -1.0
    from clarysage.execution import broadcast

    broadcast._cache.clear()
    assert np.array_equal(pickle.loads(pickle.dumps(shipped))(None)["a"], np.arange(5.0))
    folder = Path(shipped.path)
    assert folder.is_dir()
    del shipped
    assert not folder.exists()


@pytest.mark.subprocess
def test_folders_of_processes_that_were_killed_are_swept_up(tmp_path, monkeypatch):
    import subprocess
    import sys

    from clarysage.execution import broadcast

    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    monkeypatch.setattr(broadcast, "gettempdir", lambda: str(tmp_path))
    names = [f"{broadcast.PREFIX}{pid}-x" for pid in (ended.pid, os.getpid())]
    for name in (*names, f"{broadcast.PREFIX}mine-x"):
        (tmp_path / name).mkdir()
    BroadcastFunction(abs)
    assert sorted(found.name for found in tmp_path.iterdir()) == sorted([names[1], f"{broadcast.PREFIX}mine-x"])


class AllAtOnce(joblib._parallel_backends.ThreadingBackend):
    """Threads that hand nothing over before all is done, as those of some clusters."""

    supports_return_generator = False


def test_a_deadline_is_kept_by_workers_that_hand_results_over_all_at_once():
    X, y = made_up()

    def slow(Z):
        time.sleep(0.05)
        return plain(Z)

    options = {"method": "permutation", "tolerance": 1e-9, "deadline": 3.0, "rng": 3, "background": X[:64]}
    joblib.register_parallel_backend("all at once", AllAtOnce)
    with joblib.parallel_config("all at once", n_jobs=2):
        found = cs.sage(slow, X, y, **options)
    assert found.stopped is cs.StopReason.DEADLINE
    assert found.draws >= 2


@pytest.mark.needs("ray")
def test_a_ray_cluster_that_is_not_there_or_another_one_is_refused(backends, monkeypatch):
    import ray

    with pytest.raises(cs.InputError, match="address: got 5; wanted text"):
        cs.Ray(5)
    backends("ray")
    with pytest.raises(cs.InputError, match=r"n_jobs: got Ray\('127.0.0.1:9'\), while this process is connected to"):
        cs.Ray("127.0.0.1:9").workers()
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises(cs.InputError, match=r"n_jobs: got Ray\('127.0.0.1:9'\), where no cluster answers"):
        cs.Ray("127.0.0.1:9").workers()


@pytest.mark.needs("distributed")
def test_a_closed_client_and_an_address_without_a_port_are_refused(backends):
    from distributed import Client

    client = Client(backends("dask").client.scheduler.address, set_as_default=False)
    client.close()
    with pytest.raises(cs.InputError, match=r"n_jobs: got Dask\(\) of a client that is closed"):
        cs.Dask(client).workers()
    with pytest.raises(cs.InputError, match=r"where no scheduler answers \(no host and port\)"):
        cs.Dask("127.0.0.1").workers()


class Failing:
    """Workers of which one is lost at the first try of every group, in this process."""

    name = "workers that fail"

    def __init__(self) -> None:
        self.tried: set[Any] = set()

    def results(self, function: Any, groups: Any, time_left: Any) -> Iterator[Any]:
        for group in groups:
            if group[0] not in self.tried:
                self.tried.add(group[0])
                raise ConnectionError("gone")
            yield [function(task) for task in group], 0.0

    def is_loss(self, error: BaseException) -> bool:
        return isinstance(error, ConnectionError)

    def workers(self) -> int:
        return 2

    def lost(self) -> int:
        return 0


def test_losses_count_in_a_row_and_not_over_a_round():
    with pytest.warns(cs.ClarysageWarning, match="A worker was lost"):
        assert list(Scheduler(Failing(), group=1).map(abs, [-1, -2, -3, -4, -5, -6])) == [1, 2, 3, 4, 5, 6]
