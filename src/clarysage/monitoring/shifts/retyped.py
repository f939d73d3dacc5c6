"""A column whose cells are of another sort now, such as text in place of numbers."""

from __future__ import annotations

from clarysage.monitoring.shifts.combined import combined, missing_hint, missing_p
from clarysage.monitoring.shifts.reading import TEXT, Cells, reads_as_numbers
from clarysage.monitoring.shifts.shares import p_of_share
from clarysage.monitoring.shifts.wording import quoted
from clarysage.results.finding import Shift


def retyped_shift(name: str, reference: Cells, current: Cells) -> Shift:
    """No present cell of one table is like one of the other."""
    present = len(reference.present), len(current.present)
    missing = reference.missing / reference.rows, current.missing / current.rows
    p = p_of_share(present[1], present[1], present[1], sum(present))
    return Shift(
        column=name,
        kind="categories",
        distance=1 - min(missing),
        p_value=combined([p, *missing_p(reference, current)]),
        hints=(
            f"cells are {_sort(current)} now, and {_sort(reference)} in the reference",
            *missing_hint(reference, current),
        ),
        facts={"missing share": missing, "rows": (float(reference.rows), float(current.rows))},
    )


def _sort(cells: Cells) -> str:
    if cells.sort != TEXT:
        return "true or false" if cells.is_boolean else cells.sort
    example = quoted(max(cells.counts, key=lambda label: cells.counts[label]))
    return f"numbers written as text (such as {example})" if reads_as_numbers(cells) else f"text (such as {example})"
