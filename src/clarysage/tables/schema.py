"""The schema of a run: names, dtypes and dictionaries that X and background share, to encode and decode their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError
from clarysage.tables.cells import Backend, backend
from clarysage.tables.cells.common import EXACT_INTEGERS, common_dtype
from clarysage.tables.cells.numpy import NumpyCells, holds
from clarysage.tables.columns import Categories, Column, Numbers, column_of
from clarysage.tables.containers import as_table, container_of, labels_of
from clarysage.tables.sparse import Layout, SparseTable, as_combined

FLOAT = np.dtype(np.float64)
X = Argument("X")
SIZE_OF_ENTRY = 1.5  # of a sparse matrix, in cells: a number and its column
CELLS_FILLED_IN = 200_000_000  # of a sparse table, at most (1.6 GB)


@dataclass(frozen=True)
class Schema:
    """The columns that X and background share.

    Attributes
    ----------
    container : the kind of table that the model gets: the kind the user passed, unless the model requires another
    labels : column labels, None if no table has any
    columns : the columns that encode cells
    decoders : the columns that decode codes to cells for the model
    header : information of tables on their columns other than cells, such as an index of names
    """

    container: str
    labels: tuple[Any, ...] | None
    columns: tuple[Column, ...]
    decoders: tuple[Column, ...]
    header: Any = None

    @property
    def width(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names as text; x0, x1, ... if the tables have none."""
        return _names(self.labels, self.width)

    @property
    def is_number(self) -> np.ndarray:
        """Mask of the columns of numbers, whose codes are their values."""
        return np.array([column.is_number for column in self.columns])

    @property
    def is_combined(self) -> bool:
        """True for sparse tables of which some columns are encoded together, as parts of rows."""
        return isinstance(self.header, Layout) and self.header.members is not None

    @cached_property
    def owner(self) -> np.ndarray | None:
        """The column that each column of a matrix with combined columns belongs to, (D,); None if none are combined."""
        return self.header.owner if self.is_combined else None

    @cached_property
    def cells_per_row(self) -> float:
        """The largest size of a decoded row, as a number of float64 cells."""
        if not self.is_combined:
            return self.width
        if self.header.kind is None:
            return float(self.header.width)
        entries = [column.values.most if isinstance(column, Categories) else 1 for column in self.columns]
        return SIZE_OF_ENTRY * sum(entries)

    def encode(self, table: Any, argument: str) -> np.ndarray:
        """Encodes a table that :func:`schema_of` was given as float64 (n, d); read only, possibly a view of it."""
        return self._encode(_Part.of(as_table(table, argument), argument, self.header))

    def _encode(self, part: _Part) -> np.ndarray:
        if part.is_numeric_array and _block_dtype(self.columns) is not None:
            _order(part, self.labels, self.width)
            rows = np.ascontiguousarray(part.table, dtype=FLOAT).view()
            rows.setflags(write=False)
            return rows
        cells = _cells(part, self.labels, self.columns[0].backend, self.width)
        codes = np.empty((part.table.shape[0], self.width))
        for j, column in enumerate(self.columns):
            try:
                codes[:, j] = column.encode(cells[j])
            except KeyError as error:
                raise InputError(
                    part.argument,
                    got=f"the value {error.args[0]!r} in column {self.names[j]!r}",
                    wanted="values that occur in X or background",
                ) from error
        return codes

    def decode(self, codes: np.ndarray) -> Any:
        """Decodes rows of codes to a new table for the model, which may write into it."""
        library = self.decoders[0].backend
        if self._dtype is not None:  # a single array, the fastest input for models
            return library.table(backend("numpy").from_float(codes, self._dtype), self.header)
        return library.table([column.decode(codes[:, j]) for j, column in enumerate(self.decoders)], self.header)

    @cached_property
    def _dtype(self) -> np.dtype[Any] | None:
        """The dtype of a single array for the model that holds all columns; None if there is none."""
        return _block_dtype(self.decoders)

    def widened(self, codes: np.ndarray) -> Schema:
        """Returns a schema that can also decode these codes (a mean of integers needs a float column)."""
        return replace(self, decoders=tuple(column.widened(codes[:, j]) for j, column in enumerate(self.decoders)))

    def for_container(self, container: str | None, labels: Sequence[str] | None = None) -> Schema:
        """Returns the schema for a model that requires its rows as arrays ('numpy') or as pandas frames."""
        if container is None or container == self.container:
            return self
        if self.container == "scipy":  # the same cells as a dense array, from which any other table can be made
            dense = replace(self, container="numpy", header=replace(self.header, kind=None))
            return dense.for_container(container, labels)
        library = backend(container)
        decoders = tuple(column.converted_to(library) for column in self.decoders)
        labels = self.labels if labels is None else tuple(labels)
        return replace(self, container=container, labels=labels, decoders=decoders, header=_names(labels, self.width))


@dataclass(frozen=True)
class EncodedTable:
    """A table, and its rows as codes, (n, d)."""

    table: Any
    codes: np.ndarray


def schema_of(X: Any, background: Any = None, *, argument: str = "background", names: Sequence[str] = ()) -> Schema:
    """Makes the joint schema of X and background: matches names, finds common dtypes and makes dictionaries.

    X determines the kind of table that the model gets, and its dtypes, if these can hold every cell of both tables.
    ``names`` are those of the model: they order the columns of a background with names if X has none.

    Examples
    --------
    >>> schema = schema_of([[1, 2.5], [3, 4.0]])
    >>> schema.names
    ('x0', 'x1')
    >>> schema.encode([[5, 6]], "X")
    array([[5., 6.]])
    """
    parts = [_Part.of(as_table(X, "X"), "X")]
    if background is not None:
        parts.append(_Part.of(as_table(background, argument), argument, parts[0].layout))
    return _joint_schema(parts, names)


def encode_together(
    X: Any, background: Any, *, argument: str = "background", names: Sequence[str] = ()
) -> tuple[Schema, np.ndarray, np.ndarray]:
    """Returns the joint schema of two tables, as :func:`schema_of` does, and the codes of X and of the background.

    Tables must be validated by :func:`~clarysage.tables.as_table`. A table that is both X and background is encoded
    once.
    """
    examples = _Part.of(background if argument == "X" else X, "X")
    if argument == "X" or background is X:
        schema = _joint_schema([examples], names)
        codes = schema._encode(examples)
        return schema, codes, codes
    others = _Part.of(background, argument, examples.layout)
    schema = _joint_schema([examples, others], names)
    return schema, schema._encode(examples), schema._encode(others)


@dataclass(frozen=True)
class _Part:
    """A validated table, with facts about it that are needed repeatedly.

    A sparse table is filled in, unless it has combined columns; ``layout`` is then how it is made again.
    """

    table: Any
    argument: str
    container: str
    labels: tuple[Any, ...] | None
    layout: Layout | None = None

    @classmethod
    def of(cls, table: Any, argument: str, layout: Any = None) -> _Part:
        """Reads the facts about a table; ``layout`` is that of X if it is sparse, whose columns are combined alike."""
        if isinstance(layout, Layout) and layout.members is not None:
            table = as_combined(table, layout, argument)
        if not isinstance(table, SparseTable):
            return cls(table, argument, container_of(table), labels_of(table))
        cells = table if table.members is not None else _filled_in(table, argument)
        return cls(cells, argument, "scipy", None, table.layout)

    @property
    def is_numeric_array(self) -> bool:
        return isinstance(self.table, np.ndarray) and self.table.dtype.kind in "biuf"


def _filled_in(table: SparseTable, argument: str) -> np.ndarray:
    rows, columns = table.shape
    if rows * columns > CELLS_FILLED_IN:
        raise InputError(
            argument,
            got=f"a sparse matrix of {rows:,} x {columns:,} cells",
            wanted=f"at most {CELLS_FILLED_IN:,} cells as a dense matrix",
            hint="fewer rows, or fewer columns",
        )
    return table.dense()


def _joint_schema(parts: list[_Part], names: Sequence[str]) -> Schema:
    """Makes the schema of X and, if there is one, of another table."""
    lead = next((part for part in parts if part.labels is not None), parts[0])
    labels, width = lead.labels, int(parts[0].table.shape[1])
    if lead is not parts[0] and labels is not None and sorted(map(str, labels)) == sorted(names):
        labels = tuple(names)
    parts = _in_one_dtype(sorted(parts, key=lambda part: part is not lead))
    library, order = backend(lead.container), _order(lead, labels, width)
    columns = _equal_columns(parts, labels, library, width) or _joint_columns(parts, labels, library, width)
    header = library.header(lead.table, order) if lead.layout is None else lead.layout
    labels = lead.table.names if isinstance(lead.table, SparseTable) else labels
    return Schema(lead.container, labels, columns, columns, header)


def _in_one_dtype(parts: list[_Part]) -> list[_Part]:
    """Casts tables that are all arrays of numbers to the first of their dtypes that holds them all."""
    if not all(part.is_numeric_array for part in parts):
        return parts
    tables = [part.table for part in parts]
    dtypes = [table.dtype for table in tables]
    try:
        dtype = common_dtype(tables, [*dtypes, np.result_type(*dtypes), FLOAT], holds)
    except TypeError as error:
        raise InputError(
            " and ".join(part.argument for part in parts),
            got=f"integers beyond 2^53 together with fractions ({error})",
            wanted="one dtype for both",
        ) from error
    return [replace(part, table=part.table.astype(dtype, copy=False)) for part in parts]


def _equal_columns(parts: list[_Part], labels: Any, library: Backend, width: int) -> tuple[Column, ...] | None:
    """Returns equal columns for arrays of numbers, without a look at each column; None if they must differ."""
    if not all(part.is_numeric_array for part in parts):
        return None
    tables = [part.table for part in parts]
    for part, table in zip(parts, tables, strict=True):
        _order(part, labels, width)
        if table.dtype.kind in "iu" and np.abs(table.astype(FLOAT)).max() >= EXACT_INTEGERS:
            return None
    missing = any(table.dtype.kind == "f" and bool(np.isnan(table).any()) for table in tables)
    return (Numbers(library, tables[0].dtype, missing),) * width


def _joint_columns(parts: list[_Part], labels: Any, library: Backend, width: int) -> tuple[Column, ...]:
    cells = {part.argument: _cells(part, labels, library, width) for part in parts}
    by_column = [{argument: columns[j] for argument, columns in cells.items()} for j in range(width)]
    return tuple(map(column_of, [library] * width, by_column, _names(labels, width)))


def _block_dtype(columns: Sequence[Column]) -> np.dtype[Any] | None:
    """Returns the numpy dtype of a single array that can hold all the columns; None if there is none."""
    if not all(isinstance(column, Numbers) for column in columns):
        return None
    dtypes = {column.dtype for column in columns if isinstance(column, Numbers)}
    if len(dtypes) == 1:
        return next((dtype for dtype in dtypes if isinstance(dtype, np.dtype)), None)
    return FLOAT if isinstance(columns[0].backend, NumpyCells) else None


def _names(labels: Sequence[Any] | None, width: int) -> tuple[str, ...]:
    return tuple(f"x{i}" for i in range(width)) if labels is None else tuple(map(str, labels))


def _cells(part: _Part, labels: tuple[Any, ...] | None, library: Backend, width: int) -> list[Any]:
    """Returns the columns of a table in the given order, as cells of the given library."""
    columns = backend("numpy" if isinstance(part.table, np.ndarray) else part.container).split(part.table)
    cells: list[Any] = []
    for position in _order(part, labels, width):
        try:
            cells.append(library.adopt(columns[position]))
        except (TypeError, ValueError) as error:
            name = _names(labels, width)[len(cells)]
            raise InputError(
                part.argument,
                got=[f"column {name!r}, which cannot be converted to the kind of table that ", X, f" is ({error})"],
                wanted=["the same kind of table for ", X, " and background"],
            ) from error
    return cells


def _order(part: _Part, target_labels: tuple[Any, ...] | None, width: int) -> list[int]:
    """Returns positions of a table's columns in the order of the labels, by name if it has names."""
    labels = part.labels
    if labels is None or target_labels is None:
        columns = part.table.shape[1]
        if columns != width:
            raise InputError(
                part.argument,
                got=f"{columns} columns",
                wanted=[f"{width}, as in ", X],
                hint="the same columns for both",
            )
        return list(range(width))
    position = {str(label): j for j, label in enumerate(labels)}
    target = dict.fromkeys(map(str, target_labels))
    missing, extra = (
        [name for name in target if name not in position],
        [name for name in position if name not in target],
    )
    if missing or extra:
        differences = "; ".join(
            f"{word} {', '.join(map(repr, names[:5]))}" for word, names in (("no", missing), ("extra", extra)) if names
        )
        raise InputError(
            part.argument, got=["columns that differ from ", X, f"'s: {differences}"], wanted=["the columns of ", X]
        )
    return [position[name] for name in target]
