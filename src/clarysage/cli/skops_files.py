"""skops files: which types they may hold, and that trees in them point only where they may.

The list of types is ours, never what the file asks for. skops vouches for the type of a tree, not for what its table
holds, and scikit-learn follows that table without looking: a damaged or forged one leads it out of its memory, or round
in circles. So we look at that.
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

# Insides of ordinary scikit-learn models beside the estimators that skops itself trusts. Each is a known class or
# function that holds numbers and settings; none runs code that a file could bring along. Node tables of trees are the
# one thing that could still point outside its memory, and ``check_trees`` looks at them.
ALLOWED = frozenset(
    {
        "numpy.dtype",  # of what an encoder or imputer was fitted on
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
        "functools.partial",  # of functions that are allowed themselves
    }
)


def load(skops: Any, path: Path, trusted: tuple[str, ...]) -> Any:
    """The model in a file all of whose types are allowed, by us or by the user; else nothing of it is made."""
    found = skops.get_untrusted_types(file=path)
    strange = sorted(set(found) - ALLOWED - set(trusted))
    if strange:
        shown = ", ".join(strange[:3]) + (", ..." if len(strange) > 3 else "")
        flags = " ".join(f"--trust {name}" for name in strange[:3])
        raise FormatError(
            "MODEL",
            got=f"{path.name}, which holds types that clarysage does not vouch for: {shown}",
            wanted="a scikit-learn model",
            hint=f"{flags} if you vouch for them",
        )
    model = skops.load(path, trusted=sorted(ALLOWED.union(trusted)))
    check_trees(model, path.name)
    return model


CODE = (type, FunctionType, ModuleType)  # hold no trees, but lead everywhere


def check_trees(model: Any, name: str) -> None:
    """Raise if a tree in the model has a node whose children or feature are not there."""
    for part in _parts(model, set()):
        is_sound = CHECKS.get(type(part).__name__)
        if is_sound is not None and not is_sound(part):
            raise FormatError(
                "MODEL", got=f"{name}, with a {type(part).__name__} whose nodes point outside it", wanted="sound trees"
            )


def _parts(thing: Any, seen: set[int]) -> Iterator[Any]:
    """The object and all that it holds, each once."""
    if id(thing) in seen or isinstance(thing, CODE):
        return
    seen.add(id(thing))
    yield thing
    held: Any = getattr(thing, "__dict__", {}).values()
    if isinstance(thing, dict):
        held = thing.values()
    elif isinstance(thing, (list, tuple)) or (isinstance(thing, np.ndarray) and thing.dtype == object):
        held = np.ravel(thing).tolist() if isinstance(thing, np.ndarray) else thing
    for part in held:
        yield from _parts(part, seen)


def _is_sound_decision_tree(model: Any) -> bool:
    tree = getattr(model, "tree_", None)
    if tree is None:  # not fitted
        return True
    if not 0 < tree.node_count <= tree.capacity or tree.n_features != model.n_features_in_:
        return False
    inner = tree.children_left != -1
    return _lead_on(tree.children_left, tree.children_right, inner) and _within(tree.feature[inner], tree.n_features)


def _is_sound_boosting(model: Any) -> bool:
    """The trees of gradient boosting are followed without asking for the width that each was fitted on."""
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
        and _lead_on(nodes["left"], nodes["right"], inner)
        and _within(nodes["feature_idx"][inner], model.n_features_in_)
        and _within(nodes["bitset_idx"][by_category], len(tree.raw_left_cat_bitsets))
        and knows_categories
    )


def _lead_on(left: np.ndarray, right: np.ndarray, inner: np.ndarray) -> bool:
    """Whether the children of every inner node come after it in the table, and within it: no circles, no ends."""
    places = np.flatnonzero(inner)
    children = np.stack([left[inner], right[inner]]).astype(np.int64)  # (2, inner nodes)
    return bool((children > places).all() and (children < len(inner)).all())


def _within(places: np.ndarray, size: int) -> bool:
    return bool(((places.astype(np.int64) >= 0) & (places.astype(np.int64) < size)).all())


# name of an estimator's class -> whether the trees that it holds are sound
CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(
        ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
        _is_sound_decision_tree,
    ),
    **dict.fromkeys(("GradientBoostingClassifier", "GradientBoostingRegressor"), _is_sound_boosting),
    **dict.fromkeys(("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _is_sound_histogram_boosting),
}
