"""Which examples are background rows themselves."""

from __future__ import annotations

import numpy as np


def own_of(source: np.ndarray, examples: int) -> np.ndarray | None:
    """The same from the examples that background rows are, (m,), -1 for none.

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

    Rows of codes are the same where the two tables are, or where a row occurs once in each of them: among rows that
    occur more often equal ones may well be of different individuals.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> own_rows(X, X[[2, 0]])
    array([ 1, -1,  0])
    """
    if X.shape == background.shape and np.array_equal(X, background, equal_nan=True):
        return np.arange(len(X))
    both = np.ascontiguousarray(np.vstack([X, background]) + 0.0)  # by which -0.0 is 0.0
    rows = both.view(np.dtype((np.void, both.dtype.itemsize * both.shape[1]))).ravel()
    number = np.unique(rows, return_inverse=True)[1].ravel()
    mine, theirs = number[: len(X)], number[len(X) :]
    kinds = int(number.max()) + 1
    is_single = (np.bincount(mine, minlength=kinds) == 1) & (np.bincount(theirs, minlength=kinds) == 1)
    place = np.full(kinds, -1)
    place[theirs] = np.arange(len(background))
    found = np.where(is_single[mine], place[mine], -1)
    return found if (found >= 0).any() else None
