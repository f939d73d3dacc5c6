"""CatBoost models, categorical columns included."""

from __future__ import annotations

from functools import partial
from typing import Any

from clarysage.models.outputs import CLASSIFIER, REGRESSOR, Shares, classes_of, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.structure.readers.catboost import EXPONENTS, structure_of_catboost

CLASSIFIERS = ("Logloss", "CrossEntropy", "MultiClass", "MultiClassOneVsAll", "Focal")


def from_catboost(model: Any, output: str | None) -> Predictor:
    """A predictor from CatBoostClassifier, CatBoostRegressor or a loaded CatBoost model."""
    if not model.is_fitted():
        raise unfitted(model)
    loss = str(model.get_all_params().get("loss_function", "")).partition(":")[0]
    is_classifier = loss in CLASSIFIERS or hasattr(model, "predict_proba")
    names = tuple(model.feature_names_ or ())
    predict = partial(model.predict, thread_count=1)
    predictions = "Class" if is_classifier else "Exponent" if loss in EXPONENTS else "RawFormulaVal"
    own: dict[str, Any] = {
        "predict": partial(predict, prediction_type=predictions),
        "decision_function": partial(predict, prediction_type="RawFormulaVal"),
        "predict_proba": Shares(partial(predict, prediction_type="Probability")),
    }
    return from_methods(
        model,
        output,
        values=CLASSIFIER if is_classifier else REGRESSOR,
        own=own,
        classes=classes_of(model) if is_classifier else None,
        task="regression",
        feature_names=names if names != tuple(map(str, range(len(names)))) else None,
        containers=("pandas", "numpy"),
        structure=partial(structure_of_catboost, model, loss, is_classifier=is_classifier),
    )
