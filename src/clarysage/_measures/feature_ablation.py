"""Feature ablation: what a learner loses that is fitted anew without a feature."""

from __future__ import annotations

from typing import Unpack, overload

from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.refits import OF_REFITS, ONE_FIT_EACH, RefitOptions, TrainLike, one_by_one, with_the_rest
from clarysage.estimators import LEAVE_ONE_OUT
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation


@overload
def feature_ablation(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: Unpack[RefitOptions],
) -> list[Explanation]: ...


@overload
def feature_ablation(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: Unpack[RefitOptions],
) -> Explanation: ...


@with_shared_options(unused={**OF_REFITS, **ONE_FIT_EACH})
def feature_ablation(
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
    r"""Feature ablation: the loss that each feature saves a learner that has all others.

    .. math:: \phi_i = E[\ell(f_i(X_{D \setminus \{i\}}), Y)] - E[\ell(f(X), Y)], \qquad
        \phi_0 = v(D) - \sum_i \phi_i    (Table 3)

    f is the learner fitted on all features and f_i on all but one; v(D) is the loss of the best constant less that of
    f. What is fitted is judged by rows it was not fitted on.

    Parameters
    ----------
    model : a model that scikit-learn can clone, of which copies are fitted anew with its parameters (pipelines and the
        wrappers of CatBoost, XGBoost and LightGBM among them); it is left alone. None where a learner is given
    X, y : rows to judge by
    learner : what is fitted in place of the model; needed where the model is a function, a network, or a file of
        another library. Parts whose ``random_state`` is None get seeds derived from ``rng``
    train : rows to fit on, ``(X_train, y_train)``, with weights as a third entry where there are such. Without it each
        row of X is predicted by a learner fitted on the other ``folds`` of X
    folds : of X, where there is no ``train``
    loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are left out together; columns not named are left out alone
    sample_weight : one weight a row of X: for losses, and, where X is fitted on, for constants and for fits where the
        learner's ``fit`` takes ``sample_weight``; of a pipeline its last step

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    There is a fit for each feature and one for all, times the folds. A feature that others tell the same as is worth
    nothing here, and so is each of two copies, however much they matter: see :func:`~clarysage.universal_power` for
    values that share it. A learner may do better without a feature, whose value is then negative.

    Intervals are about the population of rows, and take the learners as they were fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = 3 * X[:, 0] + X[:, 1]
    >>> explanation = feature_ablation(LinearRegression().fit(X, y), X, y, rng=0)
    >>> explanation.top(2), explanation.fits
    (['x0', 'x1'], 20)
    """
    data, run = apart(options)
    explanations = one_by_one(
        "feature ablation", LEAVE_ONE_OUT, model, X, y, data, run, learner=learner, train=train, folds=folds, loss=loss
    )
    return with_the_rest(explanations)
