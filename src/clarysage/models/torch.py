"""PyTorch modules: in eval mode, without gradients, in batches, and as they were afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import RLock
from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.methods import LINKS, linked, unknown_output
from clarysage.models.predictor import Predictor, Task
from clarysage.models.torch_layers import is_sequence, read_layers

BATCH = 8192

_one_at_a_time = RLock()  # threads share a module, and with it the mode it is in


def from_module(model: Any, output: str | None) -> Predictor:
    """A predictor from a module that takes one tensor of rows.

    A module does not say whether it returns logits: ``output="softmax"`` or "sigmoid" makes them probabilities.
    """
    name = type(model).__name__
    if output not in (None, *LINKS):
        raise unknown_output(name, output)
    function = linked(_Forward(model), output)
    task: Task | None = "classification" if output else None
    structure = partial(read_layers, model, output) if is_sequence(model) else None
    return Predictor(function, name, task=task, containers=("numpy",), structure=structure, origin=model)


@dataclass(frozen=True)
class _Forward:
    module: Any

    def __call__(self, rows: Any) -> np.ndarray:
        import torch

        parts = chain(self.module.parameters(), self.module.buffers())
        weight = next((part for part in parts if part.is_floating_point()), torch.empty(0))
        inputs = torch.tensor(np.asarray(rows, dtype=np.float64), dtype=weight.dtype)  # a copy, which it may write into
        with _one_at_a_time, _evaluating(self.module), torch.no_grad():
            outputs = [self.module(batch.to(weight.device)) for batch in inputs.split(BATCH)]
        if not isinstance(outputs[0], torch.Tensor):
            raise ModelError("model", got=f"a {type(outputs[0]).__name__} from {type(self.module).__name__}",
                             wanted="one tensor", hint="a callable that picks one of the module's outputs")  # fmt: skip
        return np.concatenate([part.detach().cpu().double().numpy() for part in outputs])


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
