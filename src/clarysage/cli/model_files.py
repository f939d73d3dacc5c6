"""Models on disk. ``FORMATS`` is the table of suffixes; ``module:name`` is an object of a Python module.

XGBoost, LightGBM, CatBoost and ONNX files are data. A skops file may hold only types that we vouch for, or the user
does. A pickle can run any code while it is read, so it is read only on request.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from clarysage.cli.console import reason
from clarysage.cli.files import check_readable, imported
from clarysage.errors import ClarysageError, FormatError, InputError, resembling


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
    extra: str
    load: Callable[[Any, Path, Trust], Any]


def load_model(source: str, trust: Trust) -> Any:
    """The model in a file, by its suffix, or the object that ``module:name`` names."""
    path = Path(source)
    if names_object(source):
        return _imported(source)
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        known = ", ".join(FORMATS)
        raise InputError("MODEL", got=f"{source!r}", wanted=f"a file that ends in {known}, or module:name")
    check_readable("MODEL", path)
    library = imported(kind.package, kind.extra, f"Reading {kind.name}")
    try:
        return kind.load(library, path, trust)
    except ClarysageError:
        raise
    except Exception as error:
        raise FormatError(
            "MODEL", got=f"{path.name}, which {kind.package} cannot read ({reason(error)})", wanted=kind.name
        ) from error


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
            "MODEL", got=f"{source!r}: {type(error).__name__}, {reason(error)}",
            wanted="a module in the current folder or an installed one",
        ) from error  # fmt: skip
    for part in name.split("."):
        if not hasattr(thing, part):
            raise InputError(
                "MODEL", got=f"{source!r}: no {part!r} in {module}", wanted="a function or model of the module",
                hint=resembling(part, dir(thing)),
            )  # fmt: skip
        thing = getattr(thing, part)
    return thing


def _see_current_folder() -> None:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _xgboost(library: Any, path: Path, trust: Trust) -> Any:
    library.set_config(verbosity=0)
    return library.Booster(model_file=path)


def _lightgbm(library: Any, path: Path, trust: Trust) -> Any:
    with path.open(encoding="utf-8") as file:
        lines = (line.rstrip() for line in file)
        is_whole = next(lines, "") == "tree" and "end of trees" in lines
    if not is_whole:  # LightGBM itself crashes on a file that was cut off
        raise FormatError("MODEL", got=f"{path.name}, which is not a whole LightGBM model", wanted="a LightGBM model",
                          hint="a file that Booster.save_model wrote")  # fmt: skip
    return library.Booster(model_file=path)


def _catboost(library: Any, path: Path, trust: Trust) -> Any:
    return library.CatBoost().load_model(str(path))


def _onnx(library: Any, path: Path, trust: Trust) -> Any:
    library.set_default_logger_severity(4)  # what fails is said once, by us
    return library.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def _skops(library: Any, path: Path, trust: Trust) -> Any:
    from clarysage.cli.skops_files import load

    return load(library, path, trust.types)


def _pickle(library: Any, path: Path, trust: Trust) -> Any:
    if not trust.pickles:
        raise InputError(
            "MODEL", got=f"{path.name}, a pickle, which can run any code while it is read",
            wanted="a format that holds data alone, such as .skops or .onnx",
            hint="--allow-pickle if you trust whoever wrote the file",
        )  # fmt: skip
    _see_current_folder()  # where the classes of the model may be defined
    return library.load(path)


XGBOOST = Format("an XGBoost model", "xgboost", "xgboost", _xgboost)
PICKLE = Format("a pickled model", "joblib", "models", _pickle)

# suffix -> how it is read
FORMATS: dict[str, Format] = {
    ".json": XGBOOST,
    ".ubj": XGBOOST,
    ".txt": Format("a LightGBM model", "lightgbm", "lightgbm", _lightgbm),
    ".cbm": Format("a CatBoost model", "catboost", "catboost", _catboost),
    ".onnx": Format("an ONNX model", "onnxruntime", "onnx", _onnx),
    ".skops": Format("a skops model", "skops.io", "skops", _skops),
    ".joblib": PICKLE,
    ".pkl": PICKLE,
    ".pickle": PICKLE,
}
