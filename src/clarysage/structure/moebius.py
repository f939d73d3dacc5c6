"""Möbius terms of mean margins: f_S is the sum of a_A over all sets A of players within S.

The a_A are the Möbius (Moebius) coefficients, or Harsanyi dividends, of the game S -> f_S, and also the interventional
functional ANOVA of the margins. Linear models have a term for each player, trees one for each set of players that share
a path from a root to a leaf, so that few terms are enough where trees are shallow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.structure.base import Representation
from clarysage.structure.linear import Linear
from clarysage.structure.oblivious import ObliviousTrees
from clarysage.structure.trees import Trees

MOST_SETS = 2**20  # of players that have a term
MOST_IDS = (
    2**24
)  # numbers of sets within the paths of leaves, of which those of the same features in a row share theirs
MOST_PATH_SETS = 2**22  # sets within the paths of the leaves of one tree
MOST_VISITS, MOST_SHARES = 2**26, 2**23  # of leaves by background rows, and shares of the rows that fail a leaf alike


@dataclass(frozen=True)
class LinearTerms:
    """Terms of a linear model: a constant, and for each player its contribution beyond the mean of the background.

    Attributes
    ----------
    linear : the model, whose columns are the players
    mean : (D,) mean background row
    """

    linear: Linear
    players: int
    mean: np.ndarray

    @property
    def count(self) -> int:
        """The number of terms: that of the empty set, and those of single players."""
        return self.players + 1

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns the terms (n, p + 1, K) of rows z (n, D), given as inner columns.

        The first is that of the empty set, the others are those of single players.
        """
        mean = self.linear.encode(self.mean[None])
        terms = np.zeros((len(z), self.players + 1, self.linear.n_margins))
        terms[:, 0] = self.linear.margins(mean)
        differences = self.linear.encode(z) - mean
        terms[:, 1 : 1 + differences.shape[1]] = differences
        return terms


@dataclass(frozen=True)
class PlayerSets:
    """The numbers of sets of players that share a path of trees, in the layout of the kernels of leaf terms.

    Attributes
    ----------
    count : M, the number of sets; the empty set is number 0
    id_start, ids : numbers of all sets within the path of each leaf
    edges : A, A without i, and i, for all sets A and their players i; None where A is number sum_{i in A} 2^i
    """

    count: int
    id_start: np.ndarray
    ids: np.ndarray
    edges: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, trees: Trees, players: int, *, by_number: bool, most_sets: int = MOST_SETS) -> PlayerSets | None:
        """Numbers the sets in the order of their first leaf, or all 2^p by their players; None if they are too many."""
        from clarysage.structure.kernels.leaf_terms import first_of_equal_paths, number_sets, number_sets_by_bits

        leaf_start, path_players, _ = trees.paths
        first_leaf = first_of_equal_paths(leaf_start, path_players, players)
        is_first = first_leaf == np.arange(len(first_leaf))
        sizes = np.where(is_first, 2.0 ** np.diff(leaf_start), 0.0)
        if sizes.sum() > MOST_IDS:
            return None
        ends = np.cumsum(sizes).astype(np.int64)
        id_start, ids = (ends - sizes.astype(np.int64))[first_leaf], np.empty(ends[-1], dtype=np.int64)
        if by_number:
            number_sets_by_bits(leaf_start, path_players, first_leaf, id_start, ids)
            return cls(2**players, id_start, ids)
        count, *edges = number_sets(leaf_start, path_players, players, first_leaf, id_start, ids, most_sets)
        return None if count < 0 else cls(count, id_start, ids, tuple(edges))

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of players of each set, (M,)."""
        assert self.edges is not None
        return np.bincount(self.edges[0], minlength=self.count)


@dataclass(frozen=True)
class LeafTerms:
    """Terms of trees, from the shares of background rows that fail the conditions of each leaf on the same players.

    Attributes
    ----------
    inner, row_weights : (m, D) background rows, and their weights
    sets : the sets of players that have a term
    players : p, their number
    """

    trees: Trees
    inner: np.ndarray
    row_weights: np.ndarray
    sets: PlayerSets
    players: int

    @property
    def count(self) -> int:
        return self.sets.count

    @cached_property
    def shares(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """``live_start``, ``live_set`` and ``live_share`` of the leaves, computed when they are first needed."""
        from clarysage.structure.kernels.leaf_terms import failing_shares

        trees = self.trees
        shares: tuple[np.ndarray, np.ndarray, np.ndarray] = failing_shares(
            trees.encode(self.inner),
            self.row_weights,
            trees.left,
            trees.right,
            trees.roots,
            trees.paths[2],
            trees.paths[0],
            trees.depth,
            trees.tree_leaf,
        )
        return shares

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns terms (n, M, K) of inner rows."""
        return np.ascontiguousarray(self.by_output(z).transpose(2, 1, 0))

    def by_output(self, z: np.ndarray) -> np.ndarray:
        """Returns terms (K, M, n) of inner rows, as they are computed."""
        return self._added(z)[0]

    def changes(self, z: np.ndarray) -> int:
        """Returns how many changes of terms the computation of those of inner rows takes, by doing it."""
        return self._added(z)[1]

    def _added(self, z: np.ndarray) -> tuple[np.ndarray, int]:
        from clarysage.structure.kernels.leaf_terms import add_leaf_terms

        trees = self.trees
        terms = np.zeros((trees.n_margins, self.count, len(z)))
        terms[:, 0] = trees.base[:, None]
        changes = add_leaf_terms(
            trees.encode(z),
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            trees.paths[2],
            trees.depth,
            self.sets.id_start,
            self.sets.ids,
            *self.shares,
            terms,
        )
        return terms, changes


class Terms(Protocol):
    """Möbius terms a_A of mean margins, for those sets A of players that have one; the empty set comes first."""

    @property
    def count(self) -> int:
        """M, the number of sets."""
        ...

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns terms (n, M, K) of inner rows (n, D)."""
        ...


@dataclass(frozen=True)
class Expansion:
    """Expansion of mean margins over the background into Möbius terms over players.

    Attributes
    ----------
    inner, row_weights : (m, D) background rows, and their weights
    player : (D,) player of each inner column
    players : p, their number
    """

    representation: Representation
    inner: np.ndarray
    row_weights: np.ndarray
    player: np.ndarray
    players: int

    @cached_property
    def trees(self) -> Trees | None:
        """The representation as trees whose nodes are about players; None where it is not made of trees."""
        general = self.representation
        if isinstance(general, ObliviousTrees):
            general = general.as_trees()
        return general.with_owner(self.player) if isinstance(general, Trees) else None

    def linear_terms(self) -> LinearTerms | None:
        """Returns the terms of a linear representation; None for others."""
        if not isinstance(self.representation, Linear):
            return None
        mean = self.inner[0] + self.row_weights @ (self.inner - self.inner[0])
        return LinearTerms(self.representation.with_owner(self.player), self.players, mean)

    def leaf_terms(self, *, by_number: bool = False, most_sets: int = MOST_SETS) -> LeafTerms | None:
        """Returns the terms of trees: of all 2^p sets by number, or of those that occur; None if they are too many."""
        if self.trees is None or len(self.inner) * len(self.trees.values) > MOST_VISITS:
            return None
        sizes = 2.0 ** np.diff(self.trees.paths[0])
        if self.trees.most_path_sets > MOST_PATH_SETS or np.minimum(sizes, len(self.inner)).sum() > MOST_SHARES:
            return None
        sets = PlayerSets.of(self.trees, self.players, by_number=by_number, most_sets=most_sets)
        return None if sets is None else LeafTerms(self.trees, self.inner, self.row_weights, sets, self.players)
