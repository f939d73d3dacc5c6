"""Adapter of CatBoost models, with categorical columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.models.objectives import CATBOOST, unknown_objective, unpredictive_task
from clarysage.models.outputs import CLASSIFIER, REGRESSOR, Shares, classes_of, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.protocols import Objective
from clarysage.structure.base import UnknownStructureError
from clarysage.structure.intrinsic_numbers import Gains
from clarysage.structure.readers.catboost import EXPONENTS, split_columns, structure_of_catboost

CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "Focal")
LABELS = ("MultiLogloss", "MultiCrossEntropy")  # losses of several labels, whose probabilities do not add up to one
MEDIAN = "0.5"  # the level of a quantile that is not given
# values of a parameter for which an objective is a loss exactly
SAME = {"Lq": ("q", {1.0: "absolute error", 2.0: "squared error"}), "Expectile": ("alpha", {0.5: "squared error"})}
REMARK = "For CatBoost it is the average change of predictions by splits on a feature, PredictionValuesChange."


@dataclass(frozen=True)
class CatBoostModel:
    """Reads CatBoostClassifier, CatBoostRegressor or a loaded CatBoost model."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        if not self.model.is_fitted():
            raise unfitted(self.model)
        loss = self._loss.partition(":")[0]
        is_classifier = loss in (*CLASSIFIERS, *LABELS) or hasattr(self.model, "predict_proba")
        names = tuple(self.model.feature_names_ or ())
        predict = partial(self.model.predict, thread_count=1)
        predictions = "Class" if is_classifier else "Exponent" if loss in EXPONENTS else "RawFormulaVal"
        methods: dict[str, Any] = {
            "predict": partial(predict, prediction_type=predictions),
            "decision_function": partial(predict, prediction_type="RawFormulaVal"),
            "predict_proba": partial(predict, prediction_type="Probability"),
        }
        if loss not in LABELS:
            methods["predict_proba"] = Shares(methods["predict_proba"])
        task = unpredictive_task(CATBOOST, loss)
        if task is not None:
            methods = {"predict": predict, "decision_function": predict}
        if loss == "RMSEWithUncertainty":
            methods["predict"] = _First(methods["predict"])
        return from_methods(
            self.model,
            output,
            values=CLASSIFIER if is_classifier else REGRESSOR,
            methods=methods,
            classes=classes_of(self.model) if is_classifier and loss not in LABELS else None,
            task=task or "regression",
            feature_names=names if names != tuple(map(str, range(len(names)))) else None,
            containers=("pandas", "numpy"),
            structure=partial(structure_of_catboost, self.model, loss, is_classifier=is_classifier),
        )

    @property
    def _loss(self) -> str:
        """The loss that the model was fitted with, with its parameters, such as "Quantile:alpha=0.9"."""
        return str(self.model.get_all_params().get("loss_function", ""))

    def objective(self) -> Objective | None:
        name, _, settings = self._loss.partition(":")
        if name not in CATBOOST:
            given = self.model.get_params().get("loss_function")
            is_text = given is None or isinstance(given, str)
            return unknown_objective(name if is_text else type(given).__name__, hasattr(self.model, "predict_proba"))
        row, values = CATBOOST[name], dict(setting.split("=") for setting in settings.split(";") if "=" in setting)
        parameter, losses = SAME.get(name, ("", {}))
        if parameter in values and float(values[parameter]) in losses:
            return Objective(self._loss, losses[float(values[parameter])])
        numbers = values.get(row.parameter, MEDIAN if row.loss == "pinball" else "")
        return row.objective([float(number) for number in numbers.split(",")] if numbers else None, self._loss)

    def gains(self) -> Gains | None:
        try:
            values = self.model.get_feature_importance(type="PredictionValuesChange", thread_count=1)
        except Exception:  # a model loaded from a format that does not store what is needed
            return None
        return Gains(np.asarray(values), REMARK)

    def split_counts(self) -> np.ndarray | None:
        """Returns split counts (D,); each level of a symmetric tree is one split."""
        try:
            columns = [column for split in split_columns(self.model) for column in split]
        except UnknownStructureError:
            return None
        return np.bincount(np.array(columns, dtype=np.int64), minlength=self.model.n_features_in_).astype(np.float64)

    def fit_options(self) -> dict[str, Any]:
        """Returns category columns that were given only to the model's ``fit``."""
        if self.model.get_params().get("cat_features") is not None or not self.model.is_fitted():
            return {}
        columns = list(self.model.get_cat_feature_indices())
        return {"cat_features": columns} if columns else {}


@dataclass(frozen=True)
class _First:
    """The first column of what a function returns."""

    function: Any

    def __call__(self, rows: Any) -> np.ndarray:
        return np.asarray(self.function(rows))[:, 0]


def load(path: Path) -> Any:
    """Loads the model in a file."""
    import catboost

    return catboost.CatBoost().load_model(str(path))
