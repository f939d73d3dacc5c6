"""The file of a checkpoint: a line that names the format, a checksum, a header, and the bytes of arrays.

::

    clarysage checkpoint 2\\n | sha256 of all that follows, 32 bytes | length of the header, 8 bytes | header | arrays

The header is JSON: trees that stand for values. Nothing in the file is code, and the caller says which classes
may occur.

Files of results have another codec (:mod:`clarysage.codec`), since the two ideas share nothing but dataclasses. A
checkpoint holds whatever states estimators have, bit by bit, down to the order of axes in memory, in binary; each value
tells its own type, and the release that wrote the file reads it. A file of a result is for people and other programs:
JSON text whose types are those of the fields of a dataclass, and every field is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clarysage._utils.atomic import check_drafts, resolved_file, write_bytes_atomically
from clarysage.errors import FormatError, InputError

FORMAT_NAME, VERSION = b"clarysage checkpoint ", 2
FIRST_LINE = FORMAT_NAME + b"%d\n" % VERSION
DIGEST, LENGTH = 32, 8  # bytes of the checksum, and of the length of the header
START_OVER = "another path, or deleting the file to start from the beginning"
DECODING_ERRORS = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
    RecursionError,
)
DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
MIN_SPARSE_BYTES = 2**16  # in smaller arrays rows of zeros are not left out
MAX_SPARSE_BYTES = 2**30  # nor in larger ones, so that a small file cannot demand endless memory
MAX_SHARE_OF_ROWS = 0.75  # rows of zeros are left out if fewer rows than this are nonzero


class DamagedError(ValueError):
    """Raised for a tree or bytes that no value was encoded as."""


@dataclass(frozen=True)
class SavedRun:
    """The content of a checkpoint: the identity of its run, and the progress, which is decoded on request."""

    path: Path
    identity: dict[str, Any]
    tree: Any
    decoder: Decoder

    def progress(self, classes: Mapping[str, type]) -> Any:
        """Decodes the progress of the run, made of the given classes; to be called once."""
        self.decoder.classes = classes
        try:
            progress = self.decoder.value(self.tree)
            if not self.decoder.is_at_the_end:
                raise DamagedError("too many bytes")
        except DECODING_ERRORS as error:
            raise damaged(self.path, f"{error}") from error
        return progress


def file_for(path: Any) -> Path:
    """Returns the path of a checkpoint, as the user gave it; an error where no file can be written there."""
    if not isinstance(path, (str, Path)) or not str(path):
        raise InputError("checkpoint", got=f"{path!r}", wanted="the path of a file", hint='checkpoint="run.checkpoint"')
    file = resolved_file(Path(path), "checkpoint")
    if file.exists() and not file.is_file():
        raise InputError("checkpoint", got=f"{path}, which is not a file", wanted="the path of a file")
    try:
        check_drafts(file)
    except OSError as error:
        got = f"{path}, in a folder where nothing can be written ({error.strerror or error})"
        raise InputError("checkpoint", got=got, wanted="a folder that may be written to") from error
    return file


def write_checkpoint(file: Path, identity: Mapping[str, Any], progress: Any, classes: Mapping[str, type]) -> None:
    """Replaces a file as a whole, or leaves the old one as it was."""
    encoder = Encoder(classes)
    trees = {"identity": encoder.tree(dict(identity)), "progress": encoder.tree(progress)}
    header = json.dumps(trees, allow_nan=False).encode()
    pieces = [len(header).to_bytes(LENGTH, "little"), header, *encoder.blocks]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    write_bytes_atomically([FIRST_LINE, digest.digest(), *pieces], file)


def read_checkpoint(file: Path) -> SavedRun:
    """Reads a checkpoint; an error for a file of another format or version, or a damaged one."""
    try:
        data = memoryview(file.read_bytes())
    except OSError as error:
        raise FormatError(
            "checkpoint",
            got=f"{file}, which cannot be read ({error.strerror or error})",
            wanted="a file that may be read",
            hint=START_OVER,
        ) from error
    content = _after_first_line(file, data)
    digest, length = content[:DIGEST], int.from_bytes(content[DIGEST : DIGEST + LENGTH], "little")
    if len(content) < DIGEST + LENGTH or length > len(content) - DIGEST - LENGTH:
        raise damaged(file, "it ends too early")
    if hashlib.sha256(content[DIGEST:]).digest() != digest:
        raise damaged(file, "its checksum does not fit its content")
    blocks = content[DIGEST + LENGTH :]
    try:
        trees = json.loads(bytes(blocks[:length]))
        decoder = Decoder(blocks[length:], {})
        identity = decoder.value(trees["identity"])
        if not isinstance(identity, dict) or not all(isinstance(name, str) for name in identity):
            raise DamagedError("it does not say which run it belongs to")
        return SavedRun(file, identity, trees["progress"], decoder)
    except DECODING_ERRORS as error:
        raise damaged(file, f"{error}") from error


def damaged(file: Path, reason: str) -> FormatError:
    """Returns the error for a damaged file."""
    return FormatError(
        "checkpoint",
        got=f"{file}, which is damaged: {reason}",
        wanted="a checkpoint as it was written",
        hint=START_OVER,
    )


def _after_first_line(file: Path, data: memoryview) -> memoryview:
    """Returns the bytes after the first line; an error where that line is not the one of this format and version."""
    line = bytes(data[: len(FIRST_LINE)])
    if line == FIRST_LINE:
        return data[len(FIRST_LINE) :]
    if not line.startswith(FORMAT_NAME):
        raise FormatError(
            "checkpoint",
            got=f"{file}, which is not a checkpoint of clarysage",
            wanted="a checkpoint, or no file",
            hint=START_OVER,
        )
    version = line[len(FORMAT_NAME) :].decode("ascii", "replace").strip()
    raise FormatError("checkpoint", got=f"{file}, of format {version!r}", wanted=f"format {VERSION}", hint=START_OVER)


class Encoder:
    """Turns values into trees for JSON, and collects the bytes of their arrays as ``blocks``.

    Values are None, numbers, strings, arrays of numbers, and tuples, lists, dicts and dataclasses of these;
    ``classes`` are the dataclasses that may occur, by name. Rows of zeros are left out of large arrays: the state of a
    run has a row for each example from its first round on, and most of these rows stay empty for long.

    Examples
    --------
    >>> encoder = Encoder({})
    >>> tree = encoder.tree({"draws": 3, "mean": np.array([1.5, np.nan])})
    >>> Decoder(b"".join(encoder.blocks), {}).value(tree)
    {'draws': 3, 'mean': array([1.5, nan])}
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self.names = {cls: name for name, cls in classes.items()}
        self.blocks: list[Any] = []

    def tree(self, value: Any) -> Any:
        """Returns the tree of a value."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": struct.pack("<d", value).hex()}
        if isinstance(value, (tuple, list)):
            return {type(value).__name__: [self.tree(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.tree(key), self.tree(item)] for key, item in value.items()]}
        if is_dataclass(value) and type(value) in self.names:
            trees = {field.name: self.tree(getattr(value, field.name)) for field in fields(value)}
            return {"class": self.names[type(value)], "fields": trees}
        raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        """Encodes an array with the order of its axes in memory, which the rounding of sums over it depends on."""
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise TypeError(f"array of {array.dtype}")
        axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        in_memory_order = array.transpose(axes).astype(dtype, order="C", copy=False)
        tree = {"array": dtype, "shape": list(in_memory_order.shape), "axes": axes}
        if MIN_SPARSE_BYTES <= in_memory_order.nbytes <= MAX_SPARSE_BYTES and in_memory_order.ndim > 1:
            rows = in_memory_order.reshape(len(in_memory_order), -1)
            is_nonzero = _has_bits(rows)
            if is_nonzero.mean() < MAX_SHARE_OF_ROWS:
                nonzero_rows = rows[is_nonzero]
                self.blocks += [np.packbits(is_nonzero).data, _bytes(nonzero_rows)]
                return {**tree, "kept": len(nonzero_rows)}
        self.blocks.append(_bytes(in_memory_order))
        return tree


class Decoder:
    """Turns trees back into values, in the order of their encoding; raises :class:`DamagedError` where that fails."""

    def __init__(self, blocks: bytes | memoryview, classes: Mapping[str, type]) -> None:
        self.blocks, self.classes, self.position = memoryview(blocks), classes, 0

    @property
    def is_at_the_end(self) -> bool:
        """True once all bytes have been used."""
        return self.position == len(self.blocks)

    def value(self, tree: Any) -> Any:
        """Returns the value of a tree."""
        if tree is None or isinstance(tree, (bool, int, str)):
            return tree
        if not isinstance(tree, dict) or not tree:
            raise DamagedError("a value that is not a tree")
        kind, content = next(iter(tree.items()))
        if kind not in ("array", "scalar", "float", "tuple", "list", "dict", "class"):
            raise DamagedError("an unknown kind of value")
        return getattr(self, f"_{kind}")(content, tree)

    def _float(self, content: str, tree: Any) -> float:
        return float(struct.unpack("<d", bytes.fromhex(content))[0])

    def _scalar(self, content: Any, tree: Any) -> Any:
        return self.value(content)[()]

    def _tuple(self, content: list[Any], tree: Any) -> tuple[Any, ...]:
        return tuple(self.value(item) for item in content)

    def _list(self, content: list[Any], tree: Any) -> list[Any]:
        return [self.value(item) for item in content]

    def _dict(self, content: list[Any], tree: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(item) for key, item in content}

    def _class(self, content: str, tree: Any) -> Any:
        if content not in self.classes:
            raise DamagedError("an unknown class")
        cls = self.classes[content]
        if [field.name for field in fields(cls)] != list(tree["fields"]):
            raise DamagedError(f"other fields than those of {content}")
        return cls(**{name: self.value(item) for name, item in tree["fields"].items()})

    def _array(self, content: str, tree: Any) -> np.ndarray:
        shape, axes = tree["shape"], tree["axes"]
        if content not in DTYPES or any(type(size) is not int or size < 0 for size in shape):
            raise DamagedError("an impossible array")
        if sorted(axes) != list(range(len(shape))) or any(type(axis) is not int for axis in axes):
            raise DamagedError("impossible axes")
        dtype = np.dtype(content)
        array = self._nonzero_rows(dtype, shape, tree["kept"]) if "kept" in tree else self._next_array(dtype, shape)
        return array.transpose(np.argsort(axes)) if len(shape) > 1 else array

    def _nonzero_rows(self, dtype: np.dtype[Any], shape: list[int], count: Any) -> np.ndarray:
        """Decodes an array whose rows of zeros were left out."""
        if math.prod(shape) * dtype.itemsize > MAX_SPARSE_BYTES or len(shape) < 2:
            raise DamagedError("an array too large")
        bits = np.unpackbits(self._next_array(np.dtype("|u1"), [-(-shape[0] // 8)]))
        is_nonzero = bits[: shape[0]].astype(bool)
        if type(count) is not int or is_nonzero.sum() != count or bits[shape[0] :].any():
            raise DamagedError("another number of rows than it says")
        array = np.zeros(shape, dtype)
        array[is_nonzero] = self._next_array(dtype, [count, *shape[1:]])
        return array

    def _next_array(self, dtype: np.dtype[Any], shape: list[int]) -> np.ndarray:
        """Returns an array of the next bytes, in memory of its own."""
        size = math.prod(shape) * dtype.itemsize
        if self.position + size > len(self.blocks):
            raise DamagedError("too few bytes")
        array = np.frombuffer(self.blocks, dtype, math.prod(shape), self.position) if size else np.empty(0, dtype)
        self.position += size
        return array.reshape(shape).astype(dtype.newbyteorder("="), copy=True)


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _has_bits(rows: np.ndarray) -> np.ndarray:
    """Returns whether any bit of each row (n, k) is set; a negative zero has one."""
    bits = rows.view(np.uint64 if rows.shape[1] * rows.itemsize % 8 == 0 else np.uint8)
    return np.asarray(np.bitwise_or.reduce(bits, axis=1) != 0)
