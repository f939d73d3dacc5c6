"""Predictors: a model as a function f: rows -> (n, k), by itself and bound to the columns of a run."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from clarysage._utils.display import quoted_names
from clarysage._utils.pace import Pace
from clarysage._utils.threads import sequential_joblib
from clarysage.errors import (
    Argument,
    Call,
    ClarysageError,
    InputError,
    ModelError,
    PythonOnly,
    Set,
    in_python,
    parts_of,
    resembling,
)
from clarysage.protocols import Check, Kind, ModelFacts, Objective
from clarysage.structure.base import Structure
from clarysage.tables import Schema
from clarysage.tables.containers import count_rows, labels_of, select_columns

Task = Literal["classification", "regression", "ranking", "survival"]

ROWS_PER_CALL = 32_768
# how libraries say that they take no text
TEXT_REFUSED = (
    r"could not convert string to float: '(?P<text>.*)'|can't multiply sequence|pandas dtypes must be|"
    r"DataFrame.dtypes for data must be"
)
COPIES_PER_ROW = 6  # in memory while a model predicts: codes, table, and copies that the model makes


@dataclass(frozen=True)
class Predictor:
    """A model as a function of tables, with facts about it.

    Attributes
    ----------
    function : takes a table of rows and returns predictions, one row each
    task : what the model was fitted for, if known; those for ranking or survival do not predict a response
    classes : labels of its classes in the order of its outputs
    hard : whether its outputs are one-hot labels rather than probabilities
    feature_names : the columns it was fitted on
    containers : kinds of table it accepts ('numpy', 'pandas', 'polars', 'pyarrow'); other tables are converted to the
        first of them; empty if it accepts any
    structure : reads the structure of the model, or raises ``UnknownStructureError``; None where there is none
    origin : the model that it was made of, where that is more than a function
    outputs : the arguments ``output`` of the calls that made it of this model, in their order
    batch_size : largest number of rows in one call, if the user sets it
    objective : what the model was fitted to minimise, for predictions of the response; None if that is not known
    floor : the least probability of a class that its training rows can tell from zero, if it is known
    pace : of a run all of whose calls are measured together; by default each bound predictor measures its own
    name : the model in results and messages

    Examples
    --------
    >>> import clarysage as cs
    >>> f = cs.as_predictor(lambda X: X[:, 0] > 0, output="sigmoid")
    >>> isinstance(f, cs.Predictor), f.classes
    (True, None)
    """

    function: Callable[[Any], Any]
    name: str
    task: Task | None = None
    classes: tuple[Any, ...] | None = None
    hard: bool = False
    feature_names: tuple[str, ...] | None = None
    containers: tuple[str, ...] = ()
    structure: Callable[[], Structure] | None = None
    origin: Any = field(default=None, repr=False, compare=False)
    outputs: tuple[str, ...] = ()
    batch_size: int | None = None
    objective: Objective | None = None
    floor: float | None = None
    pace: Pace | None = field(default=None, repr=False, compare=False)

    @property
    def facts(self) -> ModelFacts:
        """The facts about the model that a loss depends on."""
        return ModelFacts(self.task, self.classes, self.hard, self.batch_size, self.floor, self.objective)

    def __call__(self, rows: Any) -> np.ndarray:
        """Returns finite predictions (n, k), float64, for a table of n rows with columns in any order."""
        return self.of_arranged(self.arrange(rows))

    def of_arranged(self, rows: Any) -> np.ndarray:
        """Returns predictions (n, k) for a table whose columns are in the model's order."""
        try:
            with sequential_joblib():
                raw = self.function(rows)
        except ClarysageError:
            raise
        except Exception as error:
            raise _failure(self.name, error) from error
        return _as_outputs(raw, count_rows(rows), self.name)

    def arrange(self, X: Any) -> Any:
        """Returns X with its columns in the model's order, if both have column names."""
        labels = labels_of(X)
        if self.feature_names is None or labels is None or labels == self.feature_names:
            return X
        names = [str(label) for label in labels]
        order = _order(names, self.feature_names)
        if order is None:
            missing = [name for name in self.feature_names if name not in names]
            extra = [name for name in names if name not in self.feature_names]
            difference = "; ".join(
                f"{word} {', '.join(map(repr, columns[:5]))}"
                for word, columns in (("no", missing), ("extra", extra))
                if columns
            )
            raise InputError(
                "X",
                got=f"columns that differ from those {self.name} was fitted on: {difference}",
                wanted="the model's columns, in any order",
            )
        if order == sorted(order):
            return X
        return select_columns(X, [labels[j] for j in order])

    def known_columns(self, table: Any, argument: str) -> tuple[Any, tuple[str, ...]]:
        """Returns a table without columns that the model was not fitted on, with a note that names them.

        The other columns stay in their order. If the model does not know its columns, or the table lacks one of them,
        it is returned as it is.
        """
        labels = labels_of(table)
        if self.feature_names is None or labels is None or len(labels) <= len(self.feature_names):
            return table, ()
        for spelling in (str, _lightgbm_name):
            fitted = set(map(spelling, self.feature_names))
            selected = [label for label in labels if spelling(str(label)) in fitted]
            if len(selected) == len(self.feature_names):
                extra = quoted_names([str(label) for label in labels if label not in selected])
                note = f"{argument}: left out the columns {extra}, which {self.name} was not fitted on."
                return select_columns(table, selected), (note,)
        return table, ()

    def bind(self, schema: Schema) -> BoundPredictor:
        """Returns the predictor for rows of codes of the given columns."""
        is_accepted = not self.containers or schema.container in self.containers
        # text does not fit into an array of numbers, but the model may accept the table as it is
        if not is_accepted and (self.containers[0] != "numpy" or schema.is_number.all()):
            labels = self.feature_names if schema.labels is None else None
            schema = schema.for_container(self.containers[0], labels)
        pace = Pace() if self.pace is None else self.pace
        return BoundPredictor(self, schema, pace, is_arranged=self._has_order_of(schema))

    def _has_order_of(self, schema: Schema) -> bool:
        """Returns True if tables of the schema have the model's column order, so that none has to be rearranged."""
        if self.feature_names is None or schema.container == "numpy" or schema.names == self.feature_names:
            return True
        return _order(list(schema.names), self.feature_names) == list(range(schema.width))


@dataclass(frozen=True)
class BoundPredictor:
    """Predictor for rows of codes (n, d): decodes them, calls the model with a bounded number of rows, and checks.

    ``pace`` is the measured speed of the calls, and the deadline of a run.
    """

    predictor: Predictor
    schema: Schema
    pace: Pace = field(repr=False, compare=False)
    checks: tuple[Check, ...] = ()
    memory_limit: float = 1e9
    rows_asked: int = 0  # spent to find out what kind of table the model accepts
    is_arranged: bool = False  # whether the schema has the columns in the model's order

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        pace, parts, start = self.pace, [], 0
        while start < len(codes):
            size = min(self.rows_per_call, pace.rows_of_call(len(codes) - start))
            began = time.monotonic()
            parts.append(self._one_call(codes[start : start + size]))
            pace.record(size, time.monotonic() - began)
            start += size
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @cached_property
    def facts(self) -> ModelFacts:
        return self.predictor.facts

    def __conform__(self, kind: type[Kind]) -> object:
        """Returns the measured speed of the model, which is an ability of all that calls it."""
        return self.pace if kind is Pace else None

    @cached_property
    def rows_per_call(self) -> int:
        """Number of rows in one call: a power of two, or the user's setting, within the memory limit."""
        affordable = self.memory_limit / (8 * COPIES_PER_ROW * max(self.schema.cells_per_row, 1))
        most = self.predictor.batch_size or ROWS_PER_CALL
        return int(min(most, 2 ** max(0, math.floor(math.log2(max(affordable, 1))))))

    def guarded(self, checks: tuple[Check, ...]) -> BoundPredictor:
        """Returns a copy that applies the given checks to every batch of outputs."""
        return replace(self, checks=checks)

    def _one_call(self, codes: np.ndarray) -> np.ndarray:
        try:
            rows = self.schema.decode(codes)
            outputs = self.predictor.of_arranged(rows) if self.is_arranged else self.predictor(rows)
        except ModelError as error:
            raise self._with_texts(self._with_missing(codes, error)) from error.__cause__
        for check in self.checks:
            check(outputs)
        return outputs

    def _with_missing(self, codes: np.ndarray, error: ModelError) -> ModelError:
        """Returns the error; names the columns with missing or infinite cells if these are a likely cause."""
        is_suspect = ~np.isfinite(codes).all(axis=0)
        if not is_suspect.any():
            return error
        names = ", ".join(repr(self.schema.names[j]) for j in np.flatnonzero(is_suspect)[:5])
        return ModelError(
            "X or background",
            got=[f"missing or infinite cells in {names}, which the model does not accept (", *error.got, ")"],
            wanted="cells that the model accepts",
            hint="an imputer in the model's pipeline",
        )

    def _with_texts(self, error: ModelError) -> ModelError:
        """Returns the error; names the columns of text if a library says that text is the cause.

        In a pipeline, some columns of text may be encoded: only those with the text that the library quotes are named.
        """
        reason = re.search(TEXT_REFUSED, in_python(error.got))
        columns = zip(self.schema.names, self.schema.decoders, strict=True)
        texts = {name: values for name, column in columns if reason and (values := column.texts)}
        if hasattr(self.predictor.origin, "steps"):
            texts = {name: values for name, values in texts.items() if reason and reason["text"] in values} or texts
        if not texts:
            return error
        return ModelError(
            "X or background",
            got=[
                f"text in the column{'s' if len(texts) > 1 else ''} {quoted_names(list(texts))}, which "
                f"{self.predictor.name} does not accept (",
                *parts_of(error.got),
                ")",
            ],
            wanted="numbers",
            hint="a pipeline that encodes text",
        )


def _order(names: list[str], fitted: tuple[str, ...]) -> list[int] | None:
    """Returns the indices of the fitted columns among ``names``; None where the two sets of names differ.

    Names that differ as they are get compared in LightGBM's spelling, with _ for blanks and signs.
    """
    for spelling in (str, _lightgbm_name):
        index = {spelling(name): j for j, name in enumerate(names)}
        in_order = [spelling(name) for name in fitted]
        if len(index) == len(names) and sorted(index) == sorted(in_order):
            return [index[name] for name in in_order]
    return None


def _lightgbm_name(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _failure(name: str, error: Exception) -> ModelError:
    text = " ".join(str(error).split())[:300].rstrip(".")
    if type(error).__name__ == "NotFittedError":
        return ModelError(
            "model",
            got=f"{name}, which is not fitted",
            wanted="a fitted model",
            hint=PythonOnly("model.fit(...) first"),
        )
    return ModelError(
        "model",
        got=f"{type(error).__name__} from {name}: {text}",
        wanted="predictions",
        hint=["calling the model on a few rows of ", Argument("X"), " by itself"],
    )


def _as_outputs(raw: Any, n_rows: int, name: str) -> np.ndarray:
    if type(raw).__module__.startswith("torch"):
        raw = raw.detach().cpu().numpy()
    if isinstance(raw, np.ma.MaskedArray) and np.ma.is_masked(raw):
        raise ModelError("model", got=f"masked outputs of {name}", wanted="a prediction for each row")
    try:
        outputs = np.asarray(raw)
        if outputs.dtype.kind in "Mm":
            raise TypeError("dates and durations")
        if outputs.dtype.kind in "USO":
            outputs = outputs.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(
            "model",
            got=f"outputs of {name} that are not numbers",
            wanted=["numbers, one row of them for each row of ", Argument("X")],
            hint=[
                Call("as_predictor", "model", (Set("output", "predict_proba"),)),
                " for a classifier that returns labels",
            ],
        ) from error
    if outputs.dtype.kind == "c":
        raise ModelError("model", got=f"complex outputs of {name}", wanted="real numbers")
    has_unit_axes = outputs.ndim > 2 and outputs.size == n_rows * outputs.shape[-1]  # such as (n, 1, k)
    if outputs.size == 0 or outputs.ndim == 0 or len(outputs) != n_rows or (outputs.ndim > 2 and not has_unit_axes):
        raise ModelError(
            "model",
            got=f"outputs of shape {outputs.shape} from {name} for {n_rows:,} rows",
            wanted="one prediction, or one row of predictions, for each row",
        )
    outputs = outputs.reshape(n_rows, -1).astype(np.float64)
    if not np.isfinite(outputs).all():
        bad = int((~np.isfinite(outputs)).any(axis=1).sum())
        raise ModelError(
            "model", got=f"NaN or infinity from {name} for {bad:,} of {n_rows:,} rows", wanted="finite numbers"
        )
    return outputs


def feature_columns(
    columns: Sequence[str], fitted: Sequence[str] | None, excluded: Collection[str], *, argument: str, table: str
) -> list[str]:
    """Returns the columns that a model was fitted on, in its order; if it has no names, all columns but ``excluded``.

    Parameters
    ----------
    columns : names of the table's columns
    fitted : the model's feature names, None where it has none
    excluded : columns with another role, such as the target
    argument, table : names of the argument and of the table in errors

    Examples
    --------
    >>> feature_columns(["y", "b", "a b"], ["a_b", "b"], ["y"], argument="X", table="X")
    ['a b', 'b']
    >>> feature_columns(["y", "b", "a"], None, ["y"], argument="X", table="X")
    ['b', 'a']
    """
    if fitted is None:
        features = [column for column in columns if column not in excluded]
    else:
        in_use = {_lightgbm_name(name) for name in (*fitted, *excluded)}
        unused = [column for column in columns if _lightgbm_name(column) not in in_use]
        features = [_column_of(name, columns, unused, argument, table) for name in fitted]
    if not features:
        raise InputError(argument, got=f"{table} with no column that is a feature", wanted="features")
    return features


def _column_of(name: str, columns: Sequence[str], unused: Sequence[str], argument: str, table: str) -> str:
    """Returns the column of a feature; LightGBM spells blanks and signs in names as underscores.

    The error for a column that is not there suggests one of the ``unused`` columns.
    """
    if name in columns:
        return name
    alike = [column for column in columns if _lightgbm_name(column) == _lightgbm_name(name)]
    if len(alike) == 1:
        return alike[0]
    raise InputError(
        argument,
        got=f"{table} without the column {name!r}, which the model was fitted on",
        wanted="the model's columns, in any order",
        hint=resembling(name, unused),
    )
