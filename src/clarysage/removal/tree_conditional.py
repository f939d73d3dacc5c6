"""Withheld features drawn given the kept ones from the leaves of forests.

A forest that is fitted to the withheld columns estimates their joint conditional distribution by the weights of its
leaves (quantile regression forests: Meinshausen 2006; distributional random forests: Cevid et al. 2022).

References
----------
N. Meinshausen (2006). Quantile regression forests. JMLR 7, 983-999.
D. Cevid, L. Michel, J. Naf, P. Buhlmann, N. Meinshausen (2022). Distributional random forests: heterogeneity adjustment
and multivariate distributional regression. JMLR 23(333).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from clarysage._utils.lru_cache import LRUCache
from clarysage.errors import InputError
from clarysage.removal.background import BackgroundRows, seed_of
from clarysage.removal.normal_scores import ColumnFeatures, ColumnScores
from clarysage.removal.restricted.weighted import NOTE, WeightedModel
from clarysage.synonyms import with_synonyms
from clarysage.tables import Schema

DIRECTIONS = 4  # random projections of the withheld columns that a tree is fitted to
CANDIDATES = 0.7  # share of the kept columns that each split may choose from
SUBSAMPLE, MOST_ROWS = 0.6, 512  # share of its half of the background that a tree is fitted to, and rows at most
LEVELS = 32  # categories of a column that have an indicator
LOWEST = -99.0  # score of missing cells
CACHE_BYTES = 2**28  # of forests, at most
FORESTS = 2  # key of the random streams of forests, which are numbered by their coalitions
ROWS_A_TREE = 8  # drawn from the leaf that contains an example
GOLDEN = 0.6180339887498949
NODE_BYTES = 88  # of a node, without its predictions


@with_synonyms
@dataclass(frozen=True)
class TreeConditional:
    r"""Withheld features come from background rows in the same leaves as the example.

    For each coalition a small forest is fitted to the withheld columns, given the kept ones; each tree to a few random
    projections of them. The rows of an example are drawn evenly from the leaves that contain it, so that

    .. math:: f_S(x_S) = \frac{1}{T} \sum_t \frac{1}{|L_t(x_S)|} \sum_{k \in L_t(x_S)} f(x_S, b_{k, \bar S})

    approximately, by the number of rows that are drawn from a leaf. Splits select the kept columns that matter, also
    if the dependence is neither linear nor monotone. Half of the trees are fitted to one half of the background, the
    others to the other half (cross-fitting): an example that is a background row uses the trees that were not fitted to
    it, and is left out of its leaf.

    Each coalition needs a fit, of some 10 ms for 512 rows and 25 (8 columns) to 50 ms (20 columns) for 4,096 on one
    core. With many columns nearly every prefix of a walk is a different coalition; groups of columns, or
    :class:`Surrogate`, are then faster. A tree is fitted to 512 rows at most, and then all rows are put in its leaves.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight for each background row
    trees : number of trees, even
    min_leaf : minimum number of rows in a leaf, of those that the tree is fitted to
    rng : seed or Generator
    memory_limit : bytes that the rows given to the model at once may take; cached forests may take a quarter of it
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; without
        it, such rows are recognised if they equal exactly one row of X

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat([[0.0, 0.0], [1.0, 5.0]], 50, axis=0)
    >>> f_S = TreeConditional(rows).restrict(lambda X: X.sum(axis=1), [[1.0, 7.0]])
    >>> f_S.predict(np.array([[1.0, 7.0]]), np.array([[True, False]]), rng=None)
    array([[6.]])
    """

    background: Any
    weights: Any = None
    trees: int = 16
    min_leaf: int = 5
    rng: Any = 0
    memory_limit: float = 1e9
    examples: Any = None
    name: str = "trees"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever the removal is used

    def restrict(self, predictor: Any, X: Any) -> WeightedModel:
        if not _is_count(self.trees) or self.trees < 2 or self.trees % 2:
            raise InputError("trees", got=f"{self.trees!r}", wanted="an even number of trees")
        if not _is_count(self.min_leaf) or self.min_leaf < 2:
            raise InputError("min_leaf", got=f"{self.min_leaf!r}", wanted="two rows or more")
        background, examples = BackgroundRows.of(self, predictor, X)
        f, rows, weights = background.predictor, background.rows, background.weights
        cache: LRUCache[Forest] = LRUCache(min(CACHE_BYTES, self.memory_limit / 4))
        options = (int(self.trees), int(self.min_leaf), self.rng, cache)
        choice = LeafRows.of(f.schema, rows, weights, *options)
        note = NOTE.format(f"the leaves of {self.trees} trees for each coalition")
        return WeightedModel(f, rows, weights, choice, background.self_matches, (note,), examples)

    def limited(self, memory_limit: float) -> TreeConditional:
        return replace(self, memory_limit=memory_limit)

    def with_self_matches(self, examples: np.ndarray) -> TreeConditional:
        return replace(self, examples=examples)


@dataclass(frozen=True)
class LeafRows:
    """The choice of rows from leaves, with a forest for each coalition.

    Attributes
    ----------
    inputs : (m, d) the background rows as splits take them: scores, and codes of categories
    targets : (m, q) features of the columns, scaled so that those of one column together have a variance of one
    owner : (q,) the column of each feature
    cache : forests by coalition
    """

    trees: int
    min_leaf: int
    seed: int
    scores: ColumnScores
    inputs: np.ndarray
    targets: np.ndarray
    owner: np.ndarray
    weights: np.ndarray
    cache: LRUCache[Forest] = field(compare=False)

    @classmethod
    def of(
        cls,
        schema: Schema,
        rows: np.ndarray,
        weights: np.ndarray,
        trees: int,
        min_leaf: int,
        seed: int,
        cache: LRUCache[Forest],
    ) -> LeafRows:
        scores = ColumnScores.of(schema, rows, weights)
        z = scores(rows)
        features = ColumnFeatures.of(z, weights, scores.is_number, LEVELS)
        targets = features(z)
        targets -= weights @ targets
        variance = np.bincount(features.owner, weights=weights @ targets**2, minlength=rows.shape[1])[features.owner]
        targets /= np.sqrt(np.where(variance > 1e-12, variance, np.inf))
        inputs = _without_missing(z, scores.is_number)
        return cls(trees, min_leaf, seed, scores, inputs, targets, features.owner, weights, cache)

    @property
    def rows(self) -> int:
        return self.trees * ROWS_A_TREE

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, self_match: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = _without_missing(self.scores(x), self.scores.is_number)
        index = np.empty((len(x), self.rows), dtype=np.intp)
        distinct, inverse = np.unique(is_kept, axis=0, return_inverse=True)
        order = np.argsort(inverse.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(inverse.ravel(), minlength=len(distinct)))
        for coalition, rows in zip(distinct, np.split(order, ends[:-1]), strict=True):
            index[rows] = self.forest(coalition).draw(z[rows], self_match[rows])
        return index, np.full(index.shape, 1 / self.rows)

    def forest(self, is_kept: np.ndarray) -> Forest:
        """Returns the forest of a coalition (d,), fitted when it is first needed."""
        key = np.packbits(is_kept).tobytes()
        return self.cache.get(key, lambda: self._fitted(is_kept, int.from_bytes(key, "big")))

    def _fitted(self, is_kept: np.ndarray, number: int) -> Forest:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(FORESTS, number)))
        columns, targets = np.flatnonzero(is_kept), self.targets[:, ~is_kept[self.owner]]
        return Forest.of([self._tree(columns, targets, tree, rng) for tree in range(self.trees)], self.weights)

    def _tree(
        self, columns: np.ndarray, targets: np.ndarray, number: int, rng: np.random.Generator
    ) -> tuple[FittedTree, np.ndarray, np.ndarray]:
        """Fits a tree; returns it, the background rows (m,) sorted by leaf, and the leaf of each row."""
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        m, targets = len(targets), targets if targets.shape[1] else np.zeros((len(targets), 1))
        if targets.shape[1] > DIRECTIONS:
            directions = rng.normal(size=(DIRECTIONS, targets.shape[1]))
            targets = np.stack([targets @ direction for direction in directions], axis=1)
        half = np.arange(number % 2, m, 2) if m > 1 else np.arange(m)
        size = min(len(half), max(2 * self.min_leaf, min(MOST_ROWS, round(SUBSAMPLE * len(half)))))
        sample = np.sort(rng.permutation(half)[:size])
        encodings = {
            position: target_encoding(self.inputs[sample, j], targets[sample, 0], self.min_leaf)
            for position, j in enumerate(columns.tolist())
            if not self.scores.is_number[j]
        }
        inputs = encoded(self.inputs[:, columns], encodings)
        options = {"max_features": CANDIDATES, "random_state": int(rng.integers(2**31))}
        with config_context(skip_parameter_validation=True):
            regressor = DecisionTreeRegressor(min_samples_leaf=min(self.min_leaf, size), **options)
            weights = None if self._has_equal_weights else self.weights[sample]
            y = np.ascontiguousarray(targets[sample])
            regressor.fit(inputs[sample], y, sample_weight=weights, check_input=False)
        leaf = regressor.tree_.apply(inputs)
        order = np.lexsort((targets[:, 0], leaf))  # rows that are drawn evenly from a leaf then differ from each other
        return FittedTree(regressor.tree_, columns, encodings), order, leaf

    @cached_property
    def _has_equal_weights(self) -> bool:
        return bool((self.weights == self.weights[0]).all())


def _without_missing(scores: np.ndarray, is_number: np.ndarray) -> np.ndarray:
    """Replaces missing numbers by a score below all others, and missing categories by a code of their own."""
    return np.where(np.isnan(scores), np.where(is_number, LOWEST, -1.0), scores)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


@dataclass(frozen=True)
class FittedTree:
    """A fitted tree of kept columns; ``encodings`` has the target encoding of each column of categories."""

    nodes: Any
    columns: np.ndarray
    encodings: dict[int, np.ndarray]

    @property
    def nbytes(self) -> int:
        nodes = int(self.nodes.node_count) * (NODE_BYTES + 8 * int(self.nodes.n_outputs))
        return nodes + sum(encoding.nbytes for encoding in self.encodings.values())

    def leaf(self, z: np.ndarray) -> np.ndarray:
        """Returns the leaf that contains each example (n, d)."""
        return np.asarray(self.nodes.apply(encoded(z[:, self.columns], self.encodings)))


@dataclass(frozen=True)
class Forest:
    """The trees of one coalition, with all background rows in their leaves.

    Attributes
    ----------
    order, summed : rows (T m,) sorted by tree and leaf, and the cumulative weight (T m + 1,) before each
    position : (T, m) the position of each row in that order, for each tree
    first, starts : the first node (T,) of each tree, and the position where the rows of each node begin
    """

    trees: tuple[FittedTree, ...]
    order: np.ndarray
    summed: np.ndarray
    position: np.ndarray
    first: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, fitted: list[tuple[FittedTree, np.ndarray, np.ndarray]], weights: np.ndarray) -> Forest:
        m, starts = len(weights), []
        position = np.empty((len(fitted), m), dtype=np.int32)
        for number, (tree, order, leaf) in enumerate(fitted):
            position[number, order] = np.arange(number * m, (number + 1) * m)
            starts.append(number * m + np.searchsorted(leaf[order], np.arange(tree.nodes.node_count + 1)))
        order = np.concatenate([order for _, order, _ in fitted]).astype(np.int32)
        first = np.cumsum([0, *map(len, starts[:-1])])
        summed = np.concatenate([[0.0], np.cumsum(weights[order])])
        return cls(tuple(tree for tree, _, _ in fitted), order, summed, position, first, np.concatenate(starts))

    @property
    def nbytes(self) -> int:
        arrays = (self.order, self.summed, self.position, self.first, self.starts)
        return sum(part.nbytes for part in arrays) + sum(tree.nbytes for tree in self.trees)

    def draw(self, z: np.ndarray, self_match: np.ndarray) -> np.ndarray:
        """Draws background rows (n, K): from all trees, or, for a self-match, from those that were not fitted to it."""
        index = np.empty((len(z), len(self.trees) * ROWS_A_TREE), dtype=np.intp)
        other_half = np.where(self_match >= 0, 1 - self_match % 2, -1)
        for half in np.unique(other_half):
            rows = np.flatnonzero(other_half == half)
            trees = np.arange(len(self.trees)) if half < 0 else np.arange(half, len(self.trees), 2)
            drawn = self._drawn(z[rows], self_match[rows], trees, index.shape[1] // len(trees))
            index[rows] = drawn.reshape(len(rows), -1)
        return index

    def _drawn(self, z: np.ndarray, self_match: np.ndarray, trees: np.ndarray, count: int) -> np.ndarray:
        """Draws rows (n, T, count) from the leaves of examples, evenly by weight, without self-matches."""
        leaf = np.stack([self.trees[tree].leaf(z) for tree in trees], axis=1) + self.first[trees]
        start, end = self.starts[leaf][..., None], self.starts[leaf + 1][..., None]
        low, room = self.summed[start], self.summed[end] - self.summed[start]
        levels = (np.arange(count) + (trees * GOLDEN % 1)[:, None]) / count
        if (self_match < 0).any():  # then none of these examples is a background row
            drawn = np.searchsorted(self.summed, low + levels * room, side="right") - 1
            return np.asarray(self.order[np.clip(drawn, start, end - 1)])
        position = self.position[trees][:, self_match].T[..., None]
        weight_before = self.summed[position]
        width = self.summed[position + 1] - weight_before
        points = low + levels * (room - width)
        drawn = np.searchsorted(self.summed, points + np.where(points >= weight_before, width, 0.0), side="right") - 1
        drawn = np.clip(drawn, start, end - 1)
        # where rounding leads to the self-match all the same
        neighbour = np.where(position > start, position - 1, position + 1)
        return np.asarray(self.order[np.where(drawn == position, neighbour, drawn)])


def target_encoding(codes: np.ndarray, target: np.ndarray, prior: float) -> np.ndarray:
    """Returns a number for each category code from -1 on: its mean target, shrunk to the overall mean if it is rare.

    The last entry is for codes that do not occur.
    """
    index = codes.astype(np.intp) + 1
    count = np.bincount(index, minlength=index.max() + 2)
    mean = target.mean()
    return np.asarray((np.bincount(index, weights=target, minlength=len(count)) + prior * mean) / (count + prior))


def encoded(inputs: np.ndarray, encodings: dict[int, np.ndarray]) -> np.ndarray:
    """Returns inputs in single precision, with categories replaced by their target encoding."""
    columns = inputs.astype(np.float32)
    for column, encoding in encodings.items():
        code = np.minimum(inputs[:, column].astype(np.intp) + 1, len(encoding) - 1)
        columns[:, column] = encoding[code]
    return columns
