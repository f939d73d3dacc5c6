"""Ranks of genes by their values, and how sure they are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import mannwhitneyu, norm

DRAWS = 4000


@dataclass(frozen=True, eq=False)
class Genes:
    """Values of genes with their standard errors, the paper's genes among them, and those known to matter."""

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
        known: Collection[str],
    ) -> Genes:
        marks = ([name in those for name in names] for those in (papers, known))
        return cls(names, values, errors, *map(np.array, marks))

    @property
    def ranks(self) -> np.ndarray:
        return ranks(self.values)

    def rank_interval(self, name: str) -> tuple[int, int]:
        """The first and last place of a gene, when those that differ from it beyond their errors keep their side."""
        i = self.names.index(name)
        apart = norm.ppf(0.975) * np.hypot(self.errors, self.errors[i])
        above, below = (self.values - self.values[i] > apart).sum(), (self.values[i] - self.values > apart).sum()
        return 1 + int(above), len(self.values) - int(below)

    def mean_rank(self) -> tuple[float, float, float]:
        """Mean rank of the known genes, with an interval over values drawn anew with their errors."""
        drawn = self.values + self.errors * np.random.default_rng(0).normal(size=(DRAWS, len(self.values)))
        each = np.array([ranks(one)[self.is_known].mean() for one in drawn])
        low, high = np.quantile(each, [0.025, 0.975])
        return float(self.ranks[self.is_known].mean()), float(low), float(high)

    def chance(self) -> float:
        """How likely known genes would rank so high if they were like the others (Mann and Whitney, one-sided)."""
        one, other = self.values[self.is_known], self.values[~self.is_known]
        return float(mannwhitneyu(one, other, alternative="greater").pvalue)


def ranks(values: np.ndarray) -> np.ndarray:
    """Places from the largest value, which has 1.

    Examples
    --------
    >>> ranks(np.array([0.1, 0.5, 0.3]))
    array([3, 1, 2])
    """
    found = np.empty(len(values), dtype=int)
    found[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return found
