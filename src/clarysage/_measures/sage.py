"""SAGE values (Covert, Lundberg and Lee 2020), Shapley effects (Owen 2014), and the game that both are values of.

References
----------
I. Covert, S. Lundberg, S.-I. Lee (2020). Understanding global feature contributions with additive importance measures.
NeurIPS 33.
A. B. Owen (2014). Sobol' indices and Shapley value. SIAM/ASA Journal on Uncertainty Quantification 2, 245-251.
"""

from __future__ import annotations

import time
from typing import Literal, Unpack, overload

from clarysage._measures.examples import without_target
from clarysage._measures.explanations import with_sample_size_note
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.options import SharedOptions, split_options, with_shared_options
from clarysage._measures.problem import Problem
from clarysage._measures.run import Runner, chosen_estimator, single_or_list
from clarysage.errors import Note, Set
from clarysage.estimators import SurrogateWalks
from clarysage.games import PredictivePower
from clarysage.inference.estimate import Estimate
from clarysage.losses.choice import of_each_part
from clarysage.protocols import (
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    TableLike,
    TargetLike,
)
from clarysage.results import Explanation

SLOW_RUN = 30.0  # seconds of a run ...
SLOW_ROW = 2e-4  # ... and of a model row, about twenty times the time of a surrogate: a note suggests surrogate walks
NO_RUN = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop", "n_jobs", "checkpoint", "progress", "check_manifold"),
    "a game is only defined, not run",
)


@overload
def sage(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    per_class: bool = ...,
    per_target: bool = ...,
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
    per_class: Literal[True],
    per_target: bool = ...,
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
    per_class: bool = ...,
    per_target: Literal[True],
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
    per_class: Literal[False] = ...,
    per_target: Literal[False] = ...,
    method: MethodLike = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options()
def sage(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    per_class: bool = False,
    per_target: bool = False,
    method: MethodLike = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    """SAGE values: how much each feature adds to a model's predictive power (Shapley values of Eq. 2).

    Parameters
    ----------
    model : anything fitted, any callable of rows, or a :class:`~clarysage.Predictor`
    X, y : examples to evaluate the model on, preferably not those it was fitted on. ``y=None`` explains the variance of
        the model's output instead (Shapley effects), without labels. X is a table in memory or on disk: the path of a
        Parquet file, of a folder of them or of an Arrow file, a list of Parquet files, or a dataset or file of pyarrow.
        Of a table on disk only the sampled rows are read. If columns have names, y may be the name of one
    per_class : return a list with an explanation for each class: of the mean loss of its examples. Weighted by the
        shares of the classes, their values add up to those of all examples
    per_target : return a list with an explanation for each target of a multi-output model: of the loss of this target
        (without y, of the variance of this output). Their values add up to those of the sum of the losses

    Returns
    -------
    Explanation, or a list of them for a list of losses, ``per_class`` or ``per_target``

    Notes
    -----
    A value is in units of the loss. It can be negative: the feature then makes the model's predictions worse. Under
    marginal removal strongly correlated features lead to rows unlike any real one, and a note warns if there are many
    of them (:func:`~clarysage.off_manifold`); see ``removal``.

    The features are the columns that the model was fitted on, or all columns but y and the weights if the model does
    not know its columns; a note names columns of a table in memory that were left out. From a table on disk the model
    gets pandas frames for a path and Arrow tables for an object of pyarrow, unless it accepts only others. Frames of
    Dask, Modin or cuDF and queries of DuckDB, Ibis or Spark are read into pandas frames (by narwhals, an optional
    library), frames with nothing but the Arrow PyCapsule interface into Arrow tables, and a note says so. The rows of a
    query may come in another order each time: y and the weights must then be names of its columns, and only a frame
    that was read before gives the same bits for the same seed.

    Rows are sampled with equal probabilities, and the weights of the sampled rows are normalised to add up to one:
    values are ratio estimators, as in survey sampling.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = sage(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    loss = of_each_part(loss, per_class=per_class, per_target=per_target)
    data, run = split_options(options)
    runner = Runner.of(run)
    problem = Problem.of(model, X, y, run=run, **runner.with_seed(data))
    v, notes = problem.game(loss)
    estimator, why = chosen_estimator(method, v, runner.remaining(runner.rules))
    notes += [*v.remarks, *why, *about_manifold(v, problem, runner.run, estimator, runner.rules)]
    measure = "shapley effects" if y is None else "sage"
    begun = time.monotonic()

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        speed = _about_speed(time.monotonic() - begun, result, estimator.name)
        explanations = problem.explanations(v, result, measure=measure, method=estimator.name, notes=[*notes, *speed])
        return single_or_list(
            [with_sample_size_note(explanation, runner.run.tolerance) for explanation in explanations], loss
        )

    return runner.explain(problem, v, estimator, explain, measure=measure, may_be_null=True)


def _about_speed(seconds: float, result: Estimate, method: str) -> list[Note | str]:
    """Returns a note that suggests surrogate walks if the model is slow."""
    if method == SurrogateWalks().name or seconds < SLOW_RUN or seconds < SLOW_ROW * result.model_rows:
        return []
    text = f"The model took {1e3 * seconds / result.model_rows:.2g} ms a row: "
    return [Note([text, Set("method", "surrogate walks"), " needs fewer of them."], topic="speed")]


@with_shared_options(unused={"loss": "shares of a variance are computed with squared error"})
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
    y : ignored, since all measures have the same arguments; if it names a column of X, that is not a feature
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
    return sage(model, without_target(X, y), method=method, **options)


@with_shared_options(unused=NO_RUN)
def game(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> PredictivePower:
    """Returns v_f, the predictive power of subsets of features (Eq. 2), whose Shapley values are SAGE values.

    It is the argument of :meth:`clarysage.Explanation.agreement`, and it can be analysed with other solutions of
    cooperative games.

    Parameters
    ----------
    model, X, y : as for :func:`~clarysage.sage`
    loss : as for :func:`~clarysage.sage`
    **options : those of :func:`~clarysage.sage` about the data and the run

    Returns
    -------
    PredictivePower, a function of coalitions with a payoff for each example

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> v = game(lambda X: X[:, 0], X, X[:, 0])
    >>> float((v.weights @ (v.ends[1] - v.ends[0])).round(1)[0])  # v_f of all features
    1.0
    """
    data, run = split_options(options)
    return Problem.of(model, X, y, run=run, **data).game(loss)[0]
