"""Predictors: a model as a function f: rows -> (n, k), alone and bound to the columns of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from clarysage._utils.threads import unshared
from clarysage.errors import Argument, Call, ClarysageError, InputError, ModelError, PythonOnly, Set, resembling
from clarysage.protocols import Check, ModelFacts
from clarysage.structure.base import Structure
from clarysage.tables import Schema
from clarysage.tables.containers import labels_of, select

Task = Literal["classification", "regression"]

ROWS_PER_CALL = 32_768
COPIES_PER_ROW = 6  # of a row, held at once while a model predicts: codes, table, and what the model makes of it


@dataclass(frozen=True)
class Predictor:
    """A model as a function of tables, with what is known about it.

    Attributes
    ----------
    function : takes a table of rows, returns predictions, one row each
    task : what the model was fitted for, if it says so
    classes : labels of its classes in the order of its outputs
    hard : whether its outputs are votes (labels, one-hot) rather than probabilities
    feature_names : the columns it was fitted on
    containers : the kinds of table it takes ('numpy', 'pandas', 'polars', 'pyarrow'), the first of them made of any
        other; none if it takes whatever the user has
    structure : reads its insides, where a walk can make use of them, or says why it cannot
    origin : the model that it was made of, where that is more than a function
    batch_size : how many rows it gets at once, at most, where the user says so
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
    batch_size: int | None = None

    def __call__(self, rows: Any) -> np.ndarray:
        """Predictions (n, k) for a table of n rows, its columns in any order, float64 and finite."""
        return self.of_arranged(self.arrange(rows))

    def of_arranged(self, rows: Any) -> np.ndarray:
        """Predictions (n, k) for a table whose columns are in the order the model was fitted on."""
        try:
            with unshared():
                raw = self.function(rows)
        except ClarysageError:
            raise
        except Exception as error:
            raise _failure(self.name, error) from error
        return _as_outputs(raw, len(rows), self.name)

    def arrange(self, X: Any) -> Any:
        """X with its columns in the order the model was fitted on, where both know names."""
        labels = labels_of(X)
        if self.feature_names is None or labels is None or labels == self.feature_names:
            return X
        names = [str(label) for label in labels]
        order = _order(names, self.feature_names)
        if order is None:
            missing = [name for name in self.feature_names if name not in names]
            extra = [name for name in names if name not in self.feature_names]
            what = "; ".join(
                f"{word} {', '.join(map(repr, found[:5]))}"
                for word, found in (("no", missing), ("extra", extra))
                if found
            )
            raise InputError(
                "X",
                got=f"columns that differ from those {self.name} was fitted on: {what}",
                wanted="the model's columns, in any order",
            )
        if order == sorted(order):
            return X
        wanted = [labels[place] for place in order]
        return select(X, wanted)

    def bind(self, schema: Schema) -> BoundPredictor:
        """The predictor for rows of codes of the given columns."""
        is_taken = not self.containers or schema.container in self.containers
        # text has no place in an array of numbers; the model may yet know it
        if not is_taken and (self.containers[0] != "numpy" or schema.is_number.all()):
            labels = self.feature_names if schema.labels is None else None
            schema = schema.handed_as(self.containers[0], labels)
        return BoundPredictor(self, schema, is_arranged=self._has_order_of(schema))

    def _has_order_of(self, schema: Schema) -> bool:
        """Whether tables of the schema need no rearranging, so that not each of them has to be looked at."""
        if self.feature_names is None or schema.container == "numpy" or schema.names == self.feature_names:
            return True
        return _order(list(schema.names), self.feature_names) == list(range(schema.width))


@dataclass(frozen=True)
class BoundPredictor:
    """f for rows of codes (n, d) of known columns: decoded, predicted in calls of bounded size, checked."""

    predictor: Predictor
    schema: Schema
    checks: tuple[Check, ...] = ()
    memory_limit: float = 1e9
    rows_asked: int = 0  # to find out what kind of table the model takes
    is_arranged: bool = False  # whether the schema is known to have the columns in the model's order

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        parts = [
            self._one_call(codes[start : start + self.rows_per_call])
            for start in range(0, len(codes), self.rows_per_call)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def facts(self) -> ModelFacts:
        f = self.predictor
        return ModelFacts(f.task, f.classes, f.hard, f.batch_size)

    @property
    def rows_per_call(self) -> int:
        """Rows that go to the model at once: a power of two, or what the user says, within the memory limit."""
        affordable = self.memory_limit / (8 * COPIES_PER_ROW * max(self.schema.width, 1))
        most = self.predictor.batch_size or ROWS_PER_CALL
        return int(min(most, 2 ** max(0, math.floor(math.log2(max(affordable, 1))))))

    def guarded(self, checks: tuple[Check, ...]) -> BoundPredictor:
        """The same, looking at every batch of outputs with the given checks."""
        return replace(self, checks=checks)

    def _one_call(self, codes: np.ndarray) -> np.ndarray:
        try:
            rows = self.schema.decode(codes)
            outputs = self.predictor.of_arranged(rows) if self.is_arranged else self.predictor(rows)
        except ModelError as error:
            raise self._with_missing(codes, error) from error.__cause__
        for check in self.checks:
            check(outputs)
        return outputs

    def _with_missing(self, codes: np.ndarray, error: ModelError) -> ModelError:
        """The error, saying which columns have missing or infinite cells if that is a likely cause."""
        strange = ~np.isfinite(codes).all(axis=0)
        if not strange.any():
            return error
        names = ", ".join(repr(self.schema.names[j]) for j in np.flatnonzero(strange)[:5])
        return ModelError(
            "X or background",
            got=[f"missing or infinite cells in {names}, which the model does not accept (", *error.got, ")"],
            wanted="cells that the model accepts",
            hint="an imputer in the model's pipeline",
        )


def _order(names: list[str], fitted: tuple[str, ...]) -> list[int] | None:
    """Places of the fitted columns among ``names``; None where there are others or fewer.

    Where the names themselves differ, they are compared as LightGBM spells them: with _ for blanks and signs.
    """
    for spelled in (str, lambda name: re.sub(r"\W", "_", name)):
        place = {spelled(name): j for j, name in enumerate(names)}
        wanted = [spelled(name) for name in fitted]
        if len(place) == len(names) and sorted(place) == sorted(wanted):
            return [place[name] for name in wanted]
    return None


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
    is_stretched = outputs.ndim > 2 and outputs.size == n_rows * outputs.shape[-1]  # such as (n, 1, k)
    if outputs.size == 0 or outputs.ndim == 0 or len(outputs) != n_rows or (outputs.ndim > 2 and not is_stretched):
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
    columns: Sequence[str], fitted: Sequence[str] | None, apart: Collection[str], *, argument: str, table: str
) -> list[str]:
    """The columns that a model was fitted on, in its order; where it does not say, all that are for nothing else.

    Parameters
    ----------
    columns : of the table
    fitted : the model's names of its features, None where it has none
    apart : columns that are for something else, such as the target
    argument, table : what errors call the argument and the table

    Examples
    --------
    >>> feature_columns(["y", "b", "a b"], ["a_b", "b"], ["y"], argument="X", table="X")
    ['a b', 'b']
    >>> feature_columns(["y", "b", "a"], None, ["y"], argument="X", table="X")
    ['b', 'a']
    """
    if fitted is None:
        found = [column for column in columns if column not in apart]
    else:
        found = [_column_of(name, columns, argument, table) for name in fitted]
    if not found:
        raise InputError(argument, got=f"{table} with no column that is a feature", wanted="features")
    return found


def _column_of(name: str, columns: Sequence[str], argument: str, table: str) -> str:
    """The column that a feature is; LightGBM spells blanks and signs in names as underscores."""
    if name in columns:
        return name
    alike = [column for column in columns if re.sub(r"\W", "_", column) == re.sub(r"\W", "_", name)]
    if len(alike) == 1:
        return alike[0]
    raise InputError(
        argument,
        got=f"{table} without the column {name!r}, which the model was fitted on",
        wanted="the model's columns, in any order",
        hint=resembling(name, columns),
    )
