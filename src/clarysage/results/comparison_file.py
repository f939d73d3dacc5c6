"""A comparison as JSON: the explanations, and their differences from the first."""

from __future__ import annotations

from typing import Any

import numpy as np

from clarysage.inference.significance import ADJUSTMENTS
from clarysage.results import json_file
from clarysage.results.comparison import PARTS_OF_TARGET, Comparison, Difference
from clarysage.results.explanation import Explanation
from clarysage.results.json_file import demand

FORMAT = "clarysage comparison"
VERSION = 1
ABOUT = ("rows", "population")


def encode(comparison: Comparison) -> dict[str, Any]:
    """Plain objects that JSON can hold."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "names": list(comparison.names),
        "adjust": comparison.adjust,
        "level": comparison.level,
        "changed": comparison.changed,
        "differences": [
            {
                **{part: getattr(one.target, part).tolist() for part in PARTS_OF_TARGET},
                "p_adjusted": chances.tolist(),
                "is_paired": one.is_paired,
                "about": one.about,
            }
            for one, chances in zip(comparison.differences, np.atleast_2d(comparison.p_values()), strict=True)
        ],
        "explanations": [json_file.encode(one) for one in comparison.explanations],
        "notes": list(comparison.notes),
    }


def decode(data: dict[str, Any], name: str = "data") -> Comparison:
    """A comparison from plain objects, or an error that names the field."""
    demand(data.get("version") == VERSION, name, "version", data, f"{VERSION}, which this release reads")
    names = json_file.strings(data, "names", name)
    demand(len(names) >= 2 and len(set(names)) == len(names), name, "names", data, "two or more distinct names")
    found: Any = data.get("explanations")
    demand(isinstance(found, list) and len(found) == len(names), name, "explanations", data, "as many as names")
    explanations = [json_file.decode(one, f"{name}: {called}") for one, called in zip(found, names, strict=True)]
    alike = len({one.feature_names for one in explanations}) == 1
    demand(alike, name, "explanations", data, "explanations of the same features, in the same order")
    rows: Any = data.get("differences")
    demand(isinstance(rows, list) and len(rows) == len(names) - 1, name, "differences", data, "one less than names")
    level = json_file.number_or_none(data, "level", name)
    demand(level is not None and 0 < level < 1, name, "level", data, "a number between 0 and 1")
    adjust = data.get("adjust", "")
    demand(adjust is None or adjust in ADJUSTMENTS, name, "adjust", data, f"null or one of {ADJUSTMENTS}")
    differences = tuple(
        _difference(row, f"{name}: {called}", explanations[0], other)
        for row, called, other in zip(rows, names[1:], explanations[1:], strict=True)
    )
    notes = tuple(json_file.strings(data, "notes", name))
    comparison = Comparison(tuple(explanations), tuple(names), differences, adjust, float(level or 0.95), notes)
    demand(data.get("changed") == comparison.changed, name, "changed", data, "what the differences say")
    return comparison


def _difference(data: Any, name: str, reference: Explanation, other: Explanation) -> Difference:
    p = len(reference.feature_names)
    about: Any = data.get("about") if isinstance(data, dict) else None
    demand(about in ABOUT, name, "about", data, " or ".join(map(repr, ABOUT)))
    is_paired = data.get("is_paired")
    demand(isinstance(is_paired, bool), name, "is_paired", data, "true or false")
    target = json_file.target(data, name, p)
    after, before = (one.targets[about].values if about in one.targets else one.values for one in (other, reference))
    near = 1e-6 * max(float(np.abs(numbers).max()) for numbers in (after, before))
    is_difference = bool((np.abs(target.values - (after - before)) <= near).all())
    demand(is_difference, name, "values", data, "what the explanations differ by")
    return Difference(target, bool(is_paired), about)
