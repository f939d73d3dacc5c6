"""Importances as JSON: explanations as in files of their own, side by side; checked field by field on the way in."""

from __future__ import annotations

from typing import Any

from clarysage.errors import FormatError
from clarysage.explanation.importances import Importances, Traits
from clarysage.explanation.json_file import decode as decode_explanation
from clarysage.explanation.json_file import encode as encode_explanation

FORMAT = "clarysage importances"
VERSION = 1
ANSWERS = ("yes", "partly", "no")
ENTRY = {"measure", "traits", "explanation"}
TRAITS = {"approximates", "subdomain", "constant", "properties"}


def encode(found: Importances) -> dict[str, Any]:
    """Plain objects that JSON can hold."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "measures": [
            {"measure": name, "traits": _encoded(found.traits[name]), "explanation": encode_explanation(explanation)}
            for name, explanation in found.items()
        ],
        "left_out": dict(found.left_out),
    }


def decode(data: dict[str, Any], name: str) -> Importances:
    """Importances from plain objects, or an error that names the field."""
    _demand(
        data.get("version") == VERSION, name, "version", data.get("version"), f"{VERSION}, which this release reads"
    )
    entries: Any = data.get("measures")
    is_list = isinstance(entries, list) and len(entries) > 0
    _demand(is_list and all(map(_is_entry, entries)), name, "measures", entries, f"a list of {sorted(ENTRY)}")
    measures = [entry["measure"] for entry in entries]
    _demand(len(set(measures)) == len(measures), name, "measures", measures, "distinct names")
    left_out: Any = data.get("left_out")
    _demand(_is_texts(left_out), name, "left_out", left_out, "names of measures and reasons")
    explanations = {
        entry["measure"]: decode_explanation(entry["explanation"], f"{name}: {entry['measure']}") for entry in entries
    }
    players = {frozenset(one.feature_names) for one in explanations.values()}
    _demand(len(players) == 1, name, "measures", [sorted(one) for one in players], "explanations of the same features")
    traits = {entry["measure"]: _decoded(entry["traits"], f"{name}: {entry['measure']}") for entry in entries}
    return Importances(explanations, traits, left_out)


def _encoded(traits: Traits) -> dict[str, Any]:
    return {
        "approximates": traits.approximates,
        "subdomain": traits.subdomain,
        "constant": traits.constant,
        "properties": dict(traits.properties),
    }


def _decoded(data: Any, name: str) -> Traits:
    is_right = isinstance(data, dict) and set(data) == TRAITS
    _demand(is_right, name, "traits", data, f"a mapping of {sorted(TRAITS)}")
    for key in ("approximates", "subdomain", "constant"):
        _demand(data[key] is None or isinstance(data[key], str), name, key, data[key], "text or null")
    properties = data["properties"]
    is_right = _is_texts(properties) and all(answer in ANSWERS for answer in properties.values())
    _demand(is_right, name, "properties", properties, f"answers {', '.join(map(repr, ANSWERS))}")
    return Traits(**data)


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and set(entry) == ENTRY and isinstance(entry["measure"], str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _demand(holds: bool, name: str, key: str, got: Any, wanted: str) -> None:
    if not holds:
        raise FormatError(
            f"{name}: {key}", got=repr(got)[:120], wanted=wanted, hint="a file that Importances.save wrote"
        )
