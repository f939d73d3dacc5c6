"""A surrogate for the network of MNIST when pixels are withheld: a network that predicts class probabilities."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

WIDTH = 256
EVEN = 0.05  # weight of uniform probabilities, so that none is zero, with an infinite cross entropy


class Chances(nn.Module):
    """Predicts standardized probabilities of k classes from masked rows (n, 2 d), as :class:`clarysage.Surrogate` does.

    Parameters
    ----------
    columns : number of columns of masked rows: values, and the mask
    targets : (n, k) probabilities to learn
    """

    def __init__(self, columns: int, targets: np.ndarray) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.layers = nn.Sequential(
                nn.Linear(columns, WIDTH),
                nn.ELU(),
                nn.Linear(WIDTH, WIDTH),
                nn.ELU(),
                nn.Linear(WIDTH, targets.shape[1]),
                nn.Softmax(dim=1),
            )
        self.register_buffer("mean", torch.tensor(targets.mean(axis=0), dtype=torch.float32))
        self.register_buffer("spread", torch.tensor(targets.std(axis=0), dtype=torch.float32))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        chances = (1 - EVEN) * self.layers(rows) + EVEN / len(self.mean)
        return (chances - self.mean) / self.spread
