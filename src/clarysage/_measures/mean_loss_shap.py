"""Mean loss SHAP: Shapley values of every example's own loss, and their mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack, overload

import numpy as np

from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.per_example import about_visits, estimator_for, examples_of, rules_by_example, rules_for
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, as_asked
from clarysage.errors import Call, InputError
from clarysage.inference.estimate import Estimate
from clarysage.protocols import LossLike, LossList, MethodLike, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation


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
