"""Callables, and objects that merely have a predict method."""

from __future__ import annotations

from typing import Any

from clarysage.errors import InputError
from clarysage.models.outputs import CLASSIFIER, LINKS, REGRESSOR, classes_of, from_methods, linked, unknown_output
from clarysage.models.predictor import Predictor


def from_anything(model: Any, output: str | None) -> Predictor:
    """A predictor from an object with ``predict_proba`` or ``predict``, or from a callable."""
    if hasattr(model, "predict_proba") or hasattr(model, "predict"):
        values = CLASSIFIER if hasattr(model, "predict_proba") or hasattr(model, "classes_") else REGRESSOR
        return from_methods(model, output, values=values, classes=classes_of(model))
    name = getattr(model, "__name__", type(model).__name__)
    if not callable(model):
        raise InputError(
            "model",
            got=f"{type(model).__name__}, which is neither callable nor has a predict method",
            wanted="a fitted model, or a callable that takes rows and returns predictions",
        )
    if output not in (None, *LINKS):
        raise unknown_output(name, output)
    return Predictor(linked(model, output), name, task="classification" if output else None)
