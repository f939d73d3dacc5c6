"""Tree ensembles: split rules, flat arrays of all trees, and margins along walks.

Libraries differ only in their split rules; everything else sees a row as one bit for each node, set where the row goes
left. Means over the background are read from leaf tables where the link is the identity (kernels/leaf_tables.py), and
otherwise taken over all background rows, followed as bit sets (kernels/trees.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import BackgroundEvaluator, Link, UnknownStructureError, mean_predictions, n_outputs

MISSING, MISSING_IS_ZERO, ZERO_IS_MISSING = 0, 1, 2  # rules: how a node treats missing cells
NEARLY_ZERO = float(np.float32(1e-35))  # LightGBM's bound of cells that count as zero

EXAMPLES_AT_ONCE = 8  # whose margins with all background rows are in memory
DEEPEST = 250  # levels of a tree
MARGINS_IN_CACHE = 2**14
MOST_TABLE_ENTRIES = 2**23
WORDS_AT_ONCE = 1024  # of decisions, when bits of nodes are turned into bits of rows


@dataclass(frozen=True)
class SplitRules:
    """Rules by which rows go left or right at the internal nodes of an ensemble.

    Attributes
    ----------
    column : inner column that the node looks at, (nodes,)
    threshold : rows go left where the cell is less
    missing_left : whether missing cells go left
    rule : how missing cells are treated: ``MISSING``, ``MISSING_IS_ZERO`` or ``ZERO_IS_MISSING``
    first, count : position of the node's set of categories in ``sets``, and its number of words; count -1 for none
    in_left : whether categories in the set go left and all others right, or the other way round
    sets : words of 32 categories each
    is_single : whether cells are rounded to single precision first
    """

    column: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    rule: np.ndarray
    first: np.ndarray
    count: np.ndarray
    in_left: np.ndarray
    sets: np.ndarray
    is_single: bool

    def bits(self, z: np.ndarray) -> np.ndarray:
        """Returns decisions on rows z (n, D), 64 to a word, set where a row goes left."""
        from clarysage.structure.kernels.trees import decide

        bits = np.zeros((len(z), max(1, -(-len(self.column) // 64))), dtype=np.uint64)
        is_plain = bool((self.rule == MISSING).all() and (self.count < 0).all())
        decide(
            self.cells(z),
            self.column,
            self.threshold,
            self.missing_left,
            self.rule,
            self.first,
            self.count,
            self.in_left,
            self.sets,
            is_plain,
            bits,
        )
        return bits

    def cells(self, z: np.ndarray) -> np.ndarray:
        """Returns rows z (n, D) as they are compared with thresholds."""
        with np.errstate(over="ignore"):  # the library, too, makes such cells infinite
            rounded = z.astype(np.float32) if self.is_single else z
        return np.ascontiguousarray(rounded, dtype=np.float64)

    def table(self, z: np.ndarray) -> np.ndarray:
        """Returns the same decisions as booleans (n, nodes), without a kernel: the slow reference for tests."""
        left = np.empty((len(z), len(self.column)), dtype=bool)
        for node, column in enumerate(self.column):
            cells = self.cells(z)[:, column].copy()
            if self.rule[node] == MISSING_IS_ZERO:
                cells = np.nan_to_num(cells, nan=0.0, posinf=np.inf, neginf=-np.inf)
            missing = np.isnan(cells)
            if self.rule[node] == ZERO_IS_MISSING:
                missing |= np.abs(cells) <= NEARLY_ZERO
            if self.count[node] < 0:
                goes_left = cells < self.threshold[node]
            else:
                goes_left = np.array([self._is_in(node, cell) for cell in cells]) == self.in_left[node]
            left[:, node] = np.where(missing, self.missing_left[node], goes_left)
        return left

    def _is_in(self, node: int, cell: float) -> bool:
        if not 0 <= cell < 32 * self.count[node]:
            return False
        word, bit = divmod(int(cell), 32)
        return bool(int(self.sets[self.first[node] + word]) >> bit & 1)


@dataclass(frozen=True)
class Tree:
    """One tree as its library stores it: arrays over all of its nodes, the root first.

    Attributes
    ----------
    left, right : numbers of the children; left is -1 at a leaf
    column : inner column that the node looks at
    threshold : rows go left where the cell is less
    values : (nodes, V) what leaves add to the margins ``output`` to ``output + V - 1``
    categories : sets of categories in place of a threshold, by node
    """

    left: np.ndarray
    right: np.ndarray
    column: np.ndarray
    threshold: np.ndarray
    values: np.ndarray
    missing_left: np.ndarray
    output: int = 0
    rule: np.ndarray | int = MISSING
    categories: dict[int, np.ndarray] = field(default_factory=dict)
    in_left: bool = True


@dataclass(frozen=True)
class Trees:
    """Margins that are sums of leaf values, one leaf of each tree, and a constant ``base`` (K,).

    The arrays are described in :mod:`clarysage.structure.kernels`; ``feature`` is the model's column of each node.
    """

    split_rules: SplitRules
    feature: np.ndarray
    left: np.ndarray
    right: np.ndarray
    roots: np.ndarray
    output: np.ndarray
    values: np.ndarray
    base: np.ndarray
    depth: int
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

    def with_owner(self, owner: np.ndarray) -> Trees:
        return replace(self, feature=np.ascontiguousarray(owner[self.split_rules.column], dtype=np.int64))

    def of_columns(self, columns: np.ndarray) -> Trees:
        """Returns the same trees for rows that have only these inner columns, which include all that are used."""
        rules = replace(self.split_rules, column=np.searchsorted(columns, self.split_rules.column))
        return replace(self, split_rules=rules, columns=len(columns))

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Returns decisions, 64 to a word."""
        return self.split_rules.bits(z)

    def margins(self, rows: np.ndarray) -> np.ndarray:
        from clarysage.structure.kernels.trees import row_margins

        margins = np.empty((len(rows), len(self.base)))
        row_margins(rows, self.left, self.right, self.roots, self.output, self.values, self.base, margins)
        return margins

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        from clarysage.structure.kernels.trees import walk_margins

        margins = np.empty((*background_index.shape, steps - 1, len(self.base)))
        walk_margins(
            x,
            b,
            _as_int64(background_index),
            _as_int64(entry_position),
            self.feature,
            self.left,
            self.right,
            self.roots,
            self.output,
            self.values,
            self.base,
            self.depth,
            _examples_at_once(margins),
            margins,
        )
        return margins

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, is_kept: np.ndarray) -> np.ndarray:
        all_rows = np.broadcast_to(np.arange(len(b)), (len(x), len(b)))
        return self.prefix_margins(x, b, all_rows, np.where(is_kept, 1, 2), 2)[:, :, 0]

    @cached_property
    def paths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``leaf_start``, ``path_features`` and ``path_position`` of the leaves, as the kernels of leaf tables need."""
        from clarysage.structure.kernels.leaf_tables import leaf_paths

        leaf_start, path_features, path_position = leaf_paths(
            self.left, self.right, self.roots, self.feature, self.depth, len(self.values)
        )
        return leaf_start, path_features, path_position

    @cached_property
    def tree_leaf(self) -> np.ndarray:
        """The first leaf of each tree, and the number of leaves, (trees + 1,): each tree has a leaf more than nodes."""
        first = np.where(self.roots < 0, ~self.roots, self.roots + np.arange(len(self.roots)))
        return np.append(first, len(self.values))

    @property
    def most_path_sets(self) -> float:
        """The largest number of sets of features within the paths of all leaves of a tree."""
        return float(np.add.reduceat(2.0 ** np.diff(self.paths[0]), self.tree_leaf[:-1]).max())

    @property
    def table_layout(self) -> tuple[np.ndarray, int]:
        """First table entry of each leaf (2^k entries for k features on its path), and the number of entries."""
        sizes = 2 ** np.diff(self.paths[0])
        return np.cumsum(sizes) - sizes, int(sizes.sum())

    def with_background(self, b: np.ndarray, row_weights: np.ndarray, link: Link) -> BackgroundEvaluator:
        """Uses leaf tables where mean margins are needed and the tables are small enough, and bit sets otherwise."""
        if link == "identity" and (2.0 ** np.diff(self.paths[0])).sum() <= MOST_TABLE_ENTRIES:
            return LeafTables.of(self, b, row_weights)
        return TreeEvaluator(self, b, row_weights, link)


@dataclass(frozen=True)
class TreeEvaluator:
    """Mean predictions of trees over background rows, which are followed as bit sets."""

    trees: Trees
    b: np.ndarray
    row_weights: np.ndarray
    link: Link

    @cached_property
    def blocks(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Blocks of background rows: those that go left at each node, the set of all, and their weights."""
        from clarysage.structure.kernels.trees import ROWS

        blocks = []
        for start in range(0, len(self.b), ROWS):
            rows = np.zeros((ROWS, self.b.shape[1]), dtype=np.uint64)
            part = self.b[start : start + ROWS]
            rows[: len(part)] = part
            all_rows = np.packbits(np.arange(ROWS) < len(part), bitorder="little").view("<u8")
            blocks.append((_bits_of_rows(rows), all_rows.astype(np.uint64), self.row_weights[start : start + ROWS]))
        return blocks

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.trees import walk_margins_of_row_sets

        trees = self.trees
        means = np.zeros((len(x), steps - 1, n_outputs(trees.n_margins, self.link)))
        for goes_left, all_rows, row_weights in self.blocks:
            for start in range(0, len(x), EXAMPLES_AT_ONCE):
                part = slice(start, start + EXAMPLES_AT_ONCE)
                margins = np.empty((len(x[part]), steps - 1, trees.n_margins, len(row_weights)))
                walk_margins_of_row_sets(
                    x[part],
                    goes_left,
                    all_rows,
                    _as_int64(entry_position[part]),
                    trees.feature,
                    trees.left,
                    trees.right,
                    trees.roots,
                    trees.output,
                    trees.values,
                    trees.base,
                    trees.depth,
                    margins,
                )
                means[part] += mean_predictions(margins, row_weights, self.link)
        return means


@dataclass(frozen=True)
class LeafTables:
    """Mean margins of trees over the background, by tables of the share that meets the conditions of each leaf."""

    trees: Trees
    table_start: np.ndarray
    table: np.ndarray

    @classmethod
    def of(cls, trees: Trees, b: np.ndarray, row_weights: np.ndarray) -> LeafTables:
        from clarysage.structure.kernels.leaf_tables import fill_leaf_tables

        leaf_start, _, path_position = trees.paths
        table_start, entries = trees.table_layout
        table = np.zeros(entries)
        fill_leaf_tables(
            b,
            row_weights,
            trees.left,
            trees.right,
            trees.roots,
            path_position,
            leaf_start,
            trees.depth,
            table_start,
            table,
        )
        return cls(trees, table_start, table)

    def walk(self, x: np.ndarray, entry_position: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.leaf_tables import mean_walk_margins

        trees, (leaf_start, path_features, path_position) = self.trees, self.trees.paths
        margins = np.empty((len(x), steps - 1, trees.n_margins))
        mean_walk_margins(
            x,
            _as_int64(entry_position),
            trees.feature,
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            trees.base,
            path_position,
            leaf_start,
            path_features,
            trees.depth,
            self.table_start,
            self.table,
            _examples_at_once(margins),
            margins,
        )
        return margins


def bit_set(categories: list[int]) -> np.ndarray:
    """Returns a set of categories, the numbers of the bits that are set, as words of 32 bits.

    Examples
    --------
    >>> bit_set([0, 3, 32])
    array([9, 1], dtype=uint32)
    """
    words = np.zeros(max(categories, default=0) // 32 + 1, dtype=np.uint32)
    np.bitwise_or.at(
        words, np.array(categories, dtype=np.int64) // 32, np.uint32(1) << np.uint32(np.array(categories) % 32)
    )
    return words


def thresholds_of(split_rules: SplitRules) -> dict[int, np.ndarray]:
    """Returns the finite thresholds of each column that has some."""
    is_number = (split_rules.count < 0) & np.isfinite(split_rules.threshold)
    return {
        int(column): np.unique(split_rules.threshold[is_number & (split_rules.column == column)])
        for column in np.unique(split_rules.column[is_number])
    }


def flatten_trees(trees: Sequence[Tree], base: np.ndarray, columns: int, *, is_single: bool = False) -> Trees:
    """Writes trees over ``columns`` inner columns as flat arrays."""
    left, right, roots, values = [], [], [], []
    parts: dict[str, list[np.ndarray]] = {name: [] for name in ("column", "threshold", "missing_left", "rule")}
    first, count, in_left, sets = [], [], [], [np.zeros(0, dtype=np.uint32)]
    nodes = leaves = words = depth = 0
    for tree in trees:
        is_leaf = tree.left < 0
        number = np.where(is_leaf, ~(leaves + np.cumsum(is_leaf) - 1), nodes + np.cumsum(~is_leaf) - 1)
        inner = np.flatnonzero(~is_leaf)
        roots.append(number[0])
        left.append(number[tree.left[inner]])
        right.append(number[tree.right[inner]])
        values.append(tree.values[is_leaf])
        rule = np.broadcast_to(np.asarray(tree.rule, dtype=np.uint8), is_leaf.shape)
        for name in ("column", "threshold", "missing_left"):
            parts[name].append(getattr(tree, name)[inner])
        parts["rule"].append(rule[inner])
        set_first, set_count = np.zeros(len(inner), dtype=np.int64), np.full(len(inner), -1)
        for node, categories in tree.categories.items():
            position = int(np.searchsorted(inner, node))
            set_first[position], set_count[position] = words, len(categories)
            sets.append(categories.astype(np.uint32))
            words += len(categories)
        first.append(set_first)
        count.append(set_count)
        in_left.append(np.full(len(inner), tree.in_left))
        depth = max(depth, _depth(tree))
        nodes, leaves = nodes + len(inner), leaves + int(is_leaf.sum())
    if depth > DEEPEST:
        raise UnknownStructureError(f"trees of {depth} levels are not supported")
    column = _concatenate(parts["column"], np.int64)
    split_rules = SplitRules(
        column,
        _concatenate(parts["threshold"], np.float64),
        _concatenate(parts["missing_left"], np.bool_),
        _concatenate(parts["rule"], np.uint8),
        _concatenate(first, np.int64),
        _concatenate(count, np.int64),
        _concatenate(in_left, np.bool_),
        np.concatenate(sets),
        is_single,
    )
    return Trees(
        split_rules,
        column,
        _concatenate(left, np.int64),
        _concatenate(right, np.int64),
        np.array(roots, dtype=np.int64),
        np.array([tree.output for tree in trees], dtype=np.int64),
        _concatenate(values, np.float64),
        np.ascontiguousarray(base, dtype=np.float64),
        depth,
        columns,
    )


def _depth(tree: Tree) -> int:
    depth, level = 0, np.zeros(1, dtype=np.int64)
    while len(level := level[tree.left[level] >= 0]):
        level = np.concatenate([tree.left[level], tree.right[level]])
        depth += 1
    return depth


def _concatenate(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(parts), dtype=dtype)


def _examples_at_once(margins: np.ndarray) -> int:
    """Returns how many examples to take through a tree together, so that their margins stay in the cache."""
    return max(1, MARGINS_IN_CACHE // max(1, int(margins[:1].size)))


def _as_int64(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _bits_of_rows(words: np.ndarray) -> np.ndarray:
    """Transposes bits: from 64 nodes to a word, (r, w), to 64 rows to a word, (64 w, r / 64)."""
    rows, width = words.shape
    transposed = np.empty((64 * width, rows // 64), dtype=np.uint64)
    for start in range(0, width, WORDS_AT_ONCE):
        part = np.ascontiguousarray(words[:, start : start + WORDS_AT_ONCE]).astype("<u8")
        bits = np.unpackbits(part.view(np.uint8), axis=1, bitorder="little")  # (r, 64 w)
        packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view("<u8")
        transposed[64 * start : 64 * start + len(packed)] = packed
    return transposed
