"""Withheld features replaced by one value a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.models import BoundPredictor
from clarysage.removal.hybrid import HybridModel, hybrid_model
from clarysage.removal.marginal import bound_to
from clarysage.tables import read_weights


@dataclass(frozen=True)
class Baseline:
    """Withheld features take one fixed value each.

    ``values`` is "mean", "median" (of numbers; categories take their most frequent value), "mode", or the values
    themselves: a row, a (1, d) array, a one-row table, or a mapping of column names to values.

    Examples
    --------
    >>> import numpy as np
    >>> f_S = Baseline([1.0, 10.0]).restrict(lambda X: X.sum(axis=1), [[5.0, 7.0]])
    >>> f_S.predict(np.array([[5.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[15.]])
    """

    values: Any = "mean"
    background: Any = None
    weights: Any = None
    memory_limit: float = 1e9
    name: str = "baseline"

    def restrict(self, predictor: Any, X: Any) -> HybridModel:
        rows = X if self.background is None else self.background
        given = self._given(X)
        schema, bound = bound_to(predictor, X, rows if given is None else given, self.memory_limit)
        if given is None:
            background = schema.encode(rows, "background")
            mass = read_weights(self.weights, rows, len(background), "background weights")
            row = self._summary(background, mass, schema.is_number)
        else:
            row = schema.encode(given, "baseline values")
        bound = BoundPredictor(bound.predictor, bound.schema.widened(row), memory_limit=self.memory_limit)
        return hybrid_model(bound, row, np.ones(1), schema.encode(X, "X"))

    def _given(self, X: Any) -> Any:
        """The values as a one-row table, or None where they are to be computed."""
        if isinstance(self.values, str):
            if self.values not in ("mean", "median", "mode"):
                raise InputError("baseline values", got=f"{self.values!r}", wanted='"mean", "median", "mode" or values')
            return None
        if isinstance(self.values, Mapping):
            import pandas as pd

            return pd.DataFrame({name: [value] for name, value in self.values.items()})
        if hasattr(self.values, "columns") or hasattr(self.values, "column_names"):
            row = self.values
        else:
            row = np.asarray(self.values)
            row = row.reshape(1, -1) if row.ndim <= 1 else row
        if row.shape[0] != 1:
            raise InputError("baseline values", got=f"{row.shape[0]} rows", wanted="one row, one value a column",
                             hint="removal=Marginal(rows) to average over several")  # fmt: skip
        return row

    def _summary(self, background: np.ndarray, mass: np.ndarray, is_number: np.ndarray) -> np.ndarray:
        columns = [self._of_column(background[:, j], mass, bool(is_number[j])) for j in range(background.shape[1])]
        return np.array([columns])

    def _of_column(self, codes: np.ndarray, mass: np.ndarray, is_number: bool) -> float:
        present = ~np.isnan(codes)
        if not present.any():
            return float("nan")
        codes, mass = codes[present], mass[present]
        if not is_number or self.values == "mode":
            distinct, place = np.unique(codes, return_inverse=True)
            return float(distinct[np.bincount(place, weights=mass).argmax()])
        if self.values == "mean":
            return float((codes * mass).sum() / mass.sum())
        order = np.argsort(codes)
        running = np.cumsum(mass[order]) / mass.sum()
        low, high = np.searchsorted(running, [0.5 - 1e-12, 0.5 + 1e-12])
        return float((codes[order[low]] + codes[order[min(high, len(codes) - 1)]]) / 2)
