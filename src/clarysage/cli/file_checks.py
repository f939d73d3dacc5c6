"""Checks files and optional libraries before a run, with helpful errors."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.errors import InputError, MissingLibraryError, resembling


def check_readable(argument: str, path: Path, *, suffix: str = "", folder: bool = False) -> None:
    """Raises an error unless the file, or the folder if ``folder`` is true, exists and can be read.

    The hint suggests similar names with the suffix.
    """
    if (os.path.isfile(path) or (folder and os.path.isdir(path))) and os.access(
        path, os.R_OK
    ):  # unlike its method, no error for a name that is too long
        return
    if os.path.exists(path):
        raise InputError(argument, got=f"{path}, which is not a readable file", wanted="a file")
    similar = resembling(path.name, [name for name in _names_in(path.parent) if name.lower().endswith(suffix)])
    raise InputError(argument, got=f"{path}, which does not exist", wanted="a file", hint=similar)


def check_writable(option: str, path: Path, inputs: list[Path]) -> None:
    """Raises an error unless the file can be written without overwriting an input."""
    if not path.parent.is_dir():
        raise InputError(
            option, got=f"{path}, in a folder that does not exist", wanted="a file in a folder that exists"
        )
    if path.is_dir():
        raise InputError(option, got=f"{path}, which is a folder", wanted="the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InputError(option, got=f"{path}, which is not writable", wanted="a writable file")
    if any(path.exists() and given.exists() and path.samefile(given) for given in inputs):
        raise InputError(option, got=f"{path}, which is an input of the run", wanted="another file")


def explanation_in(path: Path) -> Any:
    """Loads the explanation in a file; raises an error for other results."""
    import clarysage as cs

    check_readable("FILE", path)
    result = cs.load(path)
    if not isinstance(result, cs.Explanation):
        raise InputError(
            "FILE",
            got=f"{path}, which contains {type(result).__name__}",
            wanted="an explanation",
            hint="a file written by explain --json",
        )
    return result


def _names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def imported(library: str, extra: str | None, purpose: str) -> Any:
    """Imports an optional library; the error names the extra that installs it."""
    try:
        return import_module(library)
    except ModuleNotFoundError as error:
        raise MissingLibraryError(library.partition(".")[0], extra, purpose) from error
