"""Callables, and objects that merely have a predict method."""

from __future__ import annotations

from typing import Any

from clarysage.errors import InputError
from clarysage.models.predictor import Predictor, linked, unknown_output


def from_anything(model: Any, output: str | None) -> Predictor:
    """A predictor from an object with ``predict_proba`` or ``predict``, or from a callable."""
    name = getattr(model, "__name__", type(model).__name__)
    for method in (output, "predict_proba", "predict"):
        if method and method not in ("sigmoid", "softmax") and callable(getattr(model, method, None)):
            classes = getattr(model, "classes_", None)
            return Predictor(
                linked(getattr(model, method), output),
                name,
                task="classification" if method == "predict_proba" else None,
                classes=None if classes is None or method == "predict" else tuple(classes),
            )
    if output not in (None, "sigmoid", "softmax"):
        raise unknown_output(name, output or "")
    if not callable(model):
        raise InputError(
            "model",
            got=f"{type(model).__name__}, which is neither callable nor has a predict method",
            wanted="a fitted model, or a callable that takes rows and returns predictions",
        )
    return Predictor(linked(model, output), name, task="classification" if output else None)
