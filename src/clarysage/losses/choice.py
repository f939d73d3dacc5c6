"""Which loss fits a model, where the user did not say."""

from __future__ import annotations

import numpy as np

from clarysage.losses.classification import SUM_TOLERANCE


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
        return "zero one" if hard else "cross entropy"
    return "squared error"


def _looks_like_classification(outputs: np.ndarray, y: np.ndarray) -> bool:
    if y.dtype.kind in "bUSO":
        return True
    if (outputs < -SUM_TOLERANCE).any() or (outputs > 1 + SUM_TOLERANCE).any():
        return y.ndim == 1 and outputs.shape[1] > 1  # several numbers for one response: logits, which the loss refuses
    if outputs.shape[1] == 1:
        return y.ndim == 1 and bool(np.isin(y, (0, 1)).all())
    return y.ndim == 1 or bool(np.allclose(outputs.sum(axis=1), 1, atol=SUM_TOLERANCE))
