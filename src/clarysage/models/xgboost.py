"""XGBoost: boosters, and the scikit-learn wrappers around them."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import from_estimator


def from_wrapper(model: Any, output: str | None) -> Predictor:
    """A predictor from XGBClassifier, XGBRegressor and their kin, which honour best_iteration themselves."""
    return from_estimator(model, output)


def from_booster(model: Any, output: str | None) -> Predictor:
    """A predictor from a Booster, up to its best iteration, with probabilities for every classification objective."""
    objective = json.loads(model.save_config())["learner"]["objective"]["name"]
    is_classifier = objective.startswith(("binary:", "multi:"))
    link = {"binary:logitraw": "sigmoid", "binary:hinge": "sigmoid", "multi:softmax": "softmax"}.get(objective, "")
    best = model.attr("best_iteration")
    function = _Boosted(model, link, 0 if best is None else int(best) + 1)
    predictor = Predictor(
        function,
        "Booster",
        task="classification" if is_classifier else "regression",
        feature_names=tuple(model.feature_names) if model.feature_names else None,
    )
    if not is_classifier:
        return predictor
    groups = int(json.loads(model.save_config())["learner"]["learner_model_param"]["num_class"])
    return replace(predictor, classes=tuple(range(max(groups, 2))))


@dataclass(frozen=True)
class _Boosted:
    booster: Any
    link: str
    rounds: int

    def __call__(self, rows: Any) -> np.ndarray:
        import xgboost

        options: dict[str, Any] = {"iteration_range": (0, self.rounds)}
        if isinstance(rows, np.ndarray) and rows.dtype != object:
            kind = "margin" if self.link else "value"
            return self._linked(
                self.booster.inplace_predict(rows, predict_type=kind, validate_features=False, **options)
            )
        data = xgboost.DMatrix(rows, enable_categorical=True)
        return self._linked(self.booster.predict(data, output_margin=bool(self.link), **options))

    def _linked(self, outputs: np.ndarray) -> np.ndarray:
        if self.link == "sigmoid":
            return np.asarray(expit(outputs))
        return np.asarray(softmax(outputs, axis=1)) if self.link == "softmax" else outputs
