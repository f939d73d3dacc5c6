"""Decisions at the nodes of trees: all that libraries differ in, so that walks need not know of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MISSING, MISSING_IS_ZERO, ZERO_IS_MISSING = 0, 1, 2  # rules: what to do with cells that are missing
NEARLY_ZERO = float(np.float32(1e-35))  # as LightGBM has it


@dataclass(frozen=True)
class Decisions:
    """Which way rows go at each of the internal nodes of an ensemble.

    Attributes
    ----------
    column : inner column that is looked at, (nodes,)
    threshold : rows go left where the cell is less
    missing_left : whether missing cells go left
    rule : what missing cells are
    first, count : where the words of a set of categories are, and how many; count -1 where there is none
    in_left : whether the categories of the set go left, and all others right, or the other way round
    sets : words of 32 categories each
    is_single : whether cells are rounded to single precision first
    """

    column: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    rule: np.ndarray
    first: np.ndarray
    count: np.ndarray
    in_left: np.ndarray
    sets: np.ndarray
    is_single: bool

    def bits(self, z: np.ndarray) -> np.ndarray:
        """Decisions on rows z (n, D), 64 to a word, set where a row goes left."""
        from clarysage.structure.kernels.decide import decide

        bits = np.zeros((len(z), max(1, -(-len(self.column) // 64))), dtype=np.uint64)
        is_plain = bool((self.rule == MISSING).all() and (self.count < 0).all())
        decide(
            self.cells(z),
            self.column,
            self.threshold,
            self.missing_left,
            self.rule,
            self.first,
            self.count,
            self.in_left,
            self.sets,
            is_plain,
            bits,
        )
        return bits

    def cells(self, z: np.ndarray) -> np.ndarray:
        """Rows z (n, D) as they are compared with thresholds."""
        with np.errstate(over="ignore"):  # infinite is what the library makes of such cells
            rounded = z.astype(np.float32) if self.is_single else z
        return np.ascontiguousarray(rounded, dtype=np.float64)

    def table(self, z: np.ndarray) -> np.ndarray:
        """The same, whether rows go left, (n, nodes), column by column without a kernel: the slow twin."""
        left = np.empty((len(z), len(self.column)), dtype=bool)
        for node, column in enumerate(self.column):
            cells = self.cells(z)[:, column].copy()
            if self.rule[node] == MISSING_IS_ZERO:
                cells = np.nan_to_num(cells, nan=0.0, posinf=np.inf, neginf=-np.inf)
            missing = np.isnan(cells)
            if self.rule[node] == ZERO_IS_MISSING:
                missing |= np.abs(cells) <= NEARLY_ZERO
            if self.count[node] < 0:
                goes_left = cells < self.threshold[node]
            else:
                goes_left = np.array([self._is_in(node, cell) for cell in cells]) == self.in_left[node]
            left[:, node] = np.where(missing, self.missing_left[node], goes_left)
        return left

    def _is_in(self, node: int, cell: float) -> bool:
        if not 0 <= cell < 32 * self.count[node]:
            return False
        word, place = divmod(int(cell), 32)
        return bool(int(self.sets[self.first[node] + word]) >> place & 1)
