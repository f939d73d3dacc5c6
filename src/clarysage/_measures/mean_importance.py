"""Mean importance: what the model loses when a feature is set to its mean."""

from __future__ import annotations

from typing import Unpack, overload

from clarysage._measures.best_constant import over_best_constant, with_constant
from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.permutation_test import check_given
from clarysage._measures.problem import Problem, about_loss
from clarysage._measures.run import Runner, as_asked
from clarysage.estimators import LEAVE_ONE_OUT
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation

EXACT = "values are exact, and take a fixed number of model rows"


@overload
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(
    unused={
        "removal": "a feature is set to its mean",
        **dict.fromkeys(("tolerance", "budget", "deadline", "stop"), EXACT),
        "check_manifold": "what features are set to is a mean, not a row",
    }
)
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Mean importance: how much worse the model predicts when one feature is set to its mean.

    .. math:: \phi_i = E[\ell(f(E[X_i], X_{D \setminus \{i\}}), Y)] - E[\ell(f(X), Y)]

    and :math:`\phi_0` as in :func:`~clarysage.permutation_test` (Table 3). Categories take the most frequent one.
    Values are exact for the rows at hand; intervals are about the population of rows.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are all set to their means; columns not named are set alone
    background : rows whose means are taken; default X itself
    rng : not needed, since nothing is drawn; here so that all measures are called alike

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A mean may be a value that no row has, and a row with it unlike any other. A model that is even in a feature, say,
    may hardly notice that it is gone.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> mean_importance(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1]).top(2)
    ['x0', 'x1']
    """
    check_given(y)
    data, run = apart(options)
    runner = Runner.of(run, ())
    problem = Problem.of(model, X, y, run=run, **runner.seeded({**data, "removal": "baseline"}))
    v = PredictivePower.of(
        problem.restricted,
        loss,
        problem.X,
        problem.y,
        players=problem.players,
        sample_weight=problem.sample_weight,
        codes=problem.codes,
    )
    notes, shown = [*about_loss(loss, v), *v.remarks], over_best_constant(v)

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explained(
            shown, result, measure="mean importance", method=LEAVE_ONE_OUT.name, notes=notes
        )
        return as_asked(with_constant(explanations), loss)

    return runner.explained(problem, v, LEAVE_ONE_OUT, explain, measure="mean importance", rules=())
