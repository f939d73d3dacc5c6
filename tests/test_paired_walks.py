"""Paired walks give what enumeration gives, at the price they say, in any order of examples and on any executor."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import clarysage as cs
import oracle
from clarysage.estimators import Exact, PairedWalks, estimate
from clarysage.estimators.paired_walks.estimator import VARYING
from clarysage.estimators.paired_walks.sampling_design import SamplingDesign, size_measure
from clarysage.execution.joblib import Joblib
from clarysage.execution.scheduler import Scheduler
from clarysage.inference.stratified import StratifiedMoments, estimated_sum
from clarysage.players import Players
from clarysage.protocols import ModelFacts

RUNS = 30
N, P, M = 20, 4, 24  # 80 draws are four passes; of 24 background rows a walk looks at 4 or 8


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


def between_absolute_and_squared(y: np.ndarray, prediction: np.ndarray) -> np.ndarray:
    return np.abs(y - prediction) ** 1.5


@dataclass(frozen=True)
class Data:
    """Examples, responses of every kind, and a background."""

    X: np.ndarray
    background: np.ndarray
    y: np.ndarray
    noisy: np.ndarray
    weights: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, seed: int, n: int = N, m: int = M, p: int = P) -> Data:
        rng = np.random.default_rng(seed)
        X, background = rng.normal(size=(n, p)), rng.normal(size=(m, p))
        weights = rng.exponential(size=n)
        weights[: n // 5] = 0
        return cls(
            X, background, rng.integers(3, size=n), number(X) + rng.normal(size=n), weights, rng.exponential(size=m)
        )

    @property
    def is_high(self) -> np.ndarray:
        return (self.noisy > 0).astype(int)

    def soft(self, k: int) -> np.ndarray:
        return np.random.default_rng(len(self.X)).dirichlet(np.ones(k), size=len(self.X))

    def game(self, f: Any, loss: Any, y: Any = None, removal: Any = None, groups: Any = None, **options: Any) -> Any:
        f_S = (removal or cs.Marginal(self.background)).restrict(f, self.X)
        players = Players.of(f_S.schema.names, groups)
        return cs.PredictivePower.of(f_S, loss, self.X, self.noisy if y is None else y, players=players, **options)


GAMES = {
    "squared error": lambda data: data.game(number, "squared error"),
    "squared error of two outputs": lambda data: data.game(
        two_numbers, "squared error", two_numbers(data.X) + data.noisy[:, None]
    ),
    "absolute error": lambda data: data.game(number, "absolute error"),
    "a callable": lambda data: data.game(number, between_absolute_and_squared),
    "cross entropy of one column": lambda data: data.game(probability, "cross entropy", data.is_high),
    "cross entropy of two columns": lambda data: data.game(two_classes, "cross entropy", data.is_high),
    "cross entropy of three classes": lambda data: data.game(three_classes, "cross entropy", data.y),
    "cross entropy of soft targets": lambda data: data.game(three_classes, "cross entropy", data.soft(3)),
    "cross entropy of one soft column": lambda data: data.game(probability, "cross entropy", data.soft(2)[:, 1]),
    "brier of one column": lambda data: data.game(probability, "brier", data.is_high),
    "brier of three classes": lambda data: data.game(three_classes, "brier", data.y),
    "zero one": lambda data: data.game(three_classes, "zero one", data.y),
    "three losses at once": lambda data: data.game(three_classes, ["cross entropy", "brier", "zero one"], data.y),
    "two losses at once": lambda data: data.game(number, ["squared error", "absolute error"]),
    "sample weights": lambda data: data.game(number, "squared error", sample_weight=data.weights),
    "sample weights of classes": lambda data: data.game(
        probability, "cross entropy", data.is_high, sample_weight=data.weights
    ),
    "groups": lambda data: data.game(number, "squared error", groups={"a": [0, 3]}),
    "groups of classes": lambda data: data.game(three_classes, "cross entropy", data.y, groups={"a": [0, 3]}),
    "weighted background": lambda data: data.game(
        number, "squared error", removal=cs.Marginal(data.background, weights=data.mass)
    ),
    "weighted background of classes": lambda data: data.game(
        three_classes, "cross entropy", data.y, cs.Marginal(data.background, weights=data.mass)
    ),
    "weighted background of a callable": lambda data: data.game(
        number, between_absolute_and_squared, removal=cs.Marginal(data.background, weights=data.mass)
    ),
    "one background row": lambda data: data.game(number, "squared error", removal=cs.Baseline([0.5, -0.5, 0.2, 1.0])),
    "all of six background rows": lambda data: data.game(
        three_classes, "cross entropy", data.y, cs.Marginal(data.background[:6], weights=data.mass[:6])
    ),
    "product of marginals": lambda data: data.game(
        number, "squared error", removal=cs.ProductOfMarginals(data.background, rng=5)
    ),
}


def walked(v: Any, draws: int, seed: int, **options: Any) -> Any:
    return estimate(v, PairedWalks(), stop=[lambda now: now.draws >= draws], seed=seed, **options)


def is_near(found: list[np.ndarray], truth: np.ndarray, scale: float = 1.0) -> bool:
    """Whether the mean over runs is within six of its standard errors, and rounding, of the truth."""
    runs = np.array(found)
    error = runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
    return bool(np.all(np.abs(runs.mean(axis=0) - truth) <= 6 * error + 1e-9 * scale))


@pytest.mark.parametrize("name", GAMES)
def test_all_orders_of_an_example_give_what_enumeration_gives(name, seed, monkeypatch):
    """Unbiasedness without chance: every order once, and so few background rows that none is left out."""
    v = GAMES[name](Data.of(seed, n=1, m=5))
    rng = np.random.default_rng(seed)
    estimator = PairedWalks().prepared(v, math.inf, rng)
    orders = np.array(list(permutations(range(v.n_players))))
    monkeypatch.setattr("clarysage.estimators.paired_walks.estimator.permutations", lambda draws, players, rng: orders)
    values = estimator.read(v, estimator.draw(v, 0, len(orders), rng)).values
    assert np.allclose(values, estimate(v, Exact()).values, rtol=0, atol=1e-9)


@pytest.mark.statistical
@pytest.mark.parametrize("name", GAMES)
def test_the_mean_over_runs_is_what_enumeration_gives(name, seed):
    v = GAMES[name](Data.of(seed))
    truth = estimate(v, Exact()).values
    found = [walked(v, 80, 1000 * seed + run) for run in range(RUNS)]
    assert all(run.draws == 80 and np.isfinite(run.std_error).all() for run in found)
    assert is_near([run.values for run in found], truth)


@pytest.mark.parametrize(
    ("loss", "f", "plain"),
    [("squared error", number, oracle.squared_error), ("cross entropy", three_classes, oracle.cross_entropy)],
)
def test_the_mean_over_runs_is_what_the_papers_equations_give(loss, f, plain, seed):
    data = Data.of(seed, n=6)
    y = data.y if loss == "cross entropy" else data.noisy
    truth = oracle.sage(f, plain, data.X, y, data.background)
    v = data.game(f, loss, y)
    assert is_near([walked(v, 64, 1000 * seed + run).values[0] for run in range(RUNS)], truth)


@pytest.mark.statistical
@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_less_than_a_pass_is_right_on_average(loss, seed):
    v = Data.of(seed, n=200).game(number, loss)
    truth = estimate(v, Exact()).values
    assert is_near([walked(v, 80, 1000 * seed + run).values for run in range(2 * RUNS)], truth)


class Noisy:
    """A restricted model whose predictions scatter with the generator they are handed."""

    rows_per_prediction, rows_of_checks, remarks = 1, 0, ()
    facts = ModelFacts()

    def __init__(self, plain: Any, scatter: float):
        self.plain, self.scatter = plain, scatter

    def predict(self, x: np.ndarray, kept: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return self.plain.predict(x, kept, rng) + self.scatter * rng.normal(size=(len(x), 1))

    def walk(self, x: np.ndarray, arrivals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        means = self.plain.walk(x, arrivals, rng)
        return means + self.scatter * rng.normal(size=means.shape)


def test_a_restricted_model_that_scatters_is_walked_as_it_is(seed):
    """Scatter adds its variance to the loss of every coalition but the ends, and so, by symmetry, to no value."""
    plain = Data.of(seed).game(number, "squared error")
    v = replace(plain, restricted=Noisy(plain.restricted, 0.5))
    assert v.subsampled is None
    truth = estimate(plain, Exact()).values
    found = [walked(v, 80, 1000 * seed + run) for run in range(RUNS)]
    assert is_near([run.values for run in found], truth)
    assert all(run.model_rows == v.rows_spent + 80 * 2 * (P - 1) for run in found)


@pytest.mark.parametrize("m", [1, 3, 8])
def test_a_pair_is_exact_for_an_additive_model_and_squared_error(m, seed):
    data = Data.of(seed, n=40, m=m)

    def additive(Z):
        return Z[:, 0] ** 2 + np.sin(Z[:, 1]) - 2 * Z[:, 2] + (Z[:, 3] > 0)

    v = data.game(additive, "squared error")
    truth = estimate(v, Exact()).values
    found = walked(v, 80, seed)
    assert found.draws == 80  # two passes
    assert np.allclose(found.values, truth, rtol=0, atol=1e-9)
    assert np.all(found.std_error <= 1e-9 * (truth.max() - truth.min()))


def test_a_pair_is_exact_for_a_linear_model_with_any_background(seed):
    data = Data.of(seed, n=40, m=300)
    v = data.game(LinearRegression().fit(data.X, data.noisy), "squared error")
    truth = estimate(v, Exact()).values
    found = walked(v, 80, seed)
    assert np.allclose(found.values, truth, rtol=0, atol=1e-9)
    assert np.all(found.std_error <= 1e-9 * (truth.max() - truth.min()))


def beside(f: Any) -> Any:
    """The model f of the first four columns, beside which there are others that it never reads."""
    return lambda Z: f(Z[:, [1, 2, 3, 5]])


IGNORED = [0, 4, 6]
CLASSES = ["cross entropy", "brier", "zero one", ["cross entropy", "brier"], ["cross entropy", "zero one"]]


@pytest.mark.parametrize("m", [6, 40, 200])
@pytest.mark.parametrize(
    ("f", "loss"),
    [
        *((number, loss) for loss in ("squared error", "absolute error", between_absolute_and_squared)),
        (number, ["squared error", "absolute error"]),
        (two_numbers, "squared error"),
        *((probability, loss) for loss in CLASSES),
        *((three_classes, loss) for loss in CLASSES),
    ],
)
def test_features_that_the_model_never_reads_get_exactly_nothing(f, loss, m, seed):
    data = Data.of(seed, n=25, m=m, p=7)
    y = {number: data.noisy, two_numbers: np.column_stack([data.noisy, data.noisy])}.get(f, data.y)
    v = data.game(beside(f), loss, data.y % 2 if f is probability else y)
    found = walked(v, 100, seed)
    assert np.all(found.values[:, IGNORED] == 0.0)
    assert np.all(found.std_error[:, IGNORED] == 0.0)
    assert found.values.any(axis=1).all()


def test_features_that_the_model_never_reads_get_exactly_nothing_where_the_model_is_right(seed):
    """Losses of zero, to which any rounding can be added."""
    data = Data.of(seed, n=25, m=200, p=7)
    v = data.game(beside(number), ["squared error", "absolute error"], beside(number)(data.X))
    found = walked(v, 100, seed)
    assert np.all(found.values[:, IGNORED] == 0.0)
    assert np.all(found.std_error[:, IGNORED] == 0.0)


@pytest.mark.parametrize("m", [6, 200])
@pytest.mark.parametrize("loss", ["cross entropy", "brier", "zero one", ["cross entropy", "brier"]])
def test_a_coefficient_of_zero_is_worth_exactly_nothing(loss, m, seed):
    data = Data.of(seed, n=25, m=m)
    for y in (data.is_high, data.y):
        model = LogisticRegression().fit(data.X, y)
        model.coef_[:, 1] = 0.0
        v = data.game(model, loss, y)
        assert v.restricted.native is not None
        found = walked(v, 100, seed)
        assert np.all(found.values[:, 1] == 0.0)
        assert np.all(found.std_error[:, 1] == 0.0)
        assert found.values.any(axis=1).all()


@pytest.mark.parametrize(
    "name",
    [
        "squared error",
        "squared error of two outputs",
        "brier of one column",
        "brier of three classes",
        "cross entropy of three classes",
        "two losses at once",
        "sample weights",
        "weighted background",
    ],
)
def test_values_sum_to_the_total_after_whole_passes(name, seed):
    data = Data.of(seed, n=50)
    v = GAMES[name](data)
    passes = int((v.weights > 0).sum())
    total = v.weights @ (v.ends[1] - v.ends[0])
    found = walked(v, 2 * passes, seed)
    assert found.draws == 2 * passes
    assert np.allclose(found.values.sum(axis=1), total, rtol=0, atol=1e-9)
    if not v.subsampled or v.subsampled.is_unbiased:  # comparisons have an error of their own
        assert np.allclose(found.covariance.sum(axis=(1, 2)), 0, rtol=0, atol=1e-9 * np.trace(found.covariance[0]))


class Counting:
    """A model that counts the rows it has seen."""

    def __init__(self, f: Any):
        self.f, self.seen = f, 0

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        self.seen += len(Z)
        return self.f(Z)


LOSSES = {
    "squared error": number,
    "absolute error": number,
    "cross entropy": three_classes,
    "brier": three_classes,
    "zero one": three_classes,
}


def test_the_ends_cost_one_row_an_example_and_one_a_background_row_once(seed):
    data, model = Data.of(seed), Counting(number)
    v = data.game(model, "squared error")
    assert model.seen == v.rows_spent == N + M
    assert v.subsampled is not None
    assert v.subsampled.restricted.background_outputs.shape == (M, 1)
    assert model.seen == N + M


@pytest.mark.parametrize("m", [M, 200])
@pytest.mark.parametrize("loss", [*LOSSES, between_absolute_and_squared, ["cross entropy", "brier", "zero one"]])
def test_model_rows_are_the_rows_that_the_model_saw(loss, m, seed):
    data = Data.of(seed, m=m)
    f = three_classes if isinstance(loss, list) else LOSSES.get(loss, number) if isinstance(loss, str) else number
    model = Counting(f)
    options = {"loss": loss, "method": "paired walks", "rng": seed, "budget": 40_000, "tolerance": 0.1}
    found = cs.sage(model, data.X, data.y, background=data.background, **options)
    found = found if isinstance(found, list) else [found]
    assert all(one.model_rows == model.seen for one in found)


def test_binary_data_cost_fewer_rows_than_continuous_data(seed):
    rows = {}
    for kind in ("binary", "continuous"):
        data = Data.of(seed)
        X, background = (table > 0 if kind == "binary" else table for table in (data.X, data.background))
        model = Counting(number)
        v = replace(data, X=X * 1.0, background=background * 1.0).game(model, "squared error")
        rows[kind] = walked(v, 80, seed).model_rows
        assert rows[kind] == model.seen
    most = N + M + min(N, 16) + 128 * (P - 1) + 80 * 2 * (P - 1) * 4
    assert rows["continuous"] == most
    assert rows["binary"] < most / 2


@pytest.mark.parametrize("loss", LOSSES)
def test_a_budget_is_never_exceeded(loss, seed):
    rng = np.random.default_rng(seed)
    for budget in (1500, 60_000, *np.exp(rng.uniform(np.log(1500), np.log(60_000), size=6)).astype(int).tolist()):
        data = Data.of(seed, m=int(rng.choice([M, 60])))
        model = Counting(LOSSES[loss])
        found = cs.sage(
            model,
            data.X,
            data.y,
            background=data.background,
            loss=loss,
            method="paired walks",
            rng=int(rng.integers(1000)),
            budget=budget,
            tolerance=None,
        )
        assert model.seen == found.model_rows <= budget
        assert np.isfinite(found.values).all()
        one_more = 2 * (P - 1) * (2 * 60 + 8)  # a pair, and a comparison or two
        assert found.model_rows > 0.75 * budget - one_more  # what known rows save is spent again


def least_budget(data: Data, loss: str, budget: int, seed: int) -> int:
    """The budget that the refusal of a smaller one names."""
    options = {"background": data.background, "loss": loss, "method": "paired walks", "rng": seed, "tolerance": None}
    with pytest.raises(cs.InputError, match=r"^budget: got [\d,]+ model rows; wanted at least [\d,]+, of") as refused:
        cs.sage(LOSSES[loss], data.X, data.y, budget=budget, **options)
    return int(re.findall(r"at least ([\d,]+)", str(refused.value))[0].replace(",", ""))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_budget_too_small_names_the_least_one(loss, seed):
    assert least_budget(Data.of(seed), loss, N + M + 1, seed) > N + M + 1


@pytest.mark.parametrize("loss", LOSSES)
def test_the_least_budget_that_is_named_is_enough(loss, seed):
    data = Data.of(seed, m=60)
    budget = least_budget(data, loss, N + 60 + 1, seed)
    found = cs.sage(
        LOSSES[loss],
        data.X,
        data.y,
        background=data.background,
        loss=loss,
        method="paired walks",
        rng=seed,
        budget=budget,
        tolerance=None,
    )
    assert found.model_rows <= budget


@pytest.mark.parametrize("budget", [1, 20, N + M - 1])
def test_a_budget_below_the_ends_of_the_game_names_the_least_one(budget, seed):
    assert least_budget(Data.of(seed), "squared error", budget, seed) > N + M


def test_a_budget_holds_where_examples_lose_nothing_but_hybrid_rows_do(seed):
    """Both columns are equal in every example: only a hybrid row moves the model."""
    X = np.repeat(np.random.default_rng(seed).integers(2, size=(24, 1)), 2, axis=1) * 1.0
    model = Counting(lambda Z: (Z[:, 0] != Z[:, 1]) * 1.0)
    found = cs.sage(
        model,
        X,
        np.arange(24.0) % 3,
        method="paired walks",
        loss="squared error",
        rng=seed,
        budget=2000,
        tolerance=None,
        stop=lambda now: now.draws >= 1000,
    )
    assert model.seen == found.model_rows
    assert model.seen <= 2000


def test_a_budget_ends_a_run_in_which_the_model_need_not_be_asked(seed):
    """Of two features one is constant: every hybrid row is an example or a background row, which are known."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    X[:, 1] = background[:, 1] = 1.0
    found = cs.sage(
        lambda Z: Z[:, 0] * Z[:, 1],
        X,
        X[:, 0] + 1,
        background=background,
        method="paired walks",
        rng=seed,
        budget=1000,
        tolerance=None,
        stop=lambda now: now.draws > 50_000,
    )
    assert found.stopped is not cs.StopReason.RULE


class Varying:
    """A model that answers otherwise each time."""

    def __init__(self, f: Any, seed: int):
        self.f, self.rng, self.seen = f, np.random.default_rng(seed), 0

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        self.seen += len(Z)
        return self.f(Z) + 0.1 * self.rng.normal(size=len(Z))


def test_a_model_that_answers_otherwise_each_time_is_asked_every_hybrid_row_and_a_note_says_so(seed):
    data = Data.of(seed)
    X, background = (data.X > 0) * 1.0, (data.background > 0) * 1.0
    model = Varying(number, seed)
    found = cs.sage(
        model,
        X,
        data.noisy,
        background=background,
        loss="squared error",
        method="paired walks",
        rng=seed,
        tolerance=None,
        stop=lambda now: now.draws >= 80,
    )
    assert str(VARYING) in map(str, found.notes)
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.std_error).all()
    assert found.model_rows == model.seen == N + M + 16 + 80 * 2 * (P - 1) * 4
    again = cs.sage(number, X, data.noisy, background=background, loss="squared error", method="paired walks", rng=seed)
    assert str(VARYING) not in map(str, again.notes)


def test_noise_of_a_model_does_not_change_its_values_on_average(seed):
    """Independent noise of mean zero is variance, which squared error of few rows takes off again."""
    data, scatter = Data.of(seed), 0.1
    truth = estimate(data.game(number, "squared error"), Exact()).values
    found = [
        walked(data.game(Varying(number, 100 * seed + run), "squared error"), 80, 1000 * seed + run).values
        for run in range(RUNS)
    ]
    # the ends are asked once and hold their noise: its variance beside that of 4 rows, shared by 4 players
    assert is_near(found, truth, scale=1e9 * scatter**2)


@pytest.mark.parametrize(("loss", "m", "draws"), [("squared error", 40, 500), ("absolute error", 200, 260)])
def test_the_bits_depend_neither_on_the_number_of_jobs_nor_on_how_chunks_are_grouped(loss, m, draws, seed):
    rng = np.random.default_rng(seed)
    X, background, y = rng.normal(size=(60, 30)), rng.normal(size=(m, 30)), rng.normal(size=60)

    def f(Z):
        return (Z[:, 1:] * Z[:, :-1]).sum(axis=1)

    v = cs.PredictivePower.of(cs.Marginal(background).restrict(f, X), loss, X, y)
    alone = walked(v, draws, seed)
    assert PairedWalks().chunk(v) < draws // 5  # several chunks in the last round
    for executor in (Scheduler(Joblib(2)), Scheduler(Joblib(2), group=1), Scheduler(Joblib(2), group=3)):
        shared = walked(v, draws, seed, executor=executor)
        assert shared.values.tobytes() == alone.values.tobytes()
        assert shared.covariance.tobytes() == alone.covariance.tobytes()
        assert shared.model_rows == alone.model_rows
        for about, target in alone.targets.items():
            assert shared.targets[about].values.tobytes() == target.values.tobytes()
            assert shared.targets[about].std_error.tobytes() == target.std_error.tobytes()


def test_an_explanation_has_the_same_bits_for_any_number_of_jobs(seed):
    data = Data.of(seed, n=60, m=200)
    model = LogisticRegression().fit(data.X, data.y)
    options = {"background": data.background, "method": "paired walks", "rng": seed, "budget": 60_000}
    runs = [cs.sage(model, data.X, data.y, n_jobs=jobs, tolerance=None, **options) for jobs in (1, 2)]
    assert runs[0].values.tobytes() == runs[1].values.tobytes()
    assert runs[0].std_error.tobytes() == runs[1].std_error.tobytes()
    assert runs[0].model_rows == runs[1].model_rows


def totals_of(n: int, seed: int) -> np.ndarray:
    """Totals with a few large ones among them, of either sign."""
    rng = np.random.default_rng([seed, n])
    return rng.normal(size=n) * np.exp(rng.normal(size=n))


def game_of(totals: np.ndarray, weights: np.ndarray | None = None, players: int = 3) -> Any:
    """As much of a game as a tour looks at."""
    n = len(totals)
    weights = np.full(n, 1 / n) if weights is None else weights
    return SimpleNamespace(weights=weights, ends=(np.zeros((n, 1)), totals[:, None]), n_players=players)


def tour_of(game: Any, rng: np.random.Generator) -> SamplingDesign:
    return SamplingDesign.of(game, size_measure(game), rng)


@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 200, 999, 1000, 1001, 3000])
def test_a_tour_comes_to_every_example_of_positive_weight_twice_and_then_where_care_is_needed(n, seed):
    rng = np.random.default_rng(seed)
    for weights in (None, (rng.random(n) < 0.7) * rng.random(n)):
        if weights is not None and not weights.any():
            continue
        tour = tour_of(game_of(totals_of(n, seed), weights), rng)
        there = np.ones(n, dtype=bool) if weights is None else weights > 0
        assert np.array_equal(np.bincount(tour.order[: 2 * there.sum()], minlength=n), 2 * there)
        share = size_measure(game_of(totals_of(n, seed), weights))
        assert np.isclose(share.sum(), 1)
        often = np.clip(np.rint(2 * share * there.sum()), 2, 32) * there
        assert np.array_equal(np.bincount(tour.order, minlength=n), often)
        assert tour.length == there.sum() == tour.size.sum()
        assert np.array_equal(tour.cell >= 0, there)
        assert np.array_equal(np.bincount(tour.cell[there], minlength=len(tour.size)), tour.size)
        assert np.all(np.diff(tour.stratum) >= 0)
        seen = tour.examples(0, tour.draws_to_see_all)
        assert set(seen.tolist()) == set(np.flatnonzero(there).tolist())
        assert len(set(seen[:-1].tolist())) == there.sum() - 1
        assert np.array_equal(tour.examples(len(tour.order), 3), tour.examples(0, 3))


@pytest.mark.statistical
@pytest.mark.parametrize("tours", [None, 1, 2, 5])
def test_covariances_are_right_where_examples_are_visited_unequally(tours, seed):
    """Players vary together on examples with large losses, and against each other on the rest."""
    n, rng = 40, np.random.default_rng(seed)
    totals = np.where(np.arange(n) < 5, 20.0, 1.0)
    signs = np.where(totals > 1, 1.0, -1.0)  # of the correlation within an example
    tour = tour_of(game_of(totals), rng)
    assert tour.visits[:5].min() > 3 * tour.visits[5:].max()
    visits, draws = (tour.visits, tours * len(tour.order)) if tours else (np.full(n, 2), 2 * n)
    found = []
    for _ in range(400):
        common, own = rng.normal(size=(draws, 1)), rng.normal(size=(draws, 2))
        at = tour.examples(0, draws)
        shown = (2 * np.where(np.arange(2) > 0, signs[at][:, None], 1.0) * common + own) * np.sqrt(totals[at])[:, None]
        chunks = [slice(start, start + 20) for start in range(0, draws, 20)]
        first, *rest = (
            StratifiedMoments.of(tour.cell[at[part]], shown[part, None, :], tour.weighting(part.start))
            for part in chunks
        )
        all_visits = first.dense(n)
        for part in rest:
            all_visits.add(part)
        covariance = estimated_sum(all_visits, tour.size, tour.stratum).covariance[0]
        found.append(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))
    of_one = totals / visits
    truth = 0.8 * (signs * of_one).sum() / of_one.sum()
    assert abs(np.mean(found) - truth) <= 6 * np.std(found) / np.sqrt(len(found)) + 0.02  # of a ratio of estimates


def test_care_goes_with_weight_and_with_losses_at_both_ends(seed):
    rng = np.random.default_rng(seed)
    weights, (empty, full) = rng.dirichlet(np.ones(50)), -rng.exponential(size=(2, 50, 2))
    losses = -(empty + full)
    shares = 0.25 + 0.75 * (losses / (weights @ losses)).mean(axis=1)
    found = size_measure(SimpleNamespace(weights=weights, ends=(empty, full), n_players=3))
    assert np.allclose(found, weights * shares, rtol=1e-12, atol=0)
    nothing = SimpleNamespace(weights=weights, ends=(0 * empty, 0 * full), n_players=3)
    assert np.allclose(size_measure(nothing), weights, rtol=1e-12, atol=0)


def test_a_tour_of_very_many_numbers_joins_neighbours_in_cells(seed):
    tour = tour_of(game_of(totals_of(3000, seed), players=6000), np.random.default_rng(seed))
    assert tour.size.max() == 3
    assert tour.size.sum() == 3000
    assert np.array_equal(np.bincount(tour.cell), tour.size)
    assert np.all(np.bincount(tour.order) == 2)


@pytest.mark.parametrize("n", [1000, 3000])
def test_the_examples_with_the_largest_totals_are_seen_twice_before_most_others(n, seed):
    totals = totals_of(n, seed)
    tour = tour_of(game_of(totals), np.random.default_rng(seed))
    visits = [np.flatnonzero(tour.order == example)[:2] for example in range(n)]
    first, second = np.array(visits).T
    is_large = np.abs(totals) >= np.sort(np.abs(totals))[-n // 100]
    assert second[is_large].max() < np.quantile(first[~is_large], 0.15)


def of_examples(totals: np.ndarray) -> np.ndarray:
    """Eight things to sum over examples: some go with their totals, in several ways, and some do not."""
    rank = np.argsort(np.argsort(totals)) / len(totals)
    along = np.column_stack([totals, np.abs(totals), np.cbrt(totals), rank, (rank - 0.5) ** 2, totals > 0.5])
    values = np.hstack([along, np.random.default_rng(len(totals)).normal(size=(len(totals), 2))])
    return values / values.std(axis=0)


def sums(totals: np.ndarray, values: np.ndarray, prefix: int, runs: int, noise: float, seed: int) -> Any:
    """Sums of values (N, c) over examples as so many visits tell them, (runs, c), and their reported variances."""
    found, variances, game = [], [], game_of(totals)
    for run in range(runs):
        rng = np.random.default_rng([seed, len(totals), prefix, run])
        tour = tour_of(game, rng)
        at = tour.examples(0, prefix)
        shown = values[at] + noise * rng.normal(size=(prefix, values.shape[1]))
        visits = StratifiedMoments.of(tour.cell[at], shown[:, :, None], tour.weighting(0)).dense(
            len(tour.size)
        )  # c losses
        result = estimated_sum(visits, tour.size, tour.stratum)
        found.append(result.values[:, 0])
        variances.append(result.variance[:, 0])
    return np.array(found), np.array(variances)


PREFIXES = sorted(
    {(n, prefix) for n in (50, 999, 1500) for prefix in (64, 100, n, n + 37, 2 * n, 2 * n + 5) if prefix >= 64}
)


@pytest.mark.parametrize(("n", "prefix"), PREFIXES)
def test_any_prefix_of_a_tour_gives_unbiased_sums(n, prefix, seed):
    totals = totals_of(n, seed)
    values = of_examples(totals)
    sees_all = tour_of(game_of(totals), np.random.default_rng(seed)).draws_to_see_all <= prefix
    found, _ = sums(totals, values, prefix, 5 if sees_all else 300, 0.0, seed)
    if sees_all:
        assert np.allclose(found, values.sum(axis=0), rtol=1e-9, atol=1e-9)
    else:
        assert is_near(list(found), values.sum(axis=0))


@pytest.mark.parametrize("prefix", [20, 40])
def test_a_few_visits_of_a_long_tour_give_unbiased_sums(prefix, seed):
    totals = totals_of(1500, seed)
    values = of_examples(totals)
    found, _ = sums(totals, values, prefix, 600, 0.0, seed)
    assert is_near(list(found), values.sum(axis=0))


@pytest.mark.statistical
@pytest.mark.parametrize(("n", "prefix"), PREFIXES)
def test_the_error_reported_for_a_prefix_of_a_tour_is_no_smaller_than_the_one_over_runs(n, prefix, seed):
    """Ratios of 8 sums, some of them correlated: counted as 2 independent ones."""
    totals, runs = totals_of(n, seed), 150
    found, variances = sums(totals, of_examples(totals), prefix, runs, 1.0, seed)
    ratio = variances.mean(axis=0) / found.var(axis=0, ddof=1)
    assert ratio.mean() >= 1 - 6 * np.sqrt(2 / (2 * runs))


@pytest.mark.statistical
@pytest.mark.parametrize("passes", [2, 3])
@pytest.mark.parametrize("n", [50, 999, 1500])
def test_the_error_reported_after_whole_passes_is_the_one_over_runs(n, passes, seed):
    """48 sums of independent noise, 150 runs: a standard error of their mean ratio of sqrt(2 / 7200), 0.017."""
    totals = totals_of(n, seed)
    values = np.tile(of_examples(totals), 6)
    found, variances = sums(totals, values, passes * n, 150, 1.0, seed)
    ratio = variances.mean(axis=0) / ((found - values.sum(axis=0)) ** 2).mean(axis=0)
    assert 0.9 <= ratio.mean() <= 1.1


@pytest.mark.parametrize("n", [50, 999, 1500])
def test_differences_between_examples_are_no_error_once_all_have_been_seen_twice(n, seed):
    totals = totals_of(n, seed)
    values = of_examples(totals)
    found, variances = sums(totals, values, 2 * n, 3, 0.0, seed)
    assert np.allclose(found, values.sum(axis=0), rtol=1e-9, atol=1e-9)
    assert np.all(variances <= 1e-18 * n**2)


@pytest.mark.statistical
@pytest.mark.parametrize("loss", ["squared error", "absolute error", "cross entropy"])
@pytest.mark.parametrize("n", [1, 2])
def test_one_example_or_two_are_explained_as_enumeration_does(n, loss, seed):
    data = Data.of(seed, n=n)
    v = data.game(LOSSES[loss], loss, data.y)
    truth = estimate(v, Exact()).values
    found = [walked(v, 64, 1000 * seed + run) for run in range(RUNS)]
    assert all(np.isfinite(run.std_error).all() for run in found)
    assert is_near([run.values for run in found], truth)


@pytest.mark.parametrize("loss", ["squared error", "absolute error", "cross entropy"])
def test_two_players_share_as_enumeration_says(loss, seed):
    """Of two players a pair of walks holds both orders, so that only the draw of rows is left to chance."""
    data = Data.of(seed)
    v = data.game(LOSSES[loss], loss, data.y, groups={"a": [0, 1], "b": [2, 3]})
    truth = estimate(v, Exact()).values
    assert is_near([walked(v, 80, 1000 * seed + run).values for run in range(RUNS)], truth)
    v = data.game(LOSSES[loss], loss, data.y, cs.Marginal(data.background[:5]), groups={"a": [0, 1], "b": [2, 3]})
    found = walked(v, 80, seed)
    assert np.allclose(found.values, estimate(v, Exact()).values, rtol=0, atol=1e-9)
    assert np.all(found.std_error <= 1e-9)


@pytest.mark.parametrize("loss", ["squared error", "absolute error", "cross entropy"])
def test_a_constant_feature_is_worth_exactly_nothing(loss, seed):
    data = Data.of(seed)
    for table in (data.X, data.background):
        table[:, 2] = 1.5
    v = data.game(LOSSES[loss], loss, data.y)
    truth = estimate(v, Exact()).values
    found = [walked(v, 80, 1000 * seed + run) for run in range(RUNS)]
    assert all(run.values[0, 2] == 0.0 == run.std_error[0, 2] for run in found)
    assert is_near([run.values for run in found], truth)


def test_two_features_of_which_one_is_constant_cost_no_hybrid_row(seed):
    """Every hybrid row is then an example or a background row, whose predictions are known."""
    rng = np.random.default_rng(seed)
    X, background = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    X[:, 1] = background[:, 1] = 1.0
    model = Counting(lambda Z: Z[:, 0] * Z[:, 1])
    found = cs.sage(model, X, X[:, 0] + 1, background=background, method="paired walks", rng=seed)
    assert found.model_rows == model.seen == N + M + 16
    assert found.values[0] == pytest.approx(found.total, rel=1e-12)
    assert found.values[1] == 0.0


@pytest.mark.parametrize("loss", ["squared error", "cross entropy"])
def test_rows_that_occur_twice_count_twice(loss, seed):
    data = Data.of(seed)
    often = np.arange(N) % 3
    twice = replace(
        data,
        X=np.repeat(data.X, often, axis=0),
        y=np.repeat(data.y, often),
        background=np.vstack([data.background, data.background]),
    )
    once = data.game(LOSSES[loss], loss, data.y, sample_weight=often)
    v = twice.game(LOSSES[loss], loss, twice.y)
    truth = estimate(once, Exact()).values
    assert np.allclose(estimate(v, Exact()).values, truth, rtol=0, atol=1e-12)
    assert is_near([walked(v, 80, 1000 * seed + run).values for run in range(RUNS)], truth)


def test_probabilities_of_zero_for_the_true_class_give_finite_values_and_are_counted(seed):
    data = Data.of(seed)
    found = cs.sage(
        lambda Z: (number(Z) > 0) * 0.5,
        data.X,
        data.is_high,
        background=data.background,
        loss="cross entropy",
        method="paired walks",
        rng=seed,
        budget=40_000,
        tolerance=None,
    )
    assert np.isfinite(found.values).all()
    assert np.isfinite(found.std_error).all()
    assert found.values.sum() == pytest.approx(found.total, abs=6 * np.sqrt(found.covariance.sum().clip(0)) + 1e-9)
