"""The trees of one coalition, and background rows drawn from the leaves that examples fall in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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
