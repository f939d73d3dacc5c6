"""Remarks on a comparison: its own, and those of its explanations, each once."""

from __future__ import annotations

from collections.abc import Sequence

from clarysage.render.changes import Change
from clarysage.render.remarks import Remark, from_note, remarks_of_runs, warnings_first
from clarysage.results import Comparison

CHANGED = Remark(
    "What a feature contributes can change because of another column that changed, and a column that contributes "
    "little can change unnoticed.",
    "Look at the columns themselves before one is held to be at fault.",
)
UNCHANGED = Remark(
    "That no change is known does not say that there is none.",
    "The intervals of the differences tell how large a change may have been missed; more rows make them narrower.",
)


def comparison_remarks(comparison: Comparison, found: Sequence[Change], names: Sequence[str]) -> list[Remark]:
    """Warnings first."""
    own = CHANGED if any(one.is_changed.any() for one in found) else UNCHANGED
    return warnings_first([own, *map(from_note, comparison.notes), *remarks_of_runs(comparison.explanations, names)])
