"""Values as a tree of JSON and blocks of bytes, and back, bit by bit; of classes that are named beforehand alone.

Checkpoints use it, and files of results do not (:mod:`clarysage.codec`): a checkpoint holds whatever states estimators
have, so that each value says what it is, to the order of axes in memory, and is read by the release that wrote it; a
file of a result is for people and other programs, so that the types of the fields say what it may hold.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

DTYPES = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1")
WORTH_A_LOOK = 2**16  # bytes of an array, from which on rows of zeros are looked for
MOST_LEFT_OUT = 2**30  # bytes of an array that has such rows, so that a small file never asks for endless memory
FEW = 0.75  # of the rows


class DamagedError(ValueError):
    """A tree or blocks that no value was turned into."""


class Encoder:
    """Turns values into trees, and collects the bytes of their arrays as ``blocks``.

    Values are None, numbers, strings, arrays of numbers, and tuples, lists, dicts and dataclasses of such; ``classes``
    are the dataclasses that may be among them, by name. Of large arrays rows of zeros are left out: the state of a run
    has a place for each example from its first round on, most of which are empty for long.

    Examples
    --------
    >>> encoder = Encoder({})
    >>> tree = encoder.tree({"draws": 3, "mean": np.array([1.5, np.nan])})
    >>> Decoder(b"".join(encoder.blocks), {}).value(tree)
    {'draws': 3, 'mean': array([1.5, nan])}
    """

    def __init__(self, classes: Mapping[str, type]) -> None:
        self.names = {kind: name for name, kind in classes.items()}
        self.blocks: list[Any] = []

    def tree(self, value: Any) -> Any:
        """The tree of a value."""
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value))}
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return {"float": struct.pack("<d", value).hex()}
        if isinstance(value, (tuple, list)):
            return {type(value).__name__: [self.tree(one) for one in value]}
        if isinstance(value, dict):
            return {"dict": [[self.tree(key), self.tree(one)] for key, one in value.items()]}
        if is_dataclass(value) and type(value) in self.names:
            parts = {field.name: self.tree(getattr(value, field.name)) for field in fields(value)}
            return {"class": self.names[type(value)], "fields": parts}
        raise TypeError(f"{type(value).__module__}.{type(value).__qualname__}")

    def _array(self, array: np.ndarray) -> dict[str, Any]:
        """An array with the order of its axes in memory, on which the rounding of sums over it depends."""
        dtype = array.dtype.newbyteorder("<").str
        if dtype not in DTYPES:
            raise TypeError(f"array of {array.dtype}")
        axes = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        laid = array.transpose(axes).astype(dtype, order="C", copy=False)
        told = {"array": dtype, "shape": list(laid.shape), "axes": axes}
        if WORTH_A_LOOK <= laid.nbytes <= MOST_LEFT_OUT and laid.ndim > 1:
            rows = laid.reshape(len(laid), -1)
            there = _is_there(rows)
            if there.mean() < FEW:
                kept = rows[there]
                self.blocks += [np.packbits(there).data, _bytes(kept)]
                return {**told, "kept": len(kept)}
        self.blocks.append(_bytes(laid))
        return told


class Decoder:
    """Turns trees back into values, in the order in which they were made; anything else is a :class:`DamagedError`."""

    def __init__(self, blocks: bytes | memoryview, classes: Mapping[str, type]) -> None:
        self.blocks, self.classes, self.place = memoryview(blocks), classes, 0

    @property
    def is_at_the_end(self) -> bool:
        """Whether all bytes have been used."""
        return self.place == len(self.blocks)

    def value(self, tree: Any) -> Any:
        """The value of a tree."""
        if tree is None or isinstance(tree, (bool, int, str)):
            return tree
        if not isinstance(tree, dict) or not tree:
            raise DamagedError("no tree")
        kind, inside = next(iter(tree.items()))
        if kind not in ("array", "scalar", "float", "tuple", "list", "dict", "class"):
            raise DamagedError("an unknown kind of value")
        return getattr(self, f"_{kind}")(inside, tree)

    def _float(self, inside: str, tree: Any) -> float:
        return float(struct.unpack("<d", bytes.fromhex(inside))[0])

    def _scalar(self, inside: Any, tree: Any) -> Any:
        return self.value(inside)[()]

    def _tuple(self, inside: list[Any], tree: Any) -> tuple[Any, ...]:
        return tuple(self.value(one) for one in inside)

    def _list(self, inside: list[Any], tree: Any) -> list[Any]:
        return [self.value(one) for one in inside]

    def _dict(self, inside: list[Any], tree: Any) -> dict[Any, Any]:
        return {self.value(key): self.value(one) for key, one in inside}

    def _class(self, inside: str, tree: Any) -> Any:
        if inside not in self.classes:
            raise DamagedError("an unknown class")
        kind = self.classes[inside]
        if [field.name for field in fields(kind)] != list(tree["fields"]):
            raise DamagedError(f"other fields than those of {inside}")
        return kind(**{name: self.value(one) for name, one in tree["fields"].items()})

    def _array(self, inside: str, tree: Any) -> np.ndarray:
        shape, axes = tree["shape"], tree["axes"]
        if inside not in DTYPES or any(type(size) is not int or size < 0 for size in shape):
            raise DamagedError("an impossible array")
        if sorted(axes) != list(range(len(shape))) or any(type(axis) is not int for axis in axes):
            raise DamagedError("impossible axes")
        laid = self._rows_kept(np.dtype(inside), shape, tree["kept"]) if "kept" in tree else None
        laid = self._taken(np.dtype(inside), shape) if laid is None else laid
        return laid.transpose(np.argsort(axes)) if len(shape) > 1 else laid

    def _rows_kept(self, dtype: np.dtype[Any], shape: list[int], kept: Any) -> np.ndarray:
        """An array of zeros but for some rows."""
        if math.prod(shape) * dtype.itemsize > MOST_LEFT_OUT or len(shape) < 2:
            raise DamagedError("an array too large")
        bits = np.unpackbits(self._taken(np.dtype("|u1"), [-(-shape[0] // 8)]))
        there = bits[: shape[0]].astype(bool)
        if type(kept) is not int or there.sum() != kept or bits[shape[0] :].any():
            raise DamagedError("rows that do not add up")
        laid = np.zeros(shape, dtype)
        laid[there] = self._taken(dtype, [kept, *shape[1:]])
        return laid

    def _taken(self, dtype: np.dtype[Any], shape: list[int]) -> np.ndarray:
        """An array of the next bytes, of memory of its own."""
        size = math.prod(shape) * dtype.itemsize
        if self.place + size > len(self.blocks):
            raise DamagedError("too few bytes")
        found = np.frombuffer(self.blocks, dtype, math.prod(shape), self.place) if size else np.empty(0, dtype)
        self.place += size
        return found.reshape(shape).astype(dtype.newbyteorder("="), copy=True)


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _is_there(rows: np.ndarray) -> np.ndarray:
    """Which rows (n, k) have any bit set; a negative zero has one."""
    bits = rows.view(np.uint64 if rows.shape[1] * rows.itemsize % 8 == 0 else np.uint8)
    return np.asarray(np.bitwise_or.reduce(bits, axis=1) != 0)
