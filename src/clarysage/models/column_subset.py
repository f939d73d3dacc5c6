"""A learner for some of the columns of a table: what it says of single columns, restricted to these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from clarysage.tables import labels_of

# parameters that name columns, that have an entry a column, and that name sets of columns
NAMING = ("categorical_features", "cat_features", "text_features", "embedding_features", "categorical_feature")
BY_COLUMN = ("feature_types", "monotonic_cst", "monotone_constraints")
SETS = ("interaction_cst", "interaction_constraints")
# parameters with members that are all handed the table, (name, member), and with the one learner that another wraps
MEMBERS = ("transformer_list", "estimators")  # of a FeatureUnion; of ensembles that vote or are stacked
WRAPPED = ("estimator", "base_estimator", "regressor")


def restrict_to_columns(learner: Any, table: Any, kept: np.ndarray) -> bool:
    """Restrict what an unfitted learner says of single columns of a table to those kept, (d,); whether it sees any.

    A ColumnTransformer that the columns reach unchanged drops transformers none of whose columns are kept; parameters
    such as ``cat_features`` of CatBoost, ``categorical_features`` or ``monotonic_cst`` of scikit-learn and
    ``feature_types`` of XGBoost follow. Unions and ensembles drop members that see nothing, and see what is left. A
    learner of unknown structure is said to see: if its parts cannot do without a column, its fit will complain. The
    learner is changed.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> learner = HistGradientBoostingRegressor(categorical_features=[0, 2])
    >>> restrict_to_columns(learner, np.zeros((5, 3)), np.array([False, True, True]))
    True
    >>> learner.categorical_features
    [1]
    """
    return _narrow(learner, Columns(table, kept))


@dataclass(frozen=True)
class Columns:
    """A table, and which of its columns are kept."""

    table: Any
    kept: np.ndarray

    def places(self, spec: Any) -> list[int] | None:
        """Places in the table of the columns that a scikit-learn specification means; None where it is not one."""
        labels = labels_of(self.table)
        if callable(spec):
            return self.places(spec(self.table))
        if isinstance(spec, slice):
            ends = [labels.index(end) if labels and isinstance(end, str) else end for end in (spec.start, spec.stop)]
            stop = ends[1] + 1 if isinstance(spec.stop, str) else ends[1]  # names include the last, as in scikit-learn
            return list(range(len(self.kept)))[ends[0] : stop : spec.step]
        entries = [spec] if isinstance(spec, (str, int, np.integer)) else list(spec)
        if len(entries) == len(self.kept) and all(isinstance(entry, (bool, np.bool_)) for entry in entries):
            return [place for place, entry in enumerate(entries) if entry]
        found = [self._place(entry, labels) for entry in entries]
        known = [place for place in found if place is not None]
        return known if len(known) == len(found) else None

    def _place(self, entry: Any, labels: Any) -> int | None:
        if isinstance(entry, (int, np.integer)) and not isinstance(entry, bool):
            return int(entry) % len(self.kept) if -len(self.kept) <= entry < len(self.kept) else None
        return labels.index(entry) if labels is not None and entry in labels else None

    def left(self, spec: Any) -> Any:
        """The specification of those columns that are kept, by names if it was by names, else by their new places."""
        places = self.places(spec)
        if places is None:  # nonsense, of which the learner will complain
            return spec
        still, labels = [place for place in places if self.kept[place]], labels_of(self.table)
        by_name = labels is not None and _names_columns(spec)
        shown = [labels[place] if by_name and labels else int(self.kept[:place].sum()) for place in still]
        return (shown or [[]])[0] if isinstance(spec, (str, int, np.integer)) else shown


def _names_columns(spec: Any) -> bool:
    if callable(spec) or isinstance(spec, slice):
        return False
    return all(isinstance(entry, str) for entry in ([spec] if isinstance(spec, str) else np.ravel(spec)))


def _keeps_columns(step: Any) -> bool:
    """Whether a step of a pipeline hands each column on in its place."""
    from sklearn.base import OneToOneFeatureMixin

    is_imputer = type(step).__name__ == "SimpleImputer" and not step.add_indicator
    return step is None or step == "passthrough" or isinstance(step, OneToOneFeatureMixin) or is_imputer


def _narrow(part: Any, columns: Columns) -> bool:
    """Restrict a part that is handed the table's own columns, all of them and in their order; whether it sees any."""
    if isinstance(part, str) or not hasattr(part, "get_params"):
        return not _is_word(part, "drop")
    if hasattr(part, "steps"):
        return _narrow_steps(part, columns)
    if hasattr(part, "transformers") and hasattr(part, "remainder"):
        return _narrow_transformer(part, columns)
    given = part.get_params(deep=False)
    _narrow_parameters(part, given, columns)
    for name in MEMBERS:
        if _is_named(given.get(name)):
            return _narrow_members(part, name, columns)
    return _narrow_inner(part, given, columns)


def _narrow_steps(part: Any, columns: Columns) -> bool:
    """Of a pipeline: up to the first step that hands on other columns than it was handed."""
    for _, step in part.steps:
        if not _narrow(step, columns):
            return False
        if not _keeps_columns(step):
            return True
    return True


def _narrow_members(part: Any, name: str, columns: Columns) -> bool:
    """Of a union or an ensemble, whose names stay, since weights may go by them; what learns from members is let be."""
    members = [(key, member if _narrow(member, columns) else "drop") for key, member in getattr(part, name)]
    part.set_params(**{name: members})
    hands_all_on = bool(getattr(part, "passthrough", False))  # a stack whose last learner gets the columns as well
    return hands_all_on or any(not _is_word(member, "drop") for _, member in members)


def _narrow_inner(part: Any, given: Mapping[str, Any], columns: Columns) -> bool:
    """Of a learner that may have others as parameters: if it but wraps one, that sees for it."""
    inner = [(name, one) for name, value in given.items() for one in _learners(value) if not _is_of_target(part, name)]
    sees = [_narrow(one, columns) for _, one in inner]
    is_wrapper = len(inner) == 1 and inner[0][0] in WRAPPED and not hasattr(part, "transform")
    return sees[0] if is_wrapper else True


def _learners(value: Any) -> list[Any]:
    """Learners in a parameter: itself, or members of a list, with names or without."""
    entries = [one[1] if _is_named([one]) else one for one in (value if isinstance(value, list) else [value])]
    return [one for one in entries if hasattr(one, "get_params") and not isinstance(one, type)]


def _is_of_target(part: Any, name: str) -> bool:
    """Whether a parameter is a transformer of the response, to which columns of the table mean nothing."""
    return type(part).__name__ == "TransformedTargetRegressor" and name == "transformer"


def _is_named(value: Any) -> bool:
    """Whether these are members of a union or an ensemble, each with its name."""
    return isinstance(value, list) and all(isinstance(one, tuple) and len(one) == 2 for one in value)


def _narrow_parameters(part: Any, params: Mapping[str, Any], columns: Columns) -> None:
    given = {name: value for name, value in params.items() if not _says_nothing(value)}
    changed: dict[str, Any] = {name: columns.left(given[name]) for name in NAMING if name in given}
    changed |= {name: _by_column(given[name], columns) for name in BY_COLUMN if name in given}
    changed |= {name: _sets(given[name], columns) for name in SETS if name in given}
    if changed:
        part.set_params(**changed)


def _says_nothing(value: Any) -> bool:
    """Whether a parameter is unset, or a word such as "from_dtype"."""
    return value is None or isinstance(value, str)


def _narrow_transformer(part: Any, columns: Columns) -> bool:
    named: set[int] = set()
    steps = []
    for name, transformer, spec in part.transformers:
        places = columns.places(spec)
        named |= set(places or ())
        if places is None or columns.kept[places].any():
            steps.append((name, transformer, columns.left(spec)))
    part.set_params(transformers=steps)
    rest = [place for place in np.flatnonzero(columns.kept).tolist() if place not in named]
    works = any(not _is_word(transformer, "drop") for _, transformer, _ in steps)
    return works or (bool(rest) and not _is_word(part.remainder, "drop"))


def _is_word(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word


def _by_column(value: Any, columns: Columns) -> Any:
    """Entries of the columns that are kept, of a list or of a mapping."""
    if isinstance(value, Mapping):
        return {name: entry for key, entry in value.items() for name in columns.left([key])}
    if len(value) != len(columns.kept):
        return value
    entries = [entry for entry, is_kept in zip(value, columns.kept, strict=True) if is_kept]
    return tuple(entries) if isinstance(value, tuple) else entries


def _sets(value: Iterable[Any], columns: Columns) -> Any:
    left = [columns.left(list(one)) for one in value]
    return [one for one in left if one != []]
