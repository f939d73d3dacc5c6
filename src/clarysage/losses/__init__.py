"""Losses l(prediction, y): one value per example. ``LOSSES`` is the table of names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clarysage.errors import InputError, resembling
from clarysage.losses.classification import Brier, CrossEntropy, ZeroOne
from clarysage.losses.custom import CustomLoss
from clarysage.losses.regression import AbsoluteError, SquaredError
from clarysage.protocols import Loss

LOSSES: dict[str, Callable[[], Loss]] = {
    "squared error": SquaredError,
    "absolute error": AbsoluteError,
    "cross entropy": CrossEntropy,
    "zero one": ZeroOne,
    "brier": Brier,
}


def as_loss(loss: Any) -> Loss:
    """A loss by name, as an object, or from a callable ``loss(y_true, y_pred)`` that returns one value per example.

    Examples
    --------
    >>> as_loss("zero one").name
    'zero one'
    """
    if isinstance(loss, str):
        name = loss.lower().replace("_", " ").replace("-", " ").strip()
        if name not in LOSSES:
            known = ", ".join(map(repr, LOSSES))
            raise InputError("loss", got=f"{loss!r}", wanted=f"one of {known}, or a callable loss(y_true, y_pred)",
                             hint=resembling(name, LOSSES))  # fmt: skip
        return LOSSES[name]()
    if isinstance(loss, type) and issubclass(loss, (SquaredError, AbsoluteError, CrossEntropy, ZeroOne, Brier)):
        return loss()
    if hasattr(loss, "encode") and hasattr(loss, "ceiling") and callable(loss):
        return loss  # type: ignore[no-any-return]
    if callable(loss):
        return CustomLoss(loss)
    raise InputError("loss", got=f"{type(loss).__name__}", wanted="a name, a callable loss(y_true, y_pred), or a list")


__all__ = ["LOSSES", "AbsoluteError", "Brier", "CrossEntropy", "CustomLoss", "SquaredError", "ZeroOne", "as_loss"]
