"""Frames of further libraries (Dask, DuckDB, Ibis, Modin, cuDF, Spark, ...), converted to frames of pandas or pyarrow.

Only this file uses narwhals, which understands these libraries, and it is imported only if one of their frames is
passed. Frames with nothing but the Arrow PyCapsule interface need pyarrow alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from clarysage.errors import InputError, MissingLibraryError, PythonOnly
from clarysage.tables.cells import LIBRARIES

QUERIES = {"duckdb", "ibis", "pyspark", "sqlframe"}  # whose rows may come in another order each time
FRAMES = {"cudf", "dask", "dask_expr", "modin", "narwhals"}
FOR_NARWHALS = ("__narwhals_dataframe__", "__narwhals_lazyframe__", "__narwhals_series__")
ARROW_STREAM = "__arrow_c_stream__"


def in_memory(data: Any, argument: str) -> Any:
    """Returns a frame or column of a further library as one of pandas or pyarrow, and all other data as they are.

    Lazy frames are computed and queries run by every call, so that one result should be used throughout.
    """
    if not _is_other(data):
        return data
    is_stream, is_frame = hasattr(type(data), ARROW_STREAM), _has_any(data, ("columns", *FOR_NARWHALS))
    try:
        frame = _by_narwhals(import_module("narwhals.stable.v2"), data)
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("narwhals"):
            raise
        if is_frame and not is_stream:  # an array of its cells would not have the names of its columns
            raise MissingLibraryError("narwhals", "frames", f"{argument}: {_described(data)}") from error
        frame = data
    return _by_arrow(data, argument) if frame is data and is_stream else frame


def check_order(values: Any, rows: Any, argument: str, of: str) -> None:
    """Raises an error if values are matched with rows by position, and one of the two is a query."""
    if values is None or isinstance(values, str):
        return
    natives = [data.to_native() if "narwhals" in _modules(data) else data for data in (values, rows)]
    query = next((native for native in natives if _modules(native) & QUERIES), None)
    if query is not None:
        raise InputError(
            argument,
            got=f"values apart from {of}, and {_described(query)}, whose rows may come in another order each time",
            wanted=f"the name of a column of {of}",
            hint=PythonOnly(f"reading {of} and {argument} together into one frame in memory"),
        )


def about_conversion(data: Any, table: Any, argument: str) -> tuple[str, ...]:
    """Returns a note if :func:`in_memory` converted the data to this table."""
    if not _is_other(data):
        return ()
    converted = f"{argument}: {_described(data)}, converted to {_described(table)}"
    return (f"{converted}; the model gets its rows as if you had passed that.",)


def _by_narwhals(narwhals: Any, data: Any) -> Any:
    """Returns a frame or column that narwhals understands as one in memory; others as they are."""
    frame = narwhals.from_native(data, allow_series=True, pass_through=True)
    if isinstance(frame, narwhals.LazyFrame):
        return frame.collect("pandas").to_native()
    if not isinstance(frame, (narwhals.DataFrame, narwhals.Series)):
        return data
    native = frame.to_native()
    return frame.to_pandas() if _is_other(native) else native


def _by_arrow(data: Any, argument: str) -> Any:
    """Returns a table, or a column, that offers the Arrow PyCapsule interface as one of pyarrow."""
    try:
        arrow = import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise MissingLibraryError("pyarrow", "arrow", f"{argument}: {_described(data)}") from error
    try:
        return arrow.table(data)
    except (TypeError, ValueError):
        return arrow.chunked_array(data)


def _is_other(data: Any) -> bool:
    modules = _modules(data)
    return bool(modules & (QUERIES | FRAMES)) or (
        modules.isdisjoint(LIBRARIES) and _has_any(data, (*FOR_NARWHALS, ARROW_STREAM))
    )


def _has_any(data: Any, names: Iterable[str]) -> bool:
    return any(hasattr(type(data), name) for name in names)  # of the type, since a property may compute the frame


def _modules(data: Any) -> set[str]:
    return set(map(_library_name, type(data).__mro__))


def _library_name(kind: type) -> str:
    return kind.__module__.partition(".")[0].lstrip("_")  # DuckDB's classes are in duckdb or _duckdb


def _described(data: Any) -> str:
    return f"a {type(data).__name__} of {_library_name(type(data))}"
