"""scikit-learn estimators, Pipelines and searches, and whatever follows their interface."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from clarysage.errors import ClarysageError
from clarysage.models.outputs import CLASSIFIER, REGRESSOR, classes_of, from_methods, unfitted
from clarysage.models.predictor import Predictor
from clarysage.structure.activations import Activation
from clarysage.structure.columnwise import Transformed, owners, working
from clarysage.structure.form import EXACT, SINGLE, Structure, UnknownStructureError
from clarysage.structure.layers import Affine, Layers
from clarysage.structure.linear import Linear
from clarysage.structure.links import Link
from clarysage.structure.readers.scikit_learn import READERS as TREES

# estimators whose prediction is a link of a weighted sum; the claim is checked on hybrid rows before it is used
LINKS: dict[str, Link] = {
    **dict.fromkeys(
        ("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "BayesianRidge",
         "ARDRegression", "HuberRegressor", "SGDRegressor", "Lars", "LassoLars", "LinearSVR", "QuantileRegressor",
         "TheilSenRegressor"), "identity"),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor"), "exponential"),
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV"), "logistic"),
}  # fmt: skip

SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
KNOWN = ("sklearn", "xgboost", "lightgbm")  # libraries whose estimators say whether they are fitted


def from_estimator(model: Any, output: str | None, **known: Any) -> Predictor:
    """A predictor from a fitted estimator: class probabilities of classifiers, predictions of the rest.

    A classifier without probabilities votes. ``known`` goes to :func:`from_methods`.
    """
    from sklearn.base import is_classifier, is_regressor

    _check_fitted(model)
    has_classes = is_classifier(model) or (hasattr(model, "predict_proba") and hasattr(model, "classes_"))
    names = getattr(model, "feature_names_in_", None)
    found = {
        "values": CLASSIFIER if has_classes else REGRESSOR,
        "classes": classes_of(model) if has_classes else None,
        "task": "regression" if is_regressor(model) else None,
        "feature_names": None if names is None else tuple(map(str, names)),
        "containers": _containers(model, names),
        "structure": _structure(model),
    }
    return from_methods(model, output, **{**found, **known})


def _check_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if type(model).__module__.partition(".")[0] not in KNOWN or not hasattr(model, "fit"):
        return  # an estimator of the user's own may keep what it learned under any name
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise unfitted(model) from error


def _containers(model: Any, names: Any) -> tuple[str, ...]:
    """The tables that the estimator takes: frames if it knows names, arrays if it is scikit-learn's own."""
    if names is not None:
        return ("pandas", "polars")
    is_own = type(model).__module__.startswith("sklearn.") and hasattr(model, "n_features_in_")
    return ("numpy",) if is_own and type(model).__name__ != "Pipeline" else ()


def _structure(model: Any) -> Callable[[], Structure] | None:
    """What reads the insides of a model, None for those that have none of use."""
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return None
    if name in SEARCHES:
        return _inner(getattr(model, "best_estimator_", None))
    if name == "Pipeline":
        read = _inner(model.steps[-1][1])
        return read if read is None or len(working(model)) == 1 else partial(_behind, model[:-1], read)
    return partial(READERS[name], model) if name in READERS else None


def _inner(model: Any) -> Callable[[], Structure] | None:
    """What reads the insides of a model within another."""
    from clarysage.models import as_predictor

    if model is None or model == "passthrough":
        return None
    try:
        return as_predictor(model).structure
    except ClarysageError:  # of which the whole model will complain, if it must
        return None


def _behind(before: Any, read: Callable[[], Structure]) -> Structure:
    """The structure of a model behind transformers that keep columns apart."""
    inner, owner = read(), owners(before)
    view = Transformed(before, inner.view)
    if inner.owner is not None:
        owner = owner[inner.owner]
    return replace(inner, view=view, owner=owner)


def _linear(model: Any) -> Structure:
    link = LINKS[type(model).__name__]
    dense = model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_
    coefficients = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    if link == "logistic" and len(coefficients) > 1:
        link = "softmax"
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=np.float64), (len(coefficients),))
    rounding = SINGLE if np.asarray(dense).dtype == np.float32 else EXACT
    return Structure(Linear(coefficients.T.copy(), intercept.copy()), link, rounding=rounding)


def _network(model: Any) -> Structure:
    link, activation = NETWORK_LINKS[model.out_activation_], model.activation
    if link == "logistic" and model.n_outputs_ > 1:
        raise UnknownStructureError("it gives several labels at once")
    first, *later = (Affine(w.copy(), c.copy()) for w, c in zip(model.coefs_, model.intercepts_, strict=True))
    between = () if activation == "identity" else (Activation(activation),)
    layers = Layers(first, tuple(part for affine in later for part in (*between, affine)))
    return Structure(layers, link, rounding=SINGLE if first.weights.dtype == np.float32 else EXACT)


NETWORK_LINKS: dict[str, Link] = {
    "identity": "identity", "logistic": "logistic", "softmax": "softmax", "exp": "exponential"
}  # fmt: skip

READERS: dict[str, Callable[[Any], Structure]] = {
    **TREES,
    **dict.fromkeys(LINKS, _linear),
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _network),
}
