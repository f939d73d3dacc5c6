"""Files and libraries that a run needs: there, or an error that says what to do."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.errors import InputError, MissingLibraryError, resembling


def check_readable(what: str, path: Path, *, suffix: str = "", folder: bool = False) -> None:
    """Raise unless the file, or a folder where that will do, is there and may be read.

    Names like it, with the suffix, are suggested.
    """
    if (os.path.isfile(path) or (folder and os.path.isdir(path))) and os.access(
        path, os.R_OK
    ):  # unlike its method, no error for a name that is too long
        return
    if os.path.exists(path):
        raise InputError(what, got=f"{path}, which is no file that may be read", wanted="a file")
    near = resembling(path.name, [name for name in _names_in(path.parent) if name.lower().endswith(suffix)])
    raise InputError(what, got=f"{path}, which does not exist", wanted="a file", hint=near)


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def imported(library: str, extra: str, purpose: str) -> Any:
    """A library, or the error that names the extra it comes with."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(library.partition(".")[0], extra, purpose) from error
