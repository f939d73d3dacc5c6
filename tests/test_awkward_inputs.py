"""Bad and awkward inputs: what can be understood has the right value, what cannot has an error that says so.

Every case of a table below is one test. Right values come from :func:`brute_force`, which shares no code with the
library; errors must name the argument, what was got and what was wanted.
"""

from __future__ import annotations

import importlib
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

import clarysage as cs
from clarysage.players import Players

SECONDS = 60  # no case may take longer


@pytest.fixture(autouse=True)
def no_hang():
    """A case that hangs fails instead."""

    def fail(*_: Any) -> None:
        raise TimeoutError(f"still running after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


# ---------------------------------------------------------------------------------------------------------------------
# The oracle


def brute_force(
    f: Any, loss: Any, X: Any, y: Any, background: Any, *, weights: Any = None, mass: Any = None, groups: Any = None
) -> np.ndarray:
    """Shapley values of minus the loss of mean predictions over the background, subset by subset."""
    groups = groups or [[j] for j in range(X.shape[1])]
    p = len(groups)
    risk = {}
    for subset in (set(chosen) for size in range(p + 1) for chosen in combinations(range(p), size)):
        columns = sorted(column for player in subset for column in groups[player])
        predictions = []
        for x in X:
            rows = np.array(background, dtype=float)
            rows[:, columns] = x[columns]
            predictions.append(np.average(np.asarray(f(rows), dtype=float), axis=0, weights=mass))
        risk[frozenset(subset)] = np.average(
            [loss(*pair) for pair in zip(y, predictions, strict=True)], weights=weights
        )
    return np.array([sum(_weight(len(S), p) * (risk[S] - risk[S | {i}]) for S in risk if i not in S) for i in range(p)])


def _weight(size: int, p: int) -> float:
    return factorial(size) * factorial(p - size - 1) / factorial(p)


def squared(y: Any, prediction: Any) -> float:
    return float(np.sum((np.asarray(y) - prediction) ** 2))


def log_loss(y: Any, prediction: Any) -> float:
    """Of a class number, or the probability of class 1, and the probability of class 1."""
    return float(-(y * np.log(prediction) + (1 - y) * np.log(1 - prediction)))


# ---------------------------------------------------------------------------------------------------------------------
# The problem

RNG = np.random.default_rng(7)
X, B, WHOLE = RNG.normal(size=(12, 3)), RNG.normal(size=(6, 3)), RNG.integers(-3, 4, size=(12, 3))
NAMES = ["a", "b", "c"]
FRAME, BACKGROUND = pd.DataFrame(X, columns=NAMES), pd.DataFrame(B, columns=NAMES)


def f(Z: Any) -> Any:
    Z = np.asarray(Z, dtype=float)
    return Z[:, 0] * Z[:, 1] + 2 * np.tanh(Z[:, 2]) + 0.5 * Z[:, 0]


def probability(Z: Any) -> Any:
    return 1 / (1 + np.exp(-f(Z)))


def probabilities(Z: Any) -> Any:
    return np.column_stack([1 - probability(Z), probability(Z)])


Y = f(X) + RNG.normal(size=12)
LABEL = (RNG.random(12) < probability(X)).astype(int)
assert 0 < LABEL.sum() < 12
WORD = np.array(["no", "yes"])[LABEL]
SOFT = RNG.random(12)
SHUFFLED = RNG.permutation(12)

TRUTH = brute_force(f, squared, X, Y, B)
TRUTH_CLASS = brute_force(probability, log_loss, X, LABEL, B)
LINEAR = LinearRegression().fit(RNG.normal(size=(50, 3)), RNG.normal(size=50))
LOGISTIC = LogisticRegression().fit(X, WORD)


def regression(**changes: Any) -> Any:
    options = {"model": f, "X": X, "y": Y, "background": B, "method": "exact", **changes}
    return cs.sage(options.pop("model"), options.pop("X"), options.pop("y"), **options)


def classification(**changes: Any) -> Any:
    return regression(**{"model": probability, "y": LABEL, **changes})


@dataclass(frozen=True)
class Good:
    """A case that must be understood: ``run`` gives an explanation whose values are ``truth``."""

    name: str
    run: Callable[[], Any]
    truth: Any
    needs: str = "numpy"


@dataclass(frozen=True)
class Bad:
    """A case that must be refused, with an error that names the argument and says the given words."""

    name: str
    run: Callable[[], Any]
    argument: str
    words: str
    kind: type[cs.InputError] = cs.InputError


def params(cases: list[Any]) -> Any:
    marked = [
        pytest.param(case, id=case.name, marks=pytest.mark.needs(getattr(case, "needs", "numpy"))) for case in cases
    ]
    return pytest.mark.parametrize("case", marked)


def check_value(case: Good) -> None:
    explanation = case.run()
    assert explanation.values == pytest.approx(case.truth, abs=1e-12, rel=1e-9)
    assert explanation.total == pytest.approx(float(np.sum(case.truth)), abs=1e-11)


def check_error(case: Bad) -> None:
    with pytest.raises(case.kind, match=rf"(?s)^{case.argument}: got .*; wanted .*\.") as caught:
        case.run()
    assert type(caught.value) is case.kind
    assert re.search(case.words, str(caught.value)), str(caught.value)


# ---------------------------------------------------------------------------------------------------------------------
# y


def with_y(y: Any, **changes: Any) -> Callable[[], Any]:
    return lambda: classification(y=y, **changes)


def series(values: Any, index: Any) -> pd.Series:
    return pd.Series(np.asarray(values)[index], index=index)


def from_library(library: str, make: Callable[[Any], Any], run: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: run(make(importlib.import_module(library)))


GOOD_Y = [
    Good(
        "y strings, classifier fitted on them",
        with_y(WORD, model=LOGISTIC),
        brute_force(lambda Z: LOGISTIC.predict_proba(Z)[:, 1], log_loss, X, LABEL, B),
    ),
    Good("y strings, classes in sorted order", with_y(WORD), TRUTH_CLASS),
    Good("y booleans", with_y(LABEL.astype(bool)), TRUTH_CLASS),
    Good("y floats 0.0 and 1.0", with_y(LABEL.astype(float)), TRUTH_CLASS),
    Good("y 1 and 2", with_y(LABEL + 1), TRUTH_CLASS),
    Good("y -1 and 1", with_y(2 * LABEL - 1), TRUTH_CLASS),
    Good("y -1.0 and 1.0", with_y(2.0 * LABEL - 1), TRUTH_CLASS),
    Good("y uint8", with_y(LABEL.astype(np.uint8)), TRUTH_CLASS),
    Good("y one-hot", with_y(np.eye(2, dtype=int)[LABEL], model=probabilities), TRUTH_CLASS),
    Good("y column (n, 1)", with_y(LABEL[:, None]), TRUTH_CLASS),
    Good("y list", with_y(LABEL.tolist()), TRUTH_CLASS),
    Good("y tuple of strings", with_y(tuple(WORD)), TRUTH_CLASS),
    Good("y list of bools", with_y(LABEL.astype(bool).tolist()), TRUTH_CLASS),
    Good("y object array of ints", with_y(LABEL.astype(object)), TRUTH_CLASS),
    Good("y bytes", with_y(WORD.astype("S3")), TRUTH_CLASS),
    Good("y read-only", with_y(np.broadcast_to(LABEL[:, None], (12, 1))), TRUTH_CLASS),
    Good(
        "y Series with a shuffled index beside an array goes by position",
        with_y(pd.Series(LABEL, index=SHUFFLED)),
        TRUTH_CLASS,
    ),
    Good(
        "y Series and X with the same shuffled index",
        lambda: classification(X=FRAME.loc[SHUFFLED], y=series(LABEL, SHUFFLED)),
        TRUTH_CLASS,
    ),
    Good("y frame of one column", with_y(pd.DataFrame({"target": LABEL}), X=FRAME), TRUTH_CLASS),
    Good("y categorical", with_y(pd.Series(WORD, dtype="category")), TRUTH_CLASS),
    Good("y categorical of ints", with_y(pd.Series(LABEL, dtype="category")), TRUTH_CLASS),
    Good("y nullable Int64", with_y(pd.array(LABEL, dtype="Int64")), TRUTH_CLASS),
    Good("y nullable boolean", with_y(pd.array(LABEL.astype(bool), dtype="boolean")), TRUTH_CLASS),
    Good("y nullable string", with_y(pd.array(WORD, dtype="string")), TRUTH_CLASS),
    Good(
        "y polars",
        from_library("polars", lambda pl: pl.Series(WORD.tolist()), lambda y: classification(y=y)),
        TRUTH_CLASS,
        "polars",
    ),
    Good(
        "y polars categorical",
        from_library(
            "polars", lambda pl: pl.Series(WORD.tolist(), dtype=pl.Categorical), lambda y: classification(y=y)
        ),
        TRUTH_CLASS,
        "polars",
    ),
    Good(
        "y polars frame",
        from_library("polars", lambda pl: pl.DataFrame({"y": LABEL}), lambda y: classification(y=y)),
        TRUTH_CLASS,
        "polars",
    ),
    Good(
        "y pyarrow",
        from_library("pyarrow", lambda pa: pa.chunked_array([WORD.tolist()]), lambda y: classification(y=y)),
        TRUTH_CLASS,
        "pyarrow",
    ),
    Good(
        "y pyarrow dictionary",
        from_library("pyarrow", lambda pa: pa.array(WORD.tolist()).dictionary_encode(), lambda y: classification(y=y)),
        TRUTH_CLASS,
        "pyarrow",
    ),
    Good(
        "y torch",
        from_library("torch", lambda torch: torch.tensor(LABEL), lambda y: classification(y=y)),
        TRUTH_CLASS,
        "torch",
    ),
    Good("y soft (n,)", with_y(SOFT, loss="cross entropy"), brute_force(probability, log_loss, X, SOFT, B)),
    Good(
        "y soft (n, 2)",
        with_y(np.column_stack([1 - SOFT, SOFT]), model=probabilities),
        brute_force(probability, log_loss, X, SOFT, B),
    ),
    Good(
        "y labels between 0 and 1 are labels where the model says so",
        with_y(np.array([0.25, 0.75])[LABEL], model=cs.as_predictor(probabilities, classes=[0.25, 0.75])),
        TRUTH_CLASS,
    ),
    Good("y of one class only", with_y(np.ones(12, dtype=int)), brute_force(probability, log_loss, X, np.ones(12), B)),
    Good("y ints for regression", lambda: regression(y=WHOLE[:, 0]), brute_force(f, squared, X, WHOLE[:, 0], B)),
    Good(
        "y decimals",
        lambda: regression(y=[Decimal(int(v)) for v in WHOLE[:, 0]]),
        brute_force(f, squared, X, WHOLE[:, 0], B),
    ),
    Good("y float32", lambda: regression(y=Y.astype(np.float32)), brute_force(f, squared, X, Y.astype(np.float32), B)),
    Good("y constant", lambda: regression(y=np.full(12, 3.0)), brute_force(f, squared, X, np.full(12, 3.0), B)),
    Good(
        "y of two outputs",
        lambda: regression(model=lambda Z: np.column_stack([f(Z), Z[:, 0]]), y=np.column_stack([Y, Y])),
        brute_force(lambda Z: np.column_stack([f(Z), Z[:, 0]]), squared, X, np.column_stack([Y, Y]), B),
    ),
]


def with_hole(values: Any, hole: Any) -> list[Any]:
    return [hole, *list(values)[1:]]


BAD_Y = [
    Bad("y NaN", lambda: regression(y=with_hole(Y, np.nan)), "y", "1 missing or infinite.*Try dropping"),
    Bad("y infinite", lambda: regression(y=with_hole(Y, np.inf)), "y", "1 missing or infinite"),
    Bad("y None beside numbers", lambda: regression(y=with_hole(Y, None)), "y", "1 missing"),
    Bad("y None beside strings", with_y(with_hole(WORD, None)), "y", "1 missing"),
    Bad("y NaN beside strings", with_y(with_hole(WORD, np.nan)), "y", "1 missing"),
    Bad("y NA", with_y(pd.array(with_hole(LABEL, None), dtype="Int64")), "y", "1 missing"),
    Bad("y NaN in a category", with_y(pd.Series(with_hole(WORD, None), dtype="category")), "y", "1 missing"),
    Bad("y masked", lambda: regression(y=np.ma.masked_array(Y, mask=Y > 0)), "y", "missing"),
    Bad("y too short", lambda: regression(y=Y[:-1]), "y", "11 responses; wanted 12"),
    Bad("y too long", lambda: regression(y=np.append(Y, 0)), "y", "13 responses; wanted 12"),
    Bad("y a row (1, n)", lambda: regression(y=Y[None]), "y", "1 responses; wanted 12"),
    Bad("y swapped with X", lambda: regression(X=Y, y=X), "X", "one-dimensional.*swapped"),
    Bad(
        "y Series shuffled against X",
        lambda: classification(X=FRAME, y=series(LABEL, SHUFFLED)),
        "y",
        r"index that disagrees with the index of X.*Try .loc\[X.index\].*to_numpy\(\)",
    ),
    Bad("y complex", lambda: regression(y=Y + 1j), "y", "complex.*real"),
    Bad("y of three dimensions", lambda: regression(y=Y[:, None, None]), "y", r"shape \(12, 1, 1\)"),
    Bad("y a number", lambda: regression(y=1.0), "y", "float.*one entry for each row"),
    Bad(
        "y a string",
        lambda: regression(y="target"),
        "y",
        "the name of a column, but X is an array.*one entry for each row",
    ),
    Bad("y a mapping", lambda: regression(y=dict(enumerate(Y))), "y", "dict.*one entry for each row"),
    Bad("y a generator", lambda: regression(y=(v for v in Y)), "y", "generator.*one entry for each row"),
    Bad("y ragged", lambda: regression(y=[[1.0], *[[1.0, 2.0]] * 11]), "y", "unequal"),
    Bad("y dates", lambda: regression(y=pd.date_range("2020", periods=12)), "y", "datetime64.*real numbers or labels"),
    Bad(
        "y words for a regression",
        lambda: regression(y=WORD, loss="squared error"),
        "y",
        "labels such as.*wanted numbers.*Try loss=",
    ),
    Bad("y numbers beside words", lambda: regression(y=[*Y[:-1], "many"], loss="squared error"), "y", "labels such as"),
    Bad(
        "y a label that the classifier does not know",
        with_y(with_hole(WORD, "perhaps"), model=LOGISTIC),
        "y",
        "'perhaps'; wanted the model's classes: 'no', 'yes'",
    ),
    Bad(
        "y 0 and 1 for classes 1 and 2",
        with_y(LABEL.astype(float), model=cs.as_predictor(probabilities, classes=[1, 2])),
        "y",
        "the label 0.0",
    ),
    Bad(
        "y of three labels for two classes",
        with_y(np.resize([5, 6, 7], 12), loss="brier"),
        "y",
        "3 labels.*Try as_predictor",
    ),
    Bad(
        "y soft of three classes for two",
        with_y(np.full((12, 3), 1 / 3), model=probabilities),
        "y",
        r"shape \(12, 3\).*\(n, 2\)",
    ),
    Bad("y soft that does not add up", with_y(np.full((12, 2), 0.4), model=probabilities), "y", "adding to one"),
    Bad(
        "y of two columns for one output",
        lambda: regression(y=np.column_stack([Y, Y])),
        "y",
        r"shape \(12, 2\) with model outputs of shape \(12, 1\)",
    ),
    Bad(
        "y of one column for two outputs",
        lambda: classification(model=probabilities, loss="squared error"),
        "y",
        "one number for each output.*Try loss=",
    ),
]


@params(GOOD_Y)
def test_responses_of_any_kind_have_the_brute_force_value(case):
    check_value(case)


@params(BAD_Y)
def test_responses_that_make_no_sense_are_named(case):
    check_error(case)


# ---------------------------------------------------------------------------------------------------------------------
# X and background


def by_name(frame: Any) -> Any:
    """f of a table with named columns, whatever their order."""
    return f(np.column_stack([np.asarray(frame[name], dtype=float) for name in NAMES]))


def with_x(change: Callable[[Any], Any], model: Any = f, truth: Any = None, **options: Any) -> tuple[Any, Any]:
    """The same change made to X and background, and the values that f has on what it gets."""
    run = lambda: regression(model=model, X=change(X), background=change(B), **options)  # noqa: E731
    return run, TRUTH if truth is None else truth


def as_memmap(values: Any) -> Any:
    file = tempfile.TemporaryFile()  # noqa: SIM115
    array = np.memmap(file, dtype=float, shape=values.shape)
    array[:] = values
    return array


def words(values: Any, dtype: Any) -> pd.DataFrame:
    """Numbers beside a column of words."""
    frame = pd.DataFrame(values, columns=NAMES)
    return frame.assign(a=pd.Series(np.where(values[:, 0] > 0, "up", "down"), dtype=dtype))


def of_words(frame: Any) -> Any:
    Z = np.column_stack([np.where(np.asarray(frame["a"]) == "up", 1.0, 0.0), frame["b"], frame["c"]])
    return f(Z)


def tolerant(Z: Any) -> Any:
    """A model that takes missing and infinite cells."""
    return f(np.tanh(np.nan_to_num(np.asarray(Z, dtype=float), nan=0.5, posinf=9, neginf=-9)))


def holed(values: Any, hole: float) -> Any:
    values = values.copy()
    values[::3, 0], values[1::4, 2] = hole, hole
    return values


BINARY, BINARY_B = np.column_stack([X[:, 0] > 0, X[:, 1:]]), np.column_stack([B[:, 0] > 0, B[:, 1:]])
TRUTH_WORDS = brute_force(f, squared, BINARY.astype(float), Y, BINARY_B.astype(float))
SINGLE, HALF = X.astype(np.float32), X.astype(np.float16)
TREES = HistGradientBoostingRegressor(max_iter=5).fit(holed(RNG.normal(size=(60, 3)), np.nan), RNG.normal(size=60))
WIDE = RNG.normal(size=(24, 6))
WIDE[::2, ::2] = X

GOOD_X = [
    Good("X list of lists", *with_x(lambda v: v.tolist())),
    Good("X tuple of tuples", *with_x(lambda v: tuple(map(tuple, v)))),
    Good("X list of arrays", *with_x(list)),
    Good("X Fortran order", *with_x(np.asfortranarray)),
    Good("X read-only", *with_x(lambda v: np.broadcast_to(v, v.shape))),
    Good("X strided", lambda: regression(X=WIDE[::2, ::2]), TRUTH),
    Good("X with negative strides", *with_x(lambda v: v[:, ::-1].copy()[:, ::-1])),
    Good("X big-endian", *with_x(lambda v: v.astype(">f8"))),
    Good("X memmap", *with_x(as_memmap)),
    Good("X matrix", *with_x(np.asmatrix)),
    Good("X masked without holes", *with_x(np.ma.masked_array)),
    Good("X object array of numbers", *with_x(lambda v: v.astype(object))),
    Good(
        "X float32",
        lambda: regression(X=SINGLE, background=B.astype(np.float32)),
        brute_force(f, squared, SINGLE, Y, B.astype(np.float32)),
    ),
    Good("X float16 beside a float64 background", lambda: regression(X=HALF), brute_force(f, squared, HALF, Y, B)),
    Good("X ints beside a float background", lambda: regression(X=WHOLE), brute_force(f, squared, WHOLE, Y, B)),
    Good(
        "X int8 frame beside a float background",
        lambda: regression(X=pd.DataFrame(WHOLE, columns=NAMES, dtype="int8"), background=BACKGROUND),
        brute_force(f, squared, WHOLE, Y, B),
    ),
    Good(
        "X floats beside an int background", lambda: regression(background=WHOLE), brute_force(f, squared, X, Y, WHOLE)
    ),
    Good(
        "X booleans",
        lambda: regression(X=X > 0, background=B > 0),
        brute_force(f, squared, (X > 0).astype(float), Y, (B > 0).astype(float)),
    ),
    Good("X frame", *with_x(lambda v: pd.DataFrame(v, columns=NAMES), by_name)),
    Good("X frame with numbers for names", *with_x(pd.DataFrame)),
    Good(
        "X frame with pairs for names",
        *with_x(lambda v: pd.DataFrame(v, columns=pd.MultiIndex.from_product([["u"], NAMES]))),
    ),
    Good("X frame with a strange index", *with_x(lambda v: pd.DataFrame(v, index=[0.5] * len(v), columns=NAMES))),
    Good("X subclass of DataFrame", *with_x(lambda v: type("Mine", (pd.DataFrame,), {})(v, columns=NAMES), by_name)),
    Good("X nullable frame", *with_x(lambda v: pd.DataFrame(v, columns=NAMES).convert_dtypes(), by_name)),
    Good("X sparse frame", *with_x(lambda v: pd.DataFrame(v, columns=NAMES).astype("Sparse[float64]"), by_name)),
    Good(
        "X frame, background columns in another order",
        lambda: regression(model=by_name, X=FRAME, background=BACKGROUND[["c", "a", "b"]]),
        TRUTH,
    ),
    Good("X array, background frame", lambda: regression(model=by_name, background=BACKGROUND), TRUTH),
    Good("X frame, background array", lambda: regression(model=by_name, X=FRAME), TRUTH),
    Good("X frame, background list", lambda: regression(model=by_name, X=FRAME, background=B.tolist()), TRUTH),
    Good(
        "X frame with words",
        lambda: regression(model=of_words, X=words(X, None), background=words(B, None)),
        TRUTH_WORDS,
    ),
    Good(
        "X frame with word objects",
        lambda: regression(model=of_words, X=words(X, object), background=words(B, object)),
        TRUTH_WORDS,
    ),
    Good(
        "X frame with categories listed in another order",
        lambda: regression(
            model=of_words,
            X=words(X, pd.CategoricalDtype(["up", "down"])),
            background=words(B, pd.CategoricalDtype(["down", "up"])),
        ),
        TRUTH_WORDS,
    ),
    Good(
        "X words as categories, background as strings",
        lambda: regression(model=of_words, X=words(X, "category"), background=words(B, "string")),
        TRUTH_WORDS,
    ),
    Good(
        "X polars",
        from_library(
            "polars",
            lambda pl: (pl.DataFrame(FRAME.to_dict("list")), pl.DataFrame(BACKGROUND.to_dict("list"))),
            lambda t: regression(model=by_name, X=t[0], background=t[1]),
        ),
        TRUTH,
        "polars",
    ),
    Good(
        "X lazy polars",
        from_library(
            "polars", lambda pl: pl.LazyFrame(FRAME.to_dict("list")), lambda t: regression(model=by_name, X=t)
        ),
        TRUTH,
        "polars",
    ),
    Good(
        "X polars, background pandas in another order",
        from_library(
            "polars",
            lambda pl: pl.DataFrame(FRAME.to_dict("list")),
            lambda t: regression(model=by_name, X=t, background=BACKGROUND[["b", "c", "a"]]),
        ),
        TRUTH,
        "polars",
    ),
    Good(
        "X polars with words, background pandas with categories",
        from_library(
            "polars",
            lambda pl: pl.DataFrame(words(X, object).to_dict("list")),
            lambda t: regression(model=of_words, X=t, background=words(B, "category")),
        ),
        TRUTH_WORDS,
        "polars",
    ),
    Good(
        "X pyarrow",
        from_library(
            "pyarrow",
            lambda pa: (pa.table(FRAME.to_dict("list")), pa.table(BACKGROUND.to_dict("list"))),
            lambda t: regression(model=by_name, X=t[0], background=t[1]),
        ),
        TRUTH,
        "pyarrow",
    ),
    Good(
        "X record batch",
        from_library(
            "pyarrow",
            lambda pa: pa.RecordBatch.from_pydict(FRAME.to_dict("list")),
            lambda t: regression(model=by_name, X=t),
        ),
        TRUTH,
        "pyarrow",
    ),
    Good(
        "X torch",
        from_library("torch", lambda torch: torch.tensor(X, requires_grad=True), lambda t: regression(X=t)),
        TRUTH,
        "torch",
    ),
    Good("X sparse matrix", *with_x(scipy.sparse.csr_matrix)),
    Good("X sparse array", *with_x(scipy.sparse.coo_array)),
    Good("X without a background", lambda: regression(background=None), brute_force(f, squared, X, Y, X)),
    Good("X of one row", lambda: regression(X=X[:1], y=Y[:1]), brute_force(f, squared, X[:1], Y[:1], B)),
    Good(
        "X of one column",
        lambda: regression(model=lambda Z: np.tanh(Z[:, 0]), X=X[:, :1], background=B[:, :1]),
        brute_force(lambda Z: np.tanh(Z[:, 0]), squared, X[:, :1], Y, B[:, :1]),
    ),
    Good("background of one row", lambda: regression(background=B[:1]), brute_force(f, squared, X, Y, B[:1])),
    Good(
        "background of one row in a list",
        lambda: regression(background=[[0, 0, 0]]),
        brute_force(f, squared, X, Y, np.zeros((1, 3))),
    ),
    Good(
        "NaN that the model takes",
        lambda: regression(model=tolerant, X=holed(X, np.nan)),
        brute_force(tolerant, squared, holed(X, np.nan), Y, B),
    ),
    Good(
        "NaN that fitted trees take",
        lambda: regression(model=TREES, X=holed(X, np.nan), background=holed(B, np.nan)),
        brute_force(TREES.predict, squared, holed(X, np.nan), Y, holed(B, np.nan)),
    ),
    Good(
        "NaN masked",
        lambda: regression(model=tolerant, X=np.ma.masked_invalid(holed(X, np.nan))),
        brute_force(tolerant, squared, holed(X, np.nan), Y, B),
    ),
    Good(
        "None in a list of rows",
        lambda: regression(model=tolerant, X=[[None if np.isnan(v) else v for v in row] for row in holed(X, np.nan)]),
        brute_force(tolerant, squared, holed(X, np.nan), Y, B),
    ),
    Good(
        "ints beside NaN in the background",
        lambda: regression(model=tolerant, X=pd.DataFrame(WHOLE), background=pd.DataFrame(holed(B, np.nan))),
        brute_force(tolerant, squared, WHOLE, Y, holed(B, np.nan)),
    ),
    Good(
        "infinity that the model takes",
        lambda: regression(model=tolerant, X=holed(X, -np.inf)),
        brute_force(tolerant, squared, holed(X, -np.inf), Y, B),
    ),
    Good(
        "huge values",
        lambda: regression(model=tolerant, X=1e300 * X, background=1e300 * B),
        brute_force(tolerant, squared, 1e300 * X, Y, 1e300 * B),
    ),
    Good(
        "integers beyond 2^53 keep their last digit",
        lambda: regression(model=last_digit, X=2**60 + WHOLE, background=2**60 + WHOLE[:6]),
        brute_force(f, squared, WHOLE, Y, WHOLE[:6]),
    ),
]


def last_digit(Z: Any) -> Any:
    assert Z.dtype == np.int64
    return f(Z - 2**60)


BAD_X = [
    Bad(
        "NaN that the model refuses",
        lambda: regression(model=LINEAR, X=holed(X, np.nan)),
        "X or background",
        "missing or infinite cells in 'x0', 'x2'.*Try an imputer",
        cs.ModelError,
    ),
    Bad(
        "NaN in the background alone",
        lambda: regression(model=LINEAR, background=holed(B, np.nan)),
        "X or background",
        "missing or infinite cells in 'x0', 'x2'",
        cs.ModelError,
    ),
    Bad(
        "NaN that comes out again",
        lambda: regression(X=holed(X, np.nan)),
        "X or background",
        "'x0', 'x2'.*NaN or infinity from f",
        cs.ModelError,
    ),
    Bad(
        "infinity that the model refuses",
        lambda: regression(model=LINEAR, X=holed(X, np.inf)),
        "X or background",
        "missing or infinite cells",
        cs.ModelError,
    ),
    Bad(
        "NA that the model refuses",
        lambda: regression(model=LINEAR, X=pd.DataFrame(holed(X, np.nan)).convert_dtypes()),
        "X or background",
        "missing or infinite cells in '0', '2'",
        cs.ModelError,
    ),
    Bad("X None", lambda: regression(X=None), "X", "NoneType; wanted a table"),
    Bad(
        "X a string",
        lambda: regression(X="train.csv"),
        "X",
        "'train.csv', which does not exist; wanted a Parquet .* or a table",
    ),
    Bad("X a number", lambda: regression(X=3), "X", "int; wanted a table"),
    Bad("X a mapping", lambda: regression(X=FRAME.to_dict("list")), "X", "dict; wanted a table"),
    Bad("X a generator", lambda: regression(X=(row for row in X)), "X", "generator; wanted a table"),
    Bad("X 1-D", lambda: regression(X=X[:, 0]), "X", r"one-dimensional array of length 12.*Try X.reshape\(-1, 1\)"),
    Bad("X a Series", lambda: regression(X=FRAME["a"]), "X", "one-dimensional"),
    Bad("X 3-D", lambda: regression(X=X[:, :, None]), "X", r"3 dimensions, shape \(12, 3, 1\).*Try X.reshape"),
    Bad("X complex", lambda: regression(X=X + 1j), "X", "complex.*Try X.real"),
    Bad("X frame with a complex column", lambda: regression(X=FRAME.assign(a=X[:, 0] + 1j)), "X", "complex"),
    Bad("X ragged", lambda: regression(X=[[1.0], [1.0, 2.0]]), "X", "rows of unequal length"),
    Bad("X structured", lambda: regression(X=FRAME.to_records(index=False)), "X", "one-dimensional"),
    Bad("X without rows", lambda: regression(X=X[:0], y=Y[:0]), "X", "no rows"),
    Bad("X without columns", lambda: regression(X=X[:, :0]), "X", "no columns"),
    Bad("X an empty list", lambda: regression(X=[]), "X", "one-dimensional array of length 0"),
    Bad(
        "X with names that repeat",
        lambda: regression(X=FRAME.set_axis(["a", "b", "a"], axis=1)),
        "X",
        "several columns named 'a'.*Try renaming",
    ),
    Bad(
        "X with names that look alike",
        lambda: regression(X=FRAME.set_axis([0, "0", 1], axis=1)),
        "X",
        "several columns named '0'",
    ),
    Bad("X with lists for cells", lambda: regression(X=FRAME.assign(a=[[1]] * 12)), "X.*", "column 'a' of object"),
    Bad(
        "X sparse and too large",
        lambda: regression(X=scipy.sparse.csr_matrix((10**6, 10**6)), removal="product of marginals"),
        "removal",
        "which fills in all columns of X, with 1,000,000; wanted at most 2,000 columns",
    ),
    Bad(
        "background with more columns",
        lambda: regression(background=np.hstack([B, B])),
        "background",
        "6 columns; wanted 3, as in X",
    ),
    Bad("background with fewer columns", lambda: regression(background=B[:, :2]), "background", "2 columns; wanted 3"),
    Bad(
        "background without a named column",
        lambda: regression(X=FRAME, background=BACKGROUND[["a", "b"]]),
        "background",
        "differ from X's: no 'c'",
    ),
    Bad(
        "background with an extra named column",
        lambda: regression(X=FRAME, background=BACKGROUND.assign(d=0)),
        "background",
        "differ from X's: extra 'd'",
    ),
    Bad(
        "background with other names",
        lambda: regression(X=FRAME, background=BACKGROUND.rename(columns=str.upper)),
        "background",
        "no 'a', 'b', 'c'; extra 'A', 'B', 'C'",
    ),
    Bad("background without rows", lambda: regression(background=B[:0]), "background", "no rows"),
    Bad(
        "background 1-D",
        lambda: regression(background=B[0]),
        "background",
        r"one-dimensional.*background.reshape\(1, -1\) for one row",
    ),
    Bad("background complex", lambda: regression(background=B + 1j), "background", "complex"),
    Bad(
        "background a string",
        lambda: regression(background="mean"),
        "background",
        "'mean', which does not exist; wanted a Parquet .* or a table",
    ),
    Bad(
        "background beside a removal object",
        lambda: regression(removal=cs.Marginal(B)),
        "background",
        r"a background and a removal object.*Try removal=Marginal\(background\)",
    ),
    Bad(
        "background of text for numbers",
        lambda: regression(X=FRAME, background=BACKGROUND.astype(str)),
        "background",
        "column 'a' of .*holds numbers",
    ),
    Bad(
        "background of digits as text for numbers",
        lambda: regression(background=B.round().astype(str)),
        "background",
        "column 'x0'.*holds numbers",
    ),
    Bad(
        "background of numbers for text",
        lambda: regression(X=words(X, None), background=BACKGROUND),
        "X and background",
        "column 'a'.*the same kind",
    ),
    Bad(
        "background of dates for text",
        lambda: regression(X=words(X, None), background=BACKGROUND.assign(a=pd.Timestamp("2020"))),
        "X and background",
        "column 'a'.*the same kind",
    ),
    Bad(
        "background of fractions for integers beyond 2^53",
        lambda: regression(X=2**60 + WHOLE),
        "X and background",
        r"integers beyond 2\^53 together with fractions",
    ),
    Bad(
        "Marginal without a background",
        lambda: regression(background=None, removal=cs.Marginal(None)),
        "background",
        "None; wanted a table",
    ),
    Bad(
        "columns that the model was not fitted on",
        lambda: regression(model=LinearRegression().fit(FRAME, Y), X=FRAME.rename(columns={"a": "A"}), background=None),
        "X",
        "LinearRegression was fitted on: no 'a'; extra 'A'",
    ),
    Bad(
        "errors beyond the range of numbers",
        lambda: regression(y=1e200 * Y),
        "loss",
        "inf from squared error.*Try y and predictions in other units",
    ),
    Bad(
        "errors whose variance is beyond the range of numbers",
        lambda: regression(y=1e100 * Y),
        "loss",
        r"e\+20\d from squared error; wanted finite values below 1e\+150",
    ),
    Bad(
        "errors whose squares vanish",
        lambda: regression(model=lambda Z: 1e-200 * f(Z), y=1e-200 * Y),
        "y",
        r"e-200, whose squares underflow.*Try other units",
    ),
]


@params(GOOD_X)
def test_tables_of_any_kind_have_the_brute_force_value(case):
    check_value(case)


@params(BAD_X)
def test_tables_that_make_no_sense_are_named(case):
    check_error(case)


# ---------------------------------------------------------------------------------------------------------------------
# The model


def returning(change: Callable[[Any], Any], function: Any = f) -> Callable[[Any], Any]:
    """A model that returns what another does, changed."""

    def model(Z: Any) -> Any:
        return change(function(Z))

    return model


def writes(Z: Any) -> Any:
    """Predicts, then writes into the rows it was given."""
    predictions = f(Z) if isinstance(Z, np.ndarray) else by_name(Z)
    Z[:] = 0
    return predictions


class Thing:
    """An object with nothing but the given methods."""

    def __init__(self, **methods: Any) -> None:
        self.__dict__.update(methods)


def on_hybrids(usual: Any, strange: Any) -> Callable[[Any], Any]:
    """A model that is strange on rows that are neither of X nor of the background."""
    known = {row.tobytes() for row in np.vstack([X, B])}

    def model(Z: Any) -> Any:
        outputs = np.array(usual(Z), dtype=float)
        hybrid = np.array([row.tobytes() not in known for row in np.ascontiguousarray(Z)])
        outputs[hybrid] = strange(outputs[hybrid])
        return outputs

    return model


def failing(Z: Any) -> Any:
    raise OSError("the model server is gone")


def search() -> Any:
    return GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"logisticregression__C": [1.0]}, cv=2)


SEARCH = search().fit(FRAME, WORD)
PIPELINE = make_pipeline(StandardScaler(), LinearRegression()).fit(FRAME, Y)
SVC = LinearSVC().fit(X, WORD)


def searched(Z: Any) -> Any:
    return SEARCH.predict_proba(pd.DataFrame(Z, columns=NAMES))[:, 1]


GOOD_MODELS = [
    Good("model returns a list", lambda: regression(model=returning(list)), TRUTH),
    Good("model returns a tuple", lambda: regression(model=returning(tuple)), TRUTH),
    Good("model returns a Series", lambda: regression(model=returning(pd.Series)), TRUTH),
    Good(
        "model returns a Series with an index of its own",
        lambda: regression(model=returning(lambda v: pd.Series(v, index=range(len(v), 0, -1)))),
        TRUTH,
    ),
    Good("model returns a frame of one column", lambda: regression(model=returning(pd.DataFrame)), TRUTH),
    Good(
        "model returns nullable numbers", lambda: regression(model=returning(lambda v: pd.array(v, "Float64"))), TRUTH
    ),
    Good("model returns a column (n, 1)", lambda: regression(model=returning(lambda v: v[:, None])), TRUTH),
    Good("model returns (n, 1, 1)", lambda: regression(model=returning(lambda v: v[:, None, None])), TRUTH),
    Good("model returns a matrix", lambda: regression(model=returning(lambda v: np.asmatrix(v).T)), TRUTH),
    Good("model returns objects", lambda: regression(model=returning(lambda v: v.astype(object))), TRUTH),
    Good(
        "model returns polars",
        from_library("polars", lambda pl: returning(pl.Series), lambda model: regression(model=model)),
        TRUTH,
        "polars",
    ),
    Good(
        "model returns float32",
        lambda: regression(model=returning(np.float32)),
        brute_force(returning(np.float32), squared, X, Y, B),
    ),
    Good(
        "model returns ints",
        lambda: regression(model=returning(lambda v: np.round(v).astype(int))),
        brute_force(returning(np.round), squared, X, Y, B),
    ),
    Good(
        "model returns booleans",
        lambda: regression(model=returning(lambda v: v > 0), loss="squared error"),
        brute_force(returning(lambda v: v > 0), squared, X, Y, B),
    ),
    Good(
        "model returns a read-only view",
        lambda: regression(model=returning(lambda v: np.broadcast_to(v, v.shape))),
        TRUTH,
    ),
    Good("model writes into the array it gets", lambda: regression(model=writes), TRUTH),
    Good(
        "model writes into the frame it gets", lambda: regression(model=writes, X=FRAME, background=BACKGROUND), TRUTH
    ),
    Good("model object with predict", lambda: regression(model=Thing(predict=f)), TRUTH),
    Good(
        "model object with predict_proba", lambda: classification(model=Thing(predict_proba=probabilities)), TRUTH_CLASS
    ),
    Good(
        "model with classes of its own",
        lambda: classification(
            model=Thing(predict_proba=lambda Z: probabilities(Z)[:, ::-1], classes_=np.array([1, 0]))
        ),
        TRUTH_CLASS,
    ),
    Good(
        "Pipeline fitted on names, given an array",
        lambda: regression(model=PIPELINE),
        brute_force(lambda Z: PIPELINE.predict(pd.DataFrame(Z, columns=NAMES)), squared, X, Y, B),
    ),
    Good(
        "GridSearchCV on string labels, columns in another order",
        lambda: classification(model=SEARCH, X=FRAME[["c", "a", "b"]], y=WORD, background=BACKGROUND),
        brute_force(searched, log_loss, X, LABEL, B)[[2, 0, 1]],
    ),
    Good(
        "model fitted on names, X an array, background a frame in another order",
        lambda: classification(model=SEARCH, y=WORD, background=BACKGROUND[["c", "a", "b"]]),
        brute_force(searched, log_loss, X, LABEL, B),
    ),
    Good(
        "classifier that only votes",
        lambda: classification(model=SVC, y=WORD),
        brute_force(lambda Z: (SVC.predict(Z) == "yes").astype(float), lambda y, p: float((p > 0.5) != y), X, LABEL, B),
    ),
    Good("logits, said to be so", lambda: classification(model=cs.as_predictor(f, output="sigmoid")), TRUTH_CLASS),
    Good(
        "labels, under the loss for labels",
        lambda: classification(model=returning(lambda v: (v > 0).astype(int)), loss="zero one"),
        brute_force(returning(lambda v: (v > 0).astype(float)), lambda y, p: float((p > 0.5) != y), X, LABEL, B),
    ),
    Good(
        "probabilities of zero and one",
        lambda: classification(model=lambda Z: np.column_stack([Z[:, 0] <= 0, Z[:, 0] > 0]), loss="brier"),
        brute_force(lambda Z: (Z[:, 0] > 0).astype(float), squared, X, LABEL, B),
    ),
]

BAD_MODELS = [
    Bad(
        "model not fitted",
        lambda: regression(model=LinearRegression()),
        "model",
        "not fitted.*Try model.fit",
        cs.ModelError,
    ),
    Bad(
        "classifier not fitted",
        lambda: classification(model=LogisticRegression()),
        "model",
        "not fitted",
        cs.ModelError,
    ),
    Bad("search not fitted", lambda: classification(model=search()), "model", "not fitted", cs.ModelError),
    Bad("model a class", lambda: regression(model=LinearRegression), "model", "the class LinearRegression"),
    Bad("model None", lambda: regression(model=None), "model", "NoneType.*wanted a fitted model, or a callable"),
    Bad("model a string", lambda: regression(model="model.pkl"), "model", "str.*wanted a fitted model"),
    Bad(
        "model that only transforms",
        lambda: regression(model=StandardScaler().fit(X)),
        "model",
        "StandardScaler.*no predict|StandardScaler.*predict",
        cs.ModelError,
    ),
    Bad(
        "model returns too few rows",
        lambda: regression(model=returning(lambda v: v[:-1])),
        "model",
        r"shape \(11,\) from model for 12 rows",
        cs.ModelError,
    ),
    Bad(
        "model returns too many rows",
        lambda: regression(model=returning(lambda v: np.append(v, 0))),
        "model",
        r"shape \(13,\)",
        cs.ModelError,
    ),
    Bad("model returns a scalar", lambda: regression(model=returning(np.mean)), "model", r"shape \(\)", cs.ModelError),
    Bad(
        "model returns one row",
        lambda: regression(model=returning(lambda v: v[None])),
        "model",
        r"shape \(1, 12\)",
        cs.ModelError,
    ),
    Bad(
        "model returns None",
        lambda: regression(model=returning(lambda v: None)),
        "model",
        r"outputs of shape \(\) from model for 12 rows",
        cs.ModelError,
    ),
    Bad(
        "model returns nothing for each row",
        lambda: regression(model=returning(lambda v: np.empty((len(v), 0)))),
        "model",
        r"shape \(12, 0\)",
        cs.ModelError,
    ),
    Bad(
        "model returns three dimensions",
        lambda: regression(model=returning(lambda v: np.ones((len(v), 2, 2)))),
        "model",
        r"shape \(12, 2, 2\)",
        cs.ModelError,
    ),
    Bad(
        "model returns words",
        lambda: classification(model=lambda Z: np.where(f(Z) > 0, "yes", "no"), y=WORD),
        "model",
        "not numbers.*Try as_predictor",
        cs.ModelError,
    ),
    Bad(
        "model returns a mapping",
        lambda: regression(model=lambda Z: {"predictions": f(Z)}),
        "model",
        "not numbers",
        cs.ModelError,
    ),
    Bad(
        "model returns NaN",
        lambda: regression(model=returning(lambda v: np.where(v > 0, np.nan, v))),
        "model",
        "NaN or infinity from model for",
        cs.ModelError,
    ),
    Bad(
        "model returns infinity",
        lambda: regression(model=returning(lambda v: np.where(v > 0, np.inf, v))),
        "model",
        "NaN or infinity",
        cs.ModelError,
    ),
    Bad(
        "model returns NaN on hybrid rows alone",
        lambda: regression(model=on_hybrids(f, lambda v: v * np.nan)),
        "model",
        "NaN or infinity",
        cs.ModelError,
    ),
    Bad(
        "model returns complex numbers",
        lambda: regression(model=returning(lambda v: v + 1j)),
        "model",
        "complex",
        cs.ModelError,
    ),
    Bad(
        "model returns ragged rows",
        lambda: regression(model=returning(lambda v: [[1.0], *[[1.0, 2.0]] * (len(v) - 1)])),
        "model",
        "not numbers",
        cs.ModelError,
    ),
    Bad(
        "model raises",
        lambda: regression(model=failing),
        "model",
        "OSError from failing: the model server is gone",
        cs.ModelError,
    ),
    Bad(
        "model takes other columns",
        lambda: regression(model=lambda Z: Z @ np.ones(5)),
        "model",
        "ValueError from",
        cs.ModelError,
    ),
    Bad(
        "logits where probabilities are needed",
        lambda: classification(model=f, loss="cross entropy"),
        "model",
        'outputs from .*; wanted class probabilities.*Try as_predictor.*output="softmax" or "sigmoid"',
        cs.ModelError,
    ),
    Bad(
        "two logits where probabilities are needed",
        lambda: classification(model=lambda Z: np.column_stack([f(Z), -f(Z)])),
        "model",
        "outputs from .*softmax",
        cs.ModelError,
    ),
    Bad(
        "labels where probabilities are needed",
        lambda: classification(model=returning(lambda v: (v > 0).astype(int)), loss="cross entropy"),
        "model",
        'all 0 or 1, as labels.*Try .*loss="zero one"',
        cs.ModelError,
    ),
    Bad(
        "labels 1 and 2 where probabilities are needed",
        lambda: classification(model=returning(lambda v: 1 + (v > 0)), loss="cross entropy"),
        "model",
        "outputs from 1 to 2",
        cs.ModelError,
    ),
    Bad(
        "probabilities that do not add up on some rows",
        lambda: classification(model=lambda Z: probabilities(Z) * np.where(Z[:, :1] > 0, 0.9, 1)),
        "model",
        "of 12 rows of outputs that do not add up to one",
        cs.ModelError,
    ),
    Bad(
        "probabilities that do not add up on hybrid rows alone",
        lambda: classification(model=on_hybrids(probabilities, lambda v: 0.9 * v)),
        "model",
        "do not add up to one",
        cs.ModelError,
    ),
    Bad(
        "probabilities above one on hybrid rows alone",
        lambda: classification(model=on_hybrids(probability, lambda v: v + 1)),
        "model",
        r"outputs from .* to 1\.\d+",
        cs.ModelError,
    ),
]


@params(GOOD_MODELS)
def test_models_of_any_kind_have_the_brute_force_value(case):
    check_value(case)


@params(BAD_MODELS)
def test_models_that_fail_are_named(case):
    check_error(case)


# ---------------------------------------------------------------------------------------------------------------------
# Settings

WEIGHTS = RNG.random(12)
MASS = RNG.random(6)
ONE_ROW = np.eye(12)[4]


def sampled(**changes: Any) -> Any:
    """A run by sampling, short."""
    return regression(**{"method": "permutation", "budget": 20_000, "rng": 0, **changes})


def grouped(groups: Any, **changes: Any) -> Callable[[], Any]:
    return lambda: regression(groups=groups, **changes)


TRUTH_PAIR = brute_force(f, squared, X, Y, B, groups=[[0, 2], [1]])

GOOD_SETTINGS = [
    Good("weights", lambda: regression(sample_weight=WEIGHTS), brute_force(f, squared, X, Y, B, weights=WEIGHTS)),
    Good(
        "weights as a list",
        lambda: regression(sample_weight=WEIGHTS.tolist()),
        brute_force(f, squared, X, Y, B, weights=WEIGHTS),
    ),
    Good(
        "weights as a column",
        lambda: regression(sample_weight=WEIGHTS[:, None]),
        brute_force(f, squared, X, Y, B, weights=WEIGHTS),
    ),
    Good(
        "weights as whole numbers",
        lambda: regression(sample_weight=np.arange(12)),
        brute_force(f, squared, X, Y, B, weights=np.arange(12)),
    ),
    Good(
        "weights as a Series with the index of X",
        lambda: regression(X=FRAME.loc[SHUFFLED], y=Y[SHUFFLED], sample_weight=series(WEIGHTS, SHUFFLED)),
        brute_force(f, squared, X, Y, B, weights=WEIGHTS),
    ),
    Good(
        "weights so huge that they overflow",
        lambda: regression(sample_weight=WEIGHTS * 1e308),
        brute_force(f, squared, X, Y, B, weights=WEIGHTS),
    ),
    Good(
        "weights so small that they vanish",
        lambda: regression(sample_weight=WEIGHTS * 1e-300),
        brute_force(f, squared, X, Y, B, weights=WEIGHTS),
    ),
    Good(
        "weight on one row alone", lambda: regression(sample_weight=ONE_ROW), brute_force(f, squared, X[4:5], Y[4:5], B)
    ),
    Good(
        "weights as True and False",
        lambda: regression(sample_weight=ONE_ROW > 0),
        brute_force(f, squared, X[4:5], Y[4:5], B),
    ),
    Good(
        "weights of the background",
        lambda: regression(background=None, removal=cs.Marginal(B, weights=MASS)),
        brute_force(f, squared, X, Y, B, mass=MASS),
    ),
    Good(
        "weight on one background row",
        lambda: regression(background=None, removal=cs.Marginal(B, np.eye(6)[2])),
        brute_force(f, squared, X, Y, B[2:3]),
    ),
    Good("groups by name", grouped({"pair": ["x0", "x2"]}), TRUTH_PAIR),
    Good("groups by number", grouped({"pair": [0, 2]}), TRUTH_PAIR),
    Good("groups by numpy's numbers", grouped({"pair": np.array([0, 2])}), TRUTH_PAIR),
    Good(
        "groups as sets, of names and numbers", grouped({"pair": {"a", 2}}, X=FRAME, background=BACKGROUND), TRUTH_PAIR
    ),
    Good(
        "groups by names that are numbers",
        grouped({"pair": [5, 3]}, X=FRAME.set_axis([5, 4, 3], axis=1), background=B),
        TRUTH_PAIR,
    ),
    Good("groups as tuple and range", grouped({"pair": range(0, 3, 2), "rest": (1,)}), TRUTH_PAIR),
    Good("groups by given names", grouped({"pair": ["u", "w"]}, feature_names=["u", "v", "w"]), TRUTH_PAIR),
    Good(
        "groups by number where the model has another order of columns",
        lambda: regression(model=PIPELINE, X=FRAME[["c", "a", "b"]], background=BACKGROUND, groups={"pair": [0, 1]}),
        brute_force(lambda Z: PIPELINE.predict(pd.DataFrame(Z, columns=NAMES)), squared, X, Y, B, groups=[[2, 0], [1]]),
    ),
    Good("group of all features", grouped({"all": [0, 1, 2]}), [TRUTH.sum()]),
    Good("group of all features, sampled", grouped({"all": [0, 1, 2]}, method="kernel"), [TRUTH.sum()]),
    Good("groups none", grouped({}), TRUTH),
    Good("group named after its only member", grouped({"x1": ["x1"]}), TRUTH),
    Good("group named after a member", grouped({"x0": ["x0", "x2"]}), TRUTH_PAIR),
    Good(
        "feature names beside columns in another order than the model's",
        lambda: regression(
            model=PIPELINE, X=FRAME[["c", "a", "b"]], background=BACKGROUND, feature_names=["u", "v", "w"]
        ),
        brute_force(lambda Z: PIPELINE.predict(pd.DataFrame(Z, columns=NAMES)), squared, X, Y, B)[[2, 0, 1]],
    ),
    Good("loss in another spelling", lambda: regression(loss="Squared_Error"), TRUTH),
    Good("loss as a class", lambda: regression(loss=cs.SquaredError), TRUTH),
    Good("loss as a callable", lambda: regression(loss=lambda y, p: (y - p) ** 2), TRUTH),
    Good(
        "loss as a callable that returns a column", lambda: regression(loss=lambda y, p: ((y - p) ** 2)[:, None]), TRUTH
    ),
    Good(
        "loss as a callable that returns a Series", lambda: regression(loss=lambda y, p: pd.Series((y - p) ** 2)), TRUTH
    ),
    Good(
        "loss as a callable of words",
        lambda: classification(y=WORD, loss=lambda y, p: np.where(y == "yes", -np.log(p), -np.log(1 - p))),
        TRUTH_CLASS,
    ),
    Good(
        "loss in a list beside one that writes into what it gets",
        lambda: regression(loss=[spoiling, "squared error"])[1],
        TRUTH,
    ),
    Good("method in another spelling", lambda: regression(method=" Exact "), TRUTH),
    Good("method as a class", lambda: regression(method=cs.Exact), TRUTH),
    Good("method as an object", lambda: regression(method=cs.Exact()), TRUTH),
    Good("removal in another spelling", lambda: regression(removal="Marginal"), TRUTH),
    Good(
        "removal by given values",
        lambda: regression(background=None, removal=cs.Baseline([1.0, 2.0, 3.0])),
        brute_force(f, squared, X, Y, np.array([[1.0, 2.0, 3.0]])),
    ),
    Good(
        "removal by values with names in another order",
        lambda: regression(X=FRAME, background=None, removal=cs.Baseline({"c": 3, "a": 1, "b": 2})),
        brute_force(f, squared, X, Y, np.array([[1.0, 2.0, 3.0]])),
    ),
    Good(
        "removal by values with names, X without",
        lambda: regression(background=None, removal=cs.Baseline({"x2": 3, "x0": 1, "x1": 2})),
        brute_force(f, squared, X, Y, np.array([[1.0, 2.0, 3.0]])),
    ),
    Good(
        "removal by the mean of whole numbers",
        lambda: regression(X=WHOLE, background=WHOLE, removal="baseline"),
        brute_force(f, squared, WHOLE, Y, WHOLE.mean(axis=0, keepdims=True)),
    ),
    Good(
        "removal by the mean of weighted rows",
        lambda: regression(background=None, removal=cs.Baseline(background=B, weights=MASS)),
        brute_force(f, squared, X, Y, np.average(B, axis=0, weights=MASS)[None]),
    ),
    Good(
        "removal by the median of an even number of rows",
        lambda: regression(background=None, removal=cs.Baseline("median", background=B)),
        brute_force(f, squared, X, Y, np.median(B, axis=0, keepdims=True)),
    ),
    Good(
        "removal by the median with all weight on one row",
        lambda: regression(background=None, removal=cs.Baseline("median", background=B, weights=np.eye(6)[2])),
        brute_force(f, squared, X, Y, B[2:3]),
    ),
    Good(
        "removal by the most frequent word and the means beside it",
        lambda: regression(model=of_words, X=words(X, None), background=words(B, "category"), removal="baseline"),
        brute_force(
            f,
            squared,
            BINARY.astype(float),
            Y,
            np.array([[float((B[:, 0] > 0).mean() > 0.5), B[:, 1].mean(), B[:, 2].mean()]]),
        ),
    ),
    Good(
        "removal by a mean without the missing cells",
        lambda: regression(model=tolerant, background=holed(B, np.nan), removal="baseline"),
        brute_force(tolerant, squared, X, Y, np.nanmean(holed(B, np.nan), axis=0, keepdims=True)),
    ),
    Good(
        "removal by a mean where what is present has no weight",
        lambda: regression(
            model=tolerant,
            background=None,
            removal=cs.Baseline(background=[[np.nan, 1.0, 2.0], [5.0, 3.0, 4.0]], weights=[1, 0]),
        ),
        brute_force(tolerant, squared, X, Y, np.array([[np.nan, 1.0, 2.0]])),
    ),
    Good("budget of exactly what is needed", lambda: regression(budget=12 + 6 + 8 * 12 * 6), TRUTH),
    Good(
        "memory limit of one byte", lambda: regression(background=None, removal=cs.Marginal(B, memory_limit=1)), TRUTH
    ),
]


def spoiling(y: Any, prediction: Any) -> Any:
    losses = (y - prediction) ** 2
    y[:], prediction[:] = 0, 0
    return losses


def of_loss(function: Any) -> Callable[[], Any]:
    return lambda: regression(loss=function)


BAD_SETTINGS = [
    *[
        Bad(f"budget {value!r}", lambda value=value: sampled(budget=value), "budget", "positive number of model rows")
        for value in (0, -1, np.nan, np.inf, True, "many", [10])
    ],
    Bad(
        "budget too small for the ends",
        lambda: sampled(budget=10),
        "budget",
        "10 model rows; wanted at least .* for the ends of the game.*Try",
    ),
    Bad("budget too small for two draws", lambda: sampled(budget=12 + 6 + 23), "budget", "at least 42"),
    Bad(
        "budget too small for the exact method",
        lambda: regression(budget=100),
        "budget",
        "wanted .* for the method 'exact'.*Try method=",
    ),
    *[
        Bad(f"tolerance {value!r}", lambda value=value: sampled(tolerance=value), "tolerance", "share")
        for value in (0, -0.1, 1, 2.5, np.nan, True, "small")
    ],
    *[
        Bad(
            f"deadline {value!r}", lambda value=value: sampled(deadline=value), "deadline", "positive number of seconds"
        )
        for value in (0, -5, np.nan, np.inf, "soon")
    ],
    Bad("no reason to stop", lambda: sampled(tolerance=None, budget=None), "tolerance", "so that the run ends"),
    Bad("stop no rule", lambda: sampled(stop=0.1), "stop", "a rule called with the Estimate"),
    *[
        Bad(f"n_jobs {value!r}", lambda value=value: sampled(n_jobs=value), "n_jobs", "whole number of workers")
        for value in (0, 1.5, True, "all")
    ],
    *[
        Bad(f"rng {value!r}", lambda value=value: sampled(rng=value), "rng", "seed")
        for value in (-1, "seed", 1.5, True)
    ],
    Bad("loss unknown", lambda: regression(loss="sum"), "loss", "'sum'; wanted one of 'squared error'.*callable"),
    Bad("loss None", lambda: regression(loss=None), "loss", "NoneType; wanted a name, a callable"),
    Bad("loss a number", lambda: regression(loss=2), "loss", "int; wanted"),
    Bad(
        "loss returns a scalar",
        of_loss(lambda y, p: np.mean((y - p) ** 2)),
        "loss",
        r"shape \(\).*not reduced.*Try leaving out the mean",
    ),
    Bad("loss returns too few values", of_loss(lambda y, p: (y - p)[1:]), "loss", r"shape \(11,\).*12 examples"),
    Bad("loss returns a table", of_loss(lambda y, p: np.subtract.outer(y, p)), "loss", r"shape \(12, 12\)"),
    Bad(
        "loss returns NaN", of_loss(lambda y, p: np.where(y > 0, np.nan, p)), "loss", "nan from <lambda>; wanted finite"
    ),
    Bad("loss returns infinity", of_loss(lambda y, p: np.where(y > 0, np.inf, 0.0)), "loss", "inf from <lambda>"),
    Bad("loss returns None", of_loss(lambda y, p: None), "loss", r"shape \(\)"),
    Bad("loss returns words", of_loss(lambda y, p: ["far"] * len(y)), "loss", "ValueError from <lambda>"),
    Bad("loss raises", of_loss(lambda y, p: y.no_such_thing), "loss", "AttributeError from <lambda>"),
    Bad("loss takes one argument", of_loss(lambda y: y), "loss", r"TypeError from <lambda>.*\(y_true, y_pred\)"),
    Bad("loss for classes, numbers for y", lambda: regression(model=probability, loss="cross entropy"), "y", "labels"),
    Bad(
        "loss other than squared error without y",
        lambda: regression(y=None, loss="absolute error"),
        "loss",
        "'absolute error' with y=None",
    ),
    Bad("method unknown", lambda: regression(method="magic"), "method", "'magic'; wanted one of 'exact', .*, 'auto'"),
    Bad("method None", lambda: regression(method=None), "method", "NoneType; wanted a name"),
    Bad("method of the wrong type", lambda: regression(method=cs.SquaredError()), "method", "SquaredError"),
    Bad(
        "method exact for too many players",
        lambda: regression(model=lambda Z: Z.sum(axis=1), X=np.ones((2, 30)), y=[30, 31], background=np.zeros((1, 30))),
        "method",
        "30 players.*Try method=",
    ),
    Bad("removal unknown", lambda: regression(removal="magic"), "removal", "'magic'; wanted one of 'marginal'"),
    Bad("removal None", lambda: regression(removal=None, background=None), "removal", "NoneType; wanted a name"),
    Bad("removal a class", lambda: regression(removal=cs.Marginal, background=None), "removal", "the class Marginal"),
    Bad(
        "removal by an unknown statistic",
        lambda: regression(background=None, removal=cs.Baseline("zero")),
        "baseline values",
        '\'zero\'; wanted "mean", "median"',
    ),
    Bad(
        "removal by several rows",
        lambda: regression(background=None, removal=cs.Baseline(B)),
        "baseline values",
        "6 rows; wanted one row.*Try removal=Marginal",
    ),
    Bad(
        "removal by too few values",
        lambda: regression(background=None, removal=cs.Baseline([1.0])),
        "baseline values",
        "1 columns; wanted 3",
    ),
    Bad(
        "removal by values without one",
        lambda: regression(X=FRAME, background=None, removal=cs.Baseline({"a": 1})),
        "baseline values",
        "no 'b', 'c'",
    ),
    Bad(
        "removal by values with other names",
        lambda: regression(background=None, removal=cs.Baseline({"a": 1})),
        "baseline values",
        "values for 'a'; wanted one for each of 'x0', 'x1', 'x2'",
    ),
    Bad(
        "removal by the mean of objects",
        lambda: regression(X=FRAME.astype(object), background=None, removal="baseline"),
        "background",
        "numbers in column 'a'.*numeric column.*Try removal=",
    ),
    Bad(
        "memory limit of nothing",
        lambda: regression(background=None, removal=cs.Marginal(B, memory_limit=0)),
        "memory_limit",
        "positive number of bytes",
    ),
    Bad("groups overlapping", grouped({"u": [0, 1], "v": [1, 2]}), "groups", "'x1' in both 'u' and 'v'"),
    Bad("groups with a member twice", grouped({"u": [0, 0]}), "groups", "'x0' in one group twice"),
    Bad("groups with a member by name and number", grouped({"u": ["x0", 0]}), "groups", "'x0' in one group twice"),
    Bad("groups empty", grouped({"u": []}), "groups", r"\[\] for group 'u'; wanted a list of one or more"),
    Bad("groups out of range", grouped({"u": [0, 3]}), "groups", "column 3 in 'u'; wanted columns 0 to 2"),
    Bad("groups negative", grouped({"u": [-1]}), "groups", "column -1 in 'u'"),
    Bad(
        "groups of an unknown name", grouped({"u": ["x0", "x9"]}), "groups", "'x9' in 'u', which is not a column.*'x0'"
    ),
    Bad(
        "groups of a name in another case",
        lambda: regression(
            X=FRAME.set_axis(["Temp", "Atemp", "c"], axis=1),
            background=BACKGROUND.set_axis(["Temp", "Atemp", "c"], axis=1),
            groups={"t": ["Temp", "atemp"]},
        ),
        "groups",
        r"'atemp' in 't', which is not a column.*Try 'Atemp'\.",
    ),
    Bad("groups of a fraction", grouped({"u": [0.5]}), "groups", "0.5 in 'u', which is not a column"),
    Bad("groups of a truth value", grouped({"u": [True]}), "groups", "True in 'u', which is not a column"),
    Bad("groups a list", grouped([[0, 1], [2]]), "groups", "list; wanted a mapping.*Try"),
    Bad("groups of a string", grouped({"u": "x0"}), "groups", "'x0' for group 'u'; wanted a list"),
    Bad("groups of a number", grouped({"u": 0}), "groups", "0 for group 'u'; wanted a list"),
    Bad("groups of None", grouped({"u": None}), "groups", "None for group 'u'; wanted a list"),
    Bad("group named as a later feature", grouped({"x2": [0, 1]}), "groups", "named 'x2', as a feature outside"),
    Bad("group named as an earlier feature", grouped({"x0": [1, 2]}), "groups", "named 'x0', as a feature outside"),
    Bad("groups with names that look alike", grouped({0: [0], "0": [1]}), "groups", "wanted distinct names"),
    Bad(
        "feature names too few", lambda: regression(feature_names=["u"]), "feature_names", "1 names; wanted.*3 columns"
    ),
    Bad("feature names too many", lambda: regression(feature_names=list("uvwx")), "feature_names", "4 names"),
    Bad(
        "feature names that repeat",
        lambda: regression(feature_names=["u", "v", "u"]),
        "feature_names",
        "'u' more than once; wanted distinct",
    ),
    Bad("feature names a string", lambda: regression(feature_names="abc"), "feature_names", "'abc'; wanted a list"),
    Bad("feature names a set", lambda: regression(feature_names={"u", "v", "w"}), "feature_names", "wanted a list"),
    Bad("feature names a number", lambda: regression(feature_names=3), "feature_names", "3; wanted a list"),
    Bad("weights negative", lambda: regression(sample_weight=-WEIGHTS), "sample_weight", "negative"),
    Bad("weights NaN", lambda: regression(sample_weight=with_hole(WEIGHTS, np.nan)), "sample_weight", "missing"),
    Bad("weights infinite", lambda: regression(sample_weight=with_hole(WEIGHTS, np.inf)), "sample_weight", "infinite"),
    Bad("weights all zero", lambda: regression(sample_weight=np.zeros(12)), "sample_weight", "all zero"),
    Bad("weights too few", lambda: regression(sample_weight=WEIGHTS[1:]), "sample_weight", "11 weights; wanted 12"),
    Bad(
        "weights a number",
        lambda: regression(sample_weight=1.0),
        "sample_weight",
        "float; wanted one entry for each row",
    ),
    Bad("weights words", lambda: regression(sample_weight=WORD), "sample_weight", "not numbers"),
    Bad(
        "weights shuffled",
        lambda: regression(X=FRAME, sample_weight=series(WEIGHTS, SHUFFLED)),
        "sample_weight",
        r"index that disagrees.*Try .loc\[X.index\]",
    ),
    Bad("weights without y", lambda: regression(y=None, sample_weight=WEIGHTS[1:]), "sample_weight", "11 weights"),
    Bad(
        "weights of the background, too few",
        lambda: regression(background=None, removal=cs.Marginal(B, weights=MASS[1:])),
        "background weights",
        "5 weights; wanted 6",
    ),
    Bad(
        "weights of the background, all zero",
        lambda: regression(background=None, removal=cs.Marginal(B, weights=np.zeros(6))),
        "background weights",
        "all zero",
    ),
    Bad(
        "weights of the background, shuffled",
        lambda: regression(background=None, removal=cs.Marginal(BACKGROUND, pd.Series(MASS, index=range(5, -1, -1)))),
        "background weights",
        r"index of background.*Try .loc\[background.index\]",
    ),
    Bad(
        "weights dates",
        lambda: regression(sample_weight=pd.date_range("2020", periods=12)),
        "sample_weight",
        "datetime64",
    ),
    Bad("weights with a hole", lambda: regression(sample_weight=with_hole(WEIGHTS, None)), "sample_weight", "missing"),
    Bad(
        "removal with a seed that is none",
        lambda: regression(background=None, removal=cs.ProductOfMarginals(B, rng="seed")),
        "rng",
        "'seed'; wanted a seed",
    ),
    Bad(
        "deadline too short for the exact method",
        lambda: regression(X=np.tile(X, (4000, 1)), y=np.tile(Y, 4000), deadline=1e-9),
        "deadline",
        "(more time|about .* s) for exact values.*Try method=",
    ),
    Bad(
        "weights of the background, negative",
        lambda: regression(background=None, removal=cs.Marginal(B, weights=-MASS)),
        "background weights",
        "negative",
    ),
]


@params(GOOD_SETTINGS)
def test_settings_of_any_kind_have_the_brute_force_value(case):
    check_value(case)


@params(BAD_SETTINGS)
def test_settings_that_make_no_sense_are_named(case):
    check_error(case)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 2e4},
        {"budget": np.int64(20_000)},
        {"tolerance": None},
        {"tolerance": np.float32(0.5)},
        {"rng": np.int64(3)},
        {"rng": np.random.default_rng(3)},
        {"rng": np.random.SeedSequence(3)},
        {"n_jobs": 1},
        {"deadline": 30},
        {"deadline": 1e-9},
        {"stop": [cs.Budget(10_000)]},
        {"method": cs.Kernel},
        {"method": "kernel"},
        {"progress": False},
    ],
    ids=lambda options: " ".join(f"{name} {type(value).__name__}" for name, value in options.items()),
)
def test_settings_of_any_kind_lead_to_an_estimate_near_the_truth(options, seed):
    explanation = sampled(**{"rng": seed, **options})
    assert np.abs(explanation.values - TRUTH).max() <= 6 * explanation.std_error.max()
    assert explanation.model_rows <= 20_000
    assert 0 < explanation.std_error.max() < np.abs(TRUTH).max()


# ---------------------------------------------------------------------------------------------------------------------
# Degenerate games

METHODS = ["auto", "exact", "permutation", "kernel"]
NOTHING = (cs.StopReason.NO_EFFECT, cs.StopReason.EXACT)
MANY, MANY_B = RNG.normal(size=(400, 4)), RNG.normal(size=(20, 4))


def constant(Z: Any) -> Any:
    return np.full(len(Z), 0.3)


def counted(model: Any) -> tuple[Callable[[Any], Any], Counter]:
    """The model, and a count of the rows it is asked for."""
    rows: Counter = Counter()

    def counting(Z: Any) -> Any:
        rows["seen"] += len(Z)
        return model(Z)

    return counting, rows


@pytest.mark.parametrize("loss", ["squared error", "absolute error", "cross entropy", "brier"])
@pytest.mark.parametrize("method", METHODS)
def test_a_constant_model_has_zeros_at_once(method, loss, seed):
    model, rows = counted(constant)
    explanation = cs.sage(model, MANY, np.resize([0, 1], 400), background=MANY_B, method=method, loss=loss, rng=seed)
    assert np.array_equal(explanation.values, np.zeros(4))
    assert np.array_equal(explanation.std_error, np.zeros(4))
    assert explanation.stopped in NOTHING
    assert rows["seen"] < 200_000


def test_a_constant_classifier_of_one_class_has_zeros(seed):
    explanation = cs.sage(
        lambda Z: np.tile([0.0, 1.0], (len(Z), 1)), MANY, np.ones(400, int), background=MANY_B, rng=seed
    )
    assert np.array_equal(explanation.values, np.zeros(4))
    assert explanation.total == 0


def test_a_constant_model_has_no_shapley_effects(seed):
    explanation = cs.sage(constant, MANY, background=MANY_B, rng=seed)
    assert np.array_equal(explanation.values, np.zeros(4))


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_never_sees_a_change_has_zeros_at_once(method, seed):
    same = np.tile(X[:1], (50, 1))
    explanation = cs.sage(f, same, np.arange(50.0), background=same, method=method, rng=seed)
    assert np.allclose(explanation.values, 0, atol=1e-12)
    assert explanation.stopped in NOTHING


@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_a_perfect_model_brings_all_there_is(method, seed):
    explanation = cs.sage(f, X, f(X), background=B, method=method, rng=seed)
    truth = brute_force(f, squared, X, f(X), B)
    assert explanation.total == pytest.approx(np.mean((f(X) - f(B).mean()) ** 2))
    assert explanation.base == pytest.approx(explanation.total)
    assert np.abs(explanation.values - truth).max() <= 6 * explanation.std_error.max()


@pytest.mark.parametrize("method", METHODS)
def test_one_feature_has_all_of_the_power(method, seed):
    def tanh(Z: Any) -> Any:
        return np.tanh(Z[:, 0])

    explanation = cs.sage(tanh, X[:, :1], Y, background=B[:, :1], method=method, rng=seed)
    assert explanation.values == pytest.approx(brute_force(tanh, squared, X[:, :1], Y, B[:, :1]), abs=1e-12)
    assert explanation.converged


@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_one_row_converges_to_its_own_values(method, seed):
    explanation = cs.sage(f, X[:1], Y[:1], background=B, method=method, rng=seed)
    assert explanation.converged
    assert np.abs(explanation.values - brute_force(f, squared, X[:1], Y[:1], B)).max() < 6 * explanation.std_error.max()


@pytest.mark.parametrize("copies", [[0, 0, 1], [1, 2, 2], [0, 0, 0]])
def test_features_that_play_the_same_part_have_equal_values(copies):
    twins, twins_b = X[:, copies], B[:, copies]

    def model(Z: Any) -> Any:
        return np.prod(Z, axis=1) + np.tanh(Z).sum(axis=1)

    values = cs.sage(model, twins, Y, background=twins_b, method="exact").values
    assert values == pytest.approx(brute_force(model, squared, twins, Y, twins_b), abs=1e-12)
    for one, other in combinations(range(3), 2):
        if copies[one] == copies[other]:
            assert values[one] == pytest.approx(values[other], abs=1e-12)


@pytest.mark.parametrize("ignored", [0, 1, 2, 3])
@pytest.mark.parametrize("loss", ["squared error", "absolute error"])
def test_an_ignored_feature_is_worth_exactly_nothing(ignored, loss):
    used = [j for j in range(4) if j != ignored]
    explanation = cs.sage(
        lambda Z: f(Z[:, used]), MANY[:40], MANY[:40, 0], background=MANY_B, method="exact", loss=loss
    )
    assert explanation.values[ignored] == 0
    assert np.abs(explanation.values).max() > 0


@pytest.mark.parametrize("method", ["permutation", "kernel"])
@pytest.mark.parametrize("features", [2, 3, 6])
def test_features_of_equal_importance_end_with_default_settings(method, features, seed):
    rows = np.random.default_rng(0).choice([-1.0, 1.0], size=(200, features))
    explanation = cs.sage(
        lambda Z: Z.sum(axis=1), rows, rows.sum(axis=1), background=rows[:50], method=method, rng=seed
    )
    assert explanation.converged
    assert explanation.values.sum() == pytest.approx(explanation.total, abs=6 * features * explanation.std_error.max())


@pytest.mark.parametrize("seed_of_run", range(4))
@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_one_row_of_400_that_carries_everything_is_not_missed(method, seed_of_run, seed):
    rows = MANY.copy()
    rows[123, 0] = 1000.0

    def rare(Z: Any) -> Any:
        return np.where(Z[:, 0] > 500, 50.0, 0.0) + 0.1 * Z[:, 1]

    y = rare(rows)
    truth = cs.sage(rare, rows, y, background=MANY_B[:5], method="exact").values
    assert truth[0] > 6
    explanation = cs.sage(rare, rows, y, background=MANY_B[:5], method=method, rng=100 * seed + seed_of_run)
    assert explanation.converged
    low, high = explanation.interval(0.9999, joint=True)
    assert np.all((low <= truth) & (truth <= high))


def test_all_weight_on_one_row_is_the_game_of_that_row(seed):
    weighted = cs.sage(f, X, Y, background=B, sample_weight=ONE_ROW, method="permutation", rng=seed)
    truth = brute_force(f, squared, X[4:5], Y[4:5], B)
    assert weighted.converged
    assert np.abs(weighted.values - truth).max() <= 6 * weighted.std_error.max()


def test_a_row_of_no_weight_may_have_any_response():
    wild = np.where(ONE_ROW > 0, 1e6, Y)
    assert regression(y=wild, sample_weight=1 - ONE_ROW).values == pytest.approx(
        brute_force(f, squared, X, Y, B, weights=1 - ONE_ROW), abs=1e-9
    )


# ---------------------------------------------------------------------------------------------------------------------
# Models that break off, and models that are not deterministic


def breaking_off(error: BaseException, after: int) -> Callable[[Any], Any]:
    """f, until it has been asked for so many rows; then the error."""
    model, rows = counted(f)

    def run(Z: Any) -> Any:
        if rows["seen"] > after:
            raise error
        return model(Z)

    return run


@pytest.mark.parametrize("method", ["permutation", "kernel"])
@pytest.mark.parametrize("error", [OSError("gone"), ValueError("bad row"), MemoryError(), ZeroDivisionError("by 0")])
def test_a_model_that_raises_in_the_middle_leaves_the_estimate_so_far(method, error, seed):
    with pytest.raises(cs.RunFailedError, match=type(error).__name__) as caught:
        cs.sage(
            breaking_off(error, 2_000_000),
            MANY[:, :3],
            MANY[:, 3],
            background=MANY_B[:, :3],
            method=method,
            rng=seed,
            tolerance=0.0005,
        )
    partial = caught.value.partial
    assert isinstance(partial, cs.Explanation)
    assert partial.stopped is cs.StopReason.FAILED
    assert not partial.converged
    assert isinstance(caught.value.__cause__, cs.ModelError)
    assert caught.value.__cause__.__cause__ is error
    truth = cs.sage(f, MANY[:, :3], MANY[:, 3], background=MANY_B[:, :3], method="exact").values
    assert np.abs(partial.values - truth).max() <= 6 * partial.std_error.max()
    assert "failed" in str(partial)


@pytest.mark.parametrize("method", ["permutation", "kernel"])
def test_ctrl_c_in_the_middle_returns_the_estimate_so_far(method, seed):
    explanation = cs.sage(
        breaking_off(KeyboardInterrupt(), 2_000_000),
        MANY[:, :3],
        MANY[:, 3],
        background=MANY_B[:, :3],
        method=method,
        rng=seed,
        tolerance=0.0005,
    )
    assert explanation.stopped is cs.StopReason.INTERRUPTED
    assert not explanation.converged
    truth = cs.sage(f, MANY[:, :3], MANY[:, 3], background=MANY_B[:, :3], method="exact").values
    assert np.abs(explanation.values - truth).max() <= 6 * explanation.std_error.max()


@pytest.mark.parametrize("error", [OSError("gone"), KeyboardInterrupt()])
@pytest.mark.parametrize("method", ["exact", "permutation"])
def test_a_model_that_breaks_off_at_once_leaves_nothing(method, error):
    wanted = cs.ModelError if isinstance(error, Exception) else KeyboardInterrupt
    with pytest.raises(wanted) as caught:
        cs.sage(breaking_off(error, 0), X, Y, background=B, method=method)
    assert not isinstance(caught.value, cs.RunFailedError)


@pytest.mark.parametrize("method", METHODS)
def test_a_model_that_is_not_deterministic_ends_near_its_mean(method, seed):
    noise = np.random.default_rng(0)
    explanation = cs.sage(
        lambda Z: f(Z) + noise.normal(scale=1e-3, size=len(Z)), X, Y, background=B, method=method, rng=seed
    )
    assert explanation.converged
    assert np.abs(explanation.values - TRUTH).max() <= 6 * explanation.std_error.max() + 0.01


def test_a_random_model_ends_at_the_budget(seed):
    noise = np.random.default_rng(0)
    explanation = cs.sage(
        lambda Z: noise.normal(size=len(Z)), X, Y, background=B, method="permutation", rng=seed, budget=50_000
    )
    assert np.isfinite(explanation.values).all()
    assert explanation.model_rows <= 50_000


def test_inputs_are_left_as_they_were():
    frame, background, y = FRAME.copy(), BACKGROUND.copy(), Y.copy()
    cs.sage(writes, frame, y, background=background, method="exact", loss=spoiling)
    pd.testing.assert_frame_equal(frame, FRAME)
    pd.testing.assert_frame_equal(background, BACKGROUND)
    assert np.array_equal(y, Y)


def test_the_tables_hold_enough_cases_of_each_kind():
    tables = {
        "y": (GOOD_Y, BAD_Y),
        "X": (GOOD_X, BAD_X),
        "model": (GOOD_MODELS, BAD_MODELS),
        "settings": (GOOD_SETTINGS, BAD_SETTINGS),
    }
    names = [case.name for pair in tables.values() for cases in pair for case in cases]
    assert len(names) >= 250
    assert len(set(names)) == len(names)
    assert all(len(cases) >= 20 for pair in tables.values() for cases in pair)


def test_players_of_a_clash_are_never_merged():
    with pytest.raises(cs.InputError, match="named 'a', as a feature outside"):
        Players.of(["a", "b", "c"], {"a": ["b", "c"]})


@pytest.mark.parametrize(
    ("option", "typed", "near"),
    [("removal", "neighbors", "neighbours"), ("loss", "cross_entrpy", "cross entropy"), ("method", "kernal", "kernel")],
)
def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(option, typed, near):
    with pytest.raises(cs.InputError, match=f"Try '{near}'"):
        regression(**{option: typed})


TOWNS = pd.DataFrame({"n": np.arange(30.0), "Day": ["Monday", "Friday", "Sunday"] * 10, "Town": ["Ulm", "Bonn"] * 15})
NUMBERS_OF_TOWNS = TOWNS.assign(Day=1.0, Town=0.0)


@pytest.mark.parametrize("library", ["pandas", "categories", "numpy", "polars", "pyarrow"])
def test_a_model_that_takes_no_text_is_told_which_columns_hold_it(library):
    if library in ("polars", "pyarrow"):
        pytest.importorskip(library)
    model = LinearRegression().fit(NUMBERS_OF_TOWNS.to_numpy(), TOWNS["n"])
    convert = {
        "pandas": lambda table: table,
        "categories": lambda table: table.astype({"Day": "category", "Town": "category"}),
        "numpy": lambda table: table.to_numpy(dtype=object),
        "polars": lambda table: importlib.import_module("polars").from_pandas(table),
        "pyarrow": lambda table: importlib.import_module("pyarrow").Table.from_pandas(table),
    }[library]
    names = "'x1', 'x2'" if library == "numpy" else "'Day', 'Town'"
    with pytest.raises(
        cs.InputError,
        match=f"^X or background: got text in the columns {names}, which LinearRegression "
        r"does not accept \(.*\); wanted numbers. Try a pipeline that encodes text\.$",
    ):
        cs.sage(model, convert(TOWNS), TOWNS["n"].to_numpy(), rng=0)


def test_a_pipeline_is_told_which_column_of_text_it_does_not_encode():
    encoder = ColumnTransformer([("town", OneHotEncoder(), ["Town"])], remainder="passthrough")
    model = make_pipeline(encoder, LinearRegression()).fit(TOWNS.assign(Day=1.0), TOWNS["n"])
    with pytest.raises(cs.InputError, match="got text in the column 'Day', which Pipeline does not accept"):
        cs.sage(model, TOWNS, TOWNS["n"], rng=0)


def test_another_error_of_a_model_with_columns_of_text_does_not_blame_them():
    def fails(table):
        raise ValueError("no such day")

    with pytest.raises(cs.InputError, match=r"^model: got ValueError from fails: no such day; wanted predictions"):
        cs.sage(fails, TOWNS, TOWNS["n"], rng=0)
