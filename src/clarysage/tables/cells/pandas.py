"""Columns of pandas frames, extension dtypes included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from pandas.api.types import is_object_dtype

from clarysage.tables.cells import backend, library_of, objects
from clarysage.tables.cells.common import common_dtype
from clarysage.tables.cells.objects import Dictionary


@dataclass(frozen=True)
class PandasCells:
    """Columns of categories preserve their list and its order; object columns preserve their objects."""

    float64: ClassVar[Any] = np.dtype(np.float64)

    def split(self, table: Any) -> list[Any]:
        return [table.iloc[:, j] for j in range(table.shape[1])]

    def table(self, columns: Any, header: Any) -> Any:
        frame = pd.DataFrame(columns if isinstance(columns, np.ndarray) else dict(enumerate(columns)))
        frame.columns = header
        return frame

    def header(self, table: Any, order: list[int]) -> Any:
        return table.columns[order]

    def dtype(self, cells: Any) -> Any:
        return cells.dtype

    def is_number(self, cells: Any) -> bool:
        return cells.dtype.kind in "biuf"

    def is_integer(self, cells: Any) -> bool:
        return cells.dtype.kind in "iu"

    def is_blank(self, cells: Any) -> bool:
        return (is_object_dtype(cells.dtype) or cells.dtype.kind == "f") and bool(cells.isna().all())

    def to_float(self, cells: Any) -> np.ndarray:
        dtype = cells.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            numbers = np.append(self.to_float(dtype.categories.to_series()), np.nan)
            return np.asarray(numbers[cells.cat.codes])
        if is_object_dtype(dtype):
            return objects.to_float(cells.tolist())
        if isinstance(dtype, pd.ArrowDtype):
            return backend("pyarrow").to_float(_as_arrow(cells))
        if not self.is_number(cells):
            raise TypeError(f"{dtype} is not a number")
        return np.asarray(cells.to_numpy(dtype=np.float64, na_value=np.nan))

    def from_float(self, values: np.ndarray, dtype: Any) -> Any:
        if isinstance(dtype, np.dtype):
            return pd.Series(backend("numpy").from_float(values, dtype), copy=False)
        if isinstance(dtype, pd.ArrowDtype):
            return _from_arrow(backend("pyarrow").from_float(values, dtype.pyarrow_dtype))
        if dtype.kind == "b":
            missing = np.isnan(values)
            return pd.Series(pd.arrays.BooleanArray(np.where(missing, 0, values).astype(bool), missing), copy=False)
        return pd.Series(pd.array(values, dtype=dtype), copy=False)

    def distinct(self, parts: list[Any]) -> Any:
        plain = [_values(part) for part in parts]
        dtype = common_dtype(plain, [part.dtype for part in plain], _is_lossless)
        if is_object_dtype(dtype):
            values: Any = objects.distinct([part.tolist() for part in plain])
        else:
            values = pd.concat([part.astype(dtype) for part in plain]).dropna().drop_duplicates().array
        if not isinstance(parts[0].dtype, pd.CategoricalDtype):
            return values
        categories = pd.Index(values.cells[:-1] if is_object_dtype(dtype) else values, dtype=dtype)
        return pd.Categorical.from_codes(np.arange(len(categories)), categories, parts[0].cat.ordered)

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        if isinstance(values, Dictionary):
            return objects.lookup(values, cells.tolist())
        distinct = pd.Index(values.categories if isinstance(values, pd.Categorical) else values)
        if isinstance(cells.dtype, pd.CategoricalDtype):
            index = np.append(_positions(distinct, cells.dtype.categories.to_series()), -1)[cells.cat.codes]
        else:
            index = _positions(distinct, cells)
        is_unknown = (index < 0) & cells.notna().to_numpy()
        if is_unknown.any():
            raise KeyError(cells[is_unknown].iloc[0])
        return np.where(index < 0, np.nan, index)

    def take(self, values: Any, index: np.ndarray) -> Any:
        if isinstance(values, Dictionary):
            return pd.Series(values.cells[index], dtype=object)
        return pd.Series(values.take(index, allow_fill=True), copy=False)

    def adopt(self, cells: Any) -> Any:
        library = library_of(cells)
        if library == "polars":
            return _from_polars(cells)
        if library == "pyarrow":
            return cells.to_pandas()
        return cells if isinstance(cells, pd.Series) else pd.Series(cells)

    def listed(self, cells: Any) -> Any:
        return Dictionary.of(cells.tolist()) if is_object_dtype(cells.dtype) else cells.array


BACKEND = PandasCells()


def _values(cells: Any) -> Any:
    """Returns the values of a column as a plain column: the list of categories, or the distinct cells."""
    if isinstance(cells.dtype, pd.CategoricalDtype):
        return cells.cat.categories.to_series()
    if is_object_dtype(cells.dtype):
        return cells
    return pd.concat([cells.dropna().drop_duplicates(), cells[cells.isna()].head(1)])


def _positions(distinct: Any, cells: Any) -> np.ndarray:
    """Returns positions of plain cells in an index of distinct values, -1 for missing and unknown cells."""
    positions = np.full(len(cells), -1)
    present = cells.notna().to_numpy()
    if isinstance(distinct, pd.IntervalIndex):  # its own lookup finds numbers, but no intervals that overlap
        positions[present] = objects.lookup(Dictionary.of(list(distinct)), cells[present].tolist())
    else:
        positions[present] = distinct.get_indexer(pd.Index(cells[present].astype(distinct.dtype)))
    return positions


def _is_lossless(cells: Any, dtype: Any) -> bool:
    """Tells whether a plain column can be cast to another dtype without loss."""
    if cells.dtype == dtype or is_object_dtype(dtype):
        return True
    try:
        cast = cells.astype(dtype)
    except (TypeError, ValueError):
        return False
    present = cells.notna()
    return bool(cast.notna().equals(present) and cast[present].tolist() == cells[present].tolist())


def _as_arrow(cells: Any) -> Any:
    import pyarrow as pa

    return pa.chunked_array([pa.array(cells.array)])


def _from_arrow(array: Any) -> Any:
    return pd.Series(pd.arrays.ArrowExtensionArray(array), copy=False)


def _from_polars(cells: Any) -> Any:
    """Converts a polars column to the pandas dtype that preserves its nulls and categories."""
    name = str(cells.dtype)
    if name.startswith("Enum"):
        return pd.Series(pd.Categorical(cells.to_list(), cells.dtype.categories.to_list()))
    if name.startswith("Categorical"):
        return pd.Series(pd.Categorical(cells.to_list(), cells.drop_nulls().unique(maintain_order=True).to_list()))
    if cells.null_count() and (cells.dtype.is_integer() or name == "Boolean"):
        return pd.Series(cells.to_list(), dtype="boolean" if name == "Boolean" else name)
    return pd.Series(cells.to_numpy())
