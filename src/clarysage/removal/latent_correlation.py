"""Correlations of normal scores behind columns of which ties hide a part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from clarysage.removal.margins import Margin

TERMS = 60  # of Mehler's series
HALVINGS = 40


def latent_correlation(codes: np.ndarray, margins: Sequence[Margin]) -> np.ndarray:
    r"""Correlations (d, d) of Gaussian scores whose ranks, cut into cells as the columns of codes (n, d) are, agree.

    What is seen of a score z is the mean m(z) over the cell that it falls in. With Hermite's coefficients c_k of m,

    .. math:: E[m_i(z_i) m_j(z_j)] = \sum_k c_{ik} c_{jk} \rho_{ij}^k

    (Mehler), which grows with rho: it is found by halving. For continuous columns c_1 = 1 is all there is, and rho is
    the correlation of scores; for two columns of two values it is the tetrachoric correlation.
    """
    found = [_cell_means(margin) for margin in margins]
    seen = np.column_stack(
        [
            mean[np.searchsorted(margin.levels[0], margin.ranks(column)[0], side="right") - 1]
            for column, margin, (mean, _) in zip(codes.T, margins, found, strict=True)
        ]
    )
    c = np.array([coefficients for _, coefficients in found])  # (d, TERMS)
    return _halved(seen.T @ seen / len(codes), c)


def _cell_means(margin: Margin) -> tuple[np.ndarray, np.ndarray]:
    """Mean scores of the cells of a column, and the first coefficients of Hermite polynomials, scaled to norm 1."""
    begins, counts = margin.levels
    n = len(margin.keys)
    ends = scipy.special.ndtri(np.append(begins, n) / n)
    density = np.exp(-(ends**2) / 2) / np.sqrt(2 * np.pi)
    means = -np.diff(density) * n / counts
    coefficients = np.zeros(TERMS)
    if not margin.is_tied:
        coefficients[0] = np.sqrt((means**2) @ counts / n)  # so that a column is correlated with itself by 1
        return means, coefficients
    # the integral of H_k over a cell is H_{k-1} times the density at its beginning, less that at its end
    inside = np.isfinite(ends)
    z = np.where(inside, ends, 0.0)
    before, now = np.zeros_like(z), density.copy()  # H_{-1} and H_0, times the density
    for k in range(TERMS):
        coefficients[k] = -(means @ np.diff(now)) / np.sqrt(k + 1)
        before, now = now, (z * now - np.sqrt(k) * before) / np.sqrt(k + 1)
    return means, coefficients


def _halved(wanted: np.ndarray, c: np.ndarray) -> np.ndarray:
    low, high = np.full_like(wanted, -1.0), np.ones_like(wanted)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_less = _mehler(middle, c) < wanted
        low, high = np.where(is_less, middle, low), np.where(is_less, high, middle)
    tells = np.abs(c).max(axis=1) > 0  # a constant column tells nothing of its scores
    return np.where(np.outer(tells, tells), (low + high) / 2, 0.0)


def _mehler(rho: np.ndarray, c: np.ndarray) -> np.ndarray:
    total = np.zeros_like(rho)
    for column in c.T[::-1]:
        total = (total + column[:, None] * column) * rho
    return total
