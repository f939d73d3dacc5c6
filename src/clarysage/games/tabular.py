"""A game that is given as a table of payoffs, for tests and teaching."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from clarysage.coalitions import codes
from clarysage.errors import InputError


@dataclass(frozen=True)
class TabularGame:
    """A game that is given by the payoffs of all 2^p coalitions, for one example or for N of them.

    Coalitions are numbered: player i is bit i of the number.

    Parameters
    ----------
    payoffs : (2^p,) payoffs of the coalitions, or (N, 2^p) of N examples
    weights : (N,) weights of the examples, which add up to one; by default all the same
    rows_per_payoff, rows_spent : model rows that a payoff counts as, and that were spent before

    Examples
    --------
    >>> game = TabularGame([0, 1, 2, 4])
    >>> game.n_players
    2
    """

    payoffs: np.ndarray
    weights: np.ndarray = field(default_factory=lambda: np.empty(0))
    rows_per_payoff: int = 1
    rows_spent: int = 0

    def __post_init__(self) -> None:
        table = np.atleast_2d(np.asarray(self.payoffs, dtype=np.float64))
        p = table.shape[1].bit_length() - 1
        if table.shape[1] != 2**p or p < 1 or not np.isfinite(table).all():
            raise InputError("payoffs", got=f"shape {table.shape}", wanted="finite payoffs of shape (N, 2^p), p >= 1")
        object.__setattr__(self, "payoffs", table)
        if len(self.weights) == 0:
            object.__setattr__(self, "weights", np.full(len(table), 1.0 / len(table)))

    @property
    def n_players(self) -> int:
        return int(self.payoffs.shape[1]).bit_length() - 1

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray]:
        return self.payoffs[:, :1], self.payoffs[:, -1:]

    @property
    def floor(self) -> np.ndarray:
        return np.array([-np.inf])

    def payoff(self, examples: np.ndarray, coalitions: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.asarray(self.payoffs[examples, codes(coalitions)][:, None])

    def walk(self, examples: np.ndarray, orders: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        first = np.zeros((len(orders), 1), dtype=np.int64)
        prefixes = np.hstack([first, np.cumsum(1 << orders, axis=1)])  # by number
        return np.asarray(self.payoffs[examples[:, None], prefixes][:, :, None])
