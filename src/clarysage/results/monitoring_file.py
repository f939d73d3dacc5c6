"""Monitoring as JSON: the comparison, and the shifts of the columns; checked field by field on the way in."""

from __future__ import annotations

from typing import Any

from clarysage.results import comparison_file, json_file
from clarysage.results.json_file import demand
from clarysage.results.monitoring import Monitoring
from clarysage.results.shift import Shift

FORMAT = "clarysage monitoring"
VERSION = 1
KINDS = ("numbers", "categories")


def encode(monitoring: Monitoring) -> dict[str, Any]:
    """Plain objects that JSON can hold."""
    from clarysage.results.monitoring_text import every

    return {
        "format": FORMAT,
        "version": VERSION,
        "flagged": monitoring.flagged,
        "sentences": monitoring.sentences(),
        "verdicts": [
            {"where": one.where, "feature": one.feature, "verdict": one.verdict, "share": one.share}
            for one in every(monitoring)
            if one.is_changed or one.is_shifted
        ],
        "shifts": [[_encoded(one) for one in columns] for columns in monitoring.shifts],
        "comparison": comparison_file.encode(monitoring.comparison),
        "notes": list(monitoring.notes),
        "left_out": dict(monitoring.left_out),
        "in_order": monitoring.is_in_order,
    }


def decode(data: dict[str, Any], name: str = "data") -> Monitoring:
    """Monitoring from plain objects, or an error that names the field."""
    demand(data.get("version") == VERSION, name, "version", data, f"{VERSION}, which this release reads")
    inside: Any = data.get("comparison")
    demand(isinstance(inside, dict), name, "comparison", data, "a comparison")
    comparison = comparison_file.decode(inside, f"{name}: comparison")
    rows: Any = data.get("shifts")
    is_list = isinstance(rows, list) and len(rows) == len(comparison.differences)
    demand(is_list and all(isinstance(row, list) for row in rows), name, "shifts", data, "a list a difference")
    shifts = tuple(tuple(_decoded(one, f"{name}: shifts") for one in row) for row in rows)
    left_out: Any = data.get("left_out", {})
    is_said = isinstance(left_out, dict) and all(isinstance(why, str) for why in left_out.values())
    demand(is_said, name, "left_out", data, "names of slices with the reason why they are left out")
    is_in_order: Any = data.get("in_order", True)
    demand(isinstance(is_in_order, bool), name, "in_order", data, "true or false")
    found = Monitoring(comparison, shifts, tuple(json_file.strings(data, "notes", name)), left_out, is_in_order)
    wanted = sorted(column for feature in found.feature_names for column in found.columns_of(feature))
    names = [sorted(one.column for one in row) for row in shifts]
    demand(all(row == wanted for row in names), name, "shifts", data, "one of each column")
    demand(data.get("flagged") == found.flagged, name, "flagged", data, "what comparison and shifts say")
    return found


def _encoded(shift: Shift) -> dict[str, Any]:
    return {
        "column": shift.column, "kind": shift.kind, "distance": shift.distance, "p_value": shift.p_value,
        "hints": list(shift.hints), "facts": {name: list(pair) for name, pair in shift.facts.items()},
    }  # fmt: skip


def _decoded(data: Any, name: str) -> Shift:
    demand(isinstance(data, dict), name, "column", data, "a shift")
    demand(isinstance(data.get("column"), str), name, "column", data, "text")
    demand(data.get("kind") in KINDS, name, "kind", data, " or ".join(map(repr, KINDS)))
    for key in ("distance", "p_value"):
        value = json_file.number_or_none(data, key, name)
        demand(value is not None and 0 <= value <= 1, name, key, data, "a number from 0 to 1")
    facts: Any = data.get("facts")
    demand(isinstance(facts, dict) and all(map(_is_pair, facts.values())), name, "facts", data, "pairs of numbers")
    hints = tuple(json_file.strings(data, "hints", name))
    pairs = {key: (float(before), float(after)) for key, (before, after) in facts.items()}
    return Shift(data["column"], data["kind"], float(data["distance"]), float(data["p_value"]), hints, pairs)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(
        isinstance(one, (int, float)) and not isinstance(one, bool) for one in value
    )  # fmt: skip
