"""A whole number from what users hand in as randomness."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import InputError


def seed_of(rng: Any) -> int:
    """A seed stands for itself; a Generator gives of its own."""
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InputError("rng", got=f"{rng!r}", wanted="a seed (a whole number of zero or more), or a numpy Generator")
