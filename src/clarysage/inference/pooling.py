"""Pooling of replicated runs on the same rows and background: what they say together of the populations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.inference.estimate import Target
from clarysage.inference.population import FEWEST, LEAST, about_rows


@dataclass(frozen=True)
class Pool:
    r"""Independent runs r of the same game, with weights w_r that add up to one.

    What run r says of a population has a variance of two parts,

    .. math:: V_r = T + \sigma_r^2

    T comes of the rows and the background, which are the same in all runs, and no number of runs makes it smaller. The
    sampling of run r, \sigma_r^2, is independent of that of the others. So

    .. math:: V = T + \sum_r w_r^2 \sigma_r^2, \qquad
        \hat T = \sum_r w_r \max(0, V_r - \sigma_r^2)

    Attributes
    ----------
    weights : (R,)
    sampling : (R, p) variances of the runs' own sampling
    """

    weights: np.ndarray
    sampling: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The variance (p,) that the sampling of all runs leaves."""
        return np.asarray(self.weights**2 @ self.sampling)

    def mean(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The weighted mean of one array a run, added up in the order of the runs."""
        return np.asarray(sum(weight * array for weight, array in zip(self.weights, arrays, strict=True)))

    def rows(self, found: Sequence[Target]) -> Target:
        """About the population of rows, where what single rows contribute is not known."""
        pairs = zip(found, self.sampling, strict=True)
        shared = self.mean([np.maximum(0.0, one.std_error**2 - own) for one, own in pairs])
        return self._target(found, shared + self.least)

    def rows_by_parts(self, found: Sequence[Target], parts: Sequence[np.ndarray], weights: np.ndarray) -> Target | None:
        r"""About the population of rows, from what rows of the given weights contribute, (N, p) a run.

        Their weighted mean e_x over the runs scatters over the rows by T, and by what sampling has left of itself in
        it; what V_r holds beside the scatter of the run's own parts is of its sampling alone:

        .. math:: V = V(e) + \sum_r w_r^2 (V_r - V(e_r)), \qquad
            V(e) = \frac{N}{N - 1} \sum_x (e_x - w_x \hat\phi)^2
        """
        beside = np.zeros(parts[0].shape[1])
        for weight, one, own in zip(self.weights, found, parts, strict=True):
            alone = about_rows(own.sum(axis=0), own, weights)
            if alone is None:
                return None
            beside = beside + weight**2 * (one.std_error**2 - alone.std_error**2)
        both = self.mean(parts)
        rows = about_rows(both.sum(axis=0), both, weights, beside)
        if rows is None:
            return None
        error = np.sqrt(np.maximum(rows.std_error**2, self.least))
        return Target(self.mean([one.values for one in found]), error, rows.dof, rows.skew)

    def population(self, found: Sequence[Target], by_rows: Sequence[Target], rows: Target) -> Target:
        """About the populations of rows and of background: the variance of all runs about ``rows``, and on average what
        the background adds to it in a run, ``found`` less ``by_rows``.

        A little of that is sampling, of what an endless background would add, and is counted whole; V is at least the
        share of that about the rows that it has in a run (:func:`~clarysage.inference.population.estimates`).
        """
        added = self.mean([one.std_error**2 - of.std_error**2 for one, of in zip(found, by_rows, strict=True)])
        return self._target(found, np.maximum(rows.std_error**2 + added, LEAST * rows.std_error**2))

    def _target(self, found: Sequence[Target], variance: np.ndarray) -> Target:
        variance = np.maximum(variance, self.least)
        values = self.mean([one.values for one in found])
        return Target(values, np.sqrt(variance), self._degrees(found, variance), self._skew(found, variance))

    def _degrees(self, found: Sequence[Target], variance: np.ndarray) -> np.ndarray:
        r"""Degrees of freedom, as if all runs erred in their variances in the same way, since their rows are the same.

        .. math:: \nu + 1 = \Big(V \Big/ \sum_r \frac{w_r V_r}{\sqrt{\nu_r + 1}}\Big)^2
        """
        known = np.stack([one.dof for one in found])
        doubt = self.mean([one.std_error**2 / np.sqrt(one.dof + 1) for one in found])
        ratio = np.divide(variance, doubt, out=np.zeros_like(variance), where=doubt > 0)
        few, many = known.min(axis=0), known.max(axis=0)
        return np.asarray(np.where(doubt > 0, np.clip(ratio**2 - 1, np.minimum(few, FEWEST), many), few))

    def _skew(self, found: Sequence[Target], variance: np.ndarray) -> np.ndarray:
        """Third moments are of the rows, and so are shared; too large rather than too small, by those of sampling."""
        cubes = self.mean([one.skew * one.std_error**3 for one in found])
        skew = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=variance > 0)
        return np.asarray(np.clip(skew, -1.0, 1.0))
