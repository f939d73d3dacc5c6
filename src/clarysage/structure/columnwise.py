"""Views of tables that treat each column by itself: fitted transformers, and the codes of categories.

What such a transformer makes of a column depends on that column alone. It therefore commutes with swapping columns
between rows: rows are transformed once, and hybrid rows are assembled from transformed rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.structure.base import UnknownStructureError


@dataclass(frozen=True)
class Transformed:
    """A view of tables as fitted transformers make them, and then as the model behind them has them."""

    transformer: Any
    view: Callable[[Any], np.ndarray] | None = None

    def __call__(self, table: Any) -> np.ndarray:
        rows = self.transformer.transform(table)
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray(rows, dtype=np.float64) if self.view is None else self.view(rows)


def owners(transformer: Any) -> np.ndarray:
    """The column that each column of what a fitted transformer makes is made of.

    Raises where columns are mixed, or may be.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> owners(OneHotEncoder().fit([["a", 1], ["b", 2], ["c", 1]]))
    array([0, 0, 0, 1, 1])
    """
    kind = type(transformer)
    rule = RULES.get(kind.__name__) if kind.__module__.startswith("sklearn.") else None
    if rule is None:
        raise UnknownStructureError(f"{kind.__name__} is not known to keep columns apart")
    return np.asarray(rule(transformer), dtype=np.intp)


def working(pipeline: Any) -> list[Any]:
    """The steps of a Pipeline that do something."""
    return [step for _, step in pipeline.steps if step is not None and step != "passthrough"]


def _one_each(transformer: Any) -> np.ndarray:
    return np.arange(transformer.n_features_in_)


def _by_categories(encoder: Any) -> np.ndarray:
    return np.repeat(np.arange(encoder.n_features_in_), encoder._n_features_outs)


def _by_bins(binner: Any) -> np.ndarray:
    if binner.encode == "ordinal":
        return _one_each(binner)
    return np.repeat(np.arange(binner.n_features_in_), binner.n_bins_)


def _by_splines(splines: Any) -> np.ndarray:
    return np.repeat(np.arange(splines.n_features_in_), splines.n_features_out_ // splines.n_features_in_)


def _imputed(imputer: Any) -> np.ndarray:
    columns = np.arange(imputer.n_features_in_)
    if not imputer.keep_empty_features:
        columns = columns[[cell == cell for cell in imputer.statistics_]]  # a column of nothing is left out
    marks = imputer.indicator_.features_ if imputer.add_indicator else []
    return np.concatenate([columns, np.asarray(marks, dtype=columns.dtype)])


def _selected(selector: Any) -> np.ndarray:
    return np.asarray(selector.get_support(indices=True))


def _elementwise(transformer: Any) -> np.ndarray:
    function = transformer.func
    if function is not None and not (isinstance(function, np.ufunc) and function.nin == function.nout == 1):
        name = getattr(function, "__name__", repr(function))
        raise UnknownStructureError(f"FunctionTransformer({name}) is not known to keep columns apart")
    return _one_each(transformer)


def _encoded_by_target(encoder: Any) -> np.ndarray:
    columns = np.arange(encoder.n_features_in_)
    return np.repeat(columns, len(encoder.classes_)) if encoder.target_type_ == "multiclass" else columns


def _in_turn(pipeline: Any) -> np.ndarray:
    found = None
    for step in working(pipeline):
        made = owners(step)
        found = made if found is None else found[made]
    if found is None:
        raise UnknownStructureError("a Pipeline of no steps does not know its columns")
    return found


def _side_by_side(union: Any) -> np.ndarray:
    parts = [step for _, step in union.transformer_list if step not in ("drop", None)]
    if any(part == "passthrough" for part in parts):
        raise UnknownStructureError("FeatureUnion passes columns through")
    return np.concatenate([owners(part) for part in parts])


def _by_columns(transformer: Any) -> np.ndarray:
    width = max((part.stop for part in transformer.output_indices_.values()), default=0)
    found = np.full(width, -1)
    for name, part, _ in transformer.transformers_:
        place = transformer.output_indices_[name]
        columns = np.asarray(transformer._transformer_to_input_indices[name])
        if part == "drop" or place.start == place.stop:
            continue
        made = columns if part == "passthrough" else columns[owners(part)]
        if len(made) != place.stop - place.start:
            raise UnknownStructureError(f"{type(part).__name__} makes other columns than expected")
        found[place] = made
    if (found < 0).any():
        raise UnknownStructureError("ColumnTransformer makes columns of unknown origin")
    return found


RULES: dict[str, Callable[[Any], np.ndarray]] = {
    **dict.fromkeys(
        (
            "StandardScaler",
            "MinMaxScaler",
            "MaxAbsScaler",
            "RobustScaler",
            "PowerTransformer",
            "QuantileTransformer",
            "OrdinalEncoder",
            "Binarizer",
        ),
        _one_each,
    ),
    "OneHotEncoder": _by_categories,
    "KBinsDiscretizer": _by_bins,
    "SplineTransformer": _by_splines,
    "SimpleImputer": _imputed,
    **dict.fromkeys(
        (
            "VarianceThreshold",
            "SelectKBest",
            "SelectPercentile",
            "SelectFpr",
            "SelectFdr",
            "SelectFwe",
            "GenericUnivariateSelect",
            "SelectFromModel",
            "SequentialFeatureSelector",
            "RFE",
            "RFECV",
        ),
        _selected,
    ),
    "FunctionTransformer": _elementwise,
    "TargetEncoder": _encoded_by_target,
    "Pipeline": _in_turn,
    "FeatureUnion": _side_by_side,
    "ColumnTransformer": _by_columns,
}


@dataclass(frozen=True)
class CategoryCodes:
    """A view of frames: numbers as they are, categories by their place among those of the column at training.

    ``known`` has these by the column's place; a column of categories that is not there counts by the frame's own.
    """

    known: Mapping[int, Sequence[Any]]

    def __call__(self, table: Any) -> np.ndarray:
        if isinstance(table, np.ndarray):
            return np.asarray(table, dtype=np.float64)
        if not hasattr(table, "iloc"):
            raise UnknownStructureError("categories are read from pandas frames alone")
        inner = np.empty(table.shape)
        for place in range(table.shape[1]):
            column = table.iloc[:, place]
            inner[:, place] = self._codes(column, place) if column.dtype == "category" else numbers_of(column)
        return inner

    def _codes(self, column: Any, place: int) -> np.ndarray:
        if place in self.known:
            column = column.cat.set_categories(list(self.known[place]))
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return np.asarray(codes)


def numbers_of(column: Any) -> np.ndarray:
    """Cells of a column of a frame, missing ones as NaN."""
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise UnknownStructureError(f"column {column.name!r} holds neither numbers nor categories") from error
