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
from clarysage.structure.abilities import LayerWeights
from clarysage.structure.readers.torch import is_sequence, read_layers

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


GRADIENT_ROWS = 2048  # rows on the way from the baseline, whose gradients are held


@dataclass(frozen=True)
class Attributions:
    """Attributions (n, t, d) of t outputs of examples to their columns, and model rows.

    ``change`` (n, t) is by how much outputs differ from those of the baseline: what attributions add up to.
    """

    values: np.ndarray
    change: np.ndarray
    rows: int

    @property
    def gap(self) -> np.ndarray:
        """By how much attributions fail to add up, (n, t)."""
        return np.asarray(np.abs(self.values.sum(axis=2) - self.change))


class Differentiable(Protocol):
    """A function of rows that has gradients."""

    def gradients(self, link: str | None) -> Gradients:
        """Its gradients, once the link was applied to what it returns."""
        ...


def gradients_of(f: Predictor) -> Gradients | None:
    """The gradients of a predictor; None where it was made of something without them."""
    function, link = linked_by(f.function)
    differentiable = ability(function, Differentiable)
    return None if differentiable is None else differentiable.gradients(link)


@dataclass(frozen=True)
class Gradients:
    """A module, and what is made of its outputs: "softmax", "sigmoid" or nothing."""

    module: Any
    link: str | None

    def integrated(
        self, rows: np.ndarray, baseline: np.ndarray, steps: int, wanted: np.ndarray | None = None
    ) -> Attributions:
        r"""Integrated gradients of rows (n, d), from a baseline (d,), by the midpoints of so many steps.

        .. math:: IG_i(x) = (x_i - b_i) \frac{1}{m} \sum_{s=1}^m \partial_i f\big(b + \tfrac{s - 1/2}{m} (x - b)\big)

        ``wanted`` (n,) is the one output to look at in each row, None for all of them.
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
                    None if wanted is None else wanted[first : first + at_once],
                )
                for first in range(0, len(rows), at_once)
            ]
        values, change = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        return Attributions(values, change, len(rows) * (steps + 1) + 1)

    def _batch(
        self, x: Any, baseline: Any, start: Any, steps: int, wanted: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        import torch

        n, d = x.shape
        change = self._outputs(x).detach() - start
        shares = (torch.arange(steps, dtype=x.dtype, device=x.device) + 0.5) / steps
        way = (baseline + shares[None, :, None] * (x - baseline)[:, None]).reshape(n * steps, d).requires_grad_()
        outputs = self._outputs(way)
        if wanted is not None:
            places = torch.as_tensor(wanted, device=x.device)[:, None]
            outputs = outputs.gather(1, places.repeat_interleave(steps, dim=0))
            change = change.gather(1, places)
        last = outputs.shape[1] - 1
        slopes = (self._slopes(outputs[:, k], way, is_last=k == last) for k in range(last + 1))
        means = torch.stack([one.reshape(n, steps, d).double().mean(dim=1) for one in slopes], dim=1)  # (n, t, d)
        values = means * (x - baseline).double()[:, None]
        return values.cpu().numpy(), change.double().cpu().numpy()

    def _slopes(self, output: Any, way: Any, *, is_last: bool) -> Any:
        """Gradients of an output (n,) at the rows it was made of."""
        import torch

        if not output.requires_grad:
            raise ModelError(
                "model",
                got=f"outputs of {type(self.module).__name__} that carry no gradients",
                wanted="a module that PyTorch can differentiate",
            )
        (found,) = torch.autograd.grad(output.sum(), way, retain_graph=not is_last, allow_unused=True)
        return torch.zeros_like(way) if found is None else found

    def _outputs(self, rows: Any) -> Any:
        """Outputs (n, k), of which the module may have made what it likes."""
        import torch

        raw = self.module(rows * 1)  # a module that writes into its rows must not write into these
        check_tensor(raw, self.module)
        outputs = raw.reshape(len(rows), -1)
        if self.link == "softmax":
            return torch.softmax(outputs, dim=1)
        if self.link == "sigmoid":
            positive = torch.sigmoid(outputs)
            return torch.cat([1 - positive, positive], dim=1)
        return outputs


TRAINING_BATCH, LEARNING_RATE = 512, 2e-3
MOST_EPOCHS, PATIENCE = 100, 6  # epochs in all, and without progress on the rows held out


def is_module(model: Any) -> bool:
    """Whether something is a PyTorch module, told without importing the library."""
    kinds = type(model).__mro__
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in kinds)


@dataclass(frozen=True)
class Standardization:
    """Columns with a mean of 0 and a variance of 1, and 0 for missing cells."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray) -> Standardization:
        there = np.isfinite(rows)
        count = weights @ there
        count[count == 0] = 1.0
        mean = weights @ np.where(there, rows, 0) / count
        spread = np.sqrt(weights @ np.where(there, rows - mean, 0) ** 2 / count)
        return cls(mean, np.where(spread > 0, spread, 1.0))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num((rows - self.mean) / self.spread, nan=0.0, posinf=0.0, neginf=0.0))

    def back(self, rows: np.ndarray) -> np.ndarray:
        return np.asarray(rows * self.spread + self.mean)


@dataclass(frozen=True)
class TrainedRegressor:
    """A trained module between standardised inputs and outputs."""

    module: Any
    inputs: Standardization
    outputs: Standardization

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.outputs.back(TorchModule(self.module).predictor(None)(self.inputs(rows)))


def train_regressor(
    module: Any, rows: np.ndarray, wanted: np.ndarray, held: np.ndarray, weights: np.ndarray | None = None, *, seed: int
) -> TrainedRegressor:
    """A copy of a module, trained on rows (n, c) to give what is wanted (n, k), as long as it helps on those held out.

    Squared error of standardised outputs, by weights (n,) where rows have such, Adam, one seed for everything random;
    the parameters that did best on the rows held out are kept.
    """
    import torch

    weights = np.ones(len(rows)) if weights is None else weights
    inputs, outputs = (Standardization.of(part[~held], weights[~held]) for part in (rows, wanted))
    Z, Y = inputs(rows), outputs(wanted)
    learner, order = deepcopy(module).cpu().float(), np.random.default_rng(seed)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            numbers = [torch.tensor(part, dtype=torch.float32) for part in (Z, Y, weights[:, None])]
            best = _best(learner, numbers[0], numbers[1], numbers[2], held, order)
    except RuntimeError as error:
        raise _unfit(module, f"RuntimeError from {{}}: {error}") from error
    learner.load_state_dict(best)
    return TrainedRegressor(learner.eval(), inputs, outputs)


def _best(learner: Any, Z: Any, Y: Any, W: Any, held: np.ndarray, rng: np.random.Generator) -> Any:
    """The weights after the epoch that did best on the rows held out; on all where none are."""
    import torch

    steps, there = torch.optim.Adam(learner.parameters(), lr=LEARNING_RATE), np.flatnonzero(~held)
    judged = torch.tensor(np.flatnonzero(held) if held.any() else there)
    least, best, since = math.inf, deepcopy(learner.state_dict()), 0
    for _ in range(MOST_EPOCHS):
        learner.train()
        shuffled = torch.tensor(rng.permutation(there))
        for batch in shuffled.split(TRAINING_BATCH):
            steps.zero_grad()
            _error(learner, Z[batch], Y[batch], W[batch]).backward()
            steps.step()
        learner.eval()
        with torch.no_grad():
            error = float(_error(learner, Z[judged], Y[judged], W[judged]))
        if not math.isfinite(error):
            raise _unfit(learner, "a {} whose training does not stay finite")
        if error < least:
            least, best, since = error, deepcopy(learner.state_dict()), 0
        else:
            since += 1
        if since == PATIENCE:
            break
    return best


def _error(learner: Any, rows: Any, wanted: Any, weights: Any) -> Any:
    said = learner(rows)
    if tuple(said.shape) != tuple(wanted.shape):
        raise _unfit(
            learner,
            f"outputs of shape {tuple(said.shape)} from {{}} for {len(rows):,} rows",
            f"shape {tuple(wanted.shape)}",
        )
    return (weights * (said - wanted) ** 2).mean()


def _unfit(module: Any, what: str, wanted: str = "a module of the d cells and d marks of a row") -> InputError:
    return InputError("regressor", got=what.replace("{}", type(module).__name__)[:300], wanted=wanted)
