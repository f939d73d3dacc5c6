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
from clarysage.structure.trees import LeafTables, Trees

MOST_ENTRIES = 2**24  # of leaf tables


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
    def sets(self) -> np.ndarray:
        """The empty set and those of single players, (p + 1, p)."""
        return np.eye(self.players + 1, self.players, -1, dtype=bool)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns terms (n, p + 1, K) of inner rows, the constant first."""
        mean = self.linear.encode(self.mean[None])
        terms = np.zeros((len(z), self.players + 1, self.linear.n_margins))
        terms[:, 0] = self.linear.margins(mean)
        differences = self.linear.encode(z) - mean
        terms[:, 1 : 1 + differences.shape[1]] = differences
        return terms


@dataclass(frozen=True)
class LeafTerms:
    """Terms of trees, by leaf tables over players.

    Attributes
    ----------
    inner, row_weights : (m, D) background rows, and their weights
    sets : (M, p) players of each term
    ids : term that each table entry adds to; None where term number sum_{i in A} 2^i is that of the set A
    """

    trees: Trees
    inner: np.ndarray
    row_weights: np.ndarray
    sets: np.ndarray
    ids: np.ndarray | None = None

    @cached_property
    def leaf_tables(self) -> LeafTables:
        """The tables, computed when they are first needed."""
        return LeafTables.of(self.trees, self.trees.encode(self.inner), self.row_weights)

    @cached_property
    def term_of_entry(self) -> np.ndarray:
        """The term that each table entry adds to."""
        from clarysage.structure.kernels.leaf_tables import number_player_sets

        if self.ids is not None:
            return self.ids
        leaf_start, path_players, _ = self.trees.paths
        table_start, entries = self.trees.table_layout
        set_number = np.empty(entries, dtype=np.int64)
        number_player_sets(leaf_start, path_players, table_start, set_number)
        return set_number

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Returns terms (n, M, K) of inner rows."""
        from clarysage.structure.kernels.leaf_tables import moebius_terms

        trees, (leaf_start, _, path_position) = self.trees, self.trees.paths
        terms = np.zeros((len(z), len(self.sets), trees.n_margins))
        terms[:, 0] = trees.base
        moebius_terms(
            trees.encode(z),
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            path_position,
            leaf_start,
            trees.depth,
            self.leaf_tables.table_start,
            self.leaf_tables.table,
            self.term_of_entry,
            terms,
        )
        return terms


class Terms(Protocol):
    """Möbius terms a_A of mean margins, for those sets A of players that have one; the empty set comes first."""

    @property
    def sets(self) -> np.ndarray:
        """The players of each set A, (M, p)."""
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

    @cached_property
    def entries(self) -> float:
        """Number of entries of the leaf tables."""
        return 0.0 if self.trees is None else float((2.0 ** np.diff(self.trees.paths[0])).sum())

    @cached_property
    def most_entries(self) -> float:
        """An upper bound of the number of entries, known without looking at the paths."""
        return 0.0 if self.trees is None else len(self.trees.values) * 2.0 ** min(self.trees.depth, self.players)

    def terms(self, *, by_number: bool) -> Terms | None:
        """Returns the terms: of all 2^p sets by number, or of those that occur; None where there is no expansion."""
        if isinstance(self.representation, Linear):
            mean = self.inner[0] + self.row_weights @ (self.inner - self.inner[0])
            return LinearTerms(self.representation.with_owner(self.player), self.players, mean)
        if self.trees is None or self.entries > MOST_ENTRIES:
            return None
        if by_number:
            return LeafTerms(self.trees, self.inner, self.row_weights, _all_sets(self.players))
        ids, sets = self._distinct_sets(self.trees)
        return LeafTerms(self.trees, self.inner, self.row_weights, sets, ids)

    def _distinct_sets(self, trees: Trees) -> tuple[np.ndarray, np.ndarray]:
        """Returns the term of each table entry, and the players (M, p) of the terms, the empty set first."""
        leaf_start, path_players, _ = trees.paths
        table_start, entries = trees.table_layout
        term_of_set: dict[tuple[int, ...], int] = {(): 0}
        ids = np.empty(entries, dtype=np.int64)
        for leaf, first in enumerate(table_start):
            on_path = path_players[leaf_start[leaf] : leaf_start[leaf + 1]].tolist()
            for entry in range(1 << len(on_path)):
                players = tuple(sorted(player for k, player in enumerate(on_path) if entry >> k & 1))
                ids[first + entry] = term_of_set.setdefault(players, len(term_of_set))
        sets = np.zeros((len(term_of_set), self.players), dtype=bool)
        for players, term in term_of_set.items():
            sets[term, list(players)] = True
        return ids, sets


def _all_sets(players: int) -> np.ndarray:
    return (np.arange(2**players)[:, None] >> np.arange(players)) & 1 > 0
