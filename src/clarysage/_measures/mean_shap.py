"""Mean loss SHAP and mean absolute SHAP: Shapley values of single examples, and their means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.examples import without
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import Run, SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, as_asked, is_auto, rules_of
from clarysage._measures.shap_package import NotForShapError, tree_solution
from clarysage.catalogue import METHODS
from clarysage.errors import Call, InputError, Note, Set
from clarysage.estimators import ClosedFormValues, Exact, as_estimator, choose, chosen_note
from clarysage.estimators.absolute import Absolute
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.per_example import FEWEST_PASSES, SETTLED_PASSES, PerExample, needs_all_rows
from clarysage.estimators.permutation_importance import AfterRepeats
from clarysage.games import PredictivePower, pointwise
from clarysage.inference.estimate import Estimate, LocalValues
from clarysage.inference.stopping import Converged, row_limit, time_limit
from clarysage.protocols import (
    Estimator,
    InPasses,
    KeepsExamplesApart,
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    Rule,
    TableLike,
    TargetLike,
    WalksBesides,
    ability,
)
from clarysage.registry import loaded
from clarysage.results import Explanation

BACKENDS = ("auto", "shap", "own")
AFFORDABLE_VISITS = 2_000_000  # of trees, by an example and a background row: some twenty seconds where they are deep
PAIRS_WORTH_EXACT = 32  # of walks an example: what exact values may cost, since errors of single examples fall slowly
MOST_PLAYERS = 20


@overload
def mean_loss_shap(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    method: MethodLike = ...,
    walks: int | None = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def mean_loss_shap(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    method: MethodLike = ...,
    walks: int | None = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options()
def mean_loss_shap(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    method: MethodLike = "auto",
    walks: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Mean loss SHAP: the Shapley values of the loss of each example, averaged over examples.

    .. math:: \phi_i = E[\phi_i(v_{f,X,Y})], \qquad v_{f,x,y}(S) = -\ell(f_S(x_S), y)

    The loss is that of the averaged prediction f_S (Eq. 1), not the average of losses of single hybrid rows, which is
    another game. By linearity the mean is the SAGE value; what is new is ``explanation.per_example``, at the price of
    walks for every example: :func:`~clarysage.sage` has the mean for much less.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    method : "auto" (exact where that is cheap, else walks), "exact" or "paired walks"
    tolerance : stop when the largest standard error of the means is below this share of their range, and every example
        has had four pairs of walks at least
    walks : pairs of walks of each example, two or more, in place of a tolerance, where values are sampled. Errors of
        single examples are larger than those of the means, by about the root of how many examples there are, and with
        few walks are rough themselves
    budget, deadline : model rows and seconds; a run that they end has looked at some examples less often than at
        others, or not at all, and says so

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``per_example`` (N, p) are the values of single examples, each
    row adding up to what all features take off the loss of that example; ``per_example_error`` their standard errors,
    zeros where they are exact. Both are NaN where nothing is known: for examples without weight or that a deadline or a
    budget left out, and errors of those looked at once.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> explanation = mean_loss_shap(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.per_example.shape, bool(np.allclose(explanation.per_example.mean(axis=0), explanation.values))
    ((50, 3), True)
    """
    data, run = apart(options)
    runner = Runner.of(run, rules_by_example(run, walks))
    if y is None:
        raise InputError(
            "y",
            got="None",
            wanted="the responses of the examples, since values are shares of a loss",
            hint=[Call("cs.mean_absolute_shap", "model, X"), " for values of the model's output"],
        )
    problem = Problem.of(model, X, y, run=run, **runner.seeded(data))
    v, notes = problem.game(loss)
    estimator, why = estimator_for(v, method, runner.left(runner.rules), walks)
    notes += [*v.remarks, *why, *about_manifold(v, problem, run)]

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explained(
            v, result, measure="mean loss shap", method=estimator.name, notes=[*notes, *about_visits(result)]
        )
        each, order = examples_of(result, v.weights), list(problem.order)
        values, variance = (np.moveaxis(part, 1, 0)[:, :, order] for part in (each.values, each.variance))  # (L, N, p)
        return as_asked(
            [
                replace(explanation, per_example=values[place], per_example_error=np.sqrt(variance[place]))
                for place, explanation in enumerate(explanations)
            ],
            loss,
        )

    rules = rules_for(v, runner.rules, walks)
    return runner.explained(problem, v, estimator, explain, measure="mean loss shap", rules=rules)


@with_shared_options(unused={"loss": "values are of the model's output"})
def mean_absolute_shap(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    method: MethodLike = "auto",
    backend: str = "auto",
    walks: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation:
    r"""Mean absolute SHAP: the mean over examples of the absolute Shapley value of the model's output.

    .. math:: \psi_i = E\Big[\sum_k |\phi_i(v_{f,X,k})|\Big], \qquad v_{f,x,k}(S) = f_S(x_S)_k

    A heuristic (Table 1): it tells how far a feature moves the output, not whether that makes predictions any better,
    and its values add up to nothing. ``y`` is not looked at.

    Parameters
    ----------
    model, X : as in :func:`~clarysage.sage`. The output is what the model predicts: numbers for a regression,
        probabilities for a classifier that has them, not log-odds. Of two classes it is the probability of the second;
        that of the first moves as far the other way, and is not counted again. Of several outputs the absolute values
        are added up, as the stacked bars of shap's summary plot are
    y : not looked at
    method : "auto", "exact" or "paired walks", for values of our own
    backend : "shap" for exact values of trees by the shap package (a regression, or a forest of class frequencies;
        columns of numbers, no groups, marginal removal), "own" for ours, "auto" for shap's where it is installed, has
        exact ones and would not take long, unless there is a deadline or a method was asked for
    tolerance, walks, budget, deadline : as in :func:`~clarysage.mean_loss_shap`

    Returns
    -------
    Explanation. ``per_example`` (N, p) are SHAP values with their signs for one output, and sums over outputs of
    absolute values for several; either way ``values`` are means of their sizes, less what follows.

    Notes
    -----
    An absolute value of a sampled number is too large on average. What noise adds to sizes is estimated and taken off;
    as much may be left, and counts as an error of ``values``, so that a run goes on until it is small.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> explanation = mean_absolute_shap(lambda X: 3 * X[:, 0] - X[:, 1], X, rng=0)
    >>> bool(np.allclose(explanation.values, [3, 1, 0] * np.abs(X - X.mean(axis=0)).mean(axis=0)))
    True
    """
    if not isinstance(backend, str) or backend.lower() not in BACKENDS:
        raise InputError("backend", got=f"{backend!r}", wanted=f"one of {', '.join(map(repr, BACKENDS))}")
    data, run = apart(options)
    runner = Runner.of(run, rules_by_example(run, walks))
    problem = Problem.of(model, without(X, y), run=run, **runner.seeded(data))
    v = pointwise(
        problem.restricted,
        problem.X,
        players=problem.players,
        sample_weight=problem.sample_weight,
        codes=problem.codes,
    )
    v = replace(v, rows_before=v.rows_before + problem.removal_rows)
    v, estimator, why = _ready(model, v, runner.left(runner.rules), method, walks, backend.lower())
    notes = [*v.remarks, *why, *about_manifold(v, problem, run)]

    def explain(result: Estimate) -> Explanation:
        return _explained(problem, v, result, estimator.name, [*notes, *about_visits(result)])

    rules = rules_for(v, runner.rules, walks)
    return runner.explained(problem, v, estimator, explain, measure="mean absolute shap", rules=rules)


def _ready(
    model: Any, v: PredictivePower, rules: Sequence[Rule], method: Any, walks: int | None, backend: str
) -> tuple[PredictivePower, Estimator[Any], list[Note]]:
    """The game, with shap's values where they are wanted and to be had, an estimator, and what to say of both."""
    is_free = is_auto(method) and time_limit(rules) == np.inf
    if backend == "shap" or (backend == "auto" and is_free):
        try:
            most = np.inf if backend == "shap" else AFFORDABLE_VISITS
            known = replace(v, given_closed_form=tree_solution(model, v, most_visits=most))
            assert known.closed_form is not None
            return known, Absolute(ClosedFormValues(with_influence=False)), [Note(f"Exact: {known.closed_form.how}.")]
        except NotForShapError as error:
            if backend == "shap":
                raise InputError(
                    "backend",
                    got=f"'shap' where {error}",
                    wanted="a model that shap explains exactly",
                    hint=Set("backend", "own"),
                ) from None
    inner, why = estimator_for(v, method, rules, walks)
    besides = ability(inner, WalksBesides)  # which is of no use: sizes are no sums of what background rows bring
    return v, Absolute(inner if besides is None else besides.within_background()), why


def _explained(
    problem: Problem, v: PredictivePower, result: Estimate, method: str, notes: Sequence[Note | str]
) -> Explanation:
    """The explanation, which has no total: sizes add up to nothing, whatever the ends of the game are."""
    nothing = np.zeros((len(v.weights), 1))
    one = replace(v, losses=v.losses[:1], ends=(nothing, nothing))
    found = problem.explained(one, result, measure="mean absolute shap", method=method, notes=notes)[0]
    apart, order = examples_of(result, v.weights), list(problem.order)
    values = apart.values if len(v.losses) == 1 else np.abs(apart.values)
    return replace(
        found,
        total=None,
        base=None,
        constant=None,
        loss="none",
        per_example=values.sum(axis=1)[:, order],
        per_example_error=np.sqrt(apart.variance).sum(axis=1)[:, order],  # at most: outputs err together
    )


def estimator_for(
    v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None
) -> tuple[Estimator[Any], list[Note]]:
    """An estimator that keeps examples apart, and why, where it was chosen."""
    if not is_auto(method):
        return _named(v, method, rules, walks), []
    if v.n_players == 1:
        return as_estimator(method, v, rules), []
    sampled = _with_passes(PerExample(), walks)
    chosen, why = choose(v, rules)
    if ability(chosen, KeepsExamplesApart) is not None:
        return chosen, [why]
    if time_limit(rules) < np.inf or v.n_players > MOST_PLAYERS:
        return sampled, [why]
    rows = Exact().rows(v, 2**v.n_players)
    pair = rows_of_pair(v, all_rows=needs_all_rows(v))
    if rows <= PAIRS_WORTH_EXACT * pair * int((v.weights > 0).sum()) and v.rows_spent + rows <= row_limit(rules):
        words = f"all coalitions take {rows:,} model rows, no more than {PAIRS_WORTH_EXACT} pairs of walks an example"
        return Exact(), [chosen_note("exact", words)]
    return sampled, [why]


def _named(v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None) -> Estimator[Any]:
    """The estimator that is asked for, or the one by its name that keeps examples apart; an error where none does."""
    if isinstance(method, str) and method not in METHODS:
        raise _not_by_example(method)
    estimator = as_estimator(method, v, rules)
    if ability(estimator, KeepsExamplesApart) is not None:
        return estimator
    row = METHODS[method] if isinstance(method, str) else None
    if row is None or row.by_example is None:
        raise _not_by_example(method)
    return _with_passes(loaded(row.by_example)(), walks)


def _with_passes(estimator: Estimator[Any], walks: int | None) -> Estimator[Any]:
    """An estimator whose rules are first asked after a number of passes, where that is wanted."""
    in_passes = ability(estimator, InPasses)
    return estimator if walks is None or in_passes is None else in_passes.looking_after(walks)


def _not_by_example(method: Any) -> InputError:
    names = [row.name for row in METHODS.values() if row.by_example or ability(row(), KeepsExamplesApart) is not None]
    wanted = f"'auto', {' or '.join(map(repr, names))}, which keep examples apart"
    return InputError("method", got=f"{method!r}", wanted=wanted)


def fewest_rows(v: PredictivePower) -> int:
    """Model rows of a run with the method that is chosen, up to its first look."""
    estimator = estimator_for(v, "auto", [Converged()], None)[0]
    if estimator.limit(v) is None:
        return SETTLED_PASSES * int((v.weights > 0).sum()) * rows_of_pair(v, all_rows=needs_all_rows(v))
    return 0  # exact values are chosen where they are no dearer, and solved ones ask for none


def examples_of(result: Estimate, weights: np.ndarray) -> LocalValues:
    """Values of all examples (N, L, p), NaN for those that are not known."""
    there = weights > 0
    found = None if result.components is None else result.components.local_values(weights[there])
    if found is None:  # no example's loss changes: see _finished of the loop
        nothing = np.zeros((int(there.sum()), *result.values.shape))
        found = LocalValues(nothing, nothing)
    return found.over_all(there)


def about_visits(result: Estimate) -> list[Note]:
    """What to say of examples that were looked at less often than others."""
    local = None if result.components is None else result.components.local
    visits = None if local is None else local.visits
    if visits is None:
        return []
    never, once = int((visits == 0).sum()), int((visits == 1).sum())
    if never or once:
        text = (
            f"Of {len(visits):,} examples {never:,} were not looked at, and have no values of their own; {once:,} were "
            "looked at once, and have no errors."
        )
        return [Note(text, topic="visits")]
    fewest, most = int(visits.min()), int(visits.max())
    pairs = fewest if fewest == most else f"{fewest} or {most}"
    return [Note(f"Every example had {pairs} pairs of walks.", topic="visits")]


def rules_by_example(run: Run, walks: int | None) -> list[Rule]:
    """The rules that a run stops by; a number of walks takes the place of a tolerance."""
    if walks is None:
        return rules_of(run)
    is_whole_number = isinstance(walks, (int, np.integer)) and not isinstance(walks, bool)
    if not is_whole_number or walks < FEWEST_PASSES:
        raise InputError("walks", got=f"{walks!r}", wanted="a whole number of pairs of walks an example, 2 or more")
    rules = rules_of(replace(run, tolerance=run.tolerance or Converged().tolerance))
    return [rule for rule in rules if not isinstance(rule, Converged)]


def rules_for(v: PredictivePower, rules: Sequence[Rule], walks: int | None) -> list[Any]:
    """Rules for a game, with the number of walks that was asked for."""
    return [*rules, *([] if walks is None else [AfterRepeats(walks, int((v.weights > 0).sum()))])]
