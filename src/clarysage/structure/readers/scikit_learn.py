"""Structure of scikit-learn's trees: less or equal goes left, cells in single (histograms: double) precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from clarysage.structure.base import Link, Structure, UnknownStructureError
from clarysage.structure.trees import Tree, flatten_trees


def from_tree(model: Any) -> Structure:
    """Reads a DecisionTree or ExtraTree."""
    return _averaged([model], model.n_features_in_)


def from_forest(model: Any) -> Structure:
    """Reads a RandomForest or ExtraTrees, which average the predictions of their trees."""
    return _averaged(model.estimators_, model.n_features_in_)


def from_gradient_boosting(model: Any) -> Structure:
    """Reads GradientBoosting with a constant initial prediction."""
    start = model.init_
    if start != "zero" and type(start).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise UnknownStructureError(f"boosting with {type(start).__name__} as its initial model is not supported")
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    steepness = 2.0 if model.loss == "exponential" else 1.0
    trees = [
        _tree(estimator.tree_, estimator.tree_.value[:, :, 0] * model.learning_rate * steepness, output)
        for stage in model.estimators_
        for output, estimator in enumerate(stage)
    ]
    start_margins = np.asarray(base, dtype=np.float64) * steepness
    ensemble = flatten_trees(trees, start_margins, model.n_features_in_, is_single=True)
    link: Link = "identity" if not hasattr(model, "classes_") else "logistic" if ensemble.n_margins == 1 else "softmax"
    return Structure(ensemble, link)


def from_histograms(model: Any) -> Structure:
    """Reads HistGradientBoosting."""
    name = type(model._loss).__name__
    link = {
        "HalfPoissonLoss": "exponential",
        "HalfGammaLoss": "exponential",
        "HalfBinomialLoss": "logistic",
        "HalfMultinomialLoss": "softmax",
    }.get(name, "identity")
    trees = [
        _histogram_tree(predictor, output) for stage in model._predictors for output, predictor in enumerate(stage)
    ]
    start_margins = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    ensemble = flatten_trees(trees, start_margins, model.n_features_in_)
    before = getattr(model, "_preprocessor", None)
    if before is None:
        return Structure(ensemble, link)  # type: ignore[arg-type]
    return Structure(ensemble, link, before.transform, _columns_of_histograms(model))  # type: ignore[arg-type]


def splits_of_histograms(model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Returns the column and the gain of each split of HistGradientBoosting."""
    nodes = [predictor.nodes for stage in model._predictors for predictor in stage]
    inner = np.concatenate([of_tree[of_tree["is_leaf"] == 0] for of_tree in nodes])
    return _columns_of_histograms(model)[inner["feature_idx"]], inner["gain"]


def _columns_of_histograms(model: Any) -> np.ndarray:
    """Returns the columns of a table in the order of HistGradientBoosting: categories first."""
    if getattr(model, "_preprocessor", None) is None:
        return np.arange(model.n_features_in_)
    is_category = np.asarray(model.is_categorical_)
    return np.concatenate([np.flatnonzero(is_category), np.flatnonzero(~is_category)])


def _averaged(estimators: Sequence[Any], columns: int) -> Structure:
    share, trees = 1.0 / len(estimators), []
    for estimator in estimators:
        values = estimator.tree_.value  # (nodes, outputs, classes)
        if hasattr(estimator, "classes_"):
            if values.shape[1] > 1:
                raise UnknownStructureError("classifiers with several responses are not supported")
            values = values[:, 0] / values[:, 0].sum(axis=1, keepdims=True)
        else:
            values = values[:, :, 0]
        trees.append(_tree(estimator.tree_, values * share))
    return Structure(flatten_trees(trees, np.zeros(trees[0].values.shape[1]), columns, is_single=True))


def _tree(tree: Any, values: np.ndarray, output: int = 0) -> Tree:
    return Tree(
        left=tree.children_left,
        right=tree.children_right,
        column=tree.feature,
        threshold=np.nextafter(tree.threshold, np.inf),
        values=np.asarray(values, dtype=np.float64),
        missing_left=np.asarray(getattr(tree, "missing_go_to_left", np.zeros(len(tree.feature))), dtype=bool),
        output=output,
    )


def _histogram_tree(predictor: Any, output: int) -> Tree:
    nodes = predictor.nodes
    is_leaf, is_set = nodes["is_leaf"].astype(bool), nodes["is_categorical"].astype(bool)
    left, right = (np.where(is_leaf, -1, nodes[side].astype(np.int64)) for side in ("left", "right"))
    missing_left = nodes["missing_go_to_left"].astype(bool)
    is_gap = ~is_leaf & ~is_set & np.isposinf(nodes["num_threshold"])  # all but missing cells go left, even infinity:
    sets = {int(node): np.zeros(0, dtype=np.uint32) for node in np.flatnonzero(is_gap)}  # no cell is in the empty set
    for node in np.flatnonzero(is_set & ~is_leaf):
        sets[int(node)] = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
    return Tree(
        left=np.where(is_gap, right, left),
        right=np.where(is_gap, left, right),
        column=nodes["feature_idx"].astype(np.int64),
        threshold=np.nextafter(nodes["num_threshold"], np.inf),
        values=nodes["value"][:, None].astype(np.float64),
        missing_left=missing_left ^ is_gap,
        output=output,
        categories=sets,
    )


READERS: dict[str, Callable[[Any], Structure]] = {
    family + kind: reader
    for kind in ("Regressor", "Classifier")
    for family, reader in {
        "DecisionTree": from_tree,
        "ExtraTree": from_tree,
        "RandomForest": from_forest,
        "ExtraTrees": from_forest,
        "GradientBoosting": from_gradient_boosting,
        "HistGradientBoosting": from_histograms,
    }.items()
}
