"""What the columns of a run are: names, dtypes and dictionaries shared by X and background; codes for their tables."""

from __future__ import annotations

from collections.abc import Sequence
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
        return self._encode(_Part.of(as_table(table, argument), argument))

    def _encode(self, part: _Part) -> np.ndarray:
        if part.is_numeric_array and _block_dtype(self.columns) is not None:
            _order(part, self.labels, self.width)
            rows = np.ascontiguousarray(part.table, dtype=FLOAT).view()
            rows.setflags(write=False)
            return rows
        cells = _cells(part, self.labels, self.columns[0].backend, self.width)
        codes = np.empty((part.table.shape[0], self.width))
        for place, column in enumerate(self.columns):
            try:
                codes[:, place] = column.encode(cells[place])
            except KeyError as error:
                raise InputError(
                    part.argument,
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


@dataclass(frozen=True)
class EncodedTable:
    """A table with its rows as codes, (n, d)."""

    table: Any
    codes: np.ndarray


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
    tables = {"X": as_table(X, "X")}
    if background is not None:
        tables[argument] = as_table(background, argument)
    return _joint_schema([_Part.of(table, name) for name, table in tables.items()], names)


def encode_together(
    X: Any, background: Any, *, argument: str = "background", names: Sequence[str] = ()
) -> tuple[Schema, np.ndarray, np.ndarray]:
    """The schema of two checked tables as :func:`schema_of` makes it, and the codes of X and of the background.

    Tables are checked by :func:`~clarysage.tables.as_table`. One that is both X and background is encoded once.
    """
    examples = _Part.of(background if argument == "X" else X, "X")
    if background is examples.table:
        schema = _joint_schema([examples], names)
        codes = schema._encode(examples)
        return schema, codes, codes
    others = _Part.of(background, argument)
    schema = _joint_schema([examples, others], names)
    return schema, schema._encode(examples), schema._encode(others)


@dataclass(frozen=True)
class _Part:
    """A checked table, with what is asked of it again and again."""

    table: Any
    argument: str
    container: str
    labels: tuple[Any, ...] | None

    @classmethod
    def of(cls, table: Any, argument: str) -> _Part:
        return cls(table, argument, container_of(table), labels_of(table))

    @property
    def is_numeric_array(self) -> bool:
        return self.container == "numpy" and self.table.dtype.kind in "biuf"


def _joint_schema(parts: list[_Part], names: Sequence[str]) -> Schema:
    """The schema of X and, where there is one, of another table."""
    lead = next((part for part in parts if part.labels is not None), parts[0])
    labels, width = lead.labels, int(parts[0].table.shape[1])
    if lead is not parts[0] and labels is not None and sorted(map(str, labels)) == sorted(names):
        labels = tuple(names)
    parts = _in_one_dtype(sorted(parts, key=lambda part: part is not lead))
    library, order = backend(lead.container), _order(lead, labels, width)
    columns = _one_for_all(parts, labels, width) or _joined(parts, labels, library, width)
    return Schema(lead.container, labels, columns, columns, library.header(lead.table, order))


def _in_one_dtype(parts: list[_Part]) -> list[_Part]:
    """The tables, with those that are arrays of numbers in the first dtype that holds them all."""
    if not all(part.is_numeric_array for part in parts):
        return parts
    tables = [part.table for part in parts]
    dtypes = [table.dtype for table in tables]
    try:
        dtype = common_dtype(tables, [*dtypes, np.result_type(*dtypes), FLOAT], holds)
    except TypeError as error:
        raise InputError(
            " and ".join(part.argument for part in parts),
            got=f"integers beyond 2^53 beside fractions ({error})",
            wanted="one dtype for both",
        ) from error
    return [replace(part, table=part.table.astype(dtype, copy=False)) for part in parts]


def _one_for_all(parts: list[_Part], labels: Any, width: int) -> tuple[Column, ...] | None:
    """The columns of arrays of numbers, all alike, without a look at each; None where that will not do."""
    if not all(part.is_numeric_array for part in parts):
        return None
    tables = [part.table for part in parts]
    for part, table in zip(parts, tables, strict=True):
        _order(part, labels, width)
        if table.dtype.kind in "iu" and np.abs(table.astype(FLOAT)).max() >= EXACT_INTEGERS:
            return None
    missing = any(table.dtype.kind == "f" and bool(np.isnan(table).any()) for table in tables)
    return (Numbers(backend("numpy"), tables[0].dtype, missing),) * width


def _joined(parts: list[_Part], labels: Any, library: Backend, width: int) -> tuple[Column, ...]:
    cells = {part.argument: _cells(part, labels, library, width) for part in parts}
    by_column = [{argument: columns[j] for argument, columns in cells.items()} for j in range(width)]
    return tuple(map(column_of, [library] * width, by_column, _names(labels, width)))


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


def _cells(part: _Part, labels: tuple[Any, ...] | None, library: Backend, width: int) -> list[Any]:
    """The columns of a table in the wanted order, as cells of the given library."""
    own = backend(part.container).split(part.table)
    cells: list[Any] = []
    for place in _order(part, labels, width):
        try:
            cells.append(library.adopt(own[place]))
        except (TypeError, ValueError) as error:
            name = _names(labels, width)[len(cells)]
            raise InputError(
                part.argument,
                got=[f"column {name!r}, which cannot be put in the kind of table that ", X, f" is ({error})"],
                wanted=["the same kind of table for ", X, " and background"],
            ) from error
    return cells


def _order(part: _Part, wanted: tuple[Any, ...] | None, width: int) -> list[int]:
    """Places of a table's columns in the wanted order, by name where it has names."""
    labels = part.labels
    if labels is None or wanted is None:
        columns = part.table.shape[1]
        if columns != width:
            raise InputError(
                part.argument,
                got=f"{columns} columns",
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
        raise InputError(
            part.argument, got=["columns that differ from ", X, f"'s: {what}"], wanted=["the columns of ", X]
        )
    return [place[name] for name in want]
