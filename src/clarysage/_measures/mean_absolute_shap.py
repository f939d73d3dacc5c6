"""Mean absolute SHAP: how far each feature moves the model's output, a heuristic outside the framework."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from clarysage._measures.examples import without
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.per_example import about_visits, estimator_for, examples_of, rules_by_example, rules_for
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, is_auto
from clarysage._measures.shap_values import NotForShapError, tree_solution
from clarysage.errors import InputError, Note, Set
from clarysage.estimators import ClosedFormValues
from clarysage.estimators.absolute import Absolute
from clarysage.games import PredictivePower, pointwise
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import Deadline
from clarysage.protocols import Estimator, MethodLike, ModelLike, Rule, TableLike, TargetLike, WalksBesides, ability
from clarysage.results import Explanation

BACKENDS = ("auto", "shap", "own")
AFFORDABLE_VISITS = 2_000_000  # of trees, by an example and a background row: some twenty seconds where they are deep


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
    v = replace(v, rows_in_vain=v.rows_in_vain + problem.removal_rows)
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
    is_free = is_auto(method) and not any(isinstance(rule, Deadline) for rule in rules)
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
