"""The labels that an ONNX model gives its classes, read from the model's own bytes.

A session tells the names and types of its outputs, not which class a column of probabilities is of. The model does:
its output of labels goes back to a classifier that lists them, or to a table of them. The few fields needed are read
here, as numbered in onnx.proto, so that no further library is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

# numbers of fields in onnx.proto
GRAPH = 7  # of a model
NODE, TABLE = 1, 5  # of a graph
INPUT, OUTPUT, ATTRIBUTE = 1, 2, 5  # of a node
NAME, INTS, STRINGS = 1, 8, 9  # of an attribute
TABLE_TYPE, TABLE_INT32, TABLE_STRINGS, TABLE_INT64, TABLE_NAME, TABLE_RAW = 2, 5, 6, 7, 8, 9  # of a table (a tensor)
RAW_TYPES: dict[int, Any] = {6: np.int32, 7: np.int64}


def class_labels(model: bytes, output: str) -> tuple[Any, ...] | None:
    """The labels, in order, that an output of labels is taken from; None where the model does not tell.

    Examples
    --------
    >>> class_labels(b"not a model", "label")
    """
    try:
        return _followed(memoryview(model), output.encode())
    except (IndexError, KeyError, ValueError):  # not the format that was expected
        return None


def _followed(model: memoryview, name: bytes) -> tuple[Any, ...] | None:
    graph = _all(model, GRAPH)[0]
    makers = {bytes(made): node for node in _all(graph, NODE) for made in _all(node, OUTPUT)}
    while name in makers:
        for attribute in _all(makers[name], ATTRIBUTE):
            if bytes(next(_fields(attribute))[1]).startswith(b"classlabels"):
                labels = _text(_all(attribute, STRINGS)) or _integers(_all(attribute, INTS))
                if labels:
                    return labels
        name = bytes(_all(makers[name], INPUT)[0])
    table = next((table for table in _all(graph, TABLE) if bytes(_all(table, TABLE_NAME)[0]) == name), None)
    if table is None:
        return None
    for raw in _all(table, TABLE_RAW):
        return tuple(np.frombuffer(raw, RAW_TYPES[_all(table, TABLE_TYPE)[0]]).tolist())
    numbers = _integers(_all(table, TABLE_INT64)) or _integers(_all(table, TABLE_INT32))
    return _text(_all(table, TABLE_STRINGS)) or numbers or None


def _all(message: memoryview, number: int) -> list[Any]:
    return [value for found, value in _fields(message) if found == number]


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Numbers and values of the fields of a protobuf message: integers, or the bytes of anything else."""
    place = 0
    while place < len(message):
        key, place = _integer(message, place)
        value: Any
        if key & 7 == 0:
            value, place = _integer(message, place)
        else:
            size, place = _integer(message, place) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], place)
            if place + size > len(message):
                raise ValueError("a field that is longer than its message")
            value, place = message[place : place + size], place + size
        yield key >> 3, value


def _integer(message: memoryview, place: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and the place after it."""
    value = shift = 0
    while message[place] & 128:
        value |= (message[place] & 127) << shift
        shift, place = shift + 7, place + 1
    value |= message[place] << shift
    return value - 2**64 if value >= 2**63 else value, place + 1


def _integers(values: list[Any]) -> tuple[int, ...]:
    """Integers that are given one a field, or packed into one."""
    found: list[int] = []
    for value in values:
        place = 0
        if isinstance(value, int):
            found.append(value)
            continue
        while place < len(value):
            integer, place = _integer(value, place)
            found.append(integer)
    return tuple(found)


def _text(values: list[Any]) -> tuple[str, ...]:
    return tuple(bytes(value).decode() for value in values)
