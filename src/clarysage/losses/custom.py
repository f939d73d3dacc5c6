"""Losses that are functions of the user's own; their best constant prediction is found by trial."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from clarysage.errors import InputError, PythonOnly
from clarysage.losses.debiasing import Debiasing, Plain
from clarysage.losses.regression import moderate
from clarysage.protocols import LossTask

TRIALS = 65  # constants between the smallest and the largest response
DOUBLINGS = 40  # of the step, to find an end beyond them
LEAST_SHARE = 1e-6  # of a class, where logarithms are to begin

Risk = Callable[[np.ndarray], float]


@dataclass(frozen=True)
class CustomLoss:
    """Any ``function(y_true, y_pred)`` that returns one value per example.

    ``y_true`` is the response as handed in, one entry a row; ``y_pred`` is (n,) for one output, else (n, k).
    """

    function: Callable[[Any, Any], Any]
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "any"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = Plain()

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
                "loss",
                got=f"values of shape {losses.shape} from {self.name} for {len(target):,} examples",
                wanted="one value per example, not reduced",
                hint=["leaving out the mean", PythonOnly(": lambda y, p: (y - p) ** 2")],
            )
        return moderate(losses, self.name)

    def best_constant(self, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
        """Found by trial."""
        return best_by_trial(self, target, weights, outputs)

    def _called(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.function(y_true, y_pred), dtype=np.float64)
        except Exception as error:
            raise InputError(
                "loss",
                got=f"{type(error).__name__} from {self.name}: {error}",
                wanted="a function of (y_true, y_pred) that returns one number per example",
            ) from error


def best_by_trial(loss: Any, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
    """The constant (k,) whose mean loss is least, as far as a search finds it.

    One output is searched along the responses, several numbers around their means. Several outputs beside one response
    are probabilities of its classes in sorted order, and the search keeps to such.

    Examples
    --------
    >>> best_by_trial(lambda p, y: np.abs(p[:, 0] - y) ** 3, np.array([0.0, 0.0, 3.0]), np.ones(3), 1).round(3)
    array([1.243])
    """
    there = weights > 0
    target, weights = target[there], weights[there] / weights.sum()

    def mean(constant: np.ndarray) -> float:
        return float(weights @ loss(np.tile(constant, (len(target), 1)), target))

    def risk(constant: np.ndarray) -> float:
        try:
            with np.errstate(all="ignore"):
                return mean(constant)
        except InputError:  # a loss that is infinite there, or not defined
            return np.inf

    if outputs > 1 and target.ndim == 1:
        best = _best_shares(risk, target, weights, outputs)
    else:
        columns = _numbers(target, outputs)
        best = _best_number(risk, columns[:, 0]) if outputs == 1 else _best_numbers(risk, columns)
    mean(best)  # which raises, where no constant will do
    return best


def _numbers(target: np.ndarray, outputs: int) -> np.ndarray:
    """Responses as numbers, (n, k)."""
    try:
        columns = target.astype(np.float64).reshape(len(target), -1)
    except (TypeError, ValueError) as error:
        raise InputError(
            "loss",
            got=f"a function, and labels such as {target.ravel()[0]!r} for a model of one output",
            wanted="numbers, among which to look for the best constant",
        ) from error
    return np.repeat(columns, outputs, axis=1) if columns.shape[1] == 1 else columns


def _best_number(risk: Risk, y: np.ndarray) -> np.ndarray:
    points = list(np.unique(np.quantile(y, np.linspace(0, 1, TRIALS))))
    step = max(points[-1] - points[0], abs(points[0]), 1.0) / TRIALS
    points = [points[0] - step, *points, points[-1] + step]
    risks = [risk(np.array([point])) for point in points]
    for _ in range(DOUBLINGS):
        best, step = int(np.argmin(risks)), 2 * step
        if 0 < best < len(points) - 1:
            break
        place, point = (0, points[0] - step) if best == 0 else (len(points), points[-1] + step)
        points.insert(place, point)
        risks.insert(place, risk(np.array([point])))
    best = int(np.argmin(risks))
    if not 0 < best < len(points) - 1 and np.isfinite(risks[best]):
        raise InputError("loss", got="a function that keeps falling as predictions grow", wanted="one with a minimum")
    around = (points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)])
    from scipy.optimize import minimize_scalar  # which takes long to load, and is hardly ever needed

    found = minimize_scalar(lambda c: risk(np.array([c])), bounds=around, options={"xatol": 1e-10 * step})
    return np.array([found.x if found.fun < risks[best] else points[best]])


def _best_numbers(risk: Risk, columns: np.ndarray) -> np.ndarray:
    start = min((columns.mean(axis=0), np.median(columns, axis=0)), key=risk)
    return _improved(risk, start, lambda constant: constant)


def _best_shares(risk: Risk, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
    numbers = np.unique(target, return_inverse=True)[1].ravel()
    shares = np.bincount(numbers, weights, minlength=outputs)[:outputs]
    shares = shares / shares.sum()
    start = min((shares, np.full(outputs, 1 / outputs), *np.eye(outputs)), key=risk)
    logits = np.log(np.maximum(shares, LEAST_SHARE))
    found = _improved(risk, logits, scipy.special.softmax)
    return found if risk(found) < risk(start) else start


def _improved(risk: Risk, start: np.ndarray, shown: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Where a search without derivatives ends."""
    from scipy.optimize import minimize

    found = minimize(lambda x: risk(shown(x)), start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-14})
    return np.asarray(shown(found.x if found.fun < risk(shown(start)) else start))
