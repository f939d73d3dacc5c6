"""The examples of a run: a simple random sample of the rows of X, with y and weights that may be columns of X."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from clarysage._utils.display import quoted_names
from clarysage.errors import InputError, Note, Set, Words, resembling
from clarysage.models import Predictor
from clarysage.models.predictor import feature_columns
from clarysage.tables import (
    OnDiskTable,
    about_conversion,
    as_table,
    check_order,
    container_of,
    in_memory,
    is_on_disk,
    labels_of,
    open_on_disk,
    rows_of,
    select_columns,
)
from clarysage.tables.on_disk import from_table
from clarysage.tables.target import given_weights, read_target

MEMORY_LIMIT = 1e9  # bytes, by default
ROWS_OF_STORED = 100_000  # at most, from a table on disk
FEWEST_ROWS = 100  # a memory limit that holds fewer rows is an error
COPIES_OF_ROW = 8  # copies of an example in memory during a run: as read, in the model's table, as codes, contributions


@dataclass(frozen=True)
class Examples:
    """Examples in memory, with their responses and weights.

    Attributes
    ----------
    X, y, sample_weight : the sampled rows, their responses and their weights
    target_columns : names of the columns of X that were its responses and weights
    source_rows : the number of rows that were sampled from, None if all were taken
    about_table : notes if X was converted to another kind of table, and if columns were left out
    """

    X: Any
    y: Any
    sample_weight: Any
    target_columns: tuple[str, ...] = ()
    source_rows: int | None = None
    about_table: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        f: Predictor,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        max_rows: int | None,
        memory_limit: float | None,
        rng: np.random.Generator,
    ) -> Examples:
        """Makes examples from the arguments of a measure, where X is a table or the path of one on disk."""
        limit = MEMORY_LIMIT if memory_limit is None else memory_limit
        X = from_table(X) if max_rows is None and _is_too_large(X, limit) else X
        if is_on_disk(X):
            return _from_stored(f, open_on_disk(X, "X"), y, sample_weight, max_rows, limit, rng)
        _check_order(X, y, sample_weight)
        table = as_table(X, "X")
        examples = _from_memory(f, table, y, sample_weight, max_rows, rng)
        features, about_columns = f.known_columns(examples.X, "X")
        return replace(examples, X=features, about_table=(*about_conversion(X, table, "X"), *about_columns))

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes if X was converted to another kind of table, and if columns were left out or rows sampled."""
        if self.source_rows is None:
            return self.about_table
        return (
            *self.about_table,
            f'X: {len(self.X):,} of {self.source_rows:,} rows, drawn at random. Intervals about "rows" and '
            '"population" include the error of this sample; those about "data" are about these rows alone.',
        )


def background_from(given: Any, f: Predictor, X: Any, size: float, limit: float, rng: np.random.Generator) -> Any:
    """Samples background rows from a table on disk, with the columns of X; also returns the size of the table."""
    source = open_on_disk(given, "background")
    labels = labels_of(X) or f.feature_names
    if labels is not None:
        names, columns = list(map(str, labels)), (*source.columns, *source.index)
        source = source.select(feature_columns(columns, names, (), argument="background", table=source.name))
    size = _rows_within(limit, source, int(min(size, ROWS_OF_STORED)))
    return source.take(sample_rows(source.rows, size, rng)), source.rows


def sample_rows(rows: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Draws a simple random sample of row numbers without replacement, in ascending order; all rows if they are few.

    Single rows are sampled, not row groups (clusters): rows of a group resemble each other (a day, a shop), and
    standard errors that assume independent examples would be far too small.

    Examples
    --------
    >>> sample_rows(3, 5, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if rows <= size:
        return np.arange(rows)
    return np.sort(rng.choice(rows, size, replace=False, shuffle=False))  # memory of the size of the sample


def separate_targets(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Separates y and sample_weight from a table in memory if they are names of its columns."""
    _check_order(X, y, sample_weight)
    named = _names(y, sample_weight)
    X, named_columns = _separate(as_table(X, "X"), named, ())
    return X, named_columns.get("y", y), named_columns.get("sample_weight", sample_weight)


def without_targets(background: Any, X: Any, target_columns: Sequence[str]) -> Any:
    """Removes columns of responses and weights from the background if they were removed from X."""
    if background is None or is_on_disk(background):
        return background
    background = in_memory(background, "background")
    labels = labels_of(background)
    extra = [name for name in target_columns if name in (labels or ()) and name not in (labels_of(X) or ())]
    if not extra:
        return background
    features = [label for label in labels or () if label not in extra]
    return select_columns(background, features)


def known_columns(f: Predictor | None, table: Any, argument: str) -> tuple[Any, tuple[str, ...]]:
    """Returns a table without columns that the model was not fitted on, with a note on these.

    A table on disk, of which only the model's columns are read anyway, is returned as it is.
    """
    if f is None or table is None or is_on_disk(table):
        return table, ()
    return f.known_columns(table, argument)


def about_empty_columns(names: Sequence[str], codes: Mapping[str, np.ndarray]) -> tuple[Note, ...]:
    """Returns a warning that names columns without any value, in tables given as codes (n, d) by what they are called.

    Examples
    --------
    >>> print(*about_empty_columns(["a", "b"], {"X": np.array([[1.0, np.nan]]), "the background": np.ones((1, 2))}))
    'b' has no value in X. Check how the table was read: rows in which the column is known may give another importance.
    """
    sentences = []
    for table, cells in codes.items():
        empty = (
            [names[j] for j in np.flatnonzero(np.isnan(cells).all(axis=0)).tolist()] if np.isnan(cells[0]).any() else []
        )
        if empty:
            sentences.append(f"{quoted_names(empty)} {'have' if len(empty) > 1 else 'has'} no value in {table}.")
    if not sentences:
        return ()
    advice = "Check how the table was read: rows in which the column is known may give another importance."
    return (Note(" ".join(sentences), advice, topic="columns without values"),)


def without_target(X: Any, target: Any) -> Any:
    """Removes the column of responses from X if ``target`` is its name; for measures that ignore responses."""
    if not isinstance(target, str):
        return X
    if is_on_disk(X):
        source = open_on_disk(X, "X")
        source.find(target, "y")
        return source.select([name for name in source.columns if name != target])
    return _separate(as_table(X, "X"), {"y": target}, ())[0]


def check_size(value: Any, argument: str, of: str, hint: Words) -> None:
    """Raises an error unless the value is a positive whole number, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
        raise InputError(argument, got=f"{value!r}", wanted=f"a whole number of {of}, one or more", hint=hint)


def check_memory(limit: Any) -> None:
    """Raises an error unless the limit is a positive number of bytes, or None."""
    is_number = isinstance(limit, Real) and not isinstance(limit, bool)
    if limit is not None and not (is_number and 0 < limit < math.inf):
        raise InputError(
            "memory_limit", got=f"{limit!r}", wanted="a positive number of bytes", hint=Set("memory_limit", 1e9)
        )


def rows_to_read(source: OnDiskTable, max_rows: int | None, memory_limit: float | None) -> int:
    """Returns the number of rows to sample from a table on disk, within the limits on rows and memory."""
    if memory_limit is None and max_rows is not None:
        return max_rows
    rows = ROWS_OF_STORED if max_rows is None else max_rows
    return _rows_within(MEMORY_LIMIT if memory_limit is None else memory_limit, source, rows)


def _from_stored(
    f: Predictor,
    source: OnDiskTable,
    y: Any,
    sample_weight: Any,
    max_rows: int | None,
    limit: float,
    rng: np.random.Generator,
) -> Examples:
    named = {argument: source.find(name, argument) for argument, name in _names(y, sample_weight).items()}
    _check_no_feature(named, f.feature_names or ())
    columns = (*source.columns, *(source.index if f.feature_names is not None else ()))
    features = feature_columns(columns, f.feature_names, named.values(), argument="X", table=source.name)
    source = source.select(list(dict.fromkeys([*features, *named.values()])))
    places = sample_rows(source.rows, rows_to_read(source, max_rows, limit), rng)
    rows = source.rows
    y = y if y is None or "y" in named else read_target(y, None, rows)[places]
    weights = sample_weight
    weights = weights if weights is None or "sample_weight" in named else given_weights(weights, None, rows)[places]
    table = source.take(places)
    named_columns = {argument: table[name] for argument, name in named.items()}
    X = select_columns(table, features) if len(features) < table.shape[1] else table
    return Examples(
        X,
        named_columns.get("y", y),
        named_columns.get("sample_weight", weights),
        tuple(named.values()),
        rows if len(places) < rows else None,
    )


def _from_memory(
    f: Predictor, X: Any, y: Any, sample_weight: Any, max_rows: int | None, rng: np.random.Generator
) -> Examples:
    named = _names(y, sample_weight)
    X, named_columns = _separate(X, named, f.feature_names or ())
    y, weights = named_columns.get("y", y), named_columns.get("sample_weight", sample_weight)
    n = len(X)
    if max_rows is None or n <= max_rows:
        return Examples(X, y, weights, tuple(named.values()))
    places = sample_rows(n, max_rows, rng)
    y = None if y is None else read_target(y, X, n)[places]
    weights = None if weights is None else given_weights(weights, X, n)[places]
    return Examples(rows_of(X, places), y, weights, tuple(named.values()), n)


def _check_order(X: Any, y: Any, sample_weight: Any) -> None:
    check_order(y, X, "y", "X")
    check_order(sample_weight, X, "sample_weight", "X")


def _names(y: Any, sample_weight: Any) -> dict[str, str]:
    """Returns the column names among the arguments y and sample_weight, by argument."""
    given = {"y": y, "sample_weight": sample_weight}
    return {argument: name for argument, name in given.items() if isinstance(name, str)}


def _separate(X: Any, named: dict[str, str], fitted: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Returns a table without the columns that arguments name, and these columns by argument."""
    if not named:
        return X, {}
    labels = labels_of(X)
    for argument, name in named.items():
        if labels is None:
            raise InputError(
                argument,
                got=f"{name!r}, the name of a column, but X is an array without names",
                wanted="one entry for each row, or X as a table with named columns",
            )
        if name not in labels:
            columns = [str(label) for label in labels]
            raise InputError(
                argument,
                got=f"{name!r}, which is no column of X",
                wanted="a column of X, or one entry for each row",
                hint=resembling(name, columns),
            )
    _check_no_feature(named, fitted)
    weight = named.get("sample_weight")
    features = [
        label for label in labels or () if label not in named.values() or (label == weight and weight in fitted)
    ]
    if not features:
        raise InputError("X", got="a table without features", wanted="at least one column that is a feature")
    return select_columns(X, features), {argument: X[name] for argument, name in named.items()}


def _check_no_feature(named: dict[str, str], fitted: Sequence[str]) -> None:
    if named.get("y") in fitted:
        raise InputError("y", got=f"{named['y']!r}, which is a feature of the model", wanted="another column")


def _is_too_large(X: Any, limit: float) -> bool:
    """Returns whether an Arrow table, probably memory-mapped, exceeds the memory limit: it counts as on disk."""
    return container_of(X) == "pyarrow" and len(X) > _affordable(limit, from_table(X).bytes_of_row)


def _rows_within(limit: float, source: OnDiskTable, rows: int) -> int:
    """Returns the number of rows, reduced to what the memory limit holds; an error if that is too few."""
    affordable, least = _affordable(limit, source.bytes_of_row), min(FEWEST_ROWS, source.rows, rows)
    if affordable < least:
        size = COPIES_OF_ROW * source.bytes_of_row * least
        raise InputError(
            "memory_limit",
            got=f"{limit:g} bytes, which hold {affordable:,} of {source.rows:,} rows of {source.name}",
            wanted=f"{size:,} or more, for {least} rows",
            hint=Set("memory_limit", 1e9),
        )
    return min(affordable, rows)


def _affordable(limit: float, bytes_of_row: int) -> int:
    """Returns the number of rows that fit into the memory limit during a run."""
    return int(limit / (COPIES_OF_ROW * bytes_of_row))
