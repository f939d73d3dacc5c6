"""A model out of its wrappers: the last estimator, and the transformers that tables pass before it."""

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
    """Where the columns come from that a part of a model gets.

    Attributes
    ----------
    owner : the model's column that each of them is made of, (D,); None where they are the same
    view : makes them, (n, D), of a table as the model gets it; None where they are its numbers
    """

    owner: np.ndarray | None = None
    view: Callable[[Any], np.ndarray] | None = None

    @classmethod
    def of(cls, structure: Structure) -> InnerColumns:
        """Of the form of a structure."""
        return cls(structure.owner, structure.view)


@dataclass(frozen=True)
class Unwrapped:
    """The last estimator of a model, and the fitted transformers before it, in turn."""

    last: Any
    before: tuple[Any, ...] = ()

    def inner_columns(self) -> InnerColumns:
        """Where the columns of the last estimator come from; raises where transformers mix columns, or may."""
        inside = InnerColumns()
        for transformer in reversed(self.before):
            made = owners(transformer)
            owner = made if inside.owner is None else made[inside.owner]
            inside = InnerColumns(owner, Transformed(transformer, inside.view))
        return inside


def unwrap(model: Any) -> Unwrapped:
    """The last estimator of pipelines, searches, predictors, and of models of a transformed response.

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
    """What a wrapper holds; None for what is no wrapper."""
    if isinstance(model, Predictor):
        return None if model.origin is None else Unwrapped(model.origin)
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return None
    if name == "Pipeline" and model.steps[-1][1] not in (None, "passthrough"):
        return Unwrapped(model.steps[-1][1], (model[:-1],) if len(active_steps(model)) > 1 else ())
    held = "best_estimator_" if name in SEARCHES else WRAPPERS.get(name, "")
    return Unwrapped(getattr(model, held)) if hasattr(model, held) else None


WRAPPERS = {"TransformedTargetRegressor": "regressor_", "FrozenEstimator": "estimator"}
