"""Samples of a column as numbers, dates, durations or text, whatever library holds the table; and missing cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from clarysage.drift.two_sample_tests import HINT_LEVEL, hypergeometric_p
from clarysage.drift.wording import from_to, percent, plain_number
from clarysage.errors import InputError
from clarysage.tables.cells import Backend, backend
from clarysage.tables.cells.common import is_missing

NUMBERS, DATES, DURATIONS, TEXT = "numbers", "dates", "durations", "text"
MICROSECONDS_OF_A_DAY = 86_400e6
NUMERAL = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE)
MOST_DISTINCT = 20  # numbers of a column that is tested as categories


@dataclass(frozen=True)
class ColumnSample:
    """The cells of a column in the reference, or in the current rows.

    Attributes
    ----------
    cell_type : numbers, dates, durations or text
    values : float64 (n,), NaN where a cell is missing: numbers, days since 1970, days, or indices of labels
    labels : the text that each index stands for, in a meaningful order where ``is_categorical``; empty but for text
    is_categorical : whether the table holds the column as one of categories, with a list of its own
    is_boolean : whether numbers stand for False and True
    is_mixed : whether there are numbers among the text
    """

    cell_type: str
    values: np.ndarray
    labels: tuple[str, ...] = ()
    is_categorical: bool = False
    is_boolean: bool = False
    is_mixed: bool = False

    @property
    def rows(self) -> int:
        return len(self.values)

    @cached_property
    def present(self) -> np.ndarray:
        """Values of the cells that are not missing, sorted."""
        return np.sort(self.values[~np.isnan(self.values)])

    @property
    def missing(self) -> int:
        """The number of missing cells."""
        return self.rows - len(self.present)

    @property
    def missing_share(self) -> float:
        return self.missing / self.rows

    def as_text(self) -> ColumnSample:
        """Returns the sample with numbers written as text."""
        if self.cell_type == TEXT:
            return self
        numbers = np.unique(self.present)
        labels = tuple(map(str, numbers.astype(bool))) if self.is_boolean else tuple(map(plain_number, numbers))
        indices = np.searchsorted(numbers, self.values).astype(np.float64)
        indices[np.isnan(self.values)] = np.nan
        return ColumnSample(TEXT, indices, labels)

    @cached_property
    def counts(self) -> dict[str, int]:
        """The number of rows of each label that occurs, in the order of the labels; for text only."""
        indices, counts = np.unique(self.present.astype(np.int64), return_counts=True)
        return {self.labels[index]: int(count) for index, count in zip(indices, counts, strict=True)}


def read_column(cells: Any, library: Backend, argument: str, name: str) -> ColumnSample:
    """Reads the cells of a column; raises an error where they are neither numbers, dates nor text."""
    dtype = str(library.dtype(cells)).lower()
    if library.is_number(cells):
        return ColumnSample(NUMBERS, library.to_float(cells), is_boolean=dtype.startswith("bool"))
    try:
        is_categorical = dtype.startswith(("category", "dictionary"))
        return ColumnSample(NUMBERS, library.to_float(cells), is_categorical=is_categorical)
    except (TypeError, ValueError):
        pass
    column = backend("pandas").adopt(cells)
    try:
        return _read_dates(column) or _read_text(column)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            argument,
            got=f"column {name[:80]!r} of {library.dtype(cells)} ({error})",
            wanted="numbers, booleans, strings, categories or dates",
        ) from error


def _read_dates(column: Any) -> ColumnSample | None:
    """Reads dates and durations as days; returns None for other cells."""
    if column.dtype == object:
        first = next((cell for cell in column if not is_missing(cell)), None)
        is_duration = isinstance(first, timedelta)
        if isinstance(first, (date, timedelta)) and all(
            type(cell) is type(first) or is_missing(cell) for cell in column
        ):
            column = pd.to_timedelta(column) if is_duration else pd.to_datetime(column, utc=True)
    kind = column.dtype.kind
    if kind not in "mM":
        return None
    ticks = column.to_numpy(dtype="timedelta64[us]" if kind == "m" else "datetime64[us]")
    days = np.where(np.isnat(ticks), np.nan, ticks.astype(np.int64) / MICROSECONDS_OF_A_DAY)
    return ColumnSample(DATES if kind == "M" else DURATIONS, days)


def _read_text(column: Any) -> ColumnSample:
    is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
    if is_categorical:
        codes, values = column.cat.codes.to_numpy(), list(column.cat.categories)
    else:
        codes, distinct = pd.factorize(column)
        values = list(distinct)
    are_numbers = [isinstance(value, (int, float, np.number)) for value in values]
    texts = [
        plain_number(float(value)) if is_number else str(value)
        for value, is_number in zip(values, are_numbers, strict=True)
    ]
    labels = tuple(dict.fromkeys(texts))
    index_of = {label: index for index, label in enumerate(labels)}
    indices = np.array([index_of[text] for text in texts] + [np.nan])  # code -1 is a missing cell
    return ColumnSample(TEXT, indices[codes], labels, is_categorical=is_categorical, is_mixed=any(are_numbers))


def reads_as_numbers(sample: ColumnSample) -> bool:
    """Returns whether at least nine of ten rows of text are numerals."""
    counts = sample.counts
    return sum(n for label, n in counts.items() if NUMERAL.fullmatch(label.strip())) >= 0.9 * sum(counts.values()) > 0


def are_few_integers(reference: ColumnSample, current: ColumnSample) -> bool:
    """Returns whether both samples together have at most twenty distinct numbers, all of them integers."""
    distinct = np.zeros(0)
    for sample in (reference, current):
        # most columns have many numbers, which the first rows show already
        for values in (sample.present[: 50 * MOST_DISTINCT], sample.present):
            distinct = np.union1d(distinct, values)
            if len(distinct) > MOST_DISTINCT:
                return False
    return bool(np.isfinite(distinct).all() and (distinct == np.round(distinct)).all())


def missing_p(reference: ColumnSample, current: ColumnSample) -> list[float]:
    """Returns the p-value of the shares of missing cells; an empty list where no cell is missing, or every cell is."""
    missing, rows = reference.missing + current.missing, reference.rows + current.rows
    return [hypergeometric_p(current.missing, missing, current.rows, rows)] if 0 < missing < rows else []


def missing_hint(reference: ColumnSample, current: ColumnSample) -> list[str]:
    """Returns a hint on missing cells where their share changed, else an empty list."""
    if min([1.0, *missing_p(reference, current)]) > HINT_LEVEL:
        return []
    if current.missing == current.rows:
        return [f"all cells are missing now, {percent(reference.missing_share)} in the reference"]
    return [f"missing cells went {from_to(reference.missing_share, current.missing_share)}"]
