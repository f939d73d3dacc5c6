"""A model with methods: which of them to call, and what its values are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import scipy

from clarysage.errors import InputError, ModelError, Set
from clarysage.models.predictor import Predictor, Task
from clarysage.structure.base import Structure

Function = Callable[[Any], Any]
Values = Literal["probabilities", "labels", "numbers"]

# what the methods of a model return; the first that a model has is called where the user names none
CLASSIFIER: Mapping[str, Values] = MappingProxyType({"predict_proba": "probabilities", "predict": "labels"})
REGRESSOR: Mapping[str, Values] = MappingProxyType({"predict": "numbers"})


def from_methods(
    model: Any,
    output: str | None,
    *,
    values: Mapping[str, Values],
    own: Mapping[str, Function] = MappingProxyType({}),
    classes: tuple[Any, ...] | None = None,
    task: Task | None = None,
    structure: Callable[[], Structure] | None = None,
    **known: Any,
) -> Predictor:
    """The predictor that calls one method of a model.

    Parameters
    ----------
    output : the method, "sigmoid" or "softmax" of its ``decision_function`` (else of its ``predict``), or None
    values : what the methods return
    own : functions in place of methods of the model
    classes : labels of the classes that probabilities are of
    task, structure : what is known of the model where it is called by its usual method
    known : what else is known of the model
    """
    known = {"name": type(model).__name__, "origin": model, **known}
    methods = {name: own.get(name) or getattr(model, name, None) for name in (*values, "decision_function", "predict")}
    if output in LINKS:
        logits = methods["decision_function"] or methods["predict"]
        if not callable(logits):
            raise unknown_output(known["name"], output)
        return Predictor(linked(logits, output), task="classification", classes=classes, **known)
    usual = next((name for name in values if callable(methods[name])), "predict")
    method = output or usual
    function = methods.get(method) or getattr(model, method, None)
    if not callable(function) and output is None:
        raise ModelError("model", got=f"{known['name']}, which has no method {usual!r}", wanted="a model that predicts")
    if not callable(function):
        raise unknown_output(known["name"], output)
    if values.get(method) == "probabilities":
        return Predictor(function, task="classification", classes=classes, structure=structure, **known)
    if values.get(method) == "labels" and classes is not None:
        return Predictor(Votes(function, classes), task="classification", classes=classes, hard=True, **known)
    if method != usual:
        return Predictor(function, **known)
    return Predictor(function, task=task, structure=structure, **known)


def linked(function: Function, link: str | None) -> Function:
    """The function with "sigmoid" or "softmax" applied to what it returns; as it is for None."""
    return function if link is None else LINKS[link](function)


@dataclass(frozen=True)
class _Sigmoid:
    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        positive = scipy.special.expit(np.asarray(self.function(rows), dtype=np.float64)).reshape(len(rows), -1)
        if positive.shape[1] != 1:
            raise ModelError(
                "output",
                got=f'"sigmoid" for {positive.shape[1]} logits a row',
                wanted="one",
                hint=Set("output", "softmax"),
            )
        return np.column_stack([1 - positive, positive])


@dataclass(frozen=True)
class _Softmax:
    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        logits = np.asarray(self.function(rows), dtype=np.float64).reshape(len(rows), -1)
        if logits.shape[1] < 2:
            raise ModelError(
                "output", got='"softmax" for one logit a row', wanted="two or more", hint=Set("output", "sigmoid")
            )
        return np.asarray(scipy.special.softmax(logits, axis=1))


LINKS: dict[str | None, type[_Sigmoid] | type[_Softmax]] = {"sigmoid": _Sigmoid, "softmax": _Softmax}


def linked_by(function: Function) -> tuple[Function, str | None]:
    """The function that a link was applied to, and the link: the inverse of :func:`linked`."""
    if not isinstance(function, (_Sigmoid, _Softmax)):
        return function, None
    return function.function, next(name for name, kind in LINKS.items() if isinstance(function, kind))


@dataclass(frozen=True)
class Votes:
    """Labels that a classifier returns, as one-hot rows."""

    function: Function
    classes: tuple[Any, ...]

    def __call__(self, rows: Any) -> np.ndarray:
        labels = np.asarray(self.function(rows)).reshape(-1, 1)
        kind = object if len({type(label) for label in self.classes}) > 1 else None
        return np.asarray(labels == np.array(self.classes, dtype=kind), dtype=np.float64)


@dataclass(frozen=True)
class Shares:
    """Scores of classes, divided by their sum where there are several: those of one class against all do not add up."""

    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        scores = np.asarray(self.function(rows), dtype=np.float64)
        return scores / scores.sum(axis=1, keepdims=True) if scores.ndim == 2 else scores


def classes_of(model: Any) -> tuple[Any, ...] | None:
    """The labels that a classifier says its classes have; a classifier of several responses is an error."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if isinstance(classes, list) and any(isinstance(labels, (list, np.ndarray)) for labels in classes):
        raise ModelError(
            "model",
            got=f"{type(model).__name__} with {len(classes)} responses",
            wanted="a classifier of one response",
            hint="one explanation a response, by a callable that returns its probabilities",
        )
    return tuple(np.asarray(classes).tolist()) or None


def unfitted(model: Any) -> ModelError:
    """The error for a model that was not fitted."""
    return ModelError(
        "model",
        got=f"{type(model).__name__}, which is not fitted",
        wanted="a fitted model",
        hint="model.fit(...) first",
    )


def unknown_output(name: str, output: str | None) -> InputError:
    """The error for an ``output`` that a model does not have."""
    return InputError(
        "output",
        got=f"{output!r}, which {name} does not have",
        wanted="a method of the model, such as "
        '"predict_proba", or "sigmoid" / "softmax" for a model that returns logits',
    )
