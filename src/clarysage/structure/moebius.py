"""Mean margins as sums over sets of players: f_S is the sum of terms a_A over all A within S."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from clarysage.structure.base import Representation
from clarysage.structure.linear import Linear
from clarysage.structure.trees import LeafTables, Trees

MOST_ENTRIES = 2**24  # of leaves' tables


@dataclass(frozen=True)
class LinearTerms:
    """A constant, and one term a player: what its columns bring beyond the mean of the background."""

    representation: Linear  # whose columns are the players
    players: int
    mean: np.ndarray

    @property
    def sets(self) -> np.ndarray:
        """The empty set and those of single players, (p + 1, p)."""
        return np.eye(self.players + 1, self.players, -1, dtype=bool)

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Terms (n, p + 1, K) of inner rows, the constant first."""
        mean = self.representation.encode(self.mean[None])
        terms = np.zeros((len(z), self.players + 1, self.representation.n_margins))
        terms[:, 0] = self.representation.margins(mean)
        moves = self.representation.encode(z) - mean
        terms[:, 1 : 1 + moves.shape[1]] = moves
        return terms


@dataclass(frozen=True)
class LeafTerms:
    """Terms of trees, by tables of their leaves, which are about players.

    Attributes
    ----------
    sets : the players of each term, (M, p)
    ids : the term that each entry of the tables adds to; None where terms are numbered by their players
    """

    trees: Trees
    inner: np.ndarray
    mass: np.ndarray
    sets: np.ndarray
    ids: np.ndarray | None = None

    @cached_property
    def leaves(self) -> LeafTables:
        """The tables, which are made when they are first needed."""
        return LeafTables.of(self.trees, self.trees.encode(self.inner), self.mass)

    @cached_property
    def numbers(self) -> np.ndarray:
        """The term that each entry of the tables adds to."""
        from clarysage.structure.kernels.leaf_tables import sets_of_leaves

        if self.ids is not None:
            return self.ids
        starts, features, _ = self.trees.paths
        firsts, entries = self.trees.tables
        numbers = np.empty(entries, dtype=np.int64)
        sets_of_leaves(starts, features, firsts, numbers)
        return numbers

    def __call__(self, z: np.ndarray) -> np.ndarray:
        from clarysage.structure.kernels.leaf_tables import leaf_terms

        trees, (starts, _, place) = self.trees, self.trees.paths
        terms = np.zeros((len(z), len(self.sets), trees.n_margins))
        terms[:, 0] = trees.base
        leaf_terms(
            trees.encode(z),
            trees.left,
            trees.right,
            trees.roots,
            trees.output,
            trees.values,
            place,
            starts,
            trees.depth,
            self.leaves.firsts,
            self.leaves.tables,
            self.numbers,
            terms,
        )
        return terms


class Terms(Protocol):
    """Moebius coefficients a_A of a form, for those sets A of players that have one; the empty set comes first."""

    @property
    def sets(self) -> np.ndarray:
        """The players of each set, (M, p)."""
        ...

    def __call__(self, z: np.ndarray) -> np.ndarray:
        """Coefficients (n, M, K) of inner rows (n, D)."""
        ...


@dataclass(frozen=True)
class Expansion:
    """How a form beside background rows is taken apart into terms over players.

    Attributes
    ----------
    player : (D,) of each inner column
    players : p
    """

    representation: Representation
    inner: np.ndarray
    mass: np.ndarray
    player: np.ndarray
    players: int

    @cached_property
    def trees(self) -> Trees | None:
        """The form as trees whose nodes are about players."""
        form = self.representation.general() if hasattr(self.representation, "general") else self.representation
        return form.with_owner(self.player) if isinstance(form, Trees) else None

    @cached_property
    def entries(self) -> float:
        """Entries of the tables of leaves."""
        return 0.0 if self.trees is None else float((2.0 ** np.diff(self.trees.paths[0])).sum())

    @cached_property
    def most_entries(self) -> float:
        """The same at most, without a look at the paths."""
        return 0.0 if self.trees is None else len(self.trees.values) * 2.0 ** min(self.trees.depth, self.players)

    def terms(self, *, by_number: bool) -> Terms | None:
        """Terms for those sets that have some, or by the number of the set; None where the form has no such."""
        if isinstance(self.representation, Linear):
            mean = self.inner[0] + self.mass @ (self.inner - self.inner[0])
            return LinearTerms(self.representation.with_owner(self.player), self.players, mean)
        if self.trees is None or self.entries > MOST_ENTRIES:
            return None
        if by_number:
            return LeafTerms(self.trees, self.inner, self.mass, _all_sets(self.players))
        ids, sets = self._distinct(self.trees)
        return LeafTerms(self.trees, self.inner, self.mass, sets, ids)

    def _distinct(self, trees: Trees) -> tuple[np.ndarray, np.ndarray]:
        """The term of each entry, and the sets of players of terms, the empty one first."""
        starts, features, _ = trees.paths
        firsts, entries = trees.tables
        known: dict[tuple[int, ...], int] = {(): 0}
        ids = np.empty(entries, dtype=np.int64)
        for leaf, first in enumerate(firsts):
            here = features[starts[leaf] : starts[leaf + 1]].tolist()
            for entry in range(1 << len(here)):
                players = tuple(sorted(player for k, player in enumerate(here) if entry >> k & 1))
                ids[first + entry] = known.setdefault(players, len(known))
        sets = np.zeros((len(known), self.players), dtype=bool)
        for players, place in known.items():
            sets[place, list(players)] = True
        return ids, sets


def _all_sets(players: int) -> np.ndarray:
    return (np.arange(2**players)[:, None] >> np.arange(players)) & 1 > 0
