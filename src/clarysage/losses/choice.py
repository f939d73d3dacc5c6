"""Which loss fits a model, where the user did not say."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.catalogue import LOSSES
from clarysage.losses import as_loss
from clarysage.losses.classification import SUM_TOLERANCE


def is_auto(loss: Any) -> bool:
    """Whether the loss is left to us."""
    return LOSSES.is_special(loss)


def makes_shapley_effects(loss: Any) -> bool:
    """Whether a loss can be taken without y, against the model's own outputs: one of degree 2, or left to us."""
    return is_auto(loss) or (not isinstance(loss, (list, tuple)) and as_loss(loss).degree == 2)


def loss_for(task: str | None, hard: bool, outputs: np.ndarray, y: np.ndarray) -> str:
    """Name of the loss for a model's task, or, where it states none, for what its outputs (n, k) and y look like.

    Examples
    --------
    >>> loss_for("classification", False, np.array([[0.3, 0.7]]), np.array(["a"]))
    'cross entropy'
    """
    if task == "regression":
        return "squared error"
    if task == "classification" or (task is None and _looks_like_classification(outputs, y)):
        return "zero one" if hard or _looks_like_labels(task, outputs) else "cross entropy"
    return "squared error"


def _looks_like_labels(task: str | None, outputs: np.ndarray) -> bool:
    return task is None and outputs.shape[1] == 1 and bool(np.isin(outputs, (0.0, 1.0)).all())


def _looks_like_classification(outputs: np.ndarray, y: np.ndarray) -> bool:
    if y.dtype.kind in "bUSO":
        return True
    if (outputs < -SUM_TOLERANCE).any() or (outputs > 1 + SUM_TOLERANCE).any():
        return y.ndim == 1 and outputs.shape[1] > 1  # several numbers for one response: logits, which the loss refuses
    if outputs.shape[1] == 1:
        return y.ndim == 1 and looks_like_two_classes(y)
    return y.ndim == 1 or bool(np.allclose(outputs.sum(axis=1), 1, atol=SUM_TOLERANCE))


def looks_like_two_classes(y: np.ndarray) -> bool:
    """Whether numbers are labels of two classes: 0 and 1, or two whole numbers such as -1 and 1."""
    labels = np.unique(y)
    return bool(np.isin(labels, (0, 1)).all() or (len(labels) == 2 and (labels == np.round(labels)).all()))
