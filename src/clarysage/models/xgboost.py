"""Adapters of XGBoost boosters, and of the scikit-learn wrappers around them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError
from clarysage.models.adapter import coefficients_of
from clarysage.models.objectives import XGBOOST, unknown_objective, unpredictive_task
from clarysage.models.outputs import Values, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import check_fitted, estimator_predictor
from clarysage.protocols import Objective
from clarysage.structure.base import Structure, UnknownStructureError
from clarysage.structure.intrinsic_numbers import Gains
from clarysage.structure.readers.xgboost import structure_of_booster

# objective -> the output to use, where the usual one is not probabilities
BOOSTER = {"binary:logitraw": "sigmoid", "multi:softmax": "softmax"}
WRAPPER = {"binary:logitraw": "sigmoid", "binary:hinge": "predict"}


@dataclass(frozen=True)
class XGBoostEstimator:
    """Reads XGBClassifier, XGBRegressor and similar, which respect best_iteration themselves."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        check_fitted(self.model)
        methods = {"decision_function": partial(self.model.predict, output_margin=True)}
        chosen = output or WRAPPER.get(self.model.objective)
        predictor = estimator_predictor(self.model, chosen, methods=methods, structure=partial(_structure, self.model))
        return replace(predictor, task=unpredictive_task(XGBOOST, self.model.objective) or predictor.task)

    def objective(self) -> Objective | None:
        if callable(self.model.objective):
            return unknown_objective(
                getattr(self.model.objective, "__name__", "a function"), hasattr(self.model, "classes_")
            )
        return _objective(_learner(self.model.get_booster()))

    def coefficients(self) -> np.ndarray | None:
        return coefficients_of(self.model)  # only the booster "gblinear" has them

    def gains(self) -> Gains | None:
        return _gains(self.model.get_booster())

    def split_counts(self) -> np.ndarray | None:
        return _tree_scores(self.model.get_booster(), "weight")

    def category_columns(self, frame: Any) -> Sequence[int]:
        return _category_columns(self.model.get_booster(), frame)


@dataclass(frozen=True)
class XGBoostBooster:
    """Reads a Booster, up to its best iteration, with probabilities for every classification objective."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        try:
            learner = _learner(self.model)
        except ValueError as error:
            raise unfitted(self.model) from error
        objective = learner["objective"]["name"]
        is_classifier = objective.startswith(("binary:", "multi:"))
        returns: Values = "labels" if objective in ("binary:hinge", "multi:softmax") else "probabilities"
        n_classes = max(int(learner["learner_model_param"]["num_class"]), 2)
        best = self.model.attr("best_iteration")
        boosted = _Boosted(self.model, 0 if best is None else int(best) + 1)
        return from_methods(
            self.model,
            output or BOOSTER.get(objective),
            values={"predict": returns if is_classifier else "numbers"},
            methods={"predict": boosted, "decision_function": partial(boosted, margin=True)},
            classes=tuple(range(n_classes)) if is_classifier else None,
            task=unpredictive_task(XGBOOST, objective)
            or ("regression" if objective.startswith(("reg:", "count:")) else None),
            feature_names=tuple(self.model.feature_names) if self.model.feature_names else None,
            containers=("pandas", "polars", "numpy"),
            structure=partial(structure_of_booster, self.model, boosted.rounds or None, both=False),
        )

    def objective(self) -> Objective | None:
        return _objective(_learner(self.model))

    def gains(self) -> Gains | None:
        return _gains(self.model)

    def split_counts(self) -> np.ndarray | None:
        return _tree_scores(self.model, "weight")

    def category_columns(self, frame: Any) -> Sequence[int]:
        return _category_columns(self.model, frame)


def load(path: Path) -> Any:
    """Loads the Booster in a file."""
    import xgboost

    xgboost.set_config(verbosity=0)
    return xgboost.Booster(model_file=path)


def _learner(booster: Any) -> dict[str, Any]:
    """Returns the settings of a booster; a booster with an objective of the user has those of squared error."""
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


def _objective(learner: dict[str, Any]) -> Objective | None:
    name, row = learner["objective"]["name"], XGBOOST.get(learner["objective"]["name"])
    if row is None:
        return unknown_objective(name)
    if row.loss == "cross entropy" and int(learner["learner_model_param"].get("num_target", 1)) > 1:
        return Objective(name, "multi label cross entropy")
    settings = {
        key: value for group in learner["objective"].values() if isinstance(group, dict) for key, value in group.items()
    }
    levels = settings.get(row.parameter, "").strip("[]")
    numbers = [float(str(np.float32(level))) for level in levels.split(",")] if levels else []  # in single precision
    return row.objective(numbers or None)


def _structure(model: Any) -> Structure:
    if model.missing is not None and not np.isnan(model.missing):
        raise UnknownStructureError(f"its setting missing={model.missing} is not supported")
    best = getattr(model, "best_iteration", None)
    return structure_of_booster(
        model.get_booster(), None if best is None else best + 1, both=hasattr(model, "classes_")
    )


@dataclass(frozen=True)
class _Boosted:
    booster: Any
    rounds: int

    def __call__(self, rows: Any, *, margin: bool = False) -> np.ndarray:
        import xgboost

        width = self.booster.num_features()
        if rows.shape[1] != width:  # XGBoost treats absent columns as missing cells
            raise ModelError(
                "X", got=f"{rows.shape[1]:,} columns", wanted=f"the {width:,} that the model was fitted on"
            )
        data = xgboost.DMatrix(rows, enable_categorical=True)
        options = {"iteration_range": (0, self.rounds), "validate_features": False}  # names were matched before
        return np.asarray(self.booster.predict(data, output_margin=margin, **options))


def _gains(booster: Any) -> Gains | None:
    scores = _tree_scores(booster, "total_gain")
    return None if scores is None else Gains(scores)


def _tree_scores(booster: Any, kind: str) -> np.ndarray | None:
    """Returns a score of each column over the trees up to the best iteration, or None for a model without trees."""
    if json.loads(booster.save_config())["learner"]["gradient_booster"]["name"] == "gblinear":
        return None
    best = booster.attr("best_iteration")
    if best is not None and int(best) + 1 < booster.num_boosted_rounds():
        booster = booster[: int(best) + 1]
    scores, width = booster.get_score(importance_type=kind), booster.num_features()
    names = booster.feature_names or [f"f{j}" for j in range(width)]
    return np.array([scores.get(name, 0.0) for name in names], dtype=np.float64)


def _category_columns(booster: Any, frame: Any) -> Sequence[int]:
    """Returns the columns that were categories when the model was fitted, if it stores the code of each category."""
    types = booster.feature_types or []
    columns = [j for j, kind in enumerate(types[: frame.shape[1]]) if kind == "c"]
    is_stored = columns and hasattr(booster, "get_categories") and not booster.get_categories().empty()
    text = [j for j in columns if str(frame.dtypes.iloc[j]).startswith(("str", "object"))]
    if text and not is_stored:
        raise InputError(
            "X",
            got=f"text in the column {frame.columns[text[0]]!r}",
            wanted="the codes of its categories, since the model does not store the categories",
            hint="a model saved by XGBoost 3.1 or later, fitted on category columns",
        )
    return columns if is_stored else []
