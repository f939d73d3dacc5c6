"""A side of the comparison: the rows of a table, their responses and weights, by the names of columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from clarysage._utils.display import listed, shortened
from clarysage.errors import Argument, InputError, PythonOnly, resembling
from clarysage.models import Predictor
from clarysage.models.predictor import feature_columns
from clarysage.tables import as_table, labels_of, rows_of, select
from clarysage.tables.cells import backend

LONGEST = 40  # letters of such a name in a note
FEWEST = 20  # rows of a side, and of a slice: with fewer, tests neither find much nor keep what they promise


@dataclass(frozen=True)
class Side:
    """Rows of features, with responses and weights where there are such; and the column that says which slice.

    ``target`` is the column that responses are from, None where they came on their own.
    """

    X: Any
    y: Any
    weights: Any
    slices: Any = None
    target: str | None = None

    def rows(self, places: Any) -> Side:
        """The same, of some rows."""
        X = rows_of(self.X, places)
        return Side(X, _rows(self.y, places), _rows(self.weights, places), _rows(self.slices, places), self.target)


@dataclass(frozen=True)
class Layout:
    """What columns are for, by their names."""

    target: Any
    sample_weight: Any
    by: Any

    def sides(self, reference: Any, current: Any, f: Predictor) -> tuple[Side, Side]:
        """Both sides, with the same features in the same order."""
        self._check_target(reference, current)
        before = self._side(reference, "reference", f, None)
        after = self._side(current, "current", f, self.by)
        if (before.y is None) != (after.y is None):
            known, unknown = ("reference", "current") if after.y is None else ("current", "reference")
            raise InputError(
                unknown,
                got=["no responses, which ", Argument(known), " has"],
                wanted="responses in both, or in neither",
                hint=PythonOnly("target=None, with tables, to see what features do to the output"),
            )
        return before, replace(after, X=_arranged(before.X, after.X))

    def _check_target(self, reference: Any, current: Any) -> None:
        """An error where one of two tables has responses and the other has not."""
        if self.target is None or isinstance(reference, tuple) or isinstance(current, tuple):
            return
        labels = [labels_of(as_table(given, name)) for given, name in ((reference, "reference"), (current, "current"))]
        has = [str(self.target) in map(str, one or ()) for one in labels]
        if all(has) or not any(has) or None in labels:
            return
        known, unknown = ("reference", "current") if has[0] else ("current", "reference")
        raise InputError(
            "target",
            got=[f"{self.target!r}, which is no column of ", Argument(unknown)],
            wanted="responses in both tables",
            hint=PythonOnly(
                f"target=None where they are not known yet, and {known} without {self.target!r}: what features do to "
                "the output is compared then"
            ),
        )

    def _side(self, given: Any, argument: str, f: Predictor, by: Any) -> Side:
        """Of a table with all of its columns, or of a pair (X, y) or (X, y, weights)."""
        if isinstance(given, tuple):
            side = self._of_parts(given, argument, by)
        else:
            table = as_table(given, argument)
            has_names = labels_of(table) is not None
            side = self._of_table(table, argument, f, by) if has_names else self._of_array(table, argument, by)
        _check_rows(side, argument)
        return side

    def _of_table(self, table: Any, argument: str, f: Predictor, by: Any) -> Side:
        names = {str(label): label for label in labels_of(table) or ()}
        y, weights = (
            _column(table, names, column, word, argument)
            for word, column in (("target", self.target), ("sample_weight", self.sample_weight))
        )
        slices = _column(table, names, by, "by", argument) if isinstance(by, str) else by
        apart = {str(one) for one in (self.target, self.sample_weight) if one is not None}
        apart |= {self.by} if isinstance(self.by, str) else set()
        target = None if self.target is None else str(self.target)
        return Side(_features(table, names, apart, f, argument), y, weights, slices, target)

    def _of_parts(self, given: tuple[Any, ...], argument: str, by: Any) -> Side:
        if len(given) not in (2, 3):
            raise InputError(argument, got=f"a tuple of {len(given)}", wanted="(X, y) or (X, y, weights), or a table")
        for word, column in (("target", self.target), ("sample_weight", self.sample_weight)):
            if column is not None:
                raise InputError(word, got=f"{column!r} beside {argument}=(X, y)", wanted="one of the two")
        if isinstance(by, str):
            raise InputError("by", got=f"{by!r} beside {argument}=(X, y)", wanted="one entry a row of current")
        X, y, *weights = given
        return Side(as_table(X, argument), y, weights[0] if weights else None, by)

    def _of_array(self, table: Any, argument: str, by: Any) -> Side:
        named = {"target": self.target, "sample_weight": self.sample_weight, "by": by if isinstance(by, str) else None}
        for word, column in named.items():
            if column is not None:
                raise InputError(
                    word,
                    got=f"{column!r}, while {argument} is an array, whose columns have no names",
                    wanted=f"a data frame, or {argument}=(X, y)",
                )
        return Side(table, None, None, by)


def _column(table: Any, names: dict[str, Any], column: Any, word: str, argument: str) -> Any:
    if column is None:
        return None
    if str(column) not in names:
        raise InputError(
            word,
            got=[f"{column!r}, which is no column of ", Argument(argument)],
            wanted=f"one of {listed(list(names))}",
            hint=resembling(str(column), names),
        )
    return table[names[str(column)]]


def _features(table: Any, names: dict[str, Any], apart: set[str], f: Predictor, argument: str) -> Any:
    """The features in the order of the table; all that are for nothing else where it lacks one of the model."""
    fitted = f.feature_names if all(name in names for name in f.feature_names or ()) else None
    kept = set(feature_columns(list(names), fitted, apart, argument=argument, table="a table"))
    return table if len(kept) == len(names) else select(table, [names[name] for name in names if name in kept])


def features_taken(X: Any, f: Predictor) -> list[str]:
    """A note on which columns were taken for features, where the model does not say."""
    labels = labels_of(X)
    if f.feature_names is not None or labels is None:
        return []
    which = listed([shortened(str(label), LONGEST) for label in labels])
    return [f"{f.name} does not say which columns it was fitted on; taken as features: {which}."]


def with_columns_of(X: Any, table: Any) -> Any:
    """A table without the columns that X does not have, such as the response; as it is where it lacks some of X's."""
    wanted, own = labels_of(X), labels_of(table)
    if wanted is None or own is None:
        return table
    place = {str(label): label for label in own}
    kept = [place[str(label)] for label in wanted if str(label) in place]
    return select(table, kept) if len(kept) == len(wanted) < len(own) else table


def _rows(column: Any, places: Any) -> Any:
    if column is None:
        return None
    return column.iloc[places] if hasattr(column, "iloc") else backend("numpy").adopt(column)[places]


def _check_rows(side: Side, argument: str) -> None:
    """An error where there are few rows, or not as many responses or weights as rows."""
    n = len(side.X)
    if n < FEWEST:
        raise InputError(argument, got=f"{n} row{'s' * (n != 1)}", wanted=f"{FEWEST} rows or more")
    for what, column in (("responses", side.y), ("weights", side.weights)):
        if column is not None and (not hasattr(column, "__len__") or len(column) != n):
            got = f"{len(column):,} {what}" if hasattr(column, "__len__") else type(column).__name__
            raise InputError(argument, got=f"{n:,} rows and {got}", wanted=f"{what}, one for each row")


def _arranged(reference: Any, current: Any) -> Any:
    """The current features in the order of the reference; an error where they are not the same."""
    mine, theirs = labels_of(reference), labels_of(current)
    if mine is None or theirs is None:
        if reference.shape[1] != current.shape[1]:
            raise InputError(
                "current",
                got=f"{current.shape[1]:,} columns",
                wanted=[f"{reference.shape[1]:,}, as ", Argument("reference"), " has"],
            )
        return current
    before, after = ({str(label): label for label in labels} for labels in (mine, theirs))
    for names, others, argument, other in (
        (before, after, "current", "reference"),
        (after, before, "reference", "current"),
    ):
        missing = [name for name in names if name not in others]
        if missing:
            raise InputError(
                argument,
                got=[f"no {listed(missing)}, which ", Argument(other), " has"],
                wanted="the same features",
                hint=resembling(missing[0], others),
            )
    return current if list(before) == list(after) else select(current, [after[name] for name in before])
