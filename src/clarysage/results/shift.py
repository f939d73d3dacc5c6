"""How one column of the current rows differs from the reference's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from clarysage.codec import require


@dataclass(frozen=True)
class Shift:
    """How a column of the current rows differs from the reference's.

    Attributes
    ----------
    column
        The column's name.
    kind
        `"numbers"` or `"categories"`: how the column was read.
    distance
        Between 0 and 1: the Kolmogorov-Smirnov distance of numbers, the total variation distance of categories, missing
        cells counted.
    p_value
        How likely such a distance is, on its own, by the chance of drawing rows; 1.0 where the columns are the same.
    hints
        What happened, in plain words, the strongest first.
    facts
        Name -> (reference, current), such as the median, the spread, the share of missing cells.
    """

    column: str
    kind: Literal["numbers", "categories"]
    distance: float
    p_value: float
    hints: tuple[str, ...]
    facts: Mapping[str, tuple[float, float]]

    def __post_init__(self) -> None:
        for name in ("distance", "p_value"):
            require(0 <= getattr(self, name) <= 1, name, getattr(self, name), "a number from 0 to 1")
