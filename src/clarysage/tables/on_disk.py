"""Tables larger than memory: Parquet and Arrow files and datasets, from which only selected rows are read.

Only this file uses pyarrow's files and datasets. A table on disk is a list of pieces (row groups, record batches) that
are read one after the other, in batches of bounded size: memory holds the rows taken so far and one batch. Pieces
without a selected row are not read.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from clarysage._utils.display import quoted_names
from clarysage.errors import ClarysageWarning, InputError, MissingLibraryError, PythonOnly, Words, resembling

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
EXPECTED = "a Parquet or Arrow file, a folder of Parquet files, or a table"
BATCH_BYTES = 2**23  # of rows that are decoded at once, which takes about three times as much memory
BUFFER_BYTES = 2**18  # of a column chunk that is read ahead: a full chunk may have gigabytes
COLUMNS_AT_ONCE = 64  # of Parquet: each needs a page in memory, usually of a megabyte
FEWEST_AT_ONCE = 1024
BYTES_OF_TEXT = 64  # a guess, for cells whose size is not known before they are read


@dataclass(frozen=True)
class Piece:
    """Consecutive rows in parts that can be read separately; ``counts`` are the numbers of rows of the parts.

    ``read(columns, parts, at_once)`` yields record batches of at most ``at_once`` rows, in the order of the parts. It
    is called again for every ``width`` columns.
    """

    counts: tuple[int, ...]
    read: Callable[[list[str], list[int], int], Iterable[Any]]
    width: int | None = None


@dataclass(frozen=True)
class OnDiskTable:
    """A table on disk, or one mapped into memory.

    Attributes
    ----------
    name : name of the table in messages
    columns : all its columns, or those that were selected
    pieces : pieces of rows
    schema : types of the columns
    container : kind of the tables that :meth:`take` returns: 'pandas' for a path, since that is what readers of files
        return, 'pyarrow' for an object of pyarrow
    prepare : function that is applied to each table of rows that was read
    index : columns in which pandas stored an index, which is not a feature
    incomplete : columns that some files of a dataset do not have, each with one of these files
    argument : name of the argument that the table was passed as
    """

    name: str
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...]
    schema: Any
    container: str
    prepare: Callable[[Any], Any] | None = None
    index: tuple[str, ...] = ()
    incomplete: tuple[tuple[str, str], ...] = ()
    argument: str = "X"

    @property
    def rows(self) -> int:
        return sum(sum(piece.counts) for piece in self.pieces)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.columns)

    @property
    def bytes_of_row(self) -> int:
        """Approximate size of a row in memory."""
        return _bytes_of(self.schema, self.columns)

    def select(self, columns: Sequence[str]) -> OnDiskTable:
        """Returns the table with only these columns, in this order; columns of an index are possible, too."""
        return replace(self, columns=tuple(columns))

    def find(self, column: str, argument: str) -> str:
        """Returns the name of a column; raises an error if there is no such column."""
        names = (*self.columns, *self.index)
        if column not in names:
            raise InputError(
                argument,
                got=f"{column!r}, which is no column of {self.name}",
                wanted=f"one of {quoted_names(names)}",
                hint=resembling(column, names),
            )
        return column

    def take(self, rows: np.ndarray) -> Any:
        """Reads the rows with the given numbers, in ascending order; returns them as a table in memory."""
        for column, file in self.incomplete:
            if column in self.columns:
                warnings.warn(
                    f"{self.argument}: {file} has no column {column!r}, so that its cells are missing there.",
                    ClarysageWarning,
                    stacklevel=2,
                )
        try:
            table = self._read(rows)
        except (OSError, ValueError, TypeError) as error:  # the base classes of pyarrow's errors
            if isinstance(error, InputError):
                raise
            raise InputError(
                self.argument, got=f"{self.name}, which cannot be read ({_reason(error)})", wanted="a valid file"
            ) from error
        table = _as_pandas(table) if self.container == "pandas" else table
        return table if self.prepare is None else self.prepare(table)

    def _read(self, rows: np.ndarray) -> Any:
        arrow, tables, first = _library("pyarrow"), [], 0
        for piece in self.pieces:
            last = first + sum(piece.counts)
            in_piece = rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)] - first
            tables += [self._read_piece(piece, in_piece)] if len(in_piece) else []
            first = last
        return arrow.concat_tables(tables).combine_chunks().replace_schema_metadata(self.schema.metadata)

    def _read_piece(self, piece: Piece, rows: np.ndarray) -> Any:
        """Reads rows of a piece, some columns at a time."""
        arrow, width = _library("pyarrow"), piece.width or len(self.columns)
        tables = []
        for start in range(0, len(self.columns), width):
            columns = list(self.columns[start : start + width])
            at_once = max(FEWEST_AT_ONCE, BATCH_BYTES // _bytes_of(self.schema, columns))
            schema = arrow.schema([self.schema.field(column) for column in columns])
            batches = [_cast(batch, schema) for batch in _selected(piece, rows, columns, at_once)]
            tables.append(arrow.Table.from_batches(batches, schema).combine_chunks())
        fields = [field for table in tables for field in table.schema]
        return arrow.Table.from_arrays(
            [column for table in tables for column in table.columns], schema=arrow.schema(fields)
        )


def is_on_disk(table: Any) -> bool:
    """Tells whether an object is a table to be read in pieces, or the path of one."""
    return isinstance(table, OnDiskTable) or _is_path(table) or _are_paths(table) or _kind(table) is not None


def open_on_disk(table: Any, argument: str) -> OnDiskTable:
    """Opens a path, or a dataset, file or table of pyarrow; only its metadata are read."""
    if isinstance(table, OnDiskTable):
        opened = replace(table, argument=argument)
    else:
        try:
            if _are_paths(table):
                opened = _of_paths(list(map(os.fspath, table)), argument)
            elif _is_path(table):
                opened = _of_path(os.fspath(table), argument)
            else:
                opened = KINDS[_kind(table) or "Table"](table, argument)
        except (InputError, MissingLibraryError):
            raise
        except (OSError, ValueError, TypeError) as error:  # the base classes of pyarrow's errors
            got = repr(os.fspath(table)) if _is_path(table) else f"a {type(table).__name__}"
            raise InputError(
                argument, got=f"{got}, which cannot be read ({_reason(error)})", wanted=EXPECTED
            ) from error
    if opened.rows == 0:
        raise InputError(argument, got=f"{opened.name}, which has no rows", wanted="a table with rows")
    repeated = sorted({name for name in opened.columns if opened.columns.count(name) > 1})
    if repeated:
        raise InputError(argument, got=f"several columns named {repeated[0]!r}", wanted="distinct column names")
    return replace(opened, argument=argument)


def from_table(table: Any, argument: str = "X") -> OnDiskTable:
    """Makes an on-disk table of an Arrow table, such as one mapped into memory, to be read batch by batch."""
    batches = table.to_batches()

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        for part in parts:
            yield batches[part].select(columns)

    piece = Piece(tuple(batch.num_rows for batch in batches), read)
    return _table("the table", (piece,), table.schema, "pyarrow", index=())


def _kind(table: Any) -> str | None:
    """Returns the key in ``KINDS`` of an object, by the names of its types, so that pyarrow need not be imported."""
    names = (kind.__name__ for kind in type(table).__mro__ if kind.__module__.partition(".")[0] == "pyarrow")
    return next((name for name in names if name in KINDS and name != "Table"), None)


def _is_path(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike))


def _are_paths(table: Any) -> bool:
    """Tells whether a list is one of files: texts are only if they exist, or are called as Parquet files are."""
    return isinstance(table, (list, tuple)) and bool(table) and all(map(_is_file_name, table))


def _is_file_name(entry: Any) -> bool:
    if not isinstance(entry, str):
        return isinstance(entry, os.PathLike)
    return entry.lower().endswith(PARQUET) or os.path.exists(entry)


def _of_paths(paths: list[str], argument: str) -> OnDiskTable:
    """Opens a list of Parquet files as one table."""
    for path in paths:
        if "://" not in path and not (os.path.isfile(path) and path.lower().endswith(PARQUET)):
            raise InputError(
                argument, got=f"a list with {path!r}, which is not a Parquet file", wanted="a list of Parquet files"
            )
    return replace(_of_files(paths), name=f"{len(paths):,} files", container="pandas")


def _of_path(path: str, argument: str) -> OnDiskTable:
    if "://" in path:
        return replace(_of_files(path), name=path, container="pandas")
    if not os.path.exists(path):
        near: Words = PythonOnly("glob.glob(path)") if "*" in path else resembling(Path(path).name, _siblings(path))
        raise InputError(argument, got=f"{path!r}, which does not exist", wanted=EXPECTED, hint=near)
    name, suffix = Path(path).name, Path(path).suffix.lower()
    if suffix in ARROW and not os.path.isdir(path):
        return replace(_of_ipc(path), name=name, container="pandas")
    if not os.path.isdir(path) and suffix not in PARQUET:
        read = "reading it, as with pandas.read_csv, and passing the frame"
        raise InputError(
            argument,
            got=f"{path!r}",
            wanted=f"{EXPECTED}; files end in {', '.join((*PARQUET, *ARROW))}",
            hint=PythonOnly(read) if suffix else "",
        )
    return replace(_of_files(path), name=name, container="pandas")


def _of_files(paths: str | list[str]) -> OnDiskTable:
    """Opens Parquet files, or a folder of them, with all their columns, in types that hold the cells of all files."""
    dataset = _library("pyarrow.dataset").dataset(paths, format="parquet", partitioning=_hive())
    fragments = list(dataset.get_fragments())
    schemas = [dataset.schema, *(fragment.physical_schema for fragment in fragments)]
    schema = _library("pyarrow").unify_schemas(schemas, promote_options="permissive")
    return _of_fragments(fragments, schema.with_metadata(dataset.schema.metadata))


def _of_dataset(dataset: Any, argument: str) -> OnDiskTable:
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filtered dataset, whose row groups do not determine its rows
        fragments = []
    if fragments and all(type(fragment).__name__ == "ParquetFileFragment" for fragment in fragments):
        return _of_fragments(fragments, dataset.schema)
    return _table("the dataset", (_streamed(dataset),), dataset.schema, "pyarrow")


def _of_fragments(fragments: Sequence[Any], schema: Any) -> OnDiskTable:
    keys = _library("pyarrow.dataset").get_partition_keys
    incomplete: dict[str, str] = {}
    for fragment in fragments:
        names = {*fragment.physical_schema.names, *keys(fragment.partition_expression)}
        incomplete = {name: Path(fragment.path).name for name in schema.names if name not in names} | incomplete
    pieces = tuple(_of_fragment(fragment) for fragment in fragments)
    return replace(_table("the dataset", pieces, schema, "pyarrow"), incomplete=tuple(incomplete.items()))


def _of_fragment(fragment: Any) -> Piece:
    """Makes a piece of a file of a dataset; columns in the names of its folders have the same cell in every row."""
    counts = tuple(fragment.metadata.row_group(i).num_rows for i in range(fragment.metadata.num_row_groups))
    if fragment.row_groups is not None and len(fragment.row_groups) < len(counts):
        groups = [group.id for group in fragment.row_groups]
    else:
        groups = list(range(len(counts)))

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        parquet, keys = _library("pyarrow.parquet"), _library("pyarrow.dataset").get_partition_keys
        # the dataset's own scanner would decode entire row groups, independently of the size of its batches
        with fragment.open() as source:
            file = parquet.ParquetFile(source, buffer_size=BUFFER_BYTES, pre_buffer=False)
            in_file = [column for column in columns if column in file.schema_arrow.names]
            constants = {name: cell for name, cell in keys(fragment.partition_expression).items() if name in columns}
            for batch in file.iter_batches(at_once, row_groups=[groups[part] for part in parts], columns=in_file):
                yield _BatchWithConstants(batch, constants)

    return Piece(tuple(counts[group] for group in groups), read, COLUMNS_AT_ONCE)


@dataclass(frozen=True)
class _BatchWithConstants:
    """A record batch, and the cells of columns that are constant in it."""

    batch: Any
    constants: dict[str, Any]

    @property
    def num_rows(self) -> int:
        return int(self.batch.num_rows)

    def take(self, rows: Any) -> _BatchWithConstants:
        return replace(self, batch=self.batch.take(rows))


def _streamed(dataset: Any) -> Piece:
    """Makes a piece of a dataset without known row groups: all its batches are read."""

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        yield from dataset.to_batches(columns=columns, batch_size=at_once, batch_readahead=1, fragment_readahead=1)

    return Piece((dataset.count_rows(),), read)


def _of_parquet_file(file: Any, argument: str) -> OnDiskTable:
    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        yield from file.iter_batches(at_once, row_groups=parts, columns=columns)

    counts = tuple(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))
    return _table("the file", (Piece(counts, read, COLUMNS_AT_ONCE),), file.schema_arrow, "pyarrow")


def _of_parquet_dataset(dataset: Any, argument: str) -> OnDiskTable:
    if getattr(dataset, "_filter_expression", None) is not None:
        raise InputError(
            argument,
            got="a ParquetDataset with filters",
            wanted="one without them",
            hint=PythonOnly("pyarrow.dataset.dataset(path).filter(...)"),
        )
    return _of_fragments(dataset.fragments, dataset.schema)


def _of_ipc(path: str) -> OnDiskTable:
    """Opens an Arrow file, mapped into memory: if it is not compressed, only pages with selected rows are read."""
    arrow = _library("pyarrow")
    source = arrow.memory_map(path)
    schema = arrow.ipc.open_file(source).schema
    first_column = arrow.ipc.open_file(source, options=arrow.ipc.IpcReadOptions(included_fields=[0]))

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        fields = [schema.names.index(column) for column in columns]
        reader = arrow.ipc.open_file(source, options=arrow.ipc.IpcReadOptions(included_fields=fields))
        for part in parts:
            yield reader.get_batch(part)

    counts = tuple(first_column.get_batch(i).num_rows for i in range(first_column.num_record_batches))
    return _table("the file", (Piece(counts, read),), schema, "pyarrow")


def _table(name: str, pieces: tuple[Piece, ...], schema: Any, container: str, index: Any = None) -> OnDiskTable:
    """Makes a table whose columns are those of the schema, without the index that pandas may have stored."""
    if index is None:
        stored = (schema.pandas_metadata or {}).get("index_columns", ())
        index = tuple(column for column in stored if isinstance(column, str) and column in schema.names)
    columns = tuple(column for column in schema.names if column not in index)
    return OnDiskTable(name, columns, pieces, schema, container, index=index)


def _selected(piece: Piece, rows: np.ndarray, columns: list[str], at_once: int) -> Iterator[Any]:
    """Yields the given rows of a piece: they are copied from each batch, so that the batch can be released."""
    ends = np.cumsum(piece.counts)
    parts = np.unique(np.searchsorted(ends, rows, side="right"))
    skipped = np.where(np.isin(np.arange(len(ends)), parts), 0, piece.counts).cumsum()  # rows of parts left out
    rows = rows - skipped[np.searchsorted(ends, rows, side="right")]
    first = 0
    for batch in piece.read(columns, parts.tolist(), at_once):
        last = first + batch.num_rows
        in_batch = rows[np.searchsorted(rows, first) : np.searchsorted(rows, last)] - first
        if len(in_batch):
            yield batch.take(_library("pyarrow").array(in_batch))
        first = last
    expected = sum(piece.counts[part] for part in parts)
    if first != expected:
        raise ValueError(f"{first:,} rows, but {expected:,} according to its metadata")


def _cast(batch: Any, schema: Any) -> Any:
    """Returns a batch with the given columns and types; a column that its file does not have has missing cells."""
    arrow, constants = _library("pyarrow"), {}
    if isinstance(batch, _BatchWithConstants):
        batch, constants = batch.batch, batch.constants
    columns = []
    for column in schema:
        if column.name in batch.schema.names:
            cells = batch.column(column.name)
        else:
            is_coded = arrow.types.is_dictionary(column.type)
            kind = column.type.value_type if is_coded else column.type
            cells = arrow.repeat(arrow.scalar(constants.get(column.name), type=kind), batch.num_rows)
            cells = cells.dictionary_encode() if is_coded else cells
        columns.append(cells if cells.type == column.type else cells.cast(column.type))
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def _as_pandas(table: Any) -> Any:
    """Returns the frame that pandas would have read, its rows numbered from zero."""
    frame, names = table.to_pandas(), table.column_names
    has_index_columns = any(name not in frame.columns for name in names)  # selected columns that are an index
    return frame.reset_index(drop=not has_index_columns)[names]


def _bytes_of(schema: Any, columns: Iterable[str]) -> int:
    widths: list[int] = []
    for column in columns:
        try:
            widths.append(max(8, schema.field(column).type.bit_width // 8))
        except (ValueError, KeyError):  # cells of variable size, such as text
            widths.append(BYTES_OF_TEXT)
    return max(1, sum(widths))


def _hive() -> Any:
    return _library("pyarrow.dataset").HivePartitioning.discover(infer_dictionary=True)  # as pandas reads it


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _siblings(path: str) -> list[str]:
    try:
        return os.listdir(Path(path).parent)
    except OSError:
        return []


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingLibraryError("pyarrow", "arrow", "Reading Parquet and Arrow files") from error


# class of pyarrow -> the function that opens it
KINDS: dict[str, Callable[[Any, str], OnDiskTable]] = {
    "Dataset": _of_dataset,
    "ParquetFile": _of_parquet_file,
    "ParquetDataset": _of_parquet_dataset,
    "Table": from_table,
}
