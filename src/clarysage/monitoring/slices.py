"""Slices of the current rows: batches, periods of time, or consecutive groups of equally many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from clarysage.catalogue import PERIODS
from clarysage.errors import InputError, Or, PythonOnly, Set
from clarysage.monitoring.data import FEWEST_ROWS

MOST_SLICES = 60  # more are hard to read, and a correction for their number costs much power
MOST_DEFAULT_SLICES = 30  # where no period is asked for
LEAST_MEDIAN_ROWS = 100  # of slices, where no period is asked for


@dataclass(frozen=True)
class Slices:
    """A partition of the current rows.

    Attributes
    ----------
    names : of the slices
    indices : of the rows of each slice
    notes : on rows and slices that are left out
    is_in_order : whether each slice follows the one before it, as periods do
    """

    names: tuple[str, ...]
    indices: tuple[np.ndarray, ...]
    notes: tuple[str, ...] = ()
    is_in_order: bool = True


def slice_rows(column: Any, every: Any, n_rows: int) -> Slices:
    """Slices n rows by a column with an entry for each row, or by their order where there is no column.

    Examples
    --------
    >>> slices = slice_rows(["may"] * 30 + ["june"] * 20, None, 50)
    >>> slices.names, [len(rows) for rows in slices.indices], slices.is_in_order
    (('june', 'may'), [20, 30], False)
    """
    rows_per_slice = _rows_per_slice(every)
    if column is None:
        if rows_per_slice is None:
            raise InputError(
                "by", got=["None, with ", Set("every", every)], wanted="the column of dates that this is about"
            )
        return _by_count(np.arange(n_rows), rows_per_slice, None)
    cells = _as_series(column, n_rows)
    present = np.flatnonzero(cells.notna().to_numpy())
    if len(present) == 0:
        raise InputError("by", got="only missing cells", wanted="dates or names of batches")
    missing = n_rows - len(present)
    notes = [f"{missing:,} rows of current have no slice and are left out."] if missing else []
    cells = cells.iloc[present].reset_index(drop=True)
    times = as_times(cells, is_asked=isinstance(every, str))
    if times is None and isinstance(every, str):
        raise InputError(
            "every",
            got=f"{every!r} for a column that holds no dates",
            wanted="dates, such as 2024-05-31",
            hint=PythonOnly("pd.to_datetime(..., dayfirst=True) of it first, if it holds dates such as 31.12.2025"),
        )
    if rows_per_slice is not None:
        order = np.argsort(_ranked(cells)[0] if times is None else times.to_numpy(), kind="stable")
        ordered_times = None if times is None else times.iloc[order]
        return _without_small(_by_count(present[order], rows_per_slice, ordered_times), notes)
    if times is not None:
        cells = times.dt.to_period(PERIODS[every or default_period(times)].code).map(_period_name)
    ranks, labels = _ranked(cells)
    _check_number(len(labels), every)
    indices = tuple(present[ranks == i] for i in range(len(labels)))
    is_in_order = times is not None or _are_labels_in_order(cells, labels)
    return _without_small(Slices(_distinct_names(labels), indices, is_in_order=is_in_order), notes)


def _rows_per_slice(every: Any) -> int | None:
    """Returns the number of rows of a slice; None where a period is asked for, or nothing."""
    if every is None or (isinstance(every, str) and every in PERIODS):
        return None
    if not isinstance(every, (int, np.integer)) or isinstance(every, bool):
        raise PERIODS.unknown(every)
    if every < FEWEST_ROWS:
        raise InputError("every", got=f"{every} rows", wanted=f"{FEWEST_ROWS} rows or more in each slice")
    return int(every)


def _as_series(column: Any, n_rows: int) -> Any:
    import pandas as pd

    if hasattr(column, "to_pandas"):
        column = column.to_pandas()
    try:
        cells = pd.Series(column).reset_index(drop=True)
    except (ValueError, TypeError) as error:
        raise InputError(
            "by", got=f"{type(column).__name__} ({error})", wanted="one entry for each row of current"
        ) from error
    if len(cells) != n_rows:
        raise InputError("by", got=f"{len(cells):,} entries", wanted=f"{n_rows:,}, one for each row of current")
    return cells


def _ranked(cells: Any) -> tuple[np.ndarray, list[str]]:
    """Returns the rank of each row's label, and the labels in order: of their categories, by size, or as text.

    Examples
    --------
    >>> import pandas as pd
    >>> _ranked(pd.Series(["run 10", "run 2", "run 10"]))[1]
    ['run 2', 'run 10']
    """
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        occurring = cells.cat.remove_unused_categories()
        return occurring.cat.codes.to_numpy(), [str(label) for label in occurring.cat.categories]
    codes, labels = pd.factorize(cells)
    is_number = cells.dtype.kind in "biuf"
    order = sorted(range(len(labels)), key=lambda i: labels[i] if is_number else _natural_key(str(labels[i])))
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    return rank[codes], [_label(labels[i]) for i in order]


def _are_labels_in_order(cells: Any, labels: list[str]) -> bool:
    """Returns True for ordered categories, for numbers, and for texts that all have a number inside."""
    if getattr(cells.dtype, "ordered", False) or cells.dtype.kind in "iuf":
        return True
    return all(any(map(str.isdecimal, label)) for label in labels)


def _natural_key(text: str) -> list[tuple[int, float, str]]:
    """Returns a sorting key by which "run 2" comes before "run 10"."""
    parts = ["".join(characters) for _, characters in groupby(text, str.isdecimal)]
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts]


def _label(value: Any) -> str:
    """Writes whole numbers without a decimal point: integers are floats where there are missing cells among them."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _by_count(order: np.ndarray, rows_per_slice: int, times: Any) -> Slices:
    """Slices rows in their order; the last slice also gets the rows that are left over."""
    n = len(order)
    starts = list(range(0, max(1, n - rows_per_slice + 1), rows_per_slice))
    if len(starts) > MOST_SLICES:
        raise InputError(
            "every",
            got=f"{rows_per_slice:,} rows, which makes {len(starts):,} slices",
            wanted=f"at most {MOST_SLICES}",
        )
    spans = list(zip(starts, [*starts[1:], n], strict=True))
    if times is None:
        names = [f"rows {start + 1:,} to {end:,}" for start, end in spans]
    else:
        names = _time_span_names([(times.iloc[start], times.iloc[end - 1]) for start, end in spans])
    return Slices(_distinct_names(names), tuple(order[start:end] for start, end in spans))


def _check_number(slices: int, every: Any) -> None:
    if slices > MOST_SLICES:
        argument, got = ("by", "distinct entries") if every is None else ("every", f"slices of a {every}")
        raise InputError(
            argument,
            got=f"{slices:,} {got}",
            wanted=f"at most {MOST_SLICES} slices",
            hint=[Set("every", "month"), " for dates", Or(), Set("every", 1000), " for slices of so many rows"],
        )


def _without_small(slices: Slices, notes: list[str]) -> Slices:
    """Leaves out the slices that have too few rows."""
    large = [i for i, rows in enumerate(slices.indices) if len(rows) >= FEWEST_ROWS]
    small = [slices.names[i] for i in range(len(slices.names)) if i not in large]
    if not large:
        raise InputError(
            "by", got=f"slices of fewer than {FEWEST_ROWS} rows", wanted=f"{FEWEST_ROWS} rows or more in some"
        )
    if small:
        names = ", ".join(map(repr, small[:3])) + (f" and {len(small) - 3} more" if len(small) > 3 else "")
        notes = [*notes, f"Slices of fewer than {FEWEST_ROWS} rows are left out: {names}."]
    return Slices(
        tuple(slices.names[i] for i in large),
        tuple(slices.indices[i] for i in large),
        tuple(notes),
        slices.is_in_order,
    )


def _distinct_names(names: list[str]) -> tuple[str, ...]:
    """Makes names that differ from each other, and from that of the reference."""
    distinct = ["reference"]
    for name in names:
        candidate = name.strip() or "(blank)"
        while candidate in distinct:
            candidate = f"{candidate} (slice)"
        distinct.append(candidate)
    return tuple(distinct[1:])


# --- periods of time


def as_times(cells: Any, *, is_asked: bool = False) -> Any:
    """Reads cells, none of them missing, as times without a time zone; returns None for cells that are no times.

    Text counts as times where all of it reads so. Categories keep their order, unless they are asked for as dates.

    Examples
    --------
    >>> import pandas as pd
    >>> as_times(pd.Series(["2024-05-31", "2024-06-01"])).dt.day.tolist(), as_times(pd.Series(["north", "south"]))
    ([31, 1], None)
    """
    import pandas as pd
    from pandas.api.types import is_datetime64_any_dtype

    if isinstance(cells.dtype, pd.CategoricalDtype):
        return as_times(cells.astype(cells.cat.categories.dtype)) if is_asked else None
    if is_datetime64_any_dtype(cells.dtype):
        return cells.dt.tz_localize(None) if getattr(cells.dtype, "tz", None) is not None else cells
    if isinstance(cells.dtype, pd.PeriodDtype):
        return cells.dt.to_timestamp()
    if cells.dtype.kind in "biufm":
        return None
    for is_utc in (False, True):  # offsets that change with the seasons can only be read as UTC
        try:
            return as_times(pd.to_datetime(cells, format="ISO8601", utc=is_utc))
        except (ValueError, TypeError):
            continue
    return None


def default_period(times: Any) -> str:
    """Chooses the finest period with few slices, most with enough rows; of periods with the same slices, the longest.

    Examples
    --------
    >>> import pandas as pd
    >>> default_period(pd.Series(pd.date_range("2024-01-01", periods=12, freq="MS").repeat(100)))
    'month'
    """
    are_dates = bool((times == times.dt.normalize()).all())
    counts = {
        name: times.dt.to_period(row.code).value_counts()
        for name, row in PERIODS.items()
        if not (are_dates and name == "hour")
    }
    suitable = [
        name
        for name, count in counts.items()
        if len(count) <= MOST_DEFAULT_SLICES and count.median() >= LEAST_MEDIAN_ROWS
    ]
    if not suitable:
        return "year"
    finest = suitable[0]
    number = len(counts[finest])
    return finest if number == 1 else [name for name in suitable if len(counts[name]) == number][-1]


def _period_name(period: Any) -> str:
    """Names a period by its beginning: weeks by their Monday."""
    return str(period.start_time.date()) if period.freqstr.startswith("W") else str(period)


def _time_span_names(spans: Sequence[tuple[Any, Any]]) -> list[str]:
    """Names spans of time by dates, or by dates and times where dates are not distinct."""
    for time_format in ("%Y-%m-%d", "%Y-%m-%d %H:%M"):
        names = [f"{first.strftime(time_format)} to {last.strftime(time_format)}" for first, last in spans]
        if len(set(names)) == len(names):
            break
    return names
