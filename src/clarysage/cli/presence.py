"""Files and libraries that a run needs: there, or an error that says what to do."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.errors import InputError, MissingLibraryError, resembling


def check_readable(what: str, path: Path) -> None:
    """Raise unless the file is there and may be read; names like it are suggested."""
    if path.is_file() and os.access(path, os.R_OK):
        return
    if path.exists():
        raise InputError(what, got=f"{path}, which is no file that may be read", wanted="a file")
    near = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
    raise InputError(
        what, got=f"{path}, which does not exist", wanted="a file", hint=resembling(path.name, near)
    )  # fmt: skip


def imported(library: str, extra: str, purpose: str) -> Any:
    """A library, or the error that names the extra it comes with."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(library.partition(".")[0], extra, purpose) from error
