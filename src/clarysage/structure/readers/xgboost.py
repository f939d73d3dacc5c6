"""Structure of XGBoost models: single precision, strictly less goes left, categories in a set go right."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from clarysage.structure.base import SINGLE_ROUNDING, Link, Structure, UnknownStructureError
from clarysage.structure.columnwise import CategoryCodes
from clarysage.structure.trees import Tree, bit_set, flatten_trees

LINKS: dict[str, Link] = {
    **dict.fromkeys(
        (
            "reg:squarederror",
            "reg:absoluteerror",
            "reg:pseudohubererror",
            "reg:squaredlogerror",
            "reg:quantileerror",
            "rank:pairwise",
            "rank:ndcg",
            "rank:map",
        ),
        "identity",
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), "exponential"),
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "positive"),
    "multi:softprob": "softmax",
}


def structure_of_booster(booster: Any, rounds: int | None, *, both: bool) -> Structure:
    """Reads the trees of the first rounds; ``both`` asks for a probability of each of two classes."""
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, booster_kind = learner["objective"]["name"], learner["gradient_booster"]["name"]
    link = LINKS.get(objective)
    if link is None or booster_kind not in ("gbtree", "dart"):
        raise UnknownStructureError(f"the booster {booster_kind!r} with the objective {objective!r} is not supported")
    gradient = learner["gradient_booster"]
    model = gradient["gbtree"]["model"] if booster_kind == "dart" else gradient["model"]
    ends = model["iteration_indptr"]
    count = ends[-1] if rounds is None else ends[min(rounds, len(ends) - 1)]
    weights = np.array(gradient.get("weight_drop", np.ones(len(model["trees"]))), dtype=np.float32)
    param = learner["learner_model_param"]
    margins = max(int(param["num_class"]), int(param["num_target"]), 1)
    trees = [_tree(tree, weights[i], model["tree_info"][i]) for i, tree in enumerate(model["trees"][:count])]
    base = np.broadcast_to(_base(param["base_score"], link), (margins,))
    ensemble = flatten_trees(trees, base, int(param["num_feature"]), is_single=True)
    is_categorical = bool((ensemble.split_rules.count >= 0).any()) or "c" in learner["feature_types"]
    view = CategoryCodes(_categories(model.get("cats"))) if is_categorical else None
    link = "logistic" if both and link == "positive" else link
    return Structure(ensemble, link, view, rounding=SINGLE_ROUNDING, absent=np.nan)


def _tree(tree: dict[str, Any], weight: np.float32, output: int) -> Tree:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise UnknownStructureError("trees with several outputs in a leaf are not supported")
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    sizes, starts = tree["categories_sizes"], tree["categories_segments"]
    sets = {
        node: bit_set(tree["categories"][start : start + size])
        for node, start, size in zip(tree["categories_nodes"], starts, sizes, strict=True)
    }
    return Tree(
        left=np.array(tree["left_children"]),
        right=np.array(tree["right_children"]),
        column=np.array(tree["split_indices"]),
        threshold=conditions.astype(np.float64),
        values=(conditions * weight).astype(np.float64)[:, None],
        missing_left=np.array(tree["default_left"], dtype=bool),
        output=output,
        categories=sets,
        in_left=False,
    )


def _base(text: str, link: Link) -> np.ndarray:
    """Returns the constant of the margins; XGBoost stores the prediction that it corresponds to."""
    score = np.float64(np.float32(json.loads(text)))
    if link == "positive":
        return np.asarray(np.log(score) - np.log1p(-score))
    return np.asarray(np.log(score)) if link == "exponential" else np.asarray(score)


def _categories(stored: Any) -> dict[int, list[Any]]:
    """Returns the categories at training that the model stores, by column."""
    categories = {}
    for column, encoding in enumerate((stored or {}).get("enc", ())):
        if not encoding["values"]:
            continue
        if "offsets" in encoding:
            raw = np.array(encoding["values"], dtype=np.int64).astype(np.uint8).tobytes()
            ends = encoding["offsets"]
            categories[column] = [raw[start:end].decode() for start, end in pairwise(ends)]
        else:
            categories[column] = list(encoding["values"])
    return categories
