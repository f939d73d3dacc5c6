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
    """A view of tables through a fitted transformer, and then through the view of the model behind it."""

    transformer: Any
    view: Callable[[Any], np.ndarray] | None = None

    def __call__(self, table: Any) -> np.ndarray:
        rows = self.transformer.transform(table)
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return np.asarray(rows, dtype=np.float64) if self.view is None else self.view(rows)


def owners(transformer: Any) -> np.ndarray:
    """Returns the input column that each output column of a fitted transformer is made of.

    Raises ``UnknownStructureError`` where columns are mixed, or might be.

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


def active_steps(pipeline: Any) -> list[Any]:
    """Returns the steps of a Pipeline other than "passthrough"."""
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
        columns = columns[[cell == cell for cell in imputer.statistics_]]  # empty columns are dropped
    indicators = imputer.indicator_.features_ if imputer.add_indicator else []
    return np.concatenate([columns, np.asarray(indicators, dtype=columns.dtype)])


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
    owner = None
    for step in active_steps(pipeline):
        step_owner = owners(step)
        owner = step_owner if owner is None else owner[step_owner]
    if owner is None:
        raise UnknownStructureError("a Pipeline without steps does not tell its columns")
    return owner


def _side_by_side(union: Any) -> np.ndarray:
    parts = [step for _, step in union.transformer_list if step not in ("drop", None)]
    if any(part == "passthrough" for part in parts):
        raise UnknownStructureError('a FeatureUnion with "passthrough" is not supported')
    return np.concatenate([owners(part) for part in parts])


def _by_columns(transformer: Any) -> np.ndarray:
    width = max((part.stop for part in transformer.output_indices_.values()), default=0)
    owner = np.full(width, -1)
    for name, part, _ in transformer.transformers_:
        outputs = transformer.output_indices_[name]
        columns = np.asarray(transformer._transformer_to_input_indices[name])
        if part == "drop" or outputs.start == outputs.stop:
            continue
        part_owner = columns if part == "passthrough" else columns[owners(part)]
        if len(part_owner) != outputs.stop - outputs.start:
            raise UnknownStructureError(f"{type(part).__name__} returns an unexpected number of columns")
        owner[outputs] = part_owner
    if (owner < 0).any():
        raise UnknownStructureError("ColumnTransformer returns columns of unknown origin")
    return owner


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
    """A view of frames: numbers unchanged, categories as their index among the column's categories at training.

    ``trained`` holds these by column index; a category column that is not in it has the codes of the frame itself.
    """

    trained: Mapping[int, Sequence[Any]]

    def __call__(self, table: Any) -> np.ndarray:
        if isinstance(table, np.ndarray):
            return np.asarray(table, dtype=np.float64)
        if not hasattr(table, "iloc"):
            raise UnknownStructureError("categories are supported in pandas frames only")
        inner = np.empty(table.shape)
        for j in range(table.shape[1]):
            column = table.iloc[:, j]
            inner[:, j] = self._codes(column, j) if column.dtype == "category" else numbers_of(column)
        return inner

    def _codes(self, column: Any, j: int) -> np.ndarray:
        if j in self.trained:
            column = column.cat.set_categories(list(self.trained[j]))
        codes = column.cat.codes.to_numpy().astype(np.float64)
        codes[codes < 0] = np.nan
        return np.asarray(codes)


def numbers_of(column: Any) -> np.ndarray:
    """Returns the cells of a column of a frame as numbers, missing ones as NaN."""
    try:
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError) as error:
        raise UnknownStructureError(f"column {column.name!r} holds neither numbers nor categories") from error
