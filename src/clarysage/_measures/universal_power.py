"""Universal predictive power and Shapley net effects: Shapley values of learners refitted on subsets of features.

For R^2 of linear models they are known as LMG (Lindeman, Merenda and Gold 1980) and as net effects (Lipovetsky and
Conklin 2001).

References
----------
R. H. Lindeman, P. F. Merenda, R. Z. Gold (1980). Introduction to Bivariate and Multivariate Analysis. Scott, Foresman.
S. Lipovetsky, M. Conklin (2001). Analysis of regression in game theory approach. Applied Stochastic Models in Business
and Industry 17, 319-330.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.examples import separate_targets
from clarysage._measures.linear_design import is_of_classes, linear_design, numeric_codes
from clarysage._measures.options import Run, SharedOptions, split_options, with_shared_options
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.refit_runs import (
    UNUSED_BY_REFITS,
    RefitData,
    RefitOptions,
    RefitProblem,
    TrainLike,
    about_columns_without_values,
    prepare_refits,
)
from clarysage._measures.run import rules_of
from clarysage._measures.table import MEASURES, all_subsets, subsets_of_walks
from clarysage.catalogue import METHODS
from clarysage.errors import InputError, Note, Set, Words
from clarysage.estimators import ExhaustedError, PairedWalks, as_estimator, chosen_note
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.games import UniversalPower
from clarysage.inference.estimate import Estimate, StopReason
from clarysage.inference.stopping import time_limit
from clarysage.models.learners import learner_for_refits
from clarysage.protocols import (
    CostLimited,
    Enumerates,
    Estimator,
    LossLike,
    LossList,
    MethodLike,
    ModelLike,
    Rule,
    TableLike,
    TargetLike,
    ability,
)
from clarysage.results import Explanation
from clarysage.tables import labels_of, read_weights, schema_of, select_columns

UNIVERSAL_POWER_HEADLINE = "Universal predictive power: how much each feature reduces the {loss} of a learner"
NET_EFFECTS = "shapley net effects"
SPARE_ROWS = 5  # more than columns; with fewer the errors of least squares have infinite mean or variance
PENALTY = 1.0  # of ridge regression, for columns of unit variance


@overload
def universal_power(
    learner: object,
    X: TableLike,
    y: TargetLike,
    *,
    loss: LossList,
    folds: int = ...,
    test: TrainLike | None = ...,
    test_size: float | None = ...,
    method: MethodLike = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def universal_power(
    learner: object,
    X: TableLike,
    y: TargetLike,
    *,
    loss: LossLike = ...,
    folds: int = ...,
    test: TrainLike | None = ...,
    test_size: float | None = ...,
    method: MethodLike = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(unused=UNUSED_BY_REFITS)
def universal_power(
    learner: object,
    X: TableLike,
    y: TargetLike,
    *,
    folds: int = 5,
    test: TrainLike | None = None,
    test_size: float | None = None,
    loss: LossLike | LossList = "auto",
    method: MethodLike = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    """Universal predictive power: what each feature adds to the best possible model (Shapley values of Eq. 3).

    It explains the data, not a model: for every sampled subset of features the learner is refitted, and evaluated on
    rows that it was not fitted on.

    Parameters
    ----------
    learner : an estimator of scikit-learn or compatible with it (pipelines and the wrappers of boosting libraries
        included), fitted or not; copies of it are fitted. Parts whose ``random_state`` is None get seeds derived from
        ``rng`` and the subset. Lists of columns, as in a ColumnTransformer or ``cat_features``, are restricted to the
        subset
    X, y : training and test data
    folds : cross-fitting: each row is predicted by a learner fitted on the other folds, which are stratified by class
    test, test_size : instead of folds, separate test data ``(X_test, y_test)``, or the share of X to sample for testing
    loss : as in :func:`~clarysage.sage`; it is compared with the loss of the best constant
    method : "auto" (exact if that takes no more fits than walks are expected to, else paired walks), "exact",
        "paired walks", "permutation" (Algorithm 1), "kernel", or an object such as ``Permutation()``
    groups : mapping of names to columns that are one player together; every other column is a player by itself
    sample_weight : one weight for each row of X, for losses, for best constants, and for fits if ``fit`` of the learner
        (or of the last step of a pipeline) takes ``sample_weight``. ``test`` may have weights as a third entry
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values,
        at this many fits of the learner, or after this many seconds, whichever comes first

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A learner finds the best model of a subset only approximately: values depend on the learner and on the number of
    rows, and their sum is below the full predictive power. A learner may do worse with more features, so that values of
    uninformative features scatter around zero or below. Correlated features share their common information, whether or
    not a given model uses them.

    Exact values have intervals about the population of rows, conditional on the fitted learners. Sampling methods
    evaluate all rows at once, and their intervals are about the sampling of subsets only.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = universal_power(LinearRegression(), X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    data, run = split_options(options)
    rules = rules_of_refits(run)
    as_executor(run.n_jobs)  # raises for invalid workers before anything is fitted
    seed = entropy_of(data.get("rng"))
    X, y, weight = separate_targets(X, y, data.get("sample_weight"))
    player_order = PlayerOrder.of(column_names(X, data.get("feature_names")), X, groups=data.get("groups"))
    game = UniversalPower.of(
        learner,
        X,
        y,
        loss=loss,
        folds=folds,
        test=test,
        test_size=test_size,
        players=player_order.players,
        sample_weight=weight,
        seed=seed,
    )
    problem = RefitProblem(game, player_order, loss, seed, about_columns_without_values(X))
    return over_subsets(
        problem, method, measure="universal power", headline=UNIVERSAL_POWER_HEADLINE, run=run, rules=rules
    )


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


@with_shared_options(unused=UNUSED_BY_REFITS)
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
    r"""Shapley net effects: how much each feature reduces the loss of a linear model (Shapley values of Eq. 3, LMG).

    .. math:: v(S) = \min_{\hat y} E[\ell(\hat y, Y)] - \min_{g \text{ linear}} E[\ell(g(X_S), Y)]

    For every sampled subset of features a linear model is fitted, and evaluated on rows that it was not fitted on. For
    squared error v(S) is the variance that the features of S explain linearly.

    Parameters
    ----------
    model : used only to decide whether numbers in y are classes; may be None
    X, y : test data, and training data without ``train``. Categories become indicators, and missing numbers their mean
        and an indicator; numbers are standardised
    learner : a linear model such as ``Ridge()``, instead of linear regression for numbers, or logistic regression for
        classes (with cross entropy, unless another loss is given). It is fitted on these columns
    train, folds, groups, loss, sample_weight : as in :func:`~clarysage.drop_column_importance`
    method : as in :func:`~clarysage.universal_power`; all subsets are fitted if they are few, else a sample of them
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values,
        at this many fits of the learner, or after this many seconds, whichever comes first

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    Values describe linear models of the data, not the given model: they miss interactions, and effects that are not
    monotone. Correlated features share their common information, copies equally.

    Numbers in y are classes if the loss is one of classification, or the model is a classifier; without a model, if
    they are two whole numbers. Logistic regression is that of scikit-learn with its default penalty (C=1), so that
    separable classes are no problem. Linear regression has a ridge penalty of 1 if there are hardly more training rows
    than columns: the predictions of least squares would have a huge variance, and a few such subsets would dominate the
    values.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = shapley_net_effects(None, X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    data, run = split_options(options)
    rules = rules_of_refits(run)
    as_executor(run.n_jobs)  # raises for invalid workers before anything is fitted
    seed = entropy_of(data.get("rng"))
    refit_data, player_order = prepare_refits(X, y, data, train, reorder=_sorted_by_name)
    designed, owner = _with_design_matrices(refit_data)
    player_order = player_order.over_derived_columns(owner)
    default, notes = _linear_model(designed, folds, model, loss) if learner is None else (learner, ())
    learner = learner_for_refits(None, default)
    game = designed.game(learner, loss=loss, folds=folds, players=player_order.players, seed=seed)
    problem = RefitProblem(game, player_order, loss, seed, (*refit_data.notes, *notes))
    return over_subsets(
        problem, method, measure=NET_EFFECTS, headline=MEASURES[NET_EFFECTS].headline, run=run, rules=rules
    )


def _sorted_by_name(table: Any) -> Any:
    """Returns a frame with its columns sorted by name, so that results do not depend on their order."""
    return select_columns(table, sorted(labels_of(table) or (), key=str))


def _linear_model(designed: RefitData, folds: Any, model: Any, loss: Any) -> tuple[Any, tuple[Note | str, ...]]:
    """Returns the linear model for the response, and a note if it is penalised for lack of rows."""
    from sklearn.linear_model import LogisticRegression

    from clarysage.models.least_squares import LeastSquares

    if is_of_classes(designed.y, model, loss):
        return LogisticRegression(max_iter=1000), ()
    columns, rows = designed.X.shape[1], designed.rows_to_fit_on(folds)
    if rows >= columns + SPARE_ROWS:
        return LeastSquares(), ()
    note = f"There are {columns:,} columns and {rows:,} training rows: linear models have a ridge penalty."
    return LeastSquares(PENALTY), (note,)


def _with_design_matrices(data: RefitData) -> tuple[RefitData, np.ndarray]:
    """Returns the data with tables as design matrices, and the column of X that each column is derived from."""
    rows, weights = (data.X, data.weights) if data.train is None else (data.train[0], data.train[2])
    schema = schema_of(rows, None if data.train is None else data.X, argument="X")
    tables = [rows] if data.train is None else [rows, data.X]
    codes, is_number = numeric_codes(schema, np.vstack([schema.encode(table, "X") for table in tables]))
    weights_to_fit = np.zeros(len(codes))
    weights_to_fit[: len(rows)] = read_weights(weights, rows, len(rows))
    matrix, owner = linear_design(codes, is_number, weights_to_fit)
    if data.train is None:
        return replace(data, X=matrix), owner
    return replace(data, X=matrix[len(rows) :], train=(matrix[: len(rows)], *data.train[1:])), owner


def rules_of_refits(run: Run) -> list[Rule]:
    """Returns the stopping rules of a run of refits, with a limit on draws if there is a budget of fits."""
    further = [] if run.budget is None else [DrawLimit(fits_of(run))]
    return rules_of(replace(run, stop=[*run.further_rules, *further]), budget=False)


@dataclass(frozen=True)
class DrawLimit:
    """Stops a run after as many draws as the budget has fits, since repeated subsets cost no fits."""

    fits: float

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.draws >= self.fits else None


def fits_of(run: Run) -> float:
    """Returns the budget of a run of refits as a number of fits; infinity without a budget."""
    budget = run.budget
    if budget is None:
        return np.inf
    is_number = isinstance(budget, (int, float, np.integer, np.floating)) and not isinstance(budget, bool)
    if not is_number or not 0 < budget < np.inf:
        raise InputError("budget", got=f"{budget!r}", wanted="a positive number of fits, such as 1_000")
    return float(budget)


def over_subsets(
    problem: RefitProblem, method: MethodLike, *, measure: str, headline: str, run: Run, rules: Sequence[Rule]
) -> Explanation | list[Explanation]:
    """Returns the explanation by Shapley values, from all subsets or from sampled walks."""
    v, max_fits = problem.game, fits_of(run)
    estimator, why = _estimator(method, v, rules, max_fits)
    try:
        return problem.explain(
            estimator, measure=measure, headline=headline, run=run, rules=rules, max_fits=max_fits, notes=why
        )
    except ExhaustedError:
        first = 2 * (v.n_players - 1) * max(2, estimator.chunk(v.together))  # subsets of the shortest run, at most
        raise _too_small(max_fits, v, min(all_subsets(v.n_players), 1 + first)) from None


def _estimator(
    method: Any, v: UniversalPower, rules: Sequence[Rule], max_fits: float
) -> tuple[Estimator[Any], list[Note]]:
    """Returns the estimator of a method, or for "auto" one that fits the game, with a note that says why."""
    fits = all_subsets(v.n_players) * v.fits_per_coalition
    is_automatic = METHODS.is_special(method) and v.n_players > 1
    estimator = as_estimator("exact" if is_automatic else method, v)
    limited = ability(estimator, CostLimited)
    if limited is not None and isinstance(method, str):
        estimator = limited.without_limit()  # the budget limits the number of fits, not of model rows
    if is_automatic:
        pairs = subsets_of_walks(v.n_players) * v.fits_per_coalition
        would = f"all subsets would take {fits:,.0f} fits" if v.n_players < 64 else "there are very many subsets"
        if time_limit(rules) < np.inf:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, which cannot be cut short at a deadline")]
        if fits > max_fits:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, more than the budget")]
        if fits > pairs:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, walks about {pairs:,} at most")]
        return estimator, [chosen_note("exact", f"all subsets take {fits:,} fits, no more than walks would")]
    enumerates = ability(estimator, Enumerates)
    if enumerates is not None and (1 + enumerates.coalitions(v)) * v.fits_per_coalition > max_fits:
        raise _too_small(max_fits, v, 1 + enumerates.coalitions(v), Set("method", "paired walks"))
    return estimator, []


def _too_small(max_fits: float, v: UniversalPower, coalitions: int, hint: Words = "a larger budget") -> InputError:
    return InputError(
        "budget",
        got=f"{max_fits:,.0f} fits",
        wanted=f"{coalitions * v.fits_per_coalition:,}, {v.fits_per_coalition} for each subset",
        hint=hint,
    )
