"""Output of a model: which of its methods to call, what this returns, and links such as "softmax"."""

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
from clarysage.tables.containers import count_rows

Function = Callable[[Any], Any]
Values = Literal["probabilities", "labels", "numbers"]

# what the methods of a model return; by default the first that a model has is called
CLASSIFIER: Mapping[str, Values] = MappingProxyType({"predict_proba": "probabilities", "predict": "labels"})
REGRESSOR: Mapping[str, Values] = MappingProxyType({"predict": "numbers"})


def from_methods(
    model: Any,
    output: str | None,
    *,
    values: Mapping[str, Values],
    methods: Mapping[str, Function] = MappingProxyType({}),
    classes: tuple[Any, ...] | None = None,
    task: Task | None = None,
    structure: Callable[[], Structure] | None = None,
    floor: float | None = None,
    **facts: Any,
) -> Predictor:
    """Returns the predictor that calls one method of a model.

    Parameters
    ----------
    output : the method, "sigmoid" or "softmax" of its ``decision_function`` (else of its ``predict``), or None
    values : what the methods return
    methods : functions to call in place of methods of the model
    classes : labels of the classes that probabilities are of
    task, structure : task and structure of the model when its default method is called
    floor : the least probability that training rows can tell from zero, for a method that returns probabilities
    facts : further fields of the predictor
    """
    facts = {"name": type(model).__name__, "origin": model, **facts}
    names = (*values, "decision_function", "predict")
    available = {name: methods.get(name) or getattr(model, name, None) for name in names}
    if output in LINKS:
        logits = available["decision_function"] or available["predict"]
        if not callable(logits):
            raise unknown_output(facts["name"], output)
        return Predictor(linked(logits, output), task="classification", classes=classes, **facts)
    default = next((name for name in values if callable(available[name])), "predict")
    method = output or default
    function = available.get(method) or getattr(model, method, None)
    if not callable(function) and output is None:
        raise ModelError(
            "model", got=f"{facts['name']}, which has no method {default!r}", wanted="a model that predicts"
        )
    if not callable(function):
        raise unknown_output(facts["name"], output)
    if values.get(method) == "probabilities":
        return Predictor(function, task="classification", classes=classes, structure=structure, floor=floor, **facts)
    if values.get(method) == "labels" and classes is not None:
        structure = structure if method == default else None
        votes = Votes(function, classes)
        return Predictor(votes, task="classification", classes=classes, hard=True, structure=structure, **facts)
    if method != default:
        return Predictor(function, **facts)
    return Predictor(function, task=task, structure=structure, **facts)


def linked(function: Function, link: str | None) -> Function:
    """Returns a function that applies "sigmoid" or "softmax" to the output of another; the same function for None."""
    return function if link is None else LINKS[link](function)


@dataclass(frozen=True)
class _Sigmoid:
    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        positive = scipy.special.expit(np.asarray(self.function(rows), dtype=np.float64)).reshape(count_rows(rows), -1)
        if positive.shape[1] != 1:
            raise ModelError(
                "output",
                got=f'"sigmoid" for {positive.shape[1]} logits for each row',
                wanted="one",
                hint=Set("output", "softmax"),
            )
        return np.column_stack([1 - positive, positive])


@dataclass(frozen=True)
class _Softmax:
    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        logits = np.asarray(self.function(rows), dtype=np.float64).reshape(count_rows(rows), -1)
        if logits.shape[1] < 2:
            raise ModelError(
                "output", got='"softmax" for one logit a row', wanted="two or more", hint=Set("output", "sigmoid")
            )
        return np.asarray(scipy.special.softmax(logits, axis=1))


LINKS: dict[str | None, type[_Sigmoid] | type[_Softmax]] = {"sigmoid": _Sigmoid, "softmax": _Softmax}


def linked_by(function: Function) -> tuple[Function, str | None]:
    """Returns the function that a link was applied to, and the link: the inverse of :func:`linked`."""
    if not isinstance(function, (_Sigmoid, _Softmax)):
        return function, None
    return function.function, next(name for name, kind in LINKS.items() if isinstance(function, kind))


@dataclass(frozen=True)
class Votes:
    """One-hot rows of the labels that a classifier returns."""

    function: Function
    classes: tuple[Any, ...]

    def __call__(self, rows: Any) -> np.ndarray:
        labels = np.asarray(self.function(rows)).reshape(-1, 1)
        kind = object if len({type(label) for label in self.classes}) > 1 else None
        return np.asarray(labels == np.array(self.classes, dtype=kind), dtype=np.float64)


@dataclass(frozen=True)
class Shares:
    """Scores of several classes, divided by their sum: one-vs-rest scores need not add up to 1."""

    function: Function

    def __call__(self, rows: Any) -> np.ndarray:
        scores = np.asarray(self.function(rows), dtype=np.float64)
        return scores / scores.sum(axis=1, keepdims=True) if scores.ndim == 2 else scores


def has_several_labels(model: Any) -> bool:
    """Tells whether a classifier has a list of classes for several responses, each of them zero or one."""
    classes = getattr(model, "classes_", None)
    return isinstance(classes, list) and all(set(np.ravel(labels).tolist()) <= {0, 1} for labels in classes)


@dataclass(frozen=True)
class LabelProbabilities:
    """Probabilities (n, k) of k labels, from a function that returns a list of probabilities of zero and one."""

    function: Function
    classes: tuple[tuple[int, ...], ...]

    def __call__(self, rows: Any) -> np.ndarray:
        by_label = self.function(rows)
        if not isinstance(by_label, list):
            return np.asarray(by_label)
        columns = [
            np.asarray(shares)[:, labels.index(1)] if 1 in labels else np.zeros(len(shares))
            for shares, labels in zip(by_label, self.classes, strict=True)
        ]
        return np.column_stack(columns)


def classes_of(model: Any) -> tuple[Any, ...] | None:
    """Returns the class labels of a classifier; raises for a classifier with several responses."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if isinstance(classes, list) and any(isinstance(labels, (list, np.ndarray)) for labels in classes):
        raise ModelError(
            "model",
            got=f"{type(model).__name__} with {len(classes)} responses that are not zeros and ones",
            wanted="a classifier with one response, or with several labels of zero and one",
            hint="one explanation for each response, with a callable that returns its probabilities",
        )
    return tuple(np.asarray(classes).tolist()) or None


def unfitted(model: Any) -> ModelError:
    """Returns the error for a model that is not fitted."""
    return ModelError(
        "model",
        got=f"{type(model).__name__}, which is not fitted",
        wanted="a fitted model",
        hint="model.fit(...) first",
    )


def unknown_output(name: str, output: str | None) -> InputError:
    """Returns the error for an ``output`` that a model does not have."""
    return InputError(
        "output",
        got=f"{output!r}, which {name} does not have",
        wanted="a method of the model, such as "
        '"predict_proba", or "sigmoid" / "softmax" for a model that returns logits',
    )
