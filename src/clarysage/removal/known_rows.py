"""Examples that are background rows themselves, known again by their cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clarysage.removal.own_rows import own_of, own_rows
from clarysage.removal.row_marks import bits, marks

NEARLY_ALL = 1 - 1e-9  # of the mass of the background, in one row


@dataclass(frozen=True)
class KnownRows:
    """Which background row a row of codes is, -1 for none; examples that are equal in all cells are treated alike.

    ``codes`` (q, d) are the examples that are background rows, in the order of their ``marks``, and ``own`` (q,) those
    rows.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> KnownRows.of(X, X[[2, 0]], np.full(2, 0.5), None).places(X)
    array([ 1, -1,  0])
    """

    codes: np.ndarray
    own: np.ndarray
    marks: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, background: np.ndarray, mass: np.ndarray, source: np.ndarray | None) -> KnownRows:
        """The examples X that are background rows: by ``source`` (m,), the example that each of them is, or by cells.

        None is one where a row has all the mass, since nothing would be left to stand in for it.
        """
        own = own_rows(X, background) if source is None else own_of(source, len(X))
        if own is None or len(mass) < 2 or mass.max() > NEARLY_ALL:
            own = np.full(len(X), -1)
        is_one = own >= 0
        found = marks(X[is_one])
        order = np.argsort(found, kind="stable")
        return cls(X[is_one][order], own[is_one][order], found[order])

    def __len__(self) -> int:
        return len(self.own)

    def places(self, x: np.ndarray) -> np.ndarray:
        """The background row that each row of codes (n, d) is, -1 for none."""
        if not len(self):
            return np.full(len(x), -1)
        place = np.minimum(np.searchsorted(self.marks, marks(x)), len(self) - 1)
        is_same = (bits(self.codes[place]) == bits(x)).all(axis=1)
        return np.where(is_same, self.own[place], -1)
