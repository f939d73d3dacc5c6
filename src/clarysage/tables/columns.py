"""Encoding of a column as float64 codes, and back: numbers as they are, all other cells by a dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError
from clarysage.tables.cells import Backend
from clarysage.tables.cells.common import EXACT_INTEGERS, NULL


@dataclass(frozen=True)
class Numbers:
    """A numeric or boolean column: the codes are the values; they are decoded to the column's own dtype."""

    backend: Backend
    dtype: Any
    missing: bool = False
    is_number: bool = True

    @property
    def texts(self) -> frozenset[str]:
        """The values that are text: none."""
        return frozenset()

    def encode(self, cells: Any) -> np.ndarray:
        return self.backend.to_float(cells)

    def decode(self, codes: np.ndarray) -> Any:
        return self.backend.from_float(codes, self.dtype)

    def converted_to(self, backend: Backend) -> Numbers:
        """Returns the column for another library, in the dtype to which a sample of it is converted there."""
        if backend == self.backend:
            return self
        sample = self.decode(np.array([1.0, NULL] if self.missing else [1.0]))
        return Numbers(backend, backend.dtype(backend.adopt(sample)), self.missing)

    def widened(self, codes: np.ndarray) -> Numbers:
        """Returns a column that can hold the codes: float64 in place of an integer dtype if there is a fraction."""
        return self if _holds(self.backend, self.dtype, codes) else Numbers(self.backend, self.backend.float64, True)


@dataclass(frozen=True)
class Categories:
    """A column of strings, categories, dates or other objects: code k is the k-th distinct value."""

    backend: Backend
    values: Any
    is_number: bool = False

    def encode(self, cells: Any) -> np.ndarray:
        return self.backend.lookup(self.values, cells)

    def decode(self, codes: np.ndarray) -> Any:
        index = np.where(np.isnan(codes), -1, codes).astype(np.int64)
        return self.backend.take(self.values, index)

    def converted_to(self, backend: Backend) -> Categories:
        """Returns the column for another library, with the same codes."""
        if backend == self.backend:
            return self
        return Categories(backend, backend.listed(backend.adopt(self.decode(np.arange(float(len(self.values)))))))

    def widened(self, codes: np.ndarray) -> Categories:
        return self

    @property
    def texts(self) -> frozenset[str]:
        """The values that are text, rather than dates or other objects."""
        cells = self.decode(np.arange(float(len(self.values))))
        values = cells.to_pylist() if hasattr(cells, "to_pylist") else cells
        return frozenset(value for value in values if isinstance(value, str))

    @property
    def holds_numbers(self) -> bool:
        """True if the values are numbers nevertheless: objects, decimals or huge integers, but not categories."""
        cells = self.decode(np.arange(float(len(self.values))))
        if not len(cells) or str(self.backend.dtype(cells)).startswith(("category", "dictionary")):
            return False
        try:
            return bool(np.isfinite(self.backend.to_float(cells)).any())
        except (TypeError, ValueError):
            return False


Column = Numbers | Categories


def column_of(backend: Backend, parts: Mapping[str, Any], name: str) -> Column:
    """Makes the column for the cells of all ``parts`` (argument -> cells), like the first part that is not blank."""
    parts = dict(sorted(parts.items(), key=lambda part: backend.is_blank(part[1])))
    if not backend.is_number(next(iter(parts.values()))):
        return Categories(backend, _distinct(backend, parts, name))
    floats = {argument: _floats(backend, cells, argument, name) for argument, cells in parts.items()}
    if any(backend.is_integer(cells) and _is_huge(floats[argument]) for argument, cells in parts.items()):
        return Categories(backend, _distinct(backend, parts, name))
    dtypes = [backend.dtype(cells) for cells in parts.values() if backend.is_number(cells)]
    fitting = (dtype for dtype in dtypes if all(_holds(backend, dtype, part) for part in floats.values()))
    missing = any(np.isnan(part).any() for part in floats.values())
    return Numbers(backend, next(fitting, backend.float64), missing)


def _is_huge(values: np.ndarray) -> bool:
    return bool(np.fmax.reduce(np.abs(values), initial=0.0) >= EXACT_INTEGERS)


def _holds(backend: Backend, dtype: Any, values: np.ndarray) -> bool:
    """Tells whether numbers are unchanged after conversion to a dtype and back."""
    try:
        return np.array_equal(backend.to_float(backend.from_float(values, dtype)), values, equal_nan=True)
    except (TypeError, ValueError, OverflowError):
        return False


def _floats(backend: Backend, cells: Any, argument: str, name: str) -> np.ndarray:
    try:
        return backend.to_float(cells)
    except (ValueError, TypeError) as error:
        raise InputError(
            argument,
            got=f"column {name!r} of {backend.dtype(cells)}, which holds numbers in the other table",
            wanted=["the same kind of column in ", Argument("X"), " and background"],
            hint="the same dtypes for both",
        ) from error


def _distinct(backend: Backend, parts: Mapping[str, Any], name: str) -> Any:
    try:
        return backend.distinct(list(parts.values()))
    except (TypeError, ValueError, NotImplementedError) as error:
        kinds = dict.fromkeys(str(backend.dtype(cells)) for cells in parts.values())
        raise InputError(
            " and ".join(parts),
            got=f"column {name!r} of {' and '.join(kinds)} ({error})",
            wanted=[
                "numbers, booleans, strings, categories or dates, the same kind in ",
                Argument("X"),
                " and background",
            ],
        ) from error
