"""Univariate predictors: what a learner gains that is fitted on one feature alone."""

from __future__ import annotations

from typing import Unpack, overload

from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.refits import OF_REFITS, ONE_FIT_EACH, RefitOptions, TrainLike, one_by_one
from clarysage.estimators import LEAVE_ONE_IN
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation


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


@with_shared_options(unused={**OF_REFITS, **ONE_FIT_EACH})
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
    r"""Univariate predictors: the loss that each feature alone saves a learner, against the best constant.

    .. math:: \phi_i = \min_{\hat y} E[\ell(\hat y, Y)] - E[\ell(f_i(X_i), Y)], \qquad \phi_0 = 0    (Table 3)

    f_i is the learner fitted on one feature, judged by rows it was not fitted on, and the constant is the best of the
    rows that it was fitted on.

    Parameters
    ----------
    model, X, y, learner, train, folds, loss, sample_weight : as in :func:`~clarysage.feature_ablation`
    groups : mapping of names to columns that are fitted on together; columns not named are fitted on alone

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``total`` is what the learner saves with all features

    Notes
    -----
    Features that tell the same are each given all of it, so that values may add up to more than the total; a feature
    that helps only together with others is worth nothing here. There is a fit for each feature and one for all, times
    the folds.

    Intervals are about the population of rows, and take the learners as they were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = 3 * X[:, 0] + X[:, 1]
    >>> univariate_predictors(LinearRegression().fit(X, y), X, y, rng=0).top(2)
    ['x0', 'x1']
    """
    data, run = apart(options)
    return one_by_one(
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
