"""User-defined losses; their best constant prediction is found by numerical optimisation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from clarysage.errors import InputError, PythonOnly
from clarysage.losses.debiasing import Debiasing, PlugIn
from clarysage.losses.regression import moderate
from clarysage.protocols import LossTask

GRID = 65  # number of grid points between the smallest and the largest response
DOUBLINGS = 40  # most doublings of the step, to bracket a minimum outside the grid
LEAST_SHARE = 1e-6  # least class frequency whose logarithm is a starting point

Risk = Callable[[np.ndarray], float]


@dataclass(frozen=True)
class CustomLoss:
    """A loss made of any ``function(y_true, y_pred)`` that returns one value per example.

    ``y_true`` is the response as the user gave it, one entry for each row; ``y_pred`` is (n,) for one output, else
    (n, k).
    """

    function: Callable[[Any, Any], Any]
    ceiling: float = math.inf
    task: ClassVar[LossTask] = "any"
    degree: ClassVar[int | None] = None
    debiasing: ClassVar[Debiasing] = PlugIn(jumps=None)

    @property
    def name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def encode(self, y: np.ndarray, classes: Sequence[Any] | None, outputs: np.ndarray) -> np.ndarray:
        return y

    def check(self, outputs: np.ndarray) -> None:
        """Accepts all outputs; the function itself must handle them."""

    def __call__(self, prediction: np.ndarray, target: np.ndarray) -> np.ndarray:
        y_pred = prediction[:, 0] if prediction.shape[1] == 1 else prediction
        losses = self._called(target.copy(), y_pred.copy())  # copies, which the function may write into
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
        """Returns the minimiser of the mean loss, found numerically."""
        return minimise_risk(self, target, weights, outputs)

    def _called(self, y_true: np.ndarray, y_pred: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.function(y_true, y_pred), dtype=np.float64)
        except Exception as error:
            raise InputError(
                "loss",
                got=f"{type(error).__name__} from {self.name}: {error}",
                wanted="a function of (y_true, y_pred) that returns one number per example",
            ) from error


def minimise_risk(loss: Any, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
    """Returns the constant (k,) of least mean loss (empirical risk), as far as a numerical search finds it.

    For one output, the search is a grid between the responses, followed by bounded scalar minimisation. For several
    numeric responses, Powell's method starts at the means or the medians. Several outputs for a single response are
    probabilities of its classes in sorted order; the search is then over their log odds (softmax).

    Examples
    --------
    >>> minimise_risk(lambda p, y: np.abs(p[:, 0] - y) ** 3, np.array([0.0, 0.0, 3.0]), np.ones(3), 1).round(3)
    array([1.243])
    """
    is_positive = weights > 0
    target, weights = target[is_positive], weights[is_positive] / weights.sum()

    def mean(constant: np.ndarray) -> float:
        return float(weights @ loss(np.tile(constant, (len(target), 1)), target))

    def risk(constant: np.ndarray) -> float:
        try:
            with np.errstate(all="ignore"):
                return mean(constant)
        except InputError:  # a loss that is infinite or not defined at this constant
            return np.inf

    if outputs > 1 and target.ndim == 1:
        best = _best_shares(risk, target, weights, outputs)
    else:
        columns = _numbers(target, outputs)
        best = _best_number(risk, columns[:, 0]) if outputs == 1 else _best_numbers(risk, columns)
    mean(best)  # raises an error where the loss has no finite value
    return best


def _numbers(target: np.ndarray, outputs: int) -> np.ndarray:
    """Returns the responses as numbers, (n, k)."""
    try:
        columns = target.astype(np.float64).reshape(len(target), -1)
    except (TypeError, ValueError) as error:
        raise InputError(
            "loss",
            got=f"a function, and labels such as {target.ravel().tolist()[0]!r} for a model of one output",
            wanted="numeric responses, for which the best constant prediction can be computed",
        ) from error
    return np.repeat(columns, outputs, axis=1) if columns.shape[1] == 1 else columns


def _best_number(risk: Risk, y: np.ndarray) -> np.ndarray:
    points = list(np.unique(np.quantile(y, np.linspace(0, 1, GRID))))
    step = max(points[-1] - points[0], abs(points[0]), 1.0) / GRID
    points = [points[0] - step, *points, points[-1] + step]
    risks = [risk(np.array([point])) for point in points]
    for _ in range(DOUBLINGS):
        best, step = int(np.argmin(risks)), 2 * step
        if 0 < best < len(points) - 1:
            break
        index, point = (0, points[0] - step) if best == 0 else (len(points), points[-1] + step)
        points.insert(index, point)
        risks.insert(index, risk(np.array([point])))
    best = int(np.argmin(risks))
    if not 0 < best < len(points) - 1 and np.isfinite(risks[best]):
        raise InputError("loss", got="a function that keeps falling as predictions grow", wanted="one with a minimum")
    bounds = (points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)])
    from scipy.optimize import minimize_scalar  # imported here, since it takes long to load and is rarely needed

    minimum = minimize_scalar(lambda c: risk(np.array([c])), bounds=bounds, options={"xatol": 1e-10 * step})
    return np.array([minimum.x if minimum.fun < risks[best] else points[best]])


def _best_numbers(risk: Risk, columns: np.ndarray) -> np.ndarray:
    start = min((columns.mean(axis=0), np.median(columns, axis=0)), key=risk)
    return _powell(risk, start, lambda constant: constant)


def _best_shares(risk: Risk, target: np.ndarray, weights: np.ndarray, outputs: int) -> np.ndarray:
    numbers = np.unique(target, return_inverse=True)[1].ravel()
    shares = np.bincount(numbers, weights, minlength=outputs)[:outputs]
    shares = shares / shares.sum()
    start = min((shares, np.full(outputs, 1 / outputs), *np.eye(outputs)), key=risk)
    logits = np.log(np.maximum(shares, LEAST_SHARE))
    best = _powell(risk, logits, scipy.special.softmax)
    return best if risk(best) < risk(start) else start


def _powell(risk: Risk, start: np.ndarray, link: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Returns the minimiser of the risk by Powell's method, a search without derivatives, in the units of the link."""
    from scipy.optimize import minimize

    minimum = minimize(lambda x: risk(link(x)), start, method="Powell", options={"xtol": 1e-9, "ftol": 1e-14})
    return np.asarray(link(minimum.x if minimum.fun < risk(link(start)) else start))
