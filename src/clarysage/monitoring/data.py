"""Reference and current rows with their responses and weights; errors that say which of the rows they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._utils.display import quoted_names, shortened
from clarysage.drift.wording import quoted
from clarysage.errors import Argument, InputError, PythonOnly, RunFailedError, resembling
from clarysage.models import Predictor
from clarysage.models.predictor import feature_columns
from clarysage.results import Shift
from clarysage.tables import as_table, check_order, in_memory, labels_of, rows_of, schema_of, select_columns
from clarysage.tables.cells import backend
from clarysage.tables.target import WITHOUT_THEM

LONGEST_NAME = 40  # characters of a column's name in a note
LONGEST_NAME_IN_ERROR = 80
FEWEST_ROWS = 20  # of the reference and of a slice: with fewer, tests have little power and are not accurate
ARGUMENTS_OF_ROWS = ("model", "X", "y", "X or background", "X and background", "background and X")  # of errors


@dataclass(frozen=True)
class RowSet:
    """The rows of the reference, of the current table, or of a slice of it.

    Attributes
    ----------
    X : features
    y, weights : responses and sample weights; None where there are none
    slice_labels : the column that says which slice each row belongs to; None where there is none
    target : the column that responses were taken from; None where they were passed on their own
    """

    X: Any
    y: Any
    weights: Any
    slice_labels: Any = None
    target: str | None = None

    def take(self, indices: Any) -> RowSet:
        """Returns some of the rows."""
        return RowSet(
            rows_of(self.X, indices),
            _take(self.y, indices),
            _take(self.weights, indices),
            _take(self.slice_labels, indices),
            self.target,
        )


def _take(column: Any, indices: Any) -> Any:
    if column is None:
        return None
    return column.iloc[indices] if hasattr(column, "iloc") else backend("numpy").adopt(column)[indices]


@dataclass(frozen=True)
class ColumnRoles:
    """Columns that are not features: the target, weights, and labels of slices."""

    target: Any
    sample_weight: Any
    by: Any

    def split(self, reference: Any, current: Any, f: Predictor) -> tuple[RowSet, RowSet]:
        """Returns reference and current rows, with the same features in the same order."""
        reference, current = in_memory(reference, "reference"), in_memory(current, "current")
        self._check_target(reference, current)
        before = self._row_set(reference, "reference", f, None)
        after = self._row_set(current, "current", f, self.by)
        if (before.y is None) != (after.y is None):
            labelled, unlabelled = ("reference", "current") if after.y is None else ("current", "reference")
            raise InputError(
                unlabelled,
                got=["no responses, which ", Argument(labelled), " has"],
                wanted="responses in both, or in neither",
                hint=PythonOnly("target=None, with tables, to see what features do to the output"),
            )
        return before, replace(after, X=_with_same_features(before.X, after.X))

    def _check_target(self, reference: Any, current: Any) -> None:
        """Raises an error where only one of two tables has responses."""
        if self.target is None or isinstance(reference, tuple) or isinstance(current, tuple):
            return
        labels = [labels_of(as_table(table, name)) for table, name in ((reference, "reference"), (current, "current"))]
        has_target = [str(self.target) in map(str, table_labels or ()) for table_labels in labels]
        if all(has_target) or not any(has_target) or None in labels:
            return
        labelled, unlabelled = ("reference", "current") if has_target[0] else ("current", "reference")
        raise InputError(
            "target",
            got=[f"{self.target!r}, which is no column of ", Argument(unlabelled)],
            wanted="responses in both tables",
            hint=PythonOnly(
                f"target=None where they are not known yet, and {labelled} without {self.target!r}: what features do "
                "to the output is compared then"
            ),
        )

    def _row_set(self, data: Any, argument: str, f: Predictor, by: Any) -> RowSet:
        """Reads a table with all of its columns, or a tuple (X, y) or (X, y, weights)."""
        if isinstance(data, tuple):
            rows = self._of_tuple(data, argument, by)
        else:
            table = as_table(data, argument)
            has_names = labels_of(table) is not None
            rows = self._of_frame(table, argument, f, by) if has_names else self._of_array(table, argument, by)
        _check_rows(rows, argument)
        return rows

    def _of_frame(self, table: Any, argument: str, f: Predictor, by: Any) -> RowSet:
        names = {str(label): label for label in labels_of(table) or ()}
        y = _column(table, names, self.target, "target", argument)
        weights = _column(table, names, self.sample_weight, "sample_weight", argument)
        slice_labels = _column(table, names, by, "by", argument) if isinstance(by, str) else by
        no_features = {str(column) for column in (self.target, self.sample_weight) if column is not None}
        no_features |= {self.by} if isinstance(self.by, str) else set()
        target = None if self.target is None else str(self.target)
        return RowSet(_features(table, names, no_features, f, argument), y, weights, slice_labels, target)

    def _of_tuple(self, data: tuple[Any, ...], argument: str, by: Any) -> RowSet:
        if len(data) not in (2, 3):
            raise InputError(argument, got=f"a tuple of {len(data)}", wanted="(X, y) or (X, y, weights), or a table")
        for option, column in (("target", self.target), ("sample_weight", self.sample_weight)):
            if column is not None:
                raise InputError(option, got=f"{column!r} together with {argument}=(X, y)", wanted="one of the two")
        if isinstance(by, str):
            raise InputError(
                "by", got=f"{by!r} together with {argument}=(X, y)", wanted="one entry for each row of current"
            )
        X, y, *weights = data
        for values in (y, *weights, by):
            check_order(values, X, argument, argument)
        return RowSet(as_table(X, argument), y, weights[0] if weights else None, by)

    def _of_array(self, table: Any, argument: str, by: Any) -> RowSet:
        names = {"target": self.target, "sample_weight": self.sample_weight, "by": by if isinstance(by, str) else None}
        for option, column in names.items():
            if column is not None:
                raise InputError(
                    option,
                    got=f"{column!r}, while {argument} is an array, whose columns have no names",
                    wanted=f"a data frame, or {argument}=(X, y)",
                )
        return RowSet(table, None, None, by)


def _column(table: Any, names: dict[str, Any], column: Any, option: str, argument: str) -> Any:
    if column is None:
        return None
    if str(column) not in names:
        raise InputError(
            option,
            got=[f"{column!r}, which is no column of ", Argument(argument)],
            wanted=f"one of {quoted_names(list(names))}",
            hint=resembling(str(column), names),
        )
    return table[names[str(column)]]


def _features(table: Any, names: dict[str, Any], no_features: set[str], f: Predictor, argument: str) -> Any:
    """Selects the model's features, in the order of the table; all possible ones where the table lacks one of them."""
    fitted = f.feature_names if all(name in names for name in f.feature_names or ()) else None
    features = set(feature_columns(list(names), fitted, no_features, argument=argument, table="a table"))
    if len(features) == len(names):
        return table
    return select_columns(table, [names[name] for name in names if name in features])


def features_note(X: Any, f: Predictor) -> list[str]:
    """Returns a note on which columns are taken as features, where the model does not say."""
    labels = labels_of(X)
    if f.feature_names is not None or labels is None:
        return []
    features = quoted_names([shortened(str(label), LONGEST_NAME) for label in labels])
    return [f"{f.name} does not say which columns it was fitted on; used as features: {features}."]


def select_columns_of(X: Any, table: Any) -> Any:
    """Selects the columns of X, without others such as the target; a table that lacks some of them stays as it is."""
    features, labels = labels_of(X), labels_of(table)
    if features is None or labels is None:
        return table
    label_of = {str(label): label for label in labels}
    selected = [label_of[str(feature)] for feature in features if str(feature) in label_of]
    return select_columns(table, selected) if len(selected) == len(features) < len(labels) else table


def _with_same_features(reference: Any, current: Any) -> Any:
    """Arranges the current features in the order of the reference; raises an error where they are not the same."""
    reference_labels, current_labels = labels_of(reference), labels_of(current)
    if reference_labels is None or current_labels is None:
        if reference.shape[1] != current.shape[1]:
            raise InputError(
                "current",
                got=f"{current.shape[1]:,} columns",
                wanted=[f"{reference.shape[1]:,}, as ", Argument("reference"), " has"],
            )
        return current
    before, after = ({str(label): label for label in labels} for labels in (reference_labels, current_labels))
    for names, others, argument, other in (
        (before, after, "current", "reference"),
        (after, before, "reference", "current"),
    ):
        missing = [name for name in names if name not in others]
        if missing:
            raise InputError(
                argument,
                got=[f"no {quoted_names(missing)}, which ", Argument(other), " has"],
                wanted="the same features",
                hint=resembling(missing[0], [name for name in others if name not in names]),
            )
    return current if list(before) == list(after) else select_columns(current, [after[name] for name in before])


def _check_rows(rows: RowSet, argument: str) -> None:
    """Raises an error where there are few rows, or not one response and one weight for each of them."""
    n = len(rows.X)
    if n < FEWEST_ROWS:
        raise InputError(argument, got=f"{n} row{'s' * (n != 1)}", wanted=f"{FEWEST_ROWS} rows or more")
    for noun, column in (("responses", rows.y), ("weights", rows.weights)):
        if column is not None and (not hasattr(column, "__len__") or len(column) != n):
            got = f"{len(column):,} {noun}" if hasattr(column, "__len__") else type(column).__name__
            raise InputError(argument, got=f"{n:,} rows and {got}", wanted=f"{noun}, one for each row")


# --- errors that say which rows they are of


@contextmanager
def errors_in(name: str, rows: RowSet, reference: Any, shifts: tuple[Shift, ...]) -> Iterator[None]:
    """Adds to errors about rows the name of the slice, and what is new in its columns compared with the reference."""
    try:
        yield
    except InputError as error:
        if error.argument not in ARGUMENTS_OF_ROWS:
            raise
        raise _with_context(error, name, rows, reference, shifts) from error
    except RunFailedError as error:
        cause = error.__cause__
        if not isinstance(cause, InputError) or cause.argument not in ARGUMENTS_OF_ROWS:
            raise
        explained = _with_context(cause, name, rows, reference, shifts)
        explained.__cause__ = cause
        raise RunFailedError.after(explained, error.partial) from explained


def _with_context(error: InputError, name: str, rows: RowSet, reference: Any, shifts: tuple[Shift, ...]) -> InputError:
    where = f"in {name}" if name.startswith("rows ") else f"in {name} rows"  # slices by count are "rows 1 to 100"
    if error.argument == "y":
        return _with_target(error, rows, where)
    reason = new_labels(reference, rows.X) or _strongest_hint(shifts)
    parts = {**error.parts, "got": (*error.got, f" ({where}{reason and '; '}{reason})")}
    return type(error)(error.argument, **parts)


def _with_target(error: InputError, rows: RowSet, where: str) -> InputError:
    """Adds the column that the responses were taken from."""
    parts = dict(error.parts)
    if rows.target is None:
        return type(error)("y", **{**parts, "got": (*error.got, f" ({where})")})
    parts["got"] = (*error.got, f" ({where}, column {rows.target[:LONGEST_NAME_IN_ERROR]!r})")
    if error.hint == WITHOUT_THEM:
        parts["hint"] = "dropping those rows, whose responses may not be known yet"
    return type(error)("target", **parts)


def new_labels(reference: Any, current: Any) -> str:
    """Names the first column with labels that the reference does not have; returns "" where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> print(new_labels(pd.DataFrame({"colour": ["red", "blue"]}), pd.DataFrame({"colour": ["red", "green"]})))
    'colour' has values that the reference does not have, such as 'green'
    """
    try:
        schema = schema_of(reference, current, argument="current")
        before, after = schema.encode(reference, "reference"), schema.encode(current, "current")
    except InputError:  # the columns are of different types, which hints say
        return ""
    for j in np.flatnonzero(~schema.is_number):
        new = np.setdiff1d(after[~np.isnan(after[:, j]), j], before[:, j])
        if len(new):
            name, label = schema.names[j][:LONGEST_NAME_IN_ERROR], str(next(iter(schema.columns[j].decode(new[:1]))))
            return f"{name!r} has values that the reference does not have, such as {quoted(label)}"
    return ""


def _strongest_hint(shifts: tuple[Shift, ...]) -> str:
    strongest = min(shifts, key=lambda shift: (shift.p_value, -shift.distance), default=None)
    if strongest is None or not strongest.hints:
        return ""
    return f"in {strongest.column[:LONGEST_NAME_IN_ERROR]!r} {strongest.hints[0]}"
