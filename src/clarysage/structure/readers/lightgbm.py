"""Structure of LightGBM models: double precision, less or equal goes left, three treatments of missing cells."""

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
    **dict.fromkeys(("binary", "cross_entropy", "cross_entropy_lambda"), "positive"),
    "multiclass": "softmax",
}


def structure_of_booster(booster: Any, *, both: bool) -> Structure:
    """Reads the trees up to the best round; ``both`` asks for a probability of each of two classes."""
    header, *blocks = re.split(r"^Tree=\d+\n", booster.model_to_string(), flags=re.MULTILINE)
    fields = dict(line.split("=", 1) for line in header.splitlines() if "=" in line)
    objective, *options = fields.get("objective", "custom").split()
    link = LINKS.get(objective)
    if link is None or "sqrt" in options:
        raise UnknownStructureError(f"the objective {' '.join([objective, *options])!r} is not supported")
    steepness = next((float(option.split(":")[1]) for option in options if option.startswith("sigmoid:")), 1.0)
    margins = int(fields["num_tree_per_iteration"])
    scale = steepness / (len(blocks) // margins if "average_output" in header.splitlines() else 1)
    trees = [_tree(block, i % margins, scale) for i, block in enumerate(blocks)]
    ensemble = flatten_trees(trees, np.zeros(margins), int(fields["max_feature_idx"]) + 1)
    trained = booster.pandas_categorical
    view = CategoriesInOrder(tuple(trained or ())) if trained or (ensemble.split_rules.count >= 0).any() else None
    return Structure(ensemble, "logistic" if both and link == "positive" else link, view)


class CategoriesInOrder:
    """A view of frames whose category columns are, in this order, those of training."""

    def __init__(self, trained: tuple[Any, ...]):
        self.trained = trained

    def __call__(self, table: Any) -> np.ndarray:
        kinds = getattr(table, "dtypes", ())
        columns = [j for j, kind in enumerate(kinds) if kind == "category"] if hasattr(table, "iloc") else []
        return CategoryCodes(dict(zip(columns, self.trained, strict=False)))(table)


def _tree(block: str, output: int, scale: float) -> Tree:
    fields = dict(line.split("=", 1) for line in block.split("\n\n")[0].splitlines() if "=" in line)
    if int(fields.get("is_linear", "0")):
        raise UnknownStructureError("trees with linear models in their leaves are not supported")
    values, inner = _numbers(fields, "leaf_value", np.float64) * scale, int(fields["num_leaves"]) - 1
    kind = _numbers(fields, "decision_type", np.int64)
    threshold = _numbers(fields, "threshold", np.float64)
    ends, words = _numbers(fields, "cat_boundaries", np.int64), _numbers(fields, "cat_threshold", np.uint32)
    sets = {
        node: words[ends[int(threshold[node])] : ends[int(threshold[node]) + 1]] for node in np.flatnonzero(kind & 1)
    }
    is_set = np.concatenate([kind & 1, np.zeros(inner + 1, dtype=np.int64)]).astype(bool)
    leaves = np.full(inner + 1, -1)
    left, right = (_children(fields, name, inner) for name in ("left_child", "right_child"))
    rule = np.concatenate([RULES[(kind >> 2) & 3], np.zeros(inner + 1, dtype=np.uint8)])
    return Tree(
        left=np.concatenate([left, leaves]),
        right=np.concatenate([right, leaves]),
        column=np.concatenate([_numbers(fields, "split_feature", np.int64), leaves]),
        threshold=np.concatenate([_less_than(threshold), np.zeros(inner + 1)]),
        values=np.concatenate([np.zeros(inner), values])[:, None],
        missing_left=np.concatenate([kind & 2, np.zeros(inner + 1, dtype=np.int64)]).astype(bool) & ~is_set,
        output=output,
        rule=np.where(is_set, np.uint8(MISSING), rule),
        categories={int(node): words for node, words in sets.items()},
    )


def _less_than(threshold: np.ndarray) -> np.ndarray:
    """Returns bounds such that cell < bound exactly where cell <= threshold.

    LightGBM treats cells that are nearly zero as zero, so no bound may lie between these.
    """
    bound = np.nextafter(threshold, np.inf)
    bound = np.where((bound > -NEARLY_ZERO) & (bound <= 0), -NEARLY_ZERO, bound)
    return np.where((bound > 0) & (bound <= NEARLY_ZERO), np.nextafter(NEARLY_ZERO, np.inf), bound)


def _children(fields: dict[str, str], name: str, inner: int) -> np.ndarray:
    """Returns child numbers: LightGBM writes leaf k as ~k; here leaves follow the internal nodes."""
    children = _numbers(fields, name, np.int64)
    return np.where(children < 0, inner + ~children, children)


def _numbers(fields: dict[str, str], name: str, dtype: Any) -> np.ndarray:
    return np.array(fields.get(name, "").split(), dtype=dtype)
