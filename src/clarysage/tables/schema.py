"""What the columns of a run are: names, dtypes and dictionaries shared by X and background; codes for their tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError
from clarysage.tables.cells import Backend, backend
from clarysage.tables.cells.common import EXACT_INTEGERS, common_dtype
from clarysage.tables.cells.numpy import holds
from clarysage.tables.columns import Column, Numbers, column_of
from clarysage.tables.containers import as_table, container_of, labels_of

FLOAT = np.dtype(np.float64)
X = Argument("X")


@dataclass(frozen=True)
class Schema:
    """What the columns of a run are, shared by X and background.

    Attributes
    ----------
    container : the kind of table that the model gets: the kind the user handed in, unless the model wants another
    labels : column labels, None where no table has any
    columns : how cells become codes
    handed : how codes become the cells that the model gets
    header : what its tables say of their columns beside the cells, such as an index of names
    """

    container: str
    labels: tuple[Any, ...] | None
    columns: tuple[Column, ...]
    handed: tuple[Column, ...]
    header: Any = None

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names as text; x0, x1, ... where the tables have none."""
        return _names(self.labels, self.width)

    @property
    def is_number(self) -> np.ndarray:
        """Which columns hold numbers (the codes are the values)."""
        return np.array([column.is_number for column in self.columns])

    def encode(self, table: Any, argument: str) -> np.ndarray:
        """Rows of codes, float64 (n, d), of a table that :func:`schema_of` has seen; read only, maybe its own rows."""
        table = as_table(table, argument)
        if _block_dtype(self.columns) is not None and container_of(table) == "numpy" and table.dtype.kind in "biuf":
            _order(table, self.labels, argument, self.width)
            rows = np.ascontiguousarray(table, dtype=FLOAT).view()
            rows.setflags(write=False)
            return rows
        cells = _cells(table, self.labels, argument, self.columns[0].backend, self.width)
        codes = np.empty((table.shape[0], self.width))
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
        library, dtype = self.handed[0].backend, _block_dtype(self.handed)
        if dtype is not None:  # one array, which models read fastest
            return library.table(backend("numpy").from_float(codes, dtype), self.header)
        return library.table([column.decode(codes[:, j]) for j, column in enumerate(self.handed)], self.header)

    def widened(self, codes: np.ndarray) -> Schema:
        """The schema, able to hold these codes too (a mean of whole numbers needs a float column)."""
        return replace(self, handed=tuple(column.widened(codes[:, j]) for j, column in enumerate(self.handed)))

    def handed_as(self, container: str | None, labels: Sequence[str] | None = None) -> Schema:
        """The schema for a model that wants its rows as arrays ('numpy') or as pandas frames."""
        if container is None or container == self.container:
            return self
        library = backend(container)
        handed = tuple(column.handed_to(library) for column in self.handed)
        labels = self.labels if labels is None else tuple(labels)
        return replace(self, container=container, labels=labels, handed=handed, header=_names(labels, self.width))


def schema_of(X: Any, background: Any = None, *, argument: str = "background", names: Sequence[str] = ()) -> Schema:
    """The columns of X and background together; names matched, dtypes joined, dictionaries made.

    X leads: the model gets the kind of table that X is, in X's dtypes where they hold every cell of both. ``names`` are
    those of the model, by which a background with names is put in order where X has none.

    Examples
    --------
    >>> schema = schema_of([[1, 2.5], [3, 4.0]])
    >>> schema.names
    ('x0', 'x1')
    >>> schema.encode([[5, 6]], "X")
    array([[5., 6.]])
    """
    parts = {"X": as_table(X, "X")}
    if background is not None:
        parts[argument] = as_table(background, argument)
    lead = next((table for table in parts.values() if labels_of(table) is not None), parts["X"])
    labels, width = labels_of(lead), int(parts["X"].shape[1])
    if lead is not parts["X"] and labels is not None and sorted(map(str, labels)) == sorted(names):
        labels = tuple(names)
    parts = _in_one_dtype(dict(sorted(parts.items(), key=lambda part: part[1] is not lead)))
    library, order = backend(container_of(lead)), _order(lead, labels, argument, width)
    columns = _one_for_all(list(parts.values()), labels, argument, width) or _joined(parts, labels, library, width)
    return Schema(container_of(lead), labels, columns, columns, library.header(lead, order))


def _in_one_dtype(parts: dict[str, Any]) -> dict[str, Any]:
    """The tables, with those that are arrays of numbers in the first dtype that holds them all."""
    if not _are_numeric_arrays(parts.values()):
        return parts
    dtypes = [table.dtype for table in parts.values()]
    try:
        dtype = common_dtype(list(parts.values()), [*dtypes, np.result_type(*dtypes), FLOAT], holds)
    except TypeError as error:
        raise InputError(
            " and ".join(parts), got=f"integers beyond 2^53 beside fractions ({error})", wanted="one dtype for both"
        ) from error
    return {argument: table.astype(dtype, copy=False) for argument, table in parts.items()}


def _one_for_all(tables: list[Any], labels: Any, argument: str, width: int) -> tuple[Column, ...] | None:
    """The columns of arrays of numbers, all alike, without a look at each; None where that will not do."""
    if not _are_numeric_arrays(tables):
        return None
    for table in tables:
        _order(table, labels, argument, width)
        if table.dtype.kind in "iu" and np.abs(table.astype(FLOAT)).max() >= EXACT_INTEGERS:
            return None
    missing = any(table.dtype.kind == "f" and bool(np.isnan(table).any()) for table in tables)
    return (Numbers(backend("numpy"), tables[0].dtype, missing),) * width


def _joined(parts: dict[str, Any], labels: Any, library: Backend, width: int) -> tuple[Column, ...]:
    cells = {argument: _cells(table, labels, argument, library, width) for argument, table in parts.items()}
    by_column = [{argument: columns[j] for argument, columns in cells.items()} for j in range(width)]
    return tuple(map(column_of, [library] * width, by_column, _names(labels, width)))


def _are_numeric_arrays(tables: Iterable[Any]) -> bool:
    return all(container_of(table) == "numpy" and table.dtype.kind in "biuf" for table in tables)


def _block_dtype(columns: Sequence[Column]) -> np.dtype[Any] | None:
    """The numpy dtype of a single array that can hold all the columns, if there is one."""
    if not all(isinstance(column, Numbers) for column in columns):
        return None
    dtypes = {column.dtype for column in columns if isinstance(column, Numbers)}
    if len(dtypes) == 1:
        return next((dtype for dtype in dtypes if isinstance(dtype, np.dtype)), None)
    return FLOAT if columns[0].backend == backend("numpy") else None


def _names(labels: Sequence[Any] | None, width: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(width)) if labels is None else tuple(map(str, labels))


def _cells(table: Any, labels: tuple[Any, ...] | None, argument: str, library: Backend, width: int) -> list[Any]:
    """The columns of a table in the wanted order, as cells of the given library."""
    own = backend(container_of(table)).split(table)
    cells = []
    for place in _order(table, labels, argument, width):
        try:
            cells.append(library.adopt(own[place]))
        except (TypeError, ValueError) as error:
            name = _names(labels, width)[len(cells)]
            raise InputError(
                argument,
                got=[f"column {name!r}, which cannot be put in the kind of table that ", X, f" is ({error})"],
                wanted=["the same kind of table for ", X, " and background"],
            ) from error
    return cells


def _order(table: Any, wanted: tuple[Any, ...] | None, argument: str, width: int) -> list[int]:
    """Places of a table's columns in the wanted order, by name where it has names."""
    labels = labels_of(table)
    if labels is None or wanted is None:
        if table.shape[1] != width:
            raise InputError(
                argument,
                got=f"{table.shape[1]} columns",
                wanted=[f"{width}, as in ", X],
                hint="the same columns for both",
            )
        return list(range(width))
    place = {str(label): j for j, label in enumerate(labels)}
    want = dict.fromkeys(map(str, wanted))
    missing, extra = [name for name in want if name not in place], [name for name in place if name not in want]
    if missing or extra:
        what = "; ".join(
            f"{word} {', '.join(map(repr, found[:5]))}" for word, found in (("no", missing), ("extra", extra)) if found
        )
        raise InputError(argument, got=["columns that differ from ", X, f"'s: {what}"], wanted=["the columns of ", X])
    return [place[name] for name in want]
