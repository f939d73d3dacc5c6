"""Bitwise comparison of results between a base commit and the work tree, as a test of refactorings.

    make same-bits BASE=<commit>
    python benchmarks/same_bits.py --base HEAD~3
    python benchmarks/same_bits.py --base HEAD --only removal --keep digests
    python benchmarks/same_bits.py --list

The base commit is checked out beside the work tree, in a temporary folder that is removed afterwards. Each tree runs
all cases in a separate process, one tree after the other, with the same interpreter, data and seeds; models are
fitted in each process, with one thread. Cases use public names only. They cover methods, removals, losses, models,
tables, groups, weights, workers, checkpoints and all measures, on few rows each; not every combination of these.

Of a result every number, truth value and name of a feature is compared, as exact bits; times, versions and sentences
are not. Kernels are compiled anew in each tree, since kernels that numba has kept do not notice a constant that changed
in another file. The exit code is 1 if a case differs or fails in the work tree, or if none could be compared, and 2 if
there is no such base commit, or no such case. A case whose library is not installed is skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import clarysage as cs

ROOT = Path(__file__).resolve().parent.parent
SEED = 20  # of all data
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
SHOWN = 3  # fields that a line names
ABSENT = ("MissingLibraryError", "ModuleNotFoundError", "ImportError")  # errors of a case whose library is not there
OF_EXPLANATION = (
    "feature_names",
    "groups",
    "values",
    "std_error",
    "covariance",
    "dof",
    "targets",
    "per_example",
    "per_example_error",
    "parts",
    "parts_weight",
    "parts_error",
    "trace",
    "constant",
    "total",
    "base",
    "model_rows",
    "draws",
    "fits",
    "looks",
    "confidence",
    "converged",
)
OF_OTHERS: dict[type, tuple[str, ...]] = {  # attributes, whatever layout files have
    cs.Comparison: ("explanations", "differences", "level", "changed", "flags", "order", "p_values", "interval"),
    cs.Monitoring: (
        "comparison",
        "shifts",
        "flagged",
        "shifted",
        "losses",
        "rows",
        "shift_p_values",
        "is_in_order",
        "to_frame",
    ),
    cs.Importances: ("explanations", "traits", "order", "shares", "ranks"),
    cs.Interactions: ("pairs", "explanation", "sage", "unexplained", "unexplained_error", "matrix", "interval"),
    cs.Agreement: (
        "subsets",
        "u",
        "v",
        "std_error",
        "weights",
        "is_complete",
        "is_in_units",
        "correlation",
        "r2",
        "interval",
        "model_rows",
        "fits",
        "seed",
    ),
    cs.RemovalQuality: ("names", "scores", "covariance", "variance", "model_rows", "rows", "coalitions"),
}
NAMES = {"feature_names", "groups", "pairs", "feature", "column", "changed", "flagged", "shifted", "top"}
FORMER_NAMES = {"explanation": "found"}  # of attributes, in base commits that do not have the name
LEFT_OUT = {"provenance", "version", "versions", "commit", "seconds", "elapsed"}  # times and versions

Case = Callable[[], Any]
CASES: dict[str, Case] = {}


# What is compared


def flatten(value: Any) -> dict[str, str]:
    """Every number, truth value and name of a feature in a result, as exact text by its path.

    >>> flatten({"values": np.array([0.5, 2.0]), "headline": "Two features help.", "draws": 3})
    {'values[0]': '0x1.0000000000000p-1', 'values[1]': '0x1.0000000000000p+1', 'draws': '3'}
    """
    return dict(_leaves(value, "", is_name=False))


def _leaves(value: Any, path: str, *, is_name: bool) -> Iterator[tuple[str, str]]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        yield path, str(value)
    elif isinstance(value, float):
        yield path, value.hex()
    elif isinstance(value, str):
        if is_name:
            yield path, repr(value)
    elif isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            yield from _leaves(part, f"{path}[{index}]", is_name=is_name)
    elif isinstance(value, (set, frozenset)):
        yield from _leaves(sorted(value), path, is_name=is_name)
    elif isinstance(value, Enum):
        return
    else:
        for key, part in _members(value).items():
            if key not in LEFT_OUT:
                within = f"{path}.{key}" if path else str(key)
                yield from _leaves(part, within, is_name=is_name or key in NAMES)


def _members(value: Any) -> Mapping[Any, Any]:
    """Returns the parts of an object; raises TypeError for unknown objects, so that none is skipped silently."""
    if isinstance(value, cs.Explanation):
        return {name: getattr(value, name, None) for name in OF_EXPLANATION}
    for kind, names in OF_OTHERS.items():
        if isinstance(value, kind):
            parts = {name: getattr(value, name if hasattr(value, name) else FORMER_NAMES[name]) for name in names}
            return {name: part() if callable(part) else part for name, part in parts.items()}
    if hasattr(value, "to_dict"):  # data frames
        return dict(value.to_dict())
    if isinstance(value, Mapping):
        return value
    if is_dataclass(value):
        return {part.name: getattr(value, part.name) for part in fields(value)}
    raise TypeError(f"there is no digest of {type(value).__name__}")


# Data and models


@dataclass(frozen=True)
class Data:
    """Examples to explain a model on, background rows, and rows that models are fitted on."""

    X: Any
    y: Any
    background: Any
    train: Any
    train_y: Any

    @classmethod
    def split(cls, X: Any, y: Any, examples: int, background: int) -> Data:
        end = examples + background
        return cls(X[:examples], y[:examples], X[examples:end], X[end:], y[end:])

    @property
    def weights(self) -> np.ndarray:
        """Weights of the examples, some of them zero."""
        drawn = np.random.default_rng(SEED + 9).gamma(2.0, size=len(self.y))
        return np.where(np.arange(len(drawn)) % 10 == 3, 0.0, drawn)


def curve(X: np.ndarray) -> np.ndarray:
    """A model that is a plain function of five columns, with an interaction and a column that it does not look at."""
    return np.asarray(2 * X[:, 0] + X[:, 1] * X[:, 2] + np.tanh(2 * X[:, 3]))


def odds(X: np.ndarray) -> np.ndarray:
    """Probabilities of three classes, as a plain function of five columns."""
    scores = np.exp(np.column_stack([X[:, 0] + X[:, 1], X[:, 2] - X[:, 0], 0.5 * X[:, 3] * X[:, 1]]))
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def _columns(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Five columns, of which the first three are correlated."""
    shared = rng.normal(size=(rows, 1))
    return np.asarray(rng.normal(size=(rows, 5)) + shared * np.array([1.0, 0.8, 0.5, 0.0, 0.0]))


@cache
def regression() -> Data:
    rng = np.random.default_rng(SEED)
    X = _columns(350, rng)
    return Data.split(X, curve(X) + rng.normal(size=len(X)), 90, 40)


def waves(X: np.ndarray) -> np.ndarray:
    """A plain function of twelve columns, whose effects fall off from the first to the last."""
    return np.asarray(np.sin(X) @ np.linspace(2, 0, X.shape[1]) + X[:, 0] * X[:, 1])


@cache
def wide() -> Data:
    """More columns than have all their subsets looked at."""
    rng = np.random.default_rng(SEED + 7)
    X = rng.normal(size=(600, 12)) + 0.5 * rng.normal(size=(600, 1))
    return Data.split(X, waves(X) + rng.normal(size=len(X)), 250, 50)


@cache
def classes() -> Data:
    rng = np.random.default_rng(SEED + 1)
    X = _columns(350, rng)
    return Data.split(X, (odds(X).cumsum(axis=1) < rng.random((len(X), 1))).sum(axis=1), 90, 40)


def customers(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """A mixed table with missing cells, and two responses: a price, and whether a customer stays."""
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 9, rows).round(1),
            "income": rng.gamma(3.0, 1.0, rows),
            "city": pd.Categorical(rng.choice(["Bern", "Graz", "Lyon"], rows, p=[0.5, 0.3, 0.2])),
            "plan": rng.choice(["basic", "full"], rows),
            "member": rng.random(rows) < 0.4,
        }
    )
    effect = table["city"].map({"Bern": 0.0, "Graz": 1.0, "Lyon": -1.5}).astype(float)
    price = 0.1 * table["age"] + table["income"] + effect + 1.5 * (table["plan"] == "full") * table["member"]
    stays = np.where(rng.random(rows) < 1 / (1 + np.exp(6 - price)), "yes", "no")
    table.loc[rng.random(rows) < 0.1, "age"] = np.nan
    table.loc[rng.random(rows) < 0.1, "city"] = None
    return table.assign(price=price + rng.normal(size=rows), stays=stays)


@cache
def mixed(response: str = "price") -> Data:
    """The mixed table, with one of its responses."""
    table = customers(350, np.random.default_rng(SEED + 2))
    X, y = table.drop(columns=["price", "stays"]), table[response]
    parts = [part.reset_index(drop=True) for part in (X[:90], y[:90], X[90:130], X[130:], y[130:])]
    return Data(*parts)


@cache
def pipeline(kind: str = "price") -> Any:
    """A pipeline that fills in missing cells and encodes categories."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "income"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "plan"]),
        ("passthrough", ["member"]),
    )
    last = LogisticRegression() if kind == "stays" else RandomForestRegressor(8, max_depth=4, random_state=0)
    data = mixed(kind)
    return make_pipeline(columns, last).fit(data.train, data.train_y)


def _linear() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression()


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def _scaled_ridge() -> Any:
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), Ridge())


def _forest(kind: str) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"RandomForest{kind}")(8, max_depth=4, random_state=0)


def _boosting(kind: str) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, f"HistGradientBoosting{kind}")(max_iter=12, max_depth=3, random_state=0)


def _network(kind: str) -> Any:
    from sklearn import neural_network

    return getattr(neural_network, f"MLP{kind}")(hidden_layer_sizes=(8,), max_iter=60, random_state=0)


def _voter() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=0)


def _xgboost(kind: str) -> Any:
    import xgboost

    return getattr(xgboost, f"XGB{kind}")(n_estimators=10, max_depth=3, n_jobs=1, random_state=0)


def _lightgbm(kind: str) -> Any:
    import lightgbm

    return getattr(lightgbm, f"LGBM{kind}")(n_estimators=10, max_depth=3, n_jobs=1, random_state=0, verbose=-1)


def _catboost(kind: str) -> Any:
    import catboost

    learner = getattr(catboost, f"CatBoost{kind}")
    return learner(iterations=10, depth=3, thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


def _nearest() -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(5)


LEARNERS: dict[str, tuple[Callable[[], Data], Callable[[], Any]]] = {
    "linear": (regression, _linear),
    "scaled ridge": (regression, _scaled_ridge),
    "logistic": (classes, _logistic),
    "forest": (regression, partial(_forest, "Regressor")),
    "forest of classes": (classes, partial(_forest, "Classifier")),
    "boosting": (regression, partial(_boosting, "Regressor")),
    "boosting of classes": (classes, partial(_boosting, "Classifier")),
    "network": (regression, partial(_network, "Regressor")),
    "network of classes": (classes, partial(_network, "Classifier")),
    "nearest neighbours": (regression, _nearest),
    "votes alone": (classes, _voter),
    "xgboost": (regression, partial(_xgboost, "Regressor")),
    "xgboost of classes": (classes, partial(_xgboost, "Classifier")),
    "lightgbm": (regression, partial(_lightgbm, "Regressor")),
    "lightgbm of classes": (classes, partial(_lightgbm, "Classifier")),
    "catboost": (regression, partial(_catboost, "Regressor")),
    "catboost of classes": (classes, partial(_catboost, "Classifier")),
}


@cache
def fitted(name: str) -> Any:
    data, learner = LEARNERS[name]
    return learner().fit(data().train, data().train_y)


@cache
def module() -> Any:
    """A small network of PyTorch, with weights as they were drawn."""
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)
    layers = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    return layers.double().eval()


# Cases


def case(name: str) -> Callable[[Case], Case]:
    """Registers a function without arguments under the name of its case."""

    def register(function: Case) -> Case:
        assert name not in CASES, name
        CASES[name] = function
        return function

    return register


def each(template: str, names: Any) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    """Registers one case for each name, which the function gets."""

    def register(function: Callable[[str], Any]) -> Callable[[str], Any]:
        for name in names:
            case(template.format(name))(partial(function, name))
        return function

    return register


METHODS = ("auto", "exact", "paired walks", "permutation", "kernel", "surrogate walks")
REMOVALS = (
    "marginal",
    "product of marginals",
    "baseline",
    "gaussian",
    "copula",
    "neighbours",
    "trees",
    "surrogate",
    "auto conditional",
)
MEASURES = (
    "sage",
    "shapley effects",
    "mean loss shap",
    "shapley net effects",
    "feature ablation",
    "permutation test",
    "conditional permutation test",
    "mean importance",
    "univariate predictors",
    "squared correlation",
    "mean absolute shap",
    "coefficient size",
    "gini importance",
    "number of splits",
    "network weights",
    "aggregated saliency",
)


def explained(model: Any, data: Data, **options: Any) -> Any:
    """SAGE values by a short run."""
    budget = None if options.get("method") == "exact" else 40_000
    settings: dict[str, Any] = {"background": data.background, "tolerance": 0.1, "budget": budget, "rng": 1, **options}
    return cs.sage(model, data.X, data.y, **settings)


def with_tests(explanation: Any) -> dict[str, Any]:
    """An explanation with what follows from it: intervals, tests, ranks and sums."""
    low, high = explanation.interval()
    joint = {about: explanation.interval(0.9, about=about, joint=True) for about in ("data", *explanation.targets)}
    tests = {
        f"{alternative}, {adjust}": explanation.p_values(alternative, adjust=adjust)
        for alternative in ("helps", "hurts")
        for adjust in (None, "holm", "benjamini hochberg")
    }
    return {
        "explanation": explanation,
        "low": low,
        "high": high,
        "joint": joint,
        "tests": tests,
        "top": explanation.top(3),
        "is_certain": explanation.top(3).is_certain,
        "power": explanation.power([0, 1]),
    }


@each("method: {}, squared error of a function", METHODS)
def _(method: str) -> Any:
    return with_tests(explained(curve, regression(), method=method))


@each("method: {}, cross entropy of a function", METHODS[1:-1])
def _(method: str) -> Any:
    return explained(odds, classes(), method=method, loss="cross entropy")


@case("method: surrogate walks, a regressor of one's own")
def _() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    method = cs.SurrogateWalks(HistGradientBoostingRegressor(max_iter=10, random_state=0))
    return explained(odds, classes(), method=method, loss="cross entropy")


@each("method: {}, a forest", METHODS)
def _(method: str) -> Any:
    return explained(fitted("forest"), regression(), method=method)


@case("method: five steps by hand")
def _() -> Any:
    from clarysage.estimators import estimate  # documented in docs/design.md

    data = regression()
    f_S = cs.Marginal(data.background).restrict(cs.as_predictor(curve), data.X)
    v = cs.PredictivePower.of(f_S, "squared error", data.X, data.y)
    result = estimate(v, cs.Permutation(), stop=[cs.Budget(20_000)], seed=7)
    return {name: getattr(result, name) for name in ("values", "covariance", "dof", "draws", "model_rows")}


@case("method: a game given as a table")
def _() -> Any:
    from clarysage.estimators import estimate  # documented in docs/design.md

    payoffs = np.random.default_rng(SEED + 3).normal(size=2**5)
    result = estimate(cs.TabularGame(payoffs), cs.Exact(), seed=7)
    return {name: getattr(result, name) for name in ("values", "covariance", "dof", "draws", "model_rows")}


@each("removal: {}, a function", REMOVALS)
def _(removal: str) -> Any:
    return explained(curve, regression(), removal=removal, method="paired walks", budget=None)


@each("removal: {}, a mixed table", [name for name in REMOVALS if name != "gaussian"])
def _(removal: str) -> Any:
    return explained(pipeline(), mixed(), removal=removal, method="paired walks", budget=None)


@each("removal: {}, exact values of a linear model", ("gaussian", "copula", "neighbours", "baseline"))
def _(removal: str) -> Any:
    return explained(fitted("linear"), regression(), removal=removal, method="exact")


@case("removal: objects of one's own settings")
def _() -> Any:
    data = regression()
    removals = (cs.Baseline(np.zeros(5)), cs.Neighbours(data.train), cs.Gaussian(data.train, rng=3))
    return [explained(curve, data, background=None, removal=removal, budget=10_000) for removal in removals]


@case("removal: quality of all of them")
def _() -> Any:
    data = regression()
    return cs.removal_quality("all", curve, data.X, background=data.background, rows=40, coalitions=2, rng=1)


@case("removal: rows off the manifold")
def _() -> Any:
    return [cs.off_manifold(data.X, data.background, rng=1) for data in (regression(), mixed())]


def pinball(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(0.9 * (y_true - y_pred), 0.1 * (y_pred - y_true)))


@each("loss: {}, paired walks", ("squared error", "absolute error"))
def _(loss: str) -> Any:
    return explained(curve, regression(), loss=loss, method="paired walks")


@each("loss: {}, paired walks", ("cross entropy", "zero one", "brier"))
def _(loss: str) -> Any:
    return explained(odds, classes(), loss=loss, method="paired walks")


@each("loss: {}, a forest of classes", ("cross entropy", "zero one", "brier"))
def _(loss: str) -> Any:
    return explained(fitted("forest of classes"), classes(), loss=loss)


@case("loss: a callable")
def _() -> Any:
    return explained(curve, regression(), loss=pinball, method="paired walks")


@case("loss: several at once")
def _() -> Any:
    losses = ["squared error", "absolute error", pinball]
    return explained(curve, regression(), loss=losses, method="paired walks", budget=20_000)


@case("loss: several of classes at once, exact")
def _() -> Any:
    return explained(fitted("logistic"), classes(), loss=["cross entropy", "zero one", "brier"], method="exact")


@each("model: {}", LEARNERS)
def _(name: str) -> Any:
    return explained(fitted(name), LEARNERS[name][0]())


@each("twelve columns: {}", METHODS[2:-1])
def _(method: str) -> Any:
    return with_tests(explained(waves, wide(), method=method, budget=60_000))


@case("twelve columns: a run of many rounds")
def _() -> Any:
    return explained(waves, wide(), tolerance=0.02, budget=None)


@each("twelve columns: {}", ("linear", "forest", "boosting", "network", "xgboost"))
def _(name: str) -> Any:
    data = wide()
    model = LEARNERS[name][1]().fit(data.train, data.train_y)
    return [explained(model, data, loss=loss) for loss in ("squared error", "absolute error")]


@case("twelve columns: interactions, sampled")
def _() -> Any:
    data = wide()
    options: dict[str, Any] = {
        "pairs": [("x0", "x1"), ("x2", "x3")],
        "background": data.background,
        "tolerance": 0.1,
        "rng": 1,
    }
    return cs.interactions(waves, data.X, data.y, budget=200_000, **options)


@each("model: {}, exact", [name for name in LEARNERS if name not in ("linear", "scaled ridge", "forest")])
def _(name: str) -> Any:
    return explained(fitted(name), LEARNERS[name][0](), method="exact")


@case("model: a pipeline with categories and missing cells")
def _() -> Any:
    return with_tests(explained(pipeline("stays"), mixed("stays")))


@case("model: boosting that knows categories")
def _() -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    data = mixed()
    learner = HistGradientBoostingRegressor(max_iter=10, categorical_features=["city", "plan"], random_state=0)
    return explained(learner.fit(data.train, data.train_y), data)


@case("model: torch")
def _() -> Any:
    return [explained(module(), regression(), loss=loss) for loss in ("squared error", "absolute error")]


@case("model: statsmodels")
def _() -> Any:
    import statsmodels.api as sm

    data = regression()
    return explained(sm.OLS(data.train_y, data.train).fit(), data)


@case("groups: a function")
def _() -> Any:
    return explained(curve, regression(), groups={"first": [0, 1], "others": [3, 4]}, method="paired walks")


@case("groups: a mixed table")
def _() -> Any:
    return explained(pipeline(), mixed(), groups={"person": ["age", "income"], "contract": ["plan", "member"]})


@each("weights: {}", ("exact", "paired walks", "permutation", "kernel"))
def _(method: str) -> Any:
    data = regression()
    return explained(curve, data, sample_weight=data.weights, method=method)


@case("weights: groups, boosting of classes")
def _() -> Any:
    data = classes()
    return explained(fitted("boosting of classes"), data, sample_weight=data.weights, groups={"first": [0, 1, 2]})


@case("weights: copula, absolute error")
def _() -> Any:
    data = regression()
    options: dict[str, Any] = {
        "removal": "copula",
        "loss": "absolute error",
        "method": "paired walks",
        "budget": 15_000,
    }
    return explained(curve, data, sample_weight=data.weights, **options)


@case("table: lists, with names of their own")
def _() -> Any:
    data = regression()
    names = ["a", "b", "c", "d", "e"]
    options: dict[str, Any] = {
        "background": data.background.tolist(),
        "feature_names": names,
        "budget": 20_000,
        "rng": 1,
    }
    return cs.sage(curve, data.X.tolist(), data.y.tolist(), method="paired walks", **options)


@case("table: no background, rows drawn")
def _() -> Any:
    return explained(curve, regression(), background=None, max_rows=50, method="paired walks")


@case("table: pandas, dates and numbers")
def _() -> Any:
    rng = np.random.default_rng(SEED + 4)
    table = pd.DataFrame(
        {
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, 80), unit="D"),
            "size": rng.normal(size=80),
            "kind": rng.choice(["a", "b"], 80),
        }
    )

    def model(rows: pd.DataFrame) -> np.ndarray:
        days = rows["day"].dt.dayofyear.to_numpy(dtype=float) / 100
        return np.asarray(days + rows["size"].to_numpy() * (rows["kind"] == "a").to_numpy())

    y = model(table) + rng.normal(size=80)
    return cs.sage(model, table[:50], y[:50], background=table[50:], method="paired walks", budget=20_000, rng=1)


@case("table: polars")
def _() -> Any:
    import polars as pl

    data = mixed()

    def model(rows: pl.DataFrame) -> np.ndarray:
        full = (rows["plan"] == "full").to_numpy().astype(float)
        return np.asarray(rows["income"].to_numpy() + full + 0.02 * rows["age"].fill_null(40.0).to_numpy())

    X, background = (pl.from_pandas(part.astype({"city": "object"})) for part in (data.X, data.background))
    options: dict[str, Any] = {
        "background": background,
        "loss": "squared error",
        "method": "paired walks",
        "budget": 20_000,
    }
    return cs.sage(model, X, data.y.to_numpy(), rng=1, **options)


@case("table: arrow")
def _() -> Any:
    import pyarrow as pa

    data = mixed()
    X, background = (pa.Table.from_pandas(part, preserve_index=False) for part in (data.X, data.background))
    return cs.sage(pipeline(), X, data.y.to_numpy(), background=background, tolerance=0.1, budget=20_000, rng=1)


@case("table: a Parquet file")
def _() -> Any:
    import pyarrow  # noqa: F401  writes the file

    data = mixed()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        data.X.assign(price=data.y, weight=data.weights).to_parquet(path, row_group_size=20)
        options: dict[str, Any] = {
            "sample_weight": "weight",
            "background": data.background,
            "max_rows": 60,
            "tolerance": 0.1,
        }
        return cs.sage(pipeline(), path, "price", budget=20_000, rng=1, **options)


@case("workers: two processes")
def _() -> Any:
    return explained(curve, regression(), method="paired walks", n_jobs=2)


@case("workers: two threads, several losses of classes")
def _() -> Any:
    import joblib

    with joblib.parallel_config(backend="threading", n_jobs=2):
        return explained(odds, classes(), loss=["cross entropy", "brier"], method="permutation", budget=60_000)


@case("workers: small batches and little memory")
def _() -> Any:
    return explained(curve, regression(), method="paired walks", batch_size=500, memory_limit=1e6)


@case("stopping: signs and top known, a rule of one's own")
def _() -> Any:
    def rule(estimate: Any) -> Any:
        return cs.StopReason.RULE if estimate.draws > 40 else None

    rules = (cs.SignsKnown(), cs.TopKnown(2), [rule, cs.Budget(50_000)], cs.Converged(0.2))
    return [explained(curve, regression(), method="paired walks", tolerance=None, stop=stop) for stop in rules]


@each("measure: {}", MEASURES)
def _(measure: str) -> Any:
    fitting = {
        "gini importance": "forest",
        "number of splits": "boosting",
        "network weights": "network",
        "mean absolute shap": "nearest neighbours",
        "shapley net effects": "linear",
        "coefficient size": "scaled ridge",
        "feature ablation": "forest",
        "univariate predictors": "linear",
    }
    if measure == "aggregated saliency":
        return _measured(measure, module(), regression())
    return _measured(measure, fitted(fitting[measure]) if measure in fitting else curve, regression())


def _measured(measure: str, model: Any, data: Data, **options: Any) -> Any:
    """A measure by name, with those options that it has."""
    import inspect

    function = getattr(cs, measure.replace(" ", "_"))
    parameters = inspect.signature(function).parameters
    settings: dict[str, Any] = {
        "background": data.background,
        "train": (data.train, data.train_y),
        "tolerance": 0.1,
        "rng": 1,
        **options,
    }
    if "walks" in parameters:
        settings["walks"] = 4
    taken = {name: value for name, value in settings.items() if name in parameters}
    return cs.importance(measure, model, data.X, data.y, **taken)


OF_MIXED = (
    "shapley effects",
    "mean loss shap",
    "permutation test",
    "conditional permutation test",
    "mean importance",
    "squared correlation",
    "mean absolute shap",
    "feature ablation",
)


@each("measure: {}, weights and groups of a mixed table", OF_MIXED)
def _(measure: str) -> Any:
    data = mixed()
    groups = {"contract": ["plan", "member"]}
    return _measured(measure, pipeline(), data, sample_weight=data.weights, groups=groups)


@each("measure: {}, classes", ("coefficient size", "mean absolute shap", "mean loss shap", "squared correlation"))
def _(measure: str) -> Any:
    return _measured(measure, fitted("logistic"), classes())


@each("measure: gini importance and splits, {}", ("xgboost", "lightgbm", "catboost", "boosting"))
def _(name: str) -> Any:
    data = regression()
    return [cs.importance(measure, fitted(name), data.X) for measure in ("gini importance", "number of splits")]


@case("measure: SHAP values of the shap package")
def _() -> Any:
    import shap  # noqa: F401  which the measure asks

    data = regression()
    return cs.mean_absolute_shap(fitted("forest"), data.X, background=data.background, backend="shap", rng=1)


@case("measure: permutation test, five repeats")
def _() -> Any:
    data = classes()
    return cs.permutation_test(fitted("forest of classes"), data.X, data.y, repeats=5, rng=1)


@case("shapley effects: no response")
def _() -> Any:
    data = regression()
    options: dict[str, Any] = {"background": data.background, "tolerance": 0.1, "rng": 1}
    return [cs.sage(model, data.X, **options) for model in (curve, fitted("forest"), fitted("linear"))]


@case("universal power: refits")
def _() -> Any:
    data = regression()
    crossed = cs.universal_power(_linear(), data.X, data.y, folds=3, rng=1)
    options: dict[str, Any] = {"test": (data.X, data.y), "method": "permutation", "tolerance": 0.1, "rng": 1}
    return [crossed, cs.universal_power(_linear(), data.train, data.train_y, **options)]


@case("importances: all that apply to a forest")
def _() -> Any:
    data = regression()
    result = cs.importances(fitted("forest"), data.X, data.y, background=data.background, tolerance=0.1, rng=1)
    return {"importances": result, "ranks": result.ranks()}


@case("importances: refits, a linear model")
def _() -> Any:
    data = regression()
    options: dict[str, Any] = {
        "train": (data.train, data.train_y),
        "background": data.background,
        "tolerance": 0.1,
        "rng": 1,
    }
    return cs.importances(fitted("linear"), data.X, data.y, refits=True, **options)


@case("interactions: a function, all pairs")
def _() -> Any:
    data = regression()
    return cs.interactions(curve, data.X, data.y, background=data.background, tolerance=0.2, budget=60_000, rng=1)


@case("interactions: a forest, two pairs")
def _() -> Any:
    data = regression()
    options: dict[str, Any] = {
        "pairs": [("x0", "x1"), ("x1", "x2")],
        "background": data.background,
        "tolerance": 0.1,
        "rng": 1,
    }
    return cs.interactions(fitted("forest"), data.X, data.y, **options)


@case("interactions: top features of classes, sampled")
def _() -> Any:
    data = classes()
    options: dict[str, Any] = {"top": 3, "background": data.background, "tolerance": None, "budget": 60_000, "rng": 1}
    return cs.interactions(odds, data.X, data.y, loss="cross entropy", method="toggles", **options)


@case("compare: models on the same rows")
def _() -> Any:
    return cs.compare(*(explained(fitted(name), regression()) for name in ("linear", "forest")))


@case("compare: three of them, rows apart")
def _() -> Any:
    data = regression()
    scales = (np.ones(5), np.ones(5), np.array([3.0, 1.0, 1.0, 1.0, 1.0]))  # a column in another unit
    row_slices = (slice(60), slice(60, 120), slice(120, 180))
    sides = [
        Data(data.train[rows] * scale, data.train_y[rows], data.background, None, None)
        for rows, scale in zip(row_slices, scales, strict=True)
    ]
    runs = [explained(curve, side, method="paired walks") for side in sides]
    return cs.compare(dict(zip(("first", "second", "third"), runs, strict=True)), adjust="benjamini hochberg")


@case("compare: lists of losses")
def _() -> Any:
    losses = ["squared error", "absolute error"]
    runs = [explained(fitted(name), regression(), loss=losses) for name in ("linear", "boosting")]
    return cs.compare(*runs)


@case("merge: three seeds")
def _() -> Any:
    runs = [explained(curve, regression(), method="paired walks", budget=8_000, rng=seed) for seed in (1, 2, 3)]
    return {"merged": cs.merge(runs), "in two steps": cs.merge([cs.merge(runs[:2]), runs[2]])}


@case("merge: permutation, weights")
def _() -> Any:
    data = regression()
    options: dict[str, Any] = {"method": "permutation", "sample_weight": data.weights, "budget": 30_000}
    return cs.merge([explained(curve, data, rng=seed, **options) for seed in (1, 2)])


def _watched(model: Any, *, is_broken: bool = True, **options: Any) -> Any:
    rng = np.random.default_rng(SEED + 5)
    reference, current = (customers(150, rng).drop(columns="stays") for _ in range(2))
    if is_broken:
        current["income"] *= 5
    if options.get("by") is not None:
        current["month"] = np.repeat(["2024-05-01", "2024-06-01", "2024-07-01"], 50)
    if "target" not in options:
        reference, current = (table.drop(columns="price") for table in (reference, current))
    settings: dict[str, Any] = {"background_rows": 30, "tolerance": 0.1, "budget": 40_000, "rng": 1, **options}
    result = cs.monitor(model, reference, current, **settings)
    return {"monitoring": result, "flagged": result.flagged, "shifted": result.shifted}


@case("monitor: with labels")
def _() -> Any:
    return _watched(pipeline(), target="price")


@case("monitor: nothing changed, absolute error")
def _() -> Any:
    return _watched(pipeline(), target="price", is_broken=False, loss="absolute error")


@case("monitor: without labels")
def _() -> Any:
    return _watched(pipeline())


@case("monitor: by slices")
def _() -> Any:
    return _watched(pipeline(), target="price", by="month", every="month")


@case("monitor: groups, the reference's own rows")
def _() -> Any:
    table = customers(120, np.random.default_rng(SEED + 6)).drop(columns="stays")
    options: dict[str, Any] = {
        "groups": {"contract": ["plan", "member"]},
        "background_rows": 30,
        "tolerance": 0.1,
        "rng": 1,
    }
    current = table.assign(income=table["income"] * 5)
    return cs.monitor(pipeline(), table, current, target="price", paired=True, **options)


@case("agreement: with the game of the model")
def _() -> Any:
    data = regression()
    v_f = cs.game(curve, data.X, data.y, background=data.background, loss="squared error")
    agreement = explained(curve, data, method="paired walks").agreement(v_f, rng=1)
    other = cs.importance("squared correlation", curve, data.X, data.y)
    return [agreement, agreement.against(other)]


@case("agreement: drawn subsets, classes")
def _() -> Any:
    data = classes()
    v_f = cs.game(odds, data.X, data.y, background=data.background, loss="cross entropy")
    return explained(odds, data, loss="cross entropy", budget=20_000).agreement(v_f, n=12, rng=1)


@case("agreement: with refits")
def _() -> Any:
    data = regression()
    v = cs.UniversalPower.of(_linear(), data.train, data.train_y, test=(data.X, data.y))
    train = (data.train, data.train_y)
    return cs.importance("shapley net effects", None, data.X, data.y, train=train, rng=1).agreement(v, rng=1)


@case("checkpoint: a run that goes on with a finer tolerance")
def _() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "method": "paired walks",
            "budget": None,
            "checkpoint": Path(folder) / "run.checkpoint",
        }
        first = explained(curve, regression(), tolerance=0.3, **options)
        return {"first": first, "later": explained(curve, regression(), tolerance=0.1, **options)}


@case("checkpoint: a run that was interrupted")
def _() -> Any:
    interrupted_at, calls = 12, 0

    def interrupting(X: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls == interrupted_at:
            raise KeyboardInterrupt
        return curve(X)

    with tempfile.TemporaryDirectory() as folder:
        options: dict[str, Any] = {
            "method": "permutation",
            "checkpoint": Path(folder) / "run.checkpoint",
            "batch_size": 2_000,
        }
        first = explained(interrupting, regression(), **options)
        return {"first": first, "later": explained(interrupting, regression(), **options)}


@case("file: saved and loaded")
def _() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sage.json"
        explained(curve, regression(), method="paired walks").save(path, rows=True)
        written = {name: part for name, part in json.loads(path.read_text()).items() if part is not None}
        return {"file": written, "loaded": cs.load(path)}


# A tree's own process


def run_cases(names: list[str], source: Path, out: Path) -> None:
    """Runs cases with the clarysage of a tree, and writes a line of JSON for each."""
    imported = Path(str(cs.__file__)).resolve()
    assert imported.is_relative_to(source.resolve()), f"clarysage was imported from {imported}, not from {source}"
    warnings.simplefilter("ignore")
    with out.open("w") as file:
        for name in names:
            begun = time.perf_counter()
            entry: dict[str, Any] = {"case": name}
            try:
                entry["fields"] = flatten(CASES[name]())
                assert entry["fields"], "a result without numbers"
            except Exception as error:
                entry.pop("fields", None)
                entry["error"] = " ".join(f"{type(error).__name__}: {error}".split())
            entry["seconds"] = round(time.perf_counter() - begun, 3)
            file.write(json.dumps(entry) + "\n")
            file.flush()


# Both trees


@dataclass(frozen=True)
class Run:
    """Results of the cases in a tree, by name, from the process that ran them."""

    entries: dict[str, dict[str, Any]]
    ended: str  # how the process ended

    @classmethod
    def of(cls, source: Path, names: list[str], out: Path, scratch: Path) -> Run:
        scratch.mkdir()
        environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
        environment |= {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(scratch / "kernels")}
        words = [sys.executable, str(Path(__file__).resolve()), "--child", str(out), "--source", str(source)]
        child = subprocess.run(
            [*words, "--cases", *names], cwd=scratch, env=environment, stderr=subprocess.PIPE, text=True, check=False
        )
        lines = out.read_text().splitlines() if out.exists() else []
        last = (child.stderr.strip().splitlines() or [""])[-1]
        entries = {entry["case"]: entry for entry in map(json.loads, lines)}
        return cls(entries, f"the process ended with exit code {child.returncode} {last}".strip())

    def error(self, name: str) -> str | None:
        """Returns why a case has no result, or None."""
        entry = self.entries.get(name, {"error": self.ended})
        return None if "fields" in entry else str(entry["error"])

    @property
    def seconds(self) -> float:
        return float(sum(entry["seconds"] for entry in self.entries.values()))


def judged(base: Run, changed: Run, name: str) -> tuple[str, str]:
    """Returns the verdict on a case, and the text to print."""
    errors = base.error(name), changed.error(name)
    if errors[0] is not None and errors[0] == errors[1] and errors[0].startswith(ABSENT):
        return "skipped", f"skipped ({errors[0]})"
    if errors[1] is not None:
        also = "" if errors[0] is None else f"; failed in base ({errors[0]})"
        return "failed in work tree", f"failed in work tree ({errors[1]}){also}"
    if errors[0] is not None:
        return "failed in base", f"failed in base ({errors[0]})"
    differences = _differences(base.entries[name]["fields"], changed.entries[name]["fields"])
    return ("differ", f"DIFFERS ({differences})") if differences else ("same", "same")


def _differences(base: Mapping[str, str], changed: Mapping[str, str]) -> str:
    """Lists the fields that differ, each with the position and size of its largest difference."""
    by_field: dict[str, list[str]] = {}
    for path in dict.fromkeys([*base, *changed]):
        if base.get(path) != changed.get(path):
            by_field.setdefault(re.sub(r"\[\d+\]", "", path).lstrip("."), []).append(path)
    words = []
    for field, paths in list(by_field.items())[:SHOWN]:
        sizes = {path: _distance(base[path], changed[path]) for path in paths if path in base and path in changed}
        if not sizes:
            words.append(f"{field} is only in {'base' if paths[0] in base else 'work tree'}")
            continue
        worst = max(sizes, key=lambda path: sizes[path])
        size = f"by {sizes[worst]:.3g}" if sizes[worst] < np.inf else f"{base[worst]} -> {changed[worst]}"
        words.append(f"{field}: {len(paths)} differ, largest {size}" + ("" if worst == field else f" at {worst}"))
    more = len(by_field) - SHOWN
    return "; ".join(words) + (f"; fields besides: {more}" if more > 0 else "")


def _distance(text: str, other: str) -> float:
    """Returns the distance of two numbers; infinity for other texts."""
    try:
        distance = abs(_number(text) - _number(other))
    except ValueError:
        return float("inf")
    return float("inf") if np.isnan(distance) else distance


def _number(text: str) -> float:
    return float.fromhex(text) if "x" in text else float(text)


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def checked_out(commit: str, folder: Path) -> Iterator[Path]:
    """Checks a commit out in a temporary folder, as long as the block runs."""
    tree = folder / "base"
    try:
        _git("worktree", "add", "--detach", str(tree), commit)
        yield tree
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, capture_output=True, check=False)


def commit_of(base: str) -> str:
    """Returns the full hash of the base commit."""
    try:
        return _git("rev-parse", "--verify", "--quiet", "--end-of-options", base + "^{commit}")
    except subprocess.CalledProcessError:
        print(f"There is no commit {base!r} in {ROOT}.", file=sys.stderr)
        raise SystemExit(2) from None


def compared(base: str, names: list[str], keep: Path | None) -> int:
    """Runs cases in both trees, prints the verdicts, and returns the exit code."""
    commit = commit_of(base)
    with tempfile.TemporaryDirectory(prefix="same-bits-") as temporary:
        folder = Path(temporary)
        outputs = folder if keep is None else keep.resolve()
        outputs.mkdir(parents=True, exist_ok=True)
        with checked_out(commit, folder) as tree:
            runs = []
            for label, source in (("base", tree / "src"), ("work_tree", ROOT / "src")):
                if not (source / "clarysage").is_dir():
                    print(f"There is no clarysage in {source}, in {label} {commit}.", file=sys.stderr)
                    return 2
                out = outputs / f"{label}.jsonl"
                out.unlink(missing_ok=True)
                runs.append(Run.of(source, names, out, folder / f"{label} scratch"))
    width = max(map(len, names))
    counts: Counter[str] = Counter()
    for name in names:
        verdict, text = judged(runs[0], runs[1], name)
        counts[verdict] += 1
        print(f"{name:<{width}}  {text}")
    tally = ", ".join(f"{counts[word]} {word}" for word in ("same", "differ", "failed in work tree", "failed in base"))
    times = f"{runs[0].seconds:.0f} s in base {commit[:12]}, {runs[1].seconds:.0f} s in the work tree"
    print(f"{len(names)} cases: {tally}, {counts['skipped']} skipped; {times}")
    return int(counts["differ"] + counts["failed in work tree"] > 0 or counts["same"] == 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="COMMIT", help="the commit whose numbers are to be kept")
    parser.add_argument("--only", metavar="WORD", action="append", help="cases whose names contain this, or another")
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and run none")
    parser.add_argument("--keep", metavar="FOLDER", type=Path, help="keep the numbers of both trees, as lines of JSON")
    for hidden, options in {"--child": {"type": Path}, "--source": {"type": Path}, "--cases": {"nargs": "*"}}.items():
        parser.add_argument(hidden, help=argparse.SUPPRESS, **options)  # type: ignore[arg-type]
    asked = parser.parse_args()
    if asked.child is not None:
        run_cases(asked.cases, asked.source, asked.child)
        return 0
    words = [word.lower() for word in asked.only or [""]]
    names = [name for name in CASES if any(word in name.lower() for word in words)]
    if not names:
        parser.error(f"no case has {' or '.join(words)} in its name; --list prints them")
    if asked.list:
        print("\n".join(names))
        return 0
    if asked.base is None:
        parser.error("--base COMMIT says what to compare with")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the base's folder is removed then too
    try:
        return compared(asked.base, names, asked.keep)
    except KeyboardInterrupt:
        print("Interrupted; the base's folder is removed.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
