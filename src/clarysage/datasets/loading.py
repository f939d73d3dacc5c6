"""Loads datasets: searches files in a data directory, in the user's cache, and at public addresses, in this order."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clarysage.datasets.dataset import Address, Dataset, DatasetRow, PublicFile
from clarysage.datasets.fetching import (
    DownloadError,
    PackingError,
    cache_directory,
    download,
    unpacked,
    verified,
    write_to_cache,
)
from clarysage.errors import (
    ClarysageError,
    ClarysageWarning,
    FormatError,
    InputError,
    MissingDataError,
    MissingLibraryError,
)

DATA_VARIABLE = "CLARYSAGE_DATA"


def load_row(row: DatasetRow, *, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """Loads the dataset of a row; ``directory`` and ``download`` are those of :class:`FileSearch`."""
    table, origin = _tidy_table(row, directory, download)
    with _as_format_error(row, origin):
        parts = row.arrange(table)
    return Dataset(
        row.name,
        parts.X,
        parts.y,
        parts.beside,
        source=row.source,
        licence=row.licence,
        citation=row.citation,
        notes=row.notes,
    )


def _tidy_table(row: DatasetRow, directory: Any, may_download: bool) -> tuple[Any, str]:
    """Returns the tidy table, and the names of the files that it was read from."""
    if row.is_bundled:
        return _read_files(row, [], row.name)
    search = FileSearch.of(directory, may_download)
    path = search.tidy_file(row)
    if path is not None and (find_spec("pyarrow") or not search.has_all(row)):
        return _read_tidy_file(path, row), str(path)
    contents = [search.content(file, row) for file in row.files]
    return _read_files(row, contents, ", ".join(file.name for file in row.files))


def _read_files(row: DatasetRow, contents: list[bytes], origin: str) -> tuple[Any, str]:
    if row.read is None:
        raise MissingDataError(
            f"{row.name}: {row.tidy_name} is not in a data directory, and is not published. If you have it, name its "
            f"folder by directory=... or the environment variable {DATA_VARIABLE}."
        )
    with _as_format_error(row, origin):
        return row.read(contents), origin


def _read_tidy_file(path: Path, row: DatasetRow) -> Any:
    if not find_spec("pyarrow"):
        raise MissingLibraryError("pyarrow", "arrow", f"Reading {path}")
    import pandas as pd

    with _as_format_error(row, str(path)):
        if not _has_tidy_sha256(path, row):
            _warn_of_difference(path)
        return pd.read_parquet(path)


def _has_tidy_sha256(path: Path, row: DatasetRow) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == row.tidy_sha256


@contextmanager
def _as_format_error(row: DatasetRow, origin: str) -> Iterator[None]:
    """Turns any error while a file is read into an error about that file."""
    try:
        yield
    except (ClarysageError, Warning):
        raise
    except Exception as error:
        raise FormatError(
            row.name, got=f"{origin}, which cannot be read ({error})", wanted="the table as it is published"
        ) from error


@dataclass(frozen=True)
class FileSearch:
    """Searches files in a data directory, if there is one, then in the cache, and downloads them if that is allowed."""

    directory: Path | None
    may_download: bool

    @classmethod
    def of(cls, directory: str | os.PathLike[str] | None, may_download: bool) -> FileSearch:
        """Takes the directory, or by default the one that CLARYSAGE_DATA names."""
        folder = (os.environ.get(DATA_VARIABLE) or None) if directory is None else directory
        if folder is None:
            return cls(None, may_download)
        if not isinstance(folder, (str, os.PathLike)) or not os.path.isdir(os.path.expanduser(folder)):
            raise InputError(
                DATA_VARIABLE if directory is None else "directory",
                got=f"{folder!r}, which is no folder",
                wanted="a folder that holds datasets",
            )
        return cls(Path(os.path.expanduser(folder)), may_download)

    def tidy_file(self, row: DatasetRow) -> Path | None:
        """Returns the tidy file of a dataset in the data directory; None where it is not there."""
        if self.directory is None or row.tidy_sha256 is None:
            return None
        path = self.directory / row.tidy_name
        return path if path.is_file() else None

    def has_all(self, row: DatasetRow) -> bool:
        """Returns whether all published files of a dataset are in the data directory."""
        return bool(row.files) and all(self._in_directory(file) is not None for file in row.files)

    def origin(self, row: DatasetRow) -> str:
        """Says where a dataset would be read from."""
        if row.is_bundled:
            return "scikit-learn"
        if self.tidy_file(row) or self.has_all(row):
            return "data directory"
        if row.read is None:
            return "a data directory alone"
        return "cache" if all(self._is_local(file, row) for file in row.files) else "download"

    def content(self, file: PublicFile, row: DatasetRow) -> bytes:
        """Returns the content of a published file."""
        in_directory = self._in_directory(file)
        if in_directory is not None:
            return _read_from_directory(*in_directory, file)
        cached = _read_from_cache(file, row)
        if cached is not None and _is_verified(cached, file):
            return cached
        return self._downloaded(file, row, is_damaged=cached is not None)

    def _in_directory(self, file: PublicFile) -> tuple[Path, Address] | None:
        """Finds the file itself, or the archive of one of its addresses."""
        if self.directory is None:
            return None
        forms = [Address(file.name), *(address for address in file.addresses if address.is_packed)]
        paths = ((self.directory / form.file_name, form) for form in forms)
        return next(((path, form) for path, form in paths if path.is_file()), None)

    def _is_local(self, file: PublicFile, row: DatasetRow) -> bool:
        path = _path_in_cache(file, row)
        return self._in_directory(file) is not None or (path is not None and path.is_file())

    def _downloaded(self, file: PublicFile, row: DatasetRow, *, is_damaged: bool) -> bytes:
        problem = f"{row.name}: {file.name} is " + ("damaged in the cache" if is_damaged else "not on this machine")
        if not self.may_download:
            raise MissingDataError(f"{problem}, and download=False. {_advice(file, row)}")
        try:
            content = download(file)
        except DownloadError as error:
            raise MissingDataError(f"{problem} and could not be downloaded ({error}). {_advice(file, row)}") from error
        path = _path_in_cache(file, row)
        if path is not None:
            write_to_cache(content, path)
        return content


def _read_from_directory(path: Path, address: Address, file: PublicFile) -> bytes:
    try:
        content = unpacked(path.read_bytes(), address, file.size)
    except PackingError as error:
        raise FormatError("directory", got=f"{path}, which {error}", wanted=f"an archive of {file.name}") from error
    except OSError as error:
        raise InputError("directory", got=f"{path}: {error.strerror}", wanted="a file that may be read") from error
    if not _is_verified(content, file):
        _warn_of_difference(path)
    return content


def _read_from_cache(file: PublicFile, row: DatasetRow) -> bytes | None:
    path = _path_in_cache(file, row)
    try:
        return None if path is None else path.read_bytes()
    except OSError:
        return None


def _path_in_cache(file: PublicFile, row: DatasetRow) -> Path | None:
    directory = cache_directory()
    return None if directory is None else directory / row.name / file.name


def _is_verified(content: bytes, file: PublicFile) -> bool:
    try:
        verified(content, file)
    except ValueError:
        return False
    return True


def _warn_of_difference(path: Path) -> None:
    warnings.warn(
        f"{path} has a different SHA-256 than the file that is known by this name; it is read as it is, and results "
        "may differ from those of others.",
        ClarysageWarning,
        stacklevel=2,
    )


def _advice(file: PublicFile, row: DatasetRow) -> str:
    """Says how to get a file by hand."""
    addresses = " or ".join(map(_address_in_words, file.addresses))
    return (
        f"Download it yourself from {addresses}, put it into a folder, and name the folder by directory=... or the "
        f"environment variable {DATA_VARIABLE}; {row.tidy_name} works as well."
    )


def _address_in_words(address: Address) -> str:
    inside = " in ".join(reversed(address.members))
    return f"{address.url} ({inside} in it)" if inside else address.url
