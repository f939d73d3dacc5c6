"""Shapley net effects: what features bring linear models, fitted anew on each subset of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.examples import taken_apart
from clarysage._measures.linear_design import linear_design, numbers_of
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.refits import (
    OF_REFITS,
    RefitData,
    RefitOptions,
    RefitProblem,
    TrainLike,
    over_subsets,
    rules_of_refits,
)
from clarysage._measures.response import is_of_classes
from clarysage._measures.table import MEASURES
from clarysage.errors import Note
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.models.learners import refittable
from clarysage.protocols import LossLike, LossList, MethodLike, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation
from clarysage.tables import labels_of, read_weights, schema_of, select

MEASURE = "shapley net effects"
SPARE_ROWS = 5  # beyond one a column, below which errors of least squares have no mean, or no variance, over samples
PENALTY = 1.0  # of a Ridge, beside columns of unit variance


@overload
def shapley_net_effects(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    method: MethodLike = ...,
    **options: Unpack[RefitOptions],
) -> list[Explanation]: ...


@overload
def shapley_net_effects(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    method: MethodLike = ...,
    **options: Unpack[RefitOptions],
) -> Explanation: ...


@with_shared_options(unused=OF_REFITS)
def shapley_net_effects(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    learner: object = None,
    train: TrainLike | None = None,
    folds: int = 5,
    loss: LossLike | LossList = "auto",
    method: MethodLike = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Shapley net effects: the loss that each feature saves a linear model (Shapley values of Eq. 3).

    .. math:: v(S) = \min_{\hat y} E[\ell(\hat y, Y)] - \min_{g \text{ linear}} E[\ell(g(X_S), Y)]

    For every subset of features that comes up a linear model is fitted, and judged by rows it was not fitted on. By
    squared error v(S) is the variance that the features of S explain, which is shared out.

    Parameters
    ----------
    model : looked at for no more than whether numbers in y are classes; may be None
    X, y : rows to judge by. Categories become indicators, missing numbers their mean and an indicator; numbers are
        centred and brought to unit variance
    learner : in place of linear regression for numbers, or logistic regression for classes (with cross entropy, unless
        another loss is asked for): ``Ridge()``, say. It gets the columns so made
    train, folds, groups, loss, sample_weight : as in :func:`~clarysage.feature_ablation`
    method : as in :func:`~clarysage.universal_power`; all subsets are fitted where there are few, others are drawn
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values,
        at this many fits of the learner, or after this many seconds, whichever comes first

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    Values are about what linear models make of the data, and not about the model: an interaction, or a feature that
    works both ways, goes unnoticed. Features that tell the same share it, copies equally.

    Numbers in y are classes where the loss is one of classes, or the model is a classifier; without a model, where they
    are two whole numbers. Logistic regression is scikit-learn's, lightly shrunk (C=1), so that classes that can be told
    apart without error do no harm. So is linear regression where there are hardly more rows to fit on than columns (a
    penalty of 1, as a Ridge has it): least squares on about as many columns as rows predicts wildly, and a few such
    subsets would be all that values tell of.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = shapley_net_effects(None, X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    data, run = apart(options)
    rules = rules_of_refits(run)
    as_executor(run.n_jobs)  # raises where there are no such workers, before anything is fitted
    seed = entropy_of(data.get("rng"))
    X, y, weight = taken_apart(X, y, data.get("sample_weight"))
    refit = RefitData.of(X, y, train=train, sample_weight=weight)
    fitted_on = None if refit.train is None else labels_of(refit.train[0])
    names = column_names(X, data.get("feature_names"), fitted_on)
    refit = refit.arranged(_by_name)
    lineup = Lineup.of(names, X, refit.X, data.get("groups"))
    designed, owner = _designed(refit)
    lineup = lineup.spread(owner)
    default, notes = _linear(designed, folds, model, loss) if learner is None else (learner, ())
    game = designed.game(refittable(None, default), loss=loss, folds=folds, players=lineup.players, seed=seed)
    problem = RefitProblem(game, lineup, loss, seed, (*refit.notes, *notes))
    return over_subsets(problem, method, measure=MEASURE, headline=MEASURES[MEASURE].headline, run=run, rules=rules)


def _by_name(table: Any) -> Any:
    """A frame with its columns in the order of their names, so that the order in which they come changes no bit."""
    return select(table, sorted(labels_of(table) or (), key=str))


def _linear(designed: RefitData, folds: Any, model: Any, loss: Any) -> tuple[Any, tuple[Note | str, ...]]:
    """The linear model that goes with the response, and a note where it must be shrunk."""
    from sklearn.linear_model import LogisticRegression

    from clarysage.models.least_squares import LeastSquares

    if is_of_classes(designed.y, model, loss):
        return LogisticRegression(max_iter=1000), ()
    columns, rows = designed.X.shape[1], designed.rows_to_fit_on(folds)
    if rows >= columns + SPARE_ROWS:
        return LeastSquares(), ()
    note = f"There are {columns:,} columns for {rows:,} rows to fit on: linear models are shrunk, as a Ridge is."
    return LeastSquares(PENALTY), (note,)


def _designed(data: RefitData) -> tuple[RefitData, np.ndarray]:
    """The tables as columns of numbers, and the column of X that each is of."""
    rows, weights = (data.X, data.weights) if data.train is None else (data.train[0], data.train[2])
    schema = schema_of(rows, None if data.train is None else data.X, argument="X")
    tables = [rows] if data.train is None else [rows, data.X]
    codes, is_number = numbers_of(schema, np.vstack([schema.encode(table, "X") for table in tables]))
    mass = np.zeros(len(codes))
    mass[: len(rows)] = read_weights(weights, rows, len(rows))
    matrix, owner = linear_design(codes, is_number, mass)
    if data.train is None:
        return replace(data, X=matrix), owner
    return replace(data, X=matrix[len(rows) :], train=(matrix[: len(rows)], *data.train[1:])), owner
