"""Sparse matrices as tables, whose columns may be combined: the cells of a combined column are parts of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError

INDEX = np.int32  # some models take no larger indices


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse matrix as a table of n rows.

    Attributes
    ----------
    rows : the matrix in compressed rows, with at most one entry for each cell, (n, D)
    members : for each column of the table, the columns of the matrix that it combines; None if it combines none
    names : names of the columns of the table, for messages

    Examples
    --------
    >>> import scipy
    >>> table = SparseTable.of(scipy.sparse.csr_array(np.eye(3)))
    >>> table.combined([np.array([0]), np.array([1, 2])], ["x0", "others"]).shape
    (3, 2)
    """

    rows: Any
    members: tuple[np.ndarray, ...] | None = None
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, matrix: Any) -> SparseTable:
        """Makes a table of a matrix in any sparse format, which is not modified."""
        rows = matrix.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return cls(rows)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def __getitem__(self, index: Any) -> SparseTable:
        """Returns the rows with the given numbers."""
        return replace(self, rows=self.rows[index])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), int(self.rows.shape[1]) if self.members is None else len(self.members)

    @property
    def layout(self) -> Layout:
        return Layout(type(self.rows), int(self.rows.shape[1]), self.members)

    def combined(self, members: Sequence[np.ndarray], names: Sequence[str] | None) -> SparseTable:
        """Returns the table with one column for each of the given sets of columns of the matrix."""
        return replace(self, members=tuple(members), names=None if names is None else tuple(names))

    def dense(self) -> np.ndarray:
        """Returns all cells of the matrix, (n, D); a zero that is stored becomes -0.0, so that it is stored again."""
        cells = self.rows.toarray()
        if cells.dtype.kind == "f" and (is_zero := self.rows.data == 0).any():
            row = np.repeat(np.arange(len(self)), np.diff(self.rows.indptr))
            cells[row[is_zero], self.rows.indices[is_zero]] = -0.0
        return np.asarray(cells)

    def columns(self) -> list[Any]:
        """Returns the columns of the table: arrays (n,), and sparse matrices for columns that combine several."""
        if self.members is None:
            return list(self.dense().T)
        by_column = self.rows.tocsc()
        return [
            SparseTable(by_column[:, columns].tocsr()).dense()[:, 0] if len(columns) == 1 else self.rows[:, columns]
            for columns in self.members
        ]


@dataclass(frozen=True, eq=False)
class Layout:
    """The matrix that a table of rows becomes again.

    Attributes
    ----------
    kind : class of the matrix, such as ``csr_matrix``; None for a dense array
    width : its number of columns, D
    members : as in :class:`SparseTable`
    """

    kind: type | None
    width: int
    members: tuple[np.ndarray, ...] | None = None

    @property
    def owner(self) -> np.ndarray:
        """The column of the table that each column of the matrix is in, (D,)."""
        owner = np.arange(self.width)
        for number, columns in enumerate(self.members or ()):
            owner[columns] = number
        return owner

    def matrix(self, columns: Sequence[Any]) -> Any:
        """Returns the matrix whose columns are given as :meth:`SparseTable.columns` returns them."""
        import scipy

        if self.members is None:
            return self.of_cells(np.column_stack(columns))
        alone = [j for j, part in enumerate(self.members) if len(part) == 1]
        together = [j for j, part in enumerate(self.members) if len(part) > 1]
        parts = [stored(np.column_stack([columns[j] for j in alone]))] if alone else []
        rows = scipy.sparse.hstack([*parts, *(columns[j] for j in together)], format="csr")
        number = np.concatenate([self.members[j] for j in (*alone, *together)]).astype(INDEX)  # in the matrix
        kind = scipy.sparse.csr_array if self.kind is None else self.kind
        matrix = kind((rows.data, number[rows.indices], rows.indptr), shape=(rows.shape[0], self.width))
        matrix.sort_indices()
        return matrix.toarray() if self.kind is None else matrix

    def of_cells(self, cells: np.ndarray) -> Any:
        """Returns the matrix of all cells (n, D)."""
        return cells if self.kind is None else self.kind(stored(cells))


def as_combined(table: Any, layout: Layout, argument: str) -> SparseTable:
    """Returns a table of the same columns as a matrix with combined columns, which are combined alike."""
    if isinstance(table, SparseTable) and table.members is not None:
        return table
    is_array = isinstance(table, np.ndarray) and table.dtype.kind in "biuf"
    if not is_array and not isinstance(table, SparseTable):
        raise InputError(
            argument,
            got=f"a {type(table).__name__}",
            wanted=["a sparse matrix, or an array of numbers, with the columns of ", Argument("X")],
        )
    if table.shape[1] != layout.width:
        raise InputError(
            argument,
            got=f"{table.shape[1]:,} columns",
            wanted=[f"{layout.width:,}, as in ", Argument("X")],
            hint="the same columns for both",
        )
    return (SparseTable(stored(table)) if is_array else table).combined(layout.members or (), None)


def stored(cells: np.ndarray) -> Any:
    """Returns cells as a sparse matrix that stores all of them but 0.0; -0.0 is stored."""
    import scipy

    is_stored = cells != 0
    if cells.dtype.kind == "f":
        is_stored |= np.signbit(cells)
    column, counts = np.nonzero(is_stored)[1].astype(INDEX), np.count_nonzero(is_stored, axis=1)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(INDEX)
    return scipy.sparse.csr_array((cells[is_stored], column, start), shape=cells.shape)


def is_sparse(table: Any) -> bool:
    """Tells whether a table is a sparse matrix or array in any format."""
    return hasattr(table, "tocsr") and hasattr(table, "nnz")
