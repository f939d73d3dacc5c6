"""Slices of the current rows: by batches, by periods of time, or by so many rows each, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from clarysage.catalogue import PERIODS
from clarysage.errors import InputError, Or, PythonOnly, Set
from clarysage.monitoring.sides import FEWEST
from clarysage.monitoring.times import as_times, fitting, name_of, names_of_spans

MOST = 60  # slices that a reader, and a correction for their number, can bear


@dataclass(frozen=True)
class Slices:
    """Names, rows (places) of each, what there is to say of rows that are left out, and whether one follows another."""

    names: tuple[str, ...]
    places: tuple[np.ndarray, ...]
    notes: tuple[str, ...] = ()
    is_in_order: bool = True


def sliced(column: Any, every: Any, n_rows: int) -> Slices:
    """The slices of n rows by a column with an entry a row, or by their order where there is none.

    Examples
    --------
    >>> found = sliced(["may"] * 30 + ["june"] * 20, None, 50)
    >>> found.names, [len(places) for places in found.places], found.is_in_order
    (('june', 'may'), [20, 30], False)
    """
    count = _count(every)
    if column is None:
        if count is None:
            raise InputError(
                "by", got=["None, with ", Set("every", every)], wanted="the column of dates that this is about"
            )
        return _by_count(np.arange(n_rows), count, None)
    cells = _as_series(column, n_rows)
    known = np.flatnonzero(cells.notna().to_numpy())
    if len(known) == 0:
        raise InputError("by", got="missing cells alone", wanted="dates or names of batches")
    missing = n_rows - len(known)
    notes = [f"{missing:,} rows of current have no slice and are left out."] if missing else []
    cells = cells.iloc[known].reset_index(drop=True)
    times = as_times(cells, is_asked=isinstance(every, str))
    if times is None and isinstance(every, str):
        raise InputError(
            "every",
            got=f"{every!r} for a column that holds no dates",
            wanted="dates, such as 2024-05-31",
            hint=PythonOnly("pd.to_datetime(..., dayfirst=True) of it first, if it holds dates such as 31.12.2025"),
        )
    if count is not None:
        order = np.argsort(_ranked(cells)[0] if times is None else times.to_numpy(), kind="stable")
        return _checked(_by_count(known[order], count, None if times is None else times.iloc[order]), notes)
    if times is not None:
        cells = times.dt.to_period(PERIODS[every or fitting(times)].code).map(name_of)
    ranks, labels = _ranked(cells)
    _check_number(len(labels), every)
    parts = tuple(known[ranks == i] for i in range(len(labels)))
    is_in_order = times is not None or _is_in_order(cells, labels)
    return _checked(Slices(_distinct(labels), parts, is_in_order=is_in_order), notes)


def _count(every: Any) -> int | None:
    """The number of rows a slice, None where a period is asked for, or nothing."""
    if every is None or (isinstance(every, str) and every in PERIODS):
        return None
    if not isinstance(every, (int, np.integer)) or isinstance(every, bool):
        raise PERIODS.unknown(every)
    if every < FEWEST:
        raise InputError("every", got=f"{every} rows", wanted=f"{FEWEST} rows or more a slice")
    return int(every)


def _as_series(column: Any, n_rows: int) -> Any:
    import pandas as pd

    if hasattr(column, "to_pandas"):
        column = column.to_pandas()
    try:
        cells = pd.Series(column).reset_index(drop=True)
    except (ValueError, TypeError) as error:
        raise InputError("by", got=f"{type(column).__name__} ({error})", wanted="one entry a row of current") from error
    if len(cells) != n_rows:
        raise InputError("by", got=f"{len(cells):,} entries", wanted=f"{n_rows:,}, one for each row of current")
    return cells


def _ranked(cells: Any) -> tuple[np.ndarray, list[str]]:
    """For each row the place of its label, and the labels in their order: as categories say, by size, or as text.

    Examples
    --------
    >>> import pandas as pd
    >>> _ranked(pd.Series(["run 10", "run 2", "run 10"]))[1]
    ['run 2', 'run 10']
    """
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        tidy = cells.cat.remove_unused_categories()
        return tidy.cat.codes.to_numpy(), [str(label) for label in tidy.cat.categories]
    codes, labels = pd.factorize(cells)
    is_number = cells.dtype.kind in "biuf"
    order = sorted(range(len(labels)), key=lambda i: labels[i] if is_number else _by_numbers_inside(str(labels[i])))
    place = np.empty(len(order), dtype=int)
    place[order] = np.arange(len(order))
    return place[codes], [_label(labels[i]) for i in order]


def _is_in_order(cells: Any, labels: list[str]) -> bool:
    """Whether labels follow one another: ordered categories, numbers, or texts that each have a number inside."""
    if getattr(cells.dtype, "ordered", False) or cells.dtype.kind in "iuf":
        return True
    return all(any(map(str.isdecimal, label)) for label in labels)


def _by_numbers_inside(text: str) -> list[tuple[int, float, str]]:
    """A key by which "run 2" comes before "run 10"."""
    parts = ["".join(run) for _, run in groupby(text, str.isdecimal)]
    return [(0, float(part), "") if part.isdecimal() else (1, 0.0, part) for part in parts]


def _label(value: Any) -> str:
    """Whole numbers without a point: integers with missing cells among them come as floats."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _by_count(order: np.ndarray, count: int, times: Any) -> Slices:
    """Rows in their order, so many in each slice; what is left over goes to the last."""
    n = len(order)
    starts = list(range(0, max(1, n - count + 1), count))
    if len(starts) > MOST:
        raise InputError("every", got=f"{count:,} rows, which makes {len(starts):,} slices", wanted=f"at most {MOST}")
    spans = list(zip(starts, [*starts[1:], n], strict=True))
    if times is None:
        names = [f"rows {a + 1:,} to {b:,}" for a, b in spans]
    else:
        names = names_of_spans([(times.iloc[a], times.iloc[b - 1]) for a, b in spans])
    return Slices(_distinct(names), tuple(order[a:b] for a, b in spans))


def _check_number(slices: int, every: Any) -> None:
    if slices > MOST:
        argument, how = ("by", "distinct entries") if every is None else ("every", f"slices of a {every}")
        raise InputError(
            argument,
            got=f"{slices:,} {how}",
            wanted=f"at most {MOST} slices",
            hint=[Set("every", "month"), " for dates", Or(), Set("every", 1000), " for slices of so many rows"],
        )


def _checked(found: Slices, notes: list[str]) -> Slices:
    """The slices that have enough rows."""
    kept = [i for i, places in enumerate(found.places) if len(places) >= FEWEST]
    few = [found.names[i] for i in range(len(found.names)) if i not in kept]
    if not kept:
        raise InputError("by", got=f"slices of fewer than {FEWEST} rows", wanted=f"{FEWEST} rows or more in some")
    if few:
        which = ", ".join(map(repr, few[:3])) + (f" and {len(few) - 3} more" if len(few) > 3 else "")
        notes = [*notes, f"Slices of fewer than {FEWEST} rows are left out: {which}."]
    names, places = tuple(found.names[i] for i in kept), tuple(found.places[i] for i in kept)
    return Slices(names, places, tuple(notes), found.is_in_order)


def _distinct(names: list[str]) -> tuple[str, ...]:
    """Names that differ from each other, and from that of the reference."""
    seen = {"reference"}
    found = []
    for name in names:
        own = name.strip() or "(blank)"
        while own in seen:
            own = f"{own} (slice)"
        seen.add(own)
        found.append(own)
    return tuple(found)
