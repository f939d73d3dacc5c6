"""Adapters of LightGBM boosters, and of the scikit-learn wrappers around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.errors import FormatError
from clarysage.models.objectives import LIGHTGBM, unknown_objective, unpredictive_task
from clarysage.models.outputs import Shares, from_methods
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import check_fitted, estimator_predictor
from clarysage.protocols import Objective
from clarysage.structure.base import Structure
from clarysage.structure.intrinsic_numbers import Gains
from clarysage.structure.readers.lightgbm import structure_of_booster

CLASSIFIERS = ("binary", "cross_entropy", "cross_entropy_lambda", "multiclass", "multiclassova")
LAMBDA = "cross_entropy_lambda"  # whose predictions are not probabilities, but λ


@dataclass(frozen=True)
class LightGBMEstimator:
    """Reads LGBMClassifier, LGBMRegressor and similar, which respect best_iteration_ themselves."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        check_fitted(self.model)
        methods: dict[str, Any] = {"decision_function": partial(self.model.predict, raw_score=True)}
        if hasattr(self.model, "predict_proba") and not callable(self.model.objective):
            methods["predict_proba"] = Shares(self.model.predict_proba)
        objective = _objective(self.model.booster_)
        if objective == LAMBDA:
            name = "predict_proba" if hasattr(self.model, "predict_proba") else "predict"
            methods[name] = _FromLambda(getattr(self.model, name))
        predictor = estimator_predictor(self.model, output, methods=methods, structure=partial(_structure, self.model))
        task = unpredictive_task(LIGHTGBM, objective) or predictor.task
        return replace(predictor, task=task, **_table(predictor.feature_names))

    def objective(self) -> Objective | None:
        given = self.model.objective
        name = getattr(given, "__name__", "a function") if callable(given) else ""
        return _fitted_objective(self.model.booster_, name, hasattr(self.model, "classes_"))

    def gains(self) -> Gains | None:
        return Gains(_tree_scores(self.model.booster_, "gain"))

    def split_counts(self) -> np.ndarray | None:
        return _tree_scores(self.model.booster_, "split")

    def category_columns(self, frame: Any) -> Sequence[int]:
        return _category_columns(self.model.booster_)

    def fit_options(self) -> dict[str, Any]:
        """Returns category columns that were given only to the model's ``fit``."""
        if self.model.get_params().get("categorical_feature") is not None or not hasattr(self.model, "fitted_"):
            return {}
        booster = self.model.booster_
        columns = [] if booster.pandas_categorical else booster.params.get("categorical_column") or []
        return {"categorical_feature": list(columns)} if columns else {}


@dataclass(frozen=True)
class LightGBMBooster:
    """Reads a Booster, up to its best iteration, with probabilities for classification objectives."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        objective = _objective(self.model)
        is_classifier = objective in CLASSIFIERS
        predict: Any = self.model.predict
        if objective == LAMBDA:
            predict = _FromLambda(predict)
        return from_methods(
            self.model,
            output,
            values={"predict": "probabilities" if is_classifier else "numbers"},
            methods={
                "predict": Shares(predict) if is_classifier else predict,
                "decision_function": partial(predict, raw_score=True),
            },
            classes=tuple(range(max(self.model.num_model_per_iteration(), 2))) if is_classifier else None,
            task=unpredictive_task(LIGHTGBM, objective) or ("regression" if objective else None),
            structure=partial(structure_of_booster, self.model, both=False),
            **_table(tuple(self.model.feature_name())),
        )

    def objective(self) -> Objective | None:
        return _fitted_objective(self.model)

    def gains(self) -> Gains | None:
        return Gains(_tree_scores(self.model, "gain"))

    def split_counts(self) -> np.ndarray | None:
        return _tree_scores(self.model, "split")

    def category_columns(self, frame: Any) -> Sequence[int]:
        return _category_columns(self.model)


@dataclass(frozen=True)
class _FromLambda:
    """Probabilities 1 - exp(-λ) of the second class, or of both, from a function that returns λ instead."""

    function: Any

    def __call__(self, rows: Any) -> np.ndarray:
        values = np.asarray(self.function(rows), dtype=np.float64)
        positive = -np.expm1(-(values if values.ndim == 1 else values[:, -1]))
        return positive if values.ndim == 1 else np.column_stack([1 - positive, positive])


def load(path: Path) -> Any:
    """Loads the Booster in a file; a truncated file, on which LightGBM itself crashes, is an error."""
    import lightgbm

    with path.open(encoding="utf-8") as file:
        lines = (line.rstrip() for line in file)
        is_complete = next(lines, "") == "tree" and "end of trees" in lines
    if not is_complete:
        raise FormatError(
            "model",
            got=f"{path.name}, which is not a complete LightGBM model",
            wanted="a LightGBM model",
            hint="a file that Booster.save_model wrote",
        )
    return lightgbm.Booster(model_file=path)


def _objective(booster: Any) -> str | None:
    """Returns the name of the objective that a booster was fitted with; None for an objective of the user."""
    header = re.search(r"^objective=(\S+)", booster.model_to_string(num_iteration=1), flags=re.MULTILINE)
    return header.group(1) if header else None


def _fitted_objective(booster: Any, given: str = "", is_classifier: bool = False) -> Objective:
    """Returns the objective of a booster; ``given`` is the name of an objective of the user, if it is known."""
    text = booster.model_to_string(num_iteration=1)
    header = re.search(r"^objective=(.+)$", text, flags=re.MULTILINE)
    if header is None:
        return unknown_objective(given or "custom", is_classifier)
    name, *options = header.group(1).split()
    if name not in LIGHTGBM:
        return unknown_objective(name, is_classifier)
    row = LIGHTGBM[name]
    value = re.search(rf"^\[{row.parameter}: (.+)\]$", text, flags=re.MULTILINE) if row.parameter else None
    objective = row.objective(None if value is None else float(value.group(1)))
    return replace(objective, difference="of the square root of y") if "sqrt" in options else objective


def _structure(model: Any) -> Structure:
    return structure_of_booster(model.booster_, both=hasattr(model, "classes_"))


def _table(names: tuple[str, ...] | None) -> dict[str, Any]:
    """Returns the names and containers that LightGBM takes: real column names, and categories from pandas only."""
    if names is None or all(re.fullmatch(r"Column_\d+", name) for name in names):
        return {"feature_names": None, "containers": ("pandas", "numpy")}
    return {"feature_names": names, "containers": ("pandas",)}


def _tree_scores(booster: Any, kind: str) -> np.ndarray:
    """Returns a score of each column over the trees up to the best iteration, "gain" or "split"."""
    return np.asarray(booster.feature_importance(importance_type=kind), dtype=np.float64)


def _category_columns(booster: Any) -> Sequence[int]:
    """Returns the columns that were pandas categories when the model was fitted."""
    count = len(booster.pandas_categorical or ())
    if count == 0:
        return []
    line = re.search(r"^feature_infos=(.*)$", booster.model_to_string(num_iteration=1), flags=re.MULTILINE)
    infos = line.group(1).split() if line else []
    columns = [j for j, info in enumerate(infos) if not info.startswith("[") and info != "none"]
    if len(columns) == count:
        return columns
    return [j for j, info in enumerate(infos) if not info.startswith("[")]  # "none": a category that never varied
