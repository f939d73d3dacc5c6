"""A table with its target and what stands beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and target, row by row, with where they come from; ``X, y = dataset`` takes the two.

    Attributes
    ----------
    name : by which it is asked for
    X : pandas frame of the features; categories are of dtype category, all else are numbers
    y : pandas Series of the target
    beside : pandas frame of columns that are no features, such as who a row is of; same index, maybe no columns
    source : who published it and where, in words and an address
    licence : what its publisher states
    citation : what to cite
    notes : what to know before using it

    Examples
    --------
    >>> import clarysage as cs
    >>> wine = cs.datasets.wine()
    >>> wine
    wine: 178 rows, 13 features, target 'cultivar'; UCI Wine, as it comes with scikit-learn
    >>> X, y = wine
    """

    name: str
    X: Any
    y: Any
    beside: Any
    source: str
    licence: str
    citation: str
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"{self.name}: {rows:,} rows, {columns} features, target {self.y.name!r}; {self.source}"
