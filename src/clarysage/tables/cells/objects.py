"""Cells that are Python objects, in numpy and pandas columns: a dictionary that distinguishes 1, 1.0 and True."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.tables.cells.common import is_missing


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Distinct cells, followed by the object that is a missing cell, so that index -1 returns it."""

    cells: np.ndarray

    @classmethod
    def of(cls, objects: Sequence[Any], missing: Any = None) -> Dictionary:
        return cls(boxed([*objects, missing]))

    def __len__(self) -> int:
        return len(self.cells) - 1


def boxed(objects: Sequence[Any]) -> np.ndarray:
    """Returns an array of the objects; ``np.array`` would make a two-dimensional one of tuples."""
    cells = np.empty(len(objects), dtype=object)
    for i, cell in enumerate(objects):
        cells[i] = cell
    return cells


def distinct(parts: Sequence[Sequence[Any]]) -> Dictionary:
    """Returns distinct objects in order of appearance."""
    kinds = [{_kind(cell) for cell in part if not is_missing(cell)} for part in parts]
    if any(kind and kinds[0] and not kind & kinds[0] for kind in kinds):
        raise TypeError(f"{' and '.join(str(sorted(kind)) for kind in kinds)} have nothing in common")
    seen: dict[Any, Any] = {}
    for part in parts:
        for cell in part:
            seen.setdefault(_key(cell), cell)
    missing = seen.pop(next((key for key, cell in seen.items() if is_missing(cell)), None), None)
    return Dictionary.of(list(seen.values()), missing)


def lookup(values: Dictionary, cells: Sequence[Any]) -> np.ndarray:
    """Returns positions of cells among the values; different kinds of missing cells have different positions."""
    index: dict[Any, float] = {_key(value): i for i, value in enumerate(values.cells[:-1])}
    index[_key(values.cells[-1])] = np.nan
    for cell in cells:
        if _key(cell) not in index:
            raise KeyError(cell)
    return np.array([index[_key(cell)] for cell in cells], dtype=np.float64)


def to_float(cells: Sequence[Any]) -> np.ndarray:
    """Returns objects that are numbers as float64, missing ones as NaN; raises TypeError for others."""
    for cell in cells:
        if not is_missing(cell) and not isinstance(cell, (int, float, np.bool_, np.integer, np.floating)):
            raise TypeError(f"{cell!r} is not a number")
    return np.array([np.nan if is_missing(cell) else float(cell) for cell in cells], dtype=np.float64)


def _kind(cell: Any) -> str:
    if isinstance(cell, (str, bytes)):
        return "text"
    return "number" if isinstance(cell, (int, float, np.bool_, np.integer, np.floating)) else type(cell).__name__


def _key(cell: Any) -> Any:
    return type(cell) if is_missing(cell) else (type(cell), cell)
