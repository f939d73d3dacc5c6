"""f_S along walks by one coalition at a time: predictions at every proper prefix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Predict = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]


def at_prefixes(
    predict: Predict, x: np.ndarray, arrivals: np.ndarray, rng: np.random.Generator, *, coalitions_at_once: int
) -> np.ndarray:
    """Predictions (n, p - 1, k) where step j = 1, ..., p - 1 keeps the columns with arrival <= j: (n, d), (n, d).

    ``coalitions_at_once`` is how many masks are held at once, about.
    """
    inner = np.arange(1, int(arrivals.max()))
    at_once = max(1, coalitions_at_once // len(inner))
    parts = []
    for start in range(0, len(x), at_once):
        rows = slice(start, start + at_once)
        kept = arrivals[rows, None, :] <= inner[:, None]  # (n, p - 1, d)
        shown = np.repeat(x[rows], len(inner), axis=0)
        parts.append(predict(shown, kept.reshape(shown.shape), rng))
    return np.concatenate(parts).reshape(len(x), len(inner), -1)
