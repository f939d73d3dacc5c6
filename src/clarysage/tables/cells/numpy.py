"""Columns of numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clarysage.tables.cells import backend, library_of, objects
from clarysage.tables.cells.common import EXACT_INTEGERS, common_dtype, is_missing
from clarysage.tables.cells.objects import Dictionary


@dataclass(frozen=True)
class NumpyCells:
    """Columns are views of an array of one dtype; cells that are not numbers are encoded by a sorted dictionary."""

    float64: ClassVar[Any] = np.dtype(np.float64)

    def split(self, table: np.ndarray) -> list[np.ndarray]:
        return list(table.T)

    def table(self, columns: Any, header: Any) -> np.ndarray:
        if isinstance(columns, np.ndarray):
            return columns
        rows = np.empty((len(columns[0]), len(columns)), dtype=_stacked([column.dtype for column in columns]))
        for j, column in enumerate(columns):
            rows[:, j] = column
        return rows

    def header(self, table: np.ndarray, order: list[int]) -> None:
        return None

    def dtype(self, cells: np.ndarray) -> np.dtype[Any]:
        return cells.dtype

    def is_number(self, cells: np.ndarray) -> bool:
        return cells.dtype.kind in "biuf"

    def is_integer(self, cells: np.ndarray) -> bool:
        return cells.dtype.kind in "iu"

    def is_blank(self, cells: np.ndarray) -> bool:
        return all(map(is_missing, cells.tolist()))

    def to_float(self, cells: np.ndarray) -> np.ndarray:
        if cells.dtype == object:
            return objects.to_float(cells.tolist())
        if not self.is_number(cells):
            raise TypeError(f"{cells.dtype} is not a number")
        return cells.astype(np.float64)

    def from_float(self, values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            return values.astype(dtype)

    def distinct(self, parts: list[np.ndarray]) -> Dictionary:
        if any(part.dtype == object for part in parts):
            return objects.distinct([_objects(part) for part in parts])
        if any(part.dtype.kind not in "iuUSTMm" for part in parts):
            raise TypeError(f"cells of dtype {', '.join(str(part.dtype) for part in parts)}")
        dtype = common_dtype(parts, [part.dtype for part in parts], holds)
        cells = np.unique(np.concatenate([part.astype(dtype) for part in parts]))
        missing = np.full(1, "NaT" if dtype.kind in "mM" else 0, dtype=dtype)
        return Dictionary(np.concatenate([cells[~_is_missing(cells)], missing]))

    def lookup(self, values: Dictionary, cells: np.ndarray) -> np.ndarray:
        if values.cells.dtype == object:
            return objects.lookup(values, _objects(cells))
        keys = cells.astype(values.cells.dtype)
        index = np.searchsorted(values.cells[:-1], keys)
        is_unknown = ~_is_missing(keys) & (values.cells[index] != keys)
        if is_unknown.any():
            raise KeyError(cells[is_unknown][0])
        return np.where(_is_missing(keys), np.nan, index)

    def take(self, values: Dictionary, index: np.ndarray) -> np.ndarray:
        return np.asarray(values.cells[index])

    def adopt(self, cells: Any) -> np.ndarray:
        if library_of(cells) == "numpy":
            return np.asarray(cells)
        source = backend(library_of(cells))
        if not source.is_number(cells):
            return objects.boxed(cells.to_list() if hasattr(cells, "to_list") else cells.to_pylist())
        floats = source.to_float(cells)
        return floats if np.isnan(floats).any() else np.asarray(cells)

    def listed(self, cells: np.ndarray) -> Dictionary:
        return Dictionary.of(list(cells))


BACKEND = NumpyCells()


def holds(cells: np.ndarray, dtype: np.dtype[Any]) -> bool:
    """Tells whether cells can be cast to a dtype without loss.

    Examples
    --------
    >>> holds(np.array([1.0, 2.0]), np.dtype(np.int8)), holds(np.array([0.5]), np.dtype(np.int8))
    (True, False)
    """
    if cells.dtype == dtype:
        return True
    kinds = {cells.dtype.kind, dtype.kind}
    if len(kinds) > 1 and not kinds <= set("biuf"):
        return False
    if "f" in kinds and len(kinds) > 1 and np.fmax.reduce(np.abs(cells, dtype=np.float64), None) >= EXACT_INTEGERS:
        return False
    with np.errstate(invalid="ignore", over="ignore"):
        cast = cells.astype(dtype)
        back = cast.astype(cells.dtype)
    if kinds <= set("iu") and ((cast < 0) != (cells < 0)).any():
        return False  # -1 and the largest unsigned integer have the same bits
    return bool(((back == cells) | _is_missing(cells) & _is_missing(back)).all())


def _objects(cells: np.ndarray) -> list[Any]:
    return list(cells) if cells.dtype.kind in "mM" else list(cells.tolist())


def _is_missing(cells: np.ndarray) -> np.ndarray:
    if cells.dtype.kind in "mM":
        return np.asarray(np.isnat(cells))
    return np.asarray(np.isnan(cells)) if cells.dtype.kind == "f" else np.zeros(cells.shape, dtype=bool)


def _stacked(dtypes: list[np.dtype[Any]]) -> np.dtype[Any]:
    """Returns the dtype of an array that holds columns of these dtypes."""
    if len(set(dtypes)) == 1:
        return dtypes[0]
    return np.result_type(*dtypes) if all(dtype.kind == "U" for dtype in dtypes) else np.dtype(object)
