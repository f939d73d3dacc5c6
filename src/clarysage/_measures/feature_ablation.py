"""Feature ablation and univariate predictors: refits without one feature (LOCO, Lei et al. 2018), or on one alone."""

from __future__ import annotations

from typing import Any, Unpack, overload

from clarysage._measures.examples import taken_apart
from clarysage._measures.explain import with_constant
from clarysage._measures.options import DataOptions, Run, SharedOptions, apart, with_shared_options
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.refits import OF_REFITS, RefitData, RefitOptions, RefitProblem, TrainLike
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
from clarysage.tables import labels_of

ONE_FIT_EACH: dict[str, str] = dict.fromkeys(
    ("tolerance", "budget", "deadline", "stop"), "there is one fit for each feature and one for all, times the folds"
)


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


def one_by_one(
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
    """The explanation by a measure that fits a learner once a feature: without it, or on it alone."""
    as_executor(run.n_jobs)  # raises where there are no such workers, before anything is fitted
    seed = entropy_of(data.get("rng"))
    copied, f = learner_for_refits(model, learner), _predictor(model) if learner is None else None
    X, y, weight = taken_apart(X, y, data.get("sample_weight"))
    refit = RefitData.of(X, y, train=train, sample_weight=weight)
    fitted_on = None if refit.train is None else labels_of(refit.train[0])
    names = column_names(X, data.get("feature_names"), fitted_on, None if f is None else f.feature_names)
    refit = refit if f is None else refit.arranged(f.arrange)  # it may know columns by their places
    player_order = PlayerOrder.of(names, X, refit.X, data.get("groups"))
    game = refit.game(copied, loss=loss, folds=folds, players=player_order.players, seed=seed)
    problem = RefitProblem(game, player_order, loss, seed, refit.notes)
    return problem.explained(estimator, measure=measure, headline=MEASURES[measure].headline, run=run)


def _predictor(model: Any) -> Predictor | None:
    """The model as it was fitted; None where it was not, which does no harm."""
    try:
        return as_predictor(model)
    except ClarysageError:
        return None


def with_the_rest(found: Explanation | list[Explanation]) -> Explanation | list[Explanation]:
    """Explanations with phi_0 = v(D) less the sum of values (Table 3), so that u(D) is v(D)."""
    return with_constant([found])[0] if isinstance(found, Explanation) else with_constant(found)
