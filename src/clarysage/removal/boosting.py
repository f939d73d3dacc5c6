"""Gradient boosting on masked rows, as long as it helps on rows held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.tables import Categories, Schema

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
