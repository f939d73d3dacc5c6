"""The cells of a column, one file per library: to numbers and back, to places in a dictionary and back.

``backend`` gives the functions for a library by its name; a library is imported only where its tables turn up.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


class Backend(Protocol):
    """What differs between the columns of numpy, pandas, polars and pyarrow tables."""

    float64: Any

    def split(self, table: Any) -> list[Any]:
        """The columns of a table."""
        ...

    def table(self, columns: Any, header: Any) -> Any:
        """The table of a list of columns, or of an array of numbers; ``header`` as :meth:`header` gave it, or names."""
        ...

    def header(self, table: Any, order: list[int]) -> Any:
        """What a table says of its columns beside their cells, such as names, in the given order."""
        ...

    def dtype(self, cells: Any) -> Any: ...
    def is_number(self, cells: Any) -> bool: ...
    def is_integer(self, cells: Any) -> bool: ...
    def is_blank(self, cells: Any) -> bool:
        """Whether every cell is missing, in a dtype that does not say what of."""
        ...

    def to_float(self, cells: Any) -> np.ndarray:
        """Numbers as float64; TypeError for what is not a number."""
        ...

    def from_float(self, values: np.ndarray, dtype: Any) -> Any: ...
    def distinct(self, parts: list[Any]) -> Any:
        """The values of all parts, as many as ``len`` says, in the first part's kind if that can be; else TypeError."""
        ...

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        """Places of the cells among the values, NaN for a missing one; KeyError for a stranger."""
        ...

    def take(self, values: Any, places: np.ndarray) -> Any:
        """The values at the places; a missing cell for -1."""
        ...

    def adopt(self, cells: Any) -> Any:
        """Cells of any library as those of this one."""
        ...

    def listed(self, cells: Any) -> Any:
        """Cells that are distinct already as values, in their order."""
        ...


@cache
def backend(library: str) -> Backend:
    """The cells of a library.

    Examples
    --------
    >>> backend("numpy").to_float(np.array([True, False]))
    array([1., 0.])
    """
    cells: Backend = import_module(f"clarysage.tables.cells.{library}").Cells()
    return cells


def library_of(cells: Any) -> str:
    """The library whose cells these are, by the name of their type."""
    root = type(cells).__module__.partition(".")[0]
    return root if root in LIBRARIES else "numpy"
