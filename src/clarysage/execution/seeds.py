"""Random streams: chunk i of a run always draws from stream i, on whichever worker it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage._utils.seeds import drawn_seed
from clarysage.errors import InputError

# purposes of streams
DRAWS, BACKGROUND, REMOVAL, PILOT, TRIAL, MANIFOLD = 0, 1, 2, 3, 4, 5
FOLDS, LEARNER = 8, 9  # purposes in refits
SUBSETS, COALITION_VALUES, RESAMPLES = 10, 11, 12  # purposes in agreement
PAIRS, PROXY = 13, 14  # purposes in interactions: pairs, and the lack of fit of the additive proxy
ROWS = 15  # the choice of examples from a table


def entropy_of(rng: Any) -> int:
    """Returns the entropy of a run: a seed itself, a number drawn from a generator, or for None the system's."""
    if rng is None:
        return int(np.random.SeedSequence().generate_state(2, np.uint64)[0])
    if isinstance(rng, np.random.SeedSequence):
        return int(rng.generate_state(1, np.uint64)[0])
    seed = drawn_seed(rng)
    if seed is None:
        accepted = "None, a seed (a whole number of zero or more), or a numpy Generator or RandomState"
        raise InputError("rng", got=f"{rng!r}", wanted=accepted)
    return seed


def stream(entropy: int, purpose: int, number: int) -> np.random.Generator:
    """Returns random stream ``number`` for a purpose.

    Examples
    --------
    >>> bool(stream(7, DRAWS, 3).integers(100) == stream(7, DRAWS, 3).integers(100))
    True
    """
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(purpose, number)))
