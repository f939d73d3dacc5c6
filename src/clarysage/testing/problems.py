"""Small problems to check a measure on: every task, as an array and as frames, with a fitted model.

Each problem has a column that the model ignores and that is independent of the response, and a constant column.
``TASKS``, ``TABLES`` and ``FAMILIES`` are the tables of names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.catalogue import LOSSES
from clarysage.errors import InputError
from clarysage.losses import as_loss
from clarysage.models import as_predictor

TASKS = ("regression", "binary", "multiclass")
TABLES = ("array", "numbers", "mixed")  # numpy; pandas of numbers; pandas with categories, text and missing cells
LABELS = {"binary": ("no", "yes"), "multiclass": ("high", "low", "middle")}  # in frames; arrays have class numbers
# log frequencies of the classes, which are unequal so that there are no ties
SHARES = {"binary": np.log([0.6, 0.4]), "multiclass": np.log([0.5, 0.3, 0.2])}
NUMBERS, MIXED = ("noise", "size", "still", "depth"), ("noise", "size", "still", "colour", "place")
COLOURS, PLACES = np.array(["red", "green", "blue"]), np.array(["here", "there"])
MISSING = 0.1  # share of missing cells
ROWS, BACKGROUND = 60, 30


@dataclass(frozen=True)
class MeasureProblem:
    """A model, rows to evaluate it on, and background rows, on which and on others it was fitted.

    Attributes
    ----------
    task, table : names in ``TASKS`` and ``TABLES``
    names : of the columns, as in an explanation
    ignored : the column that the model ignores and that is independent of the response
    still : the constant column

    Examples
    --------
    >>> measure_problem("binary", "mixed").names
    ('noise', 'size', 'still', 'colour', 'place')
    """

    task: str
    table: str
    model: Any
    X: Any
    y: np.ndarray
    background: Any
    names: tuple[str, ...]
    ignored: str
    still: str


@dataclass(frozen=True)
class Shortfall:
    """A user-defined loss for labels of any kind: one minus the probability of the true class, squared.

    Examples
    --------
    >>> Shortfall(("no", "yes"))(np.array(["yes"]), np.array([[0.5, 0.5]]))
    array([0.25])
    """

    classes: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return "shortfall"

    def __call__(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        of_class = y_pred if y_pred.ndim == 2 else np.column_stack([1 - y_pred, y_pred])
        numbers = np.searchsorted(np.array(self.classes), y_true)
        return np.asarray((1 - of_class[np.arange(len(numbers)), numbers]) ** 2)


def log_cosh(y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
    """Returns log(cosh(y_pred - y_true)), a user-defined loss that is quadratic for small errors, linear for large."""
    error = np.abs(y_pred - y_true)
    return np.asarray(error + np.log1p(np.exp(-2 * error)) - np.log(2))


def measure_problem(task: str, table: str, model: Any = "linear", seed: int = 0) -> MeasureProblem:
    """Returns the problem of a task and a kind of table.

    Parameters
    ----------
    model : a name in ``FAMILIES``, or ``function(task, X, y)`` that returns a model which ignores the first column
    seed : of the rows
    """
    check_names(task, table, model)
    fit = FAMILIES[model] if isinstance(model, str) else model
    rng = np.random.default_rng([seed, TASKS.index(task), TABLES.index(table)])
    X, y = _sample(rng, 3 * ROWS, task, table)
    fitted = fit(task, _part(X, slice(0, 2 * ROWS)), y[: 2 * ROWS])
    names = {"array": [f"x{number}" for number in range(len(NUMBERS))], "numbers": NUMBERS, "mixed": MIXED}[table]
    return MeasureProblem(
        task,
        table,
        fitted,
        _part(X, slice(2 * ROWS, None)),
        y[2 * ROWS :],
        _part(X, slice(0, BACKGROUND)),
        tuple(names),
        names[0],
        names[2],
    )


def check_names(task: str, table: str, model: Any) -> None:
    """Raises an error for unknown names of tasks, tables or families of models."""
    for argument, name, names in (("tasks", task, TASKS), ("tables", table, TABLES)):
        if name not in names:
            raise InputError(argument, got=f"{name!r}", wanted=f"one of {', '.join(map(repr, names))}")
    if model is not None and model not in FAMILIES and not callable(model):
        accepted = f"one of {', '.join(map(repr, FAMILIES))}, or a function of (task, X, y) that returns a model"
        raise InputError("model", got=f"{model!r}", wanted=accepted)


def losses_of(task: str, table: str) -> tuple[Any, ...]:
    """Returns the losses that fit the problems of a task: the names of those of clarysage, and a user-defined one."""
    kind = "regression" if task == "regression" else "classification"
    names = tuple(row.name for row in LOSSES.bundled if not row.needs and as_loss(row.name).task == kind)
    return (*names, log_cosh if task == "regression" else Shortfall(_classes(task, table)))


def linear(task: str, X: Any, y: np.ndarray) -> Any:
    """Fits linear or logistic regression after preprocessing; precise, so that the order of columns hardly matters."""
    from sklearn.linear_model import LinearRegression, LogisticRegression

    learner = LinearRegression() if task == "regression" else LogisticRegression(tol=1e-8, max_iter=1000)
    return _fitted(learner, X, y)


def trees(task: str, X: Any, y: np.ndarray) -> Any:
    """Fits a small decision tree."""
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    kind = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
    return _fitted(kind(max_depth=3, min_samples_leaf=5, random_state=0), X, y)


def network(task: str, X: Any, y: np.ndarray) -> Any:
    """Fits a small neural network of scikit-learn, with few iterations."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor

    kind = MLPRegressor if task == "regression" else MLPClassifier
    return _fitted(kind(hidden_layer_sizes=(5,), max_iter=60, learning_rate_init=0.03, random_state=0), X, y)


def torch_network(task: str, X: Any, y: np.ndarray) -> Any:
    """Returns a PyTorch module with random weights, where those of the first column are zero.

    Modules do not know the names of classes and columns; for frames these are given to the predictor.
    """
    import torch

    outputs = 1 if task == "regression" else len(np.unique(y))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers: list[Any] = [torch.nn.Linear(X.shape[1], 5), torch.nn.Tanh(), torch.nn.Linear(5, outputs)]
    with torch.no_grad():
        layers[0].weight[:, 0] = 0
    module = torch.nn.Sequential(*layers, *([] if task == "regression" else [torch.nn.Softmax(dim=1)])).eval()
    if isinstance(X, np.ndarray):
        return module
    classes = None if task == "regression" else np.unique(y).tolist()
    return as_predictor(module, classes=classes, feature_names=list(X.columns))


FAMILIES: dict[str, Callable[[str, Any, np.ndarray], Any]] = {
    "linear": linear,
    "trees": trees,
    "network": network,
    "torch": torch_network,
}


def _fitted(learner: Any, X: Any, y: np.ndarray) -> Any:
    from sklearn.pipeline import make_pipeline

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a network that has not converged
        return make_pipeline(_preprocessing(X), learner).fit(X, y)


def _preprocessing(X: Any) -> Any:
    """Returns a transformer that drops the first column and turns the others into numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    if isinstance(X, np.ndarray):
        return ColumnTransformer([("numbers", "passthrough", [1, 2, 3])])
    labels = [name for name in X.columns if name in ("colour", "place")]
    numbers = [name for name in X.columns[1:] if name not in labels]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [("numbers", SimpleImputer(), numbers), *([("labels", encoder, labels)] if labels else [])]
    )


def _sample(rng: np.random.Generator, n: int, task: str, table: str) -> tuple[Any, np.ndarray]:
    """Returns rows and responses. The second column matters most, the last ones less, the others not at all."""
    noise, size = rng.normal(size=(2, n))
    depth = 0.5 * size + rng.normal(size=n)
    still = np.full(n, 2.0)
    if table == "mixed":
        colour, place_number = rng.integers(3, size=n), rng.integers(2, size=n)
        lesser = np.array([-1.0, 0.0, 1.5])[colour] + place_number
        columns = _mixed(noise, np.where(rng.random(n) < MISSING, np.nan, size), colour, place_number, still)
    else:
        lesser = depth
        columns = np.column_stack([noise, size, still, depth])
        columns = columns if table == "array" else _frame(dict(zip(NUMBERS, columns.T, strict=True)))
    return columns, _responses(rng, 2 * size + lesser, 2 * lesser - size, task, table)


def _responses(rng: np.random.Generator, first: np.ndarray, second: np.ndarray, task: str, table: str) -> np.ndarray:
    if task == "regression":
        return np.asarray(first + 0.5 * rng.normal(size=len(first)))
    classes = np.array(_classes(task, table))
    scores = np.column_stack([-first, first, second])[:, : len(classes)] + SHARES[task]
    return np.asarray(classes[np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)])


def _classes(task: str, table: str) -> tuple[Any, ...]:
    return tuple(range(len(LABELS[task]))) if table == "array" else LABELS[task]


def _mixed(noise: np.ndarray, size: np.ndarray, colour: np.ndarray, place_number: np.ndarray, still: np.ndarray) -> Any:
    import pandas as pd

    colours = pd.Categorical(COLOURS[colour], categories=COLOURS)
    return _frame({"noise": noise, "size": size, "still": still, "colour": colours, "place": PLACES[place_number]})


def _frame(columns: dict[str, Any]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def _part(X: Any, rows: slice) -> Any:
    return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows].reset_index(drop=True)
