"""Model monitoring: compares what features contribute on current rows with what they do on reference rows.

The distribution of a column can change (data drift), and the contribution of a feature. Both are tested, and a feature
is flagged by both together: see :class:`~clarysage.Monitoring`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from clarysage._measures.examples import check_size
from clarysage._measures.options import SEVERAL_RUNS, Run, RunOptions, with_shared_options
from clarysage._measures.problem import sampled_background
from clarysage._measures.sage import sage
from clarysage._utils.display import shortened
from clarysage.drift import shifts_of_each
from clarysage.errors import ClarysageWarning, Either, InputError, Note, RunFailedError, Set, as_note, parts_of
from clarysage.execution.observers import say_what
from clarysage.execution.seeds import entropy_of
from clarysage.inference.estimate import StopReason
from clarysage.losses import as_loss
from clarysage.losses.choice import is_auto, is_several, several_in_words
from clarysage.losses.classification import presumed_classes
from clarysage.models import as_predictor
from clarysage.models.pipelines import pipeline_in, step_of_texts
from clarysage.monitoring.data import (
    LONGEST_NAME,
    ColumnRoles,
    RowSet,
    errors_in,
    features_note,
    select_columns_of,
)
from clarysage.monitoring.slices import Slices, slice_rows
from clarysage.protocols import GroupsLike, LossLike, MethodLike, ModelLike, RemovalLike, Seed, TableLike
from clarysage.removal import default_rows, is_auto_conditional
from clarysage.results import Explanation, Monitoring, Shift, compare
from clarysage.results.compare import check_comparison_options
from clarysage.tables import as_table, labels_of, rows_of
from clarysage.tables.target import read_target

INTERRUPTED = Note("The run was interrupted before its end.")  # why slices are left out


@with_shared_options(
    unused={"feature_names": "features are called as the columns of the tables"},
    refused={
        "checkpoint": SEVERAL_RUNS,
        **dict.fromkeys(("after", "max_players"), "None, since shifts are those of the columns of both tables"),
    },
)
def monitor(
    model: ModelLike,
    reference: TableLike | tuple[Any, ...],
    current: TableLike | tuple[Any, ...],
    *,
    target: str | None = None,
    by: str | Iterable[Any] | None = None,
    every: str | int | None = None,
    background: TableLike | None = None,
    background_rows: int | None = None,
    removal: RemovalLike = "marginal",
    loss: LossLike = "auto",
    method: MethodLike = "auto",
    groups: GroupsLike | None = None,
    sample_weight: str | None = None,
    paired: bool | None = None,
    adjust: str | None = "holm",
    level: float = 0.95,
    rng: Seed = None,
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> Monitoring:
    """Finds features whose contributions changed, and columns whose distribution shifted.

    Explains the model on both tables with the same background, tests which contributions changed
    (:func:`~clarysage.compare`) and, separately, which columns are distributed differently than before (data drift).

    Parameters
    ----------
    model : as in :func:`~clarysage.sage`
    reference, current : tables with the features and the target, such as the rows that the model was tested on, and
        those of last week; or pairs ``(X, y)``, or ``(X, y, weights)``. If the model knows its columns, these are used
    target : the column that the model predicts. None where responses are not known yet: then contributions to the
        variance of the model's output are compared (Shapley effects), and losses are not
    by : a column of current, or one entry for each of its rows, with dates or batches: a series of slices is compared
        with the reference. Where the column is a feature, its own shift is not tested. A slice that cannot be explained
        is left out, with a warning and the reason in ``left_out``
    every : how long slices are, for dates: "hour", "day", "week", "month", "quarter" or "year"; or a number: slices of
        so many rows in the order of ``by``, or of the table. Default: a slice for each distinct entry, in the order of
        categories, of numbers, or of text; for dates the finest period with at most 30 slices, most of 100 rows or
        more. Slices of fewer than 20 rows are left out
    background : rows that stand in for withheld features, the same for all. Default: rows drawn from the reference
    background_rows : how many of them. Default 512, or 4,096 for a removal that learns from them
    sample_weight : a column with the weight of each row; inputs are compared without weights
    paired : whether current has the same rows as reference in the same order, such as when a fault is simulated
    adjust, level : of p-values, as in :func:`~clarysage.compare`: over all features and slices, separately for
        contributions and for inputs. With Holm's method the chance of any flag is at most 1 - level (and a thousandth
        of it, for inputs that shifted for certain) where nothing changed
    removal, loss, method, groups, rng : as in :func:`~clarysage.sage`
    tolerance, budget, deadline : of each explanation: stop when the largest standard error is below this share of the
        range of the values, at this many model rows, or after this many seconds

    Returns
    -------
    Monitoring

    Notes
    -----
    A changed contribution does not say which column broke, since contributions depend on each other; a shifted column
    may not matter. A feature is flagged where both changed; where its contribution changed, and both did for no other
    feature; or where its column shifted beyond doubt and far, which few rows may not show in the loss. Tests assume
    that rows are drawn independently: a season, or rows of the same customers, can change contributions without any
    fault.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> def rows(n):
    ...     frame = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    ...     return frame.assign(y=2 * frame["a"] + frame["b"] + rng.normal(size=n))
    >>> reference, current = rows(500), rows(500).assign(b=lambda frame: 60 * frame["b"])
    >>> f = lambda X: 2 * X["a"] + X["b"]
    >>> monitoring = monitor(f, reference, current, target="y", loss="squared error", rng=0)
    >>> monitoring.flagged
    ['b']
    """
    check_comparison_options(paired, adjust, level)
    _check_loss(loss)
    _check_background_rows(background_rows, removal)
    f, entropy = as_predictor(model), entropy_of(rng)
    _refuse_texts(model)
    before, after = ColumnRoles(target, sample_weight, by).split(reference, current, f)
    if by is None and every is None:
        slices = Slices(("current",), (np.arange(len(after.X)),))
    else:
        slices = slice_rows(after.slice_labels, every, len(after.X))
    _check_paired(paired, len(before.X), slices)
    labels = labels_of(before.X)
    columns = None if labels is None else [str(label) for label in labels]
    shifts = shifts_of_each(before.X, [rows_of(after.X, indices) for indices in slices.indices], columns)
    shifts, slicing_note = _without_slicing_column(by, shifts)
    shared: dict[str, Any] = {
        "background": _background(background, background_rows, removal, before.X, entropy),
        "method": method,
        "groups": groups,
        "rng": entropy,
        "run": run,
        **options,
    }
    explainer = Explainer(model, loss, removal, shared)
    say_what("reference")
    with errors_in("reference", before, before.X, ()):
        first = explainer.explain(before)
    if first.stopped is StopReason.INTERRUPTED:
        raise KeyboardInterrupt  # there is nothing to compare
    explained = _explain_slices(explainer.with_choices_of(first, before), before, after, slices, shifts)
    explanations = [first, *explained.explanations.values()]
    names = ("reference", *(slices.names[k] for k in explained.explanations))
    comparison = compare(explanations, names=names, paired=paired, adjust=adjust, level=level)
    notes = (*map(as_note, (*features_note(before.X, f), *slicing_note, *slices.notes)), *explained.notes)
    return Monitoring(
        comparison, tuple(shifts[k] for k in explained.explanations), notes, explained.left_out, slices.is_in_order
    )


@dataclass(frozen=True)
class Explainer:
    """Explains a model on rows, with the same options for all of them."""

    model: ModelLike
    loss: LossLike
    removal: RemovalLike
    options: dict[str, Any]

    def explain(self, rows: RowSet) -> Explanation:
        explanation: Explanation = sage(
            self.model,
            rows.X,
            rows.y,
            sample_weight=rows.weights,
            loss=self.loss,
            removal=self.removal,
            **self.options,
        )
        return explanation

    def with_choices_of(self, first: Explanation, reference: RowSet) -> Explainer:
        """Freezes loss, removal and classes as chosen for the reference, so that slices are comparable."""
        loss = first.loss if is_auto(self.loss) else self.loss
        removal = first.removal if is_auto_conditional(self.removal) else self.removal
        return replace(self, model=self._model_with_classes(first, loss, reference), loss=loss, removal=removal)

    def _model_with_classes(self, first: Explanation, loss: LossLike, reference: RowSet) -> ModelLike:
        """Gives a model that does not know its classes those of the reference, since a slice may lack some.

        With the labels 1 and 2, a slice that has only 1 would otherwise be taken for one with the classes 0 and 1.
        """
        f = as_predictor(self.model)
        if f.classes is not None or first.values_are != "gain" or as_loss(loss).task != "classification":
            return self.model
        y = read_target(reference.y, reference.X, len(reference.X))
        if y.ndim > 1:  # probabilities of classes
            return self.model
        outputs = f(rows_of(reference.X, [0])).shape[1]
        return as_predictor(self.model, classes=presumed_classes(y, max(outputs, 2)))


@dataclass(frozen=True)
class ExplainedSlices:
    """Explanations of slices, by their indices, and why the others have none, by their names."""

    explanations: dict[int, Explanation]
    left_out: dict[str, Note]

    @property
    def notes(self) -> list[Note]:
        """A note on each slice that failed, and one on all slices that an interrupt left out."""
        failed = {name: reason for name, reason in self.left_out.items() if reason != INTERRUPTED}
        notes = [
            _with_prefix(f"Left out: {name!r}, which cannot be explained. ", reason) for name, reason in failed.items()
        ]
        interrupted = [name for name in self.left_out if name not in failed]
        if interrupted:
            others = f" and {len(interrupted) - 1} more" if len(interrupted) > 1 else ""
            verb = "are" if others else "is"
            notes.append(Note(f"Interrupted: {interrupted[0]!r}{others} {verb} left out."))
        return notes


def _explain_slices(
    explainer: Explainer, before: RowSet, after: RowSet, slices: Slices, shifts: tuple[tuple[Shift, ...], ...]
) -> ExplainedSlices:
    """Explains slices one after the other; raises an error where none of them can be explained."""
    explanations: dict[int, Explanation] = {}
    failed: dict[str, InputError | RunFailedError] = {}
    for k, name in enumerate(slices.names):
        say_what(name)
        try:
            rows = after.take(slices.indices[k])
            with errors_in(name, rows, before.X, shifts[k]):
                explanation = explainer.explain(rows)
        except KeyboardInterrupt:
            if not explanations:
                raise
            break
        except (InputError, RunFailedError) as error:
            failed[name] = error
            continue
        is_interrupted = explanation.stopped is StopReason.INTERRUPTED
        if not is_interrupted or not explanations:  # an unfinished slice is of use where it is the only one
            explanations[k] = explanation
        if is_interrupted:
            break
    if not explanations:
        raise next(iter(failed.values()))
    missing = [name for k, name in enumerate(slices.names) if k not in explanations]
    left_out = {name: failed[name].note if name in failed else INTERRUPTED for name in missing}
    for name in failed:
        note = _with_prefix(f"The slice {name!r} is left out, since it cannot be explained: ", left_out[name])
        warnings.warn(ClarysageWarning(note), stacklevel=3)
    return ExplainedSlices(explanations, left_out)


def _with_prefix(prefix: str, note: Note) -> Note:
    return replace(note, text=(prefix, *parts_of(note.text)))


def _without_slicing_column(by: Any, shifts: tuple[tuple[Shift, ...], ...]) -> tuple[Any, list[str]]:
    """Clears the shifts of the column that defines slices, which slicing itself causes, and returns a note on that."""
    name = by if isinstance(by, str) else getattr(by, "name", None)
    if not isinstance(name, str) or not any(shift.column == name for shift in shifts[0]):
        return shifts, []
    cleared = tuple(
        tuple(replace(shift, p_value=1.0, hints=()) if shift.column == name else shift for shift in of_slice)
        for of_slice in shifts
    )
    note = f"Slices are cut by {shortened(name, LONGEST_NAME)!r}, a feature: whether its inputs shifted is not tested."
    return cleared, [note]


def _refuse_texts(model: Any) -> None:
    """Raises an error for a model of texts, whose words have no columns in the tables."""
    if step_of_texts(model) is not None:
        raise InputError(
            "model",
            got=f"a {type(pipeline_in(model)).__name__} of texts",
            wanted="a model of the columns of both tables, whose shifts are tested",
            hint=Either(
                python="model[1:], and both tables with columns that model[:1].transform(texts) makes",
                shell="files of the columns that the first step makes of texts, and of the rest of the pipeline",
            ),
        )


def _check_loss(loss: Any) -> None:
    if is_several(loss):
        got = several_in_words(loss)
        raise InputError("loss", got=got, wanted="one loss to watch", hint=Set("loss", "cross entropy"))


def _check_background_rows(rows: Any, removal: RemovalLike) -> None:
    check_size(rows, "background_rows", "rows", Set("background_rows", 512))
    if rows is not None and not isinstance(removal, str):
        raise InputError(
            "background_rows",
            got=f"{rows:,} together with a removal object",
            wanted="one of the two",
            hint=["leaving out ", Set("background_rows"), ", since the object has rows of its own"],
        )


def _check_paired(paired: bool | None, rows: int, slices: Slices) -> None:
    """Raises an error, before anything is explained, where rows cannot be the same as those of the reference."""
    for name, indices in zip(slices.names, slices.indices, strict=True):
        if paired and len(indices) != rows:
            raise InputError(
                "paired",
                got=f"True, with {rows:,} rows of reference and {len(indices):,} of {name!r}",
                wanted="the rows of reference, in the same order",
                hint=[Set("paired", False), " for other rows"],
            )


def _background(given: Any, rows: int | None, removal: Any, X: Any, entropy: int) -> Any:
    """Returns the rows that stand in for withheld features, the same for all explanations."""
    if not isinstance(removal, str):
        return given  # None, or sage raises an error: a removal object has a background of its own
    source = X if given is None else select_columns_of(X, as_table(given, "background"))
    if given is not None and rows is None:
        return source
    return sampled_background(source, default_rows(removal) if rows is None else rows, entropy)[0]
