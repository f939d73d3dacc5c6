"""Resampling schemes: rows a learner is fitted on and rows it is judged by, in K-fold cross-fitting or a hold-out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, Or, Set


@dataclass(frozen=True)
class Part:
    """Rows to fit on and rows to judge by, by their numbers."""

    fitted: np.ndarray
    held: np.ndarray


@dataclass(frozen=True)
class Design:
    """Parts whose rows to judge by are the examples, each in one part; and the design in words."""

    parts: tuple[Part, ...]
    words: str

    @property
    def examples(self) -> np.ndarray:
        """Rows to judge by, in ascending order."""
        return np.sort(np.concatenate([part.held for part in self.parts]))


def crossed(folds: Any, labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> Design:
    """Cross-fitting: each row is held out once, and predicted by a learner fitted on the other folds.

    Rows are dealt out at random; with ``labels`` (n,) of classes, class by class, so that folds have like shares.

    Examples
    --------
    >>> design = crossed(2, np.array([0, 0, 1, 1]), 4, np.random.default_rng(0))
    >>> [np.bincount(np.array([0, 0, 1, 1])[part.held]).tolist() for part in design.parts]
    [[1, 1], [1, 1]]
    """
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or not 2 <= folds <= rows:
        raise InputError(
            "folds",
            got=f"{folds!r}",
            wanted=f"a whole number from 2 to {rows:,}, the rows of X",
            hint=[Set("folds", 5), Or(), Set("test_size", 0.25)],
        )
    fold = np.empty(rows, dtype=np.intp)
    fold[_dealt(labels, rows, rng)] = np.arange(rows) % folds
    parts = tuple(Part(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(folds)))
    return Design(parts, f"cross-fitted in {folds} folds")


def split(share: Any, labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> Design:
    """A share of the rows to judge by, drawn at random, with classes in like shares; the others to fit on."""
    is_share = isinstance(share, (float, np.floating)) and 0 < share < 1
    if not is_share or not 1 <= round(share * rows) < rows:
        raise InputError(
            "test_size",
            got=f"{share!r}",
            wanted="a share between 0 and 1 that leaves rows on both sides",
            hint=Set("test_size", 0.25),
        )
    held = round(share * rows)
    dealt = _dealt(labels, rows, rng)
    # every so many rows along the classes, so that each gives its share
    is_held = np.diff(np.floor(np.arange(rows + 1) * held / rows + rng.random())) > 0
    return divided(np.sort(dealt[~is_held]), np.sort(dealt[is_held]))


def divided(fitted: np.ndarray, held: np.ndarray) -> Design:
    """Rows to fit on and rows to judge by, as given."""
    return Design((Part(fitted, held),), f"fitted on {len(fitted):,} rows and judged by {len(held):,} others")


def _dealt(labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Rows at random, or at random within classes, one class after the other."""
    order = rng.permutation(rows)
    return order if labels is None else order[np.argsort(labels[order], kind="stable")]
