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
from clarysage.models.outputs import LINKS, linked, unknown_output
from clarysage.models.predictor import Predictor, Task
from clarysage.structure.readers.torch import is_sequence, read_layers

BATCH = 8192

_one_at_a_time = RLock()  # threads share a module, and with it the mode it is in


def from_module(model: Any, output: str | None) -> Predictor:
    """A predictor from a module that takes one tensor of rows.

    A module does not say whether it returns logits: ``output="softmax"`` or "sigmoid" makes them probabilities.
    """
    name = type(model).__name__
    if output not in (None, *LINKS):
        raise unknown_output(name, output)
    function = linked(Forward(model), output)
    task: Task | None = "classification" if output else None
    structure = partial(read_layers, model, output) if is_sequence(model) else None
    return Predictor(function, name, task=task, containers=("numpy",), structure=structure, origin=model)


@dataclass(frozen=True)
class Forward:
    """Outputs of a module, as an array."""

    module: Any

    def __call__(self, rows: Any) -> np.ndarray:
        import torch

        inputs = inputs_of(self.module, rows)
        with evaluating(self.module), torch.no_grad():
            outputs = [self.module(batch) for batch in inputs.split(BATCH)]
        check_tensor(outputs[0], self.module)
        return np.concatenate([part.detach().cpu().double().numpy() for part in outputs])


def inputs_of(module: Any, rows: Any) -> Any:
    """Rows as a tensor in the precision and on the device of a module: a copy, which it may write into."""
    import torch

    parts = chain(module.parameters(), module.buffers())
    weight = next((part for part in parts if part.is_floating_point()), torch.empty(0))
    return torch.tensor(np.asarray(rows, dtype=np.float64), dtype=weight.dtype).to(weight.device)


def check_tensor(output: Any, module: Any) -> None:
    """Raise where a module returns something else than a tensor."""
    import torch

    if not isinstance(output, torch.Tensor):
        raise ModelError("model", got=f"a {type(output).__name__} from {type(module).__name__}",
                         wanted="one tensor", hint="a callable that picks one of the module's outputs")  # fmt: skip


@contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """A module in eval mode, for one thread at a time, and as it was afterwards."""
    with _one_at_a_time:
        modes = [(part, part.training) for part in module.modules()]
        module.eval()
        try:
            yield
        finally:
            for part, mode in modes:
                part.training = mode
