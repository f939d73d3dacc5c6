"""Tables larger than memory: Parquet and Arrow files and datasets, of which only the rows asked for are kept.

This is the one door to pyarrow's files and datasets. A stored table is a list of pieces (row groups, record batches)
that are read one after the other, in batches of bounded size: what is held at any time is the rows taken so far and
one batch. Pieces of which no row is wanted are not read.
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

from clarysage._utils.display import listed
from clarysage.errors import ClarysageWarning, InputError, MissingLibraryError, PythonOnly, Words, resembling

PARQUET, ARROW = (".parquet", ".pq"), (".arrow", ".feather", ".ipc")
WANTED = "a Parquet or Arrow file, a folder of Parquet files, or a table"
BATCH_BYTES = 2**23  # of rows that are decoded at once; about three times as much is held meanwhile
BUFFER_BYTES = 2**18  # of a column chunk that is read ahead: a whole one may be gigabytes
COLUMNS_AT_ONCE = 64  # of Parquet, of each of which a page is held, commonly of a megabyte
FEWEST_AT_ONCE = 1024
BYTES_OF_TEXT = 64  # a guess, for cells whose size is not known before they are read


@dataclass(frozen=True)
class Piece:
    """Some rows that lie together: how many in each part that can be left out, and how to read the parts wanted.

    ``read(columns, parts, at_once)`` yields record batches of at most so many rows, in the order of the parts, and
    is called again for every ``width`` columns.
    """

    counts: tuple[int, ...]
    read: Callable[[list[str], list[int], int], Iterable[Any]]
    width: int | None = None


@dataclass(frozen=True)
class Stored:
    """A table on disk, or one mapped into memory.

    Attributes
    ----------
    name : what to call it in messages
    columns : those there are, or those that were selected
    pieces : of rows
    schema : types of the columns
    container : the kind of table that rows are handed out as: 'pandas' for what was named by a path, since that is what
        readers of files return, 'pyarrow' for what was an object of pyarrow
    prepare : what is done to a table of rows that was read
    index : columns in which pandas stored an index, which is no feature
    lacking : columns that not all files of a dataset have, each with one of the files that have it not
    argument : what it was handed in as
    """

    name: str
    columns: tuple[str, ...]
    pieces: tuple[Piece, ...]
    schema: Any
    container: str
    prepare: Callable[[Any], Any] | None = None
    index: tuple[str, ...] = ()
    lacking: tuple[tuple[str, str], ...] = ()
    argument: str = "X"

    @property
    def rows(self) -> int:
        return sum(sum(piece.counts) for piece in self.pieces)

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, len(self.columns)

    @property
    def bytes_of_row(self) -> int:
        """Of a row in memory, about."""
        return _bytes_of(self.schema, self.columns)

    def select(self, columns: Sequence[str]) -> Stored:
        """The same with these columns alone, in this order; they may be columns of an index, too."""
        return replace(self, columns=tuple(columns))

    def find(self, column: str, argument: str) -> str:
        """The name of a column, if there is one of that name."""
        known = (*self.columns, *self.index)
        if column not in known:
            raise InputError(
                argument,
                got=f"{column!r}, which is no column of {self.name}",
                wanted=f"one of {listed(known)}",
                hint=resembling(column, known),
            )
        return column

    def take(self, places: np.ndarray) -> Any:
        """The rows at the given places, which ascend, as a table in memory."""
        for column, file in self.lacking:
            if column in self.columns:
                warnings.warn(
                    f"{self.argument}: {file} has no column {column!r}, so that its cells are missing there.",
                    ClarysageWarning,
                    stacklevel=2,
                )
        try:
            table = self._read(places)
        except (OSError, ValueError, TypeError) as error:  # pyarrow's own are children of these
            if isinstance(error, InputError):
                raise
            raise InputError(
                self.argument, got=f"{self.name}, which cannot be read ({_reason(error)})", wanted="a sound file"
            ) from error
        table = _as_pandas(table) if self.container == "pandas" else table
        return table if self.prepare is None else self.prepare(table)

    def _read(self, places: np.ndarray) -> Any:
        arrow, taken, first = _library("pyarrow"), [], 0
        for piece in self.pieces:
            last = first + sum(piece.counts)
            wanted = places[np.searchsorted(places, first) : np.searchsorted(places, last)] - first
            taken += [self._of_piece(piece, wanted)] if len(wanted) else []
            first = last
        return arrow.concat_tables(taken).combine_chunks().replace_schema_metadata(self.schema.metadata)

    def _of_piece(self, piece: Piece, wanted: np.ndarray) -> Any:
        """Rows of a piece, some columns at a time."""
        arrow, width = _library("pyarrow"), piece.width or len(self.columns)
        found = []
        for start in range(0, len(self.columns), width):
            columns = list(self.columns[start : start + width])
            at_once = max(FEWEST_AT_ONCE, BATCH_BYTES // _bytes_of(self.schema, columns))
            schema = arrow.schema([self.schema.field(column) for column in columns])
            batches = [_in(batch, schema) for batch in _taken(piece, wanted, columns, at_once)]
            found.append(arrow.Table.from_batches(batches, schema).combine_chunks())
        columns = [column for part in found for column in part.columns]
        return arrow.Table.from_arrays(columns, schema=arrow.schema([field for part in found for field in part.schema]))


def is_stored(table: Any) -> bool:
    """Whether something is, or names, a table to be read in pieces."""
    return isinstance(table, Stored) or _is_path(table) or _are_paths(table) or _kind(table) is not None


def stored(table: Any, argument: str) -> Stored:
    """A path, or a dataset, file or table of pyarrow, as a stored table; nothing but its outline is read."""
    if isinstance(table, Stored):
        found = replace(table, argument=argument)
    else:
        try:
            if _are_paths(table):
                found = _of_paths(list(map(os.fspath, table)), argument)
            elif _is_path(table):
                found = _of_path(os.fspath(table), argument)
            else:
                found = KINDS[_kind(table) or "Table"](table, argument)
        except (InputError, MissingLibraryError):
            raise
        except (OSError, ValueError, TypeError) as error:  # pyarrow's own are children of these
            got = repr(os.fspath(table)) if _is_path(table) else f"a {type(table).__name__}"
            raise InputError(argument, got=f"{got}, which cannot be read ({_reason(error)})", wanted=WANTED) from error
    if found.rows == 0:
        raise InputError(argument, got=f"{found.name}, which has no rows", wanted="a table with rows")
    repeated = sorted({name for name in found.columns if found.columns.count(name) > 1})
    if repeated:
        raise InputError(argument, got=f"several columns named {repeated[0]!r}", wanted="distinct column names")
    return replace(found, argument=argument)


def from_table(table: Any, argument: str = "X") -> Stored:
    """An Arrow table, such as one mapped into memory: its record batches are looked at one after the other."""
    batches = table.to_batches()

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        for part in parts:
            yield batches[part].select(columns)

    piece = Piece(tuple(batch.num_rows for batch in batches), read)
    return _found("the table", (piece,), table.schema, "pyarrow", index=())


def _kind(table: Any) -> str | None:
    """Which of ``KINDS`` a thing is, by the names of its types, so that pyarrow is not imported for it."""
    names = (kind.__name__ for kind in type(table).__mro__ if kind.__module__.partition(".")[0] == "pyarrow")
    return next((name for name in names if name in KINDS and name != "Table"), None)


def _is_path(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike))


def _are_paths(table: Any) -> bool:
    return isinstance(table, (list, tuple)) and bool(table) and all(map(_is_path, table))


def _of_paths(paths: list[str], argument: str) -> Stored:
    """Parquet files of a list, one after the other."""
    for path in paths:
        if "://" not in path and not (os.path.isfile(path) and path.lower().endswith(PARQUET)):
            raise InputError(
                argument, got=f"a list with {path!r}, which is no Parquet file", wanted="a list of Parquet files"
            )
    return replace(_of_files(paths), name=f"{len(paths):,} files", container="pandas")


def _of_path(path: str, argument: str) -> Stored:
    if "://" in path:
        return replace(_of_files(path), name=path, container="pandas")
    if not os.path.exists(path):
        near: Words = PythonOnly("glob.glob(path)") if "*" in path else resembling(Path(path).name, _names_beside(path))
        raise InputError(argument, got=f"{path!r}, which does not exist", wanted=WANTED, hint=near)
    name, suffix = Path(path).name, Path(path).suffix.lower()
    if suffix in ARROW and not os.path.isdir(path):
        return replace(_of_ipc(path), name=name, container="pandas")
    if not os.path.isdir(path) and suffix not in PARQUET:
        read = "reading it, as with pandas.read_csv, and handing in the frame"
        raise InputError(
            argument,
            got=f"{path!r}",
            wanted=f"{WANTED}; files end in {', '.join((*PARQUET, *ARROW))}",
            hint=PythonOnly(read) if suffix else "",
        )
    return replace(_of_files(path), name=name, container="pandas")


def _of_files(paths: str | list[str]) -> Stored:
    """Parquet files, or a folder of them, with the columns of all of them, in types that hold the cells of all."""
    dataset = _library("pyarrow.dataset").dataset(paths, format="parquet", partitioning=_hive())
    fragments = list(dataset.get_fragments())
    schemas = [dataset.schema, *(fragment.physical_schema for fragment in fragments)]
    schema = _library("pyarrow").unify_schemas(schemas, promote_options="permissive")
    return _of_fragments(fragments, schema.with_metadata(dataset.schema.metadata))


def _of_dataset(dataset: Any, argument: str) -> Stored:
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # a filtered one, of which row groups do not tell the rows
        fragments = []
    if fragments and all(type(fragment).__name__ == "ParquetFileFragment" for fragment in fragments):
        return _of_fragments(fragments, dataset.schema)
    return _found("the dataset", (_streamed(dataset),), dataset.schema, "pyarrow")


def _of_fragments(fragments: Sequence[Any], schema: Any) -> Stored:
    keys = _library("pyarrow.dataset").get_partition_keys
    lacking: dict[str, str] = {}
    for fragment in fragments:
        known = {*fragment.physical_schema.names, *keys(fragment.partition_expression)}
        lacking = {name: Path(fragment.path).name for name in schema.names if name not in known} | lacking
    pieces = tuple(_of_fragment(fragment) for fragment in fragments)
    return replace(_found("the dataset", pieces, schema, "pyarrow"), lacking=tuple(lacking.items()))


def _of_fragment(fragment: Any) -> Piece:
    """A file of a dataset; the columns that are in the names of its folders have the same cell in every row."""
    counts = tuple(fragment.metadata.row_group(i).num_rows for i in range(fragment.metadata.num_row_groups))
    if fragment.row_groups is not None and len(fragment.row_groups) < len(counts):
        groups = [group.id for group in fragment.row_groups]
    else:
        groups = list(range(len(counts)))

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        parquet, keys = _library("pyarrow.parquet"), _library("pyarrow.dataset").get_partition_keys
        # Not by the dataset's own scanner, which decodes whole row groups whatever the size of its batches.
        with fragment.open() as source:
            file = parquet.ParquetFile(source, buffer_size=BUFFER_BYTES, pre_buffer=False)
            own = [column for column in columns if column in file.schema_arrow.names]
            known = {name: cell for name, cell in keys(fragment.partition_expression).items() if name in columns}
            for batch in file.iter_batches(at_once, row_groups=[groups[part] for part in parts], columns=own):
                yield _Beside(batch, known)

    return Piece(tuple(counts[group] for group in groups), read, COLUMNS_AT_ONCE)


@dataclass(frozen=True)
class _Beside:
    """A record batch, and columns of which the cell is known."""

    batch: Any
    cells: dict[str, Any]

    @property
    def num_rows(self) -> int:
        return int(self.batch.num_rows)

    def take(self, places: Any) -> _Beside:
        return replace(self, batch=self.batch.take(places))


def _streamed(dataset: Any) -> Piece:
    """A dataset that shows no row groups: all its batches pass by."""

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        yield from dataset.to_batches(columns=columns, batch_size=at_once, batch_readahead=1, fragment_readahead=1)

    return Piece((dataset.count_rows(),), read)


def _of_parquet_file(file: Any, argument: str) -> Stored:
    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        yield from file.iter_batches(at_once, row_groups=parts, columns=columns)

    counts = tuple(file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups))
    return _found("the file", (Piece(counts, read, COLUMNS_AT_ONCE),), file.schema_arrow, "pyarrow")


def _of_parquet_dataset(dataset: Any, argument: str) -> Stored:
    if getattr(dataset, "_filter_expression", None) is not None:
        raise InputError(
            argument,
            got="a ParquetDataset with filters",
            wanted="one without them",
            hint=PythonOnly("pyarrow.dataset.dataset(path).filter(...)"),
        )
    return _of_fragments(dataset.fragments, dataset.schema)


def _of_ipc(path: str) -> Stored:
    """An Arrow file, mapped into memory: of one that is not compressed, only pages with rows of the sample are read."""
    arrow = _library("pyarrow")
    source = arrow.memory_map(path)
    whole = arrow.ipc.open_file(source)
    slim = arrow.ipc.open_file(source, options=arrow.ipc.IpcReadOptions(included_fields=[0]))  # enough to count rows

    def read(columns: list[str], parts: list[int], at_once: int) -> Iterator[Any]:
        fields = [whole.schema.names.index(column) for column in columns]
        reader = arrow.ipc.open_file(source, options=arrow.ipc.IpcReadOptions(included_fields=fields))
        for part in parts:
            yield reader.get_batch(part)

    counts = tuple(slim.get_batch(i).num_rows for i in range(slim.num_record_batches))
    return _found("the file", (Piece(counts, read),), whole.schema, "pyarrow")


def _found(name: str, pieces: tuple[Piece, ...], schema: Any, container: str, index: Any = None) -> Stored:
    if index is None:
        told = (schema.pandas_metadata or {}).get("index_columns", ())
        index = tuple(column for column in told if isinstance(column, str) and column in schema.names)
    return Stored(name, tuple(one for one in schema.names if one not in index), pieces, schema, container, index=index)


def _taken(piece: Piece, wanted: np.ndarray, columns: list[str], at_once: int) -> Iterator[Any]:
    """Rows of a piece, by their places in it: of each batch those wanted are copied, and the rest is let go."""
    ends = np.cumsum(piece.counts)
    parts = np.unique(np.searchsorted(ends, wanted, side="right"))
    skipped = np.where(np.isin(np.arange(len(ends)), parts), 0, piece.counts).cumsum()  # rows of parts left out
    wanted = wanted - skipped[np.searchsorted(ends, wanted, side="right")]
    first = 0
    for batch in piece.read(columns, parts.tolist(), at_once):
        last = first + batch.num_rows
        few = wanted[np.searchsorted(wanted, first) : np.searchsorted(wanted, last)] - first
        if len(few):
            yield batch.take(_library("pyarrow").array(few))
        first = last
    if first != sum(piece.counts[part] for part in parts):
        raise ValueError(f"{first:,} rows where its outline has {sum(piece.counts[part] for part in parts):,}")


def _in(batch: Any, schema: Any) -> Any:
    """A batch in the given columns and types; a column that its file lacks has cells that are missing."""
    arrow, cells = _library("pyarrow"), {}
    if isinstance(batch, _Beside):
        batch, cells = batch.batch, batch.cells
    columns = []
    for column in schema:
        if column.name in batch.schema.names:
            found = batch.column(column.name)
        else:
            is_coded = arrow.types.is_dictionary(column.type)
            kind = column.type.value_type if is_coded else column.type
            found = arrow.repeat(arrow.scalar(cells.get(column.name), type=kind), batch.num_rows)
            found = found.dictionary_encode() if is_coded else found
        columns.append(found if found.type == column.type else found.cast(column.type))
    return arrow.RecordBatch.from_arrays(columns, schema=schema)


def _as_pandas(table: Any) -> Any:
    """The frame that pandas would have read, its rows numbered from zero."""
    frame, names = table.to_pandas(), table.column_names
    is_apart = any(name not in frame.columns for name in names)  # columns that were an index, and are wanted
    return frame.reset_index(drop=not is_apart)[names]


def _bytes_of(schema: Any, columns: Iterable[str]) -> int:
    widths: list[int] = []
    for column in columns:
        try:
            widths.append(max(8, schema.field(column).type.bit_width // 8))
        except (ValueError, KeyError):  # of text and the like
            widths.append(BYTES_OF_TEXT)
    return max(1, sum(widths))


def _hive() -> Any:
    return _library("pyarrow.dataset").HivePartitioning.discover(infer_dictionary=True)  # as pandas has it


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".")


def _names_beside(path: str) -> list[str]:
    try:
        return os.listdir(Path(path).parent)
    except OSError:
        return []


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingLibraryError("pyarrow", "arrow", "Reading Parquet and Arrow files") from error


# class of pyarrow -> how it is read in pieces
KINDS: dict[str, Callable[[Any, str], Stored]] = {
    "Dataset": _of_dataset,
    "ParquetFile": _of_parquet_file,
    "ParquetDataset": _of_parquet_dataset,
    "Table": from_table,
}
