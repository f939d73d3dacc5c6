"""Rows of each category in both samples."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from clarysage.monitoring.shifts.distances import chi_square_p, total_variation
from clarysage.monitoring.shifts.reading import NUMBERS, Cells
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.wording import from_to, quoted

SHOWN = 2


@dataclass(frozen=True)
class Counts:
    """Counts (2, k) of labels in the reference and in the current rows.

    Attributes
    ----------
    labels : in an order that means something where there is one
    table : counts of the reference, and of the current rows
    is_quoted : whether labels are text, rather than numbers
    """

    labels: tuple[str, ...]
    table: np.ndarray
    is_quoted: bool = True

    @classmethod
    def of(cls, reference: Cells, current: Cells) -> Counts:
        """Of the cells that are present; numbers in their order, categories in that of their list, text by letters."""
        sides = reference.labelled(), current.labelled()
        seen = {label for side in sides for label in side.counts}
        if all(side.sort == NUMBERS for side in (reference, current)):
            labels = sorted(seen, key=_as_number)
        elif any(side.is_listed for side in sides):
            labels = [
                label for label in dict.fromkeys(label for side in sides for label in side.labels) if label in seen
            ]
        else:
            labels = sorted(seen)
        table = np.array([[side.counts.get(label, 0) for label in labels] for side in sides], dtype=np.int64)
        return cls(tuple(labels), table.reshape(2, -1), any(side.sort != NUMBERS for side in (reference, current)))

    @cached_property
    def rows(self) -> tuple[int, int]:
        reference, current = self.table.sum(axis=1)
        return int(reference), int(current)

    @cached_property
    def shares(self) -> np.ndarray:
        """Shares of present cells, (2, k)."""
        return np.asarray(self.table / np.maximum(self.table.sum(axis=1, keepdims=True), 1))

    @cached_property
    def distance(self) -> float:
        return total_variation(*self.table)

    @cached_property
    def p_value(self) -> float:
        return chi_square_p(*self.table)

    def word(self, place: int) -> str:
        """A label as it is shown."""
        return quoted(self.labels[place]) if self.is_quoted else self.labels[place]

    def p_of(self, place: int) -> float:
        """The p-value of the share of one category."""
        found = self.table[:, place]
        return p_of_share(int(found[1]), int(found.sum()), self.rows[1], sum(self.rows))

    def rearranged(self, order: np.ndarray) -> Counts:
        """With the reference's counts of other categories: category i gets those of category order[i]."""
        return replace(self, table=np.array([self.table[0][order], self.table[1]]))

    def largest(self) -> list[str]:
        """The shares that changed most, in words."""
        change = np.abs(self.shares[1] - self.shares[0])
        order = np.argsort(-change, kind="stable")[:SHOWN]
        kept = [place for place in order if change[place] >= change[order[0]] / 2 and self.table[:, place].any()]
        if len(self.labels) == 2:
            kept = kept[:1]  # the other says the same
        return [f"{self.word(place)} went {from_to(*self.shares[:, place])}" for place in kept]


def _as_number(label: str) -> float:
    return {"False": 0.0, "True": 1.0}[label] if label in ("False", "True") else float(label)
