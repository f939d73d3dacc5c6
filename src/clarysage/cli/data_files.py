"""Tables on disk, which of their columns are features, and groups of these. ``READERS`` is the table of suffixes.

XGBoost and LightGBM models that were fitted on category columns of pandas remember which those were, and the number
that stands for each category; both want such columns as categories again, which a CSV file does not say. Other models
take text as it is.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarysage._utils.display import listed
from clarysage.cli.console import Say, reason
from clarysage.cli.files import check_readable, imported
from clarysage.errors import ClarysageError, FormatError, InputError, resembling

SEPARATORS = ",;\t"
MAY_BE_FEATURES = ("--sample-weight", "--by")  # options whose columns the model may know, too


@dataclass(frozen=True)
class Table:
    """A table that was read, or one to be read row by row, and what to call it in messages."""

    what: str
    name: str
    frame: Any

    @property
    def columns(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def is_stored(self) -> bool:
        """Whether it is still on disk, since it is too large to be read whole."""
        return not hasattr(self.frame, "iloc")

    def select(self, columns: list[str]) -> Any:
        """The table with these columns alone."""
        return self.frame.select(columns) if self.is_stored else self.frame[columns]

    def column(self, name: str | None) -> Any:
        """A column, by its name alone where the table is on disk; None for none."""
        return name if name is None or self.is_stored else self.frame[name]

    def check_has(self, column: str, what: str, hint: str = "") -> None:
        """Raise if the table does not have the column; names like it are suggested, where there is no other hint."""
        if column not in self.columns:
            wanted = "a table that has it" if hint else f"one of {listed(self.columns)}"
            raise InputError(
                what,
                got=f"{column!r}, which is no column of {self.name}",
                wanted=wanted,
                hint=hint or resembling(column, self.columns),
            )


def read_table(what: str, path: Path, most: Callable[[Any], float] | None = None) -> Table:
    """The table in a CSV or Parquet file, or in a folder of Parquet files; ``what`` names it in messages.

    ``most`` tells of a Parquet table how many of its rows are wanted: one with more is not read, but left on disk
    (:class:`clarysage.tables.Stored`).
    """
    suffix = _suffix(path)
    if suffix is None:
        raise InputError(what, got=f"{path.name!r}", wanted=f"a file that ends in {', '.join(READERS)}")
    check_readable(what, path, folder=True)
    try:
        large = _large(what, path, most) if READERS[suffix] is _parquet and most is not None else None
        if large is not None:
            return Table(what, path.name, large)
        frame = READERS[suffix](path)
    except ClarysageError:
        raise
    except Exception as error:
        raise FormatError(
            what, got=f"{path.name}, which cannot be read ({reason(error)})", wanted=f"a {suffix} file"
        ) from error
    if len(frame) == 0:
        raise FormatError(what, got=f"{path.name}, which has no rows", wanted="a table with rows")
    return Table(what, path.name, frame)


def header(path: Path) -> list[str]:
    """The names of the columns of a table of text; none of another."""
    suffix = _suffix(path)
    return _first_line(path)[1] if suffix is not None and READERS[suffix] is _csv else []


def features(table: Table, fitted: Sequence[str] | None, apart: dict[str, str], say: Say) -> Any:
    """The features of a table: the columns the model was fitted on, in its order; all if it does not say.

    ``apart`` maps columns that are no features to the option that says so.
    """
    for column, option in apart.items():
        if fitted is not None and column in fitted and option not in MAY_BE_FEATURES:
            raise InputError(option, got=f"{column!r}, which is a feature of the model", wanted="another column")
    from clarysage.models.predictor import feature_columns  # late, since models take a second to load

    kept = feature_columns(table.columns, fitted, apart, argument=table.what, table=table.name)
    ignored = [column for column in table.columns if column not in kept and column not in apart]
    if ignored:
        say(f"columns of {table.name} that the model does not know are ignored: {listed(ignored)}.")
    return table.select(kept)


def _csv(path: Path) -> Any:
    """A table of text: separated by commas, semicolons or tabs, whichever divides its first line into most parts."""
    import pandas as pd

    separator, names = _first_line(path)
    _check_names(names)
    # before release 3 pandas reads numbers to the last bit only on request, and later it warns of the request
    exact: dict[str, Any] = {"float_precision": "round_trip"} if int(pd.__version__.split(".")[0]) < 3 else {}
    return pd.read_csv(path, sep=separator, encoding="utf-8-sig", low_memory=False, **exact)


def _first_line(path: Path) -> tuple[str, list[str]]:
    """The separator, and the names of the columns."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        first = file.readline()
    headers = {separator: next(csv.reader([first], delimiter=separator), []) for separator in SEPARATORS}
    separator = max(SEPARATORS, key=lambda separator: len(headers[separator]))
    return separator, headers[separator]


def _suffix(path: Path) -> str | None:
    """The suffix in the table of readers that a file has; a folder holds Parquet files."""
    if path.is_dir():
        return ".parquet"
    return next((suffix for suffix in READERS if path.name.lower().endswith(suffix)), None)


def _large(what: str, path: Path, most: Callable[[Any], float]) -> Any:
    """A Parquet table on disk; None if it has no more rows than are wanted."""
    imported("pyarrow", "arrow", "Reading Parquet")
    from clarysage.tables import stored

    try:
        found = stored(path, what)
    except InputError:
        return None  # reading it will say what is wrong
    return found if found.rows > most(found) else None


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
        raise ValueError(f"the column {repeated[0]!r} comes more than once")


# suffix -> reader, longer suffixes first
READERS: dict[str, Callable[[Path], Any]] = {
    ".csv.gz": _csv,
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
}


def with_categories(frame: Any, model: Any) -> Any:
    """The frame, its columns those of the model in order, with the model's category columns as categories."""
    from clarysage.models.adapter import HasCategoryColumns, adapter_of
    from clarysage.protocols import ability

    adapter = ability(adapter_of(model), HasCategoryColumns)
    if adapter is None:
        return frame
    try:
        places = adapter.category_columns(frame)
    except InputError as error:
        raise InputError("DATA", **error.parts) from error
    return frame.astype(dict.fromkeys((frame.columns[j] for j in places), "category"))


EXAMPLE = 'a JSON file such as {"weather": ["temp", "wind"]}'


def read_groups(path: Path) -> dict[str, list[Any]]:
    """The groups in a file, in its order."""
    check_readable("--groups", path)
    try:
        groups = json.loads(path.read_text(encoding="utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise FormatError("--groups", got=f"{path.name}, which is not JSON ({error})", wanted=EXAMPLE) from error
    if not isinstance(groups, dict) or not all(isinstance(members, list) for members in groups.values()):
        raise FormatError("--groups", got=f"{path.name}, which does not map names to lists", wanted=EXAMPLE)
    return groups


def check_groups(groups: dict[str, list[Any]], columns: list[str]) -> None:
    """Raise for a member that is no feature; names like it are suggested."""
    for name, members in groups.items():
        for member in members:
            if isinstance(member, str) and member not in columns:
                raise InputError(
                    "--groups",
                    got=f"{member!r} in the group {name!r}",
                    wanted="features of the model",
                    hint=resembling(member, columns),
                )
