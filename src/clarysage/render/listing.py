"""Listing: features as a page lists them, by names in full and short, of which the first are shown at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.names import shortened, visible
from clarysage.results.summary import FEW, SHOWN, Items

CHOICES_OF_MANY = (10, 20, 50, 100, 200)  # how many features may be shown, where there are many
LABEL_COLUMNS, TOLD_COLUMNS, NAME_COLUMNS = 29, 48, 100  # letters of a name in the chart, a sentence, and the table


@dataclass(frozen=True)
class Listing:
    """Features in one order.

    Attributes
    ----------
    names, folded, told, labels : of the features as they are given: in full, and in the letters there is room for in
        the table, in a sentence and in the chart
    order : places of the features, from the top
    rank : (p,) of each feature, 0 for the one of most weight
    """

    names: tuple[str, ...]
    folded: tuple[str, ...]
    told: tuple[str, ...]
    labels: tuple[str, ...]
    order: tuple[int, ...]
    rank: tuple[int, ...]

    @property
    def choices(self) -> list[int]:
        """How many features a reader may ask for, where there are many."""
        return [k for k in CHOICES_OF_MANY if k < len(self.names)] if len(self.names) > FEW else []

    @property
    def first(self) -> int:
        """How many are shown at first."""
        return SHOWN if len(self.names) > FEW else len(self.names)

    @property
    def shown(self) -> list[int]:
        """Places of those that are shown at first, from the top."""
        return [i for i in self.order if self.rank[i] < self.first]


def listed(items: Items) -> Listing:
    """Items with their names in the lengths that a page has room for."""
    return listing(items.names, items.order, items.weights)


def listing(names: Sequence[str], order: Sequence[int], weights: np.ndarray) -> Listing:
    """Features from the top in this order, of which those of most weight are shown."""
    rank = np.argsort(np.argsort(-weights, kind="stable")).tolist()
    folded, told, labels = (tuple(shortened(name, most) for name in names)
                            for most in (NAME_COLUMNS, TOLD_COLUMNS, LABEL_COLUMNS))  # fmt: skip
    return Listing(tuple(map(visible, names)), folded, told, labels, tuple(order), tuple(rank))


def list_data(names: Sequence[str], found: Listing, **told: Any) -> dict[str, Any]:
    """What the script sorts and searches by: features in the order of the chart, and what is told of rows."""
    of_features = {"names": [names[i] for i in found.order], "rank": [found.rank[i] for i in found.order]}
    return {**of_features, **told}


def numbers(values: np.ndarray) -> list[float | None]:
    """Numbers as JSON may hold them."""
    return [float(f"{value:.7g}") if np.isfinite(value) else None for value in values]
