"""Losses l(prediction, y): one value per example. Their names are in :mod:`clarysage.catalogue`."""

from __future__ import annotations

from typing import Any

from clarysage.catalogue import LOSSES
from clarysage.errors import InputError
from clarysage.losses.classification import Brier, CrossEntropy, ZeroOne
from clarysage.losses.custom import CustomLoss
from clarysage.losses.regression import AbsoluteError, SquaredError
from clarysage.protocols import Loss, ability

MEMBERS = ("name", "task", "degree", "debiasing", "ceiling", "encode", "check", "best_constant")


def as_loss(loss: Any) -> Loss:
    """A loss by name, as an object, or from a callable ``loss(y_true, y_pred)`` that returns one value per example.

    Examples
    --------
    >>> as_loss("zero one").name
    'zero one'
    """
    if isinstance(loss, str):
        named: Loss = LOSSES.get_row(loss)()
        return named
    if isinstance(loss, type) and hasattr(loss, "encode"):
        return as_loss(loss())
    ready = ability(loss, Loss)
    if ready is not None and callable(loss):
        return ready
    if not callable(loss):
        wanted = "a name, a callable loss(y_true, y_pred), or a list"
        raise InputError("loss", got=f"{type(loss).__name__}", wanted=wanted)
    if hasattr(loss, "encode"):  # meant as a loss, since functions of (y_true, y_pred) have no such method
        lacking = ", ".join(member for member in MEMBERS if not hasattr(loss, member))
        wanted = "all members of clarysage.protocols.Loss"
        raise InputError("loss", got=f"a {type(loss).__name__} without {lacking}", wanted=wanted)
    return CustomLoss(loss)


__all__ = ["LOSSES", "AbsoluteError", "Brier", "CrossEntropy", "CustomLoss", "SquaredError", "ZeroOne", "as_loss"]
