"""Which examples are background rows themselves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.removal.row_marks import bits, marks


def own_of(source: np.ndarray, examples: int) -> np.ndarray | None:
    """The background row that each example is, (N,), from the examples that background rows are, (m,); -1 for none.

    Examples
    --------
    >>> own_of(np.array([2, -1, 0]), 4)
    array([ 2, -1,  0, -1])
    """
    own = np.full(examples, -1)
    own[source[source >= 0]] = np.flatnonzero(source >= 0)
    return own if (own >= 0).any() else None


def own_rows(X: np.ndarray, background: np.ndarray) -> np.ndarray | None:
    """The number of the background row that each example is, (N,), -1 for none; None where no example is one.

    Rows of codes are the same where the two tables are; or where a row occurs once in each of them, if that is so for
    at least half of the smaller table. Else, and among rows that occur more often, equal ones may well be of different
    individuals.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> own_rows(X, X[[2, 0]])
    array([ 1, -1,  0])
    """
    if X.shape == background.shape and np.array_equal(X, background, equal_nan=True):
        return np.arange(len(X))
    mine, theirs = marks(X), marks(background)
    alike = np.flatnonzero(np.isin(mine, theirs))
    places = {mark: place for place, mark in enumerate(theirs.tolist())}
    often = Counter(mine[alike].tolist()), Counter(theirs.tolist())
    found = np.full(len(X), -1)
    for example in alike.tolist():
        mark = int(mine[example])
        is_single = often[0][mark] == often[1][mark] == 1
        if is_single and np.array_equal(bits(X[example]), bits(background[places[mark]])):
            found[example] = places[mark]
    return found if (found >= 0).sum() >= min(len(X), len(background)) / 2 else None


def source_of(examples: Any, rows: int, count: int) -> np.ndarray | None:
    """The example that each of so many background rows is, of so many examples, as a user gives it; None for None."""
    if examples is None:
        return None
    source = np.asarray(examples)
    is_whole = source.ndim == 1 and len(source) == rows and source.dtype.kind in "iu"
    is_right = is_whole and ((source >= -1) & (source < count)).all()
    if not is_right or (np.unique(source[source >= 0], return_counts=True)[1] > 1).any():
        raise InputError(
            "background examples", got=repr(examples)[:80],
            wanted=f"the number of a row of X for each of {rows} background rows, each at most once, -1 for none",
        )  # fmt: skip
    return source
