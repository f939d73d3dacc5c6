"""Columns of polars frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from clarysage.tables.cells import library_of
from clarysage.tables.cells.common import NULL, common_dtype, is_null

NO_DISTINCT = (pl.Object, pl.List, pl.Struct, pl.Array)


@dataclass(frozen=True)
class PolarsCells:
    """Null and NaN remain distinct; an Enum is extended by the categories of the other table."""

    float64: ClassVar[Any] = pl.Float64()

    def split(self, table: Any) -> list[Any]:
        return list(table.get_columns())

    def table(self, columns: list[Any], header: Any) -> Any:
        return pl.DataFrame([cells.alias(name) for cells, name in zip(columns, header, strict=True)])

    def header(self, table: Any, order: list[int]) -> Any:
        return [table.columns[j] for j in order]

    def dtype(self, cells: Any) -> Any:
        return cells.dtype

    def is_number(self, cells: Any) -> bool:
        return self.is_integer(cells) or bool(cells.dtype.is_float()) or cells.dtype == pl.Boolean

    def is_integer(self, cells: Any) -> bool:
        return bool(cells.dtype.is_integer())

    def is_blank(self, cells: Any) -> bool:
        return bool(cells.dtype == pl.Null)

    def to_float(self, cells: Any) -> np.ndarray:
        if not (self.is_number(cells) or cells.dtype in (pl.Decimal, pl.Null)):
            raise TypeError(f"{cells.dtype} is not a number")
        values = np.array(cells.cast(pl.Float64).to_numpy(), dtype=np.float64)
        values[cells.is_null().to_numpy()] = NULL
        return values

    def from_float(self, values: np.ndarray, dtype: Any) -> Any:
        missing = is_null(values) if dtype.is_float() else np.isnan(values)
        cells = pl.Series(values, nan_to_null=False).scatter(np.flatnonzero(missing), None)
        try:
            return cells.cast(dtype)
        except pl.exceptions.InvalidOperationError as error:
            raise ValueError(f"numbers that {dtype} cannot hold") from error

    def distinct(self, parts: list[Any]) -> Any:
        if any(part.dtype in NO_DISTINCT for part in parts):
            raise TypeError(f"cells of dtype {', '.join(str(part.dtype) for part in parts)}")
        if isinstance(parts[0].dtype, pl.Enum) and all(map(_is_text, parts)):
            dtype: Any = pl.Enum(list(dict.fromkeys(name for part in parts for name in _categories(part))))
        else:
            dtype = common_dtype(parts, [part.dtype for part in parts], _is_lossless)
        together = pl.concat([part.cast(dtype).alias("") for part in parts]).drop_nulls()
        try:
            return together.unique(maintain_order=True) if len(together) else together
        except pl.exceptions.InvalidOperationError as error:
            raise TypeError(f"cells of dtype {dtype}") from error

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        keys = cells.cast(values.dtype, strict=False)
        index = keys.replace_strict(values, np.arange(len(values)), default=None, return_dtype=pl.Float64)
        unknown = cells.filter(index.is_null() & cells.is_not_null())
        if len(unknown):
            raise KeyError(unknown[0])
        return np.asarray(index.to_numpy(), dtype=np.float64)

    def take(self, values: Any, index: np.ndarray) -> Any:
        return values.gather(pl.Series(index).scatter(np.flatnonzero(index < 0), None))

    def adopt(self, cells: Any) -> Any:
        library = library_of(cells)
        if library == "polars":
            return cells
        if library == "pyarrow":
            return pl.Series(pl.from_arrow(cells))
        array = np.asarray(cells) if library == "numpy" or isinstance(cells.dtype, np.dtype) else None
        if array is not None and array.dtype.kind in "biufmM":
            return pl.Series(array, nan_to_null=False)
        return pl.Series(_objects(cells), strict=True)

    def listed(self, cells: Any) -> Any:
        return cells


BACKEND = PolarsCells()


def _objects(cells: Any) -> list[Any]:
    """Returns cells of numpy or pandas as Python objects, None for missing ones."""
    import pandas as pd

    column = pd.Series(cells).astype(object)
    return list(column.where(column.notna(), None))


def _is_text(cells: Any) -> bool:
    return isinstance(cells.dtype, (pl.String, pl.Categorical, pl.Enum))


def _is_zoned(dtype: Any) -> bool:
    return getattr(dtype, "time_zone", None) is not None


def _categories(cells: Any) -> list[str]:
    return list(cells.dtype.categories if isinstance(cells.dtype, pl.Enum) else cells.drop_nulls().unique().sort())


def _is_lossless(cells: Any, dtype: Any) -> bool:
    if cells.dtype in (dtype, pl.Null):
        return True
    if _is_text(cells) is not _is_text(pl.Series(dtype=dtype)) or _is_zoned(cells.dtype) is not _is_zoned(dtype):
        return False
    try:
        return bool((cells.cast(dtype).cast(cells.dtype).eq_missing(cells)).all())
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        return False
