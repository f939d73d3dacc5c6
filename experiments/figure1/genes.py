"""Ranks of genes by their values, with intervals, and a test of the genes known to be associated."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu, norm

DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Genes:
    """Values of genes with standard errors, and marks of the paper's genes and of genes known to be associated."""

    names: Sequence[str]
    values: np.ndarray
    errors: np.ndarray
    is_papers: np.ndarray
    is_known: np.ndarray

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        values: np.ndarray,
        errors: np.ndarray,
        papers: Collection[str],
        associated: Collection[str],
    ) -> Genes:
        marks = ([name in those for name in names] for those in (papers, associated))
        return cls(names, values, errors, *map(np.array, marks))

    @property
    def ranks(self) -> np.ndarray:
        return ranks(self.values)

    def rank_interval(self, name: str) -> tuple[int, int]:
        """Returns the smallest and largest rank of a gene; genes that differ from it significantly keep their side."""
        i = self.names.index(name)
        apart = norm.ppf(0.975) * np.hypot(self.errors, self.errors[i])
        above, below = (self.values - self.values[i] > apart).sum(), (self.values[i] - self.values > apart).sum()
        return 1 + int(above), len(self.values) - int(below)

    def mean_rank(self) -> tuple[float, float, float]:
        """Returns the mean rank of the known genes, with an interval from values redrawn with their standard errors."""
        drawn = self.values + self.errors * np.random.default_rng(0).normal(size=(DRAWS, len(self.values)))
        each = np.array([ranks(sample)[self.is_known].mean() for sample in drawn])
        low, high = np.quantile(each, [0.025, 0.975])
        return float(self.ranks[self.is_known].mean()), float(low), float(high)

    def chance(self) -> float:
        """Returns the one-sided p-value of the Mann-Whitney test that known genes rank higher than the others."""
        associated, others = self.values[self.is_known], self.values[~self.is_known]
        return float(mannwhitneyu(associated, others, alternative="greater").pvalue)


def ranks(values: np.ndarray) -> np.ndarray:
    """Returns ranks; the largest value has rank 1.

    Examples
    --------
    >>> ranks(np.array([0.1, 0.5, 0.3]))
    array([3, 1, 2])
    """
    places = np.empty(len(values), dtype=int)
    places[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return places
