"""Serialises dataclasses to plain objects for JSON, and back, by the types of their fields.

A field is text, a number, a choice (an enum or a ``Literal``), an array, another dataclass, or an optional, a sequence
or a mapping of these. Decoding checks that every field exists and has its type, and that the conditions of the
dataclass hold (in ``__post_init__``, by :func:`require` and :func:`freeze_arrays`); an error names the path of the
field, what it was and what is expected. No code in the data is executed.
"""

from __future__ import annotations

import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from clarysage.errors import FormatError, InputError, Words

T = TypeVar("T")

ON_REQUEST = {"file": "on request"}  # metadata of fields that are written only on request
AS_WRITTEN = "a file that save wrote, as it was"


@dataclass(frozen=True)
class Array:
    """The annotation of an array of numbers: ``Annotated[np.ndarray, Array("n p", low=0)]``.

    Parameters
    ----------
    shape : sizes of the dimensions, each a number, or a letter that stands for the same size in all fields of a
        dataclass; empty for arrays of any shape
    low : the smallest allowed number
    is_symmetric : whether it is a symmetric matrix, of which files have the lower triangle
    has_gaps : whether numbers may be missing: NaN, which is null in files
    is_boolean, is_whole : whether it has booleans instead of numbers, or only whole numbers
    """

    shape: str = ""
    low: float = -math.inf
    is_symmetric: bool = False
    has_gaps: bool = False
    is_boolean: bool = False
    is_whole: bool = False

    @property
    def sizes(self) -> tuple[int | str, ...]:
        return tuple(int(size) if size.isdecimal() else size for size in self.shape.split())

    @property
    def dtype(self) -> type:
        if self.is_boolean:
            return np.bool_
        return np.int64 if self.is_whole else np.float64


def encode(value: Any, *, on_request: bool = False) -> dict[str, Any]:
    """Encodes a dataclass as plain objects; fields on request are included only if ``on_request``."""
    return _Record(type(value)).encode(value, on_request)


def decode(kind: type[T], data: Any, path: str) -> T:
    """Decodes a dataclass from plain objects; a :class:`~clarysage.errors.FormatError` says which field is wrong.

    Examples
    --------
    >>> from clarysage.errors import Set
    >>> decode(Set, encode(Set("budget", 1000)), "data")
    Set(argument='budget', value=1000)
    >>> decode(Set, {"argument": 3, "value": None}, "data")
    Traceback (most recent call last):
    clarysage.errors.FormatError: data: argument: got 3; wanted text. Try a file that save wrote, as it was.
    """
    result: T = _Record(kind).decode(data, path)
    return result


def fields_on_request(kind: type) -> tuple[str, ...]:
    """Returns the names of the fields that are written only on request."""
    return tuple(name for name, (_, is_optional) in _fields(kind).items() if is_optional)


def require(holds: bool, argument: str, got: Any, expected: Words) -> None:
    """Raises an error about a field of a dataclass, if a condition does not hold."""
    if not holds:
        raise InputError(argument, got=_shown(got), wanted=expected)


def freeze_arrays(instance: Any, **sizes: int) -> None:
    """Makes the arrays of a frozen dataclass read-only, and checks that their shapes fit together.

    It is called by ``__post_init__``; ``sizes`` are the known sizes by their letters.
    """
    kind: Any = type(instance)
    for name, array in _arrays(kind):
        value = getattr(instance, name)
        if value is not None:
            object.__setattr__(instance, name, _checked(name, value, array, sizes))


def read_only(value: Any, dtype: Any = np.float64) -> np.ndarray:
    """Returns a read-only array: the value itself if it is one, and not a view of a writable array, else a copy."""
    if isinstance(value, np.ndarray) and value.dtype == dtype and not value.flags.writeable and value.base is None:
        return value
    numbers = np.array(value, dtype=dtype)
    numbers.setflags(write=False)
    return numbers


def _checked(name: str, value: Any, array: Array, sizes: dict[str, int]) -> np.ndarray:
    numbers = _with_shape(name, read_only(value, array.dtype), array, sizes)
    if array.low > -math.inf:
        require(not (numbers < array.low).any(), name, value, f"numbers of {array.low:g} or more")
    if array.is_symmetric:  # the halves may differ by rounding, and files have only one of them
        numbers = np.tril(numbers) + np.tril(numbers, -1).T
        numbers.setflags(write=False)
    return numbers


def _with_shape(name: str, numbers: np.ndarray, array: Array, sizes: dict[str, int]) -> np.ndarray:
    """Returns the array if its shape is right; without rows (an empty list in files), it gets the right columns.

    New sizes of this array are added to ``sizes``.
    """
    if not array.sizes:
        return numbers
    expected = [size if isinstance(size, int) else sizes.get(size) for size in array.sizes]
    if numbers.ndim == len(expected) and len(numbers) == 0 and None not in expected[1:]:
        numbers = numbers.reshape(0, *(size or 0 for size in expected[1:]))
    if numbers.ndim != len(expected) or any(
        size not in (None, actual) for size, actual in zip(expected, numbers.shape, strict=True)
    ):
        shape = ", ".join(
            str(letter if size is None else size) for letter, size in zip(array.sizes, expected, strict=True)
        )
        raise InputError(name, got=f"an array of shape {numbers.shape}", wanted=f"one of shape ({shape})")
    for letter, actual in zip(array.sizes, numbers.shape, strict=True):
        sizes.setdefault(str(letter), actual)
    return numbers


class Codec(Protocol):
    """Encoder and decoder of the values of a type.

    Attributes
    ----------
    expected : description of the plain objects, for errors
    reads : types of the plain objects
    """

    @property
    def expected(self) -> str: ...

    @property
    def reads(self) -> tuple[type, ...]: ...

    def holds(self, value: Any) -> bool:
        """Tells whether a value has the type."""
        ...

    def encode(self, value: Any, on_request: bool) -> Any: ...

    def decode(self, data: Any, path: str) -> Any: ...


@dataclass(frozen=True)
class _Scalar:
    """Codec of text, numbers, booleans and None."""

    kind: type
    expected: str
    reads: tuple[type, ...]
    writes: tuple[type, ...]

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.writes) and (self.kind is bool or not isinstance(value, bool))

    def encode(self, value: Any, on_request: bool) -> Any:
        if not self.holds(value) or (self.kind is float and not math.isfinite(value)):
            raise _misfit(value, self.expected)
        return None if value is None else self.kind(value)

    def decode(self, data: Any, path: str) -> Any:
        is_right = type(data) in self.reads
        if is_right and self.kind is float:
            is_right = _is_finite(data)
        _demand(is_right, path, data, self.expected)
        return None if data is None else self.kind(data)


SCALARS: dict[Any, _Scalar] = {
    str: _Scalar(str, "text", (str,), (str,)),
    bool: _Scalar(bool, "true or false", (bool,), (bool, np.bool_)),
    int: _Scalar(int, "a whole number", (int,), (int, np.integer)),
    float: _Scalar(float, "a finite number", (float, int), (float, int, np.floating, np.integer)),
    types.NoneType: _Scalar(types.NoneType, "null", (types.NoneType,), (types.NoneType,)),
}


@dataclass(frozen=True)
class _Numbers:
    """Codec of arrays, as nested lists."""

    array: Array
    expected: str
    reads: tuple[type, ...] = (list,)

    def holds(self, value: Any) -> bool:
        return isinstance(value, np.ndarray)

    def encode(self, value: Any, on_request: bool) -> Any:
        if not self.array.has_gaps and not np.isfinite(value).all():
            raise _misfit(value, self.expected)
        if self.array.is_symmetric:
            return [row[: i + 1] for i, row in enumerate(value.tolist())]
        return _with_nulls(value.tolist()) if self.array.has_gaps else value.tolist()

    def decode(self, data: Any, path: str) -> np.ndarray:
        rows = _from_triangle(data) if self.array.is_symmetric else data
        numbers = _as_array(rows, self.array) if isinstance(rows, list) else None
        _demand(numbers is not None, path, data, self.expected)
        assert numbers is not None
        missing = len(self.array.sizes) - numbers.ndim
        return numbers.reshape(0, *[0] * missing) if numbers.size == 0 and missing > 0 else numbers


def _from_triangle(rows: Any) -> list[list[Any]] | None:
    """Returns the complete matrix, given the rows of its lower triangle; None if the data is not a triangle."""
    if not isinstance(rows, list) or any(not isinstance(row, list) for row in rows):
        return None
    if [len(row) for row in rows] != list(range(1, len(rows) + 1)):
        return None
    return [[rows[max(i, j)][min(i, j)] for j in range(len(rows))] for i in range(len(rows))]


def _as_array(rows: list[Any], array: Array) -> np.ndarray | None:
    """Returns nested lists as an array; None if they contain other types, or rows of different lengths."""
    allowed: set[type] = {int, float}
    if array.is_boolean:
        allowed = {bool}
    elif array.is_whole:
        allowed = {int}
    if not set(_kinds(rows)) <= (allowed | {types.NoneType} if array.has_gaps else allowed):
        return None
    try:
        numbers: np.ndarray = np.array(rows, dtype=array.dtype)
    except (ValueError, TypeError, OverflowError):
        return None
    is_finite = not np.isinf(numbers).any() if array.has_gaps else np.isfinite(numbers).all()
    return numbers if is_finite and not (numbers < array.low).any() else None


@dataclass(frozen=True)
class _Choice:
    """Codec of members of an enum, by their names, or of texts in a ``Literal``."""

    members: Mapping[str, Any]
    expected: str
    reads: tuple[type, ...] = (str,)

    def holds(self, value: Any) -> bool:
        return any(value is member or value == member for member in self.members.values())

    def encode(self, value: Any, on_request: bool) -> str:
        if not self.holds(value):
            raise _misfit(value, self.expected)
        return next(name for name, member in self.members.items() if member == value)

    def decode(self, data: Any, path: str) -> Any:
        _demand(isinstance(data, str) and data in self.members, path, data, self.expected)
        return self.members[data]


@dataclass(frozen=True)
class _Items:
    """Codec of tuples, lists and sequences of any length, as lists."""

    kind: type
    item: Codec
    reads: tuple[type, ...] = (list,)

    @property
    def expected(self) -> str:
        return f"a list of {self.item.expected}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, (tuple, list))

    def encode(self, value: Any, on_request: bool) -> Any:
        return [self.item.encode(item, on_request) for item in value]

    def decode(self, data: Any, path: str) -> Any:
        _demand(isinstance(data, list), path, data, self.expected)
        return self.kind(self.item.decode(item, f"{path}: {number}") for number, item in enumerate(data, start=1))


@dataclass(frozen=True)
class _Fixed:
    """Codec of tuples of a given length, as lists."""

    items: tuple[Codec, ...]
    reads: tuple[type, ...] = (list,)

    @property
    def expected(self) -> str:
        return f"a list of {len(self.items)}: {', '.join(item.expected for item in self.items)}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, tuple) and len(value) == len(self.items)

    def encode(self, value: Any, on_request: bool) -> Any:
        return [codec.encode(item, on_request) for codec, item in zip(self.items, value, strict=True)]

    def decode(self, data: Any, path: str) -> Any:
        _demand(isinstance(data, list) and len(data) == len(self.items), path, data, self.expected)
        return tuple(codec.decode(item, path) for codec, item in zip(self.items, data, strict=True))


@dataclass(frozen=True)
class _Named:
    """Codec of mappings with names as keys."""

    item: Codec
    reads: tuple[type, ...] = (dict,)

    @property
    def expected(self) -> str:
        return f"a mapping of names to {self.item.expected}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, Mapping)

    def encode(self, value: Any, on_request: bool) -> Any:
        return {
            SCALARS[str].encode(name, on_request): self.item.encode(item, on_request) for name, item in value.items()
        }

    def decode(self, data: Any, path: str) -> Any:
        _demand(isinstance(data, dict), path, data, self.expected)
        return {name: self.item.decode(item, f"{path}: {name}") for name, item in data.items()}


@dataclass(frozen=True)
class _OneOf:
    """Codec of values of several types; if several are dataclasses, each is a mapping of its name to its fields."""

    members: tuple[Codec, ...]

    @property
    def expected(self) -> str:
        first, last = self.members[:-1], self.members[-1]
        return f"{', '.join(member.expected for member in first)} or {last.expected}"

    @property
    def reads(self) -> tuple[type, ...]:
        return tuple(kind for member in self.members for kind in member.reads)

    def holds(self, value: Any) -> bool:
        return any(member.holds(value) for member in self.members)

    def encode(self, value: Any, on_request: bool) -> Any:
        member = next((member for member in self.members if member.holds(value)), None)
        if member is None:
            raise _misfit(value, self.expected)
        plain = member.encode(value, on_request)
        return {type(value).__name__: plain} if type(value).__name__ in self._records else plain

    def decode(self, data: Any, path: str) -> Any:
        if self._records and isinstance(data, dict):
            name = next(iter(data)) if len(data) == 1 else ""
            _demand(name in self._records, path, data, f"a mapping of one of {', '.join(self._records)}")
            return self._records[name].decode(data[name], f"{path}: {name}")
        member = next((member for member in self.members if type(data) in member.reads), None)
        _demand(member is not None, path, data, self.expected)
        assert member is not None
        return member.decode(data, path)

    @property
    def _records(self) -> dict[str, _Record]:
        """The dataclasses by their names, if there are several."""
        records = {member.kind.__name__: member for member in self.members if isinstance(member, _Record)}
        return records if len(records) > 1 else {}


@dataclass(frozen=True)
class _Plain:
    """Codec of any JSON value."""

    expected: str = "anything"
    reads: tuple[type, ...] = (str, bool, int, float, types.NoneType, list, dict)

    def holds(self, value: Any) -> bool:
        return isinstance(value, (str, bool, int, float, types.NoneType, list, tuple, Mapping))

    def encode(self, value: Any, on_request: bool) -> Any:
        if isinstance(value, Mapping):
            return {
                SCALARS[str].encode(name, on_request): self.encode(item, on_request) for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.encode(item, on_request) for item in value]
        scalar = next((scalar for scalar in SCALARS.values() if scalar.holds(value)), None)
        if scalar is None:
            raise _misfit(value, self.expected)
        return scalar.encode(value, on_request)

    def decode(self, data: Any, path: str) -> Any:
        try:
            self.encode(data, on_request=False)
        except InputError as error:  # numbers that are too large, which JSON's readers return as infinite
            raise FormatError(path, got=error.got, wanted=error.wanted, hint=AS_WRITTEN) from error
        return data


@dataclass(frozen=True)
class _Record:
    """Codec of dataclasses, as mappings of field names to values."""

    kind: type
    reads: tuple[type, ...] = (dict,)

    @property
    def expected(self) -> str:
        return f"a mapping of {', '.join(_fields(self.kind))}"

    def holds(self, value: Any) -> bool:
        return isinstance(value, self.kind)

    def encode(self, value: Any, on_request: bool) -> dict[str, Any]:
        if not self.holds(value):
            raise _misfit(value, f"a {self.kind.__name__}")
        plain = {}
        for name, (codec, is_optional) in _fields(self.kind).items():
            if is_optional and not on_request:
                continue
            try:
                plain[name] = codec.encode(getattr(value, name), on_request)
            except InputError as error:
                raise InputError(
                    f"{name}: {error.argument}".removesuffix(": "), got=error.got, wanted=error.wanted
                ) from error
        return plain

    def decode(self, data: Any, path: str) -> Any:
        _demand(isinstance(data, dict), path, data, self.expected)
        codecs = _fields(self.kind)
        for name in data:
            _demand(name in codecs, f"{path}: {name}", data[name], f"one of the fields {', '.join(codecs)}")
        parts = {}
        for name, (codec, is_optional) in codecs.items():
            if name in data:
                parts[name] = codec.decode(data[name], f"{path}: {name}")
            elif not is_optional:
                raise FormatError(f"{path}: {name}", got="no such field", wanted=codec.expected, hint=AS_WRITTEN)
        try:
            return self.kind(**parts)
        except FormatError:
            raise
        except InputError as error:
            raise FormatError(
                f"{path}: {error.argument}", got=error.got, wanted=error.wanted, hint=AS_WRITTEN
            ) from error


@cache
def _fields(kind: Any) -> dict[str, tuple[Codec, bool]]:
    """Returns the codecs of the fields of a dataclass, and whether each field is written only on request."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        field.name: (_codec(hints[field.name]), field.metadata.get("file") == ON_REQUEST["file"])
        for field in fields(kind)
        if field.init
    }


@cache
def _arrays(kind: Any) -> tuple[tuple[str, Array], ...]:
    """Returns the arrays among the fields of a dataclass, including optional ones."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(
        (field.name, annotation.__metadata__[0])
        for field in fields(kind)
        for annotation in (hints[field.name], *get_args(hints[field.name]))
        if get_origin(annotation) is Annotated and isinstance(annotation.__metadata__[0], Array)
    )


@cache
def _codec(hint: Any) -> Codec:
    """Returns the codec of a field's type."""
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Annotated and isinstance(inside[1], Array):
        return _Numbers(inside[1], _describe(inside[1]))
    if hint in SCALARS:
        return SCALARS[hint]
    if hint is Any:
        return _Plain()
    if origin in (Union, types.UnionType):
        return _OneOf(tuple(map(_codec, inside)))
    if origin is Literal:
        return _Choice({name: name for name in inside}, f"one of {', '.join(map(repr, inside))}")
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _Choice(dict(hint.__members__), f"one of {', '.join(hint.__members__)}")
    if isinstance(hint, type) and is_dataclass(hint):
        return _Record(hint)
    if origin is tuple and inside[-1] is not Ellipsis:
        return _Fixed(tuple(map(_codec, inside)))
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return _Items(list if origin is list else tuple, _codec(inside[0]))
    if isinstance(origin, type) and issubclass(origin, Mapping) and inside[0] is str:
        return _Named(_codec(inside[1]))
    raise TypeError(f"no codec for fields of {hint}")


def _describe(array: Array) -> str:
    numbers = "booleans" if array.is_boolean else "finite numbers"
    numbers += f" of {array.low:g} or more" if array.low > -math.inf else ""
    numbers += " or nulls" if array.has_gaps else ""
    if array.is_symmetric:
        return f"the rows of the lower triangle of a {array.sizes[0]} x {array.sizes[0]} matrix of {numbers}"
    return f"{' x '.join(map(str, array.sizes))} {numbers}".lstrip()


def _kinds(data: Any) -> Iterator[type]:
    """Yields the types of all values in nested lists and mappings, except of the lists and mappings themselves."""
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, list):
        flat = {type(item) for item in data}
        yield from flat - {list, dict}
        for item in data if flat & {list, dict} else ():
            if isinstance(item, (list, dict)):
                yield from _kinds(item)
    else:
        yield type(data)


def _with_nulls(numbers: Any) -> Any:
    if isinstance(numbers, list):
        return [_with_nulls(number) for number in numbers]
    return None if math.isnan(numbers) else numbers


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer that is too large for a float
        return False


def _misfit(value: Any, expected: str) -> InputError:
    """Returns the error about a value that its field cannot have; callers prepend the names of the fields."""
    return InputError("", got=_shown(value), wanted=expected)


def _demand(holds: bool, path: str, data: Any, expected: str) -> None:
    if not holds:
        raise FormatError(path, got=_shown(data), wanted=expected, hint=AS_WRITTEN)


def _shown(value: Any) -> str:
    return repr(value)[:120]
