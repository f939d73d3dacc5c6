"""Seeds as users pass them: a number, or a generator to draw one from."""

from __future__ import annotations

from typing import Any

import numpy as np


def drawn_seed(rng: Any) -> int | None:
    """Returns a seed as it is, or one drawn from a generator of numpy; None for anything else.

    Examples
    --------
    >>> drawn_seed(7), drawn_seed(np.random.RandomState(7)) == drawn_seed(np.random.RandomState(7)), drawn_seed("7")
    (7, True, None)
    """
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, np.random.RandomState):
        return int(rng.randint(2**63, dtype=np.int64))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    return None
