"""Anything fitted becomes a Predictor. ``ADAPTERS`` is the table of model types, one file per library.

Dispatch goes by type names along the method resolution order, so nothing is imported that the user has not imported.
A third party adds an adapter by an entry point of the group ``clarysage.models`` whose name is ``"library.Class"``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from clarysage.errors import InputError
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
    ("sklearn", "BaseEstimator"): ("scikit_learn", "from_estimator"),
}


def as_predictor(
    model: Any,
    *,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
) -> Predictor:
    """Anything fitted, or any callable, as a Predictor f: rows -> (n, k).

    Parameters
    ----------
    model : a fitted model, or a callable that takes rows and returns predictions
    output : which output to use: a method of the model ("predict_proba", "decision_function", ...), the name of an
        output of an ONNX session, or "sigmoid" / "softmax" to turn the logits it returns into probabilities
    classes : labels of the classes, in the order of the model's outputs, for a model that does not know them
    feature_names : names of the columns the model expects, in its order, for a model that does not know them

    Examples
    --------
    >>> import numpy as np
    >>> f = as_predictor(lambda X: X @ np.array([1.0, 2.0]))
    >>> f(np.array([[1.0, 1.0]]))
    array([[3.]])
    """
    predictor = model if isinstance(model, Predictor) else _adapted(model, output)
    if classes is not None:
        predictor = replace(predictor, classes=tuple(classes), task="classification")
    if feature_names is not None:
        predictor = replace(predictor, feature_names=tuple(feature_names))
    return predictor


def _adapted(model: Any, output: str | None) -> Predictor:
    if isinstance(model, type):
        raise InputError("model", got=f"the class {model.__name__}", wanted="a fitted object of it")
    for kind in type(model).__mro__:
        key = (kind.__module__.partition(".")[0], kind.__qualname__)
        adapter = _third_party(".".join(key)) or _own(key)
        if adapter is not None:
            return adapter(model, output)
    return _own_or_function(model, output)


def _own(key: tuple[str, str]) -> Adapter | None:
    if key not in ADAPTERS:
        return None
    file, function = ADAPTERS[key]
    adapter: Adapter = getattr(import_module(f"clarysage.models.{file}"), function)
    return adapter


def _own_or_function(model: Any, output: str | None) -> Predictor:
    function = import_module("clarysage.models.function")
    predictor: Predictor = function.from_anything(model, output)
    return predictor


@cache
def _third_party(name: str) -> Adapter | None:
    for entry in entry_points(group="clarysage.models"):
        if entry.name == name:
            adapter: Adapter = entry.load()
            return adapter
    return None


__all__ = ["ADAPTERS", "BoundPredictor", "Predictor", "as_predictor"]
