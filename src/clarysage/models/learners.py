"""Learners (unfitted estimators): checks, unfitted copies of models, and seeds."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from clarysage.errors import Either, InputError, PythonOnly
from clarysage.models.adapter import HasFitOptions, adapter_of
from clarysage.models.libraries import LIBRARIES, library_of
from clarysage.protocols import ability

ESTIMATOR = "an estimator with fit, predict, get_params and set_params, as scikit-learn has them"
HINT = Either(
    python="learner=HistGradientBoostingRegressor(), or another of your own, fitted or not",
    shell="a scikit-learn model in a .skops or .joblib file",
)


def check_learner(learner: Any) -> None:
    """Raises unless the learner can be copied, fitted and used for prediction."""
    expected = f"{ESTIMATOR}, fitted or not"
    if isinstance(learner, type):
        raise InputError(
            "learner", got=f"the class {learner.__name__}", wanted=expected, hint=PythonOnly(f"{learner.__name__}()")
        )
    missing = [name for name in ("fit", "predict", "get_params", "set_params") if not hasattr(learner, name)]
    is_stack = getattr(learner, "final_estimator", learner) is None  # its last learner exists only after the fit
    if missing and not (is_stack and missing == ["predict"]):
        raise InputError("learner", got=f"{type(learner).__name__}, which has no {missing[0]!r}", wanted=expected)


def is_classifier(learner: Any) -> bool:
    """Returns True if the learner predicts classes."""
    from sklearn.base import is_classifier as has_classes

    return bool(has_classes(learner)) or hasattr(learner, "predict_proba")


def takes_pandas_alone(learner: Any) -> bool:
    """Returns True if the learner, or a part of it, should get pandas frames rather than those of other libraries."""
    rows = (LIBRARIES.get(library_of(type(part))) for part in _parts(learner))
    return any(row is not None and row.takes_pandas_alone for row in rows)


def weights_argument(learner: Any) -> str | None:
    """Returns the argument of ``fit`` for sample weights, for a pipeline that of its last step; None without it."""
    if hasattr(learner, "steps"):
        name, last = learner.steps[-1]
        inner = weights_argument(last) if hasattr(last, "fit") else None
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if "sample_weight" in inspect.signature(learner.fit).parameters else None


def unfitted_copy(learner: Any) -> Any:
    """Returns an unfitted copy."""
    from sklearn.base import clone

    try:
        return clone(learner)
    except RuntimeError:  # CatBoost copies the lists it is given, which scikit-learn's clone rejects
        return type(learner)(**copy.deepcopy(learner.get_params(deep=False)))


def learner_for_refits(model: Any, learner: Any = None) -> Any:
    """Returns the given learner, or else an unfitted copy of the model; raises where it cannot be copied.

    Category columns that CatBoost and LightGBM got as arguments of ``fit`` are set on the copy. Other arguments of
    ``fit`` are lost.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> learner_for_refits(Ridge(alpha=3))
    Ridge(alpha=3)
    """
    if learner is not None:
        check_learner(learner)
        return learner
    if model is None:
        raise InputError("learner", got="None, and no model to refit", wanted=ESTIMATOR, hint=HINT)
    try:
        check_learner(model)
        copy = unfitted_copy(model)
    except Exception as error:
        reason = error.got if isinstance(error, InputError) else (f"{type(model).__name__} ({error})",)
        got = ["None, and a model that cannot be refitted: ", *reason]
        raise InputError("learner", got=got, wanted=ESTIMATOR, hint=HINT) from error
    adapter = ability(adapter_of(model), HasFitOptions)
    options = {} if adapter is None else adapter.fit_options()
    return copy.set_params(**options) if options else copy


def set_seeds(learner: Any, rng: np.random.Generator) -> Any:
    """Sets a seed in every part of the learner that has none; the user's seeds stay."""
    unset = sorted(
        name
        for name, value in learner.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return learner.set_params(**{name: int(rng.integers(2**31 - 1)) for name in unset}) if unset else learner


def _parts(learner: Any) -> Iterator[Any]:
    """Yields the learner and the estimators it is made of."""
    yield learner
    yield from (value for value in learner.get_params(deep=True).values() if hasattr(value, "get_params"))
