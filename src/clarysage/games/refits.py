"""A learner fitted anew on some of the columns, and what it then predicts of rows it was not fitted on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage.errors import InputError, ModelError, Or, PythonOnly, Set, in_python
from clarysage.execution.seeds import FOLDS, LEARNER, stream
from clarysage.games.cross_fitting import Design, crossed, divided, split
from clarysage.models import Predictor, as_predictor
from clarysage.models.column_subset import narrowed
from clarysage.models.learners import check_learner, fresh, is_classifier, seeded, takes_pandas_alone, weights_argument
from clarysage.tables import Schema, as_table, container_of, labels_of, read_target, read_weights, schema_of

SHOWN = 8  # columns or classes that an error names


@dataclass(frozen=True)
class Refits:
    """A learner, the rows it is fitted on, and the rows it is judged by.

    Attributes
    ----------
    learner : unfitted; every fit has a copy of its own
    schema, table, y : the columns, and all rows, those to judge by included, as the learner gets them
    weights : (n,) of the rows, None where none were given; ``takes_weights`` is the argument of ``fit`` for them
    design : who is fitted on what
    classes : all labels of y, where the learner is a classifier
    seed : from which those of learners without one are derived
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
        """Refits on rows of X, judged by others of its rows, or by those of ``test``."""
        check_learner(learner)
        learner = _copied(learner)
        X = as_table(X, "X")
        if y is None:
            raise InputError("y", got="None", wanted="a response for each row of X")
        target, weights = read_target(y, X, len(X)), _weights(sample_weight, X)
        labels = _numbered(target) if is_classifier(learner) and target.ndim == 1 else None
        rng = stream(seed, FOLDS, 0)
        further = None
        if test is not None:
            if test_size is not None:
                raise InputError("test_size", got="a share beside test rows", wanted="one of the two")
            further, their_target, their_weights = _tested(test, weights)
            design = divided(np.arange(len(X)), np.arange(len(X), len(X) + len(further)))
            target = _joined(target, their_target)
            weights = (
                None
                if weights is None and their_weights is None
                else np.concatenate(
                    [
                        np.ones(len(rows)) if one is None else one
                        for one, rows in ((weights, X), (their_weights, further))
                    ]
                )
            )
        elif test_size is not None:
            design = split(test_size, labels, len(X), rng)
        else:
            design = crossed(folds, labels, len(X), rng)
        schema, table = _as_one_table(X, further, learner)
        classes = None if labels is None else tuple(np.unique(target).tolist())
        found = cls(learner, schema, table, target, weights, None, design, classes, seed)
        found._check_parts()
        return found if weights is None else replace(found, takes_weights=weights_argument(learner))

    @property
    def name(self) -> str:
        """What the learner is called."""
        return type(self.learner).__name__

    @property
    def rows(self) -> int:
        """Rows that learners see for one set of columns, to be fitted on or to predict."""
        return sum(len(part.fitted) + len(part.held) for part in self.design.parts)

    def weights_of(self, rows: np.ndarray) -> np.ndarray:
        """Weights of rows by their numbers; equal ones where none were given."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]

    def predictor(self, kept: np.ndarray, number: int) -> Predictor | None:
        """The learner fitted on the columns kept (d,) and the rows of a part; None where it would look at none."""
        learner = fresh(self.learner)
        if not narrowed(learner, self.table, kept):
            return None
        rng = stream(self.seed, LEARNER, _number(kept) * len(self.design.parts) + number)
        rows = self.design.parts[number].fitted
        more = {self.takes_weights: self.weights[rows]} if self.takes_weights and self.weights is not None else {}
        try:
            seeded(learner, rng).fit(self._cells(rows, kept), self.y[rows], **more)
            return as_predictor(learner)
        except Exception as error:
            raise self._failure(error, kept) from error

    def outputs(self, predictor: Predictor, kept: np.ndarray, number: int) -> np.ndarray:
        """Predictions (n, k) of a predictor for the rows of a part that it is judged by, one column a class."""
        try:
            found = predictor(self._cells(self.design.parts[number].held, kept))
        except ModelError as error:
            raise self._failure(error, kept) from error
        if self.classes is None or predictor.classes is None:
            return found
        return by_class(found, predictor.classes, self.classes)

    def _cells(self, rows: np.ndarray, kept: np.ndarray) -> Any:
        kind, columns = container_of(self.table), np.flatnonzero(kept)
        if kind == "pandas":
            return self.table.iloc[rows, columns]
        if kind == "numpy":
            return self.table[np.ix_(rows, columns)]
        return self.table.select([(labels_of(self.table) or ())[column] for column in columns])[rows]

    def _failure(self, error: Exception, kept: np.ndarray) -> ModelError:
        names = [repr(name) for name, is_kept in zip(self.schema.names, kept, strict=True) if is_kept]
        shown = ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN:,} more" if len(names) > SHOWN else "")
        text = in_python(error.got) if isinstance(error, ModelError) else f"{type(error).__name__}: {error}"
        return ModelError(
            "learner",
            got=f"{self.name} on the columns {shown}: {' '.join(text.split())[:300].rstrip('.')}",
            wanted="one that can be fitted on any of the columns, and asked then",
            hint=PythonOnly("learner.fit(X[columns], y) by itself"),
        )

    def _check_parts(self) -> None:
        """Raise where nothing is to be learned from rows to fit on, or judged by others."""
        if not self.weights_of(self.design.examples).any():
            raise InputError("sample_weight", got="rows to judge by that all weigh nothing", wanted="some that do")
        for part in self.design.parts:
            if not self.weights_of(part.fitted).any():
                raise InputError("sample_weight", got="rows to fit on that all weigh nothing", wanted="some that do")
            if self.classes is not None and len(np.unique(self.y[part.fitted])) < 2:
                raise InputError(
                    "y",
                    got=f"rows to fit on that are all of the class {self.y[part.fitted][0]!r}",
                    wanted="several of each of two classes or more",
                    hint="more rows, or fewer classes",
                )


def by_class(outputs: np.ndarray, fitted: tuple[Any, ...], classes: tuple[Any, ...]) -> np.ndarray:
    """Probabilities (n, k) of all classes from those of the classes that a learner met; 0 for one it did not.

    Examples
    --------
    >>> by_class(np.array([[0.25, 0.75]]), ("a", "c"), ("a", "b", "c"))
    array([[0.25, 0.  , 0.75]])
    """
    if outputs.shape[1] == 1 and len(fitted) == 2:
        outputs = np.column_stack([1 - outputs, outputs])
    if outputs.shape[1] != len(fitted):
        wanted = "one output a class"
        raise ModelError("learner", got=f"{outputs.shape[1]} outputs for {len(fitted)} classes", wanted=wanted)
    found = np.zeros((len(outputs), len(classes)))
    found[:, _places(fitted, classes)] = outputs
    return found


def _places(fitted: tuple[Any, ...], classes: tuple[Any, ...]) -> list[int]:
    """The place among all classes of each that was fitted on: by itself, or by how it is spelled if that is clear."""
    if set(fitted) <= set(classes):
        return [classes.index(label) for label in fitted]
    spelled, known = [_spelled(label) for label in fitted], [_spelled(label) for label in classes]
    is_clear = len(set(known)) == len(known) and len(set(spelled)) == len(spelled)
    if not is_clear or not set(spelled) <= set(known):
        raise ModelError(
            "learner",
            got=f"the classes {_listed(fitted)}, which are not those of y: {_listed(classes)}",
            wanted="classes of y",
        )
    return [known.index(label) for label in spelled]


def _listed(labels: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, labels[:SHOWN])) + (" and more" if len(labels) > SHOWN else "")


def _spelled(label: Any) -> str:
    """A label by which 1, 1.0, True, "1" and "True" are the same, since libraries turn one into the other."""
    text = str(label)
    try:
        return repr(float({"True": "1", "False": "0"}.get(text, text)))
    except ValueError:
        return text


def _copied(learner: Any) -> Any:
    try:
        return fresh(learner)
    except Exception as error:
        raise InputError(
            "learner",
            got=f"{type(learner).__name__}, which cannot be copied ({error})",
            wanted="an estimator that scikit-learn can clone",
        ) from error


def _number(kept: np.ndarray) -> int:
    return int.from_bytes(np.packbits(kept).tobytes(), "big")


def _numbered(target: np.ndarray) -> np.ndarray:
    """Labels as numbers of their classes."""
    try:
        return np.asarray(np.unique(target, return_inverse=True)[1]).ravel()
    except TypeError as error:
        raise InputError("y", got=f"labels of different kinds ({error})", wanted="labels of one kind") from error


def _weights(given: Any, rows: Any, argument: str = "sample_weight", of: str = "X") -> np.ndarray | None:
    """Weights as they were given, checked."""
    if given is None:
        return None
    shares = read_weights(given, rows, len(rows), argument, of)
    return np.asarray(shares * (float(np.asarray(given, dtype=np.float64).max()) / shares.max()))


def _tested(test: Any, weights: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray | None]:
    """The rows to judge by, their responses, and their weights where given."""
    if not isinstance(test, (tuple, list)) or len(test) not in (2, 3):
        raise InputError(
            "test",
            got=type(test).__name__,
            wanted="(X_test, y_test), or with weights as a third",
            hint=[PythonOnly("test=(X_test, y_test)"), Or(), Set("test_size", 0.25)],
        )
    rows = as_table(test[0], "test")
    try:
        target = read_target(test[1], rows, len(rows))
    except InputError as error:
        raise InputError("test", **error.parts) from error
    return rows, target, _weights(test[2], rows, "test", "test") if len(test) == 3 else None


def _joined(target: np.ndarray, further: np.ndarray) -> np.ndarray:
    is_text = [one.dtype.kind in "OUS" for one in (target, further)]
    if target.shape[1:] != further.shape[1:] or is_text[0] != is_text[1]:
        raise InputError(
            "test",
            got=f"responses of shape {further.shape} and dtype {further.dtype}",
            wanted=f"such as y, of shape {target.shape} and dtype {target.dtype}",
        )
    return np.concatenate([target, further])


def _as_one_table(X: Any, further: Any, learner: Any) -> tuple[Schema, Any]:
    """All rows, as the kind of table that X is, or as a pandas frame where the learner may not take such."""
    schema = schema_of(X, further, argument="test")
    codes = schema.encode(X, "X")
    if further is not None:
        codes = np.vstack([codes, schema.encode(further, "test")])
    is_arrow, is_polars = schema.container == "pyarrow", schema.container == "polars"
    if is_arrow or (is_polars and takes_pandas_alone(learner)):
        schema = schema.handed_as("pandas")
    return schema, schema.decode(codes)
