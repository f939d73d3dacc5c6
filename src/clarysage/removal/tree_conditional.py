"""Withheld features drawn from leaves of forests that were fitted to them, given the kept ones."""

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
from clarysage.removal.restricted.weighted import FOLLOWS, WeightedModel
from clarysage.tables import Schema

DIRECTIONS = 4  # of the withheld columns that a tree is fitted to
CANDIDATES = 0.7  # part of the kept columns that each split may choose from
SUBSAMPLE, MOST_ROWS = 0.6, 512  # part of its half of the background that a tree is fitted to, and rows at most
LEVELS = 32  # categories of a column that have a mark of their own
LOWEST = -99.0  # where missing cells stand among scores
BYTES_KEPT = 2**28
FORESTS = 2  # spawns the random streams of forests, by the numbers of their coalitions


@dataclass(frozen=True)
class TreeConditional:
    r"""Withheld features come from background rows that share a leaf with the example.

    For each coalition a small forest is fitted to the withheld columns, given the kept ones; each tree to a few random
    directions of them. An example's rows are spread evenly over the leaves that it falls in, so that

    .. math:: f_S(x_S) = \frac{1}{T} \sum_t \frac{1}{|L_t(x_S)|} \sum_{k \in L_t(x_S)} f(x_S, b_{k, \bar S})

    up to the number of rows that are drawn from a leaf. Splits find out which kept columns matter, also where the
    dependence is neither linear nor monotone. Every other tree is fitted to one half of the background, the rest to the
    other; an example that is a background row goes by the trees that have not seen it, and is left out of its leaf.

    Each coalition takes a fit, of some 10 ms for 512 rows and 25 (8 columns) to 50 ms (20 columns) for 4,096 on one
    core: with many columns nearly every prefix of a walk is a coalition of its own, and groups of columns, or
    :class:`Surrogate`, come cheaper. A tree is fitted to 512 rows at most, and all rows are then put in its leaves.

    Parameters
    ----------
    background : table of rows with the columns of X
    weights : one weight a background row
    trees : how many, an even number
    min_leaf : rows that a leaf must hold of those the tree is fitted to
    rng : seed or Generator
    memory_limit : bytes that the rows given to the model at once may take; fits are kept within a quarter of it
    examples : for a background drawn from X, the number in X of each of its rows, -1 for a row from elsewhere; such
        rows are otherwise known by being equal to a row of X, if there is but one of the kind

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
        object.__setattr__(self, "rng", seed_of(self.rng))  # the same draws whenever it is used

    def restrict(self, predictor: Any, X: Any) -> WeightedModel:
        if not _is_count(self.trees) or self.trees < 2 or self.trees % 2:
            raise InputError("trees", got=f"{self.trees!r}", wanted="an even number of trees")
        if not _is_count(self.min_leaf) or self.min_leaf < 2:
            raise InputError("min_leaf", got=f"{self.min_leaf!r}", wanted="two rows or more")
        found, examples = BackgroundRows.of(self, predictor, X)
        cache: LRUCache[Forest] = LRUCache(min(BYTES_KEPT, self.memory_limit / 4))
        options = (int(self.trees), int(self.min_leaf), self.rng, cache)
        choice = FromLeaves.of(found.predictor.schema, found.rows, found.mass, *options)
        said = FOLLOWS.format(f"the leaves of {self.trees} trees a coalition")
        return WeightedModel(found.predictor, found.rows, found.mass, choice, found.known, (said,), examples)

    def limited(self, memory_limit: float) -> TreeConditional:
        return replace(self, memory_limit=memory_limit)

    def knowing_examples(self, examples: np.ndarray) -> TreeConditional:
        return replace(self, examples=examples)


@dataclass(frozen=True)
class FromLeaves:
    """The choice of rows from leaves, with a forest for each coalition."""

    trees: int
    min_leaf: int
    seed: int
    scores: ColumnScores
    inputs: np.ndarray  # (m, d) as splits see them: scores, and codes of categories
    targets: np.ndarray  # (m, q) features of the columns, those of one column with a variance of one together
    owner: np.ndarray  # (q,)
    mass: np.ndarray
    cache: LRUCache[Forest] = field(compare=False)

    @classmethod
    def of(
        cls,
        schema: Schema,
        rows: np.ndarray,
        mass: np.ndarray,
        trees: int,
        min_leaf: int,
        seed: int,
        cache: LRUCache[Forest],
    ) -> FromLeaves:
        scores = ColumnScores.of(schema, rows, mass)
        z = scores(rows)
        features = ColumnFeatures.of(z, mass, scores.is_number, LEVELS)
        targets = features(z)
        targets -= mass @ targets
        spread = np.bincount(features.owner, weights=mass @ targets**2, minlength=rows.shape[1])[features.owner]
        targets /= np.sqrt(np.where(spread > 1e-12, spread, np.inf))
        return cls(trees, min_leaf, seed, scores, _split_by(z, scores.is_number), targets, features.owner, mass, cache)

    @property
    def rows(self) -> int:
        return self.trees * ROWS_A_TREE

    def __call__(self, x: np.ndarray, is_kept: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = _split_by(self.scores(x), self.scores.is_number)
        picks = np.empty((len(x), self.rows), dtype=np.intp)
        distinct, place = np.unique(is_kept, axis=0, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(place.ravel(), minlength=len(distinct)))
        for one, its in zip(distinct, np.split(order, ends[:-1]), strict=True):
            picks[its] = self.forest(one).draw(z[its], own[its])
        return picks, np.full(picks.shape, 1 / self.rows)

    def forest(self, is_kept: np.ndarray) -> Forest:
        """The forest of a coalition (d,)."""
        key = np.packbits(is_kept).tobytes()
        return self.cache.get(key, lambda: self._fitted(is_kept, int.from_bytes(key, "big")))

    def _fitted(self, is_kept: np.ndarray, number: int) -> Forest:
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(FORESTS, number)))
        columns, withheld = np.flatnonzero(is_kept), self.targets[:, ~is_kept[self.owner]]
        return Forest.of([self._tree(columns, withheld, which, rng) for which in range(self.trees)], self.mass)

    def _tree(
        self, columns: np.ndarray, withheld: np.ndarray, which: int, rng: np.random.Generator
    ) -> tuple[Tree, np.ndarray, np.ndarray]:
        """A tree, the background rows (m,) leaf by leaf, and the leaf of each row."""
        from sklearn import config_context
        from sklearn.tree import DecisionTreeRegressor

        m, wanted = len(withheld), withheld if withheld.shape[1] else np.zeros((len(withheld), 1))
        if wanted.shape[1] > DIRECTIONS:
            wanted = np.stack([wanted @ way for way in rng.normal(size=(DIRECTIONS, wanted.shape[1]))], axis=1)
        half = np.arange(which % 2, m, 2) if m > 1 else np.arange(m)
        size = min(len(half), max(2 * self.min_leaf, min(MOST_ROWS, round(SUBSAMPLE * len(half)))))
        there = np.sort(rng.permutation(half)[:size])
        places = {
            place: ranked(self.inputs[there, j], wanted[there, 0], self.min_leaf)
            for place, j in enumerate(columns.tolist())
            if not self.scores.is_number[j]
        }
        inputs = in_order(self.inputs[:, columns], places)
        options = {"max_features": CANDIDATES, "random_state": int(rng.integers(2**31))}
        with config_context(skip_parameter_validation=True):
            fitted = DecisionTreeRegressor(min_samples_leaf=min(self.min_leaf, size), **options)
            weights = None if self._is_even else self.mass[there]
            fitted.fit(inputs[there], np.ascontiguousarray(wanted[there]), sample_weight=weights, check_input=False)
        leaf = fitted.tree_.apply(inputs)
        order = np.lexsort((wanted[:, 0], leaf))  # rows drawn evenly from a leaf are then unlike each other
        return Tree(fitted.tree_, columns, places), order, leaf

    @cached_property
    def _is_even(self) -> bool:
        return bool((self.mass == self.mass[0]).all())


def _split_by(scores: np.ndarray, is_number: np.ndarray) -> np.ndarray:
    """Scores as splits see them: missing numbers below all others, missing categories by a code of their own."""
    return np.where(np.isnan(scores), np.where(is_number, LOWEST, -1.0), scores)


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


ROWS_A_TREE = 8  # drawn from the leaf that an example falls in
GOLDEN = 0.6180339887498949
OF_NODE = 88  # bytes of a node beside its predictions


@dataclass(frozen=True)
class Tree:
    """A fitted tree of kept columns; ``places`` has, for those of categories, the number that stands for each code."""

    nodes: Any
    columns: np.ndarray
    places: dict[int, np.ndarray]

    @property
    def nbytes(self) -> int:
        nodes = int(self.nodes.node_count) * (OF_NODE + 8 * int(self.nodes.n_outputs))
        return nodes + sum(part.nbytes for part in self.places.values())

    def leaf(self, z: np.ndarray) -> np.ndarray:
        """The leaf that each example (n, d) falls in."""
        return np.asarray(self.nodes.apply(in_order(z[:, self.columns], self.places)))


@dataclass(frozen=True)
class Forest:
    """The trees of one coalition, with all background rows in their leaves.

    Attributes
    ----------
    order, summed : rows (T m,) tree by tree and leaf by leaf, and the mass (T m + 1,) before each
    place : (T, m) where each row is, in each tree
    first, starts : the first node (T,) of each tree, and where the rows of each node begin
    """

    trees: tuple[Tree, ...]
    order: np.ndarray
    summed: np.ndarray
    place: np.ndarray
    first: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, grown: list[tuple[Tree, np.ndarray, np.ndarray]], mass: np.ndarray) -> Forest:
        m, starts = len(mass), []
        place = np.empty((len(grown), m), dtype=np.int32)
        for which, (tree, order, leaf) in enumerate(grown):
            place[which, order] = np.arange(which * m, (which + 1) * m)
            starts.append(which * m + np.searchsorted(leaf[order], np.arange(tree.nodes.node_count + 1)))
        order = np.concatenate([order for _, order, _ in grown]).astype(np.int32)
        first = np.cumsum([0, *map(len, starts[:-1])])
        summed = np.concatenate([[0.0], np.cumsum(mass[order])])
        return cls(tuple(tree for tree, _, _ in grown), order, summed, place, first, np.concatenate(starts))

    @property
    def nbytes(self) -> int:
        arrays = (self.order, self.summed, self.place, self.first, self.starts)
        return sum(part.nbytes for part in arrays) + sum(tree.nbytes for tree in self.trees)

    def draw(self, z: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Background rows (n, K) for examples: from all trees, or twice as many from those that have not seen them."""
        picks = np.empty((len(z), len(self.trees) * ROWS_A_TREE), dtype=np.intp)
        unseen = np.where(own >= 0, 1 - own % 2, -1)  # trees of the other half
        for kind in np.unique(unseen):
            its = np.flatnonzero(unseen == kind)
            which = np.arange(len(self.trees)) if kind < 0 else np.arange(kind, len(self.trees), 2)
            picks[its] = self._drawn(z[its], own[its], which, picks.shape[1] // len(which)).reshape(len(its), -1)
        return picks

    def _drawn(self, z: np.ndarray, own: np.ndarray, which: np.ndarray, count: int) -> np.ndarray:
        """So many rows (n, T, count) from the leaves of examples, evenly by mass, their own ones left out."""
        leaf = np.stack([self.trees[tree].leaf(z) for tree in which], axis=1) + self.first[which]
        start, end = self.starts[leaf][..., None], self.starts[leaf + 1][..., None]
        low, room = self.summed[start], self.summed[end] - self.summed[start]
        steps = (np.arange(count) + (which * GOLDEN % 1)[:, None]) / count
        if (own < 0).any():  # none of these is a row
            found = np.searchsorted(self.summed, low + steps * room, side="right") - 1
            return np.asarray(self.order[np.clip(found, start, end - 1)])
        place = self.place[which][:, own].T[..., None]
        here = self.summed[place]
        width = self.summed[place + 1] - here
        points = low + steps * (room - width)
        found = np.searchsorted(self.summed, points + np.where(points >= here, width, 0.0), side="right") - 1
        found = np.clip(found, start, end - 1)
        beside = np.where(place > start, place - 1, place + 1)  # where rounding leads to the own row after all
        return np.asarray(self.order[np.where(found == place, beside, found)])


def ranked(codes: np.ndarray, wanted: np.ndarray, prior: float) -> np.ndarray:
    """A number for each category code from -1 on: its mean of what is wanted, drawn to that of all where it is rare.

    The last entry is for codes that were not seen.
    """
    place = codes.astype(np.intp) + 1
    count = np.bincount(place, minlength=place.max() + 2)
    mean = wanted.mean()
    return np.asarray((np.bincount(place, weights=wanted, minlength=len(count)) + prior * mean) / (count + prior))


def in_order(inputs: np.ndarray, places: dict[int, np.ndarray]) -> np.ndarray:
    """Inputs with categories as the numbers that stand for them, single precision."""
    found = inputs.astype(np.float32)
    for column, numbers in places.items():
        code = np.minimum(inputs[:, column].astype(np.intp) + 1, len(numbers) - 1)
        found[:, column] = numbers[code]
    return found
