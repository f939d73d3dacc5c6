"""The columns that CatBoost's splits are about; those on statistics of categories may be about several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clarysage.structure.form import UnknownStructureError
from clarysage.structure.readers.catboost import exported


def split_columns(model: Any) -> list[tuple[int, ...]]:
    """Columns of each split of a model, one split a level where all nodes of a level decide alike."""
    kept = exported(model)
    info = kept["features_info"]
    numeric = {one["feature_index"]: one["flat_feature_index"] for one in info.get("float_features", ())}
    categories = {one["feature_index"]: one["flat_feature_index"] for one in info.get("categorical_features", ())}
    statistics = _statistics(info, numeric, categories)
    found: list[tuple[int, ...]] = []
    for split in _splits(kept):
        kind = split["split_type"]
        if kind == "FloatFeature":
            found.append((numeric[split["float_feature_index"]],))
        elif kind == "OneHotFeature":
            found.append((categories[split["cat_feature_index"]],))
        elif kind == "OnlineCtr" and split["split_index"] in statistics:
            found.append(statistics[split["split_index"]])
        else:
            raise UnknownStructureError(f"its splits of kind {kind} are not understood")
    return found


def _splits(kept: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for tree in kept.get("oblivious_trees", ()):
        yield from tree.get("splits") or ()
    nodes = list(kept.get("trees", ()))
    for node in nodes:  # which grows
        if "split" in node:
            yield node["split"]
            nodes += [node["left"], node["right"]]


def _statistics(
    info: Mapping[str, Any], numeric: Mapping[int, int], categories: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """Columns of statistics of categories by the number of the split.

    Splits are numbered through: thresholds of numbers, values of categories, thresholds of statistics.
    """
    number = sum(len(one.get("borders") or ()) for one in info.get("float_features", ()))
    number += sum(len(one.get("values") or ()) for one in info.get("categorical_features", ()))
    found = {}
    for one in info.get("ctrs", ()):
        columns = {
            numeric[part["float_feature_index"]]
            if "float_feature_index" in part
            else categories[part["cat_feature_index"]]
            for part in one["elements"]
        }
        for _ in one["borders"]:
            found[number] = tuple(sorted(columns))
            number += 1
    return found
