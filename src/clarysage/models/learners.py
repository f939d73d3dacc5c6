"""Learners, estimators to be fitted: what they are, fresh copies of them or of fitted models, and seeds for these."""

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

WANTED = "an estimator with fit, predict, get_params and set_params, as scikit-learn has them"
HINT = Either(
    python="learner=HistGradientBoostingRegressor(), or another of your own, fitted or not",
    shell="a scikit-learn model in a .skops or .joblib file",
)


def check_learner(learner: Any) -> None:
    """Raise unless the learner can be copied, fitted and asked."""
    wanted = f"{WANTED}, fitted or not"
    if isinstance(learner, type):
        raise InputError(
            "learner", got=f"the class {learner.__name__}", wanted=wanted, hint=PythonOnly(f"{learner.__name__}()")
        )
    missing = [name for name in ("fit", "predict", "get_params", "set_params") if not hasattr(learner, name)]
    is_stack = getattr(learner, "final_estimator", learner) is None  # which has its last learner only once it is fitted
    if missing and not (is_stack and missing == ["predict"]):
        raise InputError("learner", got=f"{type(learner).__name__}, which has no {missing[0]!r}", wanted=wanted)


def is_classifier(learner: Any) -> bool:
    """Whether the learner predicts classes."""
    from sklearn.base import is_classifier as has_classes

    return bool(has_classes(learner)) or hasattr(learner, "predict_proba")


def takes_pandas_alone(learner: Any) -> bool:
    """Whether frames of other libraries are better not handed to the learner, or to a part of it."""
    rows = (LIBRARIES.get(library_of(type(part))) for part in _parts(learner))
    return any(row is not None and row.takes_pandas_alone for row in rows)


def weights_argument(learner: Any) -> str | None:
    """The argument of ``fit`` by which the learner takes sample weights; that of its last step for a pipeline."""
    if hasattr(learner, "steps"):
        name, last = learner.steps[-1]
        inner = weights_argument(last) if hasattr(last, "fit") else None
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if "sample_weight" in inspect.signature(learner.fit).parameters else None


def unfitted_copy(learner: Any) -> Any:
    """An unfitted copy."""
    from sklearn.base import clone

    try:
        return clone(learner)
    except RuntimeError:  # CatBoost copies the lists it is given, which scikit-learn takes for a fault
        return type(learner)(**copy.deepcopy(learner.get_params(deep=False)))


def learner_for_refits(model: Any, learner: Any = None) -> Any:
    """The learner that was given, or else a fresh copy of the model; an error where it can have none.

    Categories that CatBoost and LightGBM were told of when they were fitted, not when they were made, are told to the
    copy. What else was handed to ``fit`` is not known any more.

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
        raise InputError("learner", got="None, and no model to be fitted anew", wanted=WANTED, hint=HINT)
    try:
        check_learner(model)
        copy = unfitted_copy(model)
    except Exception as error:
        why = error.got if isinstance(error, InputError) else (f"{type(model).__name__} ({error})",)
        got = ["None, and a model that cannot be fitted anew: ", *why]
        raise InputError("learner", got=got, wanted=WANTED, hint=HINT) from error
    adapter = ability(adapter_of(model), HasFitOptions)
    options = {} if adapter is None else adapter.fit_options()
    return copy.set_params(**options) if options else copy


def set_seeds(learner: Any, rng: np.random.Generator) -> Any:
    """The learner, with seeds for every part that has none; those that the user gave stay."""
    unset = sorted(
        name
        for name, value in learner.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    return learner.set_params(**{name: int(rng.integers(2**31 - 1)) for name in unset}) if unset else learner


def _parts(learner: Any) -> Iterator[Any]:
    """The learner and the estimators it is made of."""
    yield learner
    yield from (value for value in learner.get_params(deep=True).values() if hasattr(value, "get_params"))
