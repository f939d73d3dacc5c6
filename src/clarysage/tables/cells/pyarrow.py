"""Columns of pyarrow tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clarysage.tables.cells import library_of
from clarysage.tables.cells.common import NULL, common_dtype, is_null


@dataclass(frozen=True)
class ArrowCells:
    """Null and NaN remain distinct; dictionary columns preserve their list, its order, and the type of indices."""

    float64: ClassVar[Any] = pa.float64()

    def split(self, table: Any) -> list[Any]:
        return list(table.columns)

    def table(self, columns: list[Any], header: Any) -> Any:
        if isinstance(header, tuple):
            return pa.Table.from_arrays(columns, names=header)
        fields = [field.with_type(cells.type) for field, cells in zip(header, columns, strict=True)]
        return pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata=header.metadata))

    def header(self, table: Any, order: list[int]) -> Any:
        return pa.schema([table.schema.field(j) for j in order], metadata=table.schema.metadata)

    def dtype(self, cells: Any) -> Any:
        return cells.type

    def is_number(self, cells: Any) -> bool:
        kind = cells.type
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))

    def is_integer(self, cells: Any) -> bool:
        return bool(pa.types.is_integer(cells.type))

    def is_blank(self, cells: Any) -> bool:
        return bool(pa.types.is_null(cells.type))

    def to_float(self, cells: Any) -> np.ndarray:
        cells = _plain(cells)
        if not (self.is_number(cells) or pa.types.is_decimal(cells.type) or pa.types.is_null(cells.type)):
            raise TypeError(f"{cells.type} is not a number")
        values = np.full(len(cells), NULL)
        values[_is_valid(cells)] = np.asarray(cells.drop_null()).astype(np.float64)
        return values

    def from_float(self, values: np.ndarray, dtype: Any) -> Any:
        missing = is_null(values) if pa.types.is_floating(dtype) else np.isnan(values)
        with np.errstate(invalid="ignore", over="ignore"):
            numbers = np.where(missing, 0, values).astype(dtype.to_pandas_dtype())
        return pa.array(numbers, type=dtype, mask=missing)

    def distinct(self, parts: list[Any]) -> Any:
        plain = [_values(part) for part in parts]
        dtype = common_dtype(plain, [part.type for part in plain], _is_lossless)
        together = pa.chunked_array([chunk for part in plain for chunk in part.cast(dtype).chunks], dtype)
        values = together.unique().drop_null()
        if not pa.types.is_dictionary(parts[0].type):
            return values
        return _dictionary(np.arange(len(values)), values, parts[0].type)

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        distinct = values.dictionary if pa.types.is_dictionary(values.type) else values
        keys, distinct = _comparable(_plain(cells).cast(distinct.type)), _comparable(distinct)
        index = np.asarray(pc.index_in(keys, value_set=distinct, skip_nulls=True)).astype(np.float64)
        is_unknown = np.isnan(index) & _is_valid(cells)
        if is_unknown.any():
            raise KeyError(cells[int(is_unknown.argmax())].as_py())
        return np.asarray(index)

    def take(self, values: Any, index: np.ndarray) -> Any:
        if pa.types.is_dictionary(values.type):
            return _dictionary(index, values.dictionary, values.type)
        return _comparable(values).take(pa.array(index, mask=index < 0)).cast(values.type)

    def adopt(self, cells: Any) -> Any:
        library = library_of(cells)
        if library == "polars":
            cells = cells.to_arrow()
        elif library == "pandas":
            is_plain = isinstance(cells.dtype, np.dtype) and cells.dtype.kind == "f"
            cells = pa.array(cells.to_numpy() if is_plain else cells, from_pandas=not is_plain)
        elif library == "numpy":
            cells = pa.array(cells.tolist() if cells.dtype == object else cells)
        return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])

    def listed(self, cells: Any) -> Any:
        return cells.combine_chunks()


BACKEND = ArrowCells()


def _dictionary(index: np.ndarray, values: Any, kind: Any) -> Any:
    """Returns a dictionary column; its index type is widened if there are more values than it can number."""
    index_type = kind.index_type if len(values) <= np.iinfo(kind.index_type.to_pandas_dtype()).max else pa.int32()
    indices = pa.array(np.maximum(index, 0), mask=index < 0).cast(index_type)
    return pa.DictionaryArray.from_arrays(indices, values, ordered=kind.ordered)


def _plain(cells: Any) -> Any:
    return cells.cast(cells.type.value_type) if pa.types.is_dictionary(cells.type) else cells


def _values(cells: Any) -> Any:
    """Returns the values of a column: those of its dictionary, in its order, or the cells themselves."""
    if not pa.types.is_dictionary(cells.type):
        return cells
    return pa.chunked_array(
        [chunk.dictionary for chunk in cells.unify_dictionaries().chunks[:1]], cells.type.value_type
    )


def _comparable(cells: Any) -> Any:
    """Returns cells in a type that Arrow can look up: it has no lookup for views of strings."""
    return cells.cast(pa.large_string()) if str(cells.type) == "string_view" else cells


def _is_valid(cells: Any) -> np.ndarray:
    return np.asarray(cells.is_valid())


def _is_text(kind: Any) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_zoned(kind: Any) -> bool:
    return getattr(kind, "tz", None) is not None


def _is_lossless(cells: Any, dtype: Any) -> bool:
    if cells.type == dtype or pa.types.is_null(cells.type):
        return True
    if _is_text(cells.type) is not _is_text(dtype) or _is_zoned(cells.type) is not _is_zoned(dtype):
        return False
    try:
        return bool(cells.cast(dtype).cast(cells.type).equals(cells))
    except (pa.ArrowException, TypeError, ValueError):
        return False
