"""Gini importance: the impurity that splits on each feature take away while trees grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from clarysage._measures.intrinsic import Reader, Reading, read
from clarysage.models import lightgbm, xgboost
from clarysage.structure.readers.scikit_learn import splits_of_histograms

NOTE = (
    "A heuristic, outside the framework of additive importance measures: it tells how much splits on a feature helped "
    "to fit the rows that trees were grown on, not what the feature is worth to predictions of other rows. Columns "
    "with many distinct values get more, even where they are noise."
)
CATBOOST = "Of CatBoost it is the average change of predictions by splits on a feature, PredictionValuesChange."


def gini_importance(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """Gini importance: shares of the impurity that splits on each feature take away (Table 1), a heuristic.

    Parameters
    ----------
    model : trees, forests or boosted trees of scikit-learn, XGBoost, LightGBM or CatBoost; at the end of a Pipeline if
        its other steps keep columns apart, and values are added up over what they make of a column
    X : rows, for the names and the order of columns
    y, sample_weight : are not looked at: what the model remembers of its training is all there is
    groups : mapping of names to columns, whose values are added up
    feature_names : names for the columns, where X has none or others are wanted

    Returns
    -------
    Explanation, without ``constant``, ``total`` and ``base``. Values add up to 1, whatever the library; to 0 where no
    tree has a split

    Notes
    -----
    What a library keeps differs. scikit-learn has ``feature_importances_``, the decrease of the impurity, tree by tree
    in shares; its histogram boosting, XGBoost and LightGBM the gain of the objective, summed over splits (XGBoost's own
    ``feature_importances_`` is the mean over splits instead); CatBoost the change of predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> gini_importance(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 1]), X).values
    array([0., 1.])
    """
    reading = Reading.of("gini importance", model)
    found = reading.read(READERS)
    if found is None:
        raise reading.refused("trees, a forest or boosted trees of scikit-learn, XGBoost, LightGBM or CatBoost")
    inside = reading.inside
    beside = reading.beside(X, groups=groups, sample_weight=sample_weight, feature_names=feature_names)
    is_catboost = type(reading.opened.last).__module__.startswith("catboost")
    return beside.explanation(beside.summed(_shares(found), inside), [NOTE, *([CATBOOST] if is_catboost else [])])


def _shares(values: np.ndarray) -> np.ndarray:
    total = values.sum()
    return values / total if total > 0 else np.zeros_like(values)


def _own(model: Any) -> np.ndarray | None:
    """As the estimator has them, which may hold something else than trees."""
    found = getattr(model, "feature_importances_", None)
    return None if found is None else np.asarray(found, dtype=np.float64)


def _of_members(model: Any) -> np.ndarray | None:
    """The mean over members of a bag, each of which may have columns of its own."""
    found = np.zeros(model.n_features_in_)
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        values = read(member, READERS)
        if values is None:
            return None
        np.add.at(found, columns, _shares(values))
    return found


def _of_histograms(model: Any) -> np.ndarray:
    columns, gains = splits_of_histograms(model)
    return np.bincount(columns, weights=gains, minlength=model.n_features_in_)


def _of_catboost(model: Any) -> np.ndarray | None:
    try:
        return np.asarray(model.get_feature_importance(type="PredictionValuesChange", thread_count=1))
    except Exception:  # a model that was loaded from a format that does not keep what is needed
        return None


READERS: dict[tuple[str, str], Reader] = {
    ("xgboost", "Booster"): partial(xgboost.tree_scores, kind="total_gain"),
    ("xgboost", "XGBModel"): partial(xgboost.tree_scores, kind="total_gain"),
    ("lightgbm", "Booster"): partial(lightgbm.tree_scores, kind="gain"),
    ("lightgbm", "LGBMModel"): partial(lightgbm.tree_scores, kind="gain"),
    ("catboost", "CatBoost"): _of_catboost,
    ("sklearn", "IsolationForest"): lambda model: None,  # whose splits are drawn at random
    ("sklearn", "BaseHistGradientBoosting"): _of_histograms,
    ("sklearn", "BaseBagging"): _of_members,
    **dict.fromkeys(
        (("sklearn", "BaseDecisionTree"), ("sklearn", "BaseForest"), ("sklearn", "BaseGradientBoosting"),
         ("sklearn", "BaseWeightBoosting")), _own),
}  # fmt: skip
