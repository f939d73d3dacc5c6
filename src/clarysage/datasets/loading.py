"""From a row of the table to a Dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from clarysage.datasets.dataset import Dataset
from clarysage.datasets.places import Places, is_tidy_file, not_published, warn_of_difference
from clarysage.datasets.row import DatasetRow
from clarysage.errors import ClarysageError, FormatError, MissingLibraryError


def load(row: DatasetRow, *, directory: str | os.PathLike[str] | None = None, download: bool = True) -> Dataset:
    """The dataset of a row; ``directory`` and ``download`` say where to look for it, see :class:`Places`."""
    table, what = _tidy(row, directory, download)
    with _as_format_error(row, what):
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


def _tidy(row: DatasetRow, directory: Any, download: bool) -> tuple[Any, str]:
    """The tidy table, and what it was read from."""
    if row.is_bundled:
        return _read(row, [], row.name)
    places = Places.of(directory, download)
    path = places.tidy(row)
    if path is not None and (find_spec("pyarrow") or not places.has_all(row)):
        return _parquet(path, row)
    return _read(row, [places.content(file, row) for file in row.files], ", ".join(file.name for file in row.files))


def _read(row: DatasetRow, contents: list[bytes], what: str) -> tuple[Any, str]:
    if row.read is None:
        raise not_published(row)
    with _as_format_error(row, what):
        return row.read(contents), what


def _parquet(path: Path, row: DatasetRow) -> tuple[Any, str]:
    if not find_spec("pyarrow"):
        raise MissingLibraryError("pyarrow", "arrow", f"Reading {path}")
    import pandas as pd

    with _as_format_error(row, str(path)):
        if not is_tidy_file(path, row):
            warn_of_difference(path)
        return pd.read_parquet(path), str(path)


@contextmanager
def _as_format_error(row: DatasetRow, what: str) -> Iterator[None]:
    """Turns whatever goes wrong with a file into an error about that file."""
    try:
        yield
    except (ClarysageError, Warning):
        raise
    except Exception as error:
        raise FormatError(
            row.name, got=f"{what}, which cannot be read ({error})", wanted="the table as it is published"
        ) from error
