"""Errors on some of the rows that say which, and what is new in their columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.explanation import Shift
from clarysage.monitoring.shifts.wording import quoted
from clarysage.tables import schema_of

OF_ROWS = ("model", "X", "y", "X or background", "X and background", "background and X")  # what such errors name
SHOWN = 80  # letters of a column's name


@contextmanager
def blaming(name: str, X: Any, reference: Any, moved: tuple[Shift, ...]) -> Iterator[None]:
    """Adds to an error of rows X what they are called, and what is new in them beside the reference."""
    try:
        yield
    except InputError as error:
        if error.argument not in OF_ROWS:
            raise
        why = "" if error.argument == "y" else new_labels(reference, X) or _strongest(moved)
        parts = {**error.parts, "got": f"{error.parts['got']} (in {name} rows{why and '; '}{why})"}
        raise type(error)(error.argument, **parts) from error


def new_labels(reference: Any, current: Any) -> str:
    """The first column with labels that the reference does not have; empty where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> print(new_labels(pd.DataFrame({"colour": ["red", "blue"]}), pd.DataFrame({"colour": ["red", "green"]})))
    'colour' has values that the reference has not, such as 'green'
    """
    try:
        schema = schema_of(reference, current, argument="current")
        before, after = schema.encode(reference, "reference"), schema.encode(current, "current")
    except InputError:  # columns of another kind, of which hints tell
        return ""
    for j in np.flatnonzero(~schema.is_number):
        new = np.setdiff1d(after[~np.isnan(after[:, j]), j], before[:, j])
        if len(new):
            label = quoted(str(next(iter(schema.columns[j].decode(new[:1])))))
            return f"{schema.names[j][:SHOWN]!r} has values that the reference has not, such as {label}"
    return ""


def _strongest(moved: tuple[Shift, ...]) -> str:
    worst = min(moved, key=lambda one: (one.p_value, -one.distance), default=None)
    return f"in {worst.column[:SHOWN]!r} {worst.hints[0]}" if worst is not None and worst.hints else ""
