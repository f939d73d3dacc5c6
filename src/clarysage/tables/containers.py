"""The kinds of tables that users pass, and their validation."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError, PythonOnly, Set
from clarysage.tables.other_frames import in_memory
from clarysage.tables.sparse import SparseTable, is_sparse

KINDS = {
    ("pandas", "DataFrame"): "pandas",
    ("polars", "DataFrame"): "polars",
    ("pyarrow", "Table"): "pyarrow",
    ("clarysage", "SparseTable"): "scipy",
}


def container_of(table: Any) -> str:
    """Returns the kind of a table, 'numpy', 'pandas', 'polars', 'pyarrow' or 'scipy', by the names of its types."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(table).__mro__)
    return next((KINDS[kind] for kind in kinds if kind in KINDS), "numpy")


def as_table(table: Any, argument: str) -> Any:
    """Validates a table; returns a frame as it is (or converted), a sparse matrix as a :class:`SparseTable`.

    Other tables are returned as a two-dimensional array.
    """
    table = in_memory(table, argument)
    if isinstance(table, SparseTable):
        return table
    if container_of(table) != "numpy":
        _check_frame(table, argument)
        return table
    if _is_texts(table):
        raise InputError(
            argument,
            got=f"{len(table):,} texts",
            wanted="rows and columns",
            hint=[
                "make_pipeline(vectorizer, model) of both, fitted, as the model, with ",
                Set("after"),
                f" the name of this step; or vectorizer.transform(texts) as {argument}",
            ],
        )
    first = table[0] if isinstance(table, (list, tuple)) and table else table
    if isinstance(first, (str, os.PathLike)):
        raise InputError(
            argument,
            got=f"{os.fspath(first)!r}, a text or the name of a file",
            wanted="a table in memory",
            hint=PythonOnly("pandas.read_parquet(path)"),
        )
    kind = type(table).__name__
    if kind == "LazyFrame":
        return as_table(table.collect(), argument)
    if kind == "RecordBatch":
        return as_table(sys.modules["pyarrow"].Table.from_batches([table]), argument)
    array = table if is_sparse(table) else _as_array(table, argument)
    _check_array(array, argument)
    return SparseTable.of(array) if is_sparse(array) else array


def labels_of(table: Any) -> tuple[Any, ...] | None:
    """Returns the column labels of a table; None for arrays and sparse matrices."""
    kind = container_of(table)
    if kind in ("numpy", "scipy"):
        return None
    return tuple(table.column_names) if kind == "pyarrow" else tuple(table.columns)


def rows_of(table: Any, index: Any) -> Any:
    """Returns the rows of a table with the given row numbers."""
    kind = container_of(table)
    if kind == "pandas":
        return table.iloc[index]
    return table.take(index) if kind == "pyarrow" else table[index]


def count_rows(table: Any) -> int:
    """Returns the number of rows of a table; a sparse matrix has no length."""
    return int(table.shape[0]) if is_sparse(table) else len(table)


def select_columns(table: Any, labels: Sequence[Any]) -> Any:
    """Returns the columns of a frame with the given labels, in their order."""
    return table[list(labels)] if container_of(table) == "pandas" else table.select(list(labels))


def _is_texts(table: Any) -> bool:
    """Tells whether a list, column or one-dimensional array holds nothing but texts."""
    if is_sparse(table) or (not isinstance(table, (list, tuple)) and len(getattr(table, "shape", ())) != 1):
        return False
    cells = table.tolist() if hasattr(table, "tolist") else table
    return len(cells) > 0 and all(isinstance(cell, str) for cell in cells)


def _as_array(table: Any, argument: str) -> np.ndarray:
    if isinstance(table, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(table.astype(np.float64), np.nan))
    if type(table).__module__.startswith("torch"):
        table = table.detach().cpu()
    try:
        array = np.asarray(table)
    except (ValueError, TypeError) as error:
        raise InputError(argument, got=f"rows of unequal length ({error})", wanted="a table") from error
    if array.ndim == 0 or isinstance(table, (dict, set)):
        raise InputError(
            argument,
            got=f"{type(table).__name__}",
            wanted="a table: an array or list of rows, a pandas or polars DataFrame, or a pyarrow Table",
        )
    return array if isinstance(table, np.ndarray) else _without_mixing(array, table)


def _without_mixing(array: np.ndarray, table: Any) -> np.ndarray:
    """Returns the array of a list of rows, without numpy's conversion of numbers in mixed lists to text or objects."""
    if array.dtype.kind in "US":
        cells = np.asarray(table, dtype=object)
        return array if all(isinstance(cell, (str, bytes)) for cell in cells.ravel()) else cells
    if array.dtype == object and all(cell is None or isinstance(cell, (int, float)) for cell in array.ravel()):
        return array.astype(np.float64)
    return array


def _check_array(array: Any, argument: str) -> None:
    if array.dtype.kind == "c":
        raise InputError(argument, got="complex numbers", wanted="real numbers", hint=PythonOnly(f"{argument}.real"))
    if array.ndim == 1:
        raise InputError(
            argument,
            got=f"a one-dimensional array of length {array.shape[0]}",
            wanted="rows and columns",
            hint=[
                PythonOnly(f"{argument}.reshape(-1, 1) for one feature, {argument}.reshape(1, -1) for one row; or "),
                "to see whether X and y were swapped",
            ],
        )
    if array.ndim != 2:
        raise InputError(
            argument,
            got=f"an array of {array.ndim} dimensions, shape {array.shape}",
            wanted="rows and columns",
            hint=PythonOnly(f"{argument}.reshape(len({argument}), -1), and a model that folds the columns back"),
        )
    _check_extent(array.shape, argument)


def _check_frame(table: Any, argument: str) -> None:
    names = [str(label) for label in labels_of(table) or ()]
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if repeated:
        raise InputError(
            argument,
            got=f"several columns named {', '.join(map(repr, repeated))}",
            wanted="distinct column names",
            hint=["renaming the columns of ", Argument(argument)],
        )
    if container_of(table) == "pandas" and any(dtype.kind == "c" for dtype in table.dtypes):
        raise InputError(argument, got="complex numbers", wanted="real numbers", hint="their real parts")
    _check_extent(table.shape, argument)


def _check_extent(shape: tuple[int, ...], argument: str) -> None:
    if shape[0] == 0 or shape[1] == 0:
        missing = "rows" if shape[0] == 0 else "columns"
        raise InputError(argument, got=f"a table with no {missing}", wanted="at least one row and one column")
