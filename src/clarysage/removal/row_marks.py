"""Marks by which equal rows are found: a number for each, made of all its bits."""

from __future__ import annotations

import numpy as np

ROWS_AT_ONCE = 65_536


def bits(values: np.ndarray) -> np.ndarray:
    """Numbers as their bits, by which missing is equal to missing, and 0.0 differs from -0.0."""
    return np.ascontiguousarray(values).view(np.int64)


def marks(rows: np.ndarray) -> np.ndarray:
    """Random sums of the bits of rows (n, d): the same for equal rows, and hardly ever for others."""
    factors = np.random.default_rng(0).integers(1, 2**62, size=rows.shape[1], dtype=np.int64)
    found = np.empty(len(rows), dtype=np.int64)
    for start in range(0, len(rows), ROWS_AT_ONCE):
        mixed = bits(rows[start : start + ROWS_AT_ONCE]) * factors
        found[start : start + ROWS_AT_ONCE] = (mixed ^ (mixed >> 29)).sum(axis=1)
    return found
