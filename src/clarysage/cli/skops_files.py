"""Loads skops files safely: checks the types that they contain, and the node tables of trees.

The list of allowed types is ours, never that of the file. skops checks the type of a tree, but not its node table, and
scikit-learn follows the table without checks: a damaged or forged table would make it read outside the table's memory,
or loop forever. Therefore we check the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from clarysage.errors import FormatError

KERNELS = (
    "CompoundKernel",
    "ConstantKernel",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "Matern",
    "Product",
    "RBF",
    "RationalQuadratic",
    "Sum",
    "WhiteKernel",
)
LOSSES = (
    "AbsoluteError",
    "ExponentialLoss",
    "HalfBinomialLoss",
    "HalfGammaLoss",
    "HalfMultinomialLoss",
    "HalfPoissonLoss",
    "HalfSquaredError",
    "HalfTweedieLoss",
    "HalfTweedieLossIdentity",
    "HuberLoss",
    "PinballLoss",
)
LINKS = ("HalfLogitLink", "IdentityLink", "Interval", "LogLink", "LogitLink", "MultinomialLogit")

# Parts of ordinary scikit-learn models, in addition to the estimators that skops itself trusts. Each is a known class
# or function that contains numbers and settings; none runs code from a file. Only node tables of trees could still
# point outside their memory; ``check_trees`` checks them.
ALLOWED = frozenset(
    {
        "numpy.dtype",  # the type of the data an encoder or imputer was fitted on
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
        *(f"sklearn._loss.loss.{name}" for name in LOSSES),
        *(f"sklearn._loss._loss.Cy{name}" for name in LOSSES),
        *(f"sklearn._loss.link.{name}" for name in LINKS),
        *(f"sklearn.gaussian_process.kernels.{name}" for name in KERNELS),
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils.validation.check_array",  # with functools.partial: how histogram boosting reads categories
        "functools.partial",  # of allowed functions
    }
)


def load(skops: Any, path: Path, trusted: tuple[str, ...]) -> Any:
    """Loads the model if clarysage or the user trusts all types in the file; else creates no object at all."""
    untrusted = sorted(set(skops.get_untrusted_types(file=path)) - ALLOWED - set(trusted))
    if untrusted:
        shown = ", ".join(untrusted[:3]) + (", ..." if len(untrusted) > 3 else "")
        flags = " ".join(f"--trust {name}" for name in untrusted[:3])
        raise FormatError(
            "MODEL",
            got=f"{path.name}, which contains types that clarysage does not trust: {shown}",
            wanted="a scikit-learn model",
            hint=f"{flags} if you trust them",
        )
    model = skops.load(path, trusted=sorted(ALLOWED.union(trusted)))
    check_trees(model, path.name)
    return model


CODE = (type, FunctionType, ModuleType)  # contain no trees, but refer to everything


def check_trees(model: Any, name: str) -> None:
    """Raises an error if a tree in the model has a node whose children or feature do not exist."""
    for part in _parts(model, set()):
        is_sound = CHECKS.get(type(part).__name__)
        if is_sound is not None and not is_sound(part):
            raise FormatError(
                "MODEL", got=f"{name}, with a {type(part).__name__} whose nodes point outside it", wanted="sound trees"
            )


def _parts(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yields the object and all objects that it contains, each once."""
    if id(value) in seen or isinstance(value, CODE):
        return
    seen.add(id(value))
    yield value
    members: Any = getattr(value, "__dict__", {}).values()
    if isinstance(value, dict):
        members = value.values()
    elif isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype == object):
        members = np.ravel(value).tolist() if isinstance(value, np.ndarray) else value
    for member in members:
        yield from _parts(member, seen)


def _is_sound_decision_tree(model: Any) -> bool:
    tree = getattr(model, "tree_", None)
    if tree is None:  # not fitted
        return True
    if not 0 < tree.node_count <= tree.capacity or tree.n_features != model.n_features_in_:
        return False
    inner = tree.children_left != -1
    return _children_follow(tree.children_left, tree.children_right, inner) and _within(
        tree.feature[inner], tree.n_features
    )


def _is_sound_boosting(model: Any) -> bool:
    """Checks that all trees have the ensemble's number of features, since scikit-learn does not check each tree."""
    trees = np.ravel(getattr(model, "estimators_", ())).tolist()
    return all(tree.n_features_in_ == model.n_features_in_ for tree in trees)


def _is_sound_histogram_boosting(model: Any) -> bool:
    trees = [tree for trees in getattr(model, "_predictors", ()) for tree in trees]
    return all(_is_sound_predictor(tree, model) for tree in trees)


def _is_sound_predictor(tree: Any, model: Any) -> bool:
    nodes, inner = tree.nodes, tree.nodes["is_leaf"] == 0
    by_category = inner & (nodes["is_categorical"] != 0)
    knows_categories = not by_category.any() or len(model._bin_mapper.is_categorical_) == model.n_features_in_
    return (
        len(nodes) > 0
        and _children_follow(nodes["left"], nodes["right"], inner)
        and _within(nodes["feature_idx"][inner], model.n_features_in_)
        and _within(nodes["bitset_idx"][by_category], len(tree.raw_left_cat_bitsets))
        and knows_categories
    )


def _children_follow(left: np.ndarray, right: np.ndarray, inner: np.ndarray) -> bool:
    """Checks that the children of every inner node come after it, inside the table: no cycles, no outside reads."""
    nodes = np.flatnonzero(inner)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)  # (2, inner nodes)
    return bool((children > nodes).all() and (children < len(inner)).all())


def _within(indices: np.ndarray, size: int) -> bool:
    return bool(((indices.astype(np.int64) >= 0) & (indices.astype(np.int64) < size)).all())


# class name of an estimator -> function that checks its trees
CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        _is_sound_decision_tree,
    ),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _is_sound_boosting),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _is_sound_histogram_boosting),
}
