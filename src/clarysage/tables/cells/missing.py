"""Missing cells among float64 codes: NaN, and one NaN of its own for null where a library tells the two apart."""

from __future__ import annotations

from typing import Any

import numpy as np

NULL_BITS = np.uint64(0x7FF8_0000_0000_07A2)  # a NaN with a mark, as R's NA is; copies keep the mark
NULL = NULL_BITS.view(np.float64)


def is_null(codes: np.ndarray) -> np.ndarray:
    """Which codes are null rather than a number or an ordinary NaN.

    Examples
    --------
    >>> is_null(np.array([1.0, np.nan, NULL]))
    array([False, False,  True])
    """
    return np.asarray(codes.view(np.uint64) == NULL_BITS)


def is_missing(cell: Any) -> bool:
    """Whether an object stands for a missing cell: None, NaN, NaT or NA."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)
