"""PyTorch modules: in eval mode, without gradients, and as they were afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.models.predictor import Predictor, linked, unknown_output


def from_module(model: Any, output: str | None) -> Predictor:
    """A predictor from a module that takes one tensor of rows.

    A module does not say whether it returns logits: ``output="softmax"`` or "sigmoid" makes them probabilities.
    """
    if output not in (None, "sigmoid", "softmax"):
        raise unknown_output(type(model).__name__, output or "")
    return Predictor(
        linked(_Forward(model), output),
        type(model).__name__,
        task="classification" if output else None,
        container="numpy",
    )


@dataclass(frozen=True)
class _Forward:
    module: Any

    def __call__(self, rows: Any) -> np.ndarray:
        import torch

        weight = next((part for part in self.module.parameters() if part.is_floating_point()), None)
        dtype = torch.float32 if weight is None else weight.dtype
        device = "cpu" if weight is None else weight.device
        training = [(part, part.training) for part in self.module.modules()]
        self.module.eval()
        try:
            with torch.no_grad():
                outputs = self.module(torch.as_tensor(np.asarray(rows, dtype=np.float64), dtype=dtype, device=device))
        finally:
            for part, was_training in training:
                part.training = was_training
        return np.asarray(outputs.detach().cpu().double().numpy())
