"""Losses of margins, the scores of classifiers such as support vector machines: hinge loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.errors import Call, ModelError, Or, Set, Words
from clarysage.losses.classification import class_target
from clarysage.losses.debiasing import Debiasing, PlugIn
from clarysage.losses.regression import moderate
from clarysage.protocols import LossTask

MARGINS: tuple[str | Call, ...] = (
    Call("as_predictor", "model", (Set("output", "decision_function"),)),
    " for margins of two classes",
)


@dataclass(frozen=True)
class Hinge:
    """Hinge loss max(0, 1 - margin) of two classes, where margins above zero are votes for the second class.

    The model returns one margin for each row, as the method ``decision_function`` does.

    Examples
    --------
    >>> Hinge()(np.array([[0.5], [0.5], [3.0]]), np.array([1, 0, 1]))
    array([0.5, 1.5, 0. ])
    """

    name: ClassVar[str] = "hinge"
    ceiling: ClassVar[float] = math.inf
    task: ClassVar[LossTask] = "classification"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(is_adjusted=True)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        target = class_target(y.ravel() if y.ndim == 2 and y.shape[1] == 1 else y, classes, 1)
        is_like_probabilities = bool(((outputs >= 0) & (outputs <= 1)).all())
        if classes is None and is_like_probabilities and len(np.unique(target)) == 2:
            raise _no_margins("outputs that are all between 0 and 1, as probabilities are")
        return target

    def check(self, outputs: np.ndarray) -> None:
        if outputs.shape[1] != 1:
            raise _no_margins(f"{outputs.shape[1]} outputs for each row")

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        margin = np.where(target == 1, prediction[..., 0], -prediction[..., 0])
        return moderate(np.maximum(1 - margin, 0.0), self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns a margin of one for the class that is more frequent, or of zero where none is."""
        share = np.average(target == 1, weights=weights)
        return np.array([np.sign(np.round(share - 0.5, 12))])


def _no_margins(got: str) -> ModelError:
    hint: Words = [*MARGINS, Or(), Set("loss", "zero one"), " for labels or for several classes"]
    return ModelError("model", got=got, wanted='one margin for each row, for the loss "hinge"', hint=hint)
