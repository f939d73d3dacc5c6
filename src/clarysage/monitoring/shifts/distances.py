"""How likely it is by chance that two samples are so far apart: numbers along the line, categories by counts."""

from __future__ import annotations

import numpy as np
from scipy.special import chdtrc, kolmogorov
from scipy.stats import ks_2samp, kstwo

EXACT_ROWS = 2_000  # in each sample; beyond, a one-sample law of as many rows as both are worth is as good
MANY_ROWS = 1_000  # that both are worth, beyond which its limit is as good
EXPECTED = 5.0  # rows of a category expected in the smaller sample, below which chi-square is not trusted


def kolmogorov_p(reference: np.ndarray, current: np.ndarray, distance: float) -> float:
    """How likely a gap so large is between sorted samples of one law; ties make it larger than it need be."""
    n, m = len(reference), len(current)
    if distance == 0:
        return 1.0
    if max(n, m) <= EXACT_ROWS:
        return float(ks_2samp(reference, current, method="exact").pvalue)
    worth = n * m / (n + m)
    if worth <= MANY_ROWS:
        return float(kstwo.sf(distance, max(1, round(worth))))
    return float(kolmogorov(np.sqrt(worth) * distance))


def total_variation(reference: np.ndarray, current: np.ndarray) -> float:
    """Half the sum of differences between shares, of counts (k,) each; 0 where one has none."""
    if not reference.sum() or not current.sum():
        return 0.0
    return min(1.0, float(np.abs(reference / reference.sum() - current / current.sum()).sum() / 2))


def chi_square_p(reference: np.ndarray, current: np.ndarray) -> float:
    """How likely counts (k,) so different are by chance, rare categories taken together; 1 where all are rare.

    Which ones are rare is told by both samples together, so it does not bend the chance.
    """
    table = _pooled(np.array([reference, current], dtype=np.float64))
    if table.shape[1] < 2:
        return 1.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(chdtrc(table.shape[1] - 1, ((table - expected) ** 2 / expected).sum()))


def rare(reference: np.ndarray, current: np.ndarray) -> np.ndarray:
    """Which categories (k,) are expected so rarely in the smaller sample that they are taken together."""
    together, rows = reference + current, (reference.sum(), current.sum())
    return np.asarray(together * min(rows) < EXPECTED * max(sum(rows), 1))


def _pooled(table: np.ndarray) -> np.ndarray:
    """Counts (2, k) with the rare columns added up, and the next rarest where these are too few still."""
    table = table[:, np.argsort(-table.sum(axis=0), kind="stable")]
    kept = int((~rare(*table)).sum())
    rest = table[:, kept:].sum(axis=1, keepdims=True)
    if kept and rest.any() and rare(*np.hstack([table[:, :kept], rest]))[-1]:
        kept -= 1
        rest = rest + table[:, kept : kept + 1]
    return np.hstack([table[:, :kept], rest]) if rest.any() else table[:, :kept]
