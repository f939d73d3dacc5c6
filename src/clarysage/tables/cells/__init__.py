"""Cells of columns, one file for each library: conversion to numbers or to positions in a dictionary, and back.

:func:`backend` returns the functions for a library by its name; a library is imported only if its tables are used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np

LIBRARIES = ("numpy", "pandas", "polars", "pyarrow")


class Backend(Protocol):
    """The operations that differ between the columns of numpy, pandas, polars, pyarrow and sparse tables."""

    float64: Any

    def split(self, table: Any) -> list[Any]:
        """Returns the columns of a table."""
        ...

    def table(self, columns: Any, header: Any) -> Any:
        """Makes a table of a list of columns, or an array of numbers; ``header`` is from :meth:`header`, or names."""
        ...

    def header(self, table: Any, order: list[int]) -> Any:
        """Returns a table's information on its columns other than cells, such as names, in the given order."""
        ...

    def dtype(self, cells: Any) -> Any: ...
    def is_number(self, cells: Any) -> bool: ...
    def is_integer(self, cells: Any) -> bool: ...
    def is_blank(self, cells: Any) -> bool:
        """Tells whether every cell is missing, in a dtype that does not determine the kind of column."""
        ...

    def to_float(self, cells: Any) -> np.ndarray:
        """Returns numbers as float64; raises TypeError for other cells."""
        ...

    def from_float(self, values: np.ndarray, dtype: Any) -> Any: ...
    def distinct(self, parts: list[Any]) -> Any:
        """Returns the distinct values of all parts, in the first part's dtype if possible; raises TypeError if not."""
        ...

    def lookup(self, values: Any, cells: Any) -> np.ndarray:
        """Returns positions of cells among the values, NaN for a missing cell; raises KeyError for an unknown one."""
        ...

    def take(self, values: Any, index: np.ndarray) -> Any:
        """Returns the values at the given positions; a missing cell for -1."""
        ...

    def adopt(self, cells: Any) -> Any:
        """Converts cells of any library to cells of this one."""
        ...

    def listed(self, cells: Any) -> Any:
        """Returns cells that are already distinct as values, in their order."""
        ...


@cache
def backend(library: str) -> Backend:
    """Returns the operations on cells of a library.

    Examples
    --------
    >>> backend("numpy").to_float(np.array([True, False]))
    array([1., 0.])
    """
    implementation: Backend = import_module(f"clarysage.tables.cells.{library}").BACKEND
    return implementation


def library_of(cells: Any) -> str:
    """Returns the name of the library that cells belong to, by the module of their type."""
    root = type(cells).__module__.partition(".")[0]
    return root if root in LIBRARIES else "numpy"
