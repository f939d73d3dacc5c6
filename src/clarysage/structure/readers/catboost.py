"""CatBoost: single precision, greater goes right, and one category against all others."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from clarysage.structure.base import Link, Representation, Structure, UnknownStructureError
from clarysage.structure.columnwise import numbers_of
from clarysage.structure.oblivious import Level, ObliviousTree, flatten_oblivious_trees
from clarysage.structure.trees import Tree, flatten_trees

EXPONENTS = ("Poisson", "Tweedie")  # losses whose prediction is the exponent of the sum of trees
LINKS: dict[str, Link] = {
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "Focal": "logistic",
    "MultiClass": "softmax",
}


def structure_of_catboost(model: Any, loss: str, *, is_classifier: bool) -> Structure:
    """The trees of a model, as its own export has them; probabilities where it is a classifier."""
    link = LINKS.get(loss) if is_classifier else "exponential" if loss in EXPONENTS else "identity"
    if link is None:
        raise UnknownStructureError(f"the loss {loss!r} is not taken apart")
    kept = exported(model)
    scale, bias = kept["scale_and_bias"]
    base = np.array(bias, dtype=np.float64)
    asked = _asked(kept.get("oblivious_trees", ()))
    splits = _Splits.of(kept["features_info"], asked)
    columns = int(model.n_features_in_)
    form: Representation
    if "oblivious_trees" in kept:
        trees = [_oblivious(tree, splits, scale, len(base)) for tree in kept["oblivious_trees"]]
        form = flatten_oblivious_trees(trees, base, columns, is_single=True)
    else:
        form = flatten_trees([_tree(tree, splits, scale) for tree in kept["trees"]], base, columns, is_single=True)
    if not splits.categorical:
        return Structure(form, link)
    places = {column: tuple(asked.get(place, {}).values()) for place, column in splits.categorical.items()}
    return Structure(form, link, CategoriesByModel(model, places))


@dataclass(frozen=True)
class CategoriesByModel:
    """A view of tables: numbers as they are, categories by the place of the one that a model tells from all others.

    CatBoost keeps hashes of categories. Which of them a cell has is seen from the leaf that its row falls into, so each
    new category is shown to the model once.

    Attributes
    ----------
    splits : for columns of categories the trees, and the levels of these, that ask for those with codes 0, 1, ...
    """

    model: Any
    splits: Mapping[int, Sequence[tuple[int, int]]]
    codes: dict[tuple[int, type, Any], float] = field(default_factory=dict)

    def __call__(self, table: Any) -> np.ndarray:
        is_frame = hasattr(table, "iloc")
        inner = np.zeros(table.shape)
        for column in range(table.shape[1]):
            cells = table.iloc[:, column] if is_frame else table[:, column]
            if column not in self.splits:
                inner[:, column] = numbers_of(cells) if is_frame else np.asarray(cells, dtype=np.float64)
            elif self.splits[column]:
                inner[:, column] = self._coded(table, column, [(column, type(cell), cell) for cell in cells.tolist()])
        return inner

    def _coded(self, table: Any, column: int, cells: list[tuple[int, type, Any]]) -> list[float]:
        new = {cell: row for row, cell in enumerate(cells) if cell not in self.codes}
        if new:
            rows = list(new.values())
            leaves = self._leaves(table.iloc[rows] if hasattr(table, "iloc") else table[rows])
            asked = [leaves[:, tree] >> level & 1 for tree, level in self.splits[column]]
            found = np.argmax([*asked, np.ones(len(rows), dtype=leaves.dtype)], axis=0)  # the last: none of them
            self.codes.update(zip(new, found.astype(np.float64).tolist(), strict=True))
        return [self.codes[cell] for cell in cells]

    def _leaves(self, rows: Any) -> np.ndarray:
        try:
            return np.asarray(self.model.calc_leaf_indexes(rows, thread_count=1))
        except Exception as error:
            raise UnknownStructureError("some categories are not such that CatBoost takes them") from error


@dataclass(frozen=True)
class _Splits:
    """What is known of the columns that splits are about: places in the table, ways of missing cells, codes."""

    numeric: Mapping[int, int]
    missing_left: Mapping[int, bool]
    categorical: Mapping[int, int]
    codes: Mapping[int, Mapping[int, int]]

    @classmethod
    def of(cls, info: Mapping[str, Any], asked: Mapping[int, Mapping[int, Any]]) -> _Splits:
        numeric, categorical = info.get("float_features", ()), info.get("categorical_features", ())
        return cls(
            {one["feature_index"]: one["flat_feature_index"] for one in numeric},
            {one["feature_index"]: one["nan_value_treatment"] != "AsTrue" for one in numeric},
            {one["feature_index"]: one["flat_feature_index"] for one in categorical},
            {place: {value: code for code, value in enumerate(values)} for place, values in asked.items()},
        )

    def level(self, split: Mapping[str, Any]) -> Level:
        kind = split["split_type"]
        if kind == "FloatFeature":
            place = split["float_feature_index"]
            return Level(self.numeric[place], float(np.nextafter(split["border"], np.inf)), self.missing_left[place])
        if kind == "OneHotFeature":
            place = split["cat_feature_index"]
            if place not in self.codes:
                raise UnknownStructureError("categories in trees that are not symmetric are not taken apart")
            return Level(self.categorical[place], category=self.codes[place][split["value"]])
        raise UnknownStructureError(f"target statistics of categories ({kind}) are not taken apart")


def exported(model: Any) -> dict[str, Any]:
    """A model as CatBoost writes it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except Exception as error:
            raise UnknownStructureError(f"CatBoost does not export it: {str(error).rpartition(': ')[2]}") from error
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept


def _oblivious(tree: Mapping[str, Any], splits: _Splits, scale: float, margins: int) -> ObliviousTree:
    """Split l of CatBoost's decides on bit l of the number of the leaf, so do levels here."""
    levels = tuple(splits.level(split) for split in tree.get("splits") or ())
    return ObliviousTree(levels, scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, margins))


def _asked(trees: Sequence[Mapping[str, Any]]) -> dict[int, dict[int, tuple[int, int]]]:
    """For columns of categories the values that are told from all others, and a tree and level that does so."""
    asked: dict[int, dict[int, tuple[int, int]]] = {}
    for number, tree in enumerate(trees):
        for level, split in enumerate(tree.get("splits") or ()):
            if split["split_type"] == "OneHotFeature":
                asked.setdefault(split["cat_feature_index"], {}).setdefault(split["value"], (number, level))
    return asked


def _tree(root: Mapping[str, Any], splits: _Splits, scale: float) -> Tree:
    nodes, children = [root], []
    for node in nodes:  # which grows
        is_leaf = "split" not in node
        children.append((-1, -1) if is_leaf else (len(nodes), len(nodes) + 1))
        nodes += [] if is_leaf else [node["left"], node["right"]]
    levels = [splits.level(node["split"]) if "split" in node else Level(0) for node in nodes]
    leaf = next(np.atleast_1d(node["value"]) for node in nodes if "value" in node)
    values = [np.atleast_1d(node["value"]) if "value" in node else np.zeros(len(leaf)) for node in nodes]
    left, right = np.array(children, dtype=np.int64).T
    return Tree(
        left=left,
        right=right,
        column=np.array([level.column for level in levels]),
        threshold=np.array([level.threshold for level in levels]),
        values=scale * np.array(values, dtype=np.float64),
        missing_left=np.array([level.missing_left for level in levels]),
    )


def split_columns(model: Any) -> list[tuple[int, ...]]:
    """Columns of each split of a model, one split a level where all nodes of a level decide alike.

    A split on a statistic of categories may be about several columns.
    """
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
