"""Pooling of replicated runs on the same rows and background into estimates about the populations.

The runs share the sampling errors of rows and background, and have independent Monte Carlo errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clarysage.inference.estimate import Target
from clarysage.inference.population import FEWEST, LEAST, about_rows


@dataclass(frozen=True)
class Pool:
    r"""Independent runs r of the same game, with weights w_r that add up to one.

    The variance of run r as an estimate about a population has two parts,

    .. math:: V_r = T + \sigma_r^2

    T comes from the sampling of the rows and the background, which are the same in all runs, so that no number of runs
    reduces it. The Monte Carlo variance of run r, \sigma_r^2, is independent of that of the others. Therefore

    .. math:: V = T + \sum_r w_r^2 \sigma_r^2, \qquad
        \hat T = \sum_r w_r \max(0, V_r - \sigma_r^2)

    Attributes
    ----------
    weights : (R,) of the runs
    sampling : (R, p) Monte Carlo variances of the runs
    """

    weights: np.ndarray
    sampling: np.ndarray

    @property
    def least(self) -> np.ndarray:
        """The Monte Carlo variance (p,) of the pooled value, a lower bound of its variance."""
        return np.asarray(self.weights**2 @ self.sampling)

    def mean(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the weighted mean of one array for each run, summed in the order of the runs."""
        return np.asarray(sum(weight * array for weight, array in zip(self.weights, arrays, strict=True)))

    def rows(self, runs: Sequence[Target]) -> Target:
        """Pools estimates about the population of rows, where the contributions of single rows are not known."""
        pairs = zip(runs, self.sampling, strict=True)
        shared = self.mean([np.maximum(0.0, run.std_error**2 - sampling) for run, sampling in pairs])
        return self._target(runs, shared + self.least)

    def rows_by_contributions(
        self, runs: Sequence[Target], contributions: Sequence[np.ndarray], weights: np.ndarray
    ) -> Target | None:
        r"""Pools estimates about the population of rows, with the contributions (N, p) of rows of given weights.

        The variance over rows of their weighted mean e_x over the runs is T and the remaining Monte Carlo variance. The
        difference between V_r and the variance over rows of the run's own contributions is Monte Carlo variance alone:

        .. math:: V = V(e) + \sum_r w_r^2 (V_r - V(e_r)), \qquad
            V(e) = \frac{N}{N - 1} \sum_x (e_x - w_x \hat\phi)^2
        """
        residual = np.zeros(contributions[0].shape[1])
        for weight, run, of_run in zip(self.weights, runs, contributions, strict=True):
            by_rows = about_rows(of_run.sum(axis=0), of_run, weights)
            if by_rows is None:
                return None
            residual = residual + weight**2 * (run.std_error**2 - by_rows.std_error**2)
        pooled = self.mean(contributions)
        rows = about_rows(pooled.sum(axis=0), pooled, weights, residual)
        if rows is None:
            return None
        error = np.sqrt(np.maximum(rows.std_error**2, self.least))
        return Target(self.mean([run.values for run in runs]), error, rows.dof, rows.skew)

    def population(self, runs: Sequence[Target], runs_by_rows: Sequence[Target], rows: Target) -> Target:
        """Pools estimates about the populations of rows and of background.

        The variance is that of the pooled estimate about ``rows``, plus the mean over the runs of what the background
        adds: the variance of ``runs`` minus that of ``runs_by_rows``. A small part of this is Monte Carlo variance of
        the correction for the finite background, which is conservatively not reduced. As in a single run, the variance
        is at least a share of that about the rows (:func:`~clarysage.inference.population.estimates`).
        """
        pairs = zip(runs, runs_by_rows, strict=True)
        added = self.mean([run.std_error**2 - by_rows.std_error**2 for run, by_rows in pairs])
        return self._target(runs, np.maximum(rows.std_error**2 + added, LEAST * rows.std_error**2))

    def _target(self, runs: Sequence[Target], variance: np.ndarray) -> Target:
        variance = np.maximum(variance, self.least)
        values = self.mean([run.values for run in runs])
        dof = self._degrees_of_freedom(runs, variance)
        return Target(values, np.sqrt(variance), dof, self._skewness(runs, variance))

    def _degrees_of_freedom(self, runs: Sequence[Target], variance: np.ndarray) -> np.ndarray:
        r"""Returns degrees of freedom as if the variance estimates of all runs had perfectly correlated errors.

        The runs have the same rows, so that their variance estimates err in the same direction:

        .. math:: \nu + 1 = \Big(V \Big/ \sum_r \frac{w_r V_r}{\sqrt{\nu_r + 1}}\Big)^2
        """
        dof = np.stack([run.dof for run in runs])
        error = self.mean([run.std_error**2 / np.sqrt(run.dof + 1) for run in runs])  # of the variance
        ratio = np.divide(variance, error, out=np.zeros_like(variance), where=error > 0)
        fewest, most = dof.min(axis=0), dof.max(axis=0)
        return np.asarray(np.where(error > 0, np.clip(ratio**2 - 1, np.minimum(fewest, FEWEST), most), fewest))

    def _skewness(self, runs: Sequence[Target], variance: np.ndarray) -> np.ndarray:
        """Returns skewness from third moments over the rows, which runs share; the result errs on the large side."""
        cubes = self.mean([run.skew * run.std_error**3 for run in runs])
        skew = np.divide(cubes, variance**1.5, out=np.zeros_like(cubes), where=variance > 0)
        return np.asarray(np.clip(skew, -1.0, 1.0))
