"""Reads tables from files, selects the feature columns, and reads groups of features; ``READERS`` has the suffixes.

XGBoost and LightGBM models that were fitted on pandas category columns remember these columns and the code of each
category. They need these columns as categories again, but CSV files do not contain this type. Other models take text.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarysage._utils.display import quoted_names
from clarysage.cli.checks import check_readable, imported
from clarysage.cli.console import Say, reason
from clarysage.errors import ClarysageError, FormatError, InputError, resembling

SEPARATORS = ",;\t"
MAY_BE_FEATURES = ("--sample-weight", "--by")  # options whose columns may be features, too


@dataclass(frozen=True)
class InputTable:
    """A table in memory or on disk, with its argument and file name for messages."""

    argument: str
    name: str
    frame: Any

    @property
    def columns(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def is_stored(self) -> bool:
        """True if the table stays on disk, because it is too large to be read completely."""
        return not hasattr(self.frame, "iloc")

    def select(self, columns: list[str]) -> Any:
        """Returns the table with these columns only."""
        return self.frame.select(columns) if self.is_stored else self.frame[columns]

    def column(self, name: str | None) -> Any:
        """Returns a column; only its name if the table is on disk."""
        return name if name is None or self.is_stored else self.frame[name]

    def check_has(self, column: str, option: str, hint: str = "") -> None:
        """Raises an error if the table lacks the column; the default hint suggests similar names."""
        if column not in self.columns:
            raise InputError(
                option,
                got=f"{column!r}, which is not a column of {self.name}",
                wanted="a table that has it" if hint else f"one of {quoted_names(self.columns)}",
                hint=hint or resembling(column, self.columns),
            )


def read_table(argument: str, path: Path, max_rows_of: Callable[[Any], float] | None = None) -> InputTable:
    """Reads a table from a CSV or Parquet file, or a folder of Parquet files; ``argument`` names it in messages.

    ``max_rows_of`` returns how many rows of a Parquet table are needed; a larger table is not read, but stays on disk
    (:class:`clarysage.tables.OnDiskTable`).
    """
    suffix = _suffix(path)
    if suffix is None:
        raise InputError(argument, got=f"{path.name!r}", wanted=f"a file that ends in {', '.join(READERS)}")
    check_readable(argument, path, folder=True)
    try:
        large = None
        if READERS[suffix] is _parquet and max_rows_of is not None:
            large = _large(argument, path, max_rows_of)
        if large is not None:
            return InputTable(argument, path.name, large)
        frame = READERS[suffix](path)
    except ClarysageError:
        raise
    except Exception as error:
        raise FormatError(
            argument, got=f"{path.name}, which cannot be read ({reason(error)})", wanted=f"a {suffix} file"
        ) from error
    if len(frame) == 0:
        raise FormatError(argument, got=f"{path.name}, which has no rows", wanted="a table with rows")
    return InputTable(argument, path.name, frame)


def header(path: Path) -> list[str]:
    """Returns the column names of a text table; an empty list for other files."""
    suffix = _suffix(path)
    return _first_line(path)[1] if suffix is not None and READERS[suffix] is _csv else []


def features(table: InputTable, fitted: Sequence[str] | None, others: dict[str, str], say: Say) -> Any:
    """Returns the feature columns of a table: those the model was fitted on, in its order; all if it does not say.

    ``others`` maps columns that are not features to the option that says so.
    """
    for column, option in others.items():
        if fitted is not None and column in fitted and option not in MAY_BE_FEATURES:
            raise InputError(option, got=f"{column!r}, which is a feature of the model", wanted="another column")
    from clarysage.models.predictor import feature_columns  # late, since models take a second to load

    selected = feature_columns(table.columns, fitted, others, argument=table.argument, table=table.name)
    ignored = [column for column in table.columns if column not in selected and column not in others]
    if ignored:
        say(f"columns of {table.name} that the model does not know are ignored: {quoted_names(ignored)}.")
    return table.select(selected)


def _csv(path: Path) -> Any:
    """Reads a text table; the separator is the comma, semicolon or tab that splits the first line into most parts."""
    import pandas as pd

    separator, names = _first_line(path)
    _check_names(names)
    # pandas < 3 reads numbers exactly only with this option; pandas >= 3 always does, and warns of the option
    exact: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
    return pd.read_csv(path, sep=separator, encoding="utf-8-sig", low_memory=False, **exact)


def _first_line(path: Path) -> tuple[str, list[str]]:
    """Returns the separator and the column names of a text table."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    headers = {separator: next(csv.reader([first], delimiter=separator), []) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda separator: len(headers[separator]))
    return separator, headers[separator]


def _suffix(path: Path) -> str | None:
    """Returns the suffix by which a file is read, None where no reader takes it; a folder is read as Parquet."""
    if path.is_dir():
        return ".parquet"
    return next((suffix for suffix in READERS if path.name.lower().endswith(suffix)), None)


def _large(argument: str, path: Path, max_rows_of: Callable[[Any], float]) -> Any:
    """Returns a Parquet table on disk; None if it has no more rows than are needed."""
    imported("pyarrow", "arrow", "Reading Parquet")
    from clarysage.tables import open_on_disk

    try:
        table = open_on_disk(path, argument)
    except InputError:
        return None  # reading the table will raise a better error
    return table if table.rows > max_rows_of(table) else None


def _parquet(path: Path) -> Any:
    imported("pyarrow", "arrow", "Reading Parquet")
    import pandas as pd

    frame = pd.read_parquet(path, engine="pyarrow").reset_index(drop=True)
    frame.columns = [str(column) for column in frame.columns]
    _check_names(list(frame.columns))
    return frame


def _check_names(names: list[str]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"the column {repeated[0]!r} occurs more than once")


# suffix -> reader, longer suffixes first
READERS: dict[str, Callable[[Path], Any]] = {
    ".csv.gz": _csv,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}


def with_categories(frame: Any, model: Any) -> Any:
    """Returns the frame of the model's columns with the model's category columns as categories."""
    from clarysage.models.adapter import HasCategoryColumns, adapter_of
    from clarysage.protocols import ability

    adapter = ability(adapter_of(model), HasCategoryColumns)
    if adapter is None:
        return frame
    try:
        category_columns = adapter.category_columns(frame)
    except InputError as error:
        raise InputError("DATA", **error.parts) from error
    return frame.astype(dict.fromkeys((frame.columns[j] for j in category_columns), "category"))


EXAMPLE = 'a JSON file such as {"weather": ["temp", "wind"]}'


def read_groups(path: Path) -> dict[str, list[Any]]:
    """Reads groups of features from a JSON file, in its order."""
    check_readable("--groups", path)
    try:
        groups = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError("--groups", got=f"{path.name}, which is not JSON ({error})", wanted=EXAMPLE) from error
    if not isinstance(groups, dict) or not all(isinstance(members, list) for members in groups.values()):
        raise FormatError("--groups", got=f"{path.name}, which does not map names to lists", wanted=EXAMPLE)
    return groups


def check_groups(groups: dict[str, list[Any]], columns: list[str]) -> None:
    """Raises an error for a member that is not a feature; the hint suggests similar names that are in no group."""
    grouped = {str(member) for members in groups.values() for member in members}
    for name, members in groups.items():
        for member in members:
            if isinstance(member, str) and member not in columns:
                raise InputError(
                    "--groups",
                    got=f"{member!r} in the group {name!r}",
                    wanted="features of the model",
                    hint=resembling(member, [column for column in columns if column not in grouped]),
                )
