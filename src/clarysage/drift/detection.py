"""Compares the columns of two tables, one by one: a distance, a p-value, and hints about what changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage.drift.categorical import compare_categories
from clarysage.drift.column_samples import (
    NUMBERS,
    TEXT,
    ColumnSample,
    are_few_integers,
    missing_hint,
    missing_p,
    read_column,
    reads_as_numbers,
)
from clarysage.drift.numeric import compare_numbers
from clarysage.drift.two_sample_tests import bonferroni, hypergeometric_p
from clarysage.drift.wording import quoted
from clarysage.errors import Argument, InputError, Or, resembling
from clarysage.protocols import TableLike
from clarysage.results.finding import Shift
from clarysage.tables import as_table, container_of, labels_of
from clarysage.tables.cells import backend


def shifts(reference: TableLike, current: TableLike, columns: Sequence[str] | None = None) -> tuple[Shift, ...]:
    """Compares each column of the current rows with the same column of the reference.

    Parameters
    ----------
    reference, current
        Tables of any kind: arrays, pandas or polars frames, Arrow tables, not necessarily of the same kind.
    columns
        Which columns, by name, in that order; the names of all columns where a table has none. By default, those of the
        reference.

    Returns
    -------
    A :class:`~clarysage.results.finding.Shift` for each column. P-values are not adjusted for the number of columns: of
    many columns that did not change, at most one in twenty has a p-value below 0.05. Only columns with such p-values
    have hints.

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
    (of_current,) = shifts_of_each(reference, [current], columns)
    return of_current


def shifts_of_each(
    reference: Any, currents: Sequence[Any], columns: Sequence[str] | None = None
) -> tuple[tuple[Shift, ...], ...]:
    """Compares each of several tables, such as slices, with the reference, whose columns are read and sorted once."""
    reference = as_table(reference, "reference")
    currents = [as_table(current, "current") for current in currents]
    names = _column_names([reference, *currents], columns)
    read_reference = _column_reader(reference, names, "reference")
    read_currents = [_column_reader(current, names, "current") for current in currents]
    by_column = []
    for j, name in enumerate(names):
        sample = read_reference(j)
        by_column.append([_compare(name, sample, read_current(j)) for read_current in read_currents])
    return tuple(tuple(of_column[k] for of_column in by_column) for k in range(len(currents)))


def _column_reader(table: Any, names: tuple[str, ...], argument: str) -> Callable[[int], ColumnSample]:
    """Returns a function that reads the column with the j-th name."""
    indices, library = _column_indices(table, names, argument), backend(container_of(table))
    cells = library.split(table)
    return lambda j: read_column(cells[indices[j]], library, argument, names[j])


def _compare(name: str, reference: ColumnSample, current: ColumnSample) -> Shift:
    """Compares two samples as numbers, categories or cells of different types."""
    if not len(reference.present):
        reference = _missing_like(current, reference)
    if not len(current.present):
        current = _missing_like(reference, current)
    if reference.cell_type == current.cell_type and reference.is_boolean != current.is_boolean:
        # True is 1, as it is for models
        reference, current = replace(reference, is_boolean=False), replace(current, is_boolean=False)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers near the largest float overflow
        return _comparison(reference, current)(name, reference, current)


def _missing_like(other: ColumnSample, missing: ColumnSample) -> ColumnSample:
    """Returns a sample of missing cells as one of the other sample's type."""
    return ColumnSample(other.cell_type, missing.values, other.labels, other.is_categorical, other.is_boolean)


def _comparison(reference: ColumnSample, current: ColumnSample) -> Callable[[str, ColumnSample, ColumnSample], Shift]:
    """Chooses how two samples are compared."""
    samples = (reference, current)
    if reference.cell_type != current.cell_type and not any(sample.is_mixed for sample in samples):
        return _compare_types
    if TEXT in (reference.cell_type, current.cell_type):
        return compare_categories
    if reference.cell_type == NUMBERS == current.cell_type:
        is_categorical = any(sample.is_categorical for sample in samples) or are_few_integers(*samples)
        return compare_categories if is_categorical else compare_numbers
    return compare_numbers


def _compare_types(name: str, reference: ColumnSample, current: ColumnSample) -> Shift:
    """Compares cells of different types, such as text and numbers: no two present cells of both tables are equal."""
    present = len(reference.present), len(current.present)
    missing = reference.missing_share, current.missing_share
    p = hypergeometric_p(present[1], present[1], present[1], sum(present))
    return Shift(
        column=name,
        kind="categories",
        distance=1 - min(missing),
        p_value=bonferroni([p, *missing_p(reference, current)]),
        hints=(
            f"cells are {_type_name(current)} now, and {_type_name(reference)} in the reference",
            *missing_hint(reference, current),
        ),
        facts={"missing share": missing, "rows": (float(reference.rows), float(current.rows))},
    )


def _type_name(sample: ColumnSample) -> str:
    if sample.cell_type != TEXT:
        return "true or false" if sample.is_boolean else sample.cell_type
    example = quoted(max(sample.counts, key=lambda label: sample.counts[label]))
    return f"numbers written as text (such as {example})" if reads_as_numbers(sample) else f"text (such as {example})"


def _column_names(tables: Sequence[Any], columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is not None:
        names = tuple(map(str, columns))
        if isinstance(columns, str) or len(set(names)) < len(names):
            raise InputError("columns", got=f"{columns!r:.200}", wanted="distinct names of columns, in a list")
        return names
    labels = next((labels for labels in map(labels_of, tables) if labels is not None), None)
    width = tables[0].shape[1]
    return tuple(f"x{j}" for j in range(width)) if labels is None else tuple(map(str, labels))


def _column_indices(table: Any, names: tuple[str, ...], argument: str) -> list[int]:
    """Finds columns in a table by name; a table without names has one column for each name, in the same order."""
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
    index_of = {str(label): j for j, label in enumerate(labels)}
    for name in names:
        if name not in index_of:
            raise InputError(
                argument,
                got=f"a table without the column {name[:80]!r}",
                wanted="every column that is compared",
                hint=resembling(name, [column for column in index_of if column not in names])
                or [Argument("columns"), " with those that both tables have"],
            )
    return [index_of[name] for name in names]
