"""The kinds of table: how each names its columns, and how one kind becomes another."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from clarysage.errors import InputError

CELLS_OF_SPARSE = 200_000_000  # a sparse matrix is filled in up to this many cells (1.6 GB)


def container_of(table: Any) -> str:
    """Which kind a table is: 'numpy', 'pandas', 'polars' or 'pyarrow', by the name of its type."""
    root = type(table).__module__.partition(".")[0]
    kind = type(table).__name__
    if (root, kind) in {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")}:
        return root
    return "numpy"


def as_table(table: Any, argument: str) -> Any:
    """The table itself if it is a frame, else a two-dimensional array; anything else is an error."""
    if container_of(table) != "numpy":
        _check_frame(table, argument)
        return table
    kind = type(table).__name__
    if kind == "LazyFrame":
        return as_table(table.collect(), argument)
    if kind == "RecordBatch":
        return as_table(sys.modules["pyarrow"].Table.from_batches([table]), argument)
    if kind.startswith(("csr_", "csc_", "coo_", "lil_", "dok_", "bsr_", "dia_")):
        return _filled(table, argument)
    array = _as_array(table, argument)
    _check_array(array, argument)
    return array


def labels_of(table: Any) -> tuple[Any, ...] | None:
    """Column labels as the table holds them; None for arrays."""
    kind = container_of(table)
    if kind == "numpy":
        return None
    return tuple(table.column_names) if kind == "pyarrow" else tuple(table.columns)


def same_container(tables: list[Any]) -> list[Any]:
    """The tables in one kind: that of all, or pandas where kinds differ (arrays take the labels of the frames)."""
    kinds = {container_of(table) for table in tables}
    if len(kinds) == 1:
        return tables
    labels = next(labels_of(table) for table in tables if labels_of(table) is not None)
    return [as_pandas(table, labels) for table in tables]


def as_pandas(table: Any, labels: tuple[Any, ...] | None = None) -> Any:
    """The table as a pandas DataFrame, with the given labels where it has none."""
    import pandas as pd

    kind = container_of(table)
    if kind == "pandas":
        return table
    if kind == "numpy":
        return pd.DataFrame(table, columns=None if labels is None else list(labels))
    if kind == "pyarrow":
        return table.to_pandas()
    columns = {name: pd.Series(table[name].to_numpy(), dtype=_pandas_dtype(table[name])) for name in table.columns}
    return pd.DataFrame(columns)


def as_polars(frame: Any) -> Any:
    """A pandas or polars frame as a polars one."""
    if container_of(frame) == "polars":
        return frame
    import polars as pl

    plain = {str(name): cells.astype(object).where(cells.notna(), None).tolist() for name, cells in frame.items()}
    return pl.DataFrame(plain)


def _pandas_dtype(column: Any) -> Any:
    """How a polars column is best kept in pandas where numpy alone would lose nulls or categories."""
    import pandas as pd

    name = str(column.dtype)
    if name.startswith(("Categorical", "Enum")):
        return pd.CategoricalDtype(column.cat.get_categories().to_list())
    if column.null_count() and name.startswith(("Int", "UInt")):
        return name
    if column.null_count() and name == "Boolean":
        return "boolean"
    return None


def _filled(table: Any, argument: str) -> np.ndarray:
    cells = int(table.shape[0]) * int(table.shape[1])
    if cells > CELLS_OF_SPARSE:
        raise InputError(
            argument,
            got=f"a sparse matrix of {table.shape[0]:,} x {table.shape[1]:,} cells",
            wanted=f"at most {CELLS_OF_SPARSE:,} cells once filled in",
            hint="fewer rows, or fewer columns",
        )
    return np.asarray(table.toarray())


def _as_array(table: Any, argument: str) -> np.ndarray:
    if isinstance(table, np.ma.MaskedArray):
        return np.ma.filled(table.astype(np.float64), np.nan)
    if table is None or isinstance(table, (str, bytes, dict, set)) or np.isscalar(table):
        raise InputError(
            argument,
            got=f"{type(table).__name__}",
            wanted="a table: an array or list of rows, a pandas or polars DataFrame, or a pyarrow Table",
        )
    if type(table).__module__.startswith("torch"):
        table = table.detach().cpu()
    try:
        array = np.asarray(table)
    except (ValueError, TypeError) as error:
        raise InputError(argument, got=f"rows of unequal length ({error})", wanted="a table") from error
    if array.dtype.kind == "U" and isinstance(table, list) and _mixes_kinds(table):
        return np.asarray(table, dtype=object)
    return array


def _mixes_kinds(rows: list[Any]) -> bool:
    """Whether a list of rows holds numbers beside strings, which numpy would all turn into strings."""
    return any(not isinstance(cell, str) for row in rows if isinstance(row, (list, tuple)) for cell in row)


def _check_array(array: np.ndarray, argument: str) -> None:
    if array.dtype.kind == "c":
        raise InputError(argument, got="complex numbers", wanted="real numbers", hint=f"{argument}.real")
    if array.ndim == 1:
        raise InputError(
            argument,
            got=f"a one-dimensional array of length {array.shape[0]}",
            wanted="rows and columns",
            hint=f"{argument}.reshape(-1, 1) for one feature, {argument}.reshape(1, -1) for one row; "
            "or see whether X and y were swapped",
        )
    if array.ndim != 2:
        raise InputError(
            argument,
            got=f"an array of {array.ndim} dimensions, shape {array.shape}",
            wanted="rows and columns",
            hint=f"{argument}.reshape(len({argument}), -1), and a model that folds the columns back",
        )
    _check_extent(array.shape, argument)


def _check_frame(table: Any, argument: str) -> None:
    labels = labels_of(table) or ()
    repeated = sorted({str(label) for label in labels if labels.count(label) > 1})
    if repeated:
        raise InputError(
            argument,
            got=f"several columns named {', '.join(map(repr, repeated))}",
            wanted="distinct column names",
            hint=f"renaming the columns of {argument}",
        )
    _check_extent(table.shape, argument)


def _check_extent(shape: tuple[int, ...], argument: str) -> None:
    if shape[0] == 0 or shape[1] == 0:
        missing = "rows" if shape[0] == 0 else "columns"
        raise InputError(argument, got=f"a table with no {missing}", wanted="at least one row and one column")
