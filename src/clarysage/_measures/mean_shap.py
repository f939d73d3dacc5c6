"""Mean loss SHAP and mean absolute SHAP (Lundberg et al. 2020): means of Shapley values of single examples.

References
----------
S. M. Lundberg et al. (2020). From local explanations to global understanding with explainable AI for trees. Nature
Machine Intelligence 2, 56-67.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.examples import without_target
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import Run, SharedOptions, split_options, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, rules_of, single_or_list
from clarysage._measures.shap_package import NotForShapError, tree_solution
from clarysage.catalogue import METHODS
from clarysage.errors import Call, InputError, Note, PythonOnly, Set
from clarysage.estimators import ClosedFormValues, Exact, as_estimator, choose, chosen_note
from clarysage.estimators.absolute import Absolute
from clarysage.estimators.paired_walks.antithetic import rows_of_pair
from clarysage.estimators.per_example import FEWEST_PASSES, SETTLED_PASSES, PerExample, needs_all_rows
from clarysage.estimators.permutation_importance import AfterRepeats
from clarysage.games import PredictivePower, pointwise
from clarysage.inference.estimate import Estimate, LocalValues
from clarysage.inference.stopping import Converged, row_limit, time_limit
from clarysage.protocols import (
    EstimatesLocalValues,
    Estimator,
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    Rule,
    SamplesBackgroundVariance,
    TableLike,
    TargetLike,
    VisitsInPasses,
    ability,
)
from clarysage.registry import loaded
from clarysage.results import Explanation

BACKENDS = ("auto", "shap", "own")
AFFORDABLE_VISITS = 2_000_000  # of a tree by a pair of example and background row: about 20 s for deep trees
PAIRS_WORTH_EXACT = 32  # of walks for each example: exact values may cost as much, since local errors fall slowly
MAX_PLAYERS_EXACT = 20


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
    r"""Mean loss SHAP: the mean over examples of the Shapley values of each example's loss.

    .. math:: \phi_i = E[\phi_i(v_{f,X,Y})], \qquad v_{f,x,y}(S) = -\ell(f_S(x_S), y)

    The loss is that of the averaged prediction f_S (Eq. 1), not the average loss of single hybrid rows, which is
    another game. By linearity the mean is the SAGE value. The additional result is ``explanation.per_example``, which
    needs walks for every example: :func:`~clarysage.sage` estimates the mean at much lower cost.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    method : "auto" (exact if that is cheap, else sampled walks), "exact" or "paired walks"
    tolerance : stop when the largest standard error of the means is below this share of their range, and every example
        has at least four pairs of walks
    walks : the number of pairs of walks of each example, two or more, instead of a tolerance, if values are sampled.
        Standard errors of single examples are larger than those of the means, by about the square root of the number of
        examples, and with few walks they are rough estimates
    budget, deadline : model rows and seconds; if they end the run, some examples have fewer walks than others, or none,
        and a note says so

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``per_example`` (N, p) are the values of single
    examples; each row adds up to the reduction of that example's loss by all features. ``per_example_error`` are their
    standard errors, zeros for exact values. Both are NaN if they are unknown: for examples of weight zero, and for
    those that a deadline or a budget left out; standard errors also for examples with a single pair of walks.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> explanation = mean_loss_shap(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.per_example.shape, bool(np.allclose(explanation.per_example.mean(axis=0), explanation.values))
    ((50, 3), True)
    """
    data, run = split_options(options)
    runner = Runner.of(run, rules_by_example(run, walks))
    if y is None:
        raise InputError(
            "y",
            got="None",
            wanted="the responses of the examples, since values are shares of a loss",
            hint=[Call("cs.mean_absolute_shap", "model, X"), " for values of the model's output"],
        )
    problem = Problem.of(model, X, y, run=run, **runner.with_seed(data))
    v, notes = problem.game(loss)
    if v.loss_weights.ndim > 1:
        hint = PythonOnly("the rows of per_example that are of each class")
        raise InputError("loss", got="a loss of each class", wanted="a loss of all examples", hint=hint)
    estimator, why = estimator_for(v, method, runner.remaining(runner.rules), walks)
    notes += [*v.remarks, *why, *about_manifold(v, problem, run, estimator, runner.rules)]

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explanations(
            v, result, measure="mean loss shap", method=estimator.name, notes=[*notes, *about_visits(result)]
        )
        local, order = local_values(result, v.weights), list(problem.order)
        # (N, L, p) -> (L, N, p), players in the user's order
        values, variance = (np.moveaxis(part, 1, 0)[:, :, order] for part in (local.values, local.variance))
        return single_or_list(
            [
                replace(
                    explanation,
                    per_example=values[loss_index],
                    per_example_error=np.sqrt(variance[loss_index]),
                    per_example_base=v.ends[0][:, loss_index],
                )
                for loss_index, explanation in enumerate(explanations)
            ],
            loss,
        )

    rules = rules_for(v, runner.rules, walks)
    return runner.explain(problem, v, estimator, explain, measure="mean loss shap", rules=rules)


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

    A heuristic (Table 1): it measures how far a feature moves the output, not whether that makes predictions any
    better, and the sum of its values has no meaning. ``y`` is ignored.

    Parameters
    ----------
    model, X : as in :func:`~clarysage.sage`. The output is the prediction of the model: numbers for a regression,
        probabilities (not log-odds) for a classifier that has them. With two classes only the probability of the second
        counts, since that of the first moves as far in the other direction. With several outputs their absolute values
        are added up, as in the stacked bars of shap's summary plot
    y : ignored
    method : "auto", "exact" or "paired walks", if values are computed by clarysage
    backend : "shap" for exact values of trees by the shap package (a regression, or a forest of class frequencies;
        columns of numbers, no groups, marginal removal); "own" for values computed by clarysage; "auto" for shap if it
        is installed, has exact values and is fast enough, unless there is a deadline or a method is given
    tolerance, walks, budget, deadline : as in :func:`~clarysage.mean_loss_shap`

    Returns
    -------
    Explanation. ``per_example`` (N, p) are signed SHAP values for one output, and sums of absolute values for several
    outputs. In both cases ``values`` are the means of their absolute values, less the bias correction below.

    Notes
    -----
    The absolute value of a sampled number is biased upwards (folded normal distribution). The bias is estimated and
    subtracted. The remaining bias may be as large as the correction, which is counted as an error of ``values``, so
    that a run continues until it is small.

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
    data, run = split_options(options)
    runner = Runner.of(run, rules_by_example(run, walks))
    problem = Problem.of(model, without_target(X, y), run=run, **runner.with_seed(data))
    v = pointwise(
        problem.restricted,
        problem.X,
        players=problem.players,
        sample_weight=problem.sample_weight,
        codes=problem.codes,
    )
    v = replace(v, rows_before=v.rows_before + problem.removal_rows)
    v, estimator, why = _prepare(model, v, runner.remaining(runner.rules), method, walks, backend.lower())
    notes = [*v.remarks, *why, *about_manifold(v, problem, run, estimator, runner.rules)]

    def explain(result: Estimate) -> Explanation:
        return _explain_absolute(problem, v, result, estimator.name, [*notes, *about_visits(result)])

    rules = rules_for(v, runner.rules, walks)
    return runner.explain(problem, v, estimator, explain, measure="mean absolute shap", rules=rules)


def _prepare(
    model: Any, v: PredictivePower, rules: Sequence[Rule], method: Any, walks: int | None, backend: str
) -> tuple[PredictivePower, Estimator[Any], list[Note]]:
    """Returns the game, with the values of shap as its closed form if possible, an estimator, and notes on both."""
    is_free = METHODS.is_special(method) and time_limit(rules) == np.inf
    if backend == "shap" or (backend == "auto" and is_free):
        try:
            max_visits = np.inf if backend == "shap" else AFFORDABLE_VISITS
            solved = replace(v, given_closed_form=tree_solution(model, v, max_visits=max_visits))
            assert solved.closed_form is not None
            return solved, Absolute(ClosedFormValues(with_influence=False)), [Note(f"Exact: {solved.closed_form.how}.")]
        except NotForShapError as error:
            if backend == "shap":
                raise InputError(
                    "backend",
                    got=f"'shap' where {error}",
                    wanted="a model that shap explains exactly",
                    hint=Set("backend", "own"),
                ) from None
    inner, why = estimator_for(v, method, rules, walks)
    # the variance by the background is not sampled, since absolute values are not sums over background rows
    with_walks = ability(inner, SamplesBackgroundVariance)
    return v, Absolute(inner if with_walks is None else with_walks.conditional_on_background()), why


def _explain_absolute(
    problem: Problem, v: PredictivePower, result: Estimate, method: str, notes: Sequence[Note | str]
) -> Explanation:
    """Returns the explanation, without a total, since a sum of absolute values has no meaning."""
    nothing = np.zeros((len(v.weights), 1))
    game = replace(v, losses=v.losses[:1], ends=(nothing, nothing))
    explanation = problem.explanations(game, result, measure="mean absolute shap", method=method, notes=notes)[0]
    local, order = local_values(result, v.weights), list(problem.order)
    values = local.values if len(v.losses) == 1 else np.abs(local.values)
    errors = np.sqrt(local.variance).sum(axis=1)  # an upper bound, since errors of outputs are correlated
    return replace(
        explanation,
        total=None,
        base=None,
        constant=None,
        loss="none",
        per_example=values.sum(axis=1)[:, order],
        per_example_error=errors[:, order],
        per_example_base=v.ends[0][:, 0] if len(v.losses) == 1 else None,
    )


def estimator_for(
    v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None
) -> tuple[Estimator[Any], list[Note]]:
    """Returns an estimator of values of single examples, and a note if it was chosen."""
    if not METHODS.is_special(method):
        return _estimator_of_method(v, method, rules, walks), []
    if v.n_players == 1:
        return as_estimator(method, v, rules), []
    sampled = _with_passes(PerExample(), walks)
    chosen, why = choose(v, rules)
    if ability(chosen, EstimatesLocalValues) is not None:
        return chosen, [why]
    if time_limit(rules) < np.inf or v.n_players > MAX_PLAYERS_EXACT:
        return sampled, [why]
    rows = Exact().rows(v, 2**v.n_players)
    pair = rows_of_pair(v, all_rows=needs_all_rows(v))
    if rows <= PAIRS_WORTH_EXACT * pair * int((v.weights > 0).sum()) and v.rows_spent + rows <= row_limit(rules):
        reason = f"all coalitions take {rows:,} model rows, no more than {PAIRS_WORTH_EXACT} pairs of walks an example"
        return Exact(), [chosen_note("exact", reason)]
    return sampled, [why]


def _estimator_of_method(v: PredictivePower, method: Any, rules: Sequence[Rule], walks: int | None) -> Estimator[Any]:
    """Returns the estimator of a method, or its variant for single examples; an error if there is none."""
    if isinstance(method, str) and method not in METHODS:
        raise _without_local_values(method)
    estimator = as_estimator(method, v, rules)
    if ability(estimator, EstimatesLocalValues) is not None:
        return estimator
    row = METHODS[method] if isinstance(method, str) else None
    if row is None or row.by_example is None:
        raise _without_local_values(method)
    return _with_passes(loaded(row.by_example)(), walks)


def _with_passes(estimator: Estimator[Any], walks: int | None) -> Estimator[Any]:
    """Returns the estimator, with its first interim analysis after the given number of walks."""
    in_passes = ability(estimator, VisitsInPasses)
    return estimator if walks is None or in_passes is None else in_passes.with_minimum_passes(walks)


def _without_local_values(method: Any) -> InputError:
    names = [row.name for row in METHODS.values() if row.by_example or ability(row(), EstimatesLocalValues) is not None]
    expected = f"'auto', {' or '.join(map(repr, names))}, which have values of single examples"
    return InputError("method", got=f"{method!r}", wanted=expected)


def fewest_rows(v: PredictivePower) -> int:
    """Returns the model rows that the automatic method takes up to its first interim analysis."""
    estimator = estimator_for(v, "auto", [Converged()], None)[0]
    if estimator.limit(v) is None:
        return SETTLED_PASSES * int((v.weights > 0).sum()) * rows_of_pair(v, all_rows=needs_all_rows(v))
    return 0  # exact values are chosen if they cost no more, and closed forms cost nothing


def local_values(result: Estimate, weights: np.ndarray) -> LocalValues:
    """Returns the values of all examples (N, L, p); NaN if they are unknown."""
    is_weighted = weights > 0
    local = None if result.components is None else result.components.local_values(weights[is_weighted])
    if local is None:  # a null game, in which no loss ever changes: see estimators/loop.py
        zeros = np.zeros((int(is_weighted.sum()), *result.values.shape))
        local = LocalValues(zeros, zeros)
    return local.over_all(is_weighted)


def about_visits(result: Estimate) -> list[Note]:
    """Returns a note on the number of walks of examples, and on examples without any."""
    local = None if result.components is None else result.components.local
    visits = None if local is None else local.visits
    if visits is None:
        return []
    never, once = int((visits == 0).sum()), int((visits == 1).sum())
    if never or once:
        text = (
            f"Of {len(visits):,} examples {never:,} were not sampled and have no values; {once:,} were sampled once "
            "and have no standard errors."
        )
        return [Note(text, topic="visits")]
    fewest, most = int(visits.min()), int(visits.max())
    pairs = fewest if fewest == most else f"{fewest} or {most}"
    return [Note(f"Every example had {pairs} pairs of walks.", topic="visits")]


def rules_by_example(run: Run, walks: int | None) -> list[Rule]:
    """Returns the stopping rules of a run; a number of walks replaces the tolerance."""
    if walks is None:
        return rules_of(run)
    is_whole_number = isinstance(walks, (int, np.integer)) and not isinstance(walks, bool)
    if not is_whole_number or walks < FEWEST_PASSES:
        raise InputError(
            "walks", got=f"{walks!r}", wanted="a whole number of pairs of walks for each example, 2 or more"
        )
    rules = rules_of(replace(run, tolerance=run.tolerance or Converged().tolerance))
    return [rule for rule in rules if not isinstance(rule, Converged)]


def rules_for(v: PredictivePower, rules: Sequence[Rule], walks: int | None) -> list[Any]:
    """Returns the rules for a game, with one that stops after the given number of walks."""
    return [*rules, *([] if walks is None else [AfterRepeats(walks, int((v.weights > 0).sum()))])]
