"""Callables, and objects that merely have a predict method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.models.outputs import CLASSIFIER, LINKS, REGRESSOR, classes_of, from_methods, linked, unknown_output
from clarysage.models.predictor import Predictor


@dataclass(frozen=True)
class AnyModel:
    """Reads an object with ``predict_proba`` or ``predict``, or a callable."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        model = self.model
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

    def coefficients(self) -> np.ndarray | None:
        return coefficients_of(self.model)


def coefficients_of(model: Any) -> np.ndarray | None:
    """Weights (D, K) of an estimator with ``coef_`` of shape (D,) or (K, D); None without it."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None:
        return None
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.atleast_2d(np.asarray(dense, dtype=np.float64)).T
