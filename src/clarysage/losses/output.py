"""An output of the model in the place of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.losses.debiasing import Debiasing, Linear
from clarysage.protocols import LossTask


@dataclass(frozen=True)
class Output:
    """Minus one output of the model, whatever y is, so that the payoff of a coalition is that output of f_S.

    Examples
    --------
    >>> Output(1)(np.array([[0.2, 0.8]]), np.zeros(1))
    array([-0.8])
    """

    number: int
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "any"
    degree: ClassVar[int | None] = 1
    debiasing: ClassVar[Debiasing] = Linear()

    @property
    def name(self) -> str:
        return f"output {self.number}"

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return np.zeros(len(outputs))

    def check(self, outputs: np.ndarray) -> None:
        """Any finite number is an output."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        return np.asarray(-prediction[..., self.number])

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Nothing, since there is no best."""
        return np.zeros(outputs)
