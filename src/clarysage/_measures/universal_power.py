"""Universal predictive power and Shapley net effects: Shapley values of learners refitted on subsets of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.examples import taken_apart
from clarysage._measures.linear_design import is_of_classes, linear_design, numbers_of
from clarysage._measures.options import Run, SharedOptions, apart, with_shared_options
from clarysage._measures.player_order import PlayerOrder, column_names
from clarysage._measures.refits import OF_REFITS, RefitData, RefitOptions, RefitProblem, TrainLike
from clarysage._measures.run import is_auto, rules_of
from clarysage._measures.table import MEASURES, all_subsets, subsets_of_walks
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
from clarysage.tables import labels_of, read_weights, schema_of, select

HEADLINE = "Universal predictive power: the {loss} that each feature saves a learner"
MEASURE = "shapley net effects"
SPARE_ROWS = 5  # beyond one a column, below which errors of least squares have no mean, or no variance, over samples
PENALTY = 1.0  # of a Ridge, beside columns of unit variance


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


@with_shared_options(unused=OF_REFITS)
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
    """Universal predictive power of features: what each adds for the best model to be had (Shapley values of Eq. 3).

    No model is explained, but the data: for every subset of features that comes up the learner is fitted anew, and
    judged by rows it was not fitted on.

    Parameters
    ----------
    learner : an estimator as scikit-learn has them (pipelines and the boosters' wrappers among them), fitted or not; it
        is copied and left alone. Parts whose ``random_state`` is None get seeds derived from ``rng`` and the subset.
        Lists of columns, as in a ColumnTransformer or ``cat_features``, are narrowed to the subset
    X, y : rows to fit on and to judge by
    folds : cross-fitting: each row is predicted by a learner fitted on the other folds; classes are in like shares
    test, test_size : instead of folds, rows ``(X_test, y_test)`` to judge by, or the share of X to draw for it
    loss : as in :func:`~clarysage.sage`; subset by subset it is compared with that of its best constant
    method : "auto" (exact where that takes no more fits than walks are expected to, else paired walks), "exact",
        "paired walks", "permutation" (Algorithm 1), "kernel", or an object such as ``Permutation()``
    groups : mapping of names to columns that play as one; columns not named stay players of their own
    sample_weight : one weight a row of X: for losses, for best constants, and for fits where the learner's ``fit``
        takes ``sample_weight``; of a pipeline its last step. ``test`` may have weights of its own as a third entry
    tolerance, budget, deadline : stop when the largest standard error is below this share of the range of the values,
        at this many fits of the learner, or after this many seconds, whichever comes first

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A learner finds the best model of a subset only nearly: values are about what this learner makes of this much data,
    and their sum falls short of the whole power. It may do worse with more features, so that values of features
    that tell nothing scatter around zero or below. Correlated features share what they both tell: a feature is not
    given less for being ignored by some model.

    Exact values come with intervals about the population of rows, which take the learners as they were fitted. Sampled
    methods judge all rows at once, and their intervals are about their own sampling alone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> explanation = universal_power(LinearRegression(), X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.top(2)
    ['x0', 'x1']
    """
    data, run = apart(options)
    rules = rules_of_refits(run)
    as_executor(run.n_jobs)  # raises where there are no such workers, before anything is fitted
    seed = entropy_of(data.get("rng"))
    X, y, weight = taken_apart(X, y, data.get("sample_weight"))
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
    problem = RefitProblem(game, player_order, loss, seed)
    return over_subsets(problem, method, measure="universal power", headline=HEADLINE, run=run, rules=rules)


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
    player_order = PlayerOrder.of(names, X, refit.X, data.get("groups"))
    designed, owner = _designed(refit)
    player_order = player_order.spread(owner)
    default, notes = _linear(designed, folds, model, loss) if learner is None else (learner, ())
    learner = learner_for_refits(None, default)
    game = designed.game(learner, loss=loss, folds=folds, players=player_order.players, seed=seed)
    problem = RefitProblem(game, player_order, loss, seed, (*refit.notes, *notes))
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


def rules_of_refits(run: Run) -> list[Rule]:
    """The rules that a run of refits stops by: of a budget, as many draws."""
    further = [] if run.budget is None else [AsManyDraws(fits_of(run))]
    return rules_of(replace(run, stop=[*run.further_rules, *further]), budget=False)


@dataclass(frozen=True)
class AsManyDraws:
    """Ends a run that has made as many draws as there may be fits: subsets that come up again cost none."""

    fits: float

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.BUDGET if estimate.draws >= self.fits else None


def fits_of(run: Run) -> float:
    """The budget of a run, which counts fits here."""
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
    """The explanation by Shapley values of all subsets, or of those that walks come by."""
    v, most = problem.game, fits_of(run)
    estimator, why = _estimator(method, v, rules, most)
    try:
        return problem.explained(
            estimator, measure=measure, headline=headline, run=run, rules=rules, most=most, notes=why
        )
    except ExhaustedError:
        first = 2 * (v.n_players - 1) * max(2, estimator.chunk(v.together))  # subsets of the shortest run at most
        raise _too_small(most, v, min(all_subsets(v.n_players), 1 + first)) from None


def _estimator(method: Any, v: UniversalPower, rules: Sequence[Rule], most: float) -> tuple[Estimator[Any], list[Note]]:
    """The estimator that was asked for, or that fits the game, and why."""
    fits = all_subsets(v.n_players) * v.fits_per_coalition
    is_open = is_auto(method) and v.n_players > 1
    estimator = as_estimator("exact" if is_open else method, v)
    limited = ability(estimator, CostLimited)
    if limited is not None and isinstance(method, str):
        estimator = limited.without_limit()  # fits are what counts here, and they are limited by the budget
    if is_open:
        pairs = subsets_of_walks(v.n_players) * v.fits_per_coalition
        would = f"all subsets would take {fits:,.0f} fits" if v.n_players < 64 else "there are very many subsets"
        if time_limit(rules) < np.inf:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, which cannot be cut short at a deadline")]
        if fits > most:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, more than the budget")]
        if fits > pairs:
            return PairedWalks(), [chosen_note("paired walks", f"{would}, walks about {pairs:,} at most")]
        return estimator, [chosen_note("exact", f"all subsets take {fits:,} fits, no more than walks would")]
    enumerates = ability(estimator, Enumerates)
    if enumerates is not None and (1 + enumerates.coalitions(v)) * v.fits_per_coalition > most:
        raise _too_small(most, v, 1 + enumerates.coalitions(v), Set("method", "paired walks"))
    return estimator, []


def _too_small(most: float, v: UniversalPower, coalitions: int, hint: Words = "a larger budget") -> InputError:
    return InputError(
        "budget",
        got=f"{most:,.0f} fits",
        wanted=f"{coalitions * v.fits_per_coalition:,}, {v.fits_per_coalition} for each subset",
        hint=hint,
    )
