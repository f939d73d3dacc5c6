"""Importances as JSON: explanations as in files of their own, side by side; checked field by field on the way in."""

from __future__ import annotations

from typing import Any

from clarysage.results import json_file
from clarysage.results.importances import Importances, Traits
from clarysage.results.json_file import demand

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
            {"measure": name, "traits": _encoded(found.traits[name]), "explanation": json_file.encode(explanation)}
            for name, explanation in found.items()
        ],
        "left_out": dict(found.left_out),
    }


def decode(data: dict[str, Any], name: str = "data") -> Importances:
    """Importances from plain objects, or an error that names the field."""
    demand(data.get("version") == VERSION, name, "version", data, f"{VERSION}, which this release reads")
    entries: Any = data.get("measures")
    is_list = isinstance(entries, list) and len(entries) > 0
    demand(is_list and all(map(_is_entry, entries)), name, "measures", data, f"a list of {sorted(ENTRY)}")
    rooms = {entry["measure"]: f"{name}: {entry['measure']}" for entry in entries}
    demand(len(rooms) == len(entries), name, "measures", data, "distinct names")
    left_out: Any = data.get("left_out")
    demand(_is_texts(left_out), name, "left_out", data, "names of measures and reasons")
    explanations = {
        entry["measure"]: json_file.decode(entry["explanation"], rooms[entry["measure"]]) for entry in entries
    }
    players = {frozenset(one.feature_names) for one in explanations.values()}
    demand(len(players) == 1, name, "measures", data, "explanations of the same features")
    traits = {entry["measure"]: _decoded(entry, rooms[entry["measure"]]) for entry in entries}
    return Importances(explanations, traits, left_out)


def _encoded(traits: Traits) -> dict[str, Any]:
    return {
        "approximates": traits.approximates,
        "subdomain": traits.subdomain,
        "constant": traits.constant,
        "properties": dict(traits.properties),
    }


def _decoded(entry: dict[str, Any], name: str) -> Traits:
    traits = entry["traits"]
    demand(isinstance(traits, dict) and set(traits) == TRAITS, name, "traits", entry, f"a mapping of {sorted(TRAITS)}")
    for key in ("approximates", "subdomain", "constant"):
        demand(traits[key] is None or isinstance(traits[key], str), name, key, traits, "text or null")
    properties = traits["properties"]
    is_right = _is_texts(properties) and all(answer in ANSWERS for answer in properties.values())
    demand(is_right, name, "properties", traits, f"answers {', '.join(map(repr, ANSWERS))}")
    return Traits(**traits)


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and set(entry) == ENTRY and isinstance(entry["measure"], str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
