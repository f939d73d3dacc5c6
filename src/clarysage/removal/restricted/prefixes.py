"""Predictions at the prefixes of walks (permutation paths): of f_S, or of hybrid rows of one background row each.

A hybrid row has the kept columns of an example and the withheld columns of a background row. Rows that do not change
from one prefix to the next, or that occur repeatedly, are passed to the model only once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clarysage.protocols import Steps
from clarysage.removal.background import bits, distinct_rows

CELLS_AT_ONCE = 65_536  # of hybrid rows that are made together, so that they fit the processor's cache
FEW_STEPS = 4  # steps of walks that are looked at one by one
WORTH_A_SEARCH = 0.9  # repeated rows are looked for if at most this share of the rows of walks is left to evaluate

Predict = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def at_prefixes(
    predict: Predict, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator, *, coalitions_at_once: int
) -> np.ndarray:
    """Returns predictions (n, p - 1, k); step j = 1, ..., p - 1 keeps columns of entry position <= j: (n, d), (n, d).

    About ``coalitions_at_once`` masks are held in memory together.
    """
    inner = np.arange(1, int(entry_position.max()))
    at_once = max(1, coalitions_at_once // len(inner))
    parts = []
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        is_kept = entry_position[rows, None, :] <= inner[:, None]  # (n, p - 1, d)
        repeated = np.repeat(x[rows], len(inner), axis=0)
        parts.append(predict(repeated, is_kept.reshape(repeated.shape), rng))
    return np.concatenate(parts).reshape(len(x), len(inner), -1)


class HybridWalks(Protocol):
    """Hybrid rows of n walks of examples x (n, d), each with q background rows b (n, q, d), at steps 1 to p."""

    @property
    def x(self) -> np.ndarray: ...

    @property
    def b(self) -> np.ndarray: ...

    @property
    def steps(self) -> int:
        """The number of steps, p."""
        ...

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """Counts the changes of used columns up to each of the steps 1 to p: (n, q, p)."""
        ...

    def rows(self, walk: np.ndarray, draw: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Returns the hybrid rows (r, d) of the given walks with the given background rows at the given steps."""
        ...


@dataclass(frozen=True)
class FixedRowWalks:
    """n walks of examples x (n, d) whose columns enter at steps 1 to p, each with q background rows b (n, q, d).

    Step j of a walk changes its hybrid row only if a column that enters at j differs between x and b. Before the first
    change the row is b itself, after the last it is x itself.
    """

    x: np.ndarray
    b: np.ndarray
    entry_position: np.ndarray
    steps: int  # p

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """Counts the changes of used columns up to each of the steps 1 to p: (n, q, p)."""
        n, q = self.b.shape[:2]
        differs = (bits(self.x)[:, None, :] != bits(self.b)) & is_used
        is_change = np.zeros((n, q, self.steps + 1), dtype=np.int32)
        if self.steps <= FEW_STEPS:  # as where all columns of a coalition enter together
            for step in range(1, self.steps + 1):
                is_change[:, :, step] = (differs & (self.entry_position == step)[:, None, :]).any(axis=2)
        else:
            step_of_change = np.where(differs, self.entry_position[:, None, :], 0)
            is_change[np.arange(n)[:, None, None], np.arange(q)[None, :, None], step_of_change] = 1
        return np.asarray(np.cumsum(is_change[:, :, 1:], axis=2, dtype=np.int32))

    def rows(self, walk: np.ndarray, draw: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Returns the hybrid rows (r, d) of the given walks with the given background rows at the given steps."""
        rows = np.empty((len(walk), self.x.shape[1]))
        for part in batches(len(walk), max(1, CELLS_AT_ONCE // self.x.shape[1])):
            rows[part] = self.b[walk[part], draw[part]]
            has_entered = self.entry_position[walk[part]] <= step[part, None]
            np.copyto(rows[part], self.x[walk[part]], where=has_entered)
        return rows


def evaluate(
    walks: HybridWalks,
    alone: np.ndarray,
    full: np.ndarray,
    predict: Callable[[np.ndarray], np.ndarray],
    at_once: int,
    *,
    skip: bool = True,
    keep: bool = False,
) -> Steps:
    """Evaluates a model on the hybrid rows of walks, at most ``at_once`` rows in one call.

    ``alone`` (n, q, k) are its predictions for the background rows, ``full`` (n, k) those for the examples. With
    ``skip`` a row that does not change or that repeats is passed only once; without it, as for a model whose outputs
    vary between calls, the row of each step is. ``keep`` returns the rows that were passed, with their predictions.
    """
    n, q, _ = walks.b.shape
    inner = walks.steps - 1
    count = walks.changes(np.ones(walks.x.shape[1], dtype=bool))
    before, last = count[:, :, :inner], count[:, :, -1:]
    is_new = np.diff(before, axis=2, prepend=0) > 0 if skip else np.ones((n, q, inner), dtype=bool)
    if skip:
        is_new &= before < last
    walk, draw, step = np.nonzero(is_new)
    is_searched = skip and len(walk) <= WORTH_A_SEARCH * is_new.size
    predictions, rows, asked = [], 0, []
    for part in batches(len(walk), at_once):
        hybrid = walks.rows(walk[part], draw[part], step[part] + 1)
        distinct, inverse = _distinct(hybrid) if is_searched else (hybrid, None)
        outputs = predict(distinct)
        rows += len(distinct)
        predictions.append(outputs if inverse is None else outputs[inverse])
        if keep:
            asked.append((distinct, outputs))
    evaluated = np.concatenate(predictions) if predictions else np.empty((0, full.shape[1]))
    latest = np.cumsum(is_new.ravel()).reshape(is_new.shape) - 1  # the last evaluation up to each step
    outputs = evaluated[np.maximum(latest, 0)] if len(evaluated) else np.empty((n, q, inner, full.shape[1]))
    if skip:
        outputs = with_ends(outputs, before, last, alone, full)
    return Steps(outputs, rows, _concatenated(asked) if asked else None)


def with_ends(
    outputs: np.ndarray, changes: np.ndarray, all_changes: np.ndarray, alone: np.ndarray, full: np.ndarray
) -> np.ndarray:
    """Sets outputs (n, q, p - 1, k), in place, to f(b) before the first change and to f(x) after the last."""
    np.copyto(outputs, alone[:, :, None, :], where=(changes == 0)[..., None])
    np.copyto(outputs, full[:, None, None, :], where=(changes == all_changes)[..., None])
    return outputs


def concatenated(parts: list[Steps]) -> Steps:
    """Joins the predictions of several sets of walks into those of one set."""
    if len(parts) == 1:
        return parts[0]
    asked = [part.asked for part in parts if part.asked is not None]
    outputs = np.concatenate([part.outputs for part in parts])
    return Steps(outputs, sum(part.rows for part in parts), _concatenated(asked) if asked else None)


def impute(
    x: np.ndarray, columns: np.ndarray, cells: np.ndarray, full: np.ndarray, predict: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, int]:
    """Returns predictions (n, q, k) with cells (n, q, c) in columns (c,) of x (n, d), and how many rows were passed.

    This is single imputation: each of the q rows of cells gives a prediction of its own. ``full`` (n, k) is f(x), which
    is taken for a row that equals x in all cells.
    """
    outputs = np.repeat(full[:, None], cells.shape[1], axis=1)
    is_new = (bits(cells) != bits(x[:, columns])[:, None]).any(axis=2)
    if is_new.any():
        rows = np.repeat(x, is_new.sum(axis=1), axis=0)
        rows[:, columns] = cells[is_new]
        outputs[is_new] = predict(rows)
    return outputs, int(is_new.sum())


def batches(count: int, size: int) -> Iterator[slice]:
    """Returns slices that divide ``count`` rows into batches of at most ``size``."""
    return (slice(start, start + size) for start in range(0, count, size))


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Returns the distinct rows, and the index of each row among them; the rows and None if all are distinct."""
    first, which = distinct_rows(rows)
    return (rows, None) if len(first) == len(rows) else (rows[first], which)


def _concatenated(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    rows, predictions = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(predictions)
