"""LightGBM: boosters, and the scikit-learn wrappers around them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import from_estimator


def from_wrapper(model: Any, output: str | None) -> Predictor:
    """A predictor from LGBMClassifier, LGBMRegressor and their kin."""
    predictor = from_estimator(model, output)
    if _names(predictor.feature_names or ()) is None:  # names that LightGBM gave, not the user
        return replace(predictor, feature_names=None, container=None)
    return predictor


def from_booster(model: Any, output: str | None) -> Predictor:
    """A predictor from a Booster, up to its best iteration; probabilities for classification objectives."""
    header = re.search(r"^objective=(\S+)", model.model_to_string(num_iteration=1), flags=re.MULTILINE)
    objective = header.group(1) if header else ""
    names = _names(tuple(model.feature_name()))
    predictor = Predictor(_Boosted(model), "Booster", "regression", feature_names=names,
                          container="pandas" if names else None)  # fmt: skip
    if objective in ("binary", "cross_entropy", "multiclass", "multiclassova"):
        classes = tuple(range(max(model.num_model_per_iteration(), 2)))
        return replace(predictor, task="classification", classes=classes)
    return predictor


@dataclass(frozen=True)
class _Boosted:
    booster: Any

    def __call__(self, rows: Any) -> np.ndarray:
        outputs = np.asarray(self.booster.predict(rows))
        if outputs.ndim == 2 and "multiclassova" in str(self.booster.params.get("objective", "")):
            return np.asarray(outputs / outputs.sum(axis=1, keepdims=True))
        return outputs


def _names(names: tuple[str, ...]) -> tuple[str, ...] | None:
    given = any(not re.fullmatch(r"Column_\d+", name) for name in names)
    return names if given else None
