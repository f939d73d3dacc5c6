"""The paper's network for MNIST: 784-256-256-10, ELU, Adam, batches of 64, stopped by the validation loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

import clarysage as cs
from experiments.parts import Part, Parts

RATE, BATCH, PATIENCE, JUDGED_AT_ONCE = 1e-3, 64, 5, 8192


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted network, as scikit-learn would have it."""

    module: nn.Sequential
    classes_: np.ndarray
    epochs: int

    def predict_proba(self, X: Any) -> np.ndarray:
        with torch.inference_mode():
            logits = torch.cat([self.module(batch) for batch in _tensor(X).split(JUDGED_AT_ONCE)])
        return torch.softmax(logits.double(), dim=1).numpy()

    @property
    def explained(self) -> Any:
        """Probabilities of the module, whose layers clarysage reads."""
        return cs.as_predictor(self.module, output="softmax")


def trained(parts: Parts, *, width: int, rows: int | None, epochs: int, seed: int) -> Trained:
    """A network fitted to the training part, or to its first rows, until the validation loss has not fallen for long.

    Its weights are those of the epoch with the least validation loss. One generator makes weights and batches, and the
    work is done by one thread, so that the bits depend on the seed alone.
    """
    train = parts.train if rows is None else parts.train.first(rows)
    validation = parts.validation if rows is None else parts.validation.first(rows // 5)
    classes = np.unique(train.y)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        random = torch.Generator().manual_seed(seed)
        module = _module(train.X.shape[1], width, len(classes), random)
        passed = _fitted(module, _tensors(train, classes), _tensors(validation, classes), epochs, random)
    finally:
        torch.set_num_threads(threads)
    return Trained(module, classes, passed)


def _module(inputs: int, width: int, outputs: int, random: torch.Generator) -> nn.Sequential:
    module = nn.Sequential(
        nn.Linear(inputs, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, outputs)
    )
    for layer in module[::2]:
        reach = 1 / np.sqrt(layer.in_features)  # as torch has it by default, but by a generator of our own
        for weights in layer.parameters():
            nn.init.uniform_(weights, -reach, reach, generator=random)
    return module


def _fitted(module: nn.Sequential, train: Any, validation: Any, epochs: int, random: torch.Generator) -> int:
    """Fits a module in place; the number of epochs that were made."""
    X, y = train
    optimiser = torch.optim.Adam(module.parameters(), lr=RATE, fused=True)
    least, best, since, epoch = np.inf, module.state_dict(), 0, 0
    while since < PATIENCE and epoch < epochs:
        for batch in torch.randperm(len(X), generator=random).split(BATCH):
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(X[batch]), y[batch]).backward()
            optimiser.step()
        epoch, since = epoch + 1, since + 1
        if (loss := _loss(module, *validation)) < least:
            least, best, since = loss, {name: weights.clone() for name, weights in module.state_dict().items()}, 0
    module.load_state_dict(best)
    return epoch


def _loss(module: nn.Sequential, X: torch.Tensor, y: torch.Tensor) -> float:
    with torch.inference_mode():
        return float(nn.functional.cross_entropy(module(X), y))


def _tensors(part: Part, classes: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    return _tensor(part.X), torch.from_numpy(np.searchsorted(classes, part.y))


def _tensor(X: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(X, dtype=np.float32))
