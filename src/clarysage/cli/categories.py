"""Which columns a boosted model wants as categories, which a CSV file does not say.

XGBoost and LightGBM models that were fitted on category columns of pandas remember which those were, and the number
that stands for each category; both want such columns as categories again. Other models take text as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from clarysage.errors import InputError


def with_categories(frame: Any, model: Any) -> Any:
    """The frame, its columns those of the model in order, with the model's category columns as categories."""
    for kind in type(model).__mro__:
        places = PLACES.get((kind.__module__.partition(".")[0], kind.__name__))
        if places is not None:
            columns = [frame.columns[j] for j in places(model, frame)]
            return frame.astype(dict.fromkeys(columns, "category"))
    return frame


def _of_xgboost(booster: Any, frame: Any) -> Sequence[int]:
    types = booster.feature_types or []
    places = [j for j, kind in enumerate(types[: frame.shape[1]]) if kind == "c"]
    remembered = places and hasattr(booster, "get_categories") and not booster.get_categories().empty()
    text = [j for j in places if str(frame.dtypes.iloc[j]).startswith(("str", "object"))]
    if text and not remembered:
        raise InputError(
            "DATA", got=f"text in the column {frame.columns[text[0]]!r}", wanted="the numbers that stand for its "
            "categories, since the model does not remember them",
            hint="a model saved by XGBoost 3.1 or later, fitted on category columns",
        )  # fmt: skip
    return places if remembered else []


def _of_lightgbm(booster: Any, frame: Any) -> Sequence[int]:
    count = len(booster.pandas_categorical or ())
    if count == 0:
        return []
    line = re.search(r"^feature_infos=(.*)$", booster.model_to_string(num_iteration=1), flags=re.MULTILINE)
    infos = line.group(1).split() if line else []
    places = [j for j, info in enumerate(infos) if not info.startswith("[") and info != "none"]
    if len(places) == count:
        return places
    return [j for j, info in enumerate(infos) if not info.startswith("[")]  # "none": a category that never varied


# (library, class) -> places of the category columns among the model's features
PLACES: dict[tuple[str, str], Callable[[Any, Any], Sequence[int]]] = {
    ("xgboost", "Booster"): _of_xgboost,
    ("xgboost", "XGBModel"): lambda model, frame: _of_xgboost(model.get_booster(), frame),
    ("lightgbm", "Booster"): _of_lightgbm,
    ("lightgbm", "LGBMModel"): lambda model, frame: _of_lightgbm(model.booster_, frame),
}
