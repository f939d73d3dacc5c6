"""Number of splits: how often trees ask for each feature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import Reader, Reading, read
from clarysage.models import lightgbm, xgboost
from clarysage.models.unwrap import Inside
from clarysage.structure.form import UnknownStructureError
from clarysage.structure.oblivious import ObliviousTrees
from clarysage.structure.readers.catboost_splits import split_columns
from clarysage.structure.readers.scikit_learn import splits_of_histograms
from clarysage.structure.trees import Trees

NOTE = (
    "A heuristic, outside the framework of additive importance measures: it counts how often trees ask for a feature, "
    "not what the answers are worth to predictions. Columns with many distinct values are asked for more often, even "
    "where they are noise; one split on a column of two values may be worth more than many."
)


def number_of_splits(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """Number of splits of all trees that are about each feature (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, forests or boosted trees of scikit-learn, XGBoost, LightGBM or CatBoost; at the end of a Pipeline if
        its other steps keep columns apart, and values are added up over what they make of a column
    X : rows, for the names and the order of columns
    y, sample_weight : are not looked at
    groups : mapping of names to columns, whose values are added up
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values are whole numbers

    Notes
    -----
    Trees that predictions do not use, after the best iteration of XGBoost and LightGBM, do not count. CatBoost asks one
    question for a whole level of a tree, which counts once; one about a statistic of several categories together
    counts for each of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> number_of_splits(DecisionTreeRegressor(max_leaf_nodes=4).fit(X, X[:, 1]), X).values
    array([0., 3.])
    """
    reading = Reading.of("number of splits", model)
    counts, inside = _counts(reading)
    beside = reading.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    return beside.explanation(beside.summed(counts, inside), [NOTE])


def _counts(reading: Reading) -> tuple[np.ndarray, Inside]:
    """Splits on each column that the last estimator gets, (D,), and where these come from."""
    found = reading.read(READERS)
    if found is not None:
        return found, reading.inside
    structure = reading.structure
    if structure is not None and isinstance(structure.form, (Trees, ObliviousTrees)):
        form = structure.form
        return _tally(form.decisions.column, form.columns), Inside.of(structure)
    raise reading.refused("trees, a forest or boosted trees of scikit-learn, XGBoost, LightGBM or CatBoost")


def _tally(columns: np.ndarray | list[int], width: int) -> np.ndarray:
    return np.bincount(np.asarray(columns, dtype=np.int64), minlength=width).astype(np.float64)


def _of_tree(model: Any) -> np.ndarray:
    tree = model.tree_
    return _tally(tree.feature[tree.children_left >= 0], model.n_features_in_)


def _of_members(model: Any) -> np.ndarray | None:
    """Of an ensemble, each member of which may have columns of its own."""
    members = np.ravel(np.asarray(model.estimators_, dtype=object))
    everything = np.arange(model.n_features_in_)
    columns = getattr(model, "estimators_features_", [everything] * len(members))
    found = np.zeros(model.n_features_in_)
    for member, its in zip(members, columns, strict=True):
        counts = read(member, READERS)
        if counts is None:
            return None
        np.add.at(found, its, counts)
    return found


def _of_histograms(model: Any) -> np.ndarray:
    return _tally(splits_of_histograms(model)[0], model.n_features_in_)


def _of_catboost(model: Any) -> np.ndarray | None:
    try:
        return _tally([column for split in split_columns(model) for column in split], model.n_features_in_)
    except UnknownStructureError:
        return None


READERS: dict[tuple[str, str], Reader] = {
    ("xgboost", "Booster"): partial(xgboost.tree_scores, kind="weight"),
    ("xgboost", "XGBModel"): partial(xgboost.tree_scores, kind="weight"),
    ("lightgbm", "Booster"): partial(lightgbm.tree_scores, kind="split"),
    ("lightgbm", "LGBMModel"): partial(lightgbm.tree_scores, kind="split"),
    ("catboost", "CatBoost"): _of_catboost,
    ("sklearn", "BaseDecisionTree"): _of_tree,
    ("sklearn", "BaseHistGradientBoosting"): _of_histograms,
    **dict.fromkeys(
        (("sklearn", "BaseForest"), ("sklearn", "BaseGradientBoosting"), ("sklearn", "BaseWeightBoosting"),
         ("sklearn", "BaseBagging")), _of_members),
}  # fmt: skip
