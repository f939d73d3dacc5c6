"""Files: saves results as JSON and loads them; files are written atomically and checked field by field when read.

Each kind of result is a row of :data:`KINDS`, which the decorator :func:`file_format` adds where the class is defined.
The fields of a file follow from the types of the fields of that class (:mod:`clarysage.codec`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from clarysage._utils.atomic import write_atomically
from clarysage.codec import AS_WRITTEN, decode, encode, fields_on_request
from clarysage.errors import Call, FormatError, Note, Set
from clarysage.registry import Registry

VERSION = 2
PREFIX = "clarysage "  # of the format that a file states
MOST_NUMBERS = 1_000_000  # about single rows, some 20 MB: files have more of them only if asked for
SAVED_WITH_ROWS = Call("save", "path", (Set("rows", True),))
LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # as in names of files that are not valid UTF-8

Result = TypeVar("Result")


@dataclass(frozen=True)
class Kind:
    """A kind of result.

    Attributes
    ----------
    name : name of the kind in files, after "clarysage"
    result : class of the result, a dataclass
    summary : description in one line
    checked : properties that files hold in addition to the fields, and that must agree with the fields
    shown : entries that files hold for people and other programs; they are ignored when a file is read
    """

    name: str
    result: type
    summary: str
    checked: tuple[str, ...]
    shown: Mapping[str, Callable[[Any], Any]]
    aliases: tuple[str, ...] = ()

    @property
    def format(self) -> str:
        return f"{PREFIX}{self.name}"


KINDS: Registry[Kind] = Registry("format")


def file_format(
    name: str, summary: str, *, checked: tuple[str, ...] = (), shown: Mapping[str, Callable[[Any], Any]] | None = None
) -> Callable[[type[Result]], type[Result]]:
    """Returns a decorator that registers a dataclass as a kind of result that files can hold; see :class:`Kind`."""

    def registered(result: type[Result]) -> type[Result]:
        KINDS.register(Kind(name, result, summary, checked, shown or {}))
        return result

    return registered


def as_plain(result: Any, *, rows: bool = False) -> dict[str, Any]:
    """Returns a result as plain objects for JSON; contributions of single rows are included only with ``rows``."""
    kind = next(kind for kind in KINDS.values() if isinstance(result, kind.result))
    return {
        "format": kind.format,
        "version": VERSION,
        **encode(result, on_request=rows),
        **{name: getattr(result, name) for name in kind.checked},
        **{name: show(result) for name, show in kind.shown.items()},
    }


def from_plain(data: Any, path: str = "data") -> Any:
    """Returns the result that plain objects describe; errors name the path and the invalid field."""
    kind = _kind_of(data, path)
    ignored = {"format", "version", *kind.checked, *kind.shown}
    result: Any = decode(kind.result, {name: data[name] for name in data if name not in ignored}, path)
    for name in kind.checked:
        computed = getattr(result, name)
        if name not in data or data[name] != computed or type(data[name]) is not type(computed):
            raise _damaged(path, name, data, f"{computed!r}, which follows from the other fields")
    return result


def save(result: Any, path: str | Path, *, rows: bool = False) -> None:
    """Writes a result as JSON atomically; contributions of single rows are included only with ``rows``."""
    write_atomically(as_json(as_plain(result, rows=rows)) + "\n", path)


def numbers_of_rows(result: Any) -> int:
    """Returns how many numbers about single rows a result holds, which files hold on request."""
    arrays = (getattr(result, name) for name in fields_on_request(type(result)))
    return sum(array.size for array in arrays if array is not None)


def rows_by_default(result: Any) -> tuple[bool, Note | None]:
    """Tells whether a file holds contributions of single rows unless told otherwise, with a note if there are too many.

    Comparisons of results from files then are those of the results that were saved.
    """
    size = numbers_of_rows(result)
    if size <= MOST_NUMBERS:
        return size > 0, None
    text = (
        f"The file is without the contributions of single rows, {size:,} numbers: comparisons with explanations of the "
        "same rows, and merged runs, will be less precise after loading. They are kept by "
    )
    return False, Note((text, SAVED_WITH_ROWS, "."))


def load(path: str | Path) -> Any:
    """Read a result that ``save`` wrote; every field is checked.

    Parameters
    ----------
    path : a file that ``save`` wrote, or ``--json`` of a command

    Returns
    -------
    the result, of the class that was saved, such as an Explanation or a Comparison

    Examples
    --------
    >>> import numpy as np
    >>> import clarysage as cs
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sage.json"
    >>> cs.sage(lambda X: X[:, 0], X, X[:, 0], rng=0).save(path)
    >>> load(path).top(1)
    ['x0']
    """
    return from_plain(_read(Path(path)), Path(path).name)


def as_json(data: Any) -> str:
    """Returns plain objects as JSON that UTF-8 can encode: lone surrogates, which it cannot, are escaped."""
    text = json.dumps(data, allow_nan=False, indent=1, ensure_ascii=False)
    return LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise FormatError("path", got=f"{path}: {error.strerror}", wanted="a file that can be read") from error
    except (ValueError, RecursionError) as error:
        got = f"{path.name}, which is not JSON ({error})"
        raise FormatError("path", got=got, wanted="a saved result") from error


def _kind_of(data: Any, path: str) -> Kind:
    """Returns the kind of result that plain objects state; raises for unknown kinds and other versions."""
    name = data.get("format") if isinstance(data, dict) else None
    kind = KINDS.get(name.removeprefix(PREFIX)) if isinstance(name, str) else None
    if kind is None or kind.format != name:
        expected = " or ".join(repr(kind.format) for kind in KINDS.values())
        raise _damaged(path, "format", data, expected)
    version = data.get("version")
    if type(version) is int and 0 < version != VERSION:
        raise FormatError(
            f"{path}: version",
            got=f"{version}",
            wanted=f"{VERSION}, which this release reads",
            hint=f"the {'older' if version < VERSION else 'newer'} release that wrote the file, or a new computation",
        )
    if type(version) is not int or version != VERSION:
        raise _damaged(path, "version", data, f"{VERSION}, which this release reads")
    return kind


def _damaged(path: str, name: str, data: Any, expected: str) -> FormatError:
    got = repr(data.get(name, "no such field")) if isinstance(data, dict) else type(data).__name__
    return FormatError(f"{path}: {name}", got=got[:120], wanted=expected, hint=AS_WRITTEN)


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is not a number that JSON allows")
