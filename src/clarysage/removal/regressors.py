"""Regressors of the surrogate, fitted to masked rows: gradient boosting by default, or one that the user chooses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.models.learners import weights_argument
from clarysage.models.torch import is_module
from clarysage.tables import Categories, Schema

STOPPING_CHECKS = (25, 50, 75, 100, 150, 200, 300)  # numbers of trees at which early stopping is considered
LEAVES, RATE, FEATURES = 31, 0.1, 0.3
ROWS_A_LEAF = 10  # background rows whose copies a leaf must hold, at least
MOST_CATEGORIES = 254  # of a column, that scikit-learn accepts


def check_regressor(regressor: Any) -> None:
    """Raises an error unless the object is None, a regressor or a PyTorch module."""
    has_methods = all(callable(getattr(regressor, name, None)) for name in ("fit", "predict", "get_params"))
    if regressor is not None and (isinstance(regressor, type) or not (has_methods or is_module(regressor))):
        raise InputError(
            "regressor",
            got=repr(regressor)[:80],
            wanted="a scikit-learn regressor or a PyTorch module",
            hint=PythonOnly("HistGradientBoostingRegressor()"),
        )


def takes_weights(regressor: Any) -> bool:
    """Tells whether a regressor can be fitted with sample weights; boosting and PyTorch modules can."""
    return regressor is None or is_module(regressor) or weights_argument(regressor) is not None


@dataclass(frozen=True)
class Regressors:
    """Fitted regressors of the user's kind, one for each output."""

    fitted: tuple[Any, ...]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        try:
            outputs = np.column_stack([np.ravel(regressor.predict(inputs)) for regressor in self.fitted])
        except Exception as error:
            raise _unsuitable(self.fitted[0], f"{type(error).__name__} from {{}}: {error}") from error
        if outputs.shape != (len(inputs), len(self.fitted)) or not np.isfinite(outputs).all():
            raise _unsuitable(self.fitted[0], "predictions of {} that are not one finite number per row")
        return outputs


def fit_regressors(
    regressor: Any, inputs: np.ndarray, targets: np.ndarray, is_held_out: np.ndarray, weights: np.ndarray | None
) -> Regressors:
    """Fits copies of a regressor to inputs (n, 2 d) and targets (n, t), without the rows that are held out (n,)."""
    from sklearn.base import clone

    argument = weights_argument(regressor)
    options = {} if weights is None or argument is None else {argument: weights[~is_held_out]}
    rows = inputs[~is_held_out]
    try:
        return Regressors(tuple(clone(regressor).fit(rows, y[~is_held_out], **options) for y in targets.T))
    except Exception as error:
        raise _unsuitable(regressor, f"{type(error).__name__} from {{}}: {error}") from error


def _unsuitable(regressor: Any, problem: str) -> InputError:
    return InputError(
        "regressor",
        got=problem.replace("{}", type(regressor).__name__)[:300],
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
        hint=[PythonOnly("HistGradientBoostingRegressor(), or "), "a pipeline that begins with an imputer"],
    )


@dataclass(frozen=True)
class Boosting:
    """Fitted ensembles of boosted trees, one for each output."""

    ensembles: tuple[Any, ...]

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return np.column_stack([trees.predict(inputs) for trees in self.ensembles])


def fit_boosting(
    inputs: np.ndarray,
    targets: np.ndarray,
    is_held_out: np.ndarray,
    weights: np.ndarray | None,
    *,
    schema: Schema,
    copies_a_row: float,
    seed: int,
) -> Boosting:
    """Fits boosted trees to inputs (n, 2 d) and targets (n, t), without the rows that are held out (n,)."""
    categorical = [
        column
        for column, values in enumerate(schema.columns)
        if isinstance(values, Categories) and len(values.values) <= MOST_CATEGORIES
    ]
    options = {
        "learning_rate": RATE,
        "max_leaf_nodes": LEAVES,
        "max_features": FEATURES,
        "random_state": seed,
        "min_samples_leaf": max(20, round(ROWS_A_LEAF * copies_a_row)),
        "categorical_features": categorical or None,
    }
    return Boosting(tuple(_with_early_stopping(inputs, y, is_held_out, weights, options) for y in targets.T))


def _with_early_stopping(
    inputs: np.ndarray, y: np.ndarray, is_held_out: np.ndarray, weights: np.ndarray | None, options: dict[str, Any]
) -> Any:
    """Adds trees as long as the squared error on the held-out rows decreases."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(warm_start=True, early_stopping=False, **options)
    fit_weights, test_weights = (None, None) if weights is None else (weights[~is_held_out], weights[is_held_out])
    least = np.inf
    try:
        for count in STOPPING_CHECKS:
            trees.set_params(max_iter=count).fit(inputs[~is_held_out], y[~is_held_out], sample_weight=fit_weights)
            has_test_rows = is_held_out.any()
            squares = (trees.predict(inputs[is_held_out]) - y[is_held_out]) ** 2 if has_test_rows else np.zeros(1)
            error = float(np.average(squares, weights=test_weights if has_test_rows else None))
            if not error < least:
                break
            least = error
    except ValueError as error:
        raise InputError(
            "background",
            got=f"rows that gradient boosting does not accept ({error})",
            wanted="numbers and categories",
            hint="another regressor",
        ) from error
    return trees
