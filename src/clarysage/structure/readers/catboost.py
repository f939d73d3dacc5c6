"""Structure of CatBoost models: cells in single precision, greater goes right, one-hot splits of categories."""

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

EXPONENTS = ("Poisson", "Tweedie", "LogLinQuantile")  # losses whose prediction is the exponential of the sum of trees
LINKS: dict[str, Link] = {
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "Focal": "logistic",
    "MultiClass": "softmax",
    "MultiLogloss": "positive",
    "MultiCrossEntropy": "positive",
}


def structure_of_catboost(model: Any, loss: str, *, is_classifier: bool) -> Structure:
    """Reads the trees of a model from its JSON export; a classifier predicts probabilities."""
    link = LINKS.get(loss) if is_classifier else "exponential" if loss in EXPONENTS else "identity"
    if link is None or loss == "RMSEWithUncertainty":  # whose second margin is a variance
        raise UnknownStructureError(f"the loss {loss!r} is not supported")
    export = exported(model)
    scale, bias = export["scale_and_bias"]
    base = np.array(bias, dtype=np.float64)
    one_hot = _one_hot_splits(export.get("oblivious_trees", ()))
    splits = _Splits.of(export["features_info"], one_hot)
    columns = int(model.n_features_in_)
    ensemble: Representation
    if "oblivious_trees" in export:
        trees = [_oblivious(tree, splits, scale, len(base)) for tree in export["oblivious_trees"]]
        ensemble = flatten_oblivious_trees(trees, base, columns, is_single=True)
    else:
        general = [_tree(tree, splits, scale) for tree in export["trees"]]
        ensemble = flatten_trees(general, base, columns, is_single=True)
    if not splits.categorical:
        return Structure(ensemble, link)
    levels = {column: tuple(one_hot.get(feature, {}).values()) for feature, column in splits.categorical.items()}
    return Structure(ensemble, link, CategoriesByModel(model, levels))


@dataclass(frozen=True)
class CategoriesByModel:
    """A view of tables: numbers unchanged, categories as the index of the one-hot split that singles them out.

    CatBoost stores only hashes of categories. The leaf that a row falls into tells which category it has, so each new
    category is shown to the model once.

    Attributes
    ----------
    splits : for each category column the (tree, level) that tests for the category with code 0, 1, ...
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
            is_category = [leaves[:, tree] >> level & 1 for tree, level in self.splits[column]]
            codes = np.argmax([*is_category, np.ones(len(rows), dtype=leaves.dtype)], axis=0)  # the last: none of them
            self.codes.update(zip(new, codes.astype(np.float64).tolist(), strict=True))
        return [self.codes[cell] for cell in cells]

    def _leaves(self, rows: Any) -> np.ndarray:
        try:
            return np.asarray(self.model.calc_leaf_indexes(rows, thread_count=1))
        except Exception as error:
            raise UnknownStructureError("CatBoost does not accept some of the categories") from error


@dataclass(frozen=True)
class _Splits:
    """Columns of splits by CatBoost's own numbers: index in the table, direction of missing cells, category codes."""

    numeric: Mapping[int, int]
    missing_left: Mapping[int, bool]
    categorical: Mapping[int, int]
    codes: Mapping[int, Mapping[int, int]]

    @classmethod
    def of(cls, info: Mapping[str, Any], one_hot: Mapping[int, Mapping[int, Any]]) -> _Splits:
        numeric, categorical = info.get("float_features", ()), info.get("categorical_features", ())
        return cls(
            {entry["feature_index"]: entry["flat_feature_index"] for entry in numeric},
            {entry["feature_index"]: entry["nan_value_treatment"] != "AsTrue" for entry in numeric},
            {entry["feature_index"]: entry["flat_feature_index"] for entry in categorical},
            {feature: {value: code for code, value in enumerate(values)} for feature, values in one_hot.items()},
        )

    def level(self, split: Mapping[str, Any]) -> Level:
        kind = split["split_type"]
        if kind == "FloatFeature":
            feature = split["float_feature_index"]
            threshold = float(np.nextafter(split["border"], np.inf))
            return Level(self.numeric[feature], threshold, self.missing_left[feature])
        if kind == "OneHotFeature":
            feature = split["cat_feature_index"]
            if feature not in self.codes:
                raise UnknownStructureError("categories in trees that are not symmetric are not supported")
            return Level(self.categorical[feature], category=self.codes[feature][split["value"]])
        raise UnknownStructureError(f"target statistics of categories ({kind}) are not supported")


def exported(model: Any) -> dict[str, Any]:
    """Returns the JSON export of a model."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
        except Exception as error:
            raise UnknownStructureError(f"CatBoost cannot export it: {str(error).rpartition(': ')[2]}") from error
        export: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return export


def _oblivious(tree: Mapping[str, Any], splits: _Splits, scale: float, margins: int) -> ObliviousTree:
    """Reads a symmetric tree, whose split l decides bit l of the leaf number, as level l does here."""
    levels = tuple(splits.level(split) for split in tree.get("splits") or ())
    return ObliviousTree(levels, scale * np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, margins))


def _one_hot_splits(trees: Sequence[Mapping[str, Any]]) -> dict[int, dict[int, tuple[int, int]]]:
    """Returns, for each category column, the values with a one-hot split, and a (tree, level) that has this split."""
    one_hot: dict[int, dict[int, tuple[int, int]]] = {}
    for number, tree in enumerate(trees):
        for level, split in enumerate(tree.get("splits") or ()):
            if split["split_type"] == "OneHotFeature":
                one_hot.setdefault(split["cat_feature_index"], {}).setdefault(split["value"], (number, level))
    return one_hot


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
    """Returns the columns of each split of a model; a level of a symmetric tree is entry split.

    A split on a target statistic may use several columns.
    """
    export = exported(model)
    info = export["features_info"]
    numeric = {entry["feature_index"]: entry["flat_feature_index"] for entry in info.get("float_features", ())}
    categories = {entry["feature_index"]: entry["flat_feature_index"] for entry in info.get("categorical_features", ())}
    statistics = _statistics(info, numeric, categories)
    columns: list[tuple[int, ...]] = []
    for split in _splits(export):
        kind = split["split_type"]
        if kind == "FloatFeature":
            columns.append((numeric[split["float_feature_index"]],))
        elif kind == "OneHotFeature":
            columns.append((categories[split["cat_feature_index"]],))
        elif kind == "OnlineCtr" and split["split_index"] in statistics:
            columns.append(statistics[split["split_index"]])
        else:
            raise UnknownStructureError(f"its splits of kind {kind} are not supported")
    return columns


def _splits(export: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for tree in export.get("oblivious_trees", ()):
        yield from tree.get("splits") or ()
    nodes = list(export.get("trees", ()))
    for node in nodes:  # which grows
        if "split" in node:
            yield node["split"]
            nodes += [node["left"], node["right"]]


def _statistics(
    info: Mapping[str, Any], numeric: Mapping[int, int], categories: Mapping[int, int]
) -> dict[int, tuple[int, ...]]:
    """Returns the columns of each split on a target statistic, by the number of the split.

    CatBoost numbers all splits in turn: thresholds of numbers, values of categories, thresholds of statistics.
    """
    number = sum(len(entry.get("borders") or ()) for entry in info.get("float_features", ()))
    number += sum(len(entry.get("values") or ()) for entry in info.get("categorical_features", ()))
    statistics = {}
    for entry in info.get("ctrs", ()):
        columns = {
            numeric[part["float_feature_index"]]
            if "float_feature_index" in part
            else categories[part["cat_feature_index"]]
            for part in entry["elements"]
        }
        for _ in entry["borders"]:
            statistics[number] = tuple(sorted(columns))
            number += 1
    return statistics
