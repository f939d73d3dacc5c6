"""Columns of sparse tables: numbers as in numpy arrays, and parts of rows where several columns are combined."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from clarysage.tables.cells.numpy import NumpyCells
from clarysage.tables.sparse import Layout, SparseTable, is_sparse


@dataclass(frozen=True, eq=False)
class RowDictionary:
    """Distinct rows of a sparse matrix, and the position of each by its key."""

    rows: Any
    position: dict[str, int]

    def __len__(self) -> int:
        return len(self.position)

    @property
    def most(self) -> int:
        """The largest number of entries of a row."""
        return int(np.diff(self.rows.indptr).max(initial=0))


@dataclass(frozen=True)
class SparseCells(NumpyCells):
    """Cells of a combined column are rows of a sparse matrix, which are encoded by a dictionary of distinct rows."""

    def split(self, table: SparseTable) -> list[Any]:  # type: ignore[override]
        return table.columns()

    def table(self, columns: Any, header: Layout | None) -> Any:
        if header is None:
            return super().table(columns, None)
        return header.of_cells(columns) if isinstance(columns, np.ndarray) else header.matrix(columns)

    def is_number(self, cells: Any) -> bool:
        return not is_sparse(cells) and super().is_number(cells)

    def is_blank(self, cells: Any) -> bool:
        return not is_sparse(cells) and super().is_blank(cells)

    def to_float(self, cells: Any) -> np.ndarray:
        if is_sparse(cells):
            raise TypeError("parts of rows are not numbers")
        return super().to_float(cells)

    def distinct(self, parts: list[Any]) -> Any:
        if not is_sparse(parts[0]):
            return super().distinct(parts)
        rows = scipy.sparse.vstack(parts, format="csr")
        keys = keys_of_rows(rows)
        first = {key: row for row, key in reversed(list(enumerate(keys)))}
        numbers = sorted(first.values())
        return RowDictionary(rows[numbers], {keys[row]: position for position, row in enumerate(numbers)})

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        if not is_sparse(cells):
            return super().lookup(values, cells)
        return np.array([values.position[key] for key in keys_of_rows(cells)], dtype=np.float64)

    def take(self, values: Any, index: np.ndarray) -> Any:
        return values.rows[index] if isinstance(values, RowDictionary) else super().take(values, index)

    def adopt(self, cells: Any) -> Any:
        return cells if is_sparse(cells) else super().adopt(cells)


def keys_of_rows(rows: Any) -> list[str]:
    """Returns a text for each row of a matrix in compressed rows: the same for equal rows, and only for them.

    Examples
    --------
    >>> one, other, third = keys_of_rows(scipy.sparse.csr_array([[0, 1], [1, 0], [0, 1]]))
    >>> one == third, one == other
    (True, False)
    """
    data = np.ascontiguousarray(rows.data, dtype=np.float64)
    spans = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    indices = np.ascontiguousarray(rows.indices, dtype=np.int64)
    return [_key(indices[first:last], data[first:last]) for first, last in spans]


def _key(indices: np.ndarray, data: np.ndarray) -> str:
    return hashlib.blake2b(indices.tobytes() + data.tobytes(), digest_size=16).hexdigest()


BACKEND = SparseCells()
