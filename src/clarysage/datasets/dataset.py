"""A dataset, the row that defines one, and what its functions need to read columns of numbers and categories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features and target, row by row, and their source; ``X, y = dataset`` unpacks the two.

    Attributes
    ----------
    name : the name by which it is loaded
    X : pandas frame of the features; categories are of dtype category, all other columns are numbers
    y : pandas Series of the target
    beside : pandas frame of columns that are no features, such as the patient of each row; same index, maybe no columns
    source : who published it and where, in words and an address
    licence : what its publisher states
    citation : what to cite
    notes : what to know before using it

    Examples
    --------
    >>> import clarysage as cs
    >>> wine = cs.datasets.wine()
    >>> wine
    wine: 178 rows, 13 features, target 'cultivar'; UCI Wine, as it comes with scikit-learn
    >>> X, y = wine
    """

    name: str
    X: Any
    y: Any
    beside: Any
    source: str
    licence: str
    citation: str
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y))

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        return f"{self.name}: {rows:,} rows, {columns} features, target {self.y.name!r}; {self.source}"


@dataclass(frozen=True)
class Address:
    """The address of a published file: of the file itself, of one with ".gz" at the end, or of a zip archive.

    ``members`` is the path through archives: the file in the archive, or an archive in the archive and the file in it.
    """

    url: str
    members: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def is_packed(self) -> bool:
        return bool(self.members) or self.url.endswith(".gz")


@dataclass(frozen=True)
class PublicFile:
    """A published file: name, size in bytes and SHA-256 once unpacked, and addresses in the order they are tried."""

    name: str
    size: int
    sha256: str
    addresses: tuple[Address, ...]


@dataclass(frozen=True)
class TableParts:
    """Features, target, and columns that are neither."""

    X: Any
    y: Any
    beside: Any


@dataclass(frozen=True)
class DatasetRow:
    """A row of the table of datasets: where the files of a dataset are, what they hold and how they are read.

    Attributes
    ----------
    name : the name by which it is loaded
    about : what a row is, and the question that the target answers
    task : "regression" or "classification"
    rows, features : their numbers
    arrange : function from the tidy table to features with their types, target, and other columns
    read : function from the contents of the files to the tidy table; None where only a tidy file exists, which is not
        published
    files : the published files; none for a dataset that comes with a library
    tidy_sha256 : of NAME.parquet, which holds the tidy table; None where there is no tidy file
    source, licence, citation, notes : as in a Dataset
    aliases : other names by which it is loaded
    """

    name: str
    about: str
    task: str
    rows: int
    features: int
    arrange: Callable[[Any], TableParts]
    read: Callable[[Sequence[bytes]], Any] | None
    source: str
    licence: str
    citation: str
    files: tuple[PublicFile, ...] = ()
    tidy_sha256: str | None = None
    notes: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """One line of help."""
        return self.about

    @property
    def is_bundled(self) -> bool:
        """True for a dataset that comes with a library."""
        return not self.files and self.tidy_sha256 is None

    @property
    def tidy_name(self) -> str:
        return f"{self.name}.parquet"


# --- columns of a tidy table, whose cells may be text


def read_cells(content: bytes, separator: str) -> Any:
    """Reads a file of separated cells as a frame of text, so that numbers are parsed as exactly as Python does."""
    import pandas as pd

    return pd.read_csv(BytesIO(content), sep=separator, dtype=str, keep_default_na=False)


def check_columns(table: Any, names: Iterable[str]) -> None:
    """Raises an error unless the table has the columns."""
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(f"it has no column {missing[0]!r}")


def integers(column: Any) -> Any:
    """Converts a column to int64."""
    return column.astype("int64")


def floats(column: Any) -> Any:
    """Converts a column to float64."""
    return column.astype("float64")


def category(column: Any, categories: Sequence[Any]) -> Any:
    """Converts a column to categories in the order given, also those that do not occur.

    Examples
    --------
    >>> import pandas as pd
    >>> list(category(pd.Series(["feb", "jan"], name="month"), ["jan", "feb", "mar"]).cat.codes)
    [1, 0]
    """
    import pandas as pd

    unknown = [cell for cell in column.unique().tolist() if cell not in categories]
    if unknown:
        raise ValueError(f"column {column.name!r} has a cell {unknown[0]!r}")
    return column.astype(pd.CategoricalDtype(list(categories)))


def no_columns(table: Any) -> Any:
    """Returns a frame with the rows of the table and no columns."""
    import pandas as pd

    return pd.DataFrame(index=table.index)
