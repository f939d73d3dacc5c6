"""LightGBM: boosters, and the scikit-learn wrappers around them."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clarysage.models.outputs import Shares, from_methods
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import from_estimator
from clarysage.structure.form import Structure
from clarysage.structure.readers.lightgbm import structure_of_booster

CLASSIFIERS = ("binary", "cross_entropy", "multiclass", "multiclassova")


def from_wrapper(model: Any, output: str | None) -> Predictor:
    """A predictor from LGBMClassifier, LGBMRegressor and their kin, which honour best_iteration_ themselves."""
    own: dict[str, Any] = {"decision_function": partial(model.predict, raw_score=True)}
    if hasattr(model, "predict_proba") and not callable(model.objective):
        own["predict_proba"] = Shares(model.predict_proba)
    predictor = from_estimator(model, output, own=own, structure=partial(_structure, model))
    return replace(predictor, **_table(predictor.feature_names))


def _structure(model: Any) -> Structure:
    return structure_of_booster(model.booster_, both=hasattr(model, "classes_"))


def from_booster(model: Any, output: str | None) -> Predictor:
    """A predictor from a Booster, up to its best iteration; probabilities for classification objectives."""
    header = re.search(r"^objective=(\S+)", model.model_to_string(num_iteration=1), flags=re.MULTILINE)
    objective = header.group(1) if header else None  # None for one of the user's own, which says nothing
    is_classifier = objective in CLASSIFIERS
    return from_methods(
        model,
        output,
        values={"predict": "probabilities" if is_classifier else "numbers"},
        own={
            "predict": Shares(model.predict) if is_classifier else model.predict,
            "decision_function": partial(model.predict, raw_score=True),
        },
        classes=tuple(range(max(model.num_model_per_iteration(), 2))) if is_classifier else None,
        task="regression" if objective else None,
        structure=partial(structure_of_booster, model, both=False),
        **_table(tuple(model.feature_name())),
    )


def _table(names: tuple[str, ...] | None) -> dict[str, Any]:
    """What rows LightGBM takes: it knows names unless it made them up, and categories from pandas alone."""
    if names is None or all(re.fullmatch(r"Column_\d+", name) for name in names):
        return {"feature_names": None, "containers": ("pandas", "numpy")}
    return {"feature_names": names, "containers": ("pandas",)}


def tree_scores(model: Any, kind: str) -> np.ndarray:
    """A score of each column over the trees up to the best iteration, "gain" or "split"."""
    booster = getattr(model, "booster_", model)
    return np.asarray(booster.feature_importance(importance_type=kind), dtype=np.float64)
