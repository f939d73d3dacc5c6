"""Resampling schemes of refits: cross-fitting (K-fold cross-validation, Chernozhukov et al. 2018) or a hold-out.

Cross-fitting evaluates each row with a learner that was fitted on the other folds, so that no row is evaluated by a
learner that has seen it, and all rows are used. Folds are stratified by class.

References
----------
V. Chernozhukov et al. (2018). Double/debiased machine learning for treatment and structural parameters. The
Econometrics Journal 21, C1-C68.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, Or, Set


@dataclass(frozen=True)
class Split:
    """Indices of the rows to fit on (train), and of those held out to evaluate the fit (test)."""

    train: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Design:
    """The splits of a resampling scheme, in which every example is held out once, and a text that describes it."""

    splits: tuple[Split, ...]
    words: str

    @property
    def examples(self) -> np.ndarray:
        """The rows that are held out in some split, in ascending order."""
        return np.sort(np.concatenate([split.test for split in self.splits]))


def cross_fitting_design(folds: Any, labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> Design:
    """Returns a cross-fitting design: each row is held out once, and predicted by a learner fitted on the other folds.

    Rows are assigned to folds at random; with ``labels`` (n,) of classes, folds are stratified by class.

    Examples
    --------
    >>> design = cross_fitting_design(2, np.array([0, 0, 1, 1]), 4, np.random.default_rng(0))
    >>> [np.bincount(np.array([0, 0, 1, 1])[split.test]).tolist() for split in design.splits]
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
    fold[_shuffled(labels, rows, rng)] = np.arange(rows) % folds
    splits = tuple(Split(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(int(folds)))
    return Design(splits, f"cross-fitted in {folds} folds")


def hold_out_design(share: Any, labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> Design:
    """Returns a hold-out design: a random share of the rows, stratified by class, is held out."""
    is_share = isinstance(share, (float, np.floating)) and 0 < share < 1
    if not is_share or not 1 <= round(share * rows) < rows:
        raise InputError(
            "test_size",
            got=f"{share!r}",
            wanted="a share between 0 and 1 that leaves rows in both parts",
            hint=Set("test_size", 0.25),
        )
    held = round(share * rows)
    shuffled = _shuffled(labels, rows, rng)
    # a systematic sample along the classes, so that each class contributes its share
    is_held = np.diff(np.floor(np.arange(rows + 1) * held / rows + rng.random())) > 0
    return design_of_split(np.sort(shuffled[~is_held]), np.sort(shuffled[is_held]))


def design_of_split(train: np.ndarray, test: np.ndarray) -> Design:
    """Returns the design of a given split into rows to fit on and rows held out."""
    return Design((Split(train, test),), f"fitted on {len(train):,} rows and evaluated on {len(test):,} others")


def _shuffled(labels: np.ndarray | None, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Returns the rows in random order, or in random order within classes, one class after the other."""
    order = rng.permutation(rows)
    return order if labels is None else order[np.argsort(labels[order], kind="stable")]
