"""ONNX Runtime sessions: one tensor of rows, or one input a column."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.onnx_labels import class_labels
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
        chosen = _likely(types) if output is None or link else output
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
    """A session of the model in a file."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)  # what fails is said once, by us
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


class _Session:
    """A session that can travel to other processes: it is opened there anew from the same file or bytes."""

    def __init__(self, session: Any, output: str) -> None:
        self.session, self.output = session, output

    def __getstate__(self) -> dict[str, Any]:
        source = _source(self.session)
        if source is None:
            raise TypeError(
                "an ONNX session that was not opened from a file or bytes cannot be sent to another process"
            )
        said = self.session.get_session_options()
        options = {name: getattr(said, name) for name in OPTIONS}  # threads too: they change the order of sums
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
        if isinstance(outputs, list) and outputs and isinstance(outputs[0], dict):  # a ZipMap: one mapping a row
            return np.array([list(row.values()) for row in outputs], dtype=np.float64)
        if isinstance(outputs, list):
            raise ModelError("output", got=f"a list from the output {self.output!r}", wanted="a tensor")
        return np.asarray(outputs)


def _likely(types: dict[str, str]) -> str:
    """The output that a user means: probabilities, else the first of real numbers, else the first."""
    probabilities = [name for name in types if "prob" in name.lower()]
    numbers = [name for name, kind in types.items() if kind in ("tensor(float)", "tensor(double)", "tensor(float16)")]
    return next(iter((*probabilities, *numbers, *types)))


def _classes(session: Any, types: dict[str, str]) -> tuple[Any, ...] | None:
    """Labels of the classes, where the session has an output of labels beside that of probabilities."""
    labels = next((name for name, kind in types.items() if kind in ("tensor(int64)", "tensor(string)")), None)
    source = _source(session)
    if labels is None or source is None:
        return None
    return class_labels(source if isinstance(source, bytes) else Path(source).read_bytes(), labels)


def _source(session: Any) -> bytes | str | None:
    """What the session was opened from, its bytes or the path of its file."""
    return getattr(session, "_model_bytes", None) or getattr(session, "_model_path", None)


def _dtype(part: Any) -> Any:
    return DTYPES.get(part.type, np.float32)
