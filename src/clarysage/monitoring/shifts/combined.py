"""One p-value of several tests of a column, and of missing cells."""

from __future__ import annotations

from clarysage.monitoring.shifts.reading import Cells
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.wording import from_to, percent

CLEAR = 0.01  # a p-value that lets a hint speak


def combined(chances: list[float]) -> float:
    """Bonferroni: the smallest, times how many there are.

    Examples
    --------
    >>> combined([0.5, 0.01]), combined([])
    (0.02, 1.0)
    """
    return min(1.0, len(chances) * min(chances)) if chances else 1.0


def missing_p(reference: Cells, current: Cells) -> list[float]:
    """The p-value of the shares of missing cells, where there are any and not all are missing."""
    count, rows = reference.missing + current.missing, reference.rows + current.rows
    return [p_of_share(current.missing, count, current.rows, rows)] if 0 < count < rows else []


def missing_hint(reference: Cells, current: Cells) -> list[str]:
    """A word on missing cells whose share changed."""
    if min([1.0, *missing_p(reference, current)]) > CLEAR:
        return []
    if current.missing == current.rows:
        return [f"all cells are missing now, {percent(reference.missing / reference.rows)} in the reference"]
    return [f"missing cells went {from_to(reference.missing / reference.rows, current.missing / current.rows)}"]
