"""Oblivious (symmetric) trees: all nodes on one level decide alike, so a leaf number has one bit for each level.

CatBoost grows them. The kernels are explained in :mod:`clarysage.structure.kernels.oblivious`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import BackgroundEvaluator, Link, mean_predictions, n_outputs
from clarysage.structure.trees import (
    EXAMPLES_AT_ONCE,
    MISSING,
    SplitRules,
    Tree,
    Trees,
    bit_set,
    flatten_trees,
    thresholds_of,
)

ROWS_AT_ONCE = 512  # of the background
DEEPEST_TABLE, LARGEST_TABLES = 8, 2**24  # levels of a tree, and numbers in all tables of means


@dataclass(frozen=True)
class Level:
    """One decision: 1 where the cell is not less than a threshold, or is the given category; see ``SplitRules``."""

    column: int
    threshold: float = 0.0
    missing_left: bool = True
    category: int | None = None


@dataclass(frozen=True)
class ObliviousTree:
    """One tree: level l decides bit l of the leaf number; ``values`` of the leaves are (2^levels, K)."""

    levels: tuple[Level, ...]
    values: np.ndarray


@dataclass(frozen=True)
class ObliviousTrees:
    """Margins that are sums of leaf values, one leaf of each tree, and a constant ``base`` (K,).

    Attributes
    ----------
    split_rules : of the levels of all trees
    feature : the model's column that each level looks at
    level_start : number of the first level of each tree, and of all levels, (trees + 1,)
    leaf_start : number of the first leaf of each tree, and of all leaves, (trees + 1,)
    values : (K, leaves)
    """

    split_rules: SplitRules
    feature: np.ndarray
    level_start: np.ndarray
    leaf_start: np.ndarray
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

    def as_trees(self) -> Trees:
        """Returns the same ensemble as ordinary trees, with a decision at every node."""
        return flatten_trees(
            [self._as_tree(tree) for tree in range(len(self.level_start) - 1)],
            self.base,
            self.columns,
            is_single=self.split_rules.is_single,
        )

    def _as_tree(self, tree: int) -> Tree:
        levels, rules = slice(self.level_start[tree], self.level_start[tree + 1]), self.split_rules
        depth = int(self.level_start[tree + 1] - self.level_start[tree])
        number = np.arange(2 ** (depth + 1) - 1)
        level = np.log2(number + 1).astype(np.int64)
        inner = number < 2**depth - 1
        level_of_node = np.where(inner, level, 0)  # the nodes of a level all decide alike
        column, threshold, missing_left = (
            np.append(part[levels], part.dtype.type(0))[level_of_node]
            for part in (rules.column, rules.threshold, rules.missing_left)
        )
        values = np.zeros((len(number), len(self.base)))
        turns = number[~inner] - (2**depth - 1)  # on the way to a leaf, the first turn in the highest bit
        leaf = sum((((turns >> depth - 1 - up) & 1) << up for up in range(depth)), np.zeros_like(turns))
        values[~inner] = self.values[:, self.leaf_start[tree] + leaf].T
        sets = {
            int(node): rules.sets[rules.first[j] : rules.first[j] + rules.count[j]]
            for node in number[inner]
            if rules.count[j := self.level_start[tree] + level[node]] >= 0
        }
        children = np.where(inner, 2 * number + 1, -1)
        return Tree(children, children + 1, column, threshold, values, missing_left, categories=sets, in_left=False)

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Returns leaf numbers, (n, trees)."""
        from clarysage.structure.kernels.oblivious import leaf_numbers

        rows = np.empty((len(z), len(self.level_start) - 1), dtype=np.uint16)
        leaf_numbers(self.split_rules.bits(z), self.level_start, rows)
        return rows

    def margins(self, rows: np.ndarray) -> np.ndarray:
        margins = np.empty((len(rows), len(self.base)))
        for start in range(0, len(rows), 1024):
            leaf = self.leaf_start[:-1] + rows[start : start + 1024]
            for k, values in enumerate(self.values):
                margins[start : start + 1024, k] = values[leaf].sum(axis=1)
        return np.asarray(margins + self.base)

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        rows = np.ascontiguousarray(b[background_index].transpose(0, 2, 1))  # (n, trees, q)
        return np.ascontiguousarray(self.walk_margins(x, rows, entry_position, steps).transpose(0, 3, 1, 2))

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        margins = self.walk_margins(x, _tree_by_tree(b), np.where(is_kept, 1, 2), 2)
        return np.asarray(margins[:, 0].transpose(0, 2, 1))

    def with_background(self, b: np.ndarray, row_weights: np.ndarray, link: Link) -> BackgroundEvaluator:
        """Uses tables of means where mean margins are needed and the tables are small enough."""
        depths = np.diff(self.level_start)
        if (
            link == "identity"
            and depths.max() <= DEEPEST_TABLE
            and (3**depths).sum() * self.n_margins <= LARGEST_TABLES
        ):
            return ObliviousTables.of(self, b, row_weights)
        return ObliviousEvaluator(self, b, row_weights, link)

    def walk_margins(self, x: np.ndarray, b: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        """Returns margins (n, p - 1, K, q) at the proper prefixes of walks, with background rows (n or 1, trees, q)."""
        from clarysage.structure.kernels.oblivious import walk_margins

        margins = np.empty((len(x), steps - 1, self.n_margins, b.shape[2]))
        walk_margins(
            x,
            b,
            np.ascontiguousarray(entry_position, dtype=np.int32),
            self.feature,
            self.level_start,
            self.leaf_start,
            self.values,
            self.base,
            margins,
        )
        return margins


@dataclass(frozen=True)
class ObliviousEvaluator:
    """Mean predictions of oblivious trees over background rows b (m, trees), each of which is followed."""

    trees: ObliviousTrees
    b: np.ndarray
    row_weights: np.ndarray
    link: Link

    @cached_property
    def blocks(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Blocks of background rows, (1, trees, r), and their weights."""
        parts = (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.b), ROWS_AT_ONCE))
        return [(_tree_by_tree(self.b[part]), self.row_weights[part]) for part in parts]

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        means = np.zeros((len(x), steps - 1, n_outputs(self.trees.n_margins, self.link)))
        for b, row_weights in self.blocks:
            for start in range(0, len(x), EXAMPLES_AT_ONCE):
                part = slice(start, start + EXAMPLES_AT_ONCE)
                margins = self.trees.walk_margins(x[part], b, entry_position[part], steps)
                means[part] += mean_predictions(margins, row_weights, self.link)
        return means


@dataclass(frozen=True)
class ObliviousTables:
    """Mean margins over the background, tabulated for every way in which levels of a tree may be known.

    Entry sum_l 3^l c_l of a tree is its mean value where levels with c_l = 0 or 1 have decided so and those with
    c_l = 2 are left to the background rows; ``table_start`` is the first entry of each tree, ``table`` is (entries, K).
    """

    trees: ObliviousTrees
    table_start: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, trees: ObliviousTrees, b: np.ndarray, row_weights: np.ndarray) -> ObliviousTables:
        depths = np.diff(trees.level_start)
        table_start = np.concatenate([[0], np.cumsum(3**depths)])
        table = np.empty((table_start[-1], trees.n_margins))
        for tree, depth in enumerate(depths):
            share = np.bincount(b[:, tree], weights=row_weights, minlength=2**depth)
            leaves = slice(trees.leaf_start[tree], trees.leaf_start[tree + 1])
            table[table_start[tree] : table_start[tree + 1]] = tabulate_means(share, trees.values[:, leaves].T)
        return cls(trees, table_start, table)

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.oblivious import mean_walk_margins

        trees, margins = self.trees, np.empty((len(x), steps - 1, self.trees.n_margins))
        mean_walk_margins(
            x,
            np.ascontiguousarray(entry_position, dtype=np.int32),
            trees.feature,
            trees.level_start,
            self.table_start,
            self.table,
            trees.base,
            margins,
        )
        return margins


def tabulate_means(share: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Returns means (3^l, K) of the values of a tree (2^l, K) whose leaves have the given shares of the background.

    .. math:: A[c] = \\sum_u share_u \\, values[c_l \\text{ where } c_l < 2, u_l \\text{ else}]

    Examples
    --------
    >>> tabulate_means(np.array([0.25, 0.75]), np.array([[0.0], [4.0]])).ravel()
    array([0., 4., 3.])
    """
    pairs = (share[:, None, None] * values)[None]  # (codes, leaf of the background, leaf that is looked up, K)
    while pairs.shape[1] > 1:
        codes, half = len(pairs), pairs.shape[1] // 2
        by_bit = pairs.reshape(codes, 2, half, 2, half, -1)  # the highest remaining level
        decided = by_bit.sum(axis=1)  # (codes, half, 2, half, K)
        undecided = by_bit[:, 0, :, 0] + by_bit[:, 1, :, 1]
        pairs = np.stack([decided[:, :, 0], decided[:, :, 1], undecided], axis=1).reshape(3 * codes, half, half, -1)
    return np.asarray(pairs[:, 0, 0])


def flatten_oblivious_trees(
    trees: Sequence[ObliviousTree], base: np.ndarray, columns: int, *, is_single: bool = False
) -> ObliviousTrees:
    """Writes oblivious trees over ``columns`` inner columns as flat arrays."""
    levels = [level for tree in trees for level in tree.levels]
    sets = [np.zeros(0, dtype=np.uint32) if level.category is None else bit_set([level.category]) for level in levels]
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
    level_start = np.cumsum([0, *(len(tree.levels) for tree in trees)], dtype=np.int64)
    leaf_start = np.cumsum([0, *(len(tree.values) for tree in trees)], dtype=np.int64)
    values = np.concatenate([np.zeros((0, len(base))), *(tree.values for tree in trees)])
    return ObliviousTrees(split_rules, column, level_start, leaf_start, np.ascontiguousarray(values.T), base, columns)


def _tree_by_tree(b: np.ndarray) -> np.ndarray:
    """Transposes rows (m, trees) to (1, trees, m)."""
    return np.ascontiguousarray(b.T)[None]
