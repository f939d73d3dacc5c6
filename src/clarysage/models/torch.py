"""PyTorch modules: predictions in eval mode, integrated gradients, and training of regressors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import RLock
from typing import Any, Protocol

import numpy as np

from clarysage.errors import InputError, ModelError
from clarysage.models.outputs import LINKS, linked, linked_by, unknown_output
from clarysage.models.predictor import Predictor, Task
from clarysage.protocols import ability
from clarysage.structure.intrinsic_numbers import LayerWeights
from clarysage.structure.readers.torch import is_sequence, read_layers

BATCH = 8192  # rows in one call
ROWS_TO_WATCH = 2  # sent through the module to see which layers they enter
GRADIENT_ROWS = 2048  # points on the paths from the baseline whose gradients are in memory
TRAINING_BATCH, LEARNING_RATE = 512, 2e-3
MOST_EPOCHS, PATIENCE = 100, 6  # early stopping: most epochs, and epochs without progress on held-out rows

_one_at_a_time = RLock()  # threads share a module, and its training mode


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
        """Returns weights (width, h) of all Linear layers that get the rows unchanged, found by hooks."""
        import torch

        cells = np.cos(np.arange(1.0, ROWS_TO_WATCH * width + 1)).reshape(ROWS_TO_WATCH, width)
        rows = inputs_of(self.model, cells)  # unlike anything that a module may compute from them
        entered: dict[int, Any] = {}

        def record(layer: Any, inputs: tuple[Any, ...]) -> None:
            if inputs and inputs[0].shape[-1] == width and torch.equal(inputs[0].reshape(-1, width), rows):
                entered[id(layer)] = layer

        layers = [part for part in self.model.modules() if isinstance(part, torch.nn.Linear)]
        hooks = [layer.register_forward_pre_hook(record) for layer in layers]
        try:
            with evaluating(self.model), torch.no_grad():
                self.model(rows.clone())
        except Exception as error:
            raise ModelError(
                "model",
                got=f"{type(error).__name__} from {type(self.model).__name__}: {error}",
                wanted=f"a module that takes rows of {width} numbers, as X has them",
            ) from error
        finally:
            for hook in hooks:
                hook.remove()
        weights = [layer.weight.detach().cpu().double().numpy().T for layer in entered.values()]
        return LayerWeights(np.hstack(weights), model_rows=ROWS_TO_WATCH) if weights else None


@dataclass(frozen=True)
class Forward:
    """Forward pass: outputs of a module as an array."""

    module: Any

    def __call__(self, rows: Any) -> np.ndarray:
        import torch

        inputs = inputs_of(self.module, rows)
        with evaluating(self.module), torch.no_grad():
            outputs = [self.module(batch) for batch in inputs.split(BATCH)]
        check_tensor(outputs[0], self.module)
        return np.concatenate([part.detach().cpu().double().numpy() for part in outputs])

    def gradients(self, link: str | None) -> Gradients:
        """Returns the gradients of the module, with "softmax", "sigmoid" or no link after it."""
        return Gradients(self.module, link)


def inputs_of(module: Any, rows: Any) -> Any:
    """Returns rows as a tensor in the precision and on the device of a module; a copy, which may be overwritten."""
    import torch

    parts = chain(module.parameters(), module.buffers())
    weight = next((part for part in parts if part.is_floating_point()), torch.empty(0))
    return torch.tensor(np.asarray(rows, dtype=np.float64), dtype=weight.dtype).to(weight.device)


def check_tensor(output: Any, module: Any) -> None:
    """Raises if a module returns anything but a tensor."""
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
    """Puts a module into eval mode for one thread at a time, and restores its modes afterwards."""
    with _one_at_a_time:
        modes = [(part, part.training) for part in module.modules()]
        module.eval()
        try:
            yield
        finally:
            for part, mode in modes:
                part.training = mode


@dataclass(frozen=True)
class Attributions:
    """Attributions (n, t, d) of t outputs of examples to their columns, and the model rows spent.

    ``change`` (n, t) is the difference of the outputs from those of the baseline, to which attributions should add up.
    """

    values: np.ndarray
    change: np.ndarray
    rows: int

    @property
    def gap(self) -> np.ndarray:
        """Absolute error of the sum of attributions, (n, t)."""
        return np.asarray(np.abs(self.values.sum(axis=2) - self.change))


class Differentiable(Protocol):
    """A differentiable function of rows."""

    def gradients(self, link: str | None) -> Gradients:
        """Returns gradients of the function followed by the link."""
        ...


def gradients_of(f: Predictor) -> Gradients | None:
    """Returns the gradients of a predictor; None where its function is not differentiable."""
    function, link = linked_by(f.function)
    differentiable = ability(function, Differentiable)
    return None if differentiable is None else differentiable.gradients(link)


@dataclass(frozen=True)
class Gradients:
    """Gradients of a module followed by "softmax", "sigmoid" or no link."""

    module: Any
    link: str | None

    def integrated(
        self, rows: np.ndarray, baseline: np.ndarray, steps: int, output_index: np.ndarray | None = None
    ) -> Attributions:
        r"""Integrated gradients (Sundararajan et al., 2017) of rows (n, d) from a baseline (d,), by the midpoint rule.

        .. math:: IG_i(x) = (x_i - b_i) \frac{1}{m} \sum_{s=1}^m \partial_i f\big(b + \tfrac{s - 1/2}{m} (x - b)\big)

        ``output_index`` (n,) selects one output of each row; None stands for all outputs.
        """
        import torch

        at_once = max(1, GRADIENT_ROWS // steps)
        with evaluating(self.module), torch.inference_mode(False), torch.enable_grad():
            start = self._outputs(inputs_of(self.module, baseline[None])).detach()
            parts = [
                self._batch(
                    inputs_of(self.module, rows[first : first + at_once]),
                    inputs_of(self.module, baseline),
                    start,
                    steps,
                    None if output_index is None else output_index[first : first + at_once],
                )
                for first in range(0, len(rows), at_once)
            ]
        values, change = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        return Attributions(values, change, len(rows) * (steps + 1) + 1)

    def _batch(
        self, x: Any, baseline: Any, start: Any, steps: int, output_index: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        import torch

        n, d = x.shape
        change = self._outputs(x).detach() - start
        shares = (torch.arange(steps, dtype=x.dtype, device=x.device) + 0.5) / steps
        path = (baseline + shares[None, :, None] * (x - baseline)[:, None]).reshape(n * steps, d).requires_grad_()
        outputs = self._outputs(path)
        if output_index is not None:
            index = torch.as_tensor(output_index, device=x.device)[:, None]
            outputs = outputs.gather(1, index.repeat_interleave(steps, dim=0))
            change = change.gather(1, index)
        last = outputs.shape[1] - 1
        slopes = (self._slopes(outputs[:, k], path, is_last=k == last) for k in range(last + 1))
        means = torch.stack([slope.reshape(n, steps, d).double().mean(dim=1) for slope in slopes], dim=1)  # (n, t, d)
        values = means * (x - baseline).double()[:, None]
        return values.cpu().numpy(), change.double().cpu().numpy()

    def _slopes(self, output: Any, path: Any, *, is_last: bool) -> Any:
        """Returns gradients of an output (n,) at its rows."""
        import torch

        if not output.requires_grad:
            raise ModelError(
                "model",
                got=f"outputs of {type(self.module).__name__} that carry no gradients",
                wanted="a module that PyTorch can differentiate",
            )
        (gradient,) = torch.autograd.grad(output.sum(), path, retain_graph=not is_last, allow_unused=True)
        return torch.zeros_like(path) if gradient is None else gradient

    def _outputs(self, rows: Any) -> Any:
        """Returns outputs (n, k), after the link."""
        import torch

        raw = self.module(rows * 1)  # a copy, since a module may overwrite its rows
        check_tensor(raw, self.module)
        outputs = raw.reshape(len(rows), -1)
        if self.link == "softmax":
            return torch.softmax(outputs, dim=1)
        if self.link == "sigmoid":
            positive = torch.sigmoid(outputs)
            return torch.cat([1 - positive, positive], dim=1)
        return outputs


def is_module(model: Any) -> bool:
    """Returns True for a PyTorch module, without importing the library."""
    kinds = type(model).__mro__
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in kinds)


@dataclass(frozen=True)
class Standardization:
    """Standardization of columns to mean 0 and variance 1, with 0 for missing cells."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray) -> Standardization:
        is_present = np.isfinite(rows)
        count = weights @ is_present
        count[count == 0] = 1.0
        mean = weights @ np.where(is_present, rows, 0) / count
        spread = np.sqrt(weights @ np.where(is_present, rows - mean, 0) ** 2 / count)
        return cls(mean, np.where(spread > 0, spread, 1.0))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num((rows - self.mean) / self.spread, nan=0.0, posinf=0.0, neginf=0.0))

    def invert(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows * self.spread + self.mean)


@dataclass(frozen=True)
class TrainedRegressor:
    """A trained module between standardized inputs and outputs."""

    module: Any
    inputs: Standardization
    outputs: Standardization

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.outputs.invert(TorchModule(self.module).predictor(None)(self.inputs(rows)))


def train_regressor(
    module: Any,
    rows: np.ndarray,
    targets: np.ndarray,
    is_held_out: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    seed: int,
) -> TrainedRegressor:
    """Trains a copy of a module on rows (n, c) and targets (n, k), with early stopping on the held-out rows.

    Minimizes the weighted squared error of standardized outputs with Adam, from one seed for everything random. Returns
    the parameters with the smallest error on the held-out rows, ``is_held_out`` (n,).
    """
    import torch

    weights = np.ones(len(rows)) if weights is None else weights
    inputs, outputs = (Standardization.of(part[~is_held_out], weights[~is_held_out]) for part in (rows, targets))
    Z, Y = inputs(rows), outputs(targets)
    learner, order = deepcopy(module).cpu().float(), np.random.default_rng(seed)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            tensors = [torch.tensor(part, dtype=torch.float32) for part in (Z, Y, weights[:, None])]
            best = _best_parameters(learner, tensors[0], tensors[1], tensors[2], is_held_out, order)
    except RuntimeError as error:
        raise _training_error(module, f"RuntimeError from {{}}: {error}") from error
    learner.load_state_dict(best)
    return TrainedRegressor(learner.eval(), inputs, outputs)


def _best_parameters(learner: Any, Z: Any, Y: Any, W: Any, is_held_out: np.ndarray, rng: np.random.Generator) -> Any:
    """Returns the parameters after the epoch with the least error on held-out rows (on all if none is held out)."""
    import torch

    optimizer, train = torch.optim.Adam(learner.parameters(), lr=LEARNING_RATE), np.flatnonzero(~is_held_out)
    validation = torch.tensor(np.flatnonzero(is_held_out) if is_held_out.any() else train)
    least, best, since = math.inf, deepcopy(learner.state_dict()), 0
    for _ in range(MOST_EPOCHS):
        learner.train()
        shuffled = torch.tensor(rng.permutation(train))
        for batch in shuffled.split(TRAINING_BATCH):
            optimizer.zero_grad()
            _error(learner, Z[batch], Y[batch], W[batch]).backward()
            optimizer.step()
        learner.eval()
        with torch.no_grad():
            error = float(_error(learner, Z[validation], Y[validation], W[validation]))
        if not math.isfinite(error):
            raise _training_error(learner, "a {} whose training diverges")
        if error < least:
            least, best, since = error, deepcopy(learner.state_dict()), 0
        else:
            since += 1
        if since == PATIENCE:
            break
    return best


def _error(learner: Any, rows: Any, targets: Any, weights: Any) -> Any:
    outputs = learner(rows)
    if tuple(outputs.shape) != tuple(targets.shape):
        raise _training_error(
            learner,
            f"outputs of shape {tuple(outputs.shape)} from {{}} for {len(rows):,} rows",
            f"shape {tuple(targets.shape)}",
        )
    return (weights * (outputs - targets) ** 2).mean()


def _training_error(
    module: Any, got: str, expected: str = "a module of the d cells of a row and d indicators of kept columns"
) -> InputError:
    return InputError("regressor", got=got.replace("{}", type(module).__name__)[:300], wanted=expected)
