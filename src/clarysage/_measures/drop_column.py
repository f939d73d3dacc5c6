"""Drop-column importance (LOCO, Lei et al. 2018) and univariate predictors, on one feature alone.

References
----------
J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman (2018). Distribution-free predictive inference for
regression. JASA 113, 1094-1111.
"""

from __future__ import annotations

from typing import Any, Unpack, overload

from clarysage._measures.explanations import with_constant
from clarysage._measures.options import DataOptions, Run, SharedOptions, split_options, with_shared_options
from clarysage._measures.refit_runs import (
    UNUSED_BY_REFITS,
    RefitOptions,
    RefitProblem,
    TrainLike,
    prepare_refits,
)
from clarysage._measures.table import MEASURES
from clarysage.errors import ClarysageError
from clarysage.estimators import (
    LEAVE_ONE_IN,
    LEAVE_ONE_OUT,
)
from clarysage.estimators.leave_one_out import OneByOne
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.models import Predictor, as_predictor
from clarysage.models.learners import learner_for_refits
from clarysage.protocols import (
    LossLike,
    LossList,
    ModelLike,
    TableLike,
    TargetLike,
)
from clarysage.results import Explanation

FIXED_NUMBER_OF_FITS: dict[str, str] = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop"),
    "there is one fit for each feature and one with all of them, times the folds",
)


@overload
def drop_column_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: Unpack[RefitOptions],
) -> list[Explanation]: ...


@overload
def drop_column_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: Unpack[RefitOptions],
) -> Explanation: ...


@with_shared_options(unused={**UNUSED_BY_REFITS, **FIXED_NUMBER_OF_FITS})
def drop_column_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    learner: object = None,
    train: TrainLike | None = None,
    folds: int = 5,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Drop-column importance (LOCO): how much worse a learner predicts if it is fitted without a feature.

    .. math:: \phi_i = E[\ell(f_i(X_{D \setminus \{i\}}), Y)] - E[\ell(f(X), Y)], \qquad
        \phi_0 = v(D) - \sum_i \phi_i    (Table 3)

    The paper calls it feature ablation. f is the learner fitted on all features and f_i on all but one; v(D) is the
    loss of the best constant prediction minus that of f. Losses are those of rows that a learner was not fitted on.

    Parameters
    ----------
    model : a model that scikit-learn can clone (pipelines and the wrappers of CatBoost, XGBoost and LightGBM included).
        Copies with its parameters are refitted; the model itself is not changed. None if a learner is given
    X, y : test data
    learner : what is fitted instead of the model; needed if the model is a function, a network, or a file of another
        library. Parts whose ``random_state`` is None get seeds derived from ``rng``
    train : training data, ``(X_train, y_train)`` or ``(X_train, y_train, weights)``. Without them learners are
        cross-fitted: each row of X is predicted by a learner fitted on the other folds
    folds : the number of folds for cross-fitting, if there is no ``train``
    loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are left out together; every other column is left out alone
    sample_weight : one weight for each row of X, for losses. With cross-fitting the weights are also used for constants
        and for fits, if ``fit`` of the learner (or of the last step of a pipeline) takes ``sample_weight``

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    There is one fit for each feature and one with all of them, times the number of folds. A redundant feature has the
    value zero, and so has each of two copies, however important they are together: see
    :func:`~clarysage.universal_power` for values that share their importance. If a learner does better without a
    feature, its value is negative.

    Intervals are about the population of rows, conditional on the fitted learners.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = 3 * X[:, 0] + X[:, 1]
    >>> explanation = drop_column_importance(LinearRegression().fit(X, y), X, y, rng=0)
    >>> explanation.top(2), explanation.fits
    (['x0', 'x1'], 20)
    """
    data, run = split_options(options)
    explanations = explain_one_by_one(
        "drop column importance",
        LEAVE_ONE_OUT,
        model,
        X,
        y,
        data,
        run,
        learner=learner,
        train=train,
        folds=folds,
        loss=loss,
    )
    return with_constant(explanations) if isinstance(explanations, list) else with_constant([explanations])[0]


feature_ablation = drop_column_importance  # as the paper calls it


@overload
def univariate_predictors(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: Unpack[RefitOptions],
) -> list[Explanation]: ...


@overload
def univariate_predictors(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: Unpack[RefitOptions],
) -> Explanation: ...


@with_shared_options(unused={**UNUSED_BY_REFITS, **FIXED_NUMBER_OF_FITS})
def univariate_predictors(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    learner: object = None,
    train: TrainLike | None = None,
    folds: int = 5,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Univariate predictors: how much better a learner predicts from one feature alone than the best constant.

    .. math:: \phi_i = \min_{\hat y} E[\ell(\hat y, Y)] - E[\ell(f_i(X_i), Y)], \qquad \phi_0 = 0    (Table 3)

    f_i is the learner fitted on one feature. The constant is the best one for its training rows. Losses are those of
    rows that a learner was not fitted on.

    Parameters
    ----------
    model, X, y, learner, train, folds, loss, sample_weight : as in :func:`~clarysage.drop_column_importance`
    groups : mapping of names to columns that learners are fitted on together; every other column is used alone

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``total`` is the reduction of the loss by all features

    Notes
    -----
    Redundant features each get the full value, so that values may add up to more than the total. A feature that helps
    only in combination with others has the value zero. There is one fit for each feature and one with all of them,
    times the number of folds.

    Intervals are about the population of rows, conditional on the fitted learners.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = 3 * X[:, 0] + X[:, 1]
    >>> univariate_predictors(LinearRegression().fit(X, y), X, y, rng=0).top(2)
    ['x0', 'x1']
    """
    data, run = split_options(options)
    return explain_one_by_one(
        "univariate predictors",
        LEAVE_ONE_IN,
        model,
        X,
        y,
        data,
        run,
        learner=learner,
        train=train,
        folds=folds,
        loss=loss,
    )


def explain_one_by_one(
    measure: str,
    estimator: OneByOne,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None,
    data: DataOptions,
    run: Run,
    *,
    learner: object,
    train: TrainLike | None,
    folds: int,
    loss: LossLike | LossList,
) -> Explanation | list[Explanation]:
    """Returns the explanation by a measure that fits a learner for each feature: without it, or on it alone."""
    as_executor(run.n_jobs)  # raises for invalid workers before anything is fitted
    seed = entropy_of(data.get("rng"))
    copied = learner_for_refits(model, learner)
    f = fitted_predictor(model) if learner is None else None  # it may identify columns by their positions
    refit_data, player_order = prepare_refits(X, y, data, train, model=f)
    game = refit_data.game(copied, loss=loss, folds=folds, players=player_order.players, seed=seed)
    problem = RefitProblem(game, player_order, loss, seed, refit_data.notes)
    return problem.explain(estimator, measure=measure, headline=MEASURES[measure].headline, run=run)


def fitted_predictor(model: Any) -> Predictor | None:
    """Returns the fitted model as a predictor; None if it is not fitted, which is allowed."""
    try:
        return as_predictor(model)
    except ClarysageError:
        return None
