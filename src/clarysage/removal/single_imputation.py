"""Single imputation: predictions with one drawn row in the place of what is withheld, not averaged over many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clarysage.catalogue import removals_that_draw_given_others
from clarysage.errors import InputError, Set
from clarysage.protocols import DrawsRows, RestrictedModel, ability
from clarysage.removal.row_identity import bits

SAFEST = "copula"  # since it copes with columns of any kind


def singly(restricted: RestrictedModel) -> DrawsRows:
    """The restricted model with rows to draw from; raises where there are none, since predictions are learned."""
    drawing = ability(restricted, DrawsRows)
    if drawing is not None:
        return drawing.singly()
    others = [name for name in removals_that_draw_given_others() if name != SAFEST]
    raise InputError(
        "removal",
        got=f"{type(restricted).__name__}, which has no rows to draw: it predicts without what is withheld",
        wanted="a removal that puts drawn values in its place",
        hint=[Set("removal", SAFEST), *(f', "{name}"' for name in others[:-1]), f' or "{others[-1]}"'],
    )


def at_levels(weights: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Numbers of rows at quantile levels (...) of their weights (m,), each with the probability of its weight.

    Examples
    --------
    >>> at_levels(np.array([0.5, 0.25, 0.25]), np.array([0.1, 0.49, 0.5, 0.99]))
    array([0, 0, 1, 2])
    """
    ends = np.cumsum(weights)
    return np.asarray(np.minimum(np.searchsorted(ends, levels * ends[-1], side="right"), len(weights) - 1))


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
