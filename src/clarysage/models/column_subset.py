"""Restricts a learner to a subset of columns: parameters that name columns, and parts that see none of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.tables import labels_of

# parameters that name columns, that have an entry for each column, and that name sets of columns
NAMING = ("categorical_features", "cat_features", "text_features", "embedding_features", "categorical_feature")
BY_COLUMN = ("feature_types", "monotonic_cst", "monotone_constraints")
SETS = ("interaction_cst", "interaction_constraints")
# parameters with named members that all get the table, and with the one learner that another wraps
MEMBERS = ("transformer_list", "estimators")  # of a FeatureUnion; of voting and stacking ensembles
WRAPPED = ("estimator", "base_estimator", "regressor")


def restrict_to_columns(learner: Any, table: Any, is_kept: np.ndarray) -> bool:
    """Changes an unfitted learner for the columns of a table with ``is_kept`` (d,); returns False if it sees none.

    A ColumnTransformer that gets the columns unchanged drops transformers without a kept column. Parameters such as
    ``cat_features`` of CatBoost, ``categorical_features`` or ``monotonic_cst`` of scikit-learn and ``feature_types`` of
    XGBoost are restricted to the kept columns. Unions and ensembles drop members that see no column. A learner of
    unknown structure counts as seeing some: if one of its parts needs a missing column, its fit will raise.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> learner = HistGradientBoostingRegressor(categorical_features=[0, 2])
    >>> restrict_to_columns(learner, np.zeros((5, 3)), np.array([False, True, True]))
    True
    >>> learner.categorical_features
    [1]
    """
    return _restrict(learner, ColumnSubset(table, is_kept))


@dataclass(frozen=True)
class ColumnSubset:
    """A table and the columns of it that are kept, (d,)."""

    table: Any
    is_kept: np.ndarray

    def indices(self, spec: Any) -> list[int] | None:
        """Returns the table indices of a scikit-learn column specification; None where it is not valid."""
        labels = labels_of(self.table)
        if callable(spec):
            return self.indices(spec(self.table))
        if isinstance(spec, slice):
            ends = [labels.index(end) if labels and isinstance(end, str) else end for end in (spec.start, spec.stop)]
            if isinstance(spec.stop, str):  # a slice of names includes its end, as in scikit-learn
                ends[1] += 1
            return list(range(len(self.is_kept)))[ends[0] : ends[1] : spec.step]
        entries = [spec] if isinstance(spec, (str, int, np.integer)) else list(spec)
        if len(entries) == len(self.is_kept) and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
            return [j for j, entry in enumerate(entries) if entry]
        indices = [self._index(entry, labels) for entry in entries]
        valid = [j for j in indices if j is not None]
        return valid if len(valid) == len(indices) else None

    def _index(self, entry: Any, labels: Any) -> int | None:
        if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            return int(entry) % len(self.is_kept) if -len(self.is_kept) <= entry < len(self.is_kept) else None
        return labels.index(entry) if labels is not None and entry in labels else None

    def restrict(self, spec: Any) -> Any:
        """Returns the specification of the kept columns: by names if it was by names, else by their new indices."""
        indices = self.indices(spec)
        if indices is None:  # not valid, so that the fit of the learner will raise
            return spec
        kept_indices, labels = [j for j in indices if self.is_kept[j]], labels_of(self.table)
        by_name = labels is not None and _names_columns(spec)
        entries = [labels[j] if by_name and labels else int(self.is_kept[:j].sum()) for j in kept_indices]
        return (entries or [[]])[0] if isinstance(spec, (str, int, np.integer)) else entries


def _names_columns(spec: Any) -> bool:
    if callable(spec) or isinstance(spec, slice):
        return False
    return all(isinstance(entry, str) for entry in ([spec] if isinstance(spec, str) else np.ravel(spec)))


def _keeps_columns(step: Any) -> bool:
    """Returns True if a step of a pipeline passes each column on at the same position."""
    from sklearn.base import OneToOneFeatureMixin

    is_imputer = type(step).__name__ == "SimpleImputer" and not step.add_indicator
    return step is None or step == "passthrough" or isinstance(step, OneToOneFeatureMixin) or is_imputer


def _restrict(part: Any, columns: ColumnSubset) -> bool:
    """Restricts a part that gets all columns of the table in their order; returns False if it sees no kept one."""
    if isinstance(part, str) or not hasattr(part, "get_params"):
        return not _is_word(part, "drop")
    if hasattr(part, "steps"):
        return _restrict_steps(part, columns)
    if hasattr(part, "transformers") and hasattr(part, "remainder"):
        return _restrict_transformer(part, columns)
    given = part.get_params(deep=False)
    _restrict_parameters(part, given, columns)
    for name in MEMBERS:
        if _is_named(given.get(name)):
            return _restrict_members(part, name, columns)
    return _restrict_inner(part, given, columns)


def _restrict_steps(part: Any, columns: ColumnSubset) -> bool:
    """Restricts a pipeline up to the first step that changes the columns."""
    for _, step in part.steps:
        if not _restrict(step, columns):
            return False
        if not _keeps_columns(step):
            return True
    return True


def _restrict_members(part: Any, name: str, columns: ColumnSubset) -> bool:
    """Restricts a union or an ensemble; members that see nothing become "drop" and keep their names."""
    members = [(key, member if _restrict(member, columns) else "drop") for key, member in getattr(part, name)]
    part.set_params(**{name: members})
    passes_columns = bool(getattr(part, "passthrough", False))  # a stack whose final learner gets the columns too
    return passes_columns or any(not _is_word(member, "drop") for _, member in members)


def _restrict_inner(part: Any, given: Mapping[str, Any], columns: ColumnSubset) -> bool:
    """Restricts learners in the parameters of another; a wrapper of one learner sees the columns that this one sees."""
    inner = [
        (name, learner)
        for name, value in given.items()
        for learner in _learners(value)
        if not _is_of_target(part, name)
    ]
    sees = [_restrict(learner, columns) for _, learner in inner]
    is_wrapper = len(inner) == 1 and inner[0][0] in WRAPPED and not hasattr(part, "transform")
    return sees[0] if is_wrapper else True


def _learners(value: Any) -> list[Any]:
    """Returns the learners in a parameter: the value itself, or members of a list, with names or without."""
    entries = [entry[1] if _is_named([entry]) else entry for entry in (value if isinstance(value, list) else [value])]
    return [entry for entry in entries if hasattr(entry, "get_params") and not isinstance(entry, type)]


def _is_of_target(part: Any, name: str) -> bool:
    """Returns True for a parameter that transforms the response rather than columns of the table."""
    return type(part).__name__ == "TransformedTargetRegressor" and name == "transformer"


def _is_named(value: Any) -> bool:
    """Returns True for a list of (name, member) pairs, as unions and ensembles have."""
    return isinstance(value, list) and all(isinstance(entry, tuple) and len(entry) == 2 for entry in value)


def _restrict_parameters(part: Any, params: Mapping[str, Any], columns: ColumnSubset) -> None:
    given = {name: value for name, value in params.items() if not _is_unset(value)}
    changed: dict[str, Any] = {name: columns.restrict(given[name]) for name in NAMING if name in given}
    changed |= {name: _by_column(given[name], columns) for name in BY_COLUMN if name in given}
    changed |= {name: _sets(given[name], columns) for name in SETS if name in given}
    if changed:
        part.set_params(**changed)


def _is_unset(value: Any) -> bool:
    """Returns True for None, or a word such as "from_dtype"."""
    return value is None or isinstance(value, str)


def _restrict_transformer(part: Any, columns: ColumnSubset) -> bool:
    named: set[int] = set()
    steps = []
    for name, transformer, spec in part.transformers:
        indices = columns.indices(spec)
        named |= set(indices or ())
        if indices is None or columns.is_kept[indices].any():
            steps.append((name, transformer, columns.restrict(spec)))
    part.set_params(transformers=steps)
    remainder = [j for j in np.flatnonzero(columns.is_kept).tolist() if j not in named]
    sees_named = any(not _is_word(transformer, "drop") for _, transformer, _ in steps)
    return sees_named or (bool(remainder) and not _is_word(part.remainder, "drop"))


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _by_column(value: Any, columns: ColumnSubset) -> Any:
    """Returns the entries of the kept columns, of a list or of a mapping."""
    if isinstance(value, Mapping):
        return {name: entry for key, entry in value.items() for name in columns.restrict([key])}
    if len(value) != len(columns.is_kept):
        return value
    entries = [entry for entry, keep in zip(value, columns.is_kept, strict=True) if keep]
    return tuple(entries) if isinstance(value, tuple) else entries


def _sets(value: Iterable[Any], columns: ColumnSubset) -> Any:
    restricted = [columns.restrict(list(column_set)) for column_set in value]
    return [column_set for column_set in restricted if column_set != []]
