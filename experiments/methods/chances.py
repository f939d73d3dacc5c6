"""What stands in for the network of MNIST where pixels are withheld: a network that gives chances of classes."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

WIDTH = 256
EVEN = 0.05  # of the chances are even, so that none is nought, whose cross entropy would drown all others


class Chances(nn.Module):
    """Chances of k classes from masked rows (n, 2 d), as :class:`clarysage.Surrogate` has modules learn: standardised.

    Parameters
    ----------
    columns : of masked rows: cells, and marks of those that are kept
    wanted : (n, k) chances that are to be learned
    """

    def __init__(self, columns: int, wanted: np.ndarray) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.layers = nn.Sequential(
                nn.Linear(columns, WIDTH),
                nn.ELU(),
                nn.Linear(WIDTH, WIDTH),
                nn.ELU(),
                nn.Linear(WIDTH, wanted.shape[1]),
                nn.Softmax(dim=1),
            )
        self.register_buffer("mean", torch.tensor(wanted.mean(axis=0), dtype=torch.float32))
        self.register_buffer("spread", torch.tensor(wanted.std(axis=0), dtype=torch.float32))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        chances = (1 - EVEN) * self.layers(rows) + EVEN / len(self.mean)
        return (chances - self.mean) / self.spread
