"""ONNX Runtime sessions: one tensor of rows, or one input a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.predictor import Predictor, linked, unknown_output

DTYPES = {
    "tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_, "tensor(string)": np.object_, "tensor(float16)": np.float16,
}  # fmt: skip


def from_session(model: Any, output: str | None) -> Predictor:
    """A predictor from a session; ``output`` names one of its outputs, by default the probabilities if it has any."""
    names = [part.name for part in model.get_outputs()]
    if output not in (None, "sigmoid", "softmax", *names):
        raise unknown_output(f"the session (outputs {', '.join(names)})", output or "")
    likely = next((name for name in names if "prob" in name.lower()), names[-1])
    chosen = str(output) if output in names else likely
    is_classifier = "prob" in chosen.lower() or output in ("sigmoid", "softmax")
    inputs = model.get_inputs()
    by_column = tuple(part.name for part in inputs) if len(inputs) > 1 else None
    return Predictor(
        linked(_Session(model, chosen), output),
        "InferenceSession",
        task="classification" if is_classifier else None,
        feature_names=by_column,
        container="pandas" if by_column else "numpy",
    )


class _Session:
    """A session that can travel to other processes: it is opened there anew from the same file or bytes."""

    def __init__(self, session: Any, output: str) -> None:
        self.session, self.output = session, output

    def __getstate__(self) -> dict[str, Any]:
        source = getattr(self.session, "_model_bytes", None) or getattr(self.session, "_model_path", None)
        if source is None:
            raise TypeError(
                "an ONNX session that was not opened from a file or bytes cannot be sent to another process"
            )
        return {"source": source, "output": self.output, "providers": self.session.get_providers()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(state["source"], options, providers=state["providers"])
        self.output = state["output"]

    def __call__(self, rows: Any) -> np.ndarray:
        inputs = self.session.get_inputs()
        if len(inputs) == 1:
            feed: dict[str, Any] = {inputs[0].name: np.asarray(rows).astype(DTYPES.get(inputs[0].type, np.float32))}
        else:
            feed = {part.name: np.asarray(rows[part.name]).astype(DTYPES[part.type]).reshape(-1, 1) for part in inputs}
        outputs = self.session.run([self.output], feed)[0]
        if isinstance(outputs, list) and outputs and isinstance(outputs[0], dict):  # a ZipMap: one mapping a row
            return np.array([list(row.values()) for row in outputs], dtype=np.float64)
        if isinstance(outputs, list):
            raise ModelError("output", got=f"a list from the output {self.output!r}", wanted="a tensor")
        return np.asarray(outputs)
