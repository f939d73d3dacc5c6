"""Any measure by its name, and all measures side by side."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack, cast, overload

from clarysage._measures.drop_column import fitted_predictor
from clarysage._measures.examples import known_columns, separate_targets, without_targets
from clarysage._measures.mean_shap import fewest_rows
from clarysage._measures.options import (
    DEFAULTS,
    SEVERAL_RUNS,
    SharedOptions,
    is_default,
    options_of,
    split_options,
    taking_shared_options,
    with_shared_options,
)
from clarysage._measures.refit_runs import TrainLike
from clarysage._measures.sage import game
from clarysage._measures.table import MEASURES, Measure, as_measure
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, MissingLibraryError, Note, RunFailedError, Set, as_note
from clarysage.execution.observers import say_what
from clarysage.execution.seeds import entropy_of
from clarysage.inference.estimate import StopReason
from clarysage.losses.choice import is_several, several_in_words
from clarysage.models import Predictor
from clarysage.models.learners import check_learner, learner_for_refits
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.removal import is_auto_conditional
from clarysage.results import Explanation, Importances, Traits
from clarysage.results.importances import INTERRUPTED
from clarysage.synonyms import SYNONYMS, counterpart
from clarysage.tables import check_order, in_memory

REFITS = Note(["Needs refits of learners, which may take long; ", Set("refits", True), " allows them."])
NO_TARGET = Note("Needs y, which was not given.")
COSTLY = 10_000_000  # model rows, for a mean that another measure estimates with fewer


@overload
def importance(
    name: str | Measure,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: object,
) -> list[Explanation]: ...


@overload
def importance(
    name: str | Measure,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: object,
) -> Explanation: ...


def importance(
    name: str | Measure, model: ModelLike, X: TableLike, y: TargetLike | None = None, **options: object
) -> Explanation | list[Explanation]:
    """Computes the importance of features by the measure of the given name.

    Parameters
    ----------
    name : "sage", "permutation importance", ..., a name of :func:`clarysage.measures`
    model, X, y : as in :func:`~clarysage.sage`
    options : those that all measures share, as in :func:`~clarysage.sage`, and those of the measure's own function. A
        note in the explanation names shared options that this measure does not use, so that a loop over names can pass
        the same options to all. A removal that the measure cannot use is replaced by its default

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> importance("sage", lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0).top(2)
    ['x0', 'x1']
    """
    measure = as_measure(name)
    function = taking_shared_options(measure.function)
    names = list(dict.fromkeys([*options_of(function), *DEFAULTS]))
    for option in options:
        if SYNONYMS.get(option, option) not in names:
            got, expected = f"an option that {measure.name!r} does not have", f"one of {', '.join(names)}"
            raise InputError(option, got=got, wanted=expected, hint=counterpart(option, names))
    removal = options.get("removal")
    if isinstance(removal, str) and not REMOVALS.is_special(removal):
        REMOVALS.get_row(removal)  # raises for an unknown name
    usual = inspect.signature(function).parameters.get("removal")
    has_own_default = usual is not None and usual.default != DEFAULTS["removal"]
    result: Explanation | list[Explanation] = explain_by_measure(
        measure, model, X, y, options, may_replace_removal=has_own_default
    )
    return result


def explain_by_measure(
    measure: Measure, model: Any, X: Any, y: Any, options: Mapping[str, Any], *, may_replace_removal: bool
) -> Any:
    """Returns the explanation by a measure; if it refuses the removal, with its default removal and a note."""
    function = taking_shared_options(measure.function)
    try:
        return function(model, X, y, **options)
    except InputError as error:
        if not may_replace_removal or error.argument != "removal" or "removal" not in options:
            raise
        note = Note((Set("removal"), " was not used: ", *error.got, " is not for this measure."))
    other_options = {name: value for name, value in options.items() if name != "removal"}
    result = function(model, X, y, **other_options)
    if isinstance(result, list):
        return [replace(explanation, notes=(*explanation.notes, note)) for explanation in result]
    return replace(result, notes=(*result.notes, note))


@with_shared_options(refused={"checkpoint": SEVERAL_RUNS})
def importances(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    measures: Iterable[str | Measure] | str | Measure | None = None,
    refits: bool = False,
    learner: object = None,
    train: TrainLike | None = None,
    loss: LossLike = "auto",
    **options: Unpack[SharedOptions],
) -> Importances:
    """Computes the importance of features by every measure that applies, side by side.

    Parameters
    ----------
    model, X, y : as in :func:`~clarysage.sage`; without y only measures that need none
    measures : names of :func:`clarysage.measures`, or :class:`~clarysage.Measure` objects; one that cannot be computed
        is an error. Default: all that apply to the model and the data; the others are in ``left_out``, with the reason
    refits : whether the default includes measures that refit learners
    learner, train : for these: the learner, default the model itself, and training data ``(X_train, y_train)``, default
        cross-fitting on X. Shapley net effects always fit linear models
    loss : as in :func:`~clarysage.sage`, the same for all
    removal : the removal of SAGE and similar measures; the conditional permutation importance uses its default if this
        is not conditional
    tolerance, budget, deadline : for each measure; a budget counts model rows, or fits
    rng : seed or Generator; all measures have the same seed

    Returns
    -------
    Importances
        a mapping of names to explanations, with tables and plots, that can be saved to a file

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> f = lambda X: 3 * X[:, 0] + X[:, 1]
    >>> found = importances(f, X, f(X), measures=["sage", "shapley effects"], rng=0)
    >>> found.ranks()["shapley effects"].tolist()
    [1, 2, 3]
    >>> found["sage"].top(1)
    ['x0']
    """
    if is_several(loss):
        raise InputError(
            "loss",
            got=f"{len(loss)} losses" if isinstance(loss, (list, tuple)) else several_in_words(loss),
            wanted="one",
            hint="a call for each loss",
        )
    if learner is not None:
        check_learner(learner)
    removal = options.get("removal", "marginal")
    if isinstance(removal, str) and not is_auto_conditional(removal):
        REMOVALS.get_row(removal)  # raises for an unknown name
    background, sample_weight = options.get("background"), options.get("sample_weight")
    for argument, values in (("y", y), ("sample_weight", sample_weight)):
        check_order(values, X, argument, "X")
    X, background = in_memory(X, "X"), in_memory(background, "background")  # once for all measures
    if isinstance(y, str) or isinstance(sample_weight, str):
        named = tuple(name for name in (y, sample_weight) if isinstance(name, str))
        X, y, sample_weight = separate_targets(X, y, sample_weight)
        background = without_targets(background, X, named)
    X, about_columns = known_columns(fitted_predictor(model), X, "X")  # also for measures of the data alone
    shared: dict[str, Any] = {
        **options,
        "loss": loss,
        "background": background,
        "sample_weight": sample_weight,
        "rng": entropy_of(options.get("rng")),
    }
    arguments = Arguments(model, X, y, shared, {"learner": learner, "train": train}, about_columns)
    is_default_choice = measures is None
    chosen = list(MEASURES.values()) if measures is None else _selected_measures(measures, y)
    if not is_default_choice and learner is None and any(row.refits and not row.own_learners for row in chosen):
        learner_for_refits(refittable_model(model))  # raises if it is not, before other measures are computed
    explanations: dict[str, Explanation] = {}
    left_out: dict[str, Note] = {}
    is_interrupted = False
    # heuristics come first if measures are named: if they do not apply, the error comes before expensive runs
    for measure in chosen if is_default_choice else sorted(chosen, key=lambda row: not row.is_heuristic):
        why = INTERRUPTED if is_interrupted else _reason(measure, y, refits=refits or not is_default_choice)
        if is_default_choice and why is None:
            why = arguments.too_costly(measure)
        if why is not None:
            left_out[measure.name] = why
            continue
        say_what(measure.name)
        try:
            explanation = arguments.explain(measure, is_first=measure is chosen[0])
            explanations[measure.name] = explanation
            is_interrupted = explanation.stopped is StopReason.INTERRUPTED
        except (InputError, MissingLibraryError, RunFailedError) as error:
            # the first measure takes any model: its errors are about the arguments, later ones about a measure
            if not is_default_choice or not explanations or arguments.is_about_refits(error):
                raise
            left_out[measure.name] = _why(error)
        except KeyboardInterrupt:
            if not explanations:
                raise
            is_interrupted = True
            left_out[measure.name] = INTERRUPTED
    explanations = {row.name: explanations[row.name] for row in chosen if row.name in explanations}
    traits = {measure.name: _traits(measure) for measure in chosen if measure.name in explanations}
    return Importances(explanations, traits, left_out)


@dataclass(frozen=True)
class Arguments:
    """The arguments of all measures: a model and data, the shared options, those of refits, and notes on columns."""

    model: Any
    X: Any
    y: Any
    shared: Mapping[str, Any]
    of_refits: Mapping[str, Any]
    about_columns: tuple[str, ...] = ()

    def too_costly(self, measure: Measure) -> Note | None:
        """Returns why a measure is not computed by default, if it needs very many model rows and SAGE few."""
        run = split_options(cast(SharedOptions, self.shared))[1]
        if not measure.is_by_example or run.budget is not None or run.deadline is not None:
            return None
        rows = fewest_rows(game(self.model, self.X, self.y, **self.shared))
        if rows <= COSTLY:
            return None
        return Note(
            f"Would take {rows:,} model rows or more for values of single examples, whose means are SAGE values; "
            "ask for it by name."
        )

    def explain(self, measure: Measure, *, is_first: bool) -> Explanation:
        """Returns the explanation by a measure; if it cannot use the removal, with its default removal and a note."""
        options, model = dict(self.shared), self.model
        if is_default("removal", options.get("removal", "marginal")):
            options.pop("removal", None)  # a measure may have another default
        if measure.refits:
            refit_options = {
                name: value for name, value in self.of_refits.items() if name != "learner" or not measure.own_learners
            }
            options |= {name: value for name, value in refit_options.items() if value is not None}
            model = refittable_model(model) if self.of_refits["learner"] is None else model
        explanation: Explanation = explain_by_measure(
            measure, model, self.X, self.y, options, may_replace_removal=not is_first
        )
        return replace(explanation, notes=(*map(as_note, self.about_columns), *explanation.notes))

    def is_about_refits(self, error: Exception) -> bool:
        """Returns whether an error is about an option that only measures with refits use."""
        return isinstance(error, InputError) and self.of_refits.get(error.argument) is not None


def _selected_measures(measures: Any, y: Any) -> list[Measure]:
    """Returns the measures of the user without repetitions, in the order of the table, and others after them."""
    rows = map(as_measure, [measures] if isinstance(measures, (str, Measure)) else measures)
    position = {name: i for i, name in enumerate(MEASURES)}
    chosen = sorted({row.name: row for row in rows}.values(), key=lambda row: position.get(row.name, len(position)))
    if not chosen:
        raise InputError("measures", got="none", wanted="names of measures, or None for all that apply")
    without_y = [row.name for row in chosen if row.needs_target] if y is None else []
    if without_y:
        raise InputError("y", got="None", wanted=f"a response for each row of X, which {without_y[0]!r} needs")
    return chosen


def _reason(measure: Measure, y: Any, *, refits: bool) -> Note | None:
    """Returns why a measure is not computed, None if it is."""
    if y is None and measure.needs_target:
        return NO_TARGET
    return REFITS if measure.refits and not refits else None


def refittable_model(model: Any) -> Any:
    """Returns the model behind a predictor, which can be refitted even if the predictor cannot."""
    return model.origin if isinstance(model, Predictor) and model.origin is not None else model


def _why(error: InputError | RunFailedError | MissingLibraryError) -> Note:
    """Returns why a measure does not apply, without the advice to use another one."""
    if isinstance(error, MissingLibraryError):
        return Note(str(error))
    if isinstance(error, InputError) and error.argument == "model":
        return Note(("Got ", *error.got, "; wanted ", *error.wanted, "."))
    return error.note


def _traits(measure: Measure) -> Traits:
    return Traits(measure.approximates, measure.subdomain, measure.constant, measure.properties)
