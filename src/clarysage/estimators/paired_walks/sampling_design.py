"""The sampling design: stratified systematic sampling of examples, with Neyman allocation of further visits.

It says which example each draw looks at. Every example has a known total, l(x, nothing) - l(x, everything), which its
contributions add up to. Examples are ranked by it and stratified; within a pass over the examples the strata take
turns, as in systematic sampling (Cochran 1977, ch. 8), so that any part of a pass represents all strata. After two
passes further visits go to examples in proportion to a size measure, which is larger where contributions are expected
to vary more (Neyman 1934).

References
----------
J. Neyman (1934). On the two different aspects of the representative method: the method of stratified sampling and the
method of purposive selection. Journal of the Royal Statistical Society 97, 558-625.
W. G. Cochran (1977). Sampling Techniques, 3rd edition. Wiley.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clarysage.inference.stratified import FAIR_START, TOP
from clarysage.protocols import Game

STRATA = 16  # strata of examples by their totals, without the top stratum
EXAMPLES_FOR_STRATA = 1000  # fewer examples are not stratified, since all of them are visited soon
FEWEST_AT_THE_TOP = 22  # examples in the top stratum, plus one percent of all
MOST_VISITS = 32  # maximum number of visits to an example in a cycle
SHARE_BY_LOSSES = 0.75  # share of the size measure that is proportional to losses; the remaining share is by weight
MOST_NUMBERS = 8_000_000  # limit on memory: players x losses x cells, or x background rows


@dataclass(frozen=True)
class SamplingDesign:
    """A cycle of visits: two passes over the examples of positive weight, and further visits to some of them.

    The cycle begins with a simple random sample. Then come the examples with the largest totals, twice, since a rare
    example that a feature depends on is most likely among them. The others follow, with strata of similar totals taking
    turns. When all examples have been visited twice, those of large size measure are visited again, in proportion to
    it. The cycle is repeated as long as there are draws.

    Attributes
    ----------
    order : examples in the order of visits
    length : examples in a pass
    cell : (N,) the cell that an example belongs to, in the order of totals: one example a cell, or several if there are
        very many; -1 for an example without weight
    size : (C,) examples in a cell
    stratum : (C,) the stratum that a cell belongs to, in ascending order
    """

    order: np.ndarray
    length: int
    cell: np.ndarray
    size: np.ndarray
    stratum: np.ndarray

    @classmethod
    def of(cls, game: Game, size: np.ndarray, rng: np.random.Generator, values: int | None = None) -> SamplingDesign:
        """Returns the design for a game, with further visits allocated by a size measure (N,).

        ``values`` is how many values each example has: by default one for each player.
        """
        empty, full = game.ends
        totals = game.weights * (full - empty)[:, 0]
        ranked, stratum = _strata(np.flatnonzero(game.weights > 0), totals)
        order = rng.permutation(len(ranked))
        first = order[:FAIR_START]
        is_first = np.zeros(len(ranked), dtype=bool)
        is_first[first] = True
        turn_of_stratum = rng.permutation(STRATA + 1)  # random, so that no stratum is always the first
        order = _take_turns(order, turn_of_stratum[stratum])
        top, others = order[stratum[order] == TOP], order[stratum[order] != TOP]
        visits = [first, top[~is_first[top]], top, others[~is_first[others]], others]
        numbers_per_example = empty.shape[1] * (values or game.n_players)
        examples_per_cell = max(1, -(-len(ranked) * numbers_per_example // MOST_NUMBERS))
        if examples_per_cell == 1:  # further visits to some examples of a cell would bias the mean of the cell
            visits.append(neyman_allocation(size[ranked], rng))
        cell_of_ranked, cell_size, stratum_of_cell = _cells(stratum, examples_per_cell)
        cell = np.full(len(game.weights), -1)
        cell[ranked] = cell_of_ranked
        return cls(ranked[np.concatenate(visits)], len(ranked), cell, cell_size, stratum_of_cell)

    @classmethod
    def even(cls, game: Game, rng: np.random.Generator) -> SamplingDesign:
        """Returns a design of passes in one random order: numbers of visits never differ by more than one."""
        examples = np.flatnonzero(game.weights > 0)
        n = len(examples)
        cell = np.full(len(game.weights), -1)
        cell[examples] = np.arange(n)
        ones = np.ones(n, dtype=np.intp)
        return cls(np.tile(examples[rng.permutation(n)], 2), n, cell, ones, ones)

    def examples(self, first: int, draws: int) -> np.ndarray:
        """Returns the examples of visits ``first`` to ``first + draws``."""
        return np.asarray(self.order[(first + np.arange(draws)) % len(self.order)])

    @cached_property
    def visits(self) -> np.ndarray:
        """Visits to each cell in a cycle, (C,)."""
        return np.bincount(self.cell[self.order], minlength=len(self.size))

    def weighting(self, first: int) -> np.ndarray:
        """Returns the weights of deviations within cells in covariances, for visits from ``first`` on: (2, C).

        They are equal during the first two passes. With v visits to a cell of N examples a cycle, the variance of its
        mean is N^2 s^2 / v, up to a common factor: the first cycle has v - 1 deviations in it, each later one v.
        """
        v = self.visits
        later = 2 * self.size**2 / (v * (v - 1.0 if first < len(self.order) else v))
        return np.stack([np.full(len(v), float(first < 2 * self.length)), later])

    @cached_property
    def groups(self) -> np.ndarray:
        """Sizes of two groups of examples, the top stratum and the others; a single group without a top stratum."""
        at_top = int(self.size[self.stratum == TOP].sum())
        return np.array([at_top, self.length - at_top] if 0 < at_top < self.length else [self.length])

    def group(self, examples: np.ndarray) -> np.ndarray:
        """Returns the number of the group of each example (n,)."""
        is_below_top = self.stratum[self.cell[examples]] != TOP
        return np.asarray(is_below_top * (len(self.groups) - 1), dtype=np.intp)

    def is_in_pass(self, first: int, draws: int) -> np.ndarray:
        """Returns which visits belong to the two passes, and not to the further visits by size measure: (n,)."""
        return np.asarray((first + np.arange(draws)) % len(self.order) < 2 * self.length)

    def passes(self, draws: int) -> int:
        """Returns the number of complete passes after a number of draws: 0, 1, or 2 for all later ones."""
        return 2 if draws >= 2 * self.length else int(draws >= self.draws_to_see_all)

    @cached_property
    def draws_to_see_all(self) -> int:
        first_visit = np.zeros(len(self.cell), dtype=np.intp)
        first_visit[self.order[::-1]] = np.arange(len(self.order))[::-1]
        return int(first_visit.max()) + 1


def size_measure(game: Game) -> np.ndarray:
    """Returns the size measure of examples for allocation, (N,), which adds up to one and grows with their losses.

    The contributions of an example vary between walks about as much as its losses, without features and with all of
    them, and these losses are known.
    """
    losses = np.abs(game.ends[0]) + np.abs(game.ends[1])  # (N, L)
    mean = game.weights @ losses
    relative = np.divide(losses, mean, out=np.ones_like(losses), where=mean > 0).mean(axis=1)
    size = game.weights * (1 - SHARE_BY_LOSSES + SHARE_BY_LOSSES * relative)
    return np.asarray(size / size.sum())


def _strata(examples: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranks examples by total, and returns their strata; the largest totals, of either sign, are the top stratum."""
    n = len(examples)
    if n < EXAMPLES_FOR_STRATA:
        return examples, np.ones(n, dtype=np.intp)
    ranked = examples[np.argsort(totals[examples], kind="stable")]
    stratum = np.full(n, TOP)
    below_top = np.sort(np.argsort(-np.abs(totals[ranked]), kind="stable")[n // 100 + FEWEST_AT_THE_TOP :])
    stratum[below_top] = 1 + np.arange(len(below_top)) * STRATA // len(below_top)
    return ranked, stratum


def neyman_allocation(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns the visits beyond two of a Neyman allocation, in random order: proportional to size, within limits.

    The variance of the sum is least where the visits to each example are proportional to its standard deviation, for
    which the size measure stands. Every example has at least two visits, and at most ``MOST_VISITS``.
    """
    visits = np.clip(np.rint(2 * size / size.mean()), 2, MOST_VISITS).astype(np.intp)
    return np.asarray(rng.permutation(np.repeat(np.arange(len(size)), visits - 2)))


def _take_turns(order: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """Returns indices in the given order within strata, with one index of each stratum after the other."""
    by_stratum = order[np.argsort(stratum[order], kind="stable")]
    return np.asarray(by_stratum[np.argsort(_rank_in_stratum(stratum[by_stratum]), kind="stable")])


def _rank_in_stratum(sorted_strata: np.ndarray) -> np.ndarray:
    """Returns the number of entries before each one that are of the same stratum, for strata in ascending order."""
    counts = np.unique(sorted_strata, return_counts=True)[1]
    return np.asarray(np.arange(len(sorted_strata)) - np.repeat(np.cumsum(counts) - counts, counts))


def _cells(stratum: np.ndarray, examples_per_cell: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Divides strata into cells of neighbours: the cell of each example, and the sizes and strata of the cells."""
    by_stratum = np.argsort(stratum, kind="stable")
    is_first_of_cell = _rank_in_stratum(stratum[by_stratum]) % examples_per_cell == 0
    number = np.cumsum(is_first_of_cell) - 1
    cell = np.empty(len(stratum), dtype=np.intp)
    cell[by_stratum] = number
    return cell, np.bincount(number), stratum[by_stratum][is_first_of_cell]
