"""An output of the model in the place of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.losses.debiasing import FewForm, Strata
from clarysage.losses.subsample import Few


@dataclass(frozen=True)
class Itself:
    """A mean over few rows: right on average, whatever the model, since an output is linear in itself."""

    is_unbiased: bool = True
    errs_with_loss: bool = False
    rows: int = 2
    knows_excess: bool = True

    def strata(self, loss: Any, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        return None

    def __call__(self, loss: Any, few: Few, target: np.ndarray) -> np.ndarray:
        return np.asarray(loss(few.mean, target))

    def excess(self, loss: Any, few: Few, target: np.ndarray, variance: np.ndarray) -> np.ndarray:
        return np.zeros(len(variance))

    def tilt(self, loss: Any, few: Few, target: np.ndarray, towards: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.asarray(loss(towards, target))


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
    few: ClassVar[FewForm] = Itself()

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
