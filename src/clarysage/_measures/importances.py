"""All measures of a model side by side."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clarysage._measures.examples import narrowed, taken_apart
from clarysage._measures.game import game
from clarysage._measures.importance import options_of
from clarysage._measures.per_example import fewest_rows
from clarysage._measures.table import MEASURES, Measure, as_measure
from clarysage.catalogue import REMOVALS
from clarysage.errors import InputError, MissingLibraryError, RunFailedError, in_python
from clarysage.execution.seeds import entropy_of
from clarysage.inference.estimate import StopReason
from clarysage.models import Predictor
from clarysage.models.learners import check_learner, refittable
from clarysage.removal import is_auto_conditional
from clarysage.results import Explanation, Importances, Traits

FOR_REFITS = ("learner", "train")  # options that measures which refit alone have
REFITS = "Fits learners anew, which may take long; refits=True asks for it."
NO_TARGET = "About predicting y, and no y was given."
DEAR = 10_000_000  # model rows of a mean that another measure finds for fewer
INTERRUPTED = "The run was interrupted before its end."


def importances(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    measures: Iterable[Any] | None = None,
    refits: bool = False,
    learner: Any = None,
    train: Any = None,
    background: Any = None,
    removal: Any = "marginal",
    loss: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    budget: float | None = None,
    deadline: float | None = None,
    n_jobs: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Importances:
    """The importance of features by every measure that applies, side by side.

    Parameters
    ----------
    model, X, y : as in :func:`~clarysage.sage`; without y only measures that need none
    measures : names of :func:`clarysage.measures`, or rows of one's own; one that cannot be computed is an error.
        Default: all that apply to the model and the data; those that do not are named in ``left_out``, with the reason
    refits : whether the default takes in measures that fit learners anew
    learner, train : for those: what is fitted, default the model itself, and rows ``(X_train, y_train)`` to fit it on,
        default cross-fitting on X. Shapley net effects fit linear models, whatever the learner
    others : as in :func:`~clarysage.sage`. Each measure gets those of them that it has: a ``removal`` is that of SAGE
        and its kin, and the conditional permutation test keeps to its own where that is not conditional; ``tolerance``,
        ``budget`` (model rows, or fits) and ``deadline`` are for each measure; all have the same seed

    Returns
    -------
    Importances
        a mapping of names to explanations, with a table, plots and a file of its own

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
    if isinstance(loss, (list, tuple)):
        raise InputError("loss", got=f"{len(loss)} losses", wanted="one", hint="a call for each loss")
    if learner is not None:
        check_learner(learner)
    if isinstance(removal, str) and not is_auto_conditional(removal):
        REMOVALS.get_row(removal)  # raises where there is no such name
    if isinstance(y, str) or isinstance(sample_weight, str):
        apart = tuple(name for name in (y, sample_weight) if isinstance(name, str))
        X, y, sample_weight = taken_apart(X, y, sample_weight)
        background = narrowed(background, X, apart)
    options = {
        "background": background, "removal": removal, "loss": loss, "groups": groups, "sample_weight": sample_weight,
        "tolerance": tolerance, "budget": budget, "deadline": deadline, "n_jobs": n_jobs, "progress": progress,
        "feature_names": feature_names, "learner": learner, "train": train, "rng": entropy_of(rng),
    }  # fmt: skip
    is_open = measures is None
    chosen = list(MEASURES.values()) if measures is None else _named(measures, y)
    if not is_open and learner is None and any(row.refits and "learner" not in row.own_options for row in chosen):
        refittable(_origin(model))  # raises where it is not, before others are computed
    explanations: dict[str, Explanation] = {}
    left_out: dict[str, str] = {}
    is_interrupted = False
    # what is read off the model is soon refused where it does not apply, and nothing is lost then
    for measure in chosen if is_open else sorted(chosen, key=lambda row: not row.is_heuristic):
        why = INTERRUPTED if is_interrupted else _reason(measure, y, refits=refits or not is_open)
        if is_open and why is None:
            why = _too_dear(measure, model, X, y, options)
        if why is not None:
            left_out[measure.name] = why
            continue
        try:
            found = _explained(measure, model, X, y, options, is_first=measure is chosen[0])
            explanations[measure.name] = found
            is_interrupted = found.stopped is StopReason.INTERRUPTED
        except (InputError, MissingLibraryError, RunFailedError) as error:
            # what the first one refuses, which takes any model, is wrong for all; what a later one does is its own
            if not is_open or not explanations or _is_about_refits(error, options):
                raise
            left_out[measure.name] = _said(error)
        except KeyboardInterrupt:
            if not explanations:
                raise
            is_interrupted = True
            left_out[measure.name] = INTERRUPTED
    explanations = {row.name: explanations[row.name] for row in chosen if row.name in explanations}
    traits = {measure.name: _traits(measure) for measure in chosen if measure.name in explanations}
    return Importances(explanations, traits, left_out)


def _named(measures: Any, y: Any) -> list[Measure]:
    """The rows of the measures that are asked for, each once, in the order of the table and others after it."""
    rows = map(as_measure, [measures] if isinstance(measures, (str, Measure)) else measures)
    place = {name: i for i, name in enumerate(MEASURES)}
    chosen = sorted({row.name: row for row in rows}.values(), key=lambda row: place.get(row.name, len(place)))
    if not chosen:
        raise InputError("measures", got="none", wanted="names of measures, or None for all that apply")
    blind = [row.name for row in chosen if row.needs_target] if y is None else []
    if blind:
        raise InputError("y", got="None", wanted=f"a response for each row of X, which {blind[0]!r} is about")
    return chosen


def _reason(measure: Measure, y: Any, *, refits: bool) -> str | None:
    """Why a measure is not even tried."""
    if y is None and measure.needs_target:
        return NO_TARGET
    return REFITS if measure.refits and not refits else None


def _too_dear(measure: Measure, model: Any, X: Any, y: Any, options: Mapping[str, Any]) -> str | None:
    """Why a measure is not tried unless it is asked for, where it takes very many model rows for what SAGE finds."""
    if not measure.is_by_example or options["budget"] is not None or options["deadline"] is not None:
        return None
    taken = {name: options[name] for name in options_of(game) if name in options}
    rows = fewest_rows(game(model, X, y, **taken))
    if rows <= DEAR:
        return None
    return (
        f"Would take {rows:,} model rows or more for values of single examples, of which the means are SAGE values; "
        "ask for it by name."
    )


def _explained(
    measure: Measure, model: Any, X: Any, y: Any, options: Mapping[str, Any], *, is_first: bool
) -> Explanation:
    """A measure with those options that it has and the user set; its own defaults may be others than ours."""
    function = measure.function
    ours = inspect.signature(importances).parameters
    taken = set(options_of(function)) & set(options) - set(measure.own_options)
    given = {name: options[name] for name in taken if not _is_same(options[name], ours[name].default)}
    f = _origin(model) if measure.refits and options["learner"] is None else model
    try:
        found: Explanation = function(f, X, y, **given)
    except InputError as error:
        if is_first or error.argument != "removal" or "removal" not in given:
            raise
        del given["removal"]  # which is fine for others, but not for this one: it has one of its own
        found = function(f, X, y, **given)
    return found


def _is_same(value: Any, default: Any) -> bool:
    """Whether an option is as it was; of tables and other objects only None is."""
    return value is default or (isinstance(value, (str, float)) and value == default)


def _origin(model: Any) -> Any:
    """The model behind a predictor, which can be fitted anew where the predictor cannot."""
    return model.origin if isinstance(model, Predictor) and model.origin is not None else model


def _is_about_refits(error: Exception, options: Mapping[str, Any]) -> bool:
    """Whether the error is about an option that only measures which refit look at."""
    argument = getattr(error, "argument", None)
    return argument in FOR_REFITS and options[argument] is not None


def _said(error: Exception) -> str:
    """Why a measure does not apply; that others do is to be seen beside it."""
    if isinstance(error, InputError) and error.argument == "model":
        return f"Got {in_python(error.got)}; wanted {in_python(error.wanted)}."
    return error.text if isinstance(error, RunFailedError) else str(error)


def _traits(measure: Measure) -> Traits:
    return Traits(measure.approximates, measure.subdomain, measure.constant, measure.properties)
