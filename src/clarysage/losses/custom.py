"""A loss of the user's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.losses.constants import best_by_trial
from clarysage.losses.size import moderate


@dataclass(frozen=True)
class CustomLoss:
    """Any ``function(y_true, y_pred)`` that returns one value per example.

    ``y_true`` is the response as handed in, one entry a row; ``y_pred`` is (n,) for one output, else (n, k).
    """

    function: Callable[[Any, Any], Any]
    ceiling: float = math.inf

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return y

    def check(self, outputs: np.ndarray) -> None:
        """Whatever the model returns, the function judges."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        shown = prediction[:, 0] if prediction.shape[1] == 1 else prediction
        losses = self._called(target.copy(), shown.copy())  # copies, which the function may write into
        if losses.shape == (len(target), 1):
            losses = losses[:, 0]
        if losses.shape != (len(target),):
            raise InputError(
                "loss", got=f"values of shape {losses.shape} from {self.name} for {len(target):,} examples",
                wanted="one value per example, not reduced", hint="leaving out the mean: lambda y, p: (y - p) ** 2",
            )  # fmt: skip
        return moderate(losses, self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Found by trial; see :func:`~clarysage.losses.constants.best_by_trial`."""
        return best_by_trial(self, target, weights, outputs)

    def _called(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.function(y_true, y_pred), dtype=np.float64)
        except Exception as error:
            raise InputError(
                "loss", got=f"{type(error).__name__} from {self.name}: {error}",
                wanted="a function of (y_true, y_pred) that returns one number per example",
            ) from error  # fmt: skip
