"""Links: from margins, which add up along a model's parts, to predictions."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy

Link = Literal["identity", "logistic", "positive", "softmax", "exponential"]


def linked(margins: np.ndarray, link: Link) -> np.ndarray:
    """Predictions (..., k) of margins (..., K); "logistic" gives both classes, "positive" the second alone.

    Examples
    --------
    >>> linked(np.array([[0.0]]), "logistic")
    array([[0.5, 0.5]])
    """
    if link == "identity":
        return margins
    if link == "exponential":
        return np.asarray(np.exp(margins))
    if link == "softmax":
        return np.asarray(scipy.special.softmax(margins, axis=-1))
    positive = scipy.special.expit(margins)
    return positive if link == "positive" else np.concatenate([1 - positive, positive], axis=-1)


def outputs_of(margins: int, link: Link) -> int:
    """How many predictions so many margins make."""
    return 2 if link == "logistic" else margins


def means(margins: np.ndarray, mass: np.ndarray, link: Link) -> np.ndarray:
    """Mean predictions (..., k) over background rows of the given mass, of margins (..., K, m), which are used up.

    Where the rows are but a part of all, so are their masses of 1, and the means of all parts add up.
    """
    if link in ("logistic", "positive"):
        positive = scipy.special.expit(margins, out=margins) @ mass
        return positive if link == "positive" else np.concatenate([mass.sum() - positive, positive], axis=-1)
    if link == "softmax":
        return np.asarray(scipy.special.softmax(margins, axis=-2) @ mass)
    return np.asarray(linked(margins, link) @ mass)
