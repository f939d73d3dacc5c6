"""Listing: features as a page lists them, by names in full and short, of which the first are shown at once."""

from __future__ import annotations

from dataclasses import dataclass

from clarysage._utils.display import shortened, visible
from clarysage.results.summary import Items

CHOICES_OF_MANY = (10, 20, 50, 100, 200)  # how many features may be shown, where there are many
LABEL_COLUMNS, NAME_COLUMNS = 29, 100  # letters of a name in the chart, and in the table


@dataclass(frozen=True)
class Listing:
    """Features in one order.

    Attributes
    ----------
    names, folded, labels : of the features as they are given: in full, and in the letters there is room for in the
        table and in the chart
    order : places of the features, from the top
    rank : (p,) of each feature, 0 for the one of most weight
    shown : places of those that are shown at first, from the top
    """

    names: tuple[str, ...]
    folded: tuple[str, ...]
    labels: tuple[str, ...]
    order: tuple[int, ...]
    rank: tuple[int, ...]

    shown: tuple[int, ...]

    @property
    def first(self) -> int:
        """How many are shown at first."""
        return len(self.shown)

    @property
    def choices(self) -> list[int]:
        """How many features a reader may ask for, where there are many."""
        return [k for k in CHOICES_OF_MANY if k < len(self.names)] if self.first < len(self.names) else []


def listed(items: Items) -> Listing:
    """Items with their names in the lengths that a page has room for."""
    names, folded, labels = (
        tuple(shortened(name, most) if most else visible(name) for name in items.names)
        for most in (None, NAME_COLUMNS, LABEL_COLUMNS)
    )
    return Listing(names, folded, labels, items.order, tuple(items.rank), tuple(items.shown))
