"""Withheld features replaced by one fixed value for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.removal.background import BoundTables, bound_to
from clarysage.removal.restricted.hybrid import HybridModel, hybrid_model
from clarysage.tables import Categories, Schema, as_table, container_of, labels_of, read_weights
from clarysage.tables.sparse import SparseTable, as_combined, stored

VALUES = "baseline values"
COLUMNS_AT_ONCE = 1024  # of a sparse matrix, that are filled in together


@dataclass(frozen=True)
class Baseline:
    """Withheld features each take one fixed value.

    Parameters
    ----------
    values : "mean", "median" (of numbers; categories take their most frequent value), "mode", or the values themselves:
        a row, a (1, d) array, a one-row table, or a mapping of column names to values
    background : table of rows that mean, median and mode are computed from; default X
    weights : one weight for each background row
    memory_limit : bytes that the rows given to the model at once may take

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
        bound = self.bound(predictor, X)
        return hybrid_model(bound.predictor, bound.background, np.ones(1), bound.examples)

    def limited(self, memory_limit: float) -> Baseline:
        return replace(self, memory_limit=memory_limit)

    def bound(self, predictor: Any, X: Any) -> BoundTables:
        """Binds the predictor to the columns of X, with the row of baseline values, (1, d), as background."""
        X = as_table(X, "X")
        given = self._given(X, getattr(predictor, "feature_names", None))
        rows, argument = (X, "X") if self.background is None else (self.background, "background")
        if given is None and isinstance(X, SparseTable) and X.members is not None:
            given = self._row_of_matrix(as_combined(as_table(rows, argument), X.layout, argument), rows)
        if given is not None:
            rows, argument = given, VALUES
        bound = bound_to(predictor, X, rows, self.memory_limit, argument)
        row = bound.background
        if given is None:
            weights = read_weights(self.weights, rows, len(row), "background weights", "background")
            row = self._summary(row, weights, bound.schema)
        f = bound.predictor
        return replace(bound, predictor=replace(f, schema=f.schema.widened(row)), background=row)

    def _given(self, X: Any, names: Sequence[str] | None) -> Any:
        """Returns the given values as a one-row table, or None if they are to be computed."""
        if isinstance(self.values, str):
            if self.values not in ("mean", "median", "mode"):
                raise InputError(VALUES, got=f"{self.values!r}", wanted='"mean", "median", "mode" or values')
            return None
        if isinstance(self.values, Mapping):
            return _one_row(self.values, X, names)
        row = self.values
        if container_of(row) == "numpy":
            row = np.asarray(row, dtype=object if isinstance(row, (list, tuple)) else None)
            row = as_table(row.reshape(1, -1).tolist() if row.ndim <= 1 else row, VALUES)
        if row.shape[0] != 1:
            raise InputError(
                VALUES,
                got=f"{row.shape[0]} rows",
                wanted="one row with one value for each column",
                hint=PythonOnly("removal=Marginal(rows) to average over several"),
            )
        return row

    def _summary(self, background: np.ndarray, weights: np.ndarray, schema: Schema) -> np.ndarray:
        row = []
        for codes, column, name in zip(background.T, schema.columns, schema.names, strict=True):
            if self.values != "mode" and isinstance(column, Categories) and column.holds_numbers:
                raise InputError(
                    "background",
                    got=f"numbers in column {name!r} that are objects, or integers beyond 2^53",
                    wanted=f"a numeric column, for the {self.values}",
                    hint=PythonOnly('removal=Baseline("mode")'),
                )
            row.append(self._of_column(codes, weights, is_number=column.is_number))
        return np.array([row])

    def _row_of_matrix(self, background: SparseTable, given: Any) -> SparseTable:
        """Returns the values of all columns of a matrix, some of which are combined, as a table of one row."""
        weights = read_weights(self.weights, given, len(background), "background weights", "background")
        by_column, width = background.rows.tocsc(), background.layout.width
        parts = (by_column[:, start : start + COLUMNS_AT_ONCE].toarray() for start in range(0, width, COLUMNS_AT_ONCE))
        row = [self._of_column(codes, weights, is_number=True) for part in parts for codes in part.T.astype(np.float64)]
        return SparseTable(stored(np.array([row])))

    def _of_column(self, codes: np.ndarray, weights: np.ndarray, *, is_number: bool) -> float:
        present = ~np.isnan(codes) & (weights > 0)
        if not present.any():
            return float(codes[0])  # the column's own kind of missing cell
        codes, weights = codes[present], weights[present]
        if not is_number or self.values == "mode":
            distinct, index = np.unique(codes, return_inverse=True)
            return float(distinct[np.bincount(index, weights=weights).argmax()])
        if self.values == "mean":
            return float((codes * weights).sum() / weights.sum())
        order = np.argsort(codes)
        running = np.cumsum(weights[order]) / weights.sum()
        low, high = np.searchsorted(running, [0.5 - 1e-12, 0.5 + 1e-12])
        return float((codes[order[low]] + codes[order[min(high, len(codes) - 1)]]) / 2)


def _one_row(values: Mapping[Any, Any], X: Any, names: Sequence[str] | None) -> Any:
    """Returns a mapping of names to values as a one-row table; in the model's order if X has no column names."""
    import pandas as pd

    row = pd.DataFrame({str(name): [value] for name, value in values.items()})
    if labels_of(X) is not None:
        return row
    columns = list(names or (f"x{i}" for i in range(X.shape[1])))
    if sorted(map(str, values)) != sorted(columns):
        raise InputError(
            VALUES,
            got=f"values for {', '.join(map(repr, values))}",
            wanted=f"one for each of {', '.join(map(repr, columns[:8]))}",
        )
    return row[columns]
