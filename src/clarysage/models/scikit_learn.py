"""Adapter of scikit-learn estimators, Pipelines and searches, and of other estimators with the same interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from clarysage.errors import ClarysageError
from clarysage.models.adapter import adapter_of, as_predictor, coefficients_of
from clarysage.models.libraries import library_of
from clarysage.models.outputs import (
    CLASSIFIER,
    REGRESSOR,
    LabelProbabilities,
    classes_of,
    from_methods,
    has_several_labels,
    unfitted,
)
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn_objectives import objective_of_estimator
from clarysage.protocols import Objective, ability
from clarysage.structure.base import DOUBLE_ROUNDING, SINGLE_ROUNDING, Link, Structure, UnknownStructureError
from clarysage.structure.columnwise import Transformed, active_steps, owners
from clarysage.structure.intrinsic_numbers import Gains, HasCoefficients, HasGains, HasSplitCounts, LayerWeights
from clarysage.structure.layers import Activation, Affine, Layers
from clarysage.structure.linear import Linear
from clarysage.structure.readers.scikit_learn import READERS as TREES
from clarysage.structure.readers.scikit_learn import splits_of_histograms

# estimators that predict a link of a weighted sum; this is checked on hybrid rows before it is used
LINKS: dict[str, Link] = {
    **dict.fromkeys(
        (
            "LinearRegression",
            "Ridge",
            "RidgeCV",
            "Lasso",
            "LassoCV",
            "ElasticNet",
            "ElasticNetCV",
            "BayesianRidge",
            "ARDRegression",
            "HuberRegressor",
            "SGDRegressor",
            "Lars",
            "LassoLars",
            "LinearSVR",
            "QuantileRegressor",
            "TheilSenRegressor",
        ),
        "identity",
    ),
    **dict.fromkeys(("PoissonRegressor", "GammaRegressor"), "exponential"),
    **dict.fromkeys(("LogisticRegression", "LogisticRegressionCV"), "logistic"),
    **dict.fromkeys(
        ("LinearSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "PassiveAggressiveClassifier"), "labels"
    ),
}

Value = TypeVar("Value")

STORED_ROWS = ("_fit_X", "X_train_", "X_fit_", "support_vectors_")  # attributes with rows that a model was fitted on
SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
ONE_EACH = ("OneVsRestClassifier", "OneVsOneClassifier", "MultiOutputRegressor", "MultiOutputClassifier")


@dataclass(frozen=True)
class ScikitLearnEstimator:
    """Reads fitted estimators of scikit-learn, and others with the same interface."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        if library_of(type(self.model)) == "sklearn":  # a user's estimator may store its fit under any name
            check_fitted(self.model)
        predictor = estimator_predictor(self.model, output)
        last = _last_of_another_library(self.model)
        if last is None:
            return predictor
        inner = as_predictor(last.model)
        if inner.task in ("ranking", "survival"):
            return replace(predictor, task=inner.task)
        if output is None and inner.objective is not None and inner.objective.is_converted:
            function = last.behind(inner.function)
            return replace(predictor, function=function, task=inner.task, classes=inner.classes, hard=inner.hard)
        return predictor

    def objective(self) -> Objective | None:
        return objective_of_estimator(self.model)

    def training_rows(self) -> np.ndarray | None:
        """Returns the rows that nearest neighbours, Gaussian processes and other kernel methods store."""
        stored = (getattr(self.model, name, None) for name in STORED_ROWS)
        rows = next((rows for rows in stored if isinstance(rows, np.ndarray) and rows.size), None)
        return rows if rows is not None and rows.ndim == 2 and rows.dtype.kind == "f" else None

    def coefficients(self) -> np.ndarray | None:
        if type(self.model).__name__ not in ONE_EACH:
            return coefficients_of(self.model)
        adapters = (ability(adapter_of(member), HasCoefficients) for member in self.model.estimators_)
        parts = [None if adapter is None else adapter.coefficients() for adapter in adapters]
        present = [part for part in parts if part is not None]
        return np.hstack(present) if present and len(present) == len(parts) else None

    def gains(self) -> Gains | None:
        """Returns mean decreases of impurity; for histogram boosting, gains of the objective."""
        reader = _of_class(self.model, GAINS)
        values = None if reader is None else reader(self.model)
        return None if values is None else Gains(values)

    def split_counts(self) -> np.ndarray | None:
        reader = _of_class(self.model, SPLIT_COUNTS)
        return None if reader is None else reader(self.model)

    def layer_weights(self, width: int) -> LayerWeights | None:
        if type(self.model).__name__ not in ("MLPClassifier", "MLPRegressor"):
            return None
        first, *later = self.model.coefs_
        return LayerWeights(first, tuple(later))


def estimator_predictor(model: Any, output: str | None, **facts: Any) -> Predictor:
    """Returns the predictor of a fitted estimator: class probabilities of classifiers, predictions of others.

    A classifier without probabilities predicts one-hot labels. ``facts`` is passed to :func:`from_methods`.
    """
    from sklearn.base import is_classifier, is_regressor

    has_classes = is_classifier(model) or (hasattr(model, "predict_proba") and hasattr(model, "classes_"))
    is_of_labels = has_classes and hasattr(model, "predict_proba") and has_several_labels(model)
    names = getattr(model, "feature_names_in_", None)
    defaults: dict[str, Any] = {
        "values": CLASSIFIER if has_classes else REGRESSOR,
        "classes": classes_of(model) if has_classes and not is_of_labels else None,
        "task": "regression" if is_regressor(model) else None,
        "feature_names": None if names is None else tuple(map(str, names)),
        "containers": _containers(model, names),
        "structure": _structure(model),
        "floor": _floor(model) if has_classes else None,
    }
    if is_of_labels:
        classes = tuple(tuple(np.ravel(labels).tolist()) for labels in model.classes_)
        defaults |= {"methods": {"predict_proba": LabelProbabilities(model.predict_proba, classes)}, "structure": None}
    return from_methods(model, output, **{**defaults, **facts})


@dataclass(frozen=True)
class _LastEstimator:
    """The last estimator of pipelines and searches, and the transformers before it, in their order."""

    model: Any
    before: tuple[Any, ...] = ()

    def behind(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Returns a function of the rows that the pipeline gets, from a function of those that the estimator gets."""
        return _Behind(self.before, function)


@dataclass(frozen=True)
class _Behind:
    transformers: tuple[Any, ...]
    function: Callable[[Any], Any]

    def __call__(self, rows: Any) -> Any:
        for transformer in self.transformers:
            rows = transformer.transform(rows)
        return self.function(rows)


def _last_of_another_library(model: Any) -> _LastEstimator | None:
    """Returns the last estimator of pipelines and searches if it is of another library than scikit-learn."""
    last = _last(model)
    is_transformed = type(model).__name__ == "Pipeline" and len(active_steps(model)) > 1
    before = (model[:-1],) if is_transformed else ()
    if library_of(type(last)) != "sklearn":
        return _LastEstimator(last, before) if hasattr(last, "predict") else None
    inner = _last_of_another_library(last)
    return None if inner is None else replace(inner, before=(*before, *inner.before))


def _last(model: Any) -> Any:
    """Returns the last estimator of a pipeline or search; None for other models."""
    if type(model).__name__ == "Pipeline":
        return model.steps[-1][1]
    return getattr(model, "best_estimator_", None) if type(model).__name__ in SEARCHES else None


def _floor(model: Any) -> float | None:
    """Returns the probability to take for a class that the model gives none; None where it is not known."""
    last = _last(model)
    reader = _of_class(model, SHARES) if last is None else None
    shares = None if reader is None else reader(model)
    return _floor(last) if last is not None else (None if shares is None else shares.floor)


def check_fitted(model: Any) -> None:
    """Raises for an estimator that is not fitted, as far as scikit-learn can tell."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "fit"):
        return
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise unfitted(model) from error


def _containers(model: Any, names: Any) -> tuple[str, ...]:
    """Returns the tables that the estimator accepts: frames if it has names, arrays if it is scikit-learn's."""
    if names is not None:
        return ("pandas", "polars")
    is_of_sklearn = type(model).__module__.startswith("sklearn.") and hasattr(model, "n_features_in_")
    return ("numpy",) if is_of_sklearn and type(model).__name__ != "Pipeline" else ()


def _structure(model: Any) -> Callable[[], Structure] | None:
    """Returns a function that reads the structure of a model; None for unsupported kinds."""
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return None
    if name in SEARCHES:
        return _inner(getattr(model, "best_estimator_", None))
    if name == "Pipeline":
        read = _inner(model.steps[-1][1])
        return read if read is None or len(active_steps(model)) == 1 else partial(_structure_behind, model[:-1], read)
    return partial(READERS[name], model) if name in READERS else None


def _inner(model: Any) -> Callable[[], Structure] | None:
    """Returns a function that reads the structure of a model inside another."""
    if model is None or model == "passthrough":
        return None
    try:
        return as_predictor(model).structure
    except ClarysageError:  # the outer model raises it again if it matters
        return None


def _structure_behind(transformers: Any, read: Callable[[], Structure]) -> Structure:
    """Reads the structure of a model behind transformers that keep columns apart."""
    inner, owner = read(), owners(transformers)
    view = Transformed(transformers, inner.view)
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
    rounding = SINGLE_ROUNDING if np.asarray(dense).dtype == np.float32 else DOUBLE_ROUNDING
    return Structure(Linear(coefficients.T.copy(), intercept.copy()), link, rounding=rounding)


def _naive_bayes(model: Any) -> Structure:
    """Reads a naive Bayes model of counts, whose log probabilities are linear in them but for a constant of the row."""
    prior = model.class_log_prior_ if type(model).__name__ == "MultinomialNB" else np.zeros(len(model.classes_))
    return Structure(Linear(model.feature_log_prob_.T.copy(), np.asarray(prior, dtype=np.float64)), "softmax")


def _by_descent(model: Any) -> Structure:
    has_probabilities = hasattr(model, "predict_proba")
    if has_probabilities and (model.loss != "log_loss" or len(model.coef_) > 1):
        raise UnknownStructureError("its probabilities of each class are not a link of its scores")
    return Structure(
        Linear(model.coef_.T.copy(), model.intercept_.copy()), "logistic" if has_probabilities else "labels"
    )


def _network(model: Any) -> Structure:
    link, activation = NETWORK_LINKS[model.out_activation_], model.activation
    if link == "logistic" and model.n_outputs_ > 1:
        raise UnknownStructureError("multilabel outputs are not supported")
    first, *later = (Affine(w.copy(), c.copy()) for w, c in zip(model.coefs_, model.intercepts_, strict=True))
    between = () if activation == "identity" else (Activation(activation),)
    layers = Layers(first, tuple(part for affine in later for part in (*between, affine)))
    return Structure(layers, link, rounding=SINGLE_ROUNDING if first.weights.dtype == np.float32 else DOUBLE_ROUNDING)


NETWORK_LINKS: dict[str, Link] = {
    "identity": "identity",
    "logistic": "logistic",
    "softmax": "softmax",
    "exp": "exponential",
}

READERS: dict[str, Callable[[Any], Structure]] = {
    **TREES,
    **dict.fromkeys(LINKS, _linear),
    **dict.fromkeys(("MultinomialNB", "ComplementNB"), _naive_bayes),
    "SGDClassifier": _by_descent,
    **dict.fromkeys(("MLPClassifier", "MLPRegressor"), _network),
}


def _of_class(model: Any, readers: Mapping[str, Value]) -> Value | None:
    """Returns the reader for the model's scikit-learn class, or for its next base that has one."""
    names = (kind.__name__ for kind in type(model).__mro__ if library_of(kind) == "sklearn")
    return next((readers[name] for name in names if name in readers), None)


def _importances(model: Any) -> np.ndarray | None:
    """Returns the estimator's own importances; None where it has none, as an ensemble of other models than trees."""
    values = getattr(model, "feature_importances_", None)
    return None if values is None else np.asarray(values, dtype=np.float64)


def _gains_of_bag(model: Any) -> np.ndarray | None:
    """Returns summed shares of gains over the members of a bag, each of which may have its own columns."""
    sums = np.zeros(model.n_features_in_)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        adapter = ability(adapter_of(member), HasGains)
        gains = None if adapter is None else adapter.gains()
        if gains is None:
            return None
        total = gains.values.sum()
        np.add.at(sums, columns, gains.values / total if total > 0 else np.zeros_like(gains.values))
    return sums


def _gains_of_histograms(model: Any) -> np.ndarray:
    columns, gains = splits_of_histograms(model)
    return np.bincount(columns, weights=gains, minlength=model.n_features_in_)


def _splits_of_tree(model: Any) -> np.ndarray:
    tree = model.tree_
    return _count_columns(tree.feature[tree.children_left >= 0], model.n_features_in_)


def _splits_of_members(model: Any) -> np.ndarray | None:
    """Returns split counts summed over the members of an ensemble, each of which may have its own columns."""
    members = np.ravel(np.asarray(model.estimators_, dtype=object))
    all_columns = np.arange(model.n_features_in_)
    columns = getattr(model, "estimators_features_", [all_columns] * len(members))
    sums = np.zeros(model.n_features_in_)
    for member, member_columns in zip(members, columns, strict=True):
        adapter = ability(adapter_of(member), HasSplitCounts)
        counts = None if adapter is None else adapter.split_counts()
        if counts is None:
            return None
        np.add.at(sums, member_columns, counts)
    return sums


def _splits_of_histograms(model: Any) -> np.ndarray:
    return _count_columns(splits_of_histograms(model)[0], model.n_features_in_)


def _count_columns(columns: np.ndarray, width: int) -> np.ndarray:
    return np.bincount(np.asarray(columns, dtype=np.int64), minlength=width).astype(np.float64)


@dataclass(frozen=True)
class RowShares:
    """Probabilities of a model that are shares of training rows, or means of such shares.

    Attributes
    ----------
    least : the smallest probability above zero that it can give
    rows : the largest number of training rows that a probability is the share of, such as those in a leaf
    """

    least: float
    rows: float

    @property
    def floor(self) -> float:
        """Half a training row, (0 + 1/2) / (n + 1) of the most rows, but at most half of the least probability."""
        return 0.5 * min(self.least, 1 / (self.rows + 1))


def _shares_of_tree(model: Any) -> RowShares:
    tree = model.tree_
    is_leaf = tree.children_left < 0
    values = tree.value[is_leaf]  # (leaves, responses, classes)
    shares = values / values.sum(axis=-1, keepdims=True)
    return RowShares(float(shares[shares > 0].min()), float(tree.n_node_samples[is_leaf].max()))


def _shares_of_neighbours(model: Any) -> RowShares | None:
    k = float(model.n_neighbors)
    return RowShares(1 / k, k) if model.weights in ("uniform", None) else None  # weighted shares may be of any size


def _shares_of_members(model: Any) -> RowShares | None:
    """Returns the shares of an ensemble, whose probabilities are means over its members, with equal weights."""
    parts: list[RowShares] = []
    for member in model.estimators_:
        reader = _of_class(member, SHARES)
        shares = None if reader is None else reader(member)
        if shares is None or getattr(model, "weights", None) is not None:
            return None
        parts.append(shares)
    return RowShares(min(part.least for part in parts) / len(parts), max(part.rows for part in parts))


Reader = Callable[[Any], np.ndarray | None]

GAINS: dict[str, Reader] = {
    "IsolationForest": lambda model: None,  # its splits are random
    "BaseHistGradientBoosting": _gains_of_histograms,
    "BaseBagging": _gains_of_bag,
    **dict.fromkeys(("BaseDecisionTree", "BaseForest", "BaseGradientBoosting", "BaseWeightBoosting"), _importances),
}
SPLIT_COUNTS: dict[str, Reader] = {
    "BaseDecisionTree": _splits_of_tree,
    "BaseHistGradientBoosting": _splits_of_histograms,
    **dict.fromkeys(("BaseForest", "BaseGradientBoosting", "BaseWeightBoosting", "BaseBagging"), _splits_of_members),
}
SHARES: dict[str, Callable[[Any], RowShares | None]] = {
    "BaseDecisionTree": _shares_of_tree,
    "KNeighborsClassifier": _shares_of_neighbours,
    **dict.fromkeys(("BaseForest", "BaseBagging", "VotingClassifier"), _shares_of_members),
}
