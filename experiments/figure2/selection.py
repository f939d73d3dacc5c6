"""Selection of the best and the worst features of a method."""

from __future__ import annotations

import numpy as np

ENDS = ("best", "worst")


def selected(values: np.ndarray, end: str, k: int) -> np.ndarray:
    """Returns a mask (d,) of the k features with the largest or smallest values; ties are broken by order.

    Examples
    --------
    >>> selected(np.array([0.3, -0.1, 0.0, 0.2]), "best", 2)
    array([ True, False, False,  True])
    >>> selected(np.array([0.3, -0.1, 0.0, 0.2]), "worst", 2)
    array([False,  True,  True, False])
    """
    if end not in ENDS:
        raise ValueError(f"end: got {end!r}; wanted one of {', '.join(ENDS)}")
    chosen = np.zeros(len(values), dtype=bool)
    chosen[np.argsort(-values if end == "best" else values, kind="stable")[:k]] = True
    return chosen
