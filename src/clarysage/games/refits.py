"""Refits: a learner fitted on some of the columns, and its predictions for held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError, Or, PythonOnly, Set, in_python
from clarysage.execution.seeds import FOLDS, LEARNER, stream
from clarysage.games.cross_fitting import Design, cross_fitting_design, design_of_split, hold_out_design
from clarysage.models import Predictor, as_predictor
from clarysage.models.column_subset import restrict_to_columns
from clarysage.models.learners import (
    check_learner,
    is_classifier,
    set_seeds,
    takes_pandas_alone,
    unfitted_copy,
    weights_argument,
)
from clarysage.tables import (
    Schema,
    as_table,
    check_order,
    container_of,
    labels_of,
    read_target,
    read_weights,
    schema_of,
)

SHOWN = 8  # number of columns or classes that an error names


@dataclass(frozen=True)
class Refits:
    """A learner, the rows it is fitted on, and the held-out rows it is evaluated on.

    Attributes
    ----------
    learner : unfitted; every fit uses a clone
    schema, table, y : the columns, and all rows, the held-out ones included, as the learner receives them
    weights : (n,) of the rows, None where none were given; ``takes_weights`` is the argument of ``fit`` for them
    design : the resampling scheme
    classes : all labels of y, where the learner is a classifier
    seed : from which the seeds of learners without one are derived
    """

    learner: Any
    schema: Schema
    table: Any
    y: np.ndarray
    weights: np.ndarray | None
    takes_weights: str | None
    design: Design
    classes: tuple[Any, ...] | None
    seed: int

    @classmethod
    def of(
        cls, learner: Any, X: Any, y: Any, *, folds: Any, test: Any, test_size: Any, sample_weight: Any, seed: int
    ) -> Refits:
        """Returns refits on rows of X, evaluated on other rows of X or on those of ``test``."""
        check_learner(learner)
        learner = _copied(learner)
        check_order(y, X, "y", "X")
        check_order(sample_weight, X, "sample_weight", "X")
        X = as_table(X, "X")
        if y is None:
            raise InputError("y", got="None", wanted="a response for each row of X")
        target, weights = read_target(y, X, len(X)), _weights(sample_weight, X)
        labels = _class_numbers(target) if is_classifier(learner) and target.ndim == 1 else None
        rng = stream(seed, FOLDS, 0)
        X_test = None
        if test is not None:
            if test_size is not None:
                raise InputError("test_size", got="a share as well as test rows", wanted="one of the two")
            X_test, test_target, test_weights = _read_test(test)
            design = design_of_split(np.arange(len(X)), np.arange(len(X), len(X) + len(X_test)))
            target = _concatenated(target, test_target)
            if weights is not None or test_weights is not None:
                pairs = ((weights, X), (test_weights, X_test))
                weights = np.concatenate([np.ones(len(rows)) if of is None else of for of, rows in pairs])
        elif test_size is not None:
            design = hold_out_design(test_size, labels, len(X), rng)
        else:
            design = cross_fitting_design(folds, labels, len(X), rng)
        schema, table = _as_one_table(X, X_test, learner)
        classes = None if labels is None else tuple(np.unique(target).tolist())
        refits = cls(learner, schema, table, target, weights, None, design, classes, seed)
        refits._check_splits()
        return refits if weights is None else replace(refits, takes_weights=weights_argument(learner))

    @property
    def name(self) -> str:
        """The name of the learner's class."""
        return type(self.learner).__name__

    @property
    def rows(self) -> int:
        """Number of rows that learners are fitted on or predict, for one set of columns."""
        return sum(len(split.train) + len(split.test) for split in self.design.splits)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Returns the weights of rows by their numbers; ones where no weights were given."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def predictor(self, is_kept: np.ndarray, number: int) -> Predictor | None:
        """Returns the learner fitted on columns (d,) and training rows of a split; None where it uses no column."""
        learner = unfitted_copy(self.learner)
        if not restrict_to_columns(learner, self.table, is_kept):
            return None
        rng = stream(self.seed, LEARNER, _number(is_kept) * len(self.design.splits) + number)
        rows = self.design.splits[number].train
        more = {self.takes_weights: self.weights[rows]} if self.takes_weights and self.weights is not None else {}
        try:
            set_seeds(learner, rng).fit(self._cells(rows, is_kept), self.y[rows], **more)
            return as_predictor(learner)
        except Exception as error:
            raise self._failure(error, is_kept) from error

    def outputs(self, predictor: Predictor, is_kept: np.ndarray, number: int) -> np.ndarray:
        """Returns the predictions (n, k) for the held-out rows of a split, with one column for each class."""
        try:
            outputs = predictor(self._cells(self.design.splits[number].test, is_kept))
        except ModelError as error:
            raise self._failure(error, is_kept) from error
        if self.classes is None or predictor.classes is None:
            return outputs
        return by_class(outputs, predictor.classes, self.classes)

    def _cells(self, rows: np.ndarray, is_kept: np.ndarray) -> Any:
        kind, columns = container_of(self.table), np.flatnonzero(is_kept)
        if kind == "pandas":
            return self.table.iloc[rows, columns]
        if kind == "numpy":
            return self.table[np.ix_(rows, columns)]
        return self.table.select([(labels_of(self.table) or ())[column] for column in columns])[rows]

    def _failure(self, error: Exception, is_kept: np.ndarray) -> ModelError:
        names = [repr(name) for name, is_shown in zip(self.schema.names, is_kept, strict=True) if is_shown]
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
        text = in_python(error.got) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        return ModelError(
            "learner",
            got=f"{self.name} on the columns {shown}: {' '.join(text.split())[:300].rstrip('.')}",
            wanted="one that can be fitted on any of the columns, and can predict then",
            hint=PythonOnly("learner.fit(X[columns], y) by itself"),
        )

    def _check_splits(self) -> None:
        """Raises an error where all rows to fit on, or all held-out rows, have weight zero or are of one class."""
        if not self.weights_of(self.design.examples).any():
            raise InputError("sample_weight", got="held-out rows that all have weight 0", wanted="positive weights")
        for split in self.design.splits:
            if not self.weights_of(split.train).any():
                raise InputError(
                    "sample_weight", got="rows to fit on that all have weight 0", wanted="positive weights"
                )
            if self.classes is not None and len(np.unique(self.y[split.train])) < 2:
                raise InputError(
                    "y",
                    got=f"rows to fit on that are all of the class {self.y[split.train][0]!r}",
                    wanted="several rows of each of at least two classes",
                    hint="more rows, or fewer classes",
                )


def by_class(outputs: np.ndarray, fitted: tuple[Any, ...], classes: tuple[Any, ...]) -> np.ndarray:
    """Returns probabilities (n, k) of all classes, from those of the classes that a learner has seen; 0 for the others.

    Examples
    --------
    >>> by_class(np.array([[0.25, 0.75]]), ("a", "c"), ("a", "b", "c"))
    array([[0.25, 0.  , 0.75]])
    """
    if outputs.shape[1] == 1 and len(fitted) == 2:
        outputs = np.column_stack([1 - outputs, outputs])
    if outputs.shape[1] != len(fitted):
        got = f"{outputs.shape[1]} outputs for {len(fitted)} classes"
        raise ModelError("learner", got=got, wanted="one output for each class")
    probabilities = np.zeros((len(outputs), len(classes)))
    probabilities[:, _indices(fitted, classes)] = outputs
    return probabilities


def _indices(fitted: tuple[Any, ...], classes: tuple[Any, ...]) -> list[int]:
    """Returns the index among all classes of each fitted class, by its label or, where unique, by its spelling."""
    if set(fitted) <= set(classes):
        return [classes.index(label) for label in fitted]
    spellings, all_spellings = [_spelling(label) for label in fitted], [_spelling(label) for label in classes]
    is_unique = len(set(all_spellings)) == len(all_spellings) and len(set(spellings)) == len(spellings)
    if not is_unique or not set(spellings) <= set(all_spellings):
        raise ModelError(
            "learner",
            got=f"the classes {_first(fitted)}, which are not those of y: {_first(classes)}",
            wanted="classes of y",
        )
    return [all_spellings.index(spelling) for spelling in spellings]


def _first(labels: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, labels[:SHOWN])) + (" and more" if len(labels) > SHOWN else "")


def _spelling(label: Any) -> str:
    """Returns a text that is the same for 1, 1.0, True, "1" and "True", which libraries convert to each other."""
    text = str(label)
    try:
        return repr(float({"True": "1", "False": "0"}.get(text, text)))
    except ValueError:
        return text


def _copied(learner: Any) -> Any:
    try:
        return unfitted_copy(learner)
    except Exception as error:
        raise InputError(
            "learner",
            got=f"{type(learner).__name__}, which cannot be copied ({error})",
            wanted="an estimator that scikit-learn can clone",
        ) from error


def _number(is_kept: np.ndarray) -> int:
    return int.from_bytes(np.packbits(is_kept).tobytes(), "big")


def _class_numbers(target: np.ndarray) -> np.ndarray:
    """Returns the class number of each label."""
    try:
        return np.asarray(np.unique(target, return_inverse=True)[1]).ravel()
    except TypeError as error:
        raise InputError("y", got=f"labels of different kinds ({error})", wanted="labels of one kind") from error


def _weights(given: Any, rows: Any, argument: str = "sample_weight", of: str = "X") -> np.ndarray | None:
    """Returns checked weights on the scale on which they were given; None where none were given."""
    if given is None:
        return None
    shares = read_weights(given, rows, len(rows), argument, of)
    return np.asarray(shares * (float(np.asarray(given, dtype=np.float64).max()) / shares.max()))


def _read_test(test: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """Returns the test rows, their responses, and their weights where given."""
    if not isinstance(test, (tuple, list)) or len(test) not in (2, 3):
        raise InputError(
            "test",
            got=type(test).__name__,
            wanted="(X_test, y_test), or (X_test, y_test, sample_weight)",
            hint=[PythonOnly("test=(X_test, y_test)"), Or(), Set("test_size", 0.25)],
        )
    for values in test[1:]:
        check_order(values, test[0], "test", "test")
    rows = as_table(test[0], "test")
    try:
        target = read_target(test[1], rows, len(rows))
    except InputError as error:
        raise InputError("test", **error.parts) from error
    return rows, target, _weights(test[2], rows, "test", "test") if len(test) == 3 else None


def _concatenated(target: np.ndarray, test_target: np.ndarray) -> np.ndarray:
    is_text = [responses.dtype.kind in "OUS" for responses in (target, test_target)]
    if target.shape[1:] != test_target.shape[1:] or is_text[0] != is_text[1]:
        raise InputError(
            "test",
            got=f"responses of shape {test_target.shape} and dtype {test_target.dtype}",
            wanted=f"responses like y, of shape {target.shape} and dtype {target.dtype}",
        )
    return np.concatenate([target, test_target])


def _as_one_table(X: Any, X_test: Any, learner: Any) -> tuple[Schema, Any]:
    """Returns all rows as a table of the kind of X, or as a pandas frame where the learner may not accept that kind."""
    schema = schema_of(X, X_test, argument="test")
    codes = schema.encode(X, "X")
    if X_test is not None:
        codes = np.vstack([codes, schema.encode(X_test, "test")])
    if schema.container == "scipy":
        schema = schema.for_container("numpy")
    is_arrow, is_polars = schema.container == "pyarrow", schema.container == "polars"
    if is_arrow or (is_polars and takes_pandas_alone(learner)):
        schema = schema.for_container("pandas")
    return schema, schema.decode(codes)
