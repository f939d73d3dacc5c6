"""Trees whose nodes on one level all decide alike, so that a leaf's number has one bit a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import BackgroundEvaluator, Link, mean_predictions, n_outputs
from clarysage.structure.trees import EXAMPLES_AT_ONCE, MISSING, SplitRules, Tree, Trees, flatten_trees, thresholds_of

ROWS_AT_ONCE = 512  # of the background
DEEPEST, LARGEST = 8, 2**24  # trees, and numbers in all tables, for which means over background rows are tabulated


@dataclass(frozen=True)
class Level:
    """One decision: 1 where the cell is not less than a threshold, or is the given category; see ``SplitRules``."""

    column: int
    threshold: float = 0.0
    missing_left: bool = True
    category: int | None = None

    def words(self) -> np.ndarray:
        """The set of the one category, as words of 32."""
        assert self.category is not None
        words = np.zeros(self.category // 32 + 1, dtype=np.uint32)
        words[-1] = 1 << self.category % 32
        return words


@dataclass(frozen=True)
class ObliviousTree:
    """Levels, of which the l-th decides on bit l of the number of the leaf, and values of leaves, (2^levels, K)."""

    levels: tuple[Level, ...]
    values: np.ndarray


@dataclass(frozen=True)
class ObliviousTrees:
    """Margins that are sums of leaves' values, one leaf a tree, and a constant ``base`` (K,).

    Attributes
    ----------
    decisions : of the levels of all trees
    feature : the model's column that each level is about
    first : where the levels of each tree begin, and where the last end, (trees + 1,)
    leaves : the same of their leaves
    values : of all leaves, (K, leaves)
    """

    split_rules: SplitRules
    feature: np.ndarray
    first: np.ndarray
    leaves: np.ndarray
    values: np.ndarray
    base: np.ndarray
    columns: int
    is_linear: bool = False
    takes_missing: bool = True

    @property
    def n_margins(self) -> int:
        return len(self.base)

    @cached_property
    def is_used(self) -> np.ndarray:
        return self.split_counts() > 0

    def thresholds(self) -> dict[int, np.ndarray]:
        return thresholds_of(self.split_rules)

    def split_counts(self) -> np.ndarray:
        return np.bincount(self.split_rules.column, minlength=self.columns).astype(np.float64)

    def with_owner(self, owner: np.ndarray) -> ObliviousTrees:
        return replace(self, feature=np.ascontiguousarray(owner[self.split_rules.column], dtype=np.int32))

    def general(self) -> Trees:
        """The same as trees with decisions of their own at every node."""
        return flatten_trees(
            [self._general(place) for place in range(len(self.first) - 1)],
            self.base,
            self.columns,
            is_single=self.split_rules.is_single,
        )

    def _general(self, place: int) -> Tree:
        levels, known = slice(self.first[place], self.first[place + 1]), self.split_rules
        depth = int(self.first[place + 1] - self.first[place])
        number = np.arange(2 ** (depth + 1) - 1)
        level = np.log2(number + 1).astype(np.int64)
        inner = number < 2**depth - 1
        at = np.where(inner, level, 0)  # the nodes of a level all decide alike
        column, threshold, missing_left = (
            np.append(part[levels], part.dtype.type(0))[at]
            for part in (known.column, known.threshold, known.missing_left)
        )
        values = np.zeros((len(number), len(self.base)))
        turns = number[~inner] - (2**depth - 1)  # of a leaf, the first turn in the highest bit
        leaf = sum((((turns >> depth - 1 - up) & 1) << up for up in range(depth)), np.zeros_like(turns))
        values[~inner] = self.values[:, self.leaves[place] + leaf].T
        sets = {
            int(node): known.sets[known.first[j] : known.first[j] + known.count[j]]
            for node in number[inner]
            if known.count[j := self.first[place] + level[node]] >= 0
        }
        children = np.where(inner, 2 * number + 1, -1)
        return Tree(children, children + 1, column, threshold, values, missing_left, categories=sets, in_left=False)

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Numbers of leaves, (n, trees)."""
        from clarysage.structure.kernels.oblivious import number

        rows = np.empty((len(z), len(self.first) - 1), dtype=np.uint16)
        number(self.split_rules.bits(z), self.first, rows)
        return rows

    def margins(self, rows: np.ndarray) -> np.ndarray:
        margins = np.empty((len(rows), len(self.base)))
        for start in range(0, len(rows), 1024):
            leaf = self.leaves[:-1] + rows[start : start + 1024]
            for k, values in enumerate(self.values):
                margins[start : start + 1024, k] = values[leaf].sum(axis=1)
        return np.asarray(margins + self.base)

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        others = np.ascontiguousarray(b[background_index].transpose(0, 2, 1))  # (n, trees, q)
        return np.ascontiguousarray(self.beside(x, others, entry_position, steps).transpose(0, 3, 1, 2))

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        return np.asarray(self.beside(x, _turned(b), np.where(kept, 1, 2), 2)[:, 0].transpose(0, 2, 1))

    def with_background(self, b: np.ndarray, mass: np.ndarray, link: Link) -> BackgroundEvaluator:
        depths = np.diff(self.first)
        if link == "identity" and depths.max() <= DEEPEST and (3**depths).sum() * self.n_margins <= LARGEST:
            return ObliviousTables.of(self, b, mass)
        return ObliviousEvaluator(self, b, mass, link)

    def beside(self, x: np.ndarray, others: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        """Margins at the proper prefixes of walks, with rows (n or 1, trees, q) each: (n, p - 1, K, q)."""
        from clarysage.structure.kernels.oblivious import follow

        margins = np.empty((len(x), steps - 1, self.n_margins, others.shape[2]))
        follow(
            x,
            others,
            np.ascontiguousarray(arrivals, dtype=np.int32),
            self.feature,
            self.first,
            self.leaves,
            self.values,
            self.base,
            margins,
        )
        return margins


@dataclass(frozen=True)
class ObliviousEvaluator:
    """Oblivious trees beside all background rows (m, trees), each of which is followed."""

    trees: ObliviousTrees
    b: np.ndarray
    mass: np.ndarray
    link: Link

    @cached_property
    def blocks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """So many rows at a time, (1, trees, r), and their masses."""
        parts = (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.b), ROWS_AT_ONCE))
        return [(_turned(self.b[part]), self.mass[part]) for part in parts]

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        found = np.zeros((len(x), steps - 1, n_outputs(self.trees.n_margins, self.link)))
        for others, mass in self.blocks:
            for start in range(0, len(x), EXAMPLES_AT_ONCE):
                part = slice(start, start + EXAMPLES_AT_ONCE)
                margins = self.trees.beside(x[part], others, arrivals[part], steps)
                found[part] += mean_predictions(margins, mass, self.link)
        return found


@dataclass(frozen=True)
class ObliviousTables:
    """Mean margins over background rows, for each way in which levels of a tree are known.

    Entry sum_l 3^l c_l of a tree is its mean value where levels with c_l = 0, 1 have decided so and those with c_l = 2
    are left to the background rows; ``start`` is where the entries of each tree begin, ``table`` (entries, K).
    """

    trees: ObliviousTrees
    start: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, trees: ObliviousTrees, b: np.ndarray, mass: np.ndarray) -> ObliviousTables:
        depths = np.diff(trees.first)
        start = np.concatenate([[0], np.cumsum(3**depths)])
        table = np.empty((start[-1], trees.n_margins))
        for place, depth in enumerate(depths):
            share = np.bincount(b[:, place], weights=mass, minlength=2**depth)
            leaves = slice(trees.leaves[place], trees.leaves[place + 1])
            table[start[place] : start[place + 1]] = tabulate_means(share, trees.values[:, leaves].T)
        return cls(trees, start, table)

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.oblivious import look_up

        trees, found = self.trees, np.empty((len(x), steps - 1, self.trees.n_margins))
        look_up(
            x,
            np.ascontiguousarray(arrivals, dtype=np.int32),
            trees.feature,
            trees.first,
            self.start,
            self.table,
            trees.base,
            found,
        )
        return found


def tabulate_means(share: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means (3^l, K) of the values of a tree (2^l, K), whose leaves have the given shares of the background.

    .. math:: A[c] = \\sum_u share_u \\, values[c_l \\text{ where } c_l < 2, u_l \\text{ else}]

    Examples
    --------
    >>> tabulate_means(np.array([0.25, 0.75]), np.array([[0.0], [4.0]])).ravel()
    array([0., 4., 3.])
    """
    pairs = (share[:, None, None] * values)[None]  # (codes, background's leaf, leaf that is looked at, K)
    while pairs.shape[1] > 1:
        codes, half = len(pairs), pairs.shape[1] // 2
        by_bit = pairs.reshape(codes, 2, half, 2, half, -1)  # the highest level that is left
        known = by_bit.sum(axis=1)  # (codes, half, 2, half, K)
        free = by_bit[:, 0, :, 0] + by_bit[:, 1, :, 1]
        pairs = np.stack([known[:, :, 0], known[:, :, 1], free], axis=1).reshape(3 * codes, half, half, -1)
    return np.asarray(pairs[:, 0, 0])


def flatten_oblivious_trees(
    trees: Sequence[ObliviousTree], base: np.ndarray, columns: int, *, is_single: bool = False
) -> ObliviousTrees:
    """The flat arrays of trees over so many inner columns."""
    levels = [level for tree in trees for level in tree.levels]
    sets = [np.zeros(0, dtype=np.uint32) if level.category is None else level.words() for level in levels]
    ends = np.cumsum([len(words) for words in sets], dtype=np.int64)
    sizes = np.array([-1 if level.category is None else len(words) for level, words in zip(levels, sets, strict=True)])
    column = np.array([level.column for level in levels], dtype=np.int64)
    split_rules = SplitRules(
        column=column,
        threshold=np.array([level.threshold for level in levels], dtype=np.float64),
        missing_left=np.array([level.missing_left for level in levels], dtype=np.bool_),
        rule=np.full(len(levels), MISSING, dtype=np.uint8),
        first=ends - np.maximum(sizes, 0),
        count=sizes.astype(np.int64),
        in_left=np.zeros(len(levels), dtype=np.bool_),
        sets=np.concatenate([np.zeros(0, dtype=np.uint32), *sets]),
        is_single=is_single,
    )
    first = np.cumsum([0, *(len(tree.levels) for tree in trees)], dtype=np.int64)
    leaves = np.cumsum([0, *(len(tree.values) for tree in trees)], dtype=np.int64)
    values = np.concatenate([np.zeros((0, len(base))), *(tree.values for tree in trees)])
    return ObliviousTrees(split_rules, column, first, leaves, np.ascontiguousarray(values.T), base, columns)


def _turned(b: np.ndarray) -> np.ndarray:
    """Rows (m, trees) as (1, trees, m)."""
    return np.ascontiguousarray(b.T)[None]
