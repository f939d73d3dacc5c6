"""Files of the paper's tables: from the folder that CLARYSAGE_DATA names, or downloaded with a checksum by pooch."""

from __future__ import annotations

import hashlib
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

from clarysage.errors import ClarysageError, ClarysageWarning, InputError, MissingLibraryError

DATA_VARIABLE, CACHE_VARIABLE = "CLARYSAGE_DATA", "CLARYSAGE_CACHE"


class MissingDataError(ClarysageError, OSError):
    """A table that is neither in the data directory nor available at its public address."""


@dataclass(frozen=True)
class PublishedFile:
    """A file at a public address, and its SHA-256; its name is the end of the address."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


def in_data_directory(name: str, sha256: str) -> Path | None:
    """Returns the path of a file in the data directory, None where it is absent; warns if the checksum differs."""
    folder = data_directory()
    if folder is None or not (path := folder / name).is_file():
        return None
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(DATA_VARIABLE, got=f"{path}: {error.strerror}", wanted="a file that may be read") from error
    if digest != sha256:
        warnings.warn(
            f"{path} has a different SHA-256 than the file that is known by this name; it is read as it is, and "
            "results may differ from those of others.",
            ClarysageWarning,
            stacklevel=2,
        )
    return path


def data_directory() -> Path | None:
    """Returns the folder that CLARYSAGE_DATA names, None where the variable is not set."""
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        return None
    path = Path(os.path.expanduser(folder))
    if not path.is_dir():
        raise InputError(DATA_VARIABLE, got=f"{folder!r}, which is no folder", wanted="a folder that holds the tables")
    return path


def path_of(file: PublishedFile, table: str) -> Path:
    """Returns the path of a published file, downloaded if it is in neither the data directory nor the cache."""
    return in_data_directory(file.name, file.sha256) or _downloaded(file, table)


def missing_file(name: str, attempt: str, advice: str) -> MissingDataError:
    """Returns the error about a file: what was tried, which file to get, and where to put it."""
    folder = data_directory()
    where = f"a data directory ({DATA_VARIABLE} is not set)" if folder is None else f"the data directory {folder}"
    return MissingDataError(
        f"{name} is not in {where}, and {attempt}. {advice}, put it into a folder, and name that folder by the "
        f"environment variable {DATA_VARIABLE}."
    )


def _downloaded(file: PublishedFile, table: str) -> Path:
    try:
        import pooch
    except ImportError as error:
        raise MissingLibraryError("pooch", "paper", f"Downloading {file.name}") from error
    cache = pooch.create(
        pooch.os_cache("clarysage"),
        base_url="",
        registry={file.name: f"sha256:{file.sha256}"},
        urls={file.name: file.url},
        env=CACHE_VARIABLE,
    )
    try:
        return Path(cache.fetch(file.name))
    except (OSError, ValueError) as error:  # no connection, no such page, no place for it; another checksum
        raise missing_file(
            file.name,
            f"could not be downloaded ({error})",
            f"Download {file.url} yourself, or take {table}.parquet if you have it",
        ) from error
