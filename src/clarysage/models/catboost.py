"""CatBoost models, categorical columns included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.predictor import Predictor, linked, unknown_output

CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "Focal")


def from_catboost(model: Any, output: str | None) -> Predictor:
    """A predictor from CatBoostClassifier, CatBoostRegressor or a loaded CatBoost model."""
    name = type(model).__name__
    if not model.is_fitted():
        raise ModelError(
            "model", got=f"{name}, which is not fitted", wanted="a fitted model", hint="model.fit(...) first"
        )
    names = tuple(model.feature_names_ or ())
    common: dict[str, Any] = {
        "name": name,
        "feature_names": names if names and names != tuple(map(str, range(len(names)))) else None,
        "container": "pandas" if model.get_cat_feature_indices() else None,
    }
    if output is not None and output not in ("sigmoid", "softmax"):
        if not callable(getattr(model, output, None)):
            raise unknown_output(name, output)
        return Predictor(getattr(model, output), task="classification" if output == "predict_proba" else None, **common)
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    if loss not in CLASSIFIERS:
        return Predictor(linked(_Boosted(model, "RawFormulaVal"), output), task="regression", **common)
    classes = tuple(np.asarray(model.classes_).tolist()) or None
    return Predictor(_Boosted(model, "Probability"), task="classification", classes=classes, **common)


@dataclass(frozen=True)
class _Boosted:
    model: Any
    kind: str

    def __call__(self, rows: Any) -> np.ndarray:
        outputs = np.asarray(self.model.predict(rows, prediction_type=self.kind, thread_count=1))
        total = outputs.sum(axis=1, keepdims=True) if outputs.ndim == 2 and self.kind == "Probability" else None
        return outputs if total is None else outputs / total  # one-against-all probabilities need not add up to one
