"""Categories of a frame as the numbers that a library gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.structure.base import UnknownStructureError


@dataclass(frozen=True)
class CategoryCodes:
    """A view of frames: numbers as they are, categories by their place among those of the column at training.

    ``known`` has these by the column's place; a column of categories that is not there counts by the frame's own.
    """

    known: Mapping[int, Sequence[Any]]

    def __call__(self, table: Any) -> np.ndarray:
        if isinstance(table, np.ndarray):
            return np.asarray(table, dtype=np.float64)
        if not hasattr(table, "iloc"):
            raise UnknownStructureError("categories are read from pandas frames alone")
        inner = np.empty(table.shape)
        for place in range(table.shape[1]):
            column = table.iloc[:, place]
            inner[:, place] = self._codes(column, place) if column.dtype == "category" else numbers_of(column)
        return inner

    def _codes(self, column: Any, place: int) -> np.ndarray:
        if place in self.known:
            column = column.cat.set_categories(list(self.known[place]))
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return np.asarray(codes)


def numbers_of(column: Any) -> np.ndarray:
    """Cells of a column of a frame, missing ones as NaN."""
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise UnknownStructureError(f"column {column.name!r} holds neither numbers nor categories") from error
