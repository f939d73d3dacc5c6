"""Surrogate walks give what enumeration gives, whatever the surrogate, and say how far they may be off."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import clarysage as cs
from clarysage.estimators import Exact, PairedWalks, SurrogateWalks, estimate
from clarysage.estimators.paired_walks.estimator import VARYING
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.games.proxy_model import ProxyModel
from clarysage.inference.intervals import interval

RUNS = 10
N, P, M = 20, 4, 18  # of 18 background rows a walk looks at 4 or 8
THREE_STAGES = 76  # pairs: 16 to learn from, one pass of 20, and two


def number(Z: np.ndarray) -> np.ndarray:
    """A regression function with interactions."""
    return Z[:, 0] * Z[:, 1] + Z[:, 2] - 0.5 * Z[:, 0] * Z[:, 3] ** 2


def two_numbers(Z: np.ndarray) -> np.ndarray:
    return np.column_stack([number(Z), Z[:, 0] * Z[:, 3]])


def probability(Z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-number(Z)))


def two_classes(Z: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - probability(Z), probability(Z)])


def three_classes(Z: np.ndarray) -> np.ndarray:
    scores = np.exp(np.column_stack([Z[:, 0] * Z[:, 1], Z[:, 2] - Z[:, 0], 0.5 * Z[:, 3]]))
    return scores / scores.sum(axis=1, keepdims=True)


@pytest.fixture
def data(seed):
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(N, P)), rng.normal(size=(M, P))
    return X, background, number(X) + rng.normal(size=N), rng.integers(3, size=N)


def game(f: Any, loss: Any, X: np.ndarray, y: np.ndarray, background: np.ndarray, **options: Any) -> Any:
    return cs.PredictivePower.of(cs.Marginal(background).restrict(f, X), loss, X, y, **options)


def walked(v: Any, seed: int, regressor: Any = None, pairs: int = THREE_STAGES, **options: Any) -> Any:
    return estimate(v, SurrogateWalks(regressor), stop=[lambda now: now.draws >= pairs], seed=seed, **options)


def tree() -> DecisionTreeRegressor:
    return DecisionTreeRegressor(min_samples_leaf=3, random_state=0)


def assert_right_on_average(v: Any, seed: int, regressor: Any, runs: int = RUNS) -> None:
    """The mean over runs is within six standard errors of what enumeration gives.

    The error is the one over runs or the one reported, whichever is larger: so few runs may look too much alike.
    """
    truth = estimate(v, Exact()).values
    found = [walked(v, 1000 * seed + run, regressor) for run in range(runs)]
    assert all(run.draws >= THREE_STAGES for run in found)
    values = np.array([run.values for run in found])
    reported = np.mean([run.std_error**2 for run in found], axis=0)
    error = np.sqrt(np.maximum(values.var(axis=0, ddof=1), reported) / runs)
    assert np.all(np.abs(values.mean(axis=0) - truth) <= 6 * error + 1e-9)


def holds(found: Any, truth: np.ndarray) -> bool:
    """Whether the truth lies within intervals that miss it once in ten million times."""
    low, high = interval(found.values, found.std_error, found.dof, 1 - 1e-7)
    return bool(np.all((low - 1e-9 <= truth) & (truth <= high + 1e-9)))


GAMES = {
    "squared error": (number, "squared error"),
    "squared error of two outputs": (two_numbers, "squared error"),
    "absolute error": (number, "absolute error"),
    "cross entropy of one column": (probability, "cross entropy"),
    "cross entropy of two columns": (two_classes, "cross entropy"),
    "cross entropy of three classes": (three_classes, "cross entropy"),
    "three losses at once": (three_classes, ["cross entropy", "brier", "zero one"]),
}


def response(f: Any, data: Any) -> np.ndarray:
    X, _, y, classes = data
    if f in (probability, two_classes):
        return (y > 0).astype(int)
    return {number: y, two_numbers: two_numbers(X) + y[:, None], three_classes: classes}[f]


@pytest.mark.statistical
@pytest.mark.parametrize("name", [name for name in GAMES if "two columns" not in name])
def test_the_mean_over_runs_is_what_enumeration_gives(name, data, seed):
    f, loss = GAMES[name]
    assert_right_on_average(game(f, loss, data[0], response(f, data), data[1]), seed, tree())


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["squared error", "cross entropy of one column"])
def test_a_surrogate_that_is_a_poor_one_biases_nothing(name, data, seed):
    f, loss = GAMES[name]
    assert_right_on_average(game(f, loss, data[0], response(f, data), data[1]), seed, LinearRegression())


@pytest.mark.parametrize("name", ["squared error", "cross entropy of one column"])
def test_the_usual_surrogate_gives_what_enumeration_gives(name, data, seed):
    f, loss = GAMES[name]
    v = game(f, loss, data[0], response(f, data), data[1])
    assert holds(walked(v, seed), estimate(v, Exact()).values)


def test_weights_groups_and_few_background_rows_are_as_enumeration_has_them(data, seed):
    from clarysage.players import Players

    X, background, y, _ = data
    weights = np.random.default_rng(seed).exponential(size=N)
    weights[:4] = 0
    players = Players.of([f"x{i}" for i in range(P)], {"a": [0, 3]})
    v = game(number, "squared error", X, y, background[:6], players=players, sample_weight=weights)
    assert_right_on_average(v, seed, tree())


class Imitator(RegressorMixin, BaseEstimator):
    """A surrogate that is the model itself."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return number(X)


def test_the_error_of_the_surrogates_own_values_is_part_of_the_error(data, seed):
    """With the model as its own surrogate nothing is left but that error: deviations in units of it are near one."""
    X, background, y, _ = data
    v = game(number, "squared error", X, y, background)
    truth = estimate(v, Exact()).values
    found = [walked(v, 1000 * seed + run, Imitator()) for run in range(RUNS)]
    assert all((run.std_error > 0).all() for run in found)
    squares = np.array([((run.values - truth) / run.std_error)[0] ** 2 for run in found])  # (runs, p), p - 1 free
    assert squares.mean() <= 1 + 6 * np.sqrt(2 / (RUNS * (P - 1) / 2))


def test_a_good_surrogate_makes_the_error_smaller_than_walks_alone_do(data, seed):
    X, background, y, _ = data
    v = game(number, "squared error", X, y, background)
    helped = walked(v, seed, Imitator())
    alone = estimate(v, PairedWalks(), stop=[lambda now: now.model_rows >= helped.model_rows], seed=seed)
    assert helped.model_rows <= alone.model_rows
    assert helped.std_error.max() < alone.std_error.max() / 2


def test_a_surrogate_looks_at_no_column_that_the_model_ignores(data, seed):
    X, background, y, _ = data
    X, background = (np.insert(table, [0, 2], 9.0 * table[:, :2] + 1, axis=1) for table in (X, background))
    ignored, read = [0, 3], [1, 2, 4, 5]
    for name in ("squared error", "cross entropy of one column", "three losses at once"):
        f, loss = GAMES[name]
        target = response(f, (X[:, read], None, y, data[3]))
        v = game(lambda Z, f=f: f(Z[:, read]), loss, X, target, background)
        found = walked(v, seed, tree())
        assert np.all(found.values[:, ignored] == 0.0)
        assert np.all(found.std_error[:, ignored] == 0.0)
        assert np.all(found.values[:, read].any(axis=1))


@pytest.mark.parametrize("method", ["surrogate walks", "Surrogate_walks", SurrogateWalks, SurrogateWalks()])
def test_surrogate_walks_are_known_by_name(data, method, seed):
    X, background, y, _ = data
    found = cs.sage(number, X, y, background=background, method=method, rng=seed, tolerance=None, budget=440)
    assert found.method == "surrogate walks"
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.std_error).all()


class Counting:
    """A model that counts the rows it has seen, and may answer otherwise each time."""

    def __init__(self, f: Any, noise: float = 0.0):
        self.f, self.noise, self.seen, self.rng = f, noise, 0, np.random.default_rng(0)

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        self.seen += len(Z)
        return self.f(Z) + self.noise * self.rng.normal(size=len(Z)) if self.noise else self.f(Z)


@pytest.mark.parametrize("name", ["squared error", "absolute error", "cross entropy of three classes"])
def test_a_budget_is_never_exceeded_and_rows_are_counted(name, data, seed):
    f, loss = GAMES[name]
    rng = np.random.default_rng(seed)
    for budget in (1500, *np.exp(rng.uniform(np.log(1500), np.log(15_000), size=4)).astype(int).tolist()):
        model = Counting(f)
        found = cs.sage(
            model,
            data[0],
            response(f, data),
            background=data[1],
            loss=loss,
            budget=budget,
            tolerance=None,
            method=SurrogateWalks(tree()),
            rng=int(rng.integers(1000)),
        )
        assert model.seen == found.model_rows <= budget
        assert np.isfinite(found.values).all()


@pytest.mark.parametrize("name", ["squared error", "absolute error", "cross entropy of three classes"])
def test_a_budget_too_small_names_the_least_one_and_that_is_enough(name, data, seed):
    f, loss = GAMES[name]
    options = {"background": data[1], "loss": loss, "method": "surrogate walks", "rng": seed, "tolerance": None}
    for budget in (1, 60):
        wanted = rf"^budget: got {budget} model rows; wanted at least [\d,]+, of which {N + M} "
        with pytest.raises(cs.InputError, match=wanted) as refused:
            cs.sage(f, data[0], response(f, data), budget=budget, **options)
    least = int(re.findall(r"at least ([\d,]+)", str(refused.value))[0].replace(",", ""))
    assert cs.sage(f, data[0], response(f, data), budget=least, **options).model_rows <= least


def test_tolerance_ends_surrogate_walks(data, seed):
    X, background, y, _ = data
    found = cs.sage(number, X, y, background=background, method=SurrogateWalks(Imitator()), rng=seed, tolerance=0.1)
    assert found.converged
    truth = cs.sage(number, X, y, background=background, method="exact").values
    assert np.all(np.abs(found.values - truth) <= 6 * found.std_error + 1e-9)


class Failing(RegressorMixin, BaseEstimator):
    def __init__(self, when: str = "fit"):
        self.when = when

    def fit(self, X, y):
        if self.when == "fit":
            raise RuntimeError("no fit today")
        return self

    def predict(self, X):
        if self.when == "predict":
            raise RuntimeError("no prediction today")
        return np.full(len(X), np.nan)


def test_a_regressor_that_fails_to_fit_is_named_as_the_surrogate(data, seed):
    X, background, y, _ = data
    with pytest.raises(cs.RunFailedError, match=r"^surrogate: got RuntimeError from Failing: no fit today") as raised:
        cs.sage(number, X, y, background=background, method=SurrogateWalks(Failing()), rng=seed, budget=3000)
    assert raised.value.__cause__.argument == "surrogate"


@pytest.mark.parametrize("name", ["squared error", "cross entropy of one column"])
@pytest.mark.parametrize("when", ["predict", "never"])
def test_a_regressor_that_fails_to_predict_is_named_as_the_surrogate(when, name, data, seed):
    f, loss = GAMES[name]
    with pytest.raises(cs.RunFailedError, match=r"^surrogate: "):
        cs.sage(
            f,
            data[0],
            response(f, data),
            background=data[1],
            loss=loss,
            method=SurrogateWalks(Failing(when)),
            rng=seed,
            budget=5000,
            tolerance=None,
        )


@pytest.mark.parametrize("regressor", ["linear regression", lambda rows: rows, LogisticRegression])
def test_what_is_no_regressor_is_named_as_the_surrogate(regressor, data, seed):
    X, background, y, _ = data
    with pytest.raises(cs.RunFailedError, match=r"^surrogate: got .*wanted a scikit-learn regressor"):
        cs.sage(number, X, y, background=background, method=SurrogateWalks(regressor), rng=seed, budget=3000)


def test_a_regressor_that_takes_no_missing_cells_is_named_and_the_usual_one_takes_them(data, seed):
    X, background, y, _ = data
    X[::3, 1] = np.nan

    def f(Z):
        return number(np.nan_to_num(Z, nan=0.5))

    options = {"background": background, "rng": seed, "budget": 1800, "tolerance": None}
    with pytest.raises(cs.RunFailedError, match=r"^surrogate: got ValueError from LinearRegression: .*NaN"):
        cs.sage(f, X, y, method=SurrogateWalks(LinearRegression()), **options)
    truth = cs.sage(f, X, y, background=background, method="exact").values
    found = cs.sage(f, X, y, method="surrogate walks", **options)
    assert found.draws > 32
    assert holds(found, truth)


def test_a_regressor_is_not_changed(data, seed):
    X, background, y, _ = data
    regressor = tree()
    walked(game(number, "squared error", X, y, background), seed, regressor)
    assert not hasattr(regressor, "tree_")


LINEAR = {"identity": LinearRegression, "logistic": LogisticRegression}


@pytest.mark.parametrize("link", LINEAR)
def test_linear_models_which_are_not_asked_row_by_row_are_walked_all_the_same(link, data, seed):
    X, background, y, _ = data
    target = y > 0 if link == "logistic" else y
    model = LINEAR[link]().fit(X, target)
    truth = cs.sage(model, X, target, background=background, method="exact").values
    found = cs.sage(
        model,
        X,
        target,
        background=background,
        method=SurrogateWalks(tree()),
        rng=seed,
        tolerance=None,
        stop=lambda now: now.draws >= THREE_STAGES,
    )
    assert holds(found, truth)


def test_a_game_in_which_no_hybrid_row_need_be_asked_is_walked_all_the_same(seed):
    """Of two features one is constant: every hybrid row is an example or a background row."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    X[:, 1] = background[:, 1] = 1.0
    found = cs.sage(
        lambda Z: Z[:, 0] * Z[:, 1],
        X,
        X[:, 0] + 1,
        background=background,
        method="surrogate walks",
        rng=seed,
        tolerance=None,
        stop=lambda now: now.draws >= THREE_STAGES,
    )
    assert np.allclose(found.values, [found.total, 0.0], rtol=0, atol=1e-9 + 6 * found.std_error)


@pytest.mark.parametrize("payoffs", [[0, 1, 2, 4], [[0, 1, 2, 4, 1, 2, 3, 9]] * 3])
def test_a_game_without_a_model_is_refused(payoffs):
    with pytest.raises(cs.InputError, match=r"^method: got surrogate walks; wanted .*Try method=\"paired walks\""):
        estimate(cs.TabularGame(payoffs), SurrogateWalks())


def test_a_model_that_answers_otherwise_each_time_is_asked_every_hybrid_row_and_a_note_says_so(data, seed):
    X, background, y, _ = data
    model = Counting(number, noise=0.1)
    found = cs.sage(
        model,
        (X > 0) * 1.0,
        y,
        background=(background > 0) * 1.0,
        method=SurrogateWalks(tree()),
        loss="squared error",
        rng=seed,
        tolerance=None,
        stop=lambda now: now.draws >= THREE_STAGES,
    )
    assert str(VARYING) in map(str, found.notes)
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.std_error).all()
    assert found.model_rows == model.seen == N + M + 16 + found.draws * 2 * (P - 1) * 4


@pytest.mark.parametrize("n", [1, 2])
def test_one_example_or_two_are_explained_as_enumeration_does(n, data, seed):
    X, background, y, _ = data
    assert_right_on_average(game(number, "squared error", X[:n], y[:n], background), seed, tree())


@pytest.mark.parametrize("name", ["squared error", "cross entropy of two columns"])
def test_the_bits_depend_neither_on_the_number_of_jobs_nor_on_how_chunks_are_grouped(name, data, seed):
    f, loss = GAMES[name]
    v = game(f, loss, data[0], response(f, data), data[1])
    alone = walked(v, seed, tree(), pairs=128)
    for executor in (Scheduler(Joblib(2)), Scheduler(Joblib(2), group=1)):
        shared = walked(v, seed, tree(), pairs=128, executor=executor)
        assert shared.values.tobytes() == alone.values.tobytes()
        assert shared.covariance.tobytes() == alone.covariance.tobytes()
        assert shared.model_rows == alone.model_rows
        for about, target in alone.targets.items():
            assert shared.targets[about].std_error.tobytes() == target.std_error.tobytes()


def test_the_usual_surrogate_has_the_same_bits_for_any_number_of_jobs(data, seed):
    X, background, y, _ = data
    options = {"background": background, "method": "surrogate walks", "rng": seed, "budget": 1200, "tolerance": None}
    runs = [cs.sage(number, X, y, n_jobs=jobs, **options) for jobs in (1, 2)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert runs[0].std_error.tobytes() == runs[1].std_error.tobytes()


@pytest.mark.parametrize("f", [number, two_numbers, probability, two_classes, three_classes])
def test_a_surrogate_gives_outputs_of_the_models_own_kind(f, data):
    X, background, _, _ = data
    f_S = cs.Marginal(background).restrict(f, X)
    outputs = f_S.full(X)
    g = ProxyModel.fitted(DecisionTreeRegressor(random_state=0), X, outputs, f_S.schema, np.ones(P, dtype=bool))
    assert np.allclose(g(X), outputs, rtol=0, atol=1e-9)  # a whole tree knows its examples by heart
    shown = g(background)
    assert shown.shape == (M, outputs.shape[1])
    if f in (probability, two_classes, three_classes):
        assert shown.min() >= 0
        assert shown.max() <= 1
        assert f is probability or np.allclose(shown.sum(axis=1), 1)
