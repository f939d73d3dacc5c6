"""The Linear layers of a PyTorch module that rows go into as they are, found by watching two rows pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import ModelError
from clarysage.models.torch import evaluating, inputs_of

ROWS = 2  # that are passed to the module


def first_weights(module: Any, width: int) -> np.ndarray | None:
    """Weights (width, h) of all Linear layers that rows of so many numbers go into unchanged; None without any."""
    import torch

    rows = inputs_of(module, np.cos(np.arange(1.0, ROWS * width + 1)).reshape(ROWS, width))  # like nothing it may make
    found: dict[int, Any] = {}

    def look(layer: Any, inputs: tuple[Any, ...]) -> None:
        if inputs and inputs[0].shape[-1] == width and torch.equal(inputs[0].reshape(-1, width), rows):
            found[id(layer)] = layer

    hooks = [layer.register_forward_pre_hook(look) for layer in module.modules() if isinstance(layer, torch.nn.Linear)]
    try:
        with evaluating(module), torch.no_grad():
            module(rows.clone())
    except Exception as error:
        raise ModelError("model", got=f"{type(error).__name__} from {type(module).__name__}: {error}",
                         wanted=f"a module that takes rows of {width} numbers, as X has them") from error  # fmt: skip
    finally:
        for hook in hooks:
            hook.remove()
    weights = [layer.weight.detach().cpu().double().numpy().T for layer in found.values()]
    return np.hstack(weights) if weights else None
