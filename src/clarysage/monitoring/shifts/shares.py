"""Tests of shares: whether a value fills more or fewer rows than the draw of rows makes it."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, ndtr

EXACT = 4_000  # terms that are summed; beyond, the normal law is as good
LOOKED_AT = 40  # values tested one by one, those farthest from what is expected
ROUNDING = 1e-9  # by which a p-value may be below the least there is, since sums of floats are no exact sums


def p_of_share(found: int, count: int, drawn: int, rows: int) -> float:
    """How likely it is that a draw holds a share of a value so far off, either way.

    Given that ``count`` of all ``rows`` have the value, those ``found`` among the ``drawn`` follow a hypergeometric
    law; twice the smaller tail.

    Examples
    --------
    >>> round(p_of_share(found=3, count=3, drawn=10, rows=20), 12)  # 2 x (10 x 9 x 8) / (20 x 19 x 18)
    0.210526315789
    """
    low, high = max(0, count - (rows - drawn)), min(count, drawn)
    if low == high:
        return 1.0
    if high - low > EXACT:
        return _large(found, count, drawn, rows)
    law = np.exp(_log_law(np.arange(low, high + 1), count, drawn, rows))
    tails = law[: found - low + 1].sum(), law[found - low :].sum()
    return float(min(1.0, 2 * min(tails) / law.sum()))


def p_of_any_share(reference: np.ndarray, current: np.ndarray, rows: tuple[int, int]) -> float:
    """The smallest p-value of the shares of single values, times how many of them could have one so small.

    Counts (k,) in ``rows`` of the reference and of the current rows. A value of few rows cannot have a small p-value,
    whatever happens, so it need not be counted (Tarone's correction): rare values cost the others nothing.
    """
    counts, drawn, whole = reference + current, rows[1], sum(rows)
    sizes, times = np.unique(counts, return_counts=True)
    least = least_p(sizes, drawn, whole)
    spread = np.sqrt(np.maximum(counts * (1 - counts / whole), 1e-12))
    farthest = np.argsort(-np.abs(current - counts * drawn / whole) / spread, kind="stable")[:LOOKED_AT]
    best = 1.0
    for place in farthest:
        p = p_of_share(int(current[place]), int(counts[place]), drawn, whole)
        best = min(best, p * max(1, int(times[least <= p * (1 + ROUNDING)].sum())))
    return best


def least_p(counts: np.ndarray, drawn: int, rows: int) -> np.ndarray:
    """The smallest p-value that values of so many rows in all can have, (k,)."""
    counts = counts.astype(np.float64)
    ends = [np.maximum(0, counts - (rows - drawn)), np.minimum(counts, drawn)]
    tails = [np.exp(_log_law(end, counts, drawn, rows)) for end in ends]
    return np.asarray(np.minimum(1.0, 2 * np.minimum(*tails)))


def _log_law(found: np.ndarray, count: np.ndarray | int, drawn: int, rows: int) -> np.ndarray:
    """Logarithms of hypergeometric probabilities."""
    return np.asarray(
        _log_choose(count, found) + _log_choose(rows - count, drawn - found) - _log_choose(rows, np.asarray(drawn))
    )


def _log_choose(n: np.ndarray | int, k: np.ndarray) -> np.ndarray:
    return np.asarray(gammaln(np.add(n, 1.0)) - gammaln(k + 1.0) - gammaln(np.subtract(n, k) + 1.0))


def _large(found: int, count: int, drawn: int, rows: int) -> float:
    """By the normal law, with a continuity correction."""
    share = count / rows
    spread = np.sqrt(drawn * share * (1 - share) * (rows - drawn) / (rows - 1))
    off = max(0.0, abs(found - drawn * share) - 0.5) / spread
    return float(min(1.0, 2 * ndtr(-off)))
