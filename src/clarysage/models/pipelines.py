"""Pipelines and other wrappers of models, such as searches: the estimator at their end, and parts of a pipeline.

:func:`unwrap` finds the last estimator, and the transformers before it. :class:`PipelineStep` is a pipeline divided
after one of its steps: the transformers up to it, and the rest, which is a model itself. Its features are the columns
that the step makes, such as the words of texts after a vectorizer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clarysage._utils.display import LISTED, quoted_names
from clarysage.errors import ClarysageError, Either, InputError, Set, resembling
from clarysage.models.adapter import as_predictor
from clarysage.models.outputs import unfitted
from clarysage.models.predictor import Predictor
from clarysage.models.scikit_learn import SEARCHES
from clarysage.structure.base import Structure
from clarysage.structure.columnwise import Transformed, active_steps, owners
from clarysage.tables import container_of, in_memory, is_on_disk, labels_of
from clarysage.tables.cells import backend

WRAPPERS = {"TransformedTargetRegressor": "regressor_", "FrozenEstimator": "estimator"}
VECTORIZERS = {"CountVectorizer", "HashingVectorizer"}  # of texts; a TfidfVectorizer is a CountVectorizer
NAMES_SHOWN = 8
NO_PIPELINE = Either(
    python="make_pipeline(step, model) of both, fitted, as the model; or the rows that the step makes as X",
    shell="a file of the fitted pipeline, with this step and the model",
)


@dataclass(frozen=True)
class InnerColumns:
    """Origin of the columns that a part of a model gets.

    Attributes
    ----------
    owner : the model's column that each inner column is made of, (D,); None where both are the same
    view : turns a table, as the model gets it, into inner columns (n, D); None where these are its numbers
    """

    owner: np.ndarray | None = None
    view: Callable[[Any], np.ndarray] | None = None

    @classmethod
    def of(cls, structure: Structure) -> InnerColumns:
        """Returns the inner columns of a structure."""
        return cls(structure.owner, structure.view)


@dataclass(frozen=True)
class Unwrapped:
    """The last estimator of a model, and the fitted transformers before it, in their order."""

    last: Any
    before: tuple[Any, ...] = ()

    def inner_columns(self) -> InnerColumns:
        """Returns the columns of the last estimator; raises where transformers mix columns, or might."""
        columns = InnerColumns()
        for transformer in reversed(self.before):
            owner = owners(transformer)
            if columns.owner is not None:
                owner = owner[columns.owner]
            columns = InnerColumns(owner, Transformed(transformer, columns.view))
        return columns


def unwrap(model: Any) -> Unwrapped:
    """Returns the last estimator of pipelines, searches, predictors, and models of a transformed response.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> unwrap(make_pipeline(StandardScaler(), Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])).last
    Ridge()
    """
    outer = Unwrapped(model)
    while (inner := _within(outer.last)) is not None:
        outer = replace(inner, before=(*outer.before, *inner.before))
    return outer


def _within(model: Any) -> Unwrapped | None:
    """Returns the content of a wrapper; None for a model that is not a wrapper."""
    if isinstance(model, Predictor):
        return None if model.origin is None else Unwrapped(model.origin)
    name = type(model).__name__
    if not type(model).__module__.startswith("sklearn."):
        return None
    if name == "Pipeline" and model.steps[-1][1] not in (None, "passthrough"):
        return Unwrapped(model.steps[-1][1], (model[:-1],) if len(active_steps(model)) > 1 else ())
    attribute = "best_estimator_" if name in SEARCHES else WRAPPERS.get(name, "")
    return Unwrapped(getattr(model, attribute)) if hasattr(model, attribute) else None


@dataclass(frozen=True)
class PipelineStep:
    """A fitted pipeline, divided after the step ``name``.

    Attributes
    ----------
    transformers : the pipeline up to this step
    model : the rest of the pipeline, or its last estimator if that is all that is left; as a predictor with the same
        output, classes and batches if the pipeline was given as one

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> pipeline = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["good food", "bad food"], [1, 0])
    >>> step = PipelineStep.of(pipeline, "countvectorizer")
    >>> step.model
    LogisticRegression()
    >>> step.feature_names
    ('bad', 'food', 'good')
    """

    name: str
    transformers: Any
    model: Any

    @classmethod
    def of(cls, model: Any, name: Any) -> PipelineStep:
        """Divides a pipeline, or the best one of a search, after the step of a name."""
        pipeline = pipeline_in(model)
        if pipeline is None:
            kind = type(model).__name__
            raise InputError(
                "after",
                got=f"{name!r} with a {kind}",
                wanted="a fitted pipeline that has this step",
                hint=NO_PIPELINE,
            )
        names = [step for step, _ in pipeline.steps]
        shown = ", ".join(map(repr, names[: min(len(names) - 1, NAMES_SHOWN)]))
        if name not in names:
            raise InputError(
                "after",
                got=f"{name!r}, which is no step of {type(pipeline).__name__}",
                wanted=f"one of {shown}",
                hint=resembling(name, names) if isinstance(name, str) else "",
            )
        count = names.index(name) + 1
        if count == len(names):
            raise InputError(
                "after", got=f"{name!r}, the last step of {type(pipeline).__name__}", wanted=f"one of {shown}"
            )
        rest = pipeline[count:]
        rest = rest[-1] if len(rest) == 1 else rest
        return cls(name, pipeline[:count], _alike(rest, model) if isinstance(model, Predictor) else rest)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns that the step makes; None if it has none, like a hashing vectorizer."""
        try:
            return tuple(map(str, self.transformers.get_feature_names_out()))
        except (AttributeError, TypeError, ValueError):
            return None

    def transform(self, rows: Any, argument: str) -> Any:
        """Returns the rows of an argument as the step returns them."""
        if is_on_disk(rows):
            raise InputError(argument, got="a table on disk", wanted=["a table in memory, with ", Set("after")])
        rows = in_memory(rows, argument)
        if takes_texts(self.transformers):
            rows = _one_column(rows, argument)
        try:
            return self.transformers.transform(rows)
        except ClarysageError:
            raise
        except Exception as error:
            if type(error).__name__ == "NotFittedError":
                raise unfitted(active_steps(self.transformers)[0]) from error
            text = " ".join(str(error).split())[:300].rstrip(".")
            raise InputError(
                argument,
                got=f"{type(error).__name__} from the step {self.name!r}: {text}",
                wanted="rows that the pipeline takes",
            ) from error


def pipeline_in(model: Any) -> Any:
    """Returns the pipeline that a model is, or is a predictor of, or that a search has found; None for other models."""
    if isinstance(model, Predictor):
        return pipeline_in(model.origin)
    if not type(model).__module__.startswith(("sklearn.", "imblearn.")):
        return None
    if type(model).__name__ in SEARCHES:
        return pipeline_in(getattr(model, "best_estimator_", None))
    return model if hasattr(model, "steps") and hasattr(model, "__getitem__") else None


def _alike(model: Any, f: Predictor) -> Predictor:
    """Returns a model as a predictor with the output, the classes and the batches of another one."""
    first, *further = f.outputs or (None,)
    alike = as_predictor(model, output=first, batch_size=f.batch_size)
    for output in further:
        alike = as_predictor(alike, output=output)
    return alike if f.classes in (None, alike.classes) else as_predictor(alike, classes=f.classes)


def takes_texts(transformer: Any) -> bool:
    """Tells whether a transformer, or the first step of a pipeline, turns a list of texts into columns."""
    if hasattr(transformer, "steps"):
        steps = active_steps(transformer)
        return bool(steps) and takes_texts(steps[0])
    if hasattr(transformer, "transformer_list"):
        return any(takes_texts(member) for _, member in transformer.transformer_list)
    return any(kind.__name__ in VECTORIZERS for kind in type(transformer).__mro__)


def step_of_texts(model: Any) -> str | None:
    """Returns the name of the step of a model that turns texts into columns; None if it has none."""
    pipeline = pipeline_in(model)
    if pipeline is None or not takes_texts(pipeline):
        return None
    return next(str(name) for name, step in pipeline.steps if step is not None and step != "passthrough")


def _one_column(rows: Any, argument: str) -> Any:
    """Returns texts as a vectorizer takes them: the column of a table that has only one, and other data as they are."""
    if isinstance(rows, (list, tuple)) and any(isinstance(row, (list, tuple)) for row in rows):
        rows = np.array(rows, dtype=object)
    if len(getattr(rows, "shape", ())) == 2:
        columns = backend(container_of(rows)).split(rows)
        if len(columns) != 1:
            raise _several_columns(rows, columns, argument)
        rows = columns[0]
    return rows.to_pylist() if hasattr(rows, "to_pylist") else rows


def _several_columns(rows: Any, columns: Sequence[Any], argument: str) -> InputError:
    """Returns the error for a table of several columns, of which the only one without numbers has the texts."""
    names = [f"x{j}" for j in range(len(columns))] if labels_of(rows) is None else list(map(str, labels_of(rows) or ()))
    texts = [
        name for name, cells in zip(names, columns, strict=True) if not backend(container_of(rows)).is_number(cells)
    ]
    hint = Either(python="one of them alone", shell="--drop for each other column")
    if len(texts) == 1 and len(names) <= LISTED:
        others = [f"--drop {name if name.isidentifier() else repr(name)}" for name in names if name != texts[0]]
        hint = Either(python=f"the column {texts[0]!r} alone", shell=" ".join(others))
    return InputError(
        argument,
        got=f"{len(columns):,} columns, {quoted_names(names)}" if columns else "no column",
        wanted="texts, or one column of them",
        hint=hint,
    )
