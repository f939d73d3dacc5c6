"""Single draws: predictions with one row in the place of what is withheld, where others average over many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, Set
from clarysage.removal.row_identity import bits


@dataclass(frozen=True)
class Singles:
    """Predictions (n, q, k) with q draws for n rows, the model rows, and the background rows drawn, (n, q)."""

    outputs: np.ndarray
    rows: int
    picks: np.ndarray


def singly(restricted: Any) -> Any:
    """The restricted model with rows to draw from; raises where there are none, since predictions are learned.

    It has ``single(x, full, kept, places)``: for rows x (n, d), f(x) (n, k), a coalition of columns (d,), and places
    (n, q) from 0 to 1, along the weights of the rows that may stand in, the predictions with the row at each place.
    """
    if hasattr(restricted, "single"):
        return restricted.singly()
    raise InputError(
        "removal",
        got=f"{type(restricted).__name__}, which has no rows to draw: it predicts without what is withheld",
        wanted="a removal that puts drawn values in its place",
        hint=[Set("removal", "copula"), ', "neighbours" or "trees"'],
    )


def along(weights: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Numbers of rows at places (...) from 0 to 1 along their weights (m,), each with the probability of its weight.

    Examples
    --------
    >>> along(np.array([0.5, 0.25, 0.25]), np.array([0.1, 0.49, 0.5, 0.99]))
    array([0, 0, 1, 2])
    """
    ends = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(ends, places * ends[-1], side="right"), len(weights) - 1))


def put_in(
    x: np.ndarray, columns: np.ndarray, cells: np.ndarray, full: np.ndarray, ask: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, int]:
    """Predictions (n, q, k) with cells (n, q, c) in columns (c,) of x (n, d), f(x) being (n, k); and rows asked for.

    A row that is x, cell by cell, is not asked for again.
    """
    outputs = np.repeat(full[:, None], cells.shape[1], axis=1)
    is_new = (bits(cells) != bits(x[:, columns])[:, None]).any(axis=2)
    if is_new.any():
        rows = np.repeat(x, is_new.sum(axis=1), axis=0)
        rows[:, columns] = cells[is_new]
        outputs[is_new] = ask(rows)
    return outputs, int(is_new.sum())
