"""Loads models from files, by their suffix, or from a Python module by ``module:name``.

Files of model libraries contain only data; ``models.libraries`` lists them. A skops file may contain only types that
clarysage or the user trusts. A pickle can run any code while it is loaded, so it is loaded only on request.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.cli.checks import check_readable, imported
from clarysage.cli.console import reason
from clarysage.errors import ClarysageError, FormatError, InputError, resembling
from clarysage.models.libraries import LIBRARIES, ModelFile


@dataclass(frozen=True)
class Trust:
    """The trust of the user in model files: in pickles, which can run code, and in additional types of skops files."""

    pickles: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format of model files: its name, the package and extra that read it, and the function that loads it."""

    name: str
    package: str
    extra: str | None
    load: Callable[[Path, Trust], Any]


def formats() -> dict[str, Format]:
    """Returns the formats of model files by suffix: those of model libraries, skops and pickles."""
    of_libraries = {
        suffix: Format(library.file.kind, library.name, library.extra, partial(_data, library.file))
        for library in LIBRARIES.values()
        if library.file is not None
        for suffix in library.file.suffixes
    }
    skops, pickle = (
        Format("a skops model", "skops.io", "skops", _skops),
        Format("a pickled model", "joblib", "models", _pickle),
    )
    return {**of_libraries, ".skops": skops, **dict.fromkeys((".joblib", ".pkl", ".pickle"), pickle)}


def load_model(source: str, trust: Trust) -> Any:
    """Loads the model from a file, by its suffix, or the object named ``module:name``."""
    path = Path(source)
    if names_object(source):
        return _imported(source)
    kind = formats().get(path.suffix.lower())
    if kind is None:
        suffixes = ", ".join(formats())
        raise InputError("MODEL", got=f"{source!r}", wanted=f"a file that ends in {suffixes}, or module:name")
    check_readable("MODEL", path)
    imported(kind.package, kind.extra, f"Reading {kind.name}")
    try:
        return kind.load(path, trust)
    except ClarysageError:
        raise
    except Exception as error:
        raise FormatError(
            "MODEL", got=f"{path.name}, which {kind.package} cannot read ({reason(error)})", wanted=kind.name
        ) from error


def endings() -> str:
    """Returns the suffixes of model files for the help, with the names of model libraries."""
    of_libraries = [
        f"{library.title} {' or '.join(library.file.suffixes)}"
        for library in LIBRARIES.values()
        if library.file is not None
    ]
    others = [suffix for suffix, kind in formats().items() if kind.package not in LIBRARIES]
    return ", ".join([*of_libraries, *others])


def names_object(source: str, folder: Path = Path()) -> bool:
    """Tells whether a source is ``module:name`` and not a file in the folder.

    Examples
    --------
    >>> names_object("models:forest.best"), names_object("forest.skops")
    (True, False)
    """
    return re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", source) is not None and not (folder / source).exists()


def _imported(source: str) -> Any:
    """Imports the object ``module:name``; the module is in the current folder or installed."""
    module, _, name = source.partition(":")
    _see_current_folder()
    try:
        value: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(
            "MODEL",
            got=f"{source!r}: {type(error).__name__}, {reason(error)}",
            wanted="a module in the current folder or an installed one",
        ) from error
    for part in name.split("."):
        if not hasattr(value, part):
            raise InputError(
                "MODEL",
                got=f"{source!r}: no {part!r} in {module}",
                wanted="a function or model of the module",
                hint=resembling(part, dir(value)),
            )
        value = getattr(value, part)
    return value


def _see_current_folder() -> None:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _data(file: ModelFile, path: Path, trust: Trust) -> Any:
    """Loads a file that contains only data, so it needs no trust."""
    try:
        return file.read(path)
    except FormatError as error:
        raise FormatError("MODEL", **error.parts) from error


def _skops(path: Path, trust: Trust) -> Any:
    import skops.io

    from clarysage.cli.skops_files import load

    return load(skops.io, path, trust.types)


def _pickle(path: Path, trust: Trust) -> Any:
    import joblib

    if not trust.pickles:
        raise InputError(
            "MODEL",
            got=f"{path.name}, a pickle, which can run any code while it is loaded",
            wanted="a format that contains only data, such as .skops or .onnx",
            hint="--allow-pickle if you trust the author of the file",
        )
    _see_current_folder()  # where the classes of the model may be defined
    return joblib.load(path)
