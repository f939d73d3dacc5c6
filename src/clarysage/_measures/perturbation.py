"""Perturbation importances: how much worse a model predicts if one feature is permuted, redrawn or averaged.

Permutation importance (Breiman 2001), its conditional variant (Strobl et al. 2008), and mean importance.

References
----------
L. Breiman (2001). Random forests. Machine Learning 45, 5-32.
C. Strobl, A.-L. Boulesteix, T. Kneib, T. Augustin, A. Zeileis (2008). Conditional variable importance for random
forests. BMC Bioinformatics 9, 307.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Unpack, overload

import numpy as np

from clarysage._measures.explanations import with_constant
from clarysage._measures.options import DataOptions, Run, SharedOptions, split_options, with_shared_options
from clarysage._measures.problem import Problem, about_loss
from clarysage._measures.run import Runner, rules_of, single_or_list
from clarysage.catalogue import REMOVALS, removals_that_draw_given_others
from clarysage.errors import Call, InputError, Or, PythonOnly, Set, Words
from clarysage.estimators import LEAVE_ONE_OUT
from clarysage.estimators.permutation_importance import AfterRepeats, Repeats
from clarysage.games import PredictivePower, SingleDraws
from clarysage.inference.estimate import Estimate
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.removal import is_auto_conditional
from clarysage.results import Explanation

ROWS_TO_DRAW = 16_384  # of X, if no background is given: more rows cost nothing, since single rows are drawn
EXACT = "values are exact, and take a fixed number of model rows"


@overload
def permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(
    unused={
        "removal": "a feature is drawn from its marginal distribution",
        "check_manifold": "rows are drawn one by one",
    }
)
def permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    repeats: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Permutation importance: how much worse the model predicts if one feature is taken from a random row.

    .. math:: \phi_i = E_{XY}\big[ E_{X_i} [\ell(f(X_i, X_{D \setminus \{i\}}), Y)] \big] - E[\ell(f(X), Y)]

    with :math:`X_i` from its marginal distribution, and :math:`\phi_0 = \min_c E[\ell(c, Y)] - E[\ell(f(X), Y)] -
    \sum_i \phi_i` (Table 3), so that u(D) is the reduction of the loss from the best constant prediction to the model.
    The paper calls it a permutation test. The loss is that of the prediction for each drawn row, not of their mean
    prediction: for an additive model whose errors are independent of the features, squared error and independent
    features, a value is twice the SAGE value.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are taken from the same row; every other column is taken alone
    background : rows that features are drawn from; default X itself, or a random sample of 16,384 rows
    repeats : the number of repeats, each of which draws a row for every example and feature; default: five or more,
        until a stopping rule holds
    tolerance : stop when the largest standard error is below this share of the range of the values (Sec. 3.3); ignored
        if ``repeats`` is given
    budget, deadline : at most so many model rows and seconds

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``std_error`` is estimated from the repeats

    Notes
    -----
    A feature that is redundant given the others gets a small value, and correlated features lead to rows unlike any
    real one: see :func:`~clarysage.conditional_permutation_importance`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> permutation_importance(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0).top(2)
    ['x0', 'x1']
    """
    data, run = split_options(options)
    return explain_by_repeats(
        "permutation importance", model, X, y, data, run, loss, repeats, rows_to_draw=ROWS_TO_DRAW
    )


def explain_by_repeats(
    measure: str,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None,
    data: DataOptions,
    run: Run,
    loss: LossLike | LossList,
    repeats: int | None,
    **background_options: Any,
) -> Explanation | list[Explanation]:
    """Returns the explanation of both permutation importances; ``background_options`` are those of :class:`Problem`."""
    check_given(y)
    count = None if repeats is None else _count(repeats)
    runner = Runner.of(run, rules_of(run) if count is None else [])
    problem = Problem.of(model, X, y, run=run, **runner.with_seed(data), **background_options)
    v = SingleDraws.of(
        problem.restricted,
        loss,
        problem.X,
        problem.y,
        players=problem.players,
        sample_weight=problem.sample_weight,
        codes=problem.codes,
    ).after(problem.removal_rows)
    if count is not None:
        enough = AfterRepeats(count, int((v.weights > 0).sum()))
        runner = replace(runner, rules=rules_of(replace(run, tolerance=None, stop=[enough, *run.further_rules])))
    estimator = Repeats(count)
    notes, shown_game = [*about_loss(loss, v.power), *v.power.remarks], over_best_constant(v.power)

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explanations(
            shown_game, result, measure=measure, method=estimator.name, notes=notes, is_linear=True
        )
        return single_or_list(with_constant(explanations), loss)

    return runner.explain(problem, v, estimator, explain, measure=measure)


def check_given(y: TargetLike | None) -> None:
    """Raises an error without responses, since a loss compares predictions with them."""
    if y is None:
        raise InputError(
            "y",
            got="None",
            wanted="the responses that predictions are compared with",
            hint=[Call("cs.shapley_effects", "model, X"), ", which needs none"],
        )


def _count(repeats: Any) -> int:
    if isinstance(repeats, bool) or not isinstance(repeats, Integral) or repeats < 2:
        raise InputError(
            "repeats",
            got=f"{repeats!r}",
            wanted="a whole number of two or more, or None",
            hint=[Set("repeats", 10), ", since standard errors are estimated from several repeats"],
        )
    return int(repeats)


@overload
def conditional_permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def conditional_permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(unused={"check_manifold": "features are drawn given the others"}, defaults={"removal": "copula"})
def conditional_permutation_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    repeats: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Conditional permutation importance: how much worse the model predicts if a feature is drawn given the others.

    .. math:: \phi_i = E_{XY}\big[ E_{X_i | X_{D \setminus \{i\}}} [\ell(f(X_i, X_{D \setminus \{i\}}), Y)] \big]
        - E[\ell(f(X), Y)]

    and :math:`\phi_0` as in :func:`~clarysage.permutation_importance` (Table 3). The information that other features
    have about a feature is kept: its value measures what it alone adds. Rows resemble real ones as far as the removal
    fits the conditional distribution.

    Parameters
    ----------
    removal : how a feature is drawn given the others: {drawing}; or an object such as ``Gaussian(X_train)``. The
        default, "copula", works for columns of any type. A surrogate cannot draw values
    background : rows that the removal learns from; default X itself, or a random sample of 4,096 rows
    model, X, y, loss, repeats : as in :func:`~clarysage.permutation_importance`

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> X = np.hstack([x, x + 0.1 * np.random.default_rng(1).normal(size=(400, 1))])
    >>> f = lambda X: X[:, 0] + X[:, 1]
    >>> given = conditional_permutation_importance(f, X, f(X), removal="gaussian", rng=0)
    >>> bool((given.values < 0.05).all())  # each can be predicted from the other
    True
    """
    data, run = split_options(options)
    data.setdefault("removal", "copula")
    _check_that_draws(data["removal"])
    return explain_by_repeats(
        "conditional permutation importance",
        model,
        X,
        y,
        data,
        run,
        loss,
        repeats,
        candidates=removals_that_draw_given_others(),
    )


permutation_test = permutation_importance  # as the paper calls them
conditional_permutation_test = conditional_permutation_importance


def _check_that_draws(removal: Any) -> None:
    """Raises an error for a removal that does not draw features given the others."""
    if is_auto_conditional(removal):
        return
    row = REMOVALS.get_row(removal) if isinstance(removal, str) else REMOVALS.row_of(removal)
    drawing = removals_that_draw_given_others()
    if row is None or row.name in drawing:
        return
    automatic = [] if REMOVALS.special is None else [REMOVALS.special.name]
    names = ", ".join(map(repr, (*drawing, *automatic)))
    expected: Words = [f"one of {names}", PythonOnly(", or an object such as Gaussian(X_train)")]
    if row.is_conditional:
        got = f"a {row.name}, which predicts without a feature and draws no values"
        raise InputError("removal", got=got, wanted=expected, hint=Set("removal", "copula"))
    raise InputError(
        "removal",
        got=f"{row.name!r}, which ignores the other features",
        wanted=expected,
        hint=[Call("cs.permutation_importance", "model, X, y"), Or(), "cs.mean_importance for a baseline"],
    )


@overload
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossLike = ...,
    **options: Unpack[SharedOptions],
) -> Explanation: ...


@with_shared_options(
    unused={
        "removal": "a feature is set to its mean",
        **dict.fromkeys(("tolerance", "budget", "deadline", "stop"), EXACT),
        "check_manifold": "features are set to means, not to values of other rows",
    }
)
def mean_importance(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Mean importance: how much worse the model predicts if one feature is set to its mean.

    .. math:: \phi_i = E[\ell(f(E[X_i], X_{D \setminus \{i\}}), Y)] - E[\ell(f(X), Y)]

    and :math:`\phi_0` as in :func:`~clarysage.permutation_importance` (Table 3). A category is set to the most
    frequent one. Values are exact for the given rows; intervals are about the population of rows.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are set to their means together; every other column is set alone
    background : rows whose means are taken; default X itself
    rng : ignored, since nothing is random and all measures have the same arguments

    Returns
    -------
    Explanation, or a list of them for a list of losses

    Notes
    -----
    A mean may be a value that no row has, which makes the row unlike any real one. And a model may depend on a feature
    although its output at the mean is typical, such as an even function of a centred feature.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> mean_importance(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1]).top(2)
    ['x0', 'x1']
    """
    check_given(y)
    data, run = split_options(options)
    runner = Runner.of(run, ())
    problem = Problem.of(model, X, y, run=run, **runner.with_seed({**data, "removal": "baseline"}))
    v = PredictivePower.of(
        problem.restricted,
        loss,
        problem.X,
        problem.y,
        players=problem.players,
        sample_weight=problem.sample_weight,
        codes=problem.codes,
    )
    notes, shown_game = [*about_loss(loss, v), *v.remarks], over_best_constant(v)

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explanations(
            shown_game, result, measure="mean importance", method=LEAVE_ONE_OUT.name, notes=notes
        )
        return single_or_list(with_constant(explanations), loss)

    return runner.explain(problem, v, LEAVE_ONE_OUT, explain, measure="mean importance", rules=())


def over_best_constant(v: PredictivePower) -> PredictivePower:
    r"""Returns the game with the best constant, :math:`\min_c E[\ell(c, Y)]`, as the prediction without features.

    Examples
    --------
    >>> from clarysage.removal import Marginal
    >>> X = np.array([[0.0], [2.0]])
    >>> v = PredictivePower.of(Marginal(X).restrict(lambda X: X[:, 0] + 5, X), "squared error", X, X[:, 0])
    >>> float(v.ends[0].mean()), float(over_best_constant(v).ends[0].mean())
    (-26.0, -1.0)
    """
    n, k = v.outputs.shape
    payoffs = []
    for loss, target in zip(v.losses, v.targets, strict=True):
        best = loss.best_constant(target, v.weights, k)
        payoffs.append(-loss(np.tile(best, (n, 1)), target))
    return replace(v, ends=(np.column_stack(payoffs), v.ends[1]))
