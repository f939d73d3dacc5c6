"""Interactions as JSON: two explanations, the pairs, and what is left unexplained."""

from __future__ import annotations

from typing import Any

from clarysage.results import json_file
from clarysage.results.interactions import Interactions

FORMAT = "clarysage interactions"
VERSION = 1
SHARE = ("unexplained", "unexplained_error")


def encode(interactions: Interactions) -> dict[str, Any]:
    """Plain objects that JSON can hold."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "pairs": [list(pair) for pair in interactions.pairs],
        "interactions": json_file.encode(interactions.found),
        "sage": json_file.encode(interactions.sage),
        **{key: getattr(interactions, key) for key in SHARE},
    }


def decode(data: dict[str, Any], name: str = "data") -> Interactions:
    """Interactions from plain objects, or an error that names the field."""
    json_file.demand(data.get("version") == VERSION, name, "version", data, f"{VERSION}, which this release reads")
    found, sage = (json_file.decode(data.get(key), f"{name}: {key}") for key in ("interactions", "sage"))
    pairs = data.get("pairs")
    is_right = isinstance(pairs, list) and len(pairs) == len(found.values) and _are_pairs(pairs, sage.feature_names)
    json_file.demand(is_right, name, "pairs", data, "two names of features for each interaction")
    share, error = (json_file.number_or_none(data, key, name) for key in SHARE)
    return Interactions(tuple((one, other) for one, other in pairs or ()), found, sage, share, error)


def _are_pairs(pairs: list[Any], names: tuple[str, ...]) -> bool:
    """Whether these are different pairs of two different names."""
    is_each = all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, str) and one in names for one in pair)
        for pair in pairs
    )
    distinct = {frozenset(pair) for pair in pairs} if is_each else set()
    return len(distinct) == len(pairs) and all(len(pair) == 2 for pair in distinct)
