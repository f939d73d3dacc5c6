"""Universal predictive power (Eq. 3): closed forms, the paper's Supplement B, axioms, and learners of all kinds.

Where data are drawn, an estimate may differ from the truth by five standard errors over the examples, and by the excess
risk of what was fitted, which is known to leading order and allowed for twice.
"""

from __future__ import annotations

import pickle
import re
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import clarysage as cs
from clarysage._utils.lru_cache import LRUCache
from clarysage.coalitions import masks
from clarysage.errors import InputError, ModelError
from clarysage.estimators import METHODS, estimate
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.games.cross_fitting import cross_fitting_design, hold_out_design
from clarysage.games.refits import by_class
from clarysage.games.universal_power import key_of
from clarysage.losses import LOSSES, as_loss
from clarysage.models.column_subset import restrict_to_columns
from oracle import shapley

FIVE = 5.0  # standard errors
RNG = np.random.default_rng(0)  # of no effect: payoffs of this game do not depend on it


def payoffs(v: cs.UniversalPower) -> np.ndarray:
    """Payoffs (2^p, N) of all coalitions by number."""
    N, p = len(v.weights), v.n_players
    coalitions = masks(np.arange(2**p), p)
    return np.stack([v.payoff(np.arange(N), np.broadcast_to(S, (N, p)), RNG)[:, 0] for S in coalitions])


def as_table_of_sets(values: np.ndarray, p: int) -> dict[frozenset[int], float]:
    return {frozenset(np.flatnonzero(S).tolist()): values[code] for code, S in enumerate(masks(np.arange(2**p), p))}


class Least(RegressorMixin, BaseEstimator):
    """Least squares, in hardly any time."""

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(np.column_stack([np.ones(len(X)), X]), y, rcond=None)[0]
        return self

    def predict(self, X):
        return self.coef_[0] + X @ self.coef_[1:]


# closed forms


def gaussian(seed: int, n: int, p: int = 4):
    """Correlated features, a linear response, Var(E[Y | X_S]) of every subset by number, and Var(Y)."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(p, p)) / np.sqrt(p) + np.eye(p)
    covariance, beta, noise = root @ root.T, rng.normal(size=p), 0.5
    X = rng.normal(size=(n, p)) @ root.T
    y = X @ beta + noise * rng.normal(size=n)
    c, power = covariance @ beta, np.zeros(2**p)
    for code, S in enumerate(masks(np.arange(2**p), p)):
        power[code] = c[S] @ np.linalg.solve(covariance[np.ix_(S, S)], c[S]) if S.any() else 0.0
    return X, y, power, beta @ covariance @ beta + noise**2


@pytest.mark.parametrize("design", [{"folds": 5}, {"folds": 2}, {"test_size": 0.25}])
def test_power_of_linear_regression_is_the_explained_variance_of_gaussian_features(seed, design):
    X, y, power, variance = gaussian(seed, n=3000)
    v = cs.UniversalPower.of(LinearRegression(), X, y, seed=seed, **design)
    found = payoffs(v)
    gains = found - found[0]
    fitted = min(len(rows.train) for rows in v.refits.design.splits)
    for code, S in enumerate(masks(np.arange(16), 4)):
        excess = (variance - power[code]) * (S.sum() + 1) / fitted + variance / fitted
        error = gains[code].std() / np.sqrt(len(v.weights))
        assert abs(gains[code].mean() - power[code]) <= FIVE * error + 2 * excess


def test_values_are_the_shapley_values_of_explained_variance(seed):
    X, y, power, variance = gaussian(seed, n=3000)
    found = cs.universal_power(LinearRegression(), X, y, rng=seed)
    truth = shapley(as_table_of_sets(power, 4), 4)
    assert found.method == "exact"
    assert found.shown == "rows"
    error = found.target("rows").std_error
    assert np.all(error > 0)
    assert np.all(np.abs(found.values - truth) <= FIVE * error + 2 * variance * 5 / 2400)


class Frequencies(ClassifierMixin, BaseEstimator):
    """Shares of classes, or means, of each combination of values that occurred; of all where one did not."""

    def fit(self, X, y):
        self.classes_, numbers = np.unique(y, return_inverse=True)
        one_hot = np.eye(len(self.classes_))[numbers]
        self.cells_ = {tuple(row): one_hot[(row == X).all(axis=1)].mean(axis=0) for row in np.unique(X, axis=0)}
        self.rest_ = one_hot.mean(axis=0)
        return self

    def predict_proba(self, X):
        return np.array([self.cells_.get(tuple(row), self.rest_) for row in X])

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class CellMeans(RegressorMixin, BaseEstimator):
    """The mean response of each combination of values."""

    def fit(self, X, y):
        self.cells_ = {tuple(row): y[(row == X).all(axis=1)].mean() for row in np.unique(X, axis=0)}
        self.rest_ = y.mean()
        return self

    def predict(self, X):
        return np.array([self.cells_.get(tuple(row), self.rest_) for row in X])


class Law:
    """Three dependent binary features and a response of two classes, all of whose probabilities are known."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.x = np.array(list(product([0.0, 1.0], repeat=3)))
        joint = rng.dirichlet(np.full(8, 8.0))
        self.mass = 0.5 * joint + 0.5 / 8  # no cell so rare that it is missed
        logits = (2 * self.x - 1) @ [1.5, 0.6, 0.0] + 0.3 * rng.normal(size=8)
        self.chance = 1 / (1 + np.exp(-logits))  # of the second class

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        cells = rng.choice(8, size=n, p=self.mass)
        return self.x[cells], (rng.random(n) < self.chance[cells]).astype(int)

    def given(self, x: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """P(Y = 1 | X_S = x_S), row by row."""
        alike = ((x[:, None, :] == self.x[None]) | ~kept[:, None, :]).all(axis=2) * self.mass
        return (alike @ self.chance) / alike.sum(axis=1)

    def information(self, S: np.ndarray) -> float:
        """I(Y; X_S) = H(Y) - H(Y | X_S)."""
        marginal = self.mass @ self.chance
        return entropy(marginal) - self.mass @ entropy(self.given(self.x, np.tile(S, (8, 1))))

    def explained(self, S: np.ndarray) -> float:
        """Var(E[Y | X_S])."""
        mean = self.given(self.x, np.tile(S, (8, 1)))
        return float(self.mass @ (mean - self.mass @ self.chance) ** 2)


def entropy(p):
    return -(p * np.log(p) + (1 - p) * np.log(1 - p))


N_LAW = 4000


@pytest.mark.parametrize(
    ("learner", "loss", "truth", "excess"),
    [
        (
            Frequencies(),
            "cross entropy",
            Law.information,
            1 / 2,
        ),  # of each cell, over the rows: a chi-square's mean / 2
        (Frequencies(), "brier", Law.explained, 1 / 4),
        (CellMeans(), "squared error", Law.explained, 1 / 4),
    ],
)
def test_power_of_frequency_tables_is_mutual_information_or_explained_variance(seed, learner, loss, truth, excess):
    law = Law(seed)
    X, y = law.draw(N_LAW, np.random.default_rng(seed + 1))
    v = cs.UniversalPower.of(learner, X, y, loss=loss, seed=seed)
    found = payoffs(v)
    gains = found - found[0]
    for code, S in enumerate(masks(np.arange(8), 3)):
        error = gains[code].std() / np.sqrt(N_LAW)
        assert abs(gains[code].mean() - truth(law, S)) <= FIVE * error + 2 * excess * (2 ** S.sum() + 1) / (0.8 * N_LAW)


class Conditional:
    """The removal that knows the law: f_S(x) = E[f(X) | X_S = x_S]."""

    def __init__(self, law: Law) -> None:
        self.law = law

    def restrict(self, predictor: Any, X: Any) -> Known:
        f = cs.as_predictor(predictor)
        from clarysage.tables import schema_of

        return Known(self.law, f.bind(schema_of(X)))


class Known:
    """f_S of the best model, by the law."""

    rows_per_prediction, remarks, rows_of_checks = 1, (), 0

    def __init__(self, law: Law, predictor: Any) -> None:
        self.law, self.predictor, self.schema = law, predictor, predictor.schema
        self.facts = predictor.facts

    def guarded(self, checks: Any) -> Known:
        return self

    def full(self, x):
        return self.predictor(x)

    def empty(self):
        return self._as_outputs(self.law.given(self.law.x[:1], np.zeros((1, 3), dtype=bool)))[0]

    def predict(self, x, kept, rng):
        return self._as_outputs(self.law.given(x, kept))

    def walk(self, x, arrivals, rng):
        return np.stack([self.predict(x, arrivals <= step, rng) for step in (1, 2)], axis=1)

    def _as_outputs(self, chance):
        width = self.predictor(self.law.x[:1]).shape[1]
        return chance[:, None] if width == 1 else np.column_stack([1 - chance, chance])


@pytest.mark.parametrize(
    ("loss", "learner", "excess"), [("cross entropy", Frequencies(), 1 / 2), ("squared error", CellMeans(), 1 / 4)]
)
def test_universal_and_model_based_power_of_the_best_model_coincide(seed, loss, learner, excess):
    """Supplement B: for f* = P(Y | X) with cross entropy, and f* = E[Y | X] with squared error, v = v_f*."""
    law = Law(seed)
    X, y = law.draw(N_LAW, np.random.default_rng(seed + 2))

    def best(x):
        chance = law.given(x, np.ones(x.shape, dtype=bool))
        return chance if loss == "squared error" else np.column_stack([1 - chance, chance])

    universal = cs.universal_power(learner, X, y, loss=loss, rng=seed)
    based = cs.sage(best, X, y, removal=Conditional(law), loss=loss, method="exact", rng=seed)
    # both on the same rows: the difference is the excess risk of tables of at most 8 cells, and its scatter
    v, v_f = payoffs(cs.UniversalPower.of(learner, X, y, loss=loss, seed=seed)), np.empty((8, N_LAW))
    game = cs.PredictivePower.of(Conditional(law).restrict(best, X), loss, X, y)
    for code, S in enumerate(masks(np.arange(8), 3)):
        v_f[code] = game.payoff(np.arange(N_LAW), np.tile(S, (N_LAW, 1)), RNG)[:, 0]
    off = (v - v[0]) - (v_f - v_f[0])
    errors = off.std(axis=1) / np.sqrt(N_LAW)
    bound = 2 * excess * 9 / (0.8 * N_LAW) + FIVE * errors.max()
    assert np.all(np.abs(off.mean(axis=1)) <= bound)
    assert np.all(np.abs(universal.values - based.values) <= 2 * bound)  # a value is a mean of differences of two
    assert bound < 0.2 * np.ptp(based.values)  # or this would say little


# axioms


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(120, 4))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=120)
    return X, y


@pytest.mark.parametrize("method", ["exact", "paired walks", "permutation"])
def test_efficiency_values_sum_to_the_power_of_all_features(data, method):
    X, y = data
    found = cs.universal_power(KNeighborsRegressor(), X, y, method=method, rng=0)
    assert found.values.sum() == pytest.approx(found.total, rel=1e-9)
    v = cs.UniversalPower.of(KNeighborsRegressor(), X, y, seed=0)
    assert found.total == pytest.approx(float(v.weights @ (v.ends[1] - v.ends[0])[:, 0]))


def test_values_are_those_of_equation_6_from_the_payoffs(data):
    X, y = data
    found = cs.universal_power(KNeighborsRegressor(), X, y, rng=4)
    v = payoffs(cs.UniversalPower.of(KNeighborsRegressor(), X, y, seed=4)).mean(axis=1)
    assert np.allclose(found.values, shapley(as_table_of_sets(v, 4), 4), atol=1e-12)


def test_symmetry_columns_that_are_copies_have_equal_values(data):
    X, y = data
    twice = np.column_stack([X[:, :2], X[:, 0]])
    found = cs.universal_power(LinearRegression(), twice, y, rng=0)
    assert found.values[0] == pytest.approx(found.values[2], rel=1e-8)
    assert found.values[0] > 0.1 * found.total


def test_a_column_of_noise_is_worth_nothing_but_its_cost(seed):
    X, y, _, variance = gaussian(seed, n=2000)
    noise = np.random.default_rng(seed + 9).normal(size=len(X))
    found = cs.universal_power(LinearRegression(), np.column_stack([X, noise]), y, rng=seed)
    error = found.target("rows").std_error[-1]
    assert abs(found.values[-1]) <= FIVE * error + 2 * variance / 1600
    assert found.values[-1] < found.values[:-1].max() / 10


def test_a_learner_that_learns_nothing_finds_nothing(data):
    X, y = data
    for method in ("exact", "paired walks"):
        found = cs.universal_power(DummyRegressor(), X, y, method=method, rng=0)
        assert np.all(np.abs(found.values) < 1e-12)


@pytest.mark.parametrize("method", sorted({*METHODS} - {"surrogate walks", "exact"}))
def test_sampling_methods_agree_with_enumeration(data, method, seed):
    X, y = data
    exact = cs.universal_power(KNeighborsRegressor(), X, y, method="exact", rng=1)
    v = cs.UniversalPower.of(KNeighborsRegressor(), X, y, seed=1).together
    found = estimate(v, METHODS[method](), stop=[lambda now: now.draws >= 400], seed=seed)
    assert np.all(np.abs(found.values[0] - exact.values) <= 6 * found.std_error[0] + 1e-9)
    assert found.targets == {}


@pytest.mark.parametrize("method", [*sorted({*METHODS} - {"surrogate walks"}), "auto", cs.Permutation(), cs.Exact()])
def test_every_method_converges(data, method):
    X, y = data
    found = cs.universal_power(LinearRegression(), X, y, method=method, rng=0)
    assert found.converged
    assert found.measure == "universal power"
    assert found.top(1) == ["x0"]


def test_surrogate_walks_are_refused_for_there_is_no_model_to_imitate(data):
    with pytest.raises(InputError, match="surrogate walks"):
        cs.universal_power(LinearRegression(), *data, method="surrogate walks")


def test_examples_drawn_one_by_one_are_right_on_average_too(data, seed):
    X, y = data
    v = cs.UniversalPower.of(LinearRegression(), X, y, seed=1)
    exact = cs.universal_power(LinearRegression(), X, y, rng=1)
    found = estimate(v, cs.Permutation(), stop=[lambda now: now.draws >= 1000], seed=seed)
    assert np.all(np.abs(found.values[0] - exact.values) <= 6 * found.std_error[0])


def test_together_pays_the_weighted_mean(data):
    X, y = data
    weights = np.random.default_rng(1).random(len(y))
    v = cs.UniversalPower.of(Ridge(), X, y, sample_weight=weights, seed=2)
    S = np.array([[True, False, True, False]])
    one = v.together.payoff(np.zeros(1, dtype=int), S, RNG)
    each = v.payoff(np.arange(len(y)), np.repeat(S, len(y), axis=0), RNG)
    assert np.allclose(one, v.weights @ each)
    assert np.allclose(v.together.walk(np.zeros(1, dtype=int), np.array([[0, 2, 1, 3]]), RNG)[0, 2], one)
    assert v.together.weights.tolist() == [1.0]


# what is fitted, and how often


class Counting(LinearRegression):
    """Takes down the columns it was fitted on."""

    fits: ClassVar[list[tuple[str, ...]]] = []
    lock = threading.Lock()

    def fit(self, X, y, sample_weight=None):
        with self.lock:
            self.fits.append(tuple(X.columns))
        time.sleep(0.001)
        return super().fit(X, y, sample_weight)


@pytest.fixture
def counting():
    Counting.fits.clear()
    return Counting()


@pytest.fixture(scope="module")
def frame(data):
    return pd.DataFrame(data[0], columns=list("abcd"))


@pytest.mark.parametrize("method", ["exact", "paired walks", "kernel"])
def test_each_subset_is_fitted_once_a_fold(counting, frame, data, method):
    found = cs.universal_power(counting, frame, data[1], folds=3, method=method, rng=0)
    fits = {columns: Counting.fits.count(columns) for columns in Counting.fits}
    assert set(fits.values()) == {3}
    assert len(fits) == 15
    assert found.provenance["fits"] == 45 == sum(fits.values())
    assert any("45 fits for 15 subsets" in note for note in found.notes)
    assert found.model_rows == 45 * 120


def test_each_subset_is_fitted_once_by_threads_together(counting, frame, data):
    with joblib.parallel_config("threading", n_jobs=4):
        cs.universal_power(counting, frame, data[1], folds=3, rng=0)
    assert len(Counting.fits) == 45
    Counting.fits.clear()
    v = cs.UniversalPower.of(counting, frame, data[1], folds=2)
    S, who = np.array([[True, True, False, False]]), np.zeros(1, dtype=int)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: v.payoff(who, S, RNG), range(16)))
    assert len({answer.tobytes() for answer in answers}) == 1
    assert Counting.fits.count(("a", "b")) == 2


def test_the_learner_itself_is_left_alone(frame, data):
    fitted = LinearRegression().fit(frame, data[1])
    before = fitted.coef_.copy()
    one = cs.universal_power(fitted, frame, data[1], rng=0)
    two = cs.universal_power(LinearRegression(), frame, data[1], rng=0)
    assert np.array_equal(one.values, two.values)
    assert np.array_equal(fitted.coef_, before)


def test_the_memo_keeps_within_its_limit_and_does_not_travel():
    memo = LRUCache(limit=100)
    for key in (b"a", b"b", b"c"):
        memo.get(key, lambda: np.zeros(5))
    assert memo.size <= 100
    assert [key in memo for key in (b"a", b"b", b"c")] == [False, True, True]
    memo.get(b"b", lambda: np.ones(5))
    memo.get(b"d", lambda: np.zeros(5))
    assert [key in memo for key in (b"b", b"c", b"d")] == [True, False, True]
    assert memo.computed == 4
    copy = pickle.loads(pickle.dumps(memo))
    assert copy.limit == 100
    assert b"b" not in copy


def test_an_error_in_one_thread_is_an_error_in_all_and_is_not_remembered():
    memo, begun = LRUCache(), threading.Event()

    def fail():
        begun.set()
        time.sleep(0.02)
        raise ValueError("no")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(memo.get, b"a", fail)
        begun.wait()
        second = pool.submit(memo.get, b"a", fail)
        assert isinstance(first.exception(), ValueError)
        assert isinstance(second.exception(), ValueError)
    assert memo.get(b"a", lambda: np.ones(1)) == 1


def test_a_small_memory_changes_no_bit(data):
    X, y = data
    v = cs.UniversalPower.of(LinearRegression(), X, y, seed=0)
    small = replace(v, memo=LRUCache(limit=1))
    assert np.array_equal(payoffs(v), payoffs(small))


def test_a_game_can_be_sent_elsewhere_without_what_it_knows(data):
    X, y = data
    v = cs.UniversalPower.of(LinearRegression(), X, y, seed=0)
    table = payoffs(v)
    there = pickle.loads(pickle.dumps(v))
    assert v.memo.computed == 14
    assert there.memo.computed == 0
    assert np.array_equal(payoffs(there), table)


# same bits


def bits(found: cs.Explanation) -> list[bytes]:
    return [found.values.tobytes(), found.std_error.tobytes(), *(t.std_error.tobytes() for t in found.targets.values())]


@pytest.mark.parametrize("method", ["exact", "paired walks"])
def test_bits_do_not_depend_on_workers_also_of_a_forest_without_a_seed(data, method):
    X, y = data
    X, forest = X[:, :3], make_pipeline(StandardScaler(), RandomForestRegressor(2))
    options = {"folds": 2, "method": method, "rng": 7}
    alone = cs.universal_power(forest, X, y, n_jobs=1, **options)
    assert bits(cs.universal_power(forest, X, y, n_jobs=2, **options)) == bits(alone)
    with joblib.parallel_config("threading", n_jobs=2):
        assert bits(cs.universal_power(forest, X, y, **options)) == bits(alone)
    other = cs.universal_power(forest, X, y, n_jobs=1, folds=2, method=method, rng=8)
    assert bits(other) != bits(alone)


def test_bits_by_hand_are_those_of_the_measure(data):
    X, y = data
    at_once = cs.universal_power(Least(), X, y, method="paired walks", rng=5)
    v = cs.UniversalPower.of(Least(), X, y, seed=5)
    for executor in (None, Scheduler(Joblib(2), group=1)):
        by_hand = estimate(v.together, cs.PairedWalks(), seed=5, executor=executor)
        assert np.array_equal(by_hand.values[0], at_once.values)


def test_a_seed_that_the_user_gave_stays(data):
    X, y = data
    v = cs.UniversalPower.of(RandomForestRegressor(2, random_state=11), X, y, seed=0)
    other = cs.UniversalPower.of(RandomForestRegressor(2, random_state=11), X, y, seed=0)
    f = v.refits.predictor(np.ones(4, dtype=bool), 0)
    assert f.function.__self__.random_state == 11
    assert np.array_equal(v.ends[1], other.ends[1])


# designs


@pytest.mark.parametrize("folds", [2, 5, 10])
def test_every_row_is_held_out_once_and_classes_are_dealt_out_evenly(folds, seed):
    labels = np.random.default_rng(seed).integers(3, size=100)
    design = cross_fitting_design(folds, labels, 100, np.random.default_rng(seed))
    assert np.array_equal(design.examples, np.arange(100))
    for rows in design.splits:
        assert set(rows.train) | set(rows.test) == set(range(100))
        assert not set(rows.train) & set(rows.test)
        assert np.all(np.abs(np.bincount(labels[rows.test]) - np.bincount(labels) / folds) <= 1)


def test_a_split_holds_out_its_share_of_each_class(seed):
    labels = np.random.default_rng(seed).integers(3, size=200)
    (rows,) = hold_out_design(0.25, labels, 200, np.random.default_rng(seed)).splits
    assert len(rows.test) == 50
    assert np.array_equal(np.sort(np.concatenate([rows.train, rows.test])), np.arange(200))
    assert np.all(np.abs(np.bincount(labels[rows.test]) - np.bincount(labels) / 4) <= 1)


def test_given_test_rows_are_the_examples(frame, data):
    y = data[1]
    train, test = frame.iloc[:80], frame.iloc[80:]
    v = cs.UniversalPower.of(LinearRegression(), train, y[:80], test=(test, y[80:]))
    assert len(v.weights) == 40
    S = np.array([True, False, True, False])
    model = LinearRegression().fit(train[["a", "c"]], y[:80])
    expected = -((model.predict(test[["a", "c"]]) - y[80:]) ** 2)
    assert np.allclose(v.payoff(np.arange(40), np.tile(S, (40, 1)), RNG)[:, 0], expected)
    assert np.allclose(v.ends[0][:, 0], -((y[:80].mean() - y[80:]) ** 2))
    backwards = cs.UniversalPower.of(LinearRegression(), train, y[:80], test=(test[list("dcba")], y[80:]))
    assert np.allclose(v.ends[1], backwards.ends[1])


def test_weights_of_rows_to_fit_on_are_as_good_as_copies_of_them(data):
    X, y = data
    times = np.random.default_rng(0).integers(0, 4, size=80)
    weighted = cs.universal_power(Ridge(), X[:80], y[:80], sample_weight=times, test=(X[80:], y[80:]), rng=0)
    copied = cs.universal_power(
        Ridge(), np.repeat(X[:80], times, axis=0), np.repeat(y[:80], times), test=(X[80:], y[80:]), rng=0
    )
    assert np.allclose(weighted.values, copied.values, rtol=1e-7)
    last = cs.universal_power(make_pipeline(StandardScaler(), Ridge()), X, y, sample_weight=np.ones(120), rng=0)
    assert any("last step of the pipeline" in note for note in last.notes)
    none = cs.universal_power(KNeighborsRegressor(), X, y, sample_weight=np.ones(120), rng=0)
    assert any("takes no sample weights" in note for note in none.notes)
    assert np.allclose(none.values, cs.universal_power(KNeighborsRegressor(), X, y, rng=0).values)


def test_weights_of_rows_to_judge_by_are_as_good_as_copies_of_them(data):
    X, y = data
    times = np.random.default_rng(0).integers(0, 4, size=40)
    weighted = cs.universal_power(Ridge(), X[:80], y[:80], test=(X[80:], y[80:], times), rng=0)
    there = (np.repeat(X[80:], times, axis=0), np.repeat(y[80:], times))
    assert np.allclose(weighted.values, cs.universal_power(Ridge(), X[:80], y[:80], test=there, rng=0).values)


def test_weights_reach_the_learner_as_they_were_given(data):
    X, y = data
    weights = 3.0 * np.random.default_rng(1).random(120)
    v = cs.UniversalPower.of(Ridge(), X, y, sample_weight=weights, seed=0)
    rows = v.refits.design.splits[0]
    model = Ridge().fit(X[rows.train], y[rows.train], sample_weight=weights[rows.train])
    expected = -((model.predict(X[rows.test]) - y[rows.test]) ** 2)
    assert np.allclose(v.ends[1][rows.test, 0], expected)
    constant = np.average(y[rows.train], weights=weights[rows.train])
    assert np.allclose(v.ends[0][rows.test, 0], -((constant - y[rows.test]) ** 2))


def test_a_class_that_was_not_fitted_on_has_probability_zero(data):
    X = data[0]
    y = np.array(["a"] * 60 + ["b"] * 59 + ["rare"])
    v = cs.UniversalPower.of(DecisionTreeClassifier(max_depth=2), X, y, loss="brier", folds=3)
    assert v.refits.classes == ("a", "b", "rare")
    assert v.width == 3
    alone = cs.universal_power(DecisionTreeClassifier(max_depth=2), X, y, folds=3, rng=0)
    assert np.isfinite(alone.values).all()
    assert any("bounded" in note for note in alone.notes)


def test_labels_that_read_as_the_same_number_are_told_apart():
    shares, labels = np.array([[0.2, 0.3, 0.5]]), ("1.1", "1.10", "2")
    assert np.array_equal(by_class(shares, labels, labels), shares)
    assert np.array_equal(by_class(shares[:, 1:], ("1.10", "2"), labels), [[0, 0.3, 0.5]])
    with pytest.raises(ModelError, match=r"classes 1.1, 2.0, .* not those of y: '1.1', '1.10', '2'"):
        by_class(shares[:, 1:], (1.1, 2.0), labels)  # either of two
    with pytest.raises(ModelError, match="not those of y"):
        by_class(shares[:, 1:], ("1", "1.0"), (1, 2))


@pytest.mark.parametrize(
    ("fitted", "classes"),
    [((0, 1), (False, True)), (("False", "True"), (False, True)), (("1", "2"), (1.0, 2.0)), ((1.0, 2.0), ("1", "2"))],
)
def test_labels_that_a_library_turned_into_others_are_recognised(fitted, classes):
    assert np.array_equal(by_class(np.array([[0.2, 0.8]]), fitted, classes), [[0.2, 0.8]])


def test_groups_play_as_one(frame, data):
    y = data[1]
    found = cs.universal_power(LinearRegression(), frame, y, groups={"pair": ["b", "c"]}, rng=0)
    assert found.feature_names == ("a", "pair", "d")
    assert found.groups == {"a": ["a"], "pair": ["b", "c"], "d": ["d"]}
    v = payoffs(cs.UniversalPower.of(LinearRegression(), frame, y, seed=0)).mean(axis=1)
    sets = as_table_of_sets(v, 4)
    columns = [[0], [1, 2], [3]]
    merged = {S: sets[frozenset(c for i in S for c in columns[i])] for S in as_table_of_sets(np.zeros(8), 3)}
    assert np.allclose(found.values, shapley(merged, 3))


def test_one_feature_is_paid_everything(data):
    X, y = data
    found = cs.universal_power(LinearRegression(), X[:, :1], y, rng=0)
    assert found.values[0] == pytest.approx(found.total)
    assert found.method == "exact"


# tables and learners of all kinds


@pytest.fixture(scope="module")
def mixed():
    """A frame with numbers, missing cells and categories, and responses of two kinds."""
    rng = np.random.default_rng(8)
    n = 150
    kind = rng.choice(["red", "green", "blue"], size=n)
    size, weight = rng.normal(size=n), rng.normal(size=n)
    y = 2 * size + 1.5 * (kind == "red") + 0.3 * rng.normal(size=n)
    size[::10] = np.nan
    X = pd.DataFrame({"size": size, "kind": pd.Categorical(kind), "weight": weight, "text": kind.astype(object)})
    return X, y, np.where(y > np.median(y), "high", "low")


def numbers_and_labels(**options):
    return make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size", "weight"]),
        (OneHotEncoder(handle_unknown="ignore"), ["kind", "text"]),
        **options,
    )


@pytest.mark.parametrize(
    "container",
    [
        "pandas",
        pytest.param("polars", marks=pytest.mark.needs("polars")),
        pytest.param("pyarrow", marks=pytest.mark.needs("pyarrow")),
    ],
)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_pipelines_with_columns_named_work_on_frames_of_any_library(mixed, container, task):
    X, y, label = mixed
    if container == "polars":
        import polars

        X = polars.from_pandas(X)
    elif container == "pyarrow":
        import pyarrow

        X = pyarrow.Table.from_pandas(X)
    last = Ridge() if task == "regression" else LogisticRegression()
    found = cs.universal_power(
        make_pipeline(numbers_and_labels(), last), X, y if task == "regression" else label, folds=2, rng=0
    )
    assert found.loss == ("squared error" if task == "regression" else "cross entropy")
    assert set(found.top(3)) == {"size", "kind", "text"}
    assert found.values[1] == pytest.approx(found.values[3], rel=0.05)  # the same labels twice


@pytest.mark.parametrize("container", ["pandas", pytest.param("polars", marks=pytest.mark.needs("polars"))])
def test_a_learner_that_reads_categories_and_missing_cells_by_itself(mixed, container):
    X, y, _ = mixed
    X = X[["size", "kind", "weight"]]
    if container == "polars":
        import polars

        X = polars.from_pandas(X)
    learner = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, categorical_features=["kind"])
    found = cs.universal_power(learner, X, y, folds=2, rng=0)
    assert found.top(2) == ["size", "kind"]


def boosters():
    """Learners of each library, their categories named where the library wants them so."""
    return {
        "xgboost": lambda m: (
            m.XGBRegressor(n_estimators=10, max_depth=3, enable_categorical=True, feature_types=["q", "c", "q"]),
            m.XGBClassifier(n_estimators=10, max_depth=3, enable_categorical=True),
        ),
        "lightgbm": lambda m: (
            m.LGBMRegressor(n_estimators=10, min_child_samples=5, verbose=-1, n_jobs=1),
            m.LGBMClassifier(n_estimators=10, min_child_samples=5, verbose=-1, n_jobs=1),
        ),
        "catboost": lambda m: (
            m.CatBoostRegressor(iterations=10, depth=3, verbose=0, allow_writing_files=False, cat_features=["kind"]),
            m.CatBoostClassifier(iterations=10, depth=3, verbose=0, allow_writing_files=False, cat_features=["kind"]),
        ),
    }


@pytest.mark.parametrize(
    "library", [pytest.param(name, marks=pytest.mark.needs(name)) for name in ("xgboost", "lightgbm", "catboost")]
)
@pytest.mark.parametrize("container", ["pandas", pytest.param("polars", marks=pytest.mark.needs("polars"))])
def test_boosters_with_categories(mixed, library, container):
    import importlib

    regressor, classifier = boosters()[library](importlib.import_module(library))
    X, y, label = mixed
    X = X[["size", "kind", "weight"]]
    if container == "polars":
        import polars

        X = polars.from_pandas(X)
    for learner, target in ((regressor, y), (classifier, (label == "low").astype(int))):
        found = cs.universal_power(learner, X, target, folds=2, rng=0)
        assert set(found.top(2)) == {"size", "kind"}
        assert found.total > 0


def test_text_labels_booleans_and_votes(mixed):
    X, _, label = mixed
    rows = X[["weight"]].assign(size=X["size"].fillna(0)).to_numpy()
    text = cs.universal_power(LogisticRegression(), rows, label, rng=0)
    truth = cs.universal_power(LogisticRegression(), rows, label == "low", rng=0)
    assert np.allclose(text.values, truth.values)
    votes = cs.universal_power(LinearSVC(), rows, label, rng=0)
    assert votes.loss == "zero one"
    assert votes.top(1) == ["x1"]


def test_searches_can_learn(data):
    X, y = data
    found = cs.universal_power(GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=2), X[:, :2], y, folds=2, rng=0)
    assert found.top(1) == ["x0"]


def test_a_stack_with_no_last_learner_named_can_learn(data):
    members = [("near", KNeighborsRegressor()), ("line", LinearRegression())]
    found = cs.universal_power(StackingRegressor(members), *data, folds=2, rng=0)
    named = cs.universal_power(StackingRegressor(members, RidgeCV()), *data, folds=2, rng=0)
    assert np.allclose(found.values, named.values)


def test_several_losses_at_once_are_those_of_each(data):
    X, y = data
    both = cs.universal_power(Ridge(), X, y, loss=["squared error", "absolute error"], rng=0)
    for found in both:
        alone = cs.universal_power(Ridge(), X, y, loss=found.loss, rng=0)
        assert np.allclose(found.values, alone.values, rtol=1e-12, atol=1e-14)


def test_several_responses_are_predicted_together(data):
    X, _ = data
    Y = np.column_stack([X[:, 0], X[:, 1]])
    found = cs.universal_power(LinearRegression(), X, Y, rng=0)
    each = [cs.universal_power(LinearRegression(), X, column, rng=0).values for column in Y.T]
    assert np.allclose(found.values, sum(each))


def test_a_learner_that_looks_at_none_of_the_columns_is_a_constant(mixed):
    X, y, _ = mixed
    looks_at_size = make_column_transformer((SimpleImputer(), ["size"]))  # drops the rest
    v = cs.UniversalPower.of(make_pipeline(looks_at_size, LinearRegression()), X, y)
    S = np.tile([False, True, True, True], (150, 1))
    assert np.array_equal(v.payoff(np.arange(150), S, RNG), v.ends[0])
    found = cs.universal_power(make_pipeline(looks_at_size, LinearRegression()), X, y, rng=0)
    assert np.all(found.values[1:] == 0)
    assert found.values[0] == pytest.approx(found.total)


def of_columns(names: str, learner: Any = None) -> Any:
    """A transformer of some columns, which drops the rest, or a pipeline of it and a learner."""
    chosen = ColumnTransformer([("scaled", StandardScaler(), list(names))])
    return chosen if learner is None else make_pipeline(chosen, learner)


def test_a_union_of_transformers_is_one_of_all_their_columns(frame, data):
    y = data[1]
    united = FeatureUnion(
        [("first", of_columns("a")), ("others", of_columns("bcd")), ("none", "drop")], transformer_weights={"first": 2}
    )
    found = cs.universal_power(make_pipeline(united, LinearRegression()), frame, y, rng=0)
    known = cs.universal_power(of_columns("abcd", LinearRegression()), frame, y, rng=0)
    assert np.allclose(found.values, known.values)


BLIND = of_columns("a", Ridge())  # where a is not kept
KEEPS_B_AND_D = np.array([False, True, False, True])


@pytest.mark.parametrize(
    ("learner", "without"),
    [
        (VotingRegressor([("blind", BLIND), ("all", KNeighborsRegressor())], weights=[5, 1]), KNeighborsRegressor()),
        (
            StackingRegressor([("blind", BLIND), ("all", KNeighborsRegressor())], final_estimator=Ridge()),
            StackingRegressor([("all", KNeighborsRegressor())], final_estimator=Ridge()),
        ),
        (
            VotingRegressor([("one", TransformedTargetRegressor(BLIND)), ("all", Ridge()), ("none", "drop")]),
            Ridge(),
        ),
        (
            make_pipeline(
                StandardScaler(),
                FeatureUnion([("a", ColumnTransformer([("scaled", StandardScaler(), [0])])), ("rest", "passthrough")]),
                Ridge(),
            ),
            make_pipeline(StandardScaler(), Ridge()),
        ),
    ],
)
def test_members_that_look_at_none_of_the_columns_are_left_out(frame, data, learner, without):
    X, y = frame.loc[:, KEEPS_B_AND_D], data[1]
    v = cs.UniversalPower.of(learner, frame, y, seed=3)
    known = cs.UniversalPower.of(without, X, y, seed=3)  # the same folds: they depend on seed and rows alone
    S = np.tile(KEEPS_B_AND_D, (len(y), 1))
    assert np.allclose(v.payoff(np.arange(len(y)), S, RNG), known.ends[1])


@pytest.mark.parametrize(
    "learner",
    [
        make_pipeline(FeatureUnion([("one", of_columns("a")), ("two", of_columns("c"))]), Ridge()),
        VotingRegressor([("one", BLIND), ("two", of_columns("ac", Ridge()))]),
        StackingRegressor([("one", BLIND)]),
        TransformedTargetRegressor(BLIND),
        GridSearchCV(BLIND, {"ridge__alpha": [1.0]}),
        VotingClassifier([("one", of_columns("a", LogisticRegression()))]),
    ],
)
def test_ensembles_none_of_whose_members_looks_at_a_column_look_at_none(frame, learner):
    assert not restrict_to_columns(clone(learner), frame, KEEPS_B_AND_D)
    assert restrict_to_columns(clone(learner), frame, ~KEEPS_B_AND_D)


def test_the_last_learner_of_a_stack_is_handed_no_columns_of_the_table(frame):
    last = HistGradientBoostingRegressor(monotonic_cst=[1, 1, 0, 0])  # of predictions of four learners
    stack = StackingRegressor([(name, of_columns(name, Ridge())) for name in "abcd"], final_estimator=last)
    assert restrict_to_columns(stack, frame, np.array([True, True, True, False]))
    assert last.monotonic_cst == [1, 1, 0, 0]


class Sum(RegressorMixin, BaseEstimator):
    """A learner, and another of what it left over: nothing that scikit-learn knows of."""

    def __init__(self, estimator, further):
        self.estimator, self.further = estimator, further

    def fit(self, X, y):
        self.estimator.fit(X, y)
        self.further.fit(X, y - self.estimator.predict(X))
        return self

    def predict(self, X):
        return self.estimator.predict(X) + self.further.predict(X)


def test_a_structure_that_is_not_understood_fails_aloud_and_is_no_constant(frame, data):
    with pytest.raises(ModelError, match=r"Sum on the columns '[bcd]'.*0 feature"):
        cs.universal_power(Sum(BLIND, Ridge()), frame, data[1], rng=0)
    with pytest.raises(ModelError, match=r"StackingRegressor on the columns '[bcd]'.*dropped"):
        cs.universal_power(StackingRegressor([("one", BLIND)], Ridge(), passthrough=True), frame, data[1], rng=0)


SPECIFICATIONS = [
    ["a", "c"],
    [0, 2],
    [-4, -2],
    np.array([0, 2]),
    slice(0, 3, 2),
    [True, False, True, False],
    np.array([True, False, True, False]),
    make_column_selector("a|c"),
    lambda X: ["a", "c"],
]


@pytest.mark.parametrize("spec", SPECIFICATIONS, ids=range(len(SPECIFICATIONS)))
def test_columns_of_a_transformer_are_narrowed_however_they_are_named(frame, spec):
    kept = np.array([False, True, True, True])
    learner = ColumnTransformer([("one", StandardScaler(), spec), ("two", "passthrough", [3])], remainder="drop")
    assert restrict_to_columns(learner, frame, kept)
    shown = learner.fit_transform(frame.loc[:, kept])
    expected = np.column_stack([StandardScaler().fit_transform(frame[["c"]]), frame["d"]])
    assert np.allclose(shown, expected)
    only = ColumnTransformer([("one", StandardScaler(), spec)], remainder="drop")
    assert not restrict_to_columns(only, frame, np.array([False, True, False, True]))
    assert only.transformers == []
    rest = ColumnTransformer([("one", StandardScaler(), spec)], remainder="passthrough")
    assert restrict_to_columns(rest, frame, np.array([False, True, False, True]))


def test_a_slice_of_names_and_a_single_name(frame):
    learner = ColumnTransformer([("one", "passthrough", slice("b", "c")), ("two", "drop", "d")])
    assert restrict_to_columns(learner, frame, np.array([True, False, True, True]))
    assert np.array_equal(learner.fit_transform(frame[["a", "c", "d"]]), frame[["c"]])
    assert not restrict_to_columns(learner, frame[["a", "c", "d"]], np.array([True, False, True]))


def test_parameters_by_column_follow_the_columns(frame):
    learner = HistGradientBoostingRegressor(
        categorical_features=[False, True, False, True], monotonic_cst=[1, 0, -1, 0], interaction_cst=[[0, 1], [2, 3]]
    )
    assert restrict_to_columns(make_pipeline(StandardScaler(), learner), frame, np.array([False, True, True, True]))
    assert learner.categorical_features == [0, 2]
    assert learner.monotonic_cst == [0, -1, 0]
    assert learner.interaction_cst == [[0], [1, 2]]
    by_name = HistGradientBoostingClassifier(monotonic_cst={"a": 1, "d": -1}, categorical_features="from_dtype")
    restrict_to_columns(by_name, frame, np.array([False, True, True, True]))
    assert by_name.monotonic_cst == {"d": -1}
    assert by_name.categorical_features == "from_dtype"


# stopping


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 12))
    return X, X @ np.arange(12.0)[::-1] + rng.normal(size=80)


def test_many_features_are_walked_and_few_are_enumerated(wide):
    X, y = wide
    found = cs.universal_power(Least(), X, y, test_size=0.5, tolerance=0.1, rng=0)
    assert found.method == "paired walks"
    assert found.converged
    assert any("4,095 fits" in note for note in found.notes)
    assert found.shown == "data"
    assert "this data with this split" in str(found)


class Reluctant(Least):
    """Fails on less than all eleven columns."""

    def fit(self, X, y):
        if X.shape[1] < 11:
            raise RuntimeError("enumeration has begun")
        return super().fit(X, y)


@pytest.mark.parametrize("method", ["auto", "exact"])
def test_enumeration_is_not_refused_for_many_rows(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 11))  # a billion rows would pass through learners
    with pytest.raises(ModelError, match="enumeration has begun"):
        cs.universal_power(Reluctant(), X, X[:, 0], method=method, rng=0)


def test_rules_and_the_bar_are_told_the_rows_that_were_learned_from(data, capsys):
    told = []

    def rule(now):
        told.append(now.model_rows)
        return now.draws >= 64

    found = cs.universal_power(Ridge(), *data, method="permutation", tolerance=None, stop=rule, progress=True, rng=0)
    assert told == sorted(told)
    assert told[-1] == found.model_rows == found.provenance["fits"] // 5 * 600  # 5 folds of 120 rows
    shown = {int(text.replace(",", "")) for text in re.findall(r"([\d,]+) model rows", capsys.readouterr().err)}
    assert max(shown) == found.model_rows


@pytest.mark.parametrize("budget", [300, 1000])
def test_a_budget_of_fits_is_kept(wide, budget):
    X, y = wide
    found = cs.universal_power(Least(), X, y, folds=2, tolerance=0.001, budget=budget, rng=0)
    assert found.stopped is cs.StopReason.BUDGET
    assert budget / 2 < found.provenance["fits"] <= budget
    assert found.draws >= 2
    two = cs.universal_power(Least(), X, y, folds=2, tolerance=0.001, budget=budget, rng=0, n_jobs=2)
    assert bits(found) == bits(two)
    assert found.notes == two.notes


def test_a_budget_without_a_tolerance_has_an_end(data):
    X, y = data
    found = cs.universal_power(Ridge(), X, y, method="permutation", tolerance=None, budget=100, rng=0)
    assert found.stopped is cs.StopReason.BUDGET
    assert found.provenance["fits"] <= 100


def test_budgets_that_are_too_small_are_refused(wide, data):
    with pytest.raises(InputError, match=r"budget: got 30 fits; wanted 75, 5 for each subset.*paired walks"):
        cs.universal_power(Ridge(), *data, method="exact", budget=30)
    with pytest.raises(InputError, match="budget: got 10 fits"):
        cs.universal_power(Ridge(), *wide, budget=10)
    for budget in (0, -1, "many", True, np.inf):
        with pytest.raises(InputError, match=r"budget: got .*; wanted a positive number of fits"):
            cs.universal_power(Ridge(), *data, budget=budget)


class Slow(Least):
    def fit(self, X, y):
        time.sleep(0.002)
        return super().fit(X, y)


def test_a_deadline_hands_out_the_estimate_so_far(wide):
    found = cs.universal_power(Slow(), *wide, folds=2, deadline=0.5, rng=0)
    assert found.stopped is cs.StopReason.DEADLINE
    assert found.method == "paired walks"
    assert found.draws >= 2
    assert np.isfinite(found.std_error).all()
    with pytest.raises(InputError, match="deadline"):
        cs.universal_power(Slow(), *wide, folds=2, method="exact", deadline=0.1, rng=0)


def test_progress_is_shown_for_walks_and_for_enumeration(data, capsys):
    cs.universal_power(Ridge(), *data, progress=True, rng=0)
    cs.universal_power(Ridge(), *data, progress=True, method="kernel", rng=0)
    assert capsys.readouterr().err.count("100%") >= 2


class Moody(LinearRegression):
    """Fails on the columns b and c."""

    def fit(self, X, y, sample_weight=None):
        if tuple(X.columns) == ("b", "c"):
            raise RuntimeError("not these")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_learner_names_the_columns(frame, data, jobs):
    with pytest.raises(ModelError, match=r"Moody on the columns 'b', 'c': RuntimeError: not these"):
        cs.universal_power(Moody(), frame, data[1], rng=0, n_jobs=jobs)


def test_an_explanation_can_be_saved_printed_and_drawn(data, tmp_path):
    found = cs.universal_power(Ridge(), *data, rng=0)
    found.save(tmp_path / "power.json")
    back = cs.load(tmp_path / "power.json")
    assert back.to_dict() == found.to_dict()
    assert str(found).startswith(
        "Universal predictive power: how much each feature reduces the squared error of a learner"
    )
    assert "the population of rows, with the learners as fitted" in str(found)
    assert "Ridge, cross-fitted in 5 folds" in found._repr_html_()
    assert "Universal power" in found.plot().get_xlabel()


# bad inputs


class Unfittable(LinearRegression):
    def fit(self, X, y):
        raise ValueError("never")


def nan_in(y):
    y = y.copy()
    y[3] = np.nan
    return y


BAD = [
    (lambda X, y: {"learner": LinearRegression}, "learner: got the class LinearRegression"),
    (lambda X, y: {"learner": "ridge"}, "learner: got str"),
    (lambda X, y: {"learner": StandardScaler()}, "learner: got StandardScaler, which has no 'predict'"),
    (lambda X, y: {"learner": Unfittable()}, "learner: got Unfittable on the columns 'x0', 'x1', .*never"),
    (lambda X, y: {"learner": LogisticRegression()}, "learner: got LogisticRegression .*continuous"),
    (lambda X, y: {"y": None}, "y: got None"),
    (lambda X, y: {"y": y[:-1]}, "y: got 119 responses"),
    (lambda X, y: {"y": nan_in(y)}, "y: got 1 missing or infinite"),
    (lambda X, y: {"y": np.array(["a"] * 120), "learner": LogisticRegression()}, "y: got rows to fit on that are all"),
    (lambda X, y: {"X": X[:, 0]}, "X: got a one-dimensional array"),
    (lambda X, y: {"X": np.where(X > 2, np.nan, X)}, "learner: got LinearRegression .*NaN"),
    (lambda X, y: {"folds": 1}, "folds: got 1; wanted a whole number from 2 to 120"),
    (lambda X, y: {"folds": 121}, "folds: got 121"),
    (lambda X, y: {"folds": 2.5}, "folds: got 2.5"),
    (lambda X, y: {"test_size": 1.5}, "test_size: got 1.5"),
    (lambda X, y: {"test_size": 0.001}, "test_size: got 0.001"),
    (lambda X, y: {"test_size": 0.5, "test": (X, y)}, "test_size: got a share as well as test rows"),
    (lambda X, y: {"test": X}, "test: got ndarray"),
    (lambda X, y: {"test": (X[:, :3], y)}, "test: got 3 columns"),
    (lambda X, y: {"test": (X, y[:-1])}, "test: got 119 responses"),
    (lambda X, y: {"test": (X, nan_in(y))}, "test: got 1 missing"),
    (lambda X, y: {"test": (X, y.astype(str))}, "test: got responses of shape"),
    (lambda X, y: {"test": (X, y, -y)}, "test: got negative, missing or infinite weights"),
    (lambda X, y: {"sample_weight": np.zeros(120)}, "sample_weight: got weights that are all zero"),
    (lambda X, y: {"sample_weight": np.arange(120.0) < 1, "folds": 120}, "sample_weight: got rows to fit on"),
    (lambda X, y: {"loss": "roc_auc"}, "loss: got 'roc_auc'"),
    (lambda X, y: {"loss": []}, "loss: got an empty list"),
    (lambda X, y: {"loss": "cross entropy"}, "model: got outputs from"),
    (lambda X, y: {"method": "magic"}, "method: got 'magic'"),
    (lambda X, y: {"feature_names": ["a"]}, "feature_names: got 1 names"),
    (lambda X, y: {"groups": {"g": ["z"]}}, "groups: got 'z'"),
    (lambda X, y: {"tolerance": None}, "tolerance: got None"),
    (lambda X, y: {"rng": "seed"}, "rng: got 'seed'"),
    (lambda X, y: {"n_jobs": 0}, "n_jobs: got 0"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_bad_inputs_are_refused_by_name(data, change, message):
    X, y = data
    with pytest.raises(InputError, match=message):
        cs.universal_power(**{"learner": LinearRegression(), "X": X, "y": y, **change(X, y)})


def test_test_rows_of_other_columns_are_refused(frame, data):
    y = data[1]
    with pytest.raises(InputError, match="test: got columns that differ from X's: no 'd'; extra 'e'"):
        cs.universal_power(LinearRegression(), frame, y, test=(frame.rename(columns={"d": "e"}), y))


def test_warnings_of_learners_are_left_as_they_are(data):
    X, y = data

    class Grumbling(LinearRegression):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("mind me", RuntimeWarning, stacklevel=1)
            return super().fit(X, y, sample_weight)

    with pytest.warns(RuntimeWarning, match="mind me"):
        cs.universal_power(Grumbling(), X, y, rng=0)


# best constants


def targets_of(name: str, rng: np.random.Generator) -> tuple[np.ndarray, int]:
    """Targets as the loss has them, and the number of outputs."""
    if name.endswith("deviance"):
        return rng.gamma(1.5, size=(40, 1)), 1
    if name == "hinge":
        return rng.choice(2, size=40, p=[0.4, 0.6]), 1
    if name == "multi label cross entropy":
        return (rng.random((40, 2)) < [0.2, 0.7]).astype(float), 2
    if as_loss(name).task == "regression":
        return rng.normal(size=(40, 1)) ** 3, 1
    numbers = rng.choice(3, size=40, p=[0.5, 0.3, 0.2])
    return (np.eye(3)[numbers] if name == "brier" else numbers), 3


def grid(name: str, target: np.ndarray) -> np.ndarray:
    """Constants close enough together to find the best of them."""
    if name == "hinge":
        return np.linspace(-3, 3, 601)[:, None]
    if name == "multi label cross entropy":
        return np.array(list(product(np.arange(1, 100) / 100, repeat=2)))
    if target.ndim == 2 and target.shape[1] == 1:
        return np.linspace(target.min(), target.max(), 20_001)[:, None]
    steps = np.arange(101) / 100
    return np.array([[a, b, 1 - a - b] for a in steps for b in steps if a + b <= 1 + 1e-12])


@pytest.mark.parametrize("name", [*LOSSES])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_no_constant_beats_the_best(name, is_weighted, seed):
    rng = np.random.default_rng(seed)
    loss = as_loss(name)
    target, outputs = targets_of(name, rng)
    weights = rng.random(40) if is_weighted else np.ones(40)
    best = loss.best_constant(target, weights, outputs)
    assert best.shape == (outputs,)

    def risk(constant):
        return weights @ loss(np.tile(constant, (40, 1)), target)

    risks = np.array([risk(np.clip(constant, 0, None) if outputs > 1 else constant) for constant in grid(name, target)])
    assert risk(best) <= risks.min() + 1e-9 * abs(risks.min())


OWN = {
    "pinball": (lambda y, p: np.maximum(0.8 * (y - p), -0.2 * (y - p)), "numbers"),
    "fourth": (lambda y, p: (y - p) ** 4, "numbers"),
    "shifted": (lambda y, p: (3 * y + 5 - p) ** 2, "beyond"),
    "log": (lambda y, p: -np.log(p[np.arange(len(y)), y]), "classes"),
    "spherical": (lambda y, p: -p[np.arange(len(y)), y] / np.sqrt((p**2).sum(axis=1)), "classes"),
    "several": (lambda y, p: ((y - p) ** 2).sum(axis=1) + np.abs(y - p).sum(axis=1), "several"),
}


@pytest.mark.parametrize("name", [*OWN])
def test_no_constant_beats_the_one_found_by_trial(name, seed):
    rng = np.random.default_rng(seed)
    function, kind = OWN[name]
    loss, weights = as_loss(function), rng.random(60)
    numbers, classes = rng.normal(size=60), rng.choice(3, size=60, p=[0.5, 0.3, 0.2])
    target, outputs = {
        "numbers": (numbers, 1),
        "beyond": (numbers, 1),
        "classes": (classes, 3),
        "several": (rng.normal(size=(60, 2)), 2),
    }[kind]
    best = loss.best_constant(target, weights, outputs)
    constants = {
        "numbers": np.linspace(-4, 4, 8001)[:, None],
        "beyond": np.linspace(-20, 20, 8001)[:, None],
        "classes": np.clip(grid("log", classes), 1e-9, None),
        "several": np.array(list(product(np.linspace(-1, 1, 81), repeat=2))),
    }[kind]

    def risk(constant):
        return weights @ loss(np.tile(constant, (60, 1)), target)

    least = min(map(risk, constants))
    assert risk(best) <= least + 1e-7 * abs(least)


def test_a_loss_without_a_best_constant_is_refused(data):
    with pytest.raises(InputError, match="loss: got a function that keeps falling"):
        cs.universal_power(Ridge(), *data, loss=lambda y, p: -p)


def test_a_loss_of_ones_own_is_compared_with_its_own_best_constant(data):
    X, y = data
    own = cs.universal_power(Ridge(), X, y, loss=lambda a, b: (a - b) ** 2, rng=0)
    known = cs.universal_power(Ridge(), X, y, loss="squared error", rng=0)
    assert np.allclose(own.values, known.values, atol=1e-7)
    assert own.base == pytest.approx(known.base)


def test_keys_tell_coalitions_apart_for_many_players():
    coalitions = masks(np.arange(64), 6)
    assert len({key_of(coalition) for coalition in coalitions}) == 64
    long = np.zeros(100, dtype=bool)
    long[99] = True
    assert key_of(long) != key_of(~long)


def test_a_rule_that_decides_has_its_analyses_and_its_level_in_runs_of_refits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = X @ [3.0, 2.0, 1.0, 0.0] + rng.normal(size=60)
    rule = cs.SignsKnown(confidence=0.9)
    found = cs.universal_power(Ridge(), X, y, method="paired walks", tolerance=None, budget=3000, stop=rule, rng=0)
    assert found.confidence == 0.9
    assert found.stopped is cs.StopReason.SIGNS_KNOWN
