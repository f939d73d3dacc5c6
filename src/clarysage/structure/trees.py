"""Tree ensembles: split rules, flat arrays of all trees, and restricted predictions along walks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from clarysage.structure.base import BackgroundEvaluator, Link, UnknownStructureError, mean_predictions, n_outputs

MISSING, MISSING_IS_ZERO, ZERO_IS_MISSING = 0, 1, 2  # rules: what to do with cells that are missing
NEARLY_ZERO = float(np.float32(1e-35))  # as LightGBM has it


@dataclass(frozen=True)
class SplitRules:
    """Which way rows go at each of the internal nodes of an ensemble.

    Attributes
    ----------
    column : inner column that is looked at, (nodes,)
    threshold : rows go left where the cell is less
    missing_left : whether missing cells go left
    rule : what missing cells are
    first, count : where the words of a set of categories are, and how many; count -1 where there is none
    in_left : whether the categories of the set go left, and all others right, or the other way round
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
        """Decisions on rows z (n, D), 64 to a word, set where a row goes left."""
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
        """Rows z (n, D) as they are compared with thresholds."""
        with np.errstate(over="ignore"):  # infinite is what the library makes of such cells
            rounded = z.astype(np.float32) if self.is_single else z
        return np.ascontiguousarray(rounded, dtype=np.float64)

    def table(self, z: np.ndarray) -> np.ndarray:
        """The same, whether rows go left, (n, nodes), column by column without a kernel: the slow twin."""
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
        word, place = divmod(int(cell), 32)
        return bool(int(self.sets[self.first[node] + word]) >> place & 1)


EXAMPLES_AT_ONCE = 8  # whose margins with all background rows are held
DEEPEST = 250  # levels of a tree
NUMBERS_AT_HAND = 2**14  # of margins
ENTRIES = 2**23  # of tables of leaves, at most
WORDS_AT_ONCE = 1024  # of decisions that are turned from rows to nodes


@dataclass(frozen=True)
class Tree:
    """One tree as its library has it: arrays over all of its nodes, the root first.

    Attributes
    ----------
    left, right : numbers of the children; left is -1 at a leaf
    column : inner column that is looked at
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
    """Margins that are sums of leaves' values, one leaf a tree, and a constant ``base`` (K,).

    A child that is a leaf is written ~leaf; ``feature`` is the model's column that each node is about.
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

    def encode(self, z: np.ndarray) -> np.ndarray:
        """Decisions, 64 to a word."""
        return self.split_rules.bits(z)

    def margins(self, rows: np.ndarray) -> np.ndarray:
        from clarysage.structure.kernels.trees import alone

        margins = np.empty((len(rows), len(self.base)))
        alone(rows, self.left, self.right, self.roots, self.output, self.values, self.base, margins)
        return margins

    def prefix_margins(
        self, x: np.ndarray, b: np.ndarray, background_index: np.ndarray, entry_position: np.ndarray, steps: int
    ) -> np.ndarray:
        from clarysage.structure.kernels.trees import along

        margins = np.empty((*background_index.shape, steps - 1, len(self.base)))
        along(
            x,
            b,
            _whole(background_index),
            _whole(entry_position),
            self.feature,
            self.left,
            self.right,
            self.roots,
            self.output,
            self.values,
            self.base,
            self.depth,
            _at_once(margins),
            margins,
        )
        return margins

    def hybrid_margins(self, x: np.ndarray, b: np.ndarray, kept: np.ndarray) -> np.ndarray:
        everyone = np.broadcast_to(np.arange(len(b)), (len(x), len(b)))
        return self.prefix_margins(x, b, everyone, np.where(kept, 1, 2), 2)[:, :, 0]

    @cached_property
    def paths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each leaf, the features on the way to it: see :func:`clarysage.structure.kernels.leaf_tables.paths`."""
        from clarysage.structure.kernels.leaf_tables import paths

        starts, features, place = paths(self.left, self.right, self.roots, self.feature, self.depth, len(self.values))
        return starts, features, place

    @property
    def tables(self) -> tuple[np.ndarray, int]:
        """Where the tables of leaves begin, of 2^k entries for k features, and how many entries there are."""
        sizes = 2 ** np.diff(self.paths[0])
        return np.cumsum(sizes) - sizes, int(sizes.sum())

    def with_background(self, b: np.ndarray, mass: np.ndarray, link: Link) -> BackgroundEvaluator:
        """By tables of leaves where means of margins are wanted and these are not too large, else by sets of rows."""
        if link == "identity" and (2.0 ** np.diff(self.paths[0])).sum() <= ENTRIES:
            return LeafTables.of(self, b, mass)
        return TreeEvaluator(self, b, mass, link)


@dataclass(frozen=True)
class TreeEvaluator:
    """Trees beside all background rows, by sets of rows that go the same way."""

    trees: Trees
    b: np.ndarray
    mass: np.ndarray
    link: Link

    @cached_property
    def blocks(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """For so many rows at a time: which of them go left at each node, which there are, and their masses."""
        from clarysage.structure.kernels.trees import ROWS

        found = []
        for start in range(0, len(self.b), ROWS):
            rows = np.zeros((ROWS, self.b.shape[1]), dtype=np.uint64)
            part = self.b[start : start + ROWS]
            rows[: len(part)] = part
            there = np.packbits(np.arange(ROWS) < len(part), bitorder="little").view("<u8")
            found.append((_turned(rows), there.astype(np.uint64), self.mass[start : start + ROWS]))
        return found

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.trees import spread

        trees = self.trees
        found = np.zeros((len(x), steps - 1, n_outputs(trees.n_margins, self.link)))
        for goes_left, everyone, mass in self.blocks:
            for start in range(0, len(x), EXAMPLES_AT_ONCE):
                part = slice(start, start + EXAMPLES_AT_ONCE)
                margins = np.empty((len(x[part]), steps - 1, trees.n_margins, len(mass)))
                spread(
                    x[part],
                    goes_left,
                    everyone,
                    _whole(arrivals[part]),
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
                found[part] += mean_predictions(margins, mass, self.link)
        return found


@dataclass(frozen=True)
class LeafTables:
    """Trees beside all background rows, by what share of these meets the conditions of each leaf."""

    trees: Trees
    firsts: np.ndarray
    tables: np.ndarray

    @classmethod
    def of(cls, trees: Trees, b: np.ndarray, mass: np.ndarray) -> LeafTables:
        from clarysage.structure.kernels.leaf_tables import leaf_tables

        starts, _, place = trees.paths
        firsts, entries = trees.tables
        tables = np.zeros(entries)
        leaf_tables(b, mass, trees.left, trees.right, trees.roots, place, starts, trees.depth, firsts, tables)
        return cls(trees, firsts, tables)

    def walk(self, x: np.ndarray, arrivals: np.ndarray, steps: int) -> np.ndarray:
        from clarysage.structure.kernels.leaf_tables import by_tables

        trees, (starts, features, place) = self.trees, self.trees.paths
        margins = np.empty((len(x), steps - 1, trees.n_margins))
        by_tables(
            x,
            _whole(arrivals),
            trees.feature,
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            trees.base,
            place,
            starts,
            features,
            trees.depth,
            self.firsts,
            self.tables,
            _at_once(margins),
            margins,
        )
        return margins


def thresholds_of(split_rules: SplitRules) -> dict[int, np.ndarray]:
    """Finite thresholds of the columns that have such."""
    is_number = (split_rules.count < 0) & np.isfinite(split_rules.threshold)
    return {
        int(column): np.unique(split_rules.threshold[is_number & (split_rules.column == column)])
        for column in np.unique(split_rules.column[is_number])
    }


def flatten_trees(trees: Sequence[Tree], base: np.ndarray, columns: int, *, is_single: bool = False) -> Trees:
    """The flat arrays of trees over so many inner columns."""
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
        here, size = np.zeros(len(inner), dtype=np.int64), np.full(len(inner), -1)
        for node, found in tree.categories.items():
            place = int(np.searchsorted(inner, node))
            here[place], size[place] = words, len(found)
            sets.append(found.astype(np.uint32))
            words += len(found)
        first.append(here)
        count.append(size)
        in_left.append(np.full(len(inner), tree.in_left))
        depth = max(depth, _depth(tree))
        nodes, leaves = nodes + len(inner), leaves + int(is_leaf.sum())
    if depth > DEEPEST:
        raise UnknownStructureError(f"trees of {depth} levels are not taken apart")
    column = _joined(parts["column"], np.int64)
    split_rules = SplitRules(
        column,
        _joined(parts["threshold"], np.float64),
        _joined(parts["missing_left"], np.bool_),
        _joined(parts["rule"], np.uint8),
        _joined(first, np.int64),
        _joined(count, np.int64),
        _joined(in_left, np.bool_),
        np.concatenate(sets),
        is_single,
    )
    return Trees(
        split_rules,
        column,
        _joined(left, np.int64),
        _joined(right, np.int64),
        np.array(roots, dtype=np.int64),
        np.array([tree.output for tree in trees], dtype=np.int64),
        _joined(values, np.float64),
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


def _joined(parts: list[np.ndarray], dtype: type) -> np.ndarray:
    return np.ascontiguousarray(np.concatenate(parts), dtype=dtype)


def _at_once(margins: np.ndarray) -> int:
    """How many examples to take through a tree together, so that their margins stay near at hand."""
    return max(1, NUMBERS_AT_HAND // max(1, int(margins[:1].size)))


def _whole(numbers: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(numbers, dtype=np.int64)


def _turned(words: np.ndarray) -> np.ndarray:
    """Bits of 64 columns to a word, (r, w), as bits of 64 rows to a word, (64 w, r / 64)."""
    rows, width = words.shape
    turned = np.empty((64 * width, rows // 64), dtype=np.uint64)
    for start in range(0, width, WORDS_AT_ONCE):
        part = np.ascontiguousarray(words[:, start : start + WORDS_AT_ONCE]).astype("<u8")
        bits = np.unpackbits(part.view(np.uint8), axis=1, bitorder="little")  # (r, 64 w)
        packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little").view("<u8")
        turned[64 * start : 64 * start + len(packed)] = packed
    return turned
