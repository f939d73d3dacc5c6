"""Universal predictive power: what features bring a learner, fitted anew on each subset of them."""

from __future__ import annotations

from typing import Unpack, overload

from clarysage._measures.examples import taken_apart
from clarysage._measures.lineup import Lineup, column_names
from clarysage._measures.options import SharedOptions, apart, with_shared_options
from clarysage._measures.refits import OF_REFITS, RefitProblem, TrainLike, over_subsets, rules_of_refits
from clarysage.execution.n_jobs import as_executor
from clarysage.execution.seeds import entropy_of
from clarysage.games import UniversalPower
from clarysage.protocols import LossLike, LossList, MethodLike, TableLike, TargetLike
from clarysage.results import Explanation

HEADLINE = "Universal predictive power: the {loss} that each feature saves a learner"


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
    lineup = Lineup.of(column_names(X, data.get("feature_names")), X, groups=data.get("groups"))
    game = UniversalPower.of(
        learner,
        X,
        y,
        loss=loss,
        folds=folds,
        test=test,
        test_size=test_size,
        players=lineup.players,
        sample_weight=weight,
        seed=seed,
    )
    problem = RefitProblem(game, lineup, loss, seed)
    return over_subsets(problem, method, measure="universal power", headline=HEADLINE, run=run, rules=rules)
