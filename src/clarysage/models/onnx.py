"""ONNX Runtime sessions, and the class labels that their models store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.outputs import LINKS, linked, unknown_output
from clarysage.models.predictor import Predictor

DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
    "tensor(float16)": np.float16,
}
OPTIONS = ("intra_op_num_threads", "inter_op_num_threads", "graph_optimization_level", "execution_mode")


@dataclass(frozen=True)
class OnnxSession:
    """Reads a session; ``output`` names one of its outputs, by default the probabilities if it has any."""

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        types = {part.name: part.type for part in self.model.get_outputs()}
        if output not in (None, *LINKS, *types):
            raise unknown_output(f"the session (outputs {', '.join(types)})", output)
        link = output if output in LINKS else None
        chosen = _default_output(types) if output is None or link else output
        is_classifier = link is not None or "prob" in chosen.lower()
        inputs = tuple(part.name for part in self.model.get_inputs())
        return Predictor(
            linked(_Session(self.model, chosen), link),
            type(self.model).__name__,
            task="classification" if is_classifier else None,
            classes=_classes(self.model, types) if is_classifier else None,
            feature_names=inputs if len(inputs) > 1 else None,
            containers=("pandas",) if len(inputs) > 1 else ("numpy",),
        )


def load(path: Path) -> Any:
    """Loads a session of the model in a file."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # errors are reported once, by clarysage
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


class _Session:
    """Session that can be pickled: another process opens it again from the same file or bytes."""

    def __init__(self, session: Any, output: str) -> None:
        self.session, self.output = session, output

    def __getstate__(self) -> dict[str, Any]:
        source = _source(self.session)
        if source is None:
            raise TypeError(
                "an ONNX session that was not opened from a file or bytes cannot be sent to another process"
            )
        session_options = self.session.get_session_options()
        options = {
            name: getattr(session_options, name) for name in OPTIONS
        }  # threads too: they change the order of sums
        return {"source": source, "output": self.output, "providers": self.session.get_providers(), "options": options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        for name, value in state["options"].items():
            setattr(options, name, value)
        self.session = onnxruntime.InferenceSession(state["source"], options, providers=state["providers"])
        self.output = state["output"]

    def __call__(self, rows: Any) -> np.ndarray:
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            feed = {inputs[0].name: np.asarray(rows).astype(_dtype(inputs[0]))}
        else:
            feed = {part.name: np.asarray(rows[part.name]).astype(_dtype(part)).reshape(-1, 1) for part in inputs}
        outputs = self.session.run([self.output], feed)[0]
        if isinstance(outputs, list) and outputs and isinstance(outputs[0], dict):  # a ZipMap: one mapping for each row
            return np.array([list(row.values()) for row in outputs], dtype=np.float64)
        if isinstance(outputs, list):
            raise ModelError("output", got=f"a list from the output {self.output!r}", wanted="a tensor")
        return np.asarray(outputs)


def _default_output(types: dict[str, str]) -> str:
    """Returns the default output: probabilities, else the first with real numbers, else the first."""
    probabilities = [name for name in types if "prob" in name.lower()]
    numbers = [name for name, kind in types.items() if kind in ("tensor(float)", "tensor(double)", "tensor(float16)")]
    return next(iter((*probabilities, *numbers, *types)))


def _classes(session: Any, types: dict[str, str]) -> tuple[Any, ...] | None:
    """Returns the class labels, if the session has an output of labels besides that of probabilities."""
    labels = next((name for name, kind in types.items() if kind in ("tensor(int64)", "tensor(string)")), None)
    source = _source(session)
    if labels is None or source is None:
        return None
    return class_labels(source if isinstance(source, bytes) else Path(source).read_bytes(), labels)


def _source(session: Any) -> bytes | str | None:
    """Returns the bytes, or the path of the file, that the session was opened from."""
    return getattr(session, "_model_bytes", None) or getattr(session, "_model_path", None)


def _dtype(part: Any) -> Any:
    return DTYPES.get(part.type, np.float32)


# Class labels are not part of a session: it tells the names and types of its outputs, not which class a column of
# probabilities is of. The model tells: its output of labels goes back to a classifier that lists them, or to a table of
# them. The few fields needed are read from the protobuf bytes, by their numbers in onnx.proto, without another library.
GRAPH = 7  # of a model
NODE, TABLE = 1, 5  # of a graph
INPUT, OUTPUT, ATTRIBUTE = 1, 2, 5  # of a node
NAME, INTS, STRINGS = 1, 8, 9  # of an attribute
TABLE_TYPE, TABLE_INT32, TABLE_STRINGS, TABLE_INT64, TABLE_NAME, TABLE_RAW = 2, 5, 6, 7, 8, 9  # of a table (a tensor)
RAW_TYPES: dict[int, Any] = {6: np.int32, 7: np.int64}


def class_labels(model: bytes, output: str) -> tuple[Any, ...] | None:
    """Returns the class labels behind an output of labels, in order; None where the model does not tell.

    Examples
    --------
    >>> class_labels(b"not a model", "label")
    """
    try:
        return _trace_labels(memoryview(model), output.encode())
    except (IndexError, KeyError, ValueError):  # not the format that was expected
        return None


def _trace_labels(model: memoryview, name: bytes) -> tuple[Any, ...] | None:
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
    return [value for field, value in _fields(message) if field == number]


def _fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yields numbers and values of the fields of a protobuf message: integers, or the bytes of anything else."""
    position = 0
    while position < len(message):
        key, position = _integer(message, position)
        value: Any
        if key & 7 == 0:
            value, position = _integer(message, position)
        else:
            size, position = _integer(message, position) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], position)
            if position + size > len(message):
                raise ValueError("a field that is longer than its message")
            value, position = message[position : position + size], position + size
        yield key >> 3, value


def _integer(message: memoryview, position: int) -> tuple[int, int]:
    """Reads an integer of seven bits a byte, lowest first; returns it and the position after it."""
    value = shift = 0
    while message[position] & 128:
        value |= (message[position] & 127) << shift
        shift, position = shift + 7, position + 1
    value |= message[position] << shift
    return value - 2**64 if value >= 2**63 else value, position + 1


def _integers(values: list[Any]) -> tuple[int, ...]:
    """Returns integers that are stored one in a field, or packed into one field."""
    integers: list[int] = []
    for value in values:
        position = 0
        if isinstance(value, int):
            integers.append(value)
            continue
        while position < len(value):
            integer, position = _integer(value, position)
            integers.append(integer)
    return tuple(integers)


def _text(values: list[Any]) -> tuple[str, ...]:
    return tuple(bytes(value).decode() for value in values)
