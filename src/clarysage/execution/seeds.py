"""Random streams: chunk i of a run always draws from stream i, whoever computes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.errors import InputError

DRAWS, BACKGROUND, REMOVAL, PILOT, TRIAL, MANIFOLD = 0, 1, 2, 3, 4, 5  # what a stream is for

FOLDS, LEARNER = 8, 9  # for refits
SUBSETS, WORTHS, RESAMPLES = 10, 11, 12  # for agreements
PAIRS, PROXY = 13, 14  # for interactions, and for what SAGE values leave unexplained
ROWS = 15  # of a table that are drawn to be examples


def entropy_of(rng: Any) -> int:
    """The entropy behind a run: a seed stands for itself, a Generator gives of its own, None takes the system's."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0])
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(2**63))
    if isinstance(rng, np.random.SeedSequence):
        return int(rng.generate_state(1, np.uint64)[0])
    if isinstance(rng, (int, np.integer)) and not isinstance(rng, bool) and rng >= 0:
        return int(rng)
    raise InputError(
        "rng", got=f"{rng!r}", wanted="None, a seed (a whole number of zero or more), or a numpy Generator"
    )


def stream(entropy: int, purpose: int, number: int) -> np.random.Generator:
    """Random stream ``number`` for a purpose.

    Examples
    --------
    >>> bool(stream(7, DRAWS, 3).integers(100) == stream(7, DRAWS, 3).integers(100))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(purpose, number)))
