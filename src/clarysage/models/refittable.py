"""A fitted model as a learner: what can be fitted anew as it was."""

from __future__ import annotations

from typing import Any

from clarysage.errors import InputError, in_python
from clarysage.models.learners import check_learner, fresh

WANTED = "an estimator with fit, predict, get_params and set_params, as scikit-learn has them"
HINT = "learner=HistGradientBoostingRegressor(), or another of your own, fitted or not"


def refittable(model: Any, learner: Any = None) -> Any:
    """The learner that was given, or else a fresh copy of the model; an error where it can have none.

    Categories that CatBoost and LightGBM were told of when they were fitted, not when they were made, are told to the
    copy. What else was handed to ``fit`` is not known any more.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> refittable(Ridge(alpha=3))
    Ridge(alpha=3)
    """
    if learner is not None:
        check_learner(learner)
        return learner
    if model is None:
        raise InputError("learner", got="None, and no model to be fitted anew", wanted=WANTED, hint=HINT)
    try:
        check_learner(model)
        copy = fresh(model)
    except Exception as error:
        said = in_python(error.got) if isinstance(error, InputError) else f"{type(model).__name__} ({error})"
        got = f"None, and a model that cannot be fitted anew: {said}"
        raise InputError("learner", got=got, wanted=WANTED, hint=HINT) from error
    name, categories = _categories(model)
    return copy.set_params(**{name: categories}) if categories else copy


def _categories(model: Any) -> tuple[str, list[Any]]:
    """The parameter that names columns of categories, and those that a model learned of by its ``fit`` alone."""
    library, params = type(model).__module__.partition(".")[0], model.get_params()
    if library == "catboost" and params.get("cat_features") is None and model.is_fitted():
        return "cat_features", list(model.get_cat_feature_indices())
    if library == "lightgbm" and params.get("categorical_feature") is None and hasattr(model, "fitted_"):
        booster = model.booster_
        told = [] if booster.pandas_categorical else booster.params.get("categorical_column") or []
        return "categorical_feature", list(told)
    return "", []
