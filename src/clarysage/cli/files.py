"""Files that a run reads and writes, and libraries that it needs: checked before the run, with advice in errors."""

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


def check_writable(option: str, path: Path, inputs: list[Path]) -> None:
    """Raise unless the file can be made where it is asked for without destroying an input."""
    if not path.parent.is_dir():
        raise InputError(
            option, got=f"{path}, in a folder that does not exist", wanted="a file in a folder that exists"
        )
    if path.is_dir():
        raise InputError(option, got=f"{path}, which is a folder", wanted="the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(option, got=f"{path}, which may not be written", wanted="a file that may be written")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(option, got=f"{path}, which is an input of the run", wanted="another file")


def explanation_in(path: Path) -> Any:
    """The explanation in a file, and no other result."""
    import clarysage as cs

    check_readable("FILE", path)
    found = cs.load(path)
    if not isinstance(found, cs.Explanation):
        raise InputError(
            "FILE",
            got=f"{path}, which holds {type(found).__name__}",
            wanted="an explanation",
            hint="a file that explain --json wrote",
        )
    return found


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def imported(library: str, extra: str | None, purpose: str) -> Any:
    """A library, or the error that names the extra it comes with."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(library.partition(".")[0], extra, purpose) from error
