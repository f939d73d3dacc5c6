"""Unwraps pipelines, searches and similar: the last estimator, and the transformers before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import SEARCHES
from clarysage.structure.base import Structure
from clarysage.structure.columnwise import Transformed, active_steps, owners


@dataclass(frozen=True)
class InnerColumns:
    """Origin of the columns that a part of a model gets.

    Attributes
    ----------
    owner : the model's column that each inner column is made of, (D,); None where both are the same
    view : turns a table, as the model gets it, into inner columns (n, D); None where these are its numbers
    """

    owner: np.ndarray | None = None
    view: Callable[[Any], np.ndarray] | None = None

    @classmethod
    def of(cls, structure: Structure) -> InnerColumns:
        """Returns the inner columns of a structure."""
        return cls(structure.owner, structure.view)


@dataclass(frozen=True)
class Unwrapped:
    """The last estimator of a model, and the fitted transformers before it, in their order."""

    last: Any
    before: tuple[Any, ...] = ()

    def inner_columns(self) -> InnerColumns:
        """Returns the columns of the last estimator; raises where transformers mix columns, or might."""
        columns = InnerColumns()
        for transformer in reversed(self.before):
            owner = owners(transformer)
            if columns.owner is not None:
                owner = owner[columns.owner]
            columns = InnerColumns(owner, Transformed(transformer, columns.view))
        return columns


def unwrap(model: Any) -> Unwrapped:
    """Returns the last estimator of pipelines, searches, predictors, and models of a transformed response.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> unwrap(make_pipeline(StandardScaler(), Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])).last
    Ridge()
    """
    outer = Unwrapped(model)
    while (inner := _within(outer.last)) is not None:
        outer = replace(inner, before=(*outer.before, *inner.before))
    return outer


def _within(model: Any) -> Unwrapped | None:
    """Returns the content of a wrapper; None for a model that is not a wrapper."""
    if isinstance(model, Predictor):
        return None if model.origin is None else Unwrapped(model.origin)
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return None
    if name == "Pipeline" and model.steps[-1][1] not in (None, "passthrough"):
        return Unwrapped(model.steps[-1][1], (model[:-1],) if len(active_steps(model)) > 1 else ())
    attribute = "best_estimator_" if name in SEARCHES else WRAPPERS.get(name, "")
    return Unwrapped(getattr(model, attribute)) if hasattr(model, attribute) else None


WRAPPERS = {"TransformedTargetRegressor": "regressor_", "FrozenEstimator": "estimator"}
