"""Finds the adapter for a fitted model and turns the model into a Predictor.

Adapters are looked up by type names along the method resolution order, so nothing is imported that the user has not
imported. ``libraries`` has the table. A third party adds an adapter for a single class by an entry point of the group
``clarysage.models`` whose name is ``"library.Class"``: a function ``(model, output) -> Predictor``, or a class such as
:class:`ModelAdapter`. It adds a row of the table by an entry point of the group ``clarysage.model_libraries``.

An adapter may have abilities besides prediction, asked for by :func:`~clarysage.protocols.ability`: those below and
those of ``structure.intrinsic_numbers``. Such a method returns None where this particular model lacks the information.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from numbers import Integral
from typing import Any, Protocol

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.models.libraries import LIBRARIES, library_of
from clarysage.models.outputs import CLASSIFIER, LINKS, REGRESSOR, classes_of, from_methods, linked, unknown_output
from clarysage.models.predictor import Predictor
from clarysage.protocols import Objective, ability, gives_ability
from clarysage.registry import loaded

PREDICTIONS = (None, "predict", "predict_proba")  # outputs that predict the response


class ModelAdapter(Protocol):
    """Turns a fitted model of one library into a predictor."""

    def predictor(self, output: str | None) -> Predictor:
        """Returns the model as a function of tables; ``output`` as in :func:`as_predictor`."""
        ...


class HasCategoryColumns(Protocol):
    """A model that needs some columns as pandas categories, which a text file cannot tell."""

    def category_columns(self, frame: Any) -> Sequence[int]:
        """Returns the indices of these columns in a frame whose columns are the model's, in its order."""
        ...


class HasFitOptions(Protocol):
    """A model that was given settings by its ``fit`` which a copy needs as well."""

    def fit_options(self) -> dict[str, Any]:
        """Returns parameters to set on a copy, so that it is fitted as the model was."""
        ...


class HasObjective(Protocol):
    """A model that knows which loss it was fitted to minimise."""

    def objective(self) -> Objective | None:
        """Returns the objective, and the loss that it is for predictions of the response."""
        ...


class HasTrainingRows(Protocol):
    """A model that stores the rows it was fitted on, or some of them."""

    def training_rows(self) -> np.ndarray | None:
        """Returns these rows (n, D), as the model got them."""
        ...


@dataclass(frozen=True)
class _ByFunction:
    """Adapter that calls a function ``(model, output) -> Predictor``."""

    model: Any
    function: Callable[[Any, str | None], Predictor]

    def predictor(self, output: str | None) -> Predictor:
        return self.function(self.model, output)


def adapter_of(model: Any) -> ModelAdapter:
    """Returns the adapter of the model's class or of its next known base; otherwise one that only uses its methods."""
    adapters = (_registered(model, kind) for kind in type(model).__mro__)
    return next(filter(None, adapters), None) or AnyModel(model)


def _registered(model: Any, kind: type) -> ModelAdapter | None:
    """Returns the adapter of a class; a third party's takes precedence over ours."""
    library, adapter = LIBRARIES.get(library_of(kind)), None
    name = f"{library_of(kind)}.{kind.__qualname__}"
    if name in _entries():
        adapter = _entries()[name].load()
    elif library is not None:
        adapter = library.adapters.get(kind.__qualname__)
    if adapter is None:
        return None
    adapter = loaded(adapter) if isinstance(adapter, str) else adapter
    reader: ModelAdapter = adapter(model) if isinstance(adapter, type) else _ByFunction(model, adapter)
    return reader


def libraries_with(kind: type) -> list[str]:
    """Returns the titles of libraries that have models with an ability. This imports all adapters, but no library.

    Examples
    --------
    >>> from clarysage.structure.intrinsic_numbers import HasGains
    >>> libraries_with(HasGains)
    ['XGBoost', 'LightGBM', 'CatBoost', 'scikit-learn']
    """
    return [
        library.title
        for library in LIBRARIES.values()
        if any(_gives(adapter, kind) for adapter in library.adapters.values())
    ]


def _gives(adapter: Callable[[Any], ModelAdapter] | str, kind: type) -> bool:
    """Returns True if the class of an adapter has an ability; False if its module cannot be imported."""
    try:
        adapter_class = loaded(adapter)
    except ImportError:
        return False
    return isinstance(adapter_class, type) and gives_ability(adapter_class, kind)


@cache
def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="clarysage.models")}


def as_predictor(
    model: object,
    *,
    output: str | None = None,
    classes: Sequence[Any] | None = None,
    feature_names: Sequence[str] | None = None,
    batch_size: int | None = None,
) -> Predictor:
    """Turns a fitted model, or any callable, into a Predictor f: rows -> (n, k).

    Parameters
    ----------
    model : a fitted model, or a callable that takes rows and returns predictions
    output : which output to use: a method of the model ("predict_proba", "decision_function", ...), the name of an
        output of an ONNX session, or "sigmoid" / "softmax" to turn the logits it returns into probabilities
    classes : labels of the classes, in the order of the model's outputs, for a model that does not know them
    feature_names : names of the columns the model expects, in its order, for a model that does not know them
    batch_size : largest number of rows in one call of the model; default 32,768, or what memory allows

    Returns
    -------
    Predictor, a function of rows that knows its classes, columns and structure where the model tells them

    Examples
    --------
    >>> import numpy as np
    >>> f = as_predictor(lambda X: X @ np.array([1.0, 2.0]))
    >>> f(np.array([[1.0, 1.0]]))
    array([[3.]])
    """
    predictor = _with_link(model, output) if isinstance(model, Predictor) else _adapted(model, output)
    if output is not None:
        predictor = replace(predictor, outputs=(*predictor.outputs, output))
    if classes is not None:
        objective = predictor.objective if predictor.task == "classification" else None
        predictor = replace(predictor, classes=tuple(classes), task="classification", objective=objective)
    if feature_names is not None:
        predictor = replace(predictor, feature_names=tuple(feature_names))
    if batch_size is not None:
        predictor = replace(predictor, batch_size=_checked(batch_size))
    return predictor


def _adapted(model: Any, output: str | None) -> Predictor:
    if isinstance(model, type):
        raise InputError("model", got=f"the class {model.__name__}", wanted="a fitted model, not its class")
    predictor = adapter_of(model).predictor(output)
    predicts_response = output in PREDICTIONS and predictor.task not in ("ranking", "survival")
    return replace(predictor, objective=objective_of(model)) if predicts_response else predictor


def objective_of(model: Any) -> Objective | None:
    """Returns what a fitted model was fitted to minimise; None if its adapter does not know.

    Examples
    --------
    >>> from sklearn.linear_model import QuantileRegressor
    >>> objective_of(QuantileRegressor(quantile=0.9).fit([[1.0], [2.0]], [1.0, 3.0])).loss
    'pinball(0.9)'
    """
    adapter = ability(adapter_of(model), HasObjective)
    return None if adapter is None else adapter.objective()


def _with_link(predictor: Predictor, output: str | None) -> Predictor:
    if output is None:
        return predictor
    if output not in LINKS:
        raise unknown_output(predictor.name, output)
    function = linked(predictor.function, output)
    return replace(predictor, function=function, task="classification", hard=False, structure=None, objective=None)


def _checked(batch_size: Any) -> int:
    if isinstance(batch_size, bool) or not isinstance(batch_size, Integral) or batch_size < 1:
        raise InputError(
            "batch_size",
            got=f"{batch_size!r}",
            wanted="a whole number of rows, one or more",
            hint=Set("batch_size", 4096),
        )
    return int(batch_size)


@dataclass(frozen=True)
class AnyModel:
    """Reads an object with ``predict_proba`` or ``predict``, or a callable."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        model = self.model
        if hasattr(model, "predict_proba") or hasattr(model, "predict"):
            values = CLASSIFIER if hasattr(model, "predict_proba") or hasattr(model, "classes_") else REGRESSOR
            return from_methods(model, output, values=values, classes=classes_of(model))
        name = getattr(model, "__name__", type(model).__name__)
        if not callable(model):
            raise InputError(
                "model",
                got=f"{type(model).__name__}, which is neither callable nor has a predict method",
                wanted="a fitted model, or a callable that takes rows and returns predictions",
            )
        if output not in (None, *LINKS):
            raise unknown_output(name, output)
        return Predictor(linked(model, output), name, task="classification" if output else None)

    def coefficients(self) -> np.ndarray | None:
        return coefficients_of(self.model)


def coefficients_of(model: Any) -> np.ndarray | None:
    """Returns weights (D, K) of an estimator with ``coef_`` of shape (D,) or (K, D); None without it."""
    coefficients = getattr(model, "coef_", None)
    if coefficients is None:
        return None
    dense = coefficients.toarray() if hasattr(coefficients, "toarray") else coefficients
    return np.atleast_2d(np.asarray(dense, dtype=np.float64)).T
