"""Cells that are Python objects, in numpy and pandas columns: a dictionary that tells 1, 1.0 and True apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.tables.cells.missing import is_missing


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Distinct cells, and after them the one that a missing cell is, so that place -1 finds it."""

    cells: np.ndarray

    @classmethod
    def of(cls, objects: Sequence[Any], hole: Any = None) -> Dictionary:
        return cls(boxed([*objects, hole]))

    def __len__(self) -> int:
        return len(self.cells) - 1


def boxed(objects: Sequence[Any]) -> np.ndarray:
    """An array of the objects themselves; numpy alone would make a table of tuples."""
    cells = np.empty(len(objects), dtype=object)
    for place, one in enumerate(objects):
        cells[place] = one
    return cells


def distinct(parts: Sequence[Sequence[Any]]) -> Dictionary:
    """Distinct objects in order of appearance."""
    kinds = [{_kind(cell) for cell in part if not is_missing(cell)} for part in parts]
    if any(kind and kinds[0] and not kind & kinds[0] for kind in kinds):
        raise TypeError(f"{' and '.join(str(sorted(kind)) for kind in kinds)} have nothing in common")
    seen: dict[Any, Any] = {}
    for part in parts:
        for cell in part:
            seen.setdefault(_key(cell), cell)
    hole = next((key for key, cell in seen.items() if is_missing(cell)), None)
    missing = seen.pop(hole, None)
    return Dictionary.of(list(seen.values()), missing)


def lookup(values: Dictionary, cells: Sequence[Any]) -> np.ndarray:
    """Places of the cells among the values; several kinds of missing cell have places of their own."""
    places: dict[Any, float] = {_key(value): place for place, value in enumerate(values.cells[:-1])}
    places[_key(values.cells[-1])] = np.nan
    strange = next((cell for cell in cells if _key(cell) not in places), places)
    if strange is not places:
        raise KeyError(strange)
    return np.array([places[_key(cell)] for cell in cells], dtype=np.float64)


def to_float(cells: Sequence[Any]) -> np.ndarray:
    """Objects that are numbers, as numbers; missing ones as NaN."""
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
