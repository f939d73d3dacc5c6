"""The columns of a run: their names, their dtypes, and rows of codes for each table that has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.tables.columns import BACKENDS, Column, Numbers, NumpyCells, column_of, widened
from clarysage.tables.containers import as_pandas, as_polars, as_table, container_of, labels_of, same_container

INLINE_FLOAT = np.dtype(np.float64)


@dataclass(frozen=True)
class Schema:
    """What the columns of a run are, shared by X and background.

    ``container`` is the kind of table that the model gets: the kind the user handed in, unless the model wants another.
    """

    container: str
    labels: tuple[Any, ...] | None
    columns: tuple[Column, ...]
    arrow: Any = None

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names as text; x0, x1, ... where the tables have none."""
        if self.labels is None:
            return tuple(f"x{i}" for i in range(self.width))
        return tuple(str(label) for label in self.labels)

    @property
    def is_number(self) -> np.ndarray:
        """Which columns hold numbers (the codes are the values)."""
        return np.array([column.is_number for column in self.columns])

    def encode(self, table: Any, argument: str) -> np.ndarray:
        """Rows of codes, float64 (n, d), of a table that :func:`schema_of` has seen."""
        table = _matched(as_table(table, argument), self.labels, argument, self.width)
        if self._is_plain and container_of(table) == "numpy" and table.dtype.kind in "biuf":
            return np.array(table, dtype=np.float64, order="C")
        if container_of(table) != self._inner:
            table = as_pandas(table, self.labels) if self._inner == "pandas" else np.asarray(table)
        cells = _columns(table)
        codes = np.empty((len(cells[0]), self.width))
        for place, column in enumerate(self.columns):
            try:
                codes[:, place] = column.encode(cells[place])
            except KeyError as error:
                raise InputError(
                    argument,
                    got=f"the value {error.args[0]!r} in column {self.names[place]!r}",
                    wanted="values that occur in X or background",
                ) from error
        return codes

    def decode(self, codes: np.ndarray) -> Any:
        """The table that the model gets for rows of codes; freshly made, so the model may write into it."""
        if self.container == "numpy":
            return self._array(codes)
        frame = self._polars(codes) if self._inner == "polars" else self._pandas(codes)
        if self.container == "pandas":
            return as_pandas(frame)
        if self.container == "polars":
            return as_polars(frame)
        import pyarrow as pa

        return pa.Table.from_pandas(frame, schema=self.arrow, preserve_index=False)

    def widened(self, codes: np.ndarray) -> Schema:
        """The schema, able to hold these codes too (a mean of whole numbers needs a float column)."""
        columns = tuple(widened(column, codes[:, j]) for j, column in enumerate(self.columns))
        return self if columns == self.columns else replace(self, columns=columns, arrow=None)

    def arranged(self, order: Sequence[int]) -> Schema:
        """The same columns in another order."""
        labels = None if self.labels is None else tuple(self.labels[j] for j in order)
        arrow = None
        if self.arrow is not None:
            import pyarrow as pa

            arrow = pa.schema([self.arrow.field(j) for j in order])
        return replace(self, labels=labels, columns=tuple(self.columns[j] for j in order), arrow=arrow)

    def handed_as(self, container: str | None, labels: Sequence[str] | None = None) -> Schema:
        """The schema for a model that wants its rows as arrays ('numpy') or as pandas frames."""
        if container is None or container == self.container:
            return self
        return replace(self, container=container, labels=tuple(labels) if labels is not None else self.labels)

    @property
    def _inner(self) -> str:
        """The kind of table that the columns decode into: numpy, pandas or polars."""
        return next(name for name, backend in BACKENDS.items() if backend is self.columns[0].backend)

    @property
    def _is_plain(self) -> bool:
        return all(isinstance(column, Numbers) and isinstance(column.backend, NumpyCells) for column in self.columns)

    def _array(self, codes: np.ndarray) -> np.ndarray:
        if all(column.is_number for column in self.columns):
            dtypes = {column.dtype for column in self.columns if isinstance(column, Numbers)}
            dtype = dtypes.pop() if len(dtypes) == 1 else INLINE_FLOAT
            return codes.astype(dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else INLINE_FLOAT)
        rows = np.empty(codes.shape, dtype=object)
        for j, column in enumerate(self.columns):
            rows[:, j] = np.asarray(column.decode(codes[:, j]), dtype=object)
        return rows

    def _pandas(self, codes: np.ndarray) -> Any:
        import pandas as pd

        labels = list(self.labels) if self.labels is not None else list(self.names)
        if all(isinstance(column, Numbers) and column.dtype == INLINE_FLOAT for column in self.columns):
            return pd.DataFrame(codes.copy(), columns=labels)
        frame = pd.DataFrame({j: column.decode(codes[:, j]) for j, column in enumerate(self.columns)})
        frame.columns = pd.Index(labels)
        return frame

    def _polars(self, codes: np.ndarray) -> Any:
        import polars as pl

        names = self.names
        return pl.DataFrame([column.decode(codes[:, j]).alias(names[j]) for j, column in enumerate(self.columns)])


def schema_of(X: Any, background: Any = None, *, feature_names: Sequence[str] | None = None) -> Schema:
    """The columns of X and background together; names matched, dtypes joined, dictionaries made.

    Examples
    --------
    >>> schema = schema_of([[1, 2.5], [3, 4.0]])
    >>> schema.names
    ('x0', 'x1')
    >>> schema.encode([[5, 6]], "X")
    array([[5., 6.]])
    """
    X = as_table(X, "X")
    parts = {"X": X}
    if background is not None:
        parts["background"] = _matched(as_table(background, "background"), labels_of(X), "background", X.shape[1])
    labels = labels_of(X) or labels_of(parts.get("background", X))
    container, arrow = container_of(X), None
    if container == "pyarrow":
        arrow = X.schema
    tables = same_container([as_pandas(part) if container_of(part) == "pyarrow" else part for part in parts.values()])
    inner = container_of(tables[0])
    if container == "numpy" and inner != "numpy":
        container = inner  # an array beside a named table takes its names
    names = _given_names(feature_names, labels, X.shape[1])
    columns = _plain_columns(tables) if inner == "numpy" else None
    if columns is None:
        cells = [_columns(table) for table in tables]
        columns = tuple(
            column_of(BACKENDS[inner], dict(zip(parts, [part[j] for part in cells], strict=True)), names[j])
            for j in range(X.shape[1])
        )
    if arrow is not None and inner == "pandas" and len(parts) > 1 and container_of(parts["background"]) != "pyarrow":
        arrow = None
    return Schema(container, labels, columns, arrow)


def _plain_columns(tables: list[np.ndarray]) -> tuple[Column, ...] | None:
    """Columns of all-numeric arrays, without a look at each (None where there is text or a huge integer)."""
    if any(table.dtype.kind not in "biuf" for table in tables):
        return None
    dtype = np.result_type(*(table.dtype for table in tables))
    if dtype.kind in "iu" and any(np.abs(table.astype(np.float64)).max() >= 2**53 for table in tables):
        return None
    column = Numbers(BACKENDS["numpy"], dtype)
    return (column,) * int(tables[0].shape[1])


def _given_names(feature_names: Sequence[str] | None, labels: tuple[Any, ...] | None, width: int) -> tuple[str, ...]:
    if feature_names is None:
        return tuple(map(str, labels)) if labels is not None else tuple(f"x{i}" for i in range(width))
    names = tuple(map(str, feature_names))
    if len(names) != width:
        raise InputError("feature_names", got=f"{len(names)} names", wanted=f"one for each of the {width} columns of X")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InputError("feature_names", got=f"{repeated[0]!r} more than once", wanted="distinct names")
    return names


def _matched(table: Any, wanted: tuple[Any, ...] | None, argument: str, width: int) -> Any:
    """The table with its columns in the wanted order, where both have names; missing or extra ones are an error."""
    labels = labels_of(table)
    if labels is None or wanted is None:
        if table.shape[1] != width:
            raise InputError(
                argument, got=f"{table.shape[1]} columns", wanted=f"{width}, as in X", hint="the same columns for both"
            )
        return table
    if labels == wanted:
        return table
    missing = [str(label) for label in wanted if label not in labels]
    extra = [str(label) for label in labels if label not in wanted]
    if missing or extra:
        what = "; ".join(
            f"{word} {', '.join(map(repr, found[:5]))}" for word, found in (("no", missing), ("extra", extra)) if found
        )
        raise InputError(argument, got=f"columns that differ from X's: {what}", wanted="the columns of X")
    return table.select(list(wanted)) if container_of(table) != "pandas" else table[list(wanted)]


def _columns(table: Any) -> list[Any]:
    kind = container_of(table)
    if kind == "numpy":
        return [table[:, j] for j in range(table.shape[1])]
    if kind == "pandas":
        return [table.iloc[:, j] for j in range(table.shape[1])]
    return list(table.get_columns())
