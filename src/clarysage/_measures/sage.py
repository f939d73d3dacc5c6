"""SAGE values and Shapley effects: from a model and data to an Explanation, in five steps; and their game."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Unpack, overload

from clarysage._measures.examples import without
from clarysage._measures.explain import with_rows_wanted
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import Run, RunOptions, SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, as_asked, chosen_estimator
from clarysage.errors import Note, Set
from clarysage.estimators import SurrogateWalks
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate
from clarysage.protocols import (
    GroupsLike,
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    RemovalLike,
    Seed,
    TableLike,
    TargetLike,
    WeightsLike,
)
from clarysage.results import Explanation

SLOW_RUN = 30.0  # seconds ...
SLOW_ROW = 2e-4  # ... at so many a model row, about twenty times what a surrogate takes
NO_RUN = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop", "n_jobs", "checkpoint", "progress", "check_manifold"),
    "a game is not yet a run",
)


@overload
def sage(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    method: MethodLike = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def sage(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    method: MethodLike = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options()
def sage(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    background: TableLike | None = None,
    removal: RemovalLike = "marginal",
    loss: LossLike | LossList = "auto",
    method: MethodLike = "auto",
    groups: GroupsLike | None = None,
    sample_weight: WeightsLike | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Seed = None,
    run: Run | None = None,
    **options: Unpack[RunOptions],
) -> Explanation | list[Explanation]:
    """SAGE values: how much each feature adds to a model's predictive power (Shapley values of Eq. 2).

    Parameters
    ----------
    model : anything fitted, any callable of rows, or a :class:`~clarysage.Predictor`
    X, y : examples to judge the model on, best not those it was fitted on; ``y=None`` explains the variance of the
        model's output instead (Shapley effects), without labels. X is a table in memory, or one on disk, of which only
        drawn rows are read: the path of a Parquet file, of a folder of them or of an Arrow file, a list of
        Parquet files, or a dataset or file of pyarrow. Where columns have names, y may be the name of one

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A value is in units of the loss. It can be negative: the feature then makes the model's predictions worse. Under
    marginal removal strongly correlated features lead to rows unlike any real one, and a note says so where there are
    many of them (:func:`~clarysage.off_manifold`); see ``removal``.

    Of a table on disk the features are the columns that the model was fitted on, or all but y and the weights where it
    does not say. The model gets pandas frames for a path, Arrow tables for an object of pyarrow, unless it takes others
    only. Rows are drawn with equal chances whatever their weights, which are then those of the rows drawn, adding up to
    one: values are ratios of sums, as survey statistics have them.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = sage(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    runner = Runner.of(Run.of(run, options))
    problem = Problem.of(
        model,
        X,
        y,
        background=background,
        removal=removal,
        groups=groups,
        sample_weight=sample_weight,
        feature_names=feature_names,
        rng=runner.file.seed(rng),
        run=runner.run,
    )
    v, notes = problem.game(loss)
    estimator, why = chosen_estimator(method, v, runner.left(runner.rules))
    notes += [*v.remarks, *why, *about_manifold(v, problem, runner.run)]
    measure = "shapley effects" if y is None else "sage"
    begun = time.monotonic()

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        speed = _about_speed(time.monotonic() - begun, result, estimator.name)
        explanations = problem.explained(v, result, measure=measure, method=estimator.name, notes=[*notes, *speed])
        return as_asked([with_rows_wanted(one, runner.run.tolerance) for one in explanations], loss)

    return runner.explained(problem, v, estimator, explain, measure=measure, may_be_null=True)


def _about_speed(seconds: float, result: Estimate, method: str) -> list[Note | str]:
    """A note on surrogate walks, where a model is so slow that they would pay."""
    if method == SurrogateWalks().name or seconds < SLOW_RUN or seconds < SLOW_ROW * result.model_rows:
        return []
    text = f"The model took {1e3 * seconds / result.model_rows:.2g} ms a row: "
    return [Note([text, Set("method", "surrogate walks"), " asks it for fewer rows."], topic="speed")]


@with_shared_options(unused={"loss": "shares of a variance are found by squared error"})
def shapley_effects(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    method: MethodLike = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation:
    r"""Shapley effects: how much of the variance of a model's output each feature explains.

    .. math:: w_f(S) = Var(E[f(X) | X_S])

    These are the SAGE values of a model whose responses are its own outputs, under squared error (supplement on
    function sensitivity): features that move predictions count, whether or not they make them better.

    Parameters
    ----------
    model, X : as in :func:`~clarysage.sage`
    y : not looked at; here so that all measures are called alike. A column that it names is no feature
    method : as in :func:`~clarysage.sage`

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> shapley_effects(lambda X: 3 * X[:, 0] + X[:, 1], X, rng=0).top(2)
    ['x0', 'x1']
    """
    return sage(model, without(X, y), method=method, **options)


@with_shared_options(unused=NO_RUN)
def game(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> PredictivePower:
    """v_f, the predictive power of subsets of features (Eq. 2), of which :func:`~clarysage.sage` gives Shapley values.

    For :meth:`clarysage.Explanation.agreement`, and for summaries of one's own. All parameters are those of
    :func:`~clarysage.sage`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> v = game(lambda X: X[:, 0], X, X[:, 0])
    >>> float((v.weights @ (v.ends[1] - v.ends[0])).round(1)[0])  # of all features, less that of none
    1.0
    """
    data, run = apart(options)
    return Problem.of(model, X, y, run=run, **data).game(loss)[0]
