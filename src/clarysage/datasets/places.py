"""Where the files of a dataset are: a data directory, the user's cache, the public address; in this order."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from clarysage.datasets import cache
from clarysage.datasets.download import DownloadError, checked, download
from clarysage.datasets.packing import PackingError, unpacked
from clarysage.datasets.row import Address, DatasetRow, PublicFile
from clarysage.errors import ClarysageWarning, FormatError, InputError, MissingDataError

VARIABLE = "CLARYSAGE_DATA"


@dataclass(frozen=True)
class Places:
    """Where to look for a dataset: in a data directory, if there is one, in the cache, and, if allowed, by download."""

    directory: Path | None
    may_download: bool

    @classmethod
    def of(cls, directory: str | os.PathLike[str] | None, download: bool) -> Places:
        """The directory given, else the one that CLARYSAGE_DATA names."""
        named = (os.environ.get(VARIABLE) or None) if directory is None else directory
        if named is None:
            return cls(None, download)
        if not isinstance(named, (str, os.PathLike)) or not os.path.isdir(os.path.expanduser(named)):
            raise InputError(
                VARIABLE if directory is None else "directory",
                got=f"{named!r}, which is no folder",
                wanted="a folder that holds datasets",
            )
        return cls(Path(os.path.expanduser(named)), download)

    def tidy(self, row: DatasetRow) -> Path | None:
        """The tidy file of a dataset."""
        if self.directory is None or row.tidy_sha256 is None:
            return None
        path = self.directory / row.tidy_name
        return path if path.is_file() else None

    def has_all(self, row: DatasetRow) -> bool:
        """Whether all files of a dataset, as they are published, are in the data directory."""
        return bool(row.files) and all(self._in_directory(file) is not None for file in row.files)

    def where(self, row: DatasetRow) -> str:
        """Where a dataset would come from, in words."""
        if row.is_bundled:
            return "scikit-learn"
        if self.tidy(row) or self.has_all(row):
            return "data directory"
        if row.read is None:
            return "a data directory alone"
        return "cache" if all(self._is_here(file, row) for file in row.files) else "download"

    def content(self, file: PublicFile, row: DatasetRow) -> bytes:
        """What a published file holds."""
        if (found := self._in_directory(file)) is not None:
            return _read(*found, file)
        if (kept := _in_cache(file, row)) is not None and (content := _if_right(kept, file)) is not None:
            return content
        return self._downloaded(file, row, is_damaged=kept is not None)

    def _in_directory(self, file: PublicFile) -> tuple[Path, Address] | None:
        """The file itself, or as it comes from one of its addresses."""
        if self.directory is None:
            return None
        forms = ((self.directory / address.file_name, address) for address in _forms(file))
        return next(((path, address) for path, address in forms if path.is_file()), None)

    def _is_here(self, file: PublicFile, row: DatasetRow) -> bool:
        kept = _path_in_cache(file, row)
        return self._in_directory(file) is not None or (kept is not None and kept.is_file())

    def _downloaded(self, file: PublicFile, row: DatasetRow, *, is_damaged: bool) -> bytes:
        what = f"{row.name}: {file.name} is " + ("damaged in the cache" if is_damaged else "not on this machine")
        if not self.may_download:
            raise MissingDataError(f"{what}, and download=False. {_what_to_do(file, row)}")
        try:
            content = download(file)
        except DownloadError as error:
            raise MissingDataError(f"{what} and could not be downloaded ({error}). {_what_to_do(file, row)}") from error
        if (path := _path_in_cache(file, row)) is not None:
            cache.keep(content, path)
        return content


def warn_of_difference(path: Path) -> None:
    """Say that a file in the data directory is not the one that is known."""
    warnings.warn(
        f"{path} has another SHA-256 than the file that is known by this name; it is read as it is, and results may "
        "differ from those of others.",
        ClarysageWarning,
        stacklevel=2,
    )


def is_tidy_file(path: Path, row: DatasetRow) -> bool:
    """Whether a tidy file is the one that is known."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == row.tidy_sha256


def not_published(row: DatasetRow) -> MissingDataError:
    """The error for a dataset of which there is a tidy file alone, where that is not found."""
    return MissingDataError(
        f"{row.name}: {row.tidy_name} is not in a data directory, and is not published. Where you have it, name its "
        f"folder by directory=... or the environment variable {VARIABLE}."
    )


def _forms(file: PublicFile) -> Iterator[Address]:
    yield Address(file.name)
    yield from (address for address in file.addresses if address.is_packed)


def _read(path: Path, address: Address, file: PublicFile) -> bytes:
    try:
        content = unpacked(path.read_bytes(), address, file.size)
    except PackingError as error:
        raise FormatError("directory", got=f"{path}, which {error}", wanted=f"an archive of {file.name}") from error
    except OSError as error:
        raise InputError("directory", got=f"{path}: {error.strerror}", wanted="a file that may be read") from error
    if _if_right(content, file) is None:
        warn_of_difference(path)
    return content


def _in_cache(file: PublicFile, row: DatasetRow) -> bytes | None:
    path = _path_in_cache(file, row)
    try:
        return None if path is None else path.read_bytes()
    except OSError:
        return None


def _path_in_cache(file: PublicFile, row: DatasetRow) -> Path | None:
    directory = cache.cache_directory()
    return None if directory is None else directory / row.name / file.name


def _if_right(content: bytes, file: PublicFile) -> bytes | None:
    try:
        return checked(content, file)
    except ValueError:
        return None


def _what_to_do(file: PublicFile, row: DatasetRow) -> str:
    ways = " or ".join(_way(address) for address in file.addresses)
    return (
        f"Get it yourself from {ways}, put it into a folder, and name the folder by directory=... or the environment "
        f"variable {VARIABLE}; {row.tidy_name} will do as well."
    )


def _way(address: Address) -> str:
    inside = " in ".join(reversed(address.members))
    return f"{address.url} ({inside} in it)" if inside else address.url
