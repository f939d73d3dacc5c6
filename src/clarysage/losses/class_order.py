"""The order of classes: which class each output of a model is of, if the model does not say so itself."""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any

import numpy as np

from clarysage.errors import Advice, Call, ModelError, Note, Set
from clarysage.losses.classification import MOST_NAMED, NAMED, are_probabilities, class_target, presumed_classes

NO_PROBABILITY = 1e-6  # the largest probability of a class that is said to have none
CLEAR, FEWEST = 4.0, 20  # standard errors, and rows, that refute the presumed classes; with less there is a warning


def about_classes(classes: Sequence[Any] | None, y: np.ndarray, outputs: np.ndarray) -> list[Note | str]:
    """Returns notes on the classes of outputs (n, k); raises if y contradicts the classes that were presumed.

    Parameters
    ----------
    classes : the classes as the model names them, None if it does not
    y : labels (n,); a response that is soft has probabilities of classes (n, k) instead

    Examples
    --------
    >>> about_classes(None, np.array([0, 1]), np.array([[0.9, 0.1], [0.4, 0.6]]))
    []
    """
    k = max(outputs.shape[1], 2)
    target = class_target(y, classes, outputs.shape[1])
    if target.ndim > 1:
        return []
    names = presumed_classes(y, k) if classes is None else list(classes)
    by_class = np.column_stack([1 - outputs, outputs]) if outputs.shape[1] == 1 else outputs
    if are_probabilities(by_class) and not np.isin(by_class, (0.0, 1.0)).all():
        without = [number for number in np.unique(target) if by_class[:, number].max() <= NO_PROBABILITY]
        if without and classes is None:
            raise _contradicted(names, target, f"the class {names[without[0]]!r}, whose output is never above zero")
        if without:
            label = names[without[0]]
            text = f"The model never gives the class {label!r} any probability, although y has it."
            return [
                Note(text, "Check that its outputs are in the order of its classes, and that it was fitted on all.")
            ]
        if classes is None and _may_count_from_one(names, target):
            rows = np.arange(len(target))
            from_zero, from_one = (by_class[rows, numbers] for numbers in (target, target - 1))
            error = (from_one - from_zero).std() / np.sqrt(len(rows))
            if len(rows) >= FEWEST and (from_one - from_zero).mean() > CLEAR * error:
                raise _contradicted(
                    names,
                    target,
                    f"labels from 1, to which the outputs give a mean probability of {from_one.mean():.2g} if they are "
                    f"of the classes from 1 to {k}, and of {from_zero.mean():.2g} if of those from 0 to {k - 1}",
                )
    if classes is not None or (names == list(range(k)) and 0 in target):  # numbered from zero, as y shows
        return []
    text = f"The model's outputs were assumed to be of the classes {_listed(names)}, in this order"
    if _may_count_from_one(names, target):
        return [Note(f"{text}, although y has no {names[0]!r}.", ["Try ", *_named(names, target), "."])]
    return [f"{text}; see as_predictor(classes=)."]


def _may_count_from_one(names: Sequence[Any], target: np.ndarray) -> bool:
    """Tells whether class numbers (n,) may as well be labels that begin with one; two classes are often 0 and 1."""
    return len(names) > 2 and list(names) == list(range(len(names))) and 0 not in target


def _contradicted(names: Sequence[Any], target: np.ndarray, got: str) -> ModelError:
    expected = f"labels of the presumed classes {_listed(names)}"
    return ModelError("y", got=got, wanted=expected, hint=_named(names, target))


def _named(names: Sequence[Any], target: np.ndarray) -> list[str | Advice]:
    """Returns advice to name the classes: numbers from one where they are possible, else one letter for each class."""
    k = len(names)
    if k > MOST_NAMED:
        return [NAMED, f" with {k} names"]
    if _may_count_from_one(names, target):
        from_one = tuple(str(number) for number in range(1, k + 1))
        return [Call("as_predictor", "model", (Set("classes", from_one),)), " if labels are numbered from 1"]
    return [Call("as_predictor", "model", (Set("classes", tuple(ascii_lowercase[:k])),))]


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
