"""Dates among cells, and the periods that they are cut into."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clarysage.catalogue import PERIODS

GOOD = 30  # slices at most, where nothing is asked for
ENOUGH = 100  # rows of most slices, where nothing is asked for


def as_times(cells: Any, *, is_asked: bool = False) -> Any:
    """The cells, none of them missing, as times without a zone, where they are such, or texts that read so; else None.

    Categories keep the order that they have, unless they are asked for as dates.

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
    for is_mixed in (False, True):  # offsets that change with the seasons can only be read as times in Greenwich
        try:
            return as_times(pd.to_datetime(cells, format="ISO8601", utc=is_mixed))
        except (ValueError, TypeError):
            continue
    return None


def fitting(times: Any) -> str:
    """The finest period that makes few slices with enough rows in most; of those that make the same, the longest.

    Examples
    --------
    >>> import pandas as pd
    >>> fitting(pd.Series(pd.date_range("2024-01-01", periods=12, freq="MS").repeat(100)))
    'month'
    """
    is_dates = bool((times == times.dt.normalize()).all())
    counts = {
        name: times.dt.to_period(row.code).value_counts()
        for name, row in PERIODS.items()
        if not (is_dates and name == "hour")
    }
    good = [name for name, count in counts.items() if len(count) <= GOOD and count.median() >= ENOUGH]
    if not good:
        return "year"
    number = len(counts[good[0]])
    return good[0] if number == 1 else [name for name in good if len(counts[name]) == number][-1]


def name_of(period: Any) -> str:
    """A period by its beginning: weeks by their Monday."""
    return str(period.start_time.date()) if period.freqstr.startswith("W") else str(period)


def names_of_spans(ends: Sequence[tuple[Any, Any]]) -> list[str]:
    """Names of stretches of time, by days where these tell them apart."""
    for form in ("%Y-%m-%d", "%Y-%m-%d %H:%M"):
        names = [f"{first.strftime(form)} to {last.strftime(form)}" for first, last in ends]
        if len(set(names)) == len(names):
            break
    return names
