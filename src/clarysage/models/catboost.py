"""Adapter of CatBoost models, with categorical columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.models.outputs import CLASSIFIER, REGRESSOR, Shares, classes_of, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.structure.base import UnknownStructureError
from clarysage.structure.intrinsic_numbers import Gains
from clarysage.structure.readers.catboost import EXPONENTS, split_columns, structure_of_catboost

CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "Focal")
RANKING = ("LambdaMart", "PairLogit", "Query", "StochasticFilter", "StochasticRank", "YetiRank")  # how losses begin
REMARK = "For CatBoost it is the average change of predictions by splits on a feature, PredictionValuesChange."


@dataclass(frozen=True)
class CatBoostModel:
    """Reads CatBoostClassifier, CatBoostRegressor or a loaded CatBoost model."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        if not self.model.is_fitted():
            raise unfitted(self.model)
        loss = str(self.model.get_all_params().get("loss_function", "")).partition(":")[0]
        is_classifier = loss in CLASSIFIERS or hasattr(self.model, "predict_proba")
        names = tuple(self.model.feature_names_ or ())
        predict = partial(self.model.predict, thread_count=1)
        predictions = "Class" if is_classifier else "Exponent" if loss in EXPONENTS else "RawFormulaVal"
        methods: dict[str, Any] = {
            "predict": partial(predict, prediction_type=predictions),
            "decision_function": partial(predict, prediction_type="RawFormulaVal"),
            "predict_proba": Shares(partial(predict, prediction_type="Probability")),
        }
        is_ranker = loss.startswith(RANKING)
        if is_ranker:
            methods = {"predict": predict, "decision_function": predict}
        return from_methods(
            self.model,
            output,
            values=CLASSIFIER if is_classifier else REGRESSOR,
            methods=methods,
            classes=classes_of(self.model) if is_classifier else None,
            task="ranking" if is_ranker else "regression",
            feature_names=names if names != tuple(map(str, range(len(names)))) else None,
            containers=("pandas", "numpy"),
            structure=partial(structure_of_catboost, self.model, loss, is_classifier=is_classifier),
        )

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


def load(path: Path) -> Any:
    """Loads the model in a file."""
    import catboost

    return catboost.CatBoost().load_model(str(path))
