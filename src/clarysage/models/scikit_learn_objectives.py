"""Objectives of scikit-learn's estimators, by themselves and inside of pipelines, searches and ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from clarysage.models.adapter import objective_of
from clarysage.models.libraries import library_of
from clarysage.models.objectives import SCIKIT_LEARN, tweedie_objective, unknown_objective
from clarysage.protocols import Objective

# parameter that chooses the objective -> the classes that have it, which include their subclasses
CHOSEN_BY = {
    "loss": (
        *("BaseHistGradientBoosting", "BaseGradientBoosting", "BaseSGD", "LinearSVR", "LinearSVC", "MLPRegressor"),
        *("PassiveAggressiveRegressor", "PassiveAggressiveClassifier"),
    ),
    "criterion": ("BaseDecisionTree", "BaseForest"),
    "strategy": ("DummyRegressor",),
}
STRATEGIES = {"mean": "squared_error", "median": "absolute_error", "quantile": "quantile"}

# attribute that has the estimator, or the estimators, whose objective is that of a class
INSIDE = {
    "best_estimator_": ("BaseSearchCV",),
    "estimator_": ("RANSACRegressor", "RFE"),
    "final_estimator_": ("StackingRegressor",),
    "estimator": ("FrozenEstimator",),
}
MEMBERS = ("BaggingRegressor", "VotingRegressor", "MultiOutputRegressor", "RegressorChain")

LINEAR_SCALES = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
SCALE_FREE = ("squared error", "absolute error", "pinball")  # losses whose minimisers do not depend on the unit of y


def objective_of_estimator(model: Any) -> Objective | None:
    """Returns the objective of a fitted estimator; None where it has none, or the loss follows from the task alone.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> objective_of_estimator(DecisionTreeRegressor(criterion="absolute_error").fit([[1.0], [2.0]], [1.0, 3.0])).loss
    'absolute error'
    """
    kinds = [kind.__name__ for kind in type(model).__mro__ if library_of(kind) == "sklearn"]
    if "Pipeline" in kinds:
        last = model.steps[-1][1]
        return None if last in (None, "passthrough") else objective_of(last)
    inside = next((name for name, classes in INSIDE.items() if not set(classes).isdisjoint(kinds)), None)
    if inside is not None:
        return objective_of(getattr(model, inside)) if hasattr(model, inside) else None
    if not set(MEMBERS).isdisjoint(kinds):
        return _common([objective_of(member) for member in model.estimators_])
    if "TransformedTargetRegressor" in kinds:
        return _of_transformed_response(model)
    return _by_itself(model, kinds)


def _by_itself(model: Any, kinds: Sequence[str]) -> Objective | None:
    from sklearn.base import is_classifier, is_regressor

    if not is_regressor(model) and not is_classifier(model):
        return None
    choice = next((name for name, classes in CHOSEN_BY.items() if not set(classes).isdisjoint(kinds)), None)
    if choice is None:
        row = next((row for row in SCIKIT_LEARN.values() if not set(row.estimators).isdisjoint(kinds)), None)
        name = kinds[0] if row is None else row.name
    else:
        given = getattr(model, choice)
        name = given if isinstance(given, str) else type(given).__name__
        row = SCIKIT_LEARN.get(STRATEGIES.get(name, name))
    if row is None:
        is_unknown = is_regressor(model) and library_of(type(model)) == "sklearn" and name != "constant"
        return unknown_objective(name, is_classifier(model)) if is_unknown or choice == "loss" else None
    if row.loss == "zero one" and hasattr(model, "predict_proba"):  # its probabilities were fitted separately
        return None
    return _with_parameter(model, row.name)


def _with_parameter(model: Any, name: str) -> Objective:
    row = SCIKIT_LEARN[name]
    if name == "quantile":
        return row.objective(float(model.quantile if hasattr(model, "quantile") else model.alpha))
    if name == "huber":
        delta = _huber_delta(model)
        return row.objective(delta) if delta else Objective(name, row.loss, "whose delta is not known")
    if name == "tweedie":
        return tweedie_objective(row, float(model.power))
    if model.get_params(deep=False).get("epsilon") == 0:
        return replace(row.objective(), difference="")
    return row.objective()


def _huber_delta(model: Any) -> float | None:
    """Returns the error at which the loss becomes linear, in the unit of y; None where the model does not tell."""
    if hasattr(model, "scale_"):  # HuberRegressor
        return float(model.epsilon * model.scale_)
    if hasattr(model, "epsilon"):  # SGDRegressor
        return float(model.epsilon)
    loss = getattr(getattr(model, "_loss", None), "closs", None)  # gradient boosting, with no public attribute for it
    delta = getattr(loss, "delta", None)  # a quantile of the errors before the last round
    return None if delta is None else float(delta)


def _common(objectives: Sequence[Objective | None]) -> Objective | None:
    """Returns the objective that all members of an ensemble have."""
    different = list(dict.fromkeys(objectives))
    if len(different) == 1:
        return different[0]
    names = " and ".join("an unknown one" if each is None else each.name for each in different[:3])
    return Objective(names + (", ..." if len(different) > 3 else ""), "squared error", "which its members have")


def _of_transformed_response(model: Any) -> Objective | None:
    """Returns the objective of a regressor of transformed responses; a change of their unit is no difference."""
    inner, transformer = objective_of(model.regressor_), model.transformer_
    is_unchanged = type(transformer).__name__ == "FunctionTransformer" and transformer.func is None
    if inner is None or is_unchanged:
        return inner
    loss = inner.loss.partition("(")[0]
    if type(transformer).__name__ in LINEAR_SCALES and transformer.n_features_in_ == 1:
        if loss in SCALE_FREE:
            return inner
        if loss == "huber":
            zero, delta = transformer.inverse_transform([[0.0], [float(inner.loss[len("huber(") : -1])]]).ravel()
            return replace(inner, loss=f"huber({float(delta - zero)!r})")
    return replace(inner, difference="of transformed responses")
