"""XGBoost: boosters, and the scikit-learn wrappers around them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.outputs import Values, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import from_estimator
from clarysage.structure.form import Structure, UnknownStructureError
from clarysage.structure.readers.xgboost import structure_of_booster

# objective -> the output to use, where the usual one is not probabilities
BOOSTER = {"binary:logitraw": "sigmoid", "multi:softmax": "softmax"}
WRAPPER = {"binary:logitraw": "sigmoid", "binary:hinge": "predict"}


def from_wrapper(model: Any, output: str | None) -> Predictor:
    """A predictor from XGBClassifier, XGBRegressor and their kin, which honour best_iteration themselves."""
    own = {"decision_function": partial(model.predict, output_margin=True)}
    structure = partial(_structure, model)
    return from_estimator(model, output or WRAPPER.get(model.objective), own=own, structure=structure)


def _structure(model: Any) -> Structure:
    if model.missing is not None and not np.isnan(model.missing):
        raise UnknownStructureError(f"{model.missing} stands for missing cells")
    best = getattr(model, "best_iteration", None)
    return structure_of_booster(
        model.get_booster(), None if best is None else best + 1, both=hasattr(model, "classes_")
    )


def from_booster(model: Any, output: str | None) -> Predictor:
    """A predictor from a Booster, up to its best iteration, with probabilities for every classification objective."""
    try:
        learner = json.loads(model.save_config())["learner"]
    except ValueError as error:
        raise unfitted(model) from error
    objective = learner["objective"]["name"]
    is_classifier = objective.startswith(("binary:", "multi:"))
    returns: Values = "labels" if objective in ("binary:hinge", "multi:softmax") else "probabilities"
    n_classes = max(int(learner["learner_model_param"]["num_class"]), 2)
    best = model.attr("best_iteration")
    boosted = _Boosted(model, 0 if best is None else int(best) + 1)
    return from_methods(
        model,
        output or BOOSTER.get(objective),
        values={"predict": returns if is_classifier else "numbers"},
        own={"predict": boosted, "decision_function": partial(boosted, margin=True)},
        classes=tuple(range(n_classes)) if is_classifier else None,
        task="regression" if objective.startswith(("reg:", "count:")) else None,
        feature_names=tuple(model.feature_names) if model.feature_names else None,
        containers=("pandas", "polars", "numpy"),
        structure=partial(structure_of_booster, model, boosted.rounds or None, both=False),
    )


@dataclass(frozen=True)
class _Boosted:
    booster: Any
    rounds: int

    def __call__(self, rows: Any, *, margin: bool = False) -> np.ndarray:
        import xgboost

        width = self.booster.num_features()
        if rows.shape[1] != width:  # XGBoost takes columns that are not there for missing
            raise ModelError(
                "X", got=f"{rows.shape[1]:,} columns", wanted=f"the {width:,} that the model was fitted on"
            )
        data = xgboost.DMatrix(rows, enable_categorical=True)
        options = {"iteration_range": (0, self.rounds), "validate_features": False}  # names were matched before
        return np.asarray(self.booster.predict(data, output_margin=margin, **options))


def tree_scores(model: Any, kind: str) -> np.ndarray | None:
    """A score of each column over the trees up to the best iteration, such as "total_gain"; None without trees."""
    booster = model if hasattr(model, "get_score") else model.get_booster()
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        return None
    best = booster.attr("best_iteration")
    if best is not None and int(best) + 1 < booster.num_boosted_rounds():
        booster = booster[: int(best) + 1]
    scores, width = booster.get_score(importance_type=kind), booster.num_features()
    names = booster.feature_names or [f"f{place}" for place in range(width)]
    return np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)
