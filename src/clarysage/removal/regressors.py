"""Regressors as users make them, fitted to masked rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError, PythonOnly
from clarysage.models.learners import weights_argument
from clarysage.models.torch import is_module
from clarysage.tables import Categories, Schema


@dataclass(frozen=True)
class Regressors:
    """Fitted regressors, one for each number that is wanted."""

    fitted: tuple[Any, ...]

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        try:
            found = np.column_stack([np.ravel(regressor.predict(seen)) for regressor in self.fitted])
        except Exception as error:
            raise _unfit(self.fitted[0], f"{type(error).__name__} from {{}}: {error}") from error
        if found.shape != (len(seen), len(self.fitted)) or not np.isfinite(found).all():
            raise _unfit(self.fitted[0], "predictions of {} that are not one finite number a row")
        return found


def fitted(
    regressor: Any, seen: np.ndarray, wanted: np.ndarray, held: np.ndarray, weights: np.ndarray | None
) -> Regressors:
    """Copies of a regressor fitted to rows (n, 2 d) and what is wanted (n, t), but for the rows held out (n,)."""
    from sklearn.base import clone

    argument = weights_argument(regressor)
    options = {} if weights is None or argument is None else {argument: weights[~held]}
    try:
        return Regressors(tuple(clone(regressor).fit(seen[~held], one[~held], **options) for one in wanted.T))
    except Exception as error:
        raise _unfit(regressor, f"{type(error).__name__} from {{}}: {error}") from error


def takes_weights(regressor: Any) -> bool:
    """Whether rows can be told to count for more than others; boosting and PyTorch modules can."""
    return regressor is None or is_module(regressor) or weights_argument(regressor) is not None


def check_regressor(regressor: Any) -> None:
    """Raise where something is neither a regressor nor a module."""
    is_one = all(callable(getattr(regressor, name, None)) for name in ("fit", "predict", "get_params"))
    if regressor is not None and (isinstance(regressor, type) or not (is_one or is_module(regressor))):
        raise InputError(
            "regressor",
            got=repr(regressor)[:80],
            wanted="a scikit-learn regressor or a PyTorch module",
            hint=PythonOnly("HistGradientBoostingRegressor()"),
        )


def _unfit(regressor: Any, what: str) -> InputError:
    return InputError(
        "regressor",
        got=what.replace("{}", type(regressor).__name__)[:300],
        wanted="a scikit-learn regressor that can be fitted to rows of numbers, missing ones included",
        hint=[PythonOnly("HistGradientBoostingRegressor(), or "), "a pipeline that begins with an imputer"],
    )


LOOKS = (25, 50, 75, 100, 150, 200, 300)  # trees after which the rows held out are looked at
LEAVES, RATE, FEATURES = 31, 0.1, 0.3
ROWS_A_LEAF = 10  # background rows that the copies in a leaf amount to, at least
MOST_CATEGORIES = 254  # that scikit-learn takes as such


@dataclass(frozen=True)
class Boosted:
    """Fitted ensembles, one for each number that is wanted."""

    fitted: tuple[Any, ...]

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        return np.column_stack([one.predict(seen) for one in self.fitted])


def boosted(
    seen: np.ndarray,
    wanted: np.ndarray,
    held: np.ndarray,
    weights: np.ndarray | None,
    *,
    schema: Schema,
    copies_a_row: float,
    seed: int,
) -> Boosted:
    """Ensembles fitted to rows (n, 2 d) and what is wanted (n, t), but for the rows held out (n,)."""
    columns = [
        place
        for place, column in enumerate(schema.columns)
        if isinstance(column, Categories) and len(column.values) <= MOST_CATEGORIES
    ]
    options = {
        "learning_rate": RATE,
        "max_leaf_nodes": LEAVES,
        "max_features": FEATURES,
        "random_state": seed,
        "min_samples_leaf": max(20, round(ROWS_A_LEAF * copies_a_row)),
        "categorical_features": columns or None,
    }
    return Boosted(tuple(_grown(seen, one, held, weights, options) for one in wanted.T))


def _grown(
    seen: np.ndarray, wanted: np.ndarray, held: np.ndarray, weights: np.ndarray | None, options: dict[str, Any]
) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    trees = HistGradientBoostingRegressor(warm_start=True, early_stopping=False, **options)
    learned_by, judged_by = (None, None) if weights is None else (weights[~held], weights[held])
    least = np.inf
    try:
        for count in LOOKS:
            trees.set_params(max_iter=count).fit(seen[~held], wanted[~held], sample_weight=learned_by)
            squares = (trees.predict(seen[held]) - wanted[held]) ** 2 if held.any() else np.zeros(1)
            error = float(np.average(squares, weights=judged_by if held.any() else None))
            if not error < least:
                break
            least = error
    except ValueError as error:
        raise InputError(
            "background",
            got=f"rows that gradient boosting does not take ({error})",
            wanted="numbers and categories",
            hint="another regressor",
        ) from error
    return trees
