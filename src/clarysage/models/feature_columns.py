"""Chooses which columns of a table are the features of a model, for tables in memory, on disk and in files alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from clarysage.errors import InputError, resembling


def feature_columns(
    columns: Sequence[str], fitted: Sequence[str] | None, apart: Collection[str], *, argument: str, table: str
) -> list[str]:
    """The columns that a model was fitted on, in its order; where it does not say, all that are for nothing else.

    Parameters
    ----------
    columns : of the table
    fitted : the model's names of its features, None where it has none
    apart : columns that are for something else, such as the target
    argument, table : what errors call the argument and the table

    Examples
    --------
    >>> feature_columns(["y", "b", "a b"], ["a_b", "b"], ["y"], argument="X", table="X")
    ['a b', 'b']
    >>> feature_columns(["y", "b", "a"], None, ["y"], argument="X", table="X")
    ['b', 'a']
    """
    if fitted is None:
        found = [column for column in columns if column not in apart]
    else:
        found = [_column_of(name, columns, argument, table) for name in fitted]
    if not found:
        raise InputError(argument, got=f"{table} with no column that is a feature", wanted="features")
    return found


def _column_of(name: str, columns: Sequence[str], argument: str, table: str) -> str:
    """The column that a feature is; LightGBM spells blanks and signs in names as underscores."""
    if name in columns:
        return name
    alike = [column for column in columns if re.sub(r"\W", "_", column) == re.sub(r"\W", "_", name)]
    if len(alike) == 1:
        return alike[0]
    raise InputError(
        argument,
        got=f"{table} without the column {name!r}, which the model was fitted on",
        wanted="the model's columns, in any order",
        hint=resembling(name, columns),
    )
