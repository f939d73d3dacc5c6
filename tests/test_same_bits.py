"""The same seed gives the same bits, whoever computes them and however the table is handed in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPRegressor

import clarysage as cs
from clarysage.coalitions import permutations
from clarysage.estimators import METHODS, estimate
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.execution.seeds import BACKGROUND, DRAWS, stream
from clarysage.execution.serial import Serial

NAMES = ["cherry", "apple", "elder", "date", "banana"]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=60)
    return X, y


@pytest.fixture(scope="module")
def models(data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    return {
        "forest": RandomForestRegressor(10, random_state=0).fit(frame, y),
        "network": MLPRegressor(hidden_layer_sizes=(16,), max_iter=50, random_state=0, tol=1.0).fit(frame, y),
        "logistic": LogisticRegression().fit(frame, y > 0),
    }


def bits(explanation: cs.Explanation) -> list[bytes]:
    targets = [getattr(target, name) for target in explanation.targets.values() for name in ("values", "std_error")]
    found = [explanation.values, explanation.std_error, explanation.covariance, *targets]
    return [array.tobytes() for array in found]


@pytest.mark.parametrize("method", ["permutation", "kernel"])
@pytest.mark.parametrize("model", ["forest", "network", "logistic"])
def test_the_answer_does_not_depend_on_the_number_of_jobs(models, data, model, method):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    target = y > 0 if model == "logistic" else y
    runs = [
        cs.sage(models[model], frame, target, method=method, tolerance=0.1, rng=11, n_jobs=jobs) for jobs in (1, 2, 3)
    ]
    assert runs[0].converged
    assert bits(runs[0]) == bits(runs[1]) == bits(runs[2])
    assert runs[0].model_rows == runs[1].model_rows == runs[2].model_rows


def test_exact_values_do_not_depend_on_the_number_of_jobs(models, data):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    runs = [cs.sage(models["network"], frame, y, method="exact", n_jobs=jobs) for jobs in (1, 2)]
    assert bits(runs[0]) == bits(runs[1])


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_answer_follows_joblibs_own_configuration(models, data, backend):
    import joblib

    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    options = {"method": "permutation", "tolerance": 0.1, "rng": 4}
    alone = cs.sage(models["network"], frame, y, **options)
    with joblib.parallel_config(backend, n_jobs=2):
        assert bits(cs.sage(models["network"], frame, y, **options)) == bits(alone)


@pytest.mark.parametrize("group", [1, 3, 50])
def test_the_answer_does_not_depend_on_how_chunks_are_grouped(models, data, group):
    X, y = data
    f_S = cs.Marginal(X).restrict(models["forest"], X)
    v = cs.PredictivePower.of(f_S, "squared error", X, y)
    options = {"stop": [cs.Converged(0.1)], "seed": 9}
    alone = estimate(v, cs.Permutation(), executor=Serial(), **options)
    grouped = estimate(v, cs.Permutation(), executor=Scheduler(Joblib(2), group=group), **options)
    assert alone.values.tobytes() == grouped.values.tobytes()


@pytest.mark.parametrize("memory_limit", [3e5, 3e6, 1e9])
def test_the_answer_does_not_depend_on_how_many_rows_go_to_the_model_at_once(models, data, memory_limit):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    options = {"method": "permutation", "tolerance": 0.2, "rng": 2}
    usual = cs.sage(models["forest"], frame, y, background=frame, **options)
    small = cs.sage(models["forest"], frame, y, removal=cs.Marginal(frame, memory_limit=memory_limit), **options)
    assert bits(usual) == bits(small)


class Counting:
    """A model that leaves a mark whenever it is pickled."""

    def __init__(self, marks):
        self.marks = marks

    def __getstate__(self):
        with open(self.marks, "a") as file:
            file.write(".")
        return {"marks": self.marks}

    def __call__(self, Z):
        return Z[:, 0] * Z[:, 1]


def test_a_model_is_sent_to_the_workers_once(data, tmp_path):
    X, y = data
    model = Counting(str(tmp_path / "marks"))
    options = {"method": "permutation", "tolerance": 0.03, "rng": 3, "loss": "squared error"}
    shared = cs.sage(model, X, y, n_jobs=2, **options)
    assert (tmp_path / "marks").read_text() == "."
    assert bits(shared) == bits(cs.sage(model, X, y, **options))


def test_a_model_that_cannot_be_sent_is_run_in_threads_with_a_warning(data):
    import threading

    X, y = data
    lock = threading.Lock()

    def model(Z):
        with lock:
            return Z[:, 0] * Z[:, 1]

    options = {"method": "permutation", "tolerance": 0.1, "rng": 3, "loss": "squared error"}
    with pytest.warns(cs.ClarysageWarning, match="cannot be sent to other processes"):
        shared = cs.sage(model, X, y, n_jobs=2, **options)
    assert bits(shared) == bits(cs.sage(model, X, y, **options))


def test_an_array_a_list_and_a_frame_give_the_same_bits(data):
    X, y = data

    def f(table):
        Z = np.asarray(table, dtype=float)
        return Z[:, 0] * Z[:, 1] + Z[:, 2]

    options = {"method": "permutation", "tolerance": 0.1, "rng": 3, "feature_names": NAMES}
    tables = [X, np.asfortranarray(X), X.tolist(), pd.DataFrame(X, columns=NAMES)]
    runs = [cs.sage(f, table, y, **options) for table in tables]
    assert all(bits(run) == bits(runs[0]) for run in runs)
    assert all(run.feature_names == tuple(NAMES) for run in runs)


@pytest.mark.parametrize("method", ["exact", "permutation", "kernel"])
def test_the_order_of_columns_changes_no_value(models, data, method):
    X, y = data
    frame = pd.DataFrame(X, columns=NAMES)
    reordered = frame[sorted(NAMES)]
    options = {"method": method, "tolerance": 0.2, "rng": 8}
    one = cs.sage(models["forest"], frame, y, background=frame, **options)
    other = cs.sage(models["forest"], reordered, y, background=frame, **options)
    assert other.feature_names == tuple(sorted(NAMES))
    by_name = dict(zip(one.feature_names, one.values.tolist(), strict=True))
    assert dict(zip(other.feature_names, other.values.tolist(), strict=True)) == by_name
    place = [one.feature_names.index(name) for name in other.feature_names]
    assert np.array_equal(other.covariance, one.covariance[np.ix_(place, place)])


@pytest.mark.parametrize("method", sorted(METHODS))
def test_every_estimator_obeys_its_seed_and_leaves_the_global_generator_alone(data, method):
    X, y = data
    options = {"method": method, "tolerance": 0.3}

    def f(Z):
        return Z[:, 0] * Z[:, 1]

    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    first, again, other = (cs.sage(f, X, y, rng=seed, **options) for seed in (1, 1, 2))
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002
    assert bits(first) == bits(again)
    assert method == "exact" or bits(first) != bits(other)


def test_a_generator_as_rng_gives_a_new_run_each_time_and_the_same_series_again(data):
    X, y = data
    series = []
    for _ in range(2):
        rng = np.random.default_rng(6)
        series.append([bits(cs.sage(lambda Z: Z[:, 0], X, y, method="kernel", tolerance=0.3, rng=rng)) for _ in "ab"])
    assert series[0] == series[1]
    assert series[0][0] != series[0][1]


def test_chunks_draw_different_orders_and_the_same_ones_again():
    drawn = [permutations(50, 20, stream(3, DRAWS, number)) for number in range(40)]
    distinct = {order.tobytes() for part in drawn for order in part}
    assert len(distinct) == 40 * 50
    assert np.array_equal(drawn[7], permutations(50, 20, stream(3, DRAWS, 7)))
    assert stream(3, DRAWS, 7).random() != stream(3, BACKGROUND, 7).random()


def test_states_merge_associatively_within_rounding(data):
    X, y = data
    v = cs.PredictivePower.of(cs.Marginal(X).restrict(lambda Z: Z[:, 0] * Z[:, 1], X), "squared error", X, y)
    for estimator in (cs.Permutation(), cs.Kernel()):
        a, b, c = (estimator.draw(v, 0, 30, stream(1, DRAWS, i)) for i in range(3))
        left = estimator.read(v, estimator.merge(estimator.merge(a, b), c))
        right = estimator.read(v, estimator.merge(a, estimator.merge(b, c)))
        assert np.allclose(left.values, right.values, rtol=1e-12)
        assert np.allclose(left.covariance, right.covariance, rtol=1e-9, atol=1e-15)
        assert left.coverage == right.coverage


def test_a_forest_that_shares_its_trees_out_to_threads_has_the_same_bits_each_time(data):
    X, y = data
    forest = RandomForestRegressor(40, random_state=0, n_jobs=4).fit(X, y)
    options = {"method": "permutation", "tolerance": 0.2, "rng": 2, "background": X[:16]}
    runs = [cs.sage(forest.predict, X, y, n_jobs=jobs, **options) for jobs in (1, 1, 1, 2)]
    assert all(bits(run) == bits(runs[0]) for run in runs)
