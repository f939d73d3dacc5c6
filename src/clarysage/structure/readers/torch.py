"""Structure of ``torch.nn.Sequential``: fully connected layers, activations between them, and a link at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from clarysage.structure.base import DOUBLE_ROUNDING, SINGLE_ROUNDING, Link, Structure, UnknownStructureError
from clarysage.structure.layers import Activation, Affine, Layers

LINKS: dict[str | None, Link] = {"sigmoid": "logistic", "softmax": "softmax"}  # of the user's argument ``output``
WITHOUT_EFFECT = ("Identity", "Dropout", "AlphaDropout")  # in evaluation

ACTIVATIONS: dict[str, Callable[[Any], Activation]] = {
    "ReLU": lambda layer: Activation("relu"),
    "Tanh": lambda layer: Activation("tanh"),
    "Sigmoid": lambda layer: Activation("logistic"),
    "GELU": lambda layer: Activation("gelu by tanh" if layer.approximate == "tanh" else "gelu"),
    "ELU": lambda layer: Activation("elu", (float(layer.alpha),)),
    "LeakyReLU": lambda layer: Activation("leaky relu", (float(layer.negative_slope),)),
    "SiLU": lambda layer: Activation("silu"),
    "Softplus": lambda layer: Activation("softplus", (float(layer.beta), float(layer.threshold))),
}


def is_sequence(module: Any) -> bool:
    """Returns True for a module that only calls its parts in turn."""
    return _class_name(module) == "Sequential"


def read_layers(module: Any, output: str | None) -> Structure:
    """Reads a Sequential whose outputs are turned into probabilities by ``output``."""
    parts = list(_flat(module))
    precision = _precision(parts)
    is_softmax = bool(parts) and _class_name(parts[-1]) == "Softmax" and parts[-1].dim in (1, -1) and output is None
    first, *later = _merge_batch_norms([_layer(part) for part in (parts[:-1] if is_softmax else parts)], precision)
    if not isinstance(first, Affine):
        raise UnknownStructureError("its first layer is not Linear")
    layers = Layers(first, tuple(later))
    link: Link = "softmax" if is_softmax else LINKS.get(output, "identity")
    if output is None and layers.n_margins == 1 and later and later[-1] == Activation("logistic"):
        layers, link = Layers(first, tuple(later[:-1])), "positive"
    return Structure(layers, link, rounding=SINGLE_ROUNDING if precision == np.float32 else DOUBLE_ROUNDING)


def _class_name(module: Any) -> str:
    """Returns the class name of a module of PyTorch itself, and "" for any other."""
    return type(module).__name__ if type(module).__module__.startswith("torch.nn.modules.") else ""


def _flat(module: Any) -> Iterator[Any]:
    """Yields the parts of a Sequential, and of those inside it, that change rows of numbers."""
    for part in module:
        if is_sequence(part):
            yield from _flat(part)
        elif _class_name(part) not in WITHOUT_EFFECT and not (_class_name(part) == "Flatten" and part.start_dim == 1):
            yield part


def _precision(parts: list[Any]) -> np.dtype:
    names = {str(weight.dtype).removeprefix("torch.") for part in parts for weight in part.parameters()}
    if not names:
        raise UnknownStructureError("it has no weights")
    if len(names) > 1 or not names <= {"float32", "float64"}:
        raise UnknownStructureError(f"its weights are {' and '.join(sorted(names))}, not float32 or float64")
    return np.dtype(names.pop())


def _layer(part: Any) -> Affine | Activation:
    """Reads one layer in double precision; the weights of a BatchNorm are (a,), one for each column."""
    kind = _class_name(part)
    if kind in ACTIVATIONS:
        return ACTIVATIONS[kind](part)
    if kind == "Linear":
        weights = _numbers(part.weight).T
        return Affine(weights, np.zeros(weights.shape[1]) if part.bias is None else _numbers(part.bias))
    if kind == "BatchNorm1d" and part.running_mean is not None:
        scale = 1 / np.sqrt(_numbers(part.running_var) + part.eps)
        shift = -_numbers(part.running_mean) * scale
        if part.affine:
            return Affine(scale * _numbers(part.weight), shift * _numbers(part.weight) + _numbers(part.bias))
        return Affine(scale, shift)
    raise UnknownStructureError(f"its layer {type(part).__name__} is not supported")


def _numbers(tensor: Any) -> np.ndarray:
    return np.array(tensor.detach().cpu().numpy(), dtype=np.float64)


def _merge_batch_norms(layers: list[Affine | Activation], precision: np.dtype) -> list[Affine | Activation]:
    """Merges each BatchNorm into an adjacent Linear layer; weights become (a, b) in the model's precision."""
    merged: list[Affine | Activation] = []
    for layer in layers:
        before = merged[-1] if merged else None
        if isinstance(layer, Affine) and isinstance(before, Affine) and 1 in (layer.weights.ndim, before.weights.ndim):
            merged[-1] = _compose(before, layer)
        else:
            merged.append(layer)
    return [_cast(layer, precision) if isinstance(layer, Affine) else layer for layer in merged]


def _compose(first: Affine, second: Affine) -> Affine:
    if second.weights.ndim == 1:
        return Affine(first.weights * second.weights, first.bias * second.weights + second.bias)
    return Affine(first.weights[:, None] * second.weights, first.bias @ second.weights + second.bias)


def _cast(layer: Affine, precision: np.dtype) -> Affine:
    weights = layer.weights if layer.weights.ndim == 2 else np.diag(layer.weights)
    return Affine(np.ascontiguousarray(weights, dtype=precision), layer.bias.astype(precision))
