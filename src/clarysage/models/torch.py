"""PyTorch modules: in eval mode, without gradients, in batches, and as they were afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.outputs import LINKS, linked, unknown_output
from clarysage.models.predictor import Predictor, Task
from clarysage.structure.abilities import LayerWeights
from clarysage.structure.readers.torch import is_sequence, read_layers

if TYPE_CHECKING:
    from clarysage.models.torch_gradients import Gradients

BATCH = 8192
ROWS_TO_WATCH = 2  # pass the module to see which layers they enter

_one_at_a_time = RLock()  # threads share a module, and with it the mode it is in


@dataclass(frozen=True)
class TorchModule:
    """Reads a module that takes one tensor of rows.

    A module does not say whether it returns logits: ``output="softmax"`` or "sigmoid" makes them probabilities.
    """

    model: Any

    def predictor(self, output: str | None) -> Predictor:
        name = type(self.model).__name__
        if output not in (None, *LINKS):
            raise unknown_output(name, output)
        function = linked(Forward(self.model), output)
        task: Task | None = "classification" if output else None
        structure = partial(read_layers, self.model, output) if is_sequence(self.model) else None
        return Predictor(function, name, task=task, containers=("numpy",), structure=structure, origin=self.model)

    def layer_weights(self, width: int) -> LayerWeights | None:
        """Weights (width, h) of all Linear layers that rows go into unchanged, found by watching two rows pass."""
        import torch

        made = np.cos(np.arange(1.0, ROWS_TO_WATCH * width + 1)).reshape(ROWS_TO_WATCH, width)
        rows = inputs_of(self.model, made)  # like nothing that a module may make of them
        entered: dict[int, Any] = {}

        def look(layer: Any, inputs: tuple[Any, ...]) -> None:
            if inputs and inputs[0].shape[-1] == width and torch.equal(inputs[0].reshape(-1, width), rows):
                entered[id(layer)] = layer

        layers = [part for part in self.model.modules() if isinstance(part, torch.nn.Linear)]
        hooks = [layer.register_forward_pre_hook(look) for layer in layers]
        try:
            with evaluating(self.model), torch.no_grad():
                self.model(rows.clone())
        except Exception as error:
            got = f"{type(error).__name__} from {type(self.model).__name__}: {error}"
            wanted = f"a module that takes rows of {width} numbers, as X has them"
            raise ModelError("model", got=got, wanted=wanted) from error
        finally:
            for hook in hooks:
                hook.remove()
        weights = [layer.weight.detach().cpu().double().numpy().T for layer in entered.values()]
        return LayerWeights(np.hstack(weights), model_rows=ROWS_TO_WATCH) if weights else None


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

    def gradients(self, link: str | None) -> Gradients:
        """Integrated gradients of the module, with "softmax" or "sigmoid" of its outputs or none of them."""
        from clarysage.models.torch_gradients import Gradients  # late, since it rests on this file

        return Gradients(self.module, link)


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
        raise ModelError(
            "model",
            got=f"a {type(output).__name__} from {type(module).__name__}",
            wanted="one tensor",
            hint="a callable that picks one of the module's outputs",
        )


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
