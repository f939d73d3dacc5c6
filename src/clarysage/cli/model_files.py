"""Models on disk, by the suffixes of their names; ``module:name`` is an object of a Python module.

Files of libraries of models are data; ``models.libraries`` lists them. A skops file may hold only types that we vouch
for, or the user does. A pickle can run any code while it is read, so it is read only on request.
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

from clarysage.cli.console import reason
from clarysage.cli.files import check_readable, imported
from clarysage.errors import ClarysageError, FormatError, InputError, resembling
from clarysage.models.libraries import LIBRARIES, ModelFile


@dataclass(frozen=True)
class Trust:
    """What the user allows a model file to do: run code as a pickle, hold further types as skops."""

    pickles: bool = False
    types: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A kind of model file: what it is called, the library that reads it and its extra, and how."""

    name: str
    package: str
    extra: str | None
    load: Callable[[Path, Trust], Any]


def formats() -> dict[str, Format]:
    """How model files are read, by the suffixes of their names: those of libraries of models, and those of Python."""
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
    """The model in a file, by its suffix, or the object that ``module:name`` names."""
    path = Path(source)
    if names_object(source):
        return _imported(source)
    kind = formats().get(path.suffix.lower())
    if kind is None:
        known = ", ".join(formats())
        raise InputError("MODEL", got=f"{source!r}", wanted=f"a file that ends in {known}, or module:name")
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
    """What names of model files end in, for help, beside the libraries where the ending alone does not tell."""
    of_libraries = [
        f"{library.title} {' or '.join(library.file.suffixes)}"
        for library in LIBRARIES.values()
        if library.file is not None
    ]
    others = [suffix for suffix, kind in formats().items() if kind.package not in LIBRARIES]
    return ", ".join([*of_libraries, *others])


def names_object(source: str, folder: Path = Path()) -> bool:
    """Whether a source is ``module:name``, and not a file of the folder.

    Examples
    --------
    >>> names_object("models:forest.best"), names_object("forest.skops")
    (True, False)
    """
    return re.fullmatch(r"[^\W\d][\w.]*:[^\W\d][\w.]*", source) is not None and not (folder / source).exists()


def _imported(source: str) -> Any:
    """The object ``module:name``, the module being in the current folder or installed."""
    module, _, name = source.partition(":")
    _see_current_folder()
    try:
        thing: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise InputError(
            "MODEL",
            got=f"{source!r}: {type(error).__name__}, {reason(error)}",
            wanted="a module in the current folder or an installed one",
        ) from error
    for part in name.split("."):
        if not hasattr(thing, part):
            raise InputError(
                "MODEL",
                got=f"{source!r}: no {part!r} in {module}",
                wanted="a function or model of the module",
                hint=resembling(part, dir(thing)),
            )
        thing = getattr(thing, part)
    return thing


def _see_current_folder() -> None:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _data(file: ModelFile, path: Path, trust: Trust) -> Any:
    """A file of data, which needs no trust."""
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
            got=f"{path.name}, a pickle, which can run any code while it is read",
            wanted="a format that holds data alone, such as .skops or .onnx",
            hint="--allow-pickle if you trust whoever wrote the file",
        )
    _see_current_folder()  # where the classes of the model may be defined
    return joblib.load(path)
