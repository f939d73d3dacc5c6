"""LightGBM: double precision, less or equal, three ways with missing cells, categories of a set go left."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from clarysage.structure.base import Link, Structure, UnknownStructureError
from clarysage.structure.columnwise import CategoryCodes
from clarysage.structure.trees import MISSING, MISSING_IS_ZERO, NEARLY_ZERO, ZERO_IS_MISSING, Tree, flatten_trees

RULES = np.array([MISSING_IS_ZERO, ZERO_IS_MISSING, MISSING, MISSING], dtype=np.uint8)  # by missing_type
LINKS: dict[str, Link] = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "lambdarank", "rank_xendcg", "custom"),
        "identity",
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "exponential"),
    **dict.fromkeys(("binary", "cross_entropy"), "positive"),
    "multiclass": "softmax",
}


def structure_of_booster(booster: Any, *, both: bool) -> Structure:
    """The trees up to the best round; ``both``: with a probability for each of two classes."""
    header, *blocks = re.split(r"^Tree=\d+\n", booster.model_to_string(), flags=re.MULTILINE)
    kept = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)
    objective, *options = kept.get("objective", "custom").split()
    link = LINKS.get(objective)
    if link is None or "sqrt" in options:
        raise UnknownStructureError(f"the objective {' '.join([objective, *options])!r} is not taken apart")
    steepness = next((float(one.split(":")[1]) for one in options if one.startswith("sigmoid:")), 1.0)
    margins = int(kept["num_tree_per_iteration"])
    scale = steepness / (len(blocks) // margins if "average_output" in header.splitlines() else 1)
    trees = [_tree(block, place % margins, scale) for place, block in enumerate(blocks)]
    form = flatten_trees(trees, np.zeros(margins), int(kept["max_feature_idx"]) + 1)
    known = booster.pandas_categorical
    view = CategoriesInOrder(tuple(known or ())) if known or (form.split_rules.count >= 0).any() else None
    return Structure(form, "logistic" if both and link == "positive" else link, view)


class CategoriesInOrder:
    """A view of frames whose columns of categories are, in this order, those of training."""

    def __init__(self, known: tuple[Any, ...]):
        self.known = known

    def __call__(self, table: Any) -> np.ndarray:
        kinds = getattr(table, "dtypes", ())
        places = [place for place, kind in enumerate(kinds) if kind == "category"] if hasattr(table, "iloc") else []
        return CategoryCodes(dict(zip(places, self.known, strict=False)))(table)


def _tree(block: str, output: int, scale: float) -> Tree:
    kept = dict(line.split("=", 1) for line in block.split("\n\n")[0].splitlines() if "=" in line)
    if int(kept.get("is_linear", "0")):
        raise UnknownStructureError("trees with linear models in their leaves are not taken apart")
    values, inner = _numbers(kept, "leaf_value", np.float64) * scale, int(kept["num_leaves"]) - 1
    kind = _numbers(kept, "decision_type", np.int64)
    threshold = _numbers(kept, "threshold", np.float64)
    ends, words = _numbers(kept, "cat_boundaries", np.int64), _numbers(kept, "cat_threshold", np.uint32)
    sets = {
        node: words[ends[int(threshold[node])] : ends[int(threshold[node]) + 1]] for node in np.flatnonzero(kind & 1)
    }
    is_set = np.concatenate([kind & 1, np.zeros(inner + 1, dtype=np.int64)]).astype(bool)
    leaves = np.full(inner + 1, -1)
    left, right = (_children(kept, name, inner) for name in ("left_child", "right_child"))
    rule = np.concatenate([RULES[(kind >> 2) & 3], np.zeros(inner + 1, dtype=np.uint8)])
    return Tree(
        left=np.concatenate([left, leaves]),
        right=np.concatenate([right, leaves]),
        column=np.concatenate([_numbers(kept, "split_feature", np.int64), leaves]),
        threshold=np.concatenate([_less_than(threshold), np.zeros(inner + 1)]),
        values=np.concatenate([np.zeros(inner), values])[:, None],
        missing_left=np.concatenate([kind & 2, np.zeros(inner + 1, dtype=np.int64)]).astype(bool) & ~is_set,
        output=output,
        rule=np.where(is_set, np.uint8(MISSING), rule),
        categories={int(node): found for node, found in sets.items()},
    )


def _less_than(threshold: np.ndarray) -> np.ndarray:
    """Numbers than which cells are less where they are less than or equal to thresholds.

    LightGBM takes a cell that is nearly zero for zero, so that no threshold parts these.
    """
    bound = np.nextafter(threshold, np.inf)
    bound = np.where((bound > -NEARLY_ZERO) & (bound <= 0), -NEARLY_ZERO, bound)
    return np.where((bound > 0) & (bound <= NEARLY_ZERO), np.nextafter(NEARLY_ZERO, np.inf), bound)


def _children(kept: dict[str, str], name: str, inner: int) -> np.ndarray:
    """Numbers of children: LightGBM writes leaf k as ~k, here leaves follow the internal nodes."""
    found = _numbers(kept, name, np.int64)
    return np.where(found < 0, inner + ~found, found)


def _numbers(kept: dict[str, str], name: str, dtype: Any) -> np.ndarray:
    return np.array(kept.get(name, "").split(), dtype=dtype)
