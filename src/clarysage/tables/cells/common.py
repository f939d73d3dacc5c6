"""One dtype for the cells of several tables: the first of theirs that holds every cell unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

EXACT_INTEGERS = 2**53  # from here on integers are not exact in float64, and go by dictionary


def common_dtype(parts: Sequence[Any], dtypes: Sequence[Any], survives: Callable[[Any, Any], bool]) -> Any:
    """The first of the dtypes to which every part can be cast without loss; TypeError where there is none."""
    for dtype in dtypes:
        if all(survives(part, dtype) for part in parts):
            return dtype
    raise TypeError(f"no dtype among {', '.join(dict.fromkeys(map(str, dtypes)))} holds them all")
