"""Rows to judge a model on, at the door: columns by their names, and rows drawn at random where there are too many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set, Words, resembling
from clarysage.models import Predictor
from clarysage.models.predictor import feature_columns
from clarysage.tables import Stored, as_table, container_of, is_stored, labels_of, rows_of, select, stored
from clarysage.tables.on_disk import from_table
from clarysage.tables.target import given_weights, read_target

MEMORY_LIMIT = 1e9  # bytes, where the user does not say
ROWS_OF_STORED = 100_000  # at most, of a table that is not in memory
FEWEST_ROWS = 100  # that a memory limit has to hold: of fewer there is little to be learnt
COPIES_OF_ROW = 8  # of an example, held at once in a run: as read, as the model's table, codes, what it contributes


@dataclass(frozen=True)
class Examples:
    """Examples in memory, with their responses and weights.

    Attributes
    ----------
    X, y, sample_weight : of the rows that were taken
    apart : names of columns of X that were its responses and weights
    source_rows : how many rows there were to draw from, where not all were taken
    """

    X: Any
    y: Any
    sample_weight: Any
    apart: tuple[str, ...] = ()
    source_rows: int | None = None

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
        """Examples from what the user handed in, a table or the name of one on disk."""
        limit = MEMORY_LIMIT if memory_limit is None else memory_limit
        X = from_table(X) if max_rows is None and _is_too_large(X, limit) else X
        if is_stored(X):
            return _from_stored(f, stored(X, "X"), y, sample_weight, max_rows, limit, rng)
        return _from_memory(f, as_table(X, "X"), y, sample_weight, max_rows, rng)

    @property
    def notes(self) -> tuple[str, ...]:
        """What to say about rows that were drawn."""
        if self.source_rows is None:
            return ()
        return (
            f'X: {len(self.X):,} of {self.source_rows:,} rows, drawn at random. Intervals about "rows" and '
            '"population" tell what other rows would add; those about "data" are of the rows read.',
        )


def background_from(given: Any, f: Predictor, X: Any, size: float, limit: float, rng: np.random.Generator) -> Any:
    """Rows of a stored table to stand in for withheld features, with the columns of X, and how many there were."""
    source = stored(given, "background")
    wanted = labels_of(X) or f.feature_names
    if wanted is not None:
        names, known = list(map(str, wanted)), (*source.columns, *source.index)
        source = source.select(feature_columns(known, names, (), argument="background", table=source.name))
    size = _rows_within(limit, source, int(min(size, ROWS_OF_STORED)))
    return source.take(drawn(source.rows, size, rng)), source.rows


def drawn(rows: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Places of a simple random sample of rows without replacement, ascending; all where there are no more.

    Rows are drawn one by one, not by row groups: rows of a group resemble each other (a day, a shop), and errors that
    take examples to be independent would be too small by far.

    Examples
    --------
    >>> drawn(3, 5, np.random.default_rng(0))
    array([0, 1, 2])
    """
    if rows <= size:
        return np.arange(rows)
    return np.sort(rng.choice(rows, size, replace=False, shuffle=False))  # in memory of the order of the sample


def taken_apart(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """A table in memory without the columns that y and sample_weight name, and the two; as they are without names."""
    named = _names(y, sample_weight)
    X, found = _apart(as_table(X, "X"), named, ())
    return X, found.get("y", y), found.get("sample_weight", sample_weight)


def narrowed(background: Any, X: Any, apart: Sequence[str]) -> Any:
    """The background without columns of responses and weights, where these were taken out of X, too."""
    labels = None if background is None or is_stored(background) else labels_of(background)
    extra = [name for name in apart if name in (labels or ()) and name not in (labels_of(X) or ())]
    if not extra:
        return background
    kept = [label for label in labels or () if label not in extra]
    return select(background, kept)


def without(X: Any, column: Any) -> Any:
    """X without the column of responses, if that is a name; for measures that do not look at responses."""
    if not isinstance(column, str):
        return X
    if is_stored(X):
        source = stored(X, "X")
        source.find(column, "y")
        return source.select([name for name in source.columns if name != column])
    return _apart(as_table(X, "X"), {"y": column}, ())[0]


def check_size(value: Any, argument: str, of: str, hint: Words) -> None:
    """Raise unless it is a whole number of one or more, or None."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, Integral) or value < 1):
        raise InputError(argument, got=f"{value!r}", wanted=f"a whole number of {of}, one or more", hint=hint)


def check_memory(limit: Any) -> None:
    """Raise unless it is a positive number of bytes, or None."""
    is_number = isinstance(limit, Real) and not isinstance(limit, bool)
    if limit is not None and not (is_number and 0 < limit < math.inf):
        raise InputError(
            "memory_limit", got=f"{limit!r}", wanted="a positive number of bytes", hint=Set("memory_limit", 1e9)
        )


def rows_to_read(source: Stored, max_rows: int | None, memory_limit: float | None) -> int:
    """How many rows of a stored table are taken: no more than any limit that was given allows."""
    if memory_limit is None and max_rows is not None:
        return max_rows
    wanted = ROWS_OF_STORED if max_rows is None else max_rows
    return _rows_within(MEMORY_LIMIT if memory_limit is None else memory_limit, source, wanted)


def _from_stored(
    f: Predictor,
    source: Stored,
    y: Any,
    sample_weight: Any,
    max_rows: int | None,
    limit: float,
    rng: np.random.Generator,
) -> Examples:
    named = {argument: source.find(name, argument) for argument, name in _names(y, sample_weight).items()}
    _check_no_feature(named, f.feature_names or ())
    known = (*source.columns, *(source.index if f.feature_names is not None else ()))
    features = feature_columns(known, f.feature_names, named.values(), argument="X", table=source.name)
    source = source.select(list(dict.fromkeys([*features, *named.values()])))
    places = drawn(source.rows, rows_to_read(source, max_rows, limit), rng)
    rows = source.rows
    y = y if y is None or "y" in named else read_target(y, None, rows)[places]
    weights = sample_weight
    weights = weights if weights is None or "sample_weight" in named else given_weights(weights, None, rows)[places]
    table = source.take(places)
    found = {argument: table[name] for argument, name in named.items()}
    X = select(table, features) if len(features) < table.shape[1] else table
    return Examples(
        X,
        found.get("y", y),
        found.get("sample_weight", weights),
        tuple(named.values()),
        rows if len(places) < rows else None,
    )


def _from_memory(
    f: Predictor, X: Any, y: Any, sample_weight: Any, max_rows: int | None, rng: np.random.Generator
) -> Examples:
    named = _names(y, sample_weight)
    X, found = _apart(X, named, f.feature_names or ())
    y, weights = found.get("y", y), found.get("sample_weight", sample_weight)
    n = len(X)
    if max_rows is None or n <= max_rows:
        return Examples(X, y, weights, tuple(named.values()))
    places = drawn(n, max_rows, rng)
    y = None if y is None else read_target(y, X, n)[places]
    weights = None if weights is None else given_weights(weights, X, n)[places]
    return Examples(rows_of(X, places), y, weights, tuple(named.values()), n)


def _names(y: Any, sample_weight: Any) -> dict[str, str]:
    """Names of columns, by the arguments that they were given as."""
    given = {"y": y, "sample_weight": sample_weight}
    return {argument: name for argument, name in given.items() if isinstance(name, str)}


def _apart(X: Any, named: dict[str, str], fitted: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """A table without the columns that arguments name, and those columns by their arguments."""
    if not named:
        return X, {}
    labels = labels_of(X)
    for argument, name in named.items():
        if labels is None:
            raise InputError(
                argument,
                got=f"{name!r}, the name of a column, beside an array without names",
                wanted="one entry a row, or X as a table with named columns",
            )
        if name not in labels:
            known = [str(label) for label in labels]
            raise InputError(
                argument,
                got=f"{name!r}, which is no column of X",
                wanted="a column of X, or one entry a row",
                hint=resembling(name, known),
            )
    _check_no_feature(named, fitted)
    weight = named.get("sample_weight")
    kept = [label for label in labels or () if label not in named.values() or (label == weight and weight in fitted)]
    if not kept:
        raise InputError("X", got="a table of which no column is a feature", wanted="features")
    return select(X, kept), {argument: X[name] for argument, name in named.items()}


def _check_no_feature(named: dict[str, str], fitted: Sequence[str]) -> None:
    if named.get("y") in fitted:
        raise InputError("y", got=f"{named['y']!r}, which is a feature of the model", wanted="another column")


def _is_too_large(X: Any, limit: float) -> bool:
    """Whether an Arrow table is larger than what a run may hold of it: then it is mapped into memory, most likely."""
    return container_of(X) == "pyarrow" and len(X) > _affordable(limit, from_table(X).bytes_of_row)


def _rows_within(limit: float, source: Stored, wanted: int) -> int:
    """So many rows, or as many as the limit holds; an error where that is next to nothing."""
    affordable, least = _affordable(limit, source.bytes_of_row), min(FEWEST_ROWS, source.rows, wanted)
    if affordable < least:
        size = COPIES_OF_ROW * source.bytes_of_row * least
        raise InputError(
            "memory_limit",
            got=f"{limit:g} bytes, which hold {affordable:,} of {source.rows:,} rows of {source.name}",
            wanted=f"{size:,} or more, for {least} rows",
            hint=Set("memory_limit", 1e9),
        )
    return min(affordable, wanted)


def _affordable(limit: float, bytes_of_row: int) -> int:
    """Rows of which a run holds no more than the limit."""
    return int(limit / (COPIES_OF_ROW * bytes_of_row))
