"""Cross entropy of several labels that are predicted independently of each other: multi-label classification."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.errors import Call, InputError, ModelError, Set
from clarysage.losses.classification import LEAST_FLOOR, SUM_TOLERANCE, best_probabilities, check_floor
from clarysage.losses.debiasing import Debiasing, Strata, TaylorLogarithm
from clarysage.protocols import LossTask


@dataclass(frozen=True)
class MultiLabel:
    """Multi-label cross entropy: the mean over labels of the binary cross entropy of each label.

    The model returns the probability of each label, (n, k), which need not add up to one; y is a matrix (n, k) of zeros
    and ones. With ``label`` the loss is the binary cross entropy of this label alone; :meth:`each` returns the losses
    of all labels, for one explanation of each in a single run. Probabilities of the true value are clipped to at least
    ``floor``, as in :class:`~clarysage.CrossEntropy`.

    Parameters
    ----------
    label : number of the only label that counts; None for the mean over all labels
    floor, default_floor : the least probability of a true value, as in :class:`~clarysage.CrossEntropy`

    Examples
    --------
    >>> outputs, y = np.array([[0.8, 0.5]]), np.array([[1, 0]])
    >>> MultiLabel()(outputs, y).round(4), MultiLabel(label=0)(outputs, y).round(4)
    (array([0.4581]), array([0.2231]))
    """

    label: int | None = None
    floor: float | None = None
    default_floor: float = LEAST_FLOOR
    task: ClassVar[LossTask] = "classification"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = TaylorLogarithm()

    def __post_init__(self) -> None:
        check_floor(self.floor)

    @classmethod
    def each(cls, labels: int) -> list[MultiLabel]:
        """Returns the losses of single labels, to be passed as a list of losses.

        Examples
        --------
        >>> [loss.name for loss in MultiLabel.each(2)]
        ['multi label cross entropy(0)', 'multi label cross entropy(1)']
        """
        return [cls(label=number) for number in range(labels)]

    @property
    def name(self) -> str:
        return "multi label cross entropy" + ("" if self.label is None else f"({self.label})")

    @property
    def clip(self) -> float:
        """The least probability that enters the loss."""
        return self.default_floor if self.floor is None else self.floor

    @property
    def ceiling(self) -> float:
        return -math.log(self.clip)

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        if np.isin(outputs, (0.0, 1.0)).all():
            raise _no_probabilities("outputs that are all 0 or 1, as labels are")
        target = y.reshape(len(y), -1)
        if target.shape != outputs.shape:
            raise InputError(
                "y",
                got=f"shape {y.shape} with model outputs of shape {outputs.shape}",
                wanted=f'one column of zeros and ones for each output, for the loss "{self.name}"',
                hint=[Set("loss", "cross entropy"), " for a single label of several classes"],
            )
        try:
            numbers = target.astype(np.float64)
        except (TypeError, ValueError):
            numbers = np.full(target.shape, np.nan)
        wrong = ~np.isin(numbers, (0.0, 1.0))
        if wrong.any():
            raise InputError(
                "y",
                got=f"entries such as {target[wrong].tolist()[0]!r}",
                wanted=f'zeros and ones, for the loss "{self.name}"',
            )
        if self.label is not None and not 0 <= self.label < target.shape[1]:
            raise InputError("label", got=repr(self.label), wanted=f"a number from 0 to {target.shape[1] - 1}")
        return numbers

    def check(self, outputs: np.ndarray) -> None:
        low, high = float(outputs.min()), float(outputs.max())
        if low < -SUM_TOLERANCE or high > 1 + SUM_TOLERANCE:
            raise _no_probabilities(f"outputs from {low:.4g} to {high:.4g}")

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        return self.expected(-np.log(np.maximum(self.probabilities(prediction, target), self.clip)), target)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Returns the frequencies of the labels; 0 or 1 for labels so rare, or frequent, that this costs less."""
        shares = np.average(target, axis=0, weights=weights)
        return np.array([best_probabilities(np.array([1 - share, share]), self.clip)[1] for share in shares])

    def probabilities(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the probabilities (n, k) of the true value of each label."""
        return np.where(target == 1, prediction, 1 - prediction)

    def variances(self, variance: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the variances (n, k) of these probabilities, which are those of the outputs."""
        return variance

    def expected(self, losses: np.ndarray, target: np.ndarray) -> np.ndarray:
        """Returns the losses (n,) of examples, from those of their labels (n, k)."""
        return np.asarray(losses.mean(axis=-1) if self.label is None else losses[..., self.label])

    def strata(self, alone: np.ndarray, target: np.ndarray) -> Strata | None:
        """Returns no strata: a row may be high for one label and low for another."""
        return None


def _no_probabilities(got: str) -> ModelError:
    hint = Call("as_predictor", "model", (Set("output", "predict_proba"),))
    return ModelError("model", got=got, wanted="the probability of each label", hint=hint)
