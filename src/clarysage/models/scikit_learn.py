"""scikit-learn estimators, Pipelines and searches, and whatever follows their interface."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.predictor import Predictor, Votes, linked, unknown_output
from clarysage.structure.linear import LinearMap, Link

# estimators whose prediction is a link of a weighted sum; the claim is checked on hybrid rows before it is used
LINKS: dict[str, Link] = {
    **dict.fromkeys(
        ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "BayesianRidge",
         "ARDRegression", "HuberRegressor", "SGDRegressor", "Lars", "LassoLars", "LinearSVR", "QuantileRegressor",
         "TheilSenRegressor"), "identity"),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor"), "exponential"),
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV"), "logistic"),
}  # fmt: skip


def from_estimator(model: Any, output: str | None) -> Predictor:
    """A predictor from a fitted estimator: class probabilities of classifiers, predictions of the rest."""
    name = type(model).__name__
    names = getattr(model, "feature_names_in_", None)
    common: dict[str, Any] = {
        "name": name,
        "feature_names": None if names is None else tuple(map(str, names)),
        "container": _container(model, names),
    }
    if output is not None and output not in ("sigmoid", "softmax"):
        if not callable(getattr(model, output, None)):
            raise unknown_output(name, output)
        is_proba = output == "predict_proba"
        classes = _classes(model, name) if is_proba else None
        return Predictor(getattr(model, output), task="classification" if is_proba else None, classes=classes, **common)
    if not _is_classifier(model):
        if not hasattr(model, "predict"):
            raise ModelError("model", got=f"{name}, which has no predict method", wanted="a fitted model that predicts")
        return Predictor(
            linked(model.predict, output), task="classification" if output else "regression", structure=_linear(model),
            **common,
        )  # fmt: skip
    classes = _classes(model, name)
    if output is not None:
        return Predictor(linked(model.decision_function, output), task="classification", classes=classes, **common)
    if hasattr(model, "predict_proba"):
        return Predictor(
            model.predict_proba, task="classification", classes=classes, structure=_linear(model), **common
        )
    return Predictor(Votes(model.predict, classes), task="classification", classes=classes, hard=True, **common)


def _is_classifier(model: Any) -> bool:
    from sklearn.base import is_classifier

    return bool(is_classifier(model)) or (hasattr(model, "predict_proba") and hasattr(model, "classes_"))


def _classes(model: Any, name: str) -> tuple[Any, ...]:
    try:
        classes = model.classes_
    except AttributeError as error:
        raise ModelError(
            "model", got=f"{name}, which is not fitted", wanted="a fitted model", hint="model.fit(...) first"
        ) from error
    if isinstance(classes, list) and len(classes) and isinstance(classes[0], np.ndarray):
        raise ModelError(
            "model", got=f"{name} with {len(classes)} responses", wanted="a classifier of one response",
            hint="one explanation a response, by a callable that returns its probabilities",
        )  # fmt: skip
    return tuple(np.asarray(classes).tolist())


def _container(model: Any, names: Any) -> str | None:
    """The table that the estimator was fitted on: a frame if it knows names, an array if scikit-learn's own."""
    if names is not None:
        return "pandas"
    is_own = type(model).__module__.startswith("sklearn.") and hasattr(model, "n_features_in_")
    return "numpy" if is_own and type(model).__name__ != "Pipeline" else None


def _linear(model: Any) -> LinearMap | None:
    link = LINKS.get(type(model).__name__)
    if link is None or not type(model).__module__.startswith("sklearn.") or not hasattr(model, "coef_"):
        return None
    coefficients = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if link == "logistic" and len(coefficients) > 1:
        link = "softmax"
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(coefficients),))
    return LinearMap(coefficients.T.copy(), intercept.copy(), link)
