"""How columns differ between two tables: a distance, a p-value and hints in plain words, column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage.errors import Argument, InputError, Or, resembling
from clarysage.monitoring.shifts.categories import category_shift
from clarysage.monitoring.shifts.fewness import are_few
from clarysage.monitoring.shifts.numbers import number_shift
from clarysage.monitoring.shifts.reading import NUMBERS, TEXT, Cells, read_column
from clarysage.monitoring.shifts.retyped import retyped_shift
from clarysage.results.finding import Shift
from clarysage.tables import as_table, container_of, labels_of
from clarysage.tables.cells import backend


def shifts(reference: Any, current: Any, columns: Sequence[str] | None = None) -> tuple[Shift, ...]:
    """How the columns of the current rows differ from the reference's, one by one.

    Parameters
    ----------
    reference, current
        Tables of any kind: arrays, pandas or polars frames, Arrow tables, not necessarily of the same kind.
    columns
        Which columns, by name, in that order; the names of all columns where a table has none. By default, those of the
        reference.

    Returns
    -------
    A :class:`~clarysage.results.finding.Shift` for each column. P-values are each on its own: of many columns that
    did not change, one in twenty at most has a p-value below 0.05. Hints are for columns with such p-values.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> reference = pd.DataFrame({"duration": rng.exponential(4, 500), "month": rng.choice(["may", "jun"], 500)})
    >>> current = reference.sample(200, random_state=0).assign(duration=lambda rows: 60 * rows.duration)
    >>> duration, month = shifts(reference, current)
    >>> duration.hints
    ("values are about 60 times the reference's",)
    >>> month.hints
    ()
    """
    (found,) = shifts_of_each(reference, [current], columns)
    return found


def shifts_of_each(
    reference: Any, currents: Sequence[Any], columns: Sequence[str] | None = None
) -> tuple[tuple[Shift, ...], ...]:
    """The same for each of several tables, such as slices: a column of the reference is read and sorted but once."""
    before, afters = as_table(reference, "reference"), [as_table(one, "current") for one in currents]
    names = _names([before, *afters], columns)
    read, others = _reader(before, names, "reference"), [_reader(one, names, "current") for one in afters]
    found = []
    for j, name in enumerate(names):
        cells = read(j)
        found.append([_shift(name, cells, other(j)) for other in others])
    return tuple(tuple(row[k] for row in found) for k in range(len(afters)))


def _reader(table: Any, names: tuple[str, ...], argument: str) -> Callable[[int], Cells]:
    """What reads the column of the name at a place."""
    places, library = _places(table, names, argument), backend(container_of(table))
    cells = library.split(table)
    return lambda j: read_column(cells[places[j]], library, argument, names[j])


def _shift(name: str, reference: Cells, current: Cells) -> Shift:
    """By what the cells are; a side without any is of the other's sort."""
    if not len(reference.present):
        reference = Cells(current.sort, reference.values, current.labels, current.is_listed, current.is_boolean)
    if not len(current.present):
        current = Cells(reference.sort, current.values, reference.labels, reference.is_listed, reference.is_boolean)
    if reference.sort == current.sort and reference.is_boolean != current.is_boolean:  # True is 1, as for models
        reference, current = replace(reference, is_boolean=False), replace(current, is_boolean=False)
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers next to the largest there are
        return _kind(reference, current)(name, reference, current)


def _kind(reference: Cells, current: Cells) -> Callable[[str, Cells, Cells], Shift]:
    sides = (reference, current)
    if reference.sort != current.sort and not any(side.is_mixed for side in sides):
        return retyped_shift
    is_number = reference.sort == NUMBERS == current.sort
    if TEXT in (reference.sort, current.sort) or (is_number and any(side.is_listed for side in sides)):
        return category_shift
    return category_shift if is_number and are_few(*sides) else number_shift


def _names(tables: Sequence[Any], columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is not None:
        names = tuple(map(str, columns))
        if isinstance(columns, str) or len(set(names)) < len(names):
            raise InputError("columns", got=f"{columns!r:.200}", wanted="distinct names of columns, in a list")
        return names
    labels = next((labels for labels in map(labels_of, tables) if labels is not None), None)
    width = tables[0].shape[1]
    return tuple(f"x{place}" for place in range(width)) if labels is None else tuple(map(str, labels))


def _places(table: Any, names: tuple[str, ...], argument: str) -> list[int]:
    """Where the columns are in a table, by name if it has names, else in the order of the names."""
    labels = labels_of(table)
    if labels is None:
        if table.shape[1] != len(names):
            raise InputError(
                argument,
                got=f"an array of {table.shape[1]:,} columns",
                wanted=f"{len(names):,}, one for each name",
                hint=[Argument("columns"), " with a name for each", Or(), "tables with names"],
            )
        return list(range(len(names)))
    place = {str(label): j for j, label in enumerate(labels)}
    for name in names:
        if name not in place:
            known = resembling(name, place)
            raise InputError(
                argument,
                got=f"a table without the column {name[:80]!r}",
                wanted="every column that is looked at",
                hint=known or [Argument("columns"), " with those that both tables have"],
            )
    return [place[name] for name in names]
