"""The sampling design: which example each draw looks at, in whole passes of which any part is a fair sample.

Every example has a known total, l(x, nothing) - l(x, everything), which its contributions add up to. Examples are
ranked by it and stratified; within a pass strata take turns, as in systematic sampling (Cochran 1977, ch. 8). After two
passes further visits go to examples in proportion to how much their draws are thought to vary (Neyman 1934).

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

STRATA = 16  # of examples by their totals
EXAMPLES_FOR_STRATA = 1000  # fewer are soon seen, all of them, and are taken in an order that the game has no part in
FEWEST_AT_THE_TOP = 22
MOST_VISITS = 32  # to an example, in a cycle of the design
BY_LOSSES = 0.75  # of the size measure; the rest goes by weight alone
NUMBERS_KEPT = 8_000_000  # players x losses x cells


@dataclass(frozen=True)
class SamplingDesign:
    """Two passes over the examples of positive weight, and more visits to some; repeated as long as there are draws.

    It begins with a simple random sample; then come the examples with the largest totals, twice, since a rare example
    that carries a feature is most likely among them; the rest follows, strata of similar totals taking turns. When all
    have been visited twice, those of large size measure are visited again, in proportion to it. That is a cycle.

    Attributes
    ----------
    order : examples in the order of visits
    length : examples in a pass
    cell : (N,) the cell that an example belongs to, along the totals: one example a cell, or several if there are very
        many; -1 for an example without weight
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
        """The design for a game, with further visits allocated by a size measure (N,).

        So many ``values`` are to be kept of each example, one for each player by default.
        """
        empty, full = game.ends
        totals = game.weights * (full - empty)[:, 0]
        there = np.flatnonzero(game.weights > 0)
        ranked, stratum = _strata(there, totals)
        order = rng.permutation(len(ranked))
        first = order[:FAIR_START]
        is_first = np.zeros(len(ranked), dtype=bool)
        is_first[first] = True
        order = _taking_turns(
            order, rng.permutation(STRATA + 1)[stratum]
        )  # which goes first in a turn is left to chance
        top, rest = order[stratum[order] == TOP], order[stratum[order] != TOP]
        passes = [first, top[~is_first[top]], top, rest[~is_first[rest]], rest]
        width = empty.shape[1] * (values or game.n_players)
        together = max(1, -(-len(ranked) * width // NUMBERS_KEPT))
        if together == 1:  # or a cell's mean would be that of its larger examples
            passes.append(_allocated(size[ranked], rng))
        cell, size, of_cell = _cells(stratum, together)
        place = np.full(len(game.weights), -1)
        place[ranked] = cell
        return cls(ranked[np.concatenate(passes)], len(ranked), place, size, of_cell)

    @classmethod
    def even(cls, game: Game, rng: np.random.Generator) -> SamplingDesign:
        """Passes over the examples in one order, drawn at random: numbers of visits never differ by more than one."""
        there = np.flatnonzero(game.weights > 0)
        n = len(there)
        place = np.full(len(game.weights), -1)
        place[there] = np.arange(n)
        ones = np.ones(n, dtype=np.intp)
        return cls(np.tile(there[rng.permutation(n)], 2), n, place, ones, ones)

    def examples(self, first: int, draws: int) -> np.ndarray:
        """Examples of visits ``first`` to ``first + draws``."""
        return np.asarray(self.order[(first + np.arange(draws)) % len(self.order)])

    @cached_property
    def visits(self) -> np.ndarray:
        """Visits to each cell in a cycle, (C,)."""
        return np.bincount(self.cell[self.order], minlength=len(self.size))

    def weighting(self, first: int) -> np.ndarray:
        """Weights of deviations within cells in covariances, for visits from the given one on: (2, C).

        They are equal during the first two passes. With v visits to a cell of N examples a cycle, the variance of its
        mean is N^2 s^2 / v, up to a common factor: the first cycle has v - 1 deviations in it, each later one v.
        """
        v = self.visits
        later = 2 * self.size**2 / (v * (v - 1.0 if first < len(self.order) else v))
        return np.stack([np.full(len(v), float(first < 2 * self.length)), later])

    @cached_property
    def groups(self) -> np.ndarray:
        """How many examples there are at the top and in the rest, or in all where there is no top."""
        at_top = int(self.size[self.stratum == TOP].sum())
        return np.array([at_top, self.length - at_top] if 0 < at_top < self.length else [self.length])

    def group(self, examples: np.ndarray) -> np.ndarray:
        """The number of the group of examples (n,)."""
        is_rest = self.stratum[self.cell[examples]] != TOP
        return np.asarray(is_rest * (len(self.groups) - 1), dtype=np.intp)

    def is_even(self, first: int, draws: int) -> np.ndarray:
        """Which visits are those of passes, not the further ones by size measure: (n,)."""
        return np.asarray((first + np.arange(draws)) % len(self.order) < 2 * self.length)

    def passes(self, draws: int) -> int:
        """How often so many visits come to every example: 0, 1, or 2 for more."""
        return 2 if draws >= 2 * self.length else int(draws >= self.draws_to_see_all)

    @cached_property
    def draws_to_see_all(self) -> int:
        first_visit = np.zeros(len(self.cell), dtype=np.intp)
        first_visit[self.order[::-1]] = np.arange(len(self.order))[::-1]
        return int(first_visit.max()) + 1


def _strata(examples: np.ndarray, totals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Examples ranked by total and the strata they belong to; the largest totals, of either sign, have their own."""
    n = len(examples)
    if n < EXAMPLES_FOR_STRATA:
        return examples, np.ones(n, dtype=np.intp)
    ranked = examples[np.argsort(totals[examples], kind="stable")]
    stratum = np.full(n, TOP)
    rest = np.sort(np.argsort(-np.abs(totals[ranked]), kind="stable")[n // 100 + FEWEST_AT_THE_TOP :])
    stratum[rest] = 1 + np.arange(len(rest)) * STRATA // len(rest)
    return ranked, stratum


def _allocated(size: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Neyman allocation: visits proportional to the size measure, but at least two; those beyond the first two.

    The variance of the sum is least where the visits to each example are proportional to its standard deviation.
    """
    visits = np.clip(np.rint(2 * size / size.mean()), 2, MOST_VISITS).astype(np.intp)
    return np.asarray(rng.permutation(np.repeat(np.arange(len(size)), visits - 2)))


def size_measure(game: Game) -> np.ndarray:
    """The size measure of examples for allocation, (N,), adding up to one: by weight, and larger where losses are.

    What an example contributes varies from walk to walk about as its losses do, without features and with all of them;
    these are known.
    """
    losses = np.abs(game.ends[0]) + np.abs(game.ends[1])  # (N, L)
    mean = game.weights @ losses
    relative = np.divide(losses, mean, out=np.ones_like(losses), where=mean > 0).mean(axis=1)
    size = game.weights * (1 - BY_LOSSES + BY_LOSSES * relative)
    return np.asarray(size / size.sum())


def _taking_turns(order: np.ndarray, stratum: np.ndarray) -> np.ndarray:
    """Indices in the given order within strata, the strata taking turns."""
    by_stratum = order[np.argsort(stratum[order], kind="stable")]
    return np.asarray(by_stratum[np.argsort(_turn(stratum[by_stratum]), kind="stable")])


def _turn(sorted_strata: np.ndarray) -> np.ndarray:
    """How many of the same stratum come before, when strata are in ascending order."""
    counts = np.unique(sorted_strata, return_counts=True)[1]
    return np.asarray(np.arange(len(sorted_strata)) - np.repeat(np.cumsum(counts) - counts, counts))


def _cells(stratum: np.ndarray, together: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells of so many neighbours within strata: that of each place, their sizes and their strata."""
    by_stratum = np.argsort(stratum, kind="stable")
    begins = _turn(stratum[by_stratum]) % together == 0
    number = np.cumsum(begins) - 1
    cell = np.empty(len(stratum), dtype=np.intp)
    cell[by_stratum] = number
    return cell, np.bincount(number), stratum[by_stratum][begins]
