"""Helpers of all libraries: missing cells among codes, and one dtype for the cells of several tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

EXACT_INTEGERS = 2**53  # from here on integers are not exact in float64, and are encoded by a dictionary
NULL_BITS = np.uint64(0x7FF8_0000_0000_07A2)  # a NaN with a payload of its own, as R's NA is; copies preserve it
NULL = NULL_BITS.view(np.float64)  # the code of null, where a library distinguishes null from NaN


def is_null(codes: np.ndarray) -> np.ndarray:
    """Tells which codes are null, rather than a number or an ordinary NaN.

    Examples
    --------
    >>> is_null(np.array([1.0, np.nan, NULL]))
    array([False, False,  True])
    """
    return np.asarray(codes.view(np.uint64) == NULL_BITS)


def is_missing(cell: Any) -> bool:
    """Tells whether an object is a missing cell: None, NaN, NaT or NA."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def common_dtype(parts: Sequence[Any], dtypes: Sequence[Any], is_lossless: Callable[[Any, Any], bool]) -> Any:
    """Returns the first of the dtypes to which all parts can be cast without loss; raises TypeError if none."""
    for dtype in dtypes:
        if all(is_lossless(part, dtype) for part in parts):
            return dtype
    raise TypeError(f"no dtype among {', '.join(dict.fromkeys(map(str, dtypes)))} holds them all")
