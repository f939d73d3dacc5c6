"""Predictions at the prefixes of walks: of f_S itself, or of hybrid rows, one background row at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from clarysage.protocols import Steps
from clarysage.removal.background import bits, marks

CELLS_AT_ONCE = 65_536  # of hybrid rows, so that what is copied stays near at hand
WORTH_A_SEARCH = 0.9  # repeated rows are looked for where at most this share of the rows of walks was left to evaluate

Predict = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def at_prefixes(
    predict: Predict, x: np.ndarray, entry_position: np.ndarray, rng: np.random.Generator, *, coalitions_at_once: int
) -> np.ndarray:
    """Predictions (n, p - 1, k) where step j = 1, ..., p - 1 keeps the columns with arrival <= j: (n, d), (n, d).

    ``coalitions_at_once`` is how many masks are held at once, about.
    """
    inner = np.arange(1, int(entry_position.max()))
    at_once = max(1, coalitions_at_once // len(inner))
    parts = []
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        is_kept = entry_position[rows, None, :] <= inner[:, None]  # (n, p - 1, d)
        shown = np.repeat(x[rows], len(inner), axis=0)
        parts.append(predict(shown, is_kept.reshape(shown.shape), rng))
    return np.concatenate(parts).reshape(len(x), len(inner), -1)


class HybridWalks(Protocol):
    """Hybrid rows of n walks of examples x (n, d), each with q background rows b (n, q, d), at steps 1 to p."""

    @property
    def x(self) -> np.ndarray: ...

    @property
    def b(self) -> np.ndarray: ...

    @property
    def steps(self) -> int:
        """p."""
        ...

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """How many changes there were up to steps 1 to p, columns that are not used aside: (n, q, p)."""
        ...

    def rows(self, walk: np.ndarray, which: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Hybrid rows (r, d) at the given steps of the given walks with the given ones of their background rows."""
        ...


@dataclass(frozen=True)
class Itinerary:
    """n walks of examples x (n, d) whose columns arrive at steps 1 to p, each with q background rows b (n, q, d).

    Step j of a walk changes its hybrid row only where a column that arrives at j differs between x and b. Before the
    first change the row is b itself, after the last it is x itself.
    """

    x: np.ndarray
    b: np.ndarray
    entry_position: np.ndarray
    steps: int  # p

    def changes(self, is_used: np.ndarray) -> np.ndarray:
        """How many changes there were up to steps 1 to p, columns that are not used aside: (n, q, p)."""
        n, q = self.b.shape[:2]
        differ = (bits(self.x)[:, None, :] != bits(self.b)) & is_used
        marks = np.zeros((n, q, self.steps + 1), dtype=np.int32)
        when = np.where(differ, self.entry_position[:, None, :], 0)
        marks[np.arange(n)[:, None, None], np.arange(q)[None, :, None], when] = 1
        return np.asarray(np.cumsum(marks[:, :, 1:], axis=2, dtype=np.int32))

    def rows(self, walk: np.ndarray, which: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Hybrid rows (r, d) at the given steps of the given walks with the given ones of their background rows."""
        rows = np.empty((len(walk), self.x.shape[1]))
        for part in _slices(len(walk), max(1, CELLS_AT_ONCE // self.x.shape[1])):
            rows[part] = self.b[walk[part], which[part]]
            has_arrived = self.entry_position[walk[part]] <= step[part, None]
            np.copyto(rows[part], self.x[walk[part]], where=has_arrived)
        return rows


def evaluate(
    walks: HybridWalks,
    alone: np.ndarray,
    full: np.ndarray,
    ask: Callable[[np.ndarray], np.ndarray],
    at_once: int,
    *,
    skip: bool = True,
    keep: bool = False,
) -> Steps:
    """Asks a model for the hybrid rows of walks.

    ``alone`` (n, q, k) are its predictions for the background rows, ``full`` (n, k) those for the examples. With
    ``skip`` a row that does not change or repeats is asked once; without it, as for a model whose answers vary, each
    step is. ``keep`` returns the rows that were asked.
    """
    n, q, _ = walks.b.shape
    inner = walks.steps - 1
    count = walks.changes(np.ones(walks.x.shape[1], dtype=bool))
    before, last = count[:, :, :inner], count[:, :, -1:]
    is_new = np.diff(before, axis=2, prepend=0) > 0 if skip else np.ones((n, q, inner), dtype=bool)
    if skip:
        is_new &= before < last
    walk, which, step = np.nonzero(is_new)
    is_searched = skip and len(walk) <= WORTH_A_SEARCH * is_new.size
    answers, rows, asked = [], 0, []
    for part in _slices(len(walk), at_once):
        hybrid = walks.rows(walk[part], which[part], step[part] + 1)
        distinct, back = _distinct(hybrid) if is_searched else (hybrid, None)
        said = ask(distinct)
        rows += len(distinct)
        answers.append(said if back is None else said[back])
        if keep:
            asked.append((distinct, said))
    known = np.concatenate(answers) if answers else np.empty((0, full.shape[1]))
    latest = np.cumsum(is_new.ravel()).reshape(is_new.shape) - 1  # the evaluation that holds at each step
    outputs = known[np.maximum(latest, 0)] if len(known) else np.empty((n, q, inner, full.shape[1]))
    if skip:
        outputs = settled(outputs, before, last, alone, full)
    return Steps(outputs, rows, _joined(asked) if asked else None)


def settled(
    outputs: np.ndarray, before: np.ndarray, last: np.ndarray, alone: np.ndarray, full: np.ndarray
) -> np.ndarray:
    """Outputs (n, q, p - 1, k) with known predictions put in, before the first change and after the last."""
    np.copyto(outputs, alone[:, :, None, :], where=(before == 0)[..., None])
    np.copyto(outputs, full[:, None, None, :], where=(before == last)[..., None])
    return outputs


def joined(parts: list[Steps]) -> Steps:
    """Those of several sets of walks."""
    if len(parts) == 1:
        return parts[0]
    asked = [one.asked for one in parts if one.asked is not None]
    outputs = np.concatenate([one.outputs for one in parts])
    return Steps(outputs, sum(one.rows for one in parts), _joined(asked) if asked else None)


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(start, start + size) for start in range(0, count, size))


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Distinct rows and the place of each row among them; the rows themselves where that would not save any.

    Rows are told apart by a random sum of their bits, and those of equal sums are then compared whole.
    """
    _, first, back = np.unique(marks(rows), return_index=True, return_inverse=True)
    if len(first) == len(rows) or not np.array_equal(bits(rows[first][back]), bits(rows)):
        return rows, None
    return rows[first], back


def _joined(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    rows, answers = zip(*parts, strict=True)
    return np.concatenate(rows), np.concatenate(answers)


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
