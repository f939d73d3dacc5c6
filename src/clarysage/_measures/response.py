"""What a response is: numbers, or classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ClarysageError, InputError
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, looks_like_two_classes
from clarysage.models import as_predictor


def is_of_classes(y: np.ndarray, model: Any = None, loss: Any = "auto") -> bool:
    """Whether responses are classes.

    Text and booleans are. Numbers are if a loss of classes is asked for, or else a model is a classifier; where neither
    says, if they are two whole numbers such as 0 and 1.

    Examples
    --------
    >>> is_of_classes(np.array([0, 1, 1])), is_of_classes(np.array([0, 1, 2])), is_of_classes(np.array(["a", "b"]))
    (True, False, True)
    """
    if y.dtype.kind in "bUSO":
        return True
    if y.ndim > 1:
        return False
    asked = [as_loss(one) for one in (loss if isinstance(loss, (list, tuple)) else [loss]) if not is_auto(one)]
    if any(one.task == "classification" for one in asked):
        return True
    if asked and all(one.task == "regression" for one in asked):
        return False
    task = None if model is None else _task(model)
    return looks_like_two_classes(y) if task is None else task == "classification"


def as_columns(y: np.ndarray, model: Any = None) -> np.ndarray:
    """Responses as columns of numbers (n, k), those of classes as one indicator a class.

    Examples
    --------
    >>> as_columns(np.array(["b", "a", "c"]))
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 1.]])
    """
    if not is_of_classes(y, model):
        return y.astype(np.float64).reshape(len(y), -1)
    if y.ndim > 1:
        raise InputError("y", got=f"labels of shape {y.shape}", wanted="one label a row, or numbers")
    try:
        classes, numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InputError("y", got=f"labels of different kinds ({error})", wanted="labels of one kind") from error
    return np.eye(len(classes))[numbers.ravel()]


def _task(model: Any) -> str | None:
    try:
        return as_predictor(model).task
    except ClarysageError:  # a model that cannot be asked has nothing to say here
        return None
