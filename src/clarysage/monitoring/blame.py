"""Errors on some of the rows that say which, and what is new in their columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from clarysage.drift.wording import quoted
from clarysage.errors import InputError, RunFailedError
from clarysage.monitoring.sides import Side
from clarysage.results import Shift
from clarysage.tables import schema_of
from clarysage.tables.target import WITHOUT_THEM

OF_ROWS = ("model", "X", "y", "X or background", "X and background", "background and X")  # what such errors name
SHOWN = 80  # letters of a column's name


@contextmanager
def blaming(name: str, side: Side, reference: Any, moved: tuple[Shift, ...]) -> Iterator[None]:
    """Adds to an error of rows what they are called, and what is new in them beside the reference."""
    try:
        yield
    except InputError as error:
        if error.argument not in OF_ROWS:
            raise
        raise _blamed(error, name, side, reference, moved) from error
    except RunFailedError as error:
        cause = error.__cause__
        if not isinstance(cause, InputError) or cause.argument not in OF_ROWS:
            raise
        blamed = _blamed(cause, name, side, reference, moved)
        blamed.__cause__ = cause
        raise RunFailedError.after(blamed, error.partial) from blamed


def _blamed(error: InputError, name: str, side: Side, reference: Any, moved: tuple[Shift, ...]) -> InputError:
    if error.argument == "y":
        return _of_responses(error, name, side)
    why = new_labels(reference, side.X) or _strongest(moved)
    parts = {**error.parts, "got": (*error.got, f" ({_within(name)}{why and '; '}{why})")}
    return type(error)(error.argument, **parts)


def _within(name: str) -> str:
    return f"in {name}" if name.startswith("rows ") else f"in {name} rows"  # slices by count are called by their rows


def _of_responses(error: InputError, name: str, side: Side) -> InputError:
    """The error, with the column that the responses are from."""
    parts, where = dict(error.parts), _within(name)
    if side.target is None:
        return type(error)("y", **{**parts, "got": (*error.got, f" ({where})")})
    parts["got"] = (*error.got, f" ({where}, column {side.target[:SHOWN]!r})")
    if error.hint == WITHOUT_THEM:
        parts["hint"] = "dropping those rows, of which it may not be known yet"
    return type(error)("target", **parts)


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
