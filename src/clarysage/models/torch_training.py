"""PyTorch modules trained to predict numbers from rows of which cells may be missing."""

from __future__ import annotations

import math
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.models.torch import TorchModule

BATCH, RATE = 512, 2e-3
MOST_EPOCHS, PATIENCE = 100, 6  # epochs in all, and without progress on the rows held out


def is_module(model: Any) -> bool:
    """Whether something is a PyTorch module, told without importing the library."""
    kinds = type(model).__mro__
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in kinds)


@dataclass(frozen=True)
class Standard:
    """Columns with a mean of 0 and a variance of 1, and 0 for missing cells."""

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray) -> Standard:
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
class Trained:
    """A trained module between standardised inputs and outputs."""

    module: Any
    inputs: Standard
    outputs: Standard

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        return self.outputs.back(TorchModule(self.module).predictor(None)(self.inputs(rows)))


def trained(
    module: Any, rows: np.ndarray, wanted: np.ndarray, held: np.ndarray, weights: np.ndarray | None = None, *, seed: int
) -> Trained:
    """A copy of a module, trained on rows (n, c) to give what is wanted (n, k), as long as it helps on those held out.

    Squared error of standardised outputs, by weights (n,) where rows have such, Adam, one seed for everything random;
    the parameters that did best on the rows held out are kept.
    """
    import torch

    weights = np.ones(len(rows)) if weights is None else weights
    inputs, outputs = (Standard.of(part[~held], weights[~held]) for part in (rows, wanted))
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
    return Trained(learner.eval(), inputs, outputs)


def _best(learner: Any, Z: Any, Y: Any, W: Any, held: np.ndarray, rng: np.random.Generator) -> Any:
    """The weights after the epoch that did best on the rows held out; on all where none are."""
    import torch

    steps, there = torch.optim.Adam(learner.parameters(), lr=RATE), np.flatnonzero(~held)
    judged = torch.tensor(np.flatnonzero(held) if held.any() else there)
    least, best, since = math.inf, deepcopy(learner.state_dict()), 0
    for _ in range(MOST_EPOCHS):
        learner.train()
        shuffled = torch.tensor(rng.permutation(there))
        for batch in shuffled.split(BATCH):
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
