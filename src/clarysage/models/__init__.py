"""Anything fitted becomes a Predictor. ``ADAPTERS`` is the table of model types, one file per library.

Dispatch goes by type names along the method resolution order, so nothing is imported that the user has not imported.
A third party adds an adapter by an entry point of the group ``clarysage.models`` whose name is ``"library.Class"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral
from typing import Any

from clarysage.errors import InputError
from clarysage.models.function import from_anything
from clarysage.models.outputs import LINKS, linked, unknown_output
from clarysage.models.predictor import BoundPredictor, Predictor

Adapter = Callable[[Any, str | None], Predictor]

# (library, class) -> (file of this room, function)
ADAPTERS: dict[tuple[str, str], tuple[str, str]] = {
    ("xgboost", "Booster"): ("xgboost", "from_booster"),
    ("xgboost", "XGBModel"): ("xgboost", "from_wrapper"),
    ("lightgbm", "Booster"): ("lightgbm", "from_booster"),
    ("lightgbm", "LGBMModel"): ("lightgbm", "from_wrapper"),
    ("catboost", "CatBoost"): ("catboost", "from_catboost"),
    ("torch", "Module"): ("torch", "from_module"),
    ("onnxruntime", "InferenceSession"): ("onnx", "from_session"),
    ("statsmodels", "ResultsWrapper"): ("statsmodels", "from_results"),
    ("sklearn", "BaseEstimator"): ("scikit_learn", "from_estimator"),
}


def as_predictor(
    model: Any,
    *,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    batch_size: int | None = None,
) -> Predictor:
    """Anything fitted, or any callable, as a Predictor f: rows -> (n, k).

    Parameters
    ----------
    model : a fitted model, or a callable that takes rows and returns predictions
    output : which output to use: a method of the model ("predict_proba", "decision_function", ...), the name of an
        output of an ONNX session, or "sigmoid" / "softmax" to turn the logits it returns into probabilities
    classes : labels of the classes, in the order of the model's outputs, for a model that does not know them
    feature_names : names of the columns the model expects, in its order, for a model that does not know them
    batch_size : how many rows the model gets at once, at most; default 32,768, or what memory allows

    Examples
    --------
    >>> import numpy as np
    >>> f = as_predictor(lambda X: X @ np.array([1.0, 2.0]))
    >>> f(np.array([[1.0, 1.0]]))
    array([[3.]])
    """
    predictor = _linked(model, output) if isinstance(model, Predictor) else _adapted(model, output)
    if classes is not None:
        predictor = replace(predictor, classes=tuple(classes), task="classification")
    if feature_names is not None:
        predictor = replace(predictor, feature_names=tuple(feature_names))
    if batch_size is not None:
        predictor = replace(predictor, batch_size=_checked(batch_size))
    return predictor


def _checked(batch_size: Any) -> int:
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise InputError("batch_size", got=f"{batch_size!r}", wanted="a whole number of rows, one or more",
                         hint="batch_size=4096")  # fmt: skip
    return int(batch_size)


def _adapted(model: Any, output: str | None) -> Predictor:
    if isinstance(model, type):
        raise InputError("model", got=f"the class {model.__name__}", wanted="a fitted object of it")
    adapters = (_adapter(kind.__module__.partition(".")[0], kind.__qualname__) for kind in type(model).__mro__)
    adapter = next(filter(None, adapters), from_anything)
    return adapter(model, output)


def _adapter(library: str, name: str) -> Adapter | None:
    adapter: Adapter | None = None
    if f"{library}.{name}" in _entries():
        adapter = _entries()[f"{library}.{name}"].load()
    elif (library, name) in ADAPTERS:
        file, function = ADAPTERS[library, name]
        adapter = getattr(import_module(f"clarysage.models.{file}"), function)
    return adapter


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="clarysage.models")}


def _linked(predictor: Predictor, output: str | None) -> Predictor:
    if output is None:
        return predictor
    if output not in LINKS:
        raise unknown_output(predictor.name, output)
    function = linked(predictor.function, output)
    return replace(predictor, function=function, task="classification", hard=False, structure=None)


__all__ = ["ADAPTERS", "BoundPredictor", "Predictor", "as_predictor"]
