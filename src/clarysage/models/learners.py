"""Learners, estimators to be fitted: what they are, fresh copies of them, and seeds for these."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

from clarysage.errors import InputError

BOOSTERS = ("xgboost", "lightgbm", "catboost")  # of which some end the process on a table that is no pandas frame


def check_learner(learner: Any) -> None:
    """Raise unless the learner can be copied, fitted and asked."""
    wanted = "an estimator with fit, predict, get_params and set_params, as scikit-learn has them, fitted or not"
    if isinstance(learner, type):
        raise InputError("learner", got=f"the class {learner.__name__}", wanted=wanted, hint=f"{learner.__name__}()")
    missing = [name for name in ("fit", "predict", "get_params", "set_params") if not hasattr(learner, name)]
    is_stack = getattr(learner, "final_estimator", learner) is None  # which has its last learner only once it is fitted
    if missing and not (is_stack and missing == ["predict"]):
        raise InputError("learner", got=f"{type(learner).__name__}, which has no {missing[0]!r}", wanted=wanted)


def is_classifier(learner: Any) -> bool:
    """Whether the learner predicts classes."""
    from sklearn.base import is_classifier as says_so

    return bool(says_so(learner)) or hasattr(learner, "predict_proba")


def takes_pandas_alone(learner: Any) -> bool:
    """Whether frames of other libraries are better not handed to the learner, or to a part of it."""
    return any(type(part).__module__.partition(".")[0] in BOOSTERS for part in _parts(learner))


def weights_argument(learner: Any) -> str | None:
    """The argument of ``fit`` by which the learner takes sample weights; that of its last step for a pipeline."""
    if hasattr(learner, "steps"):
        name, last = learner.steps[-1]
        inner = weights_argument(last) if hasattr(last, "fit") else None
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if "sample_weight" in inspect.signature(learner.fit).parameters else None


def fresh(learner: Any) -> Any:
    """An unfitted copy."""
    from sklearn.base import clone

    try:
        return clone(learner)
    except RuntimeError:  # CatBoost copies the lists it is given, which scikit-learn takes for a fault
        return type(learner)(**copy.deepcopy(learner.get_params(deep=False)))


def seeded(learner: Any, rng: np.random.Generator) -> Any:
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
