"""A row of the table of datasets: where its files are, what they hold, how they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Address:
    """Where a file is published: as it is, with ".gz" at the end of the address, or in a zip archive.

    ``members`` leads to it through archives: of the file in the archive, or first of an archive in the archive.
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
class Parts:
    """Features, target, and columns that are neither."""

    X: Any
    y: Any
    beside: Any


@dataclass(frozen=True)
class DatasetRow:
    """A dataset.

    Attributes
    ----------
    name : by which it is asked for
    about : what a row is and what is to be told of it
    task : "regression" or "classification"
    rows, features : how many there are
    arrange : the tidy table -> features with their kinds, target, what stands beside
    read : contents of the files -> the tidy table; None where it is not published, but only found as a tidy file
    files : what is published; none for a dataset that comes with a library
    tidy_sha256 : of NAME.parquet, which holds the tidy table; None where there is no such form
    source, licence, citation, notes : as in a Dataset
    aliases : other names by which it is asked for
    """

    name: str
    about: str
    task: str
    rows: int
    features: int
    arrange: Callable[[Any], Parts]
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
        """Whether it comes with a library."""
        return not self.files and self.tidy_sha256 is None

    @property
    def tidy_name(self) -> str:
        return f"{self.name}.parquet"
