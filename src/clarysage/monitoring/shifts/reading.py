"""One column of a table as numbers, dates or text, whatever library holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clarysage.errors import InputError
from clarysage.monitoring.shifts.wording import plain_number
from clarysage.tables.cells import Backend, backend
from clarysage.tables.cells.missing import is_missing

NUMBERS, DATES, DURATIONS, TEXT = "numbers", "dates", "durations", "text"
DAY = 86_400e6  # microseconds
NUMERAL = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class Cells:
    """The cells of a column.

    Attributes
    ----------
    sort : numbers, dates, durations or text
    values : float64 (n,), NaN where a cell is missing: the numbers, days since 1970, days, or places among the labels
    labels : what places stand for, in an order that means something where ``is_listed``; empty but for text
    is_listed : whether the column is one of categories, with a list of its own
    is_boolean : whether numbers stand for False and True
    is_mixed : whether there are numbers among the text
    """

    sort: str
    values: np.ndarray
    labels: tuple[str, ...] = ()
    is_listed: bool = False
    is_boolean: bool = False
    is_mixed: bool = False

    @property
    def rows(self) -> int:
        return len(self.values)

    @cached_property
    def present(self) -> np.ndarray:
        """The cells that are not missing, sorted."""
        return np.sort(self.values[~np.isnan(self.values)])

    @property
    def missing(self) -> int:
        return self.rows - len(self.present)

    def labelled(self) -> Cells:
        """Numbers as text."""
        if self.sort == TEXT:
            return self
        numbers = np.unique(self.present)
        words = tuple(map(str, numbers.astype(bool))) if self.is_boolean else tuple(map(plain_number, numbers))
        places = np.searchsorted(numbers, self.values).astype(np.float64)
        places[np.isnan(self.values)] = np.nan
        return Cells(TEXT, places, words)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Rows of each label that occurs, in the order of the labels; of text."""
        places, counts = np.unique(self.present.astype(np.int64), return_counts=True)
        return {self.labels[place]: int(count) for place, count in zip(places, counts, strict=True)}


def read_column(cells: Any, library: Backend, argument: str, name: str) -> Cells:
    """The cells of a column; an error for what is neither numbers, dates nor text."""
    kind = str(library.dtype(cells)).lower()
    if library.is_number(cells):
        return Cells(NUMBERS, library.to_float(cells), is_boolean=kind.startswith("bool"))
    try:
        return Cells(NUMBERS, library.to_float(cells), is_listed=kind.startswith(("category", "dictionary")))
    except (TypeError, ValueError):
        pass
    column = backend("pandas").adopt(cells)
    try:
        return _dates(column) or _text(column)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            argument,
            got=f"column {name[:80]!r} of {library.dtype(cells)} ({error})",
            wanted="numbers, booleans, strings, categories or dates",
        ) from error


def reads_as_numbers(cells: Cells) -> bool:
    """Whether nearly all of the text is numerals."""
    counts = cells.counts
    return sum(n for label, n in counts.items() if NUMERAL.fullmatch(label.strip())) >= 0.9 * sum(counts.values()) > 0


def _dates(column: Any) -> Cells | None:
    """Dates and durations as days; None for other cells."""
    if column.dtype == object:
        first = next((cell for cell in column if not is_missing(cell)), None)
        if isinstance(first, (date, timedelta)) and {type(cell) for cell in column if not is_missing(cell)} == {
            type(first)
        }:
            column = pd.to_timedelta(column) if isinstance(first, timedelta) else pd.to_datetime(column, utc=True)
    kind = column.dtype.kind
    if kind not in "mM":
        return None
    ticks = column.to_numpy(dtype="timedelta64[us]" if kind == "m" else "datetime64[us]")
    days = np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / DAY)
    return Cells(DATES if kind == "M" else DURATIONS, days)


def _text(column: Any) -> Cells:
    is_listed = isinstance(column.dtype, pd.CategoricalDtype)
    if is_listed:
        places, values = column.cat.codes.to_numpy(), list(column.cat.categories)
    else:
        places, found = pd.factorize(column)
        values = list(found)
    numbers = [isinstance(value, (int, float, np.number)) for value in values]
    words = [
        plain_number(float(value)) if is_one else str(value) for value, is_one in zip(values, numbers, strict=True)
    ]
    labels = tuple(dict.fromkeys(words))
    place_of = {label: place for place, label in enumerate(labels)}
    lookup = np.array([place_of[word] for word in words] + [np.nan])  # place -1 is a missing cell
    return Cells(TEXT, lookup[places], labels, is_listed=is_listed, is_mixed=any(numbers))
