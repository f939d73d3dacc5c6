"""Permutation test: what the model loses when a feature is drawn anew, whatever the others are."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Unpack, overload

from clarysage._measures.best_constant import over_best_constant, with_constant
from clarysage._measures.options import DataOptions, Run, SharedOptions, apart, with_shared_options
from clarysage._measures.problem import Problem, about_loss
from clarysage._measures.run import Runner, as_asked, rules_of
from clarysage.errors import Call, InputError, Set
from clarysage.estimators.permutation_importance import AfterRepeats, Repeats
from clarysage.games import SingleDraws
from clarysage.inference.estimate import Estimate
from clarysage.protocols import LossLike, LossList, ModelLike, TableLike, TargetLike
from clarysage.results import Explanation

ROWS_TO_DRAW = 16_384  # of X, where no background is given: a row more costs nothing, since each is drawn by itself


@overload
def permutation_test(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = ...,
    *,
    loss: LossList,
    repeats: int | None = ...,
    **options: Unpack[SharedOptions],
) -> list[Explanation]: ...


@overload
def permutation_test(
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
def permutation_test(
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None = None,
    *,
    loss: LossLike | LossList = "auto",
    repeats: int | None = None,
    **options: Unpack[SharedOptions],
) -> Explanation | list[Explanation]:
    r"""Permutation test: how much worse the model predicts when one feature is taken from another row.

    .. math:: \phi_i = E_{XY}\big[ E_{X_i} [\ell(f(X_i, X_{D \setminus \{i\}}), Y)] \big] - E[\ell(f(X), Y)]

    with :math:`X_i` from its marginal distribution, and :math:`\phi_0 = \min_c E[\ell(c, Y)] - E[\ell(f(X), Y)] -
    \sum_i \phi_i` (Table 3), so that u(D) is what the model saves over the best constant prediction. The model is
    judged on each drawn row, not on their mean prediction: of an additive model whose errors are independent of the
    features, under squared error and with independent features, a value is twice the SAGE value.

    Parameters
    ----------
    model, X, y, loss : as in :func:`~clarysage.sage`
    groups : mapping of names to columns that are taken from the same row; columns not named are taken alone
    background : rows that features are drawn from; default X itself, thinned to 16,384 rows
    repeats : so many repeats, each of which draws a row for every example and feature; default: five or more, until a
        rule says stop
    tolerance : stop when the largest standard error is below this share of the range of the values (Sec. 3.3); not
        looked at with ``repeats``
    budget, deadline : at most so many model rows and seconds

    Returns
    -------
    Explanation, or a list of them for a list of losses; its ``std_error`` is over repeats

    Notes
    -----
    A feature whose information others share gets little, and correlated features lead to rows unlike any real one:
    see :func:`~clarysage.conditional_permutation_test`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> permutation_test(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0).top(2)
    ['x0', 'x1']
    """
    data, run = apart(options)
    return by_repeats("permutation test", model, X, y, data, run, loss, repeats, rows_to_draw=ROWS_TO_DRAW)


def by_repeats(
    measure: str,
    model: ModelLike,
    X: TableLike,
    y: TargetLike | None,
    data: DataOptions,
    run: Run,
    loss: LossLike | LossList,
    repeats: int | None,
    **draws: Any,
) -> Explanation | list[Explanation]:
    """The explanation of both permutation tests; ``draws`` says what :class:`Problem` makes of the background."""
    check_given(y)
    count = None if repeats is None else _count(repeats)
    runner = Runner.of(run, rules_of(run) if count is None else [])
    problem = Problem.of(model, X, y, run=run, **runner.seeded(data), **draws)
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
        made = AfterRepeats(count, int((v.weights > 0).sum()))
        runner = replace(runner, rules=rules_of(replace(run, tolerance=None, stop=[made, *run.further_rules])))
    estimator = Repeats(count)
    notes, shown = [*about_loss(loss, v.power), *v.power.remarks], over_best_constant(v.power)

    def explain(result: Estimate) -> list[Explanation] | Explanation:
        explanations = problem.explained(
            shown, result, measure=measure, method=estimator.name, notes=notes, is_linear=True
        )
        return as_asked(with_constant(explanations), loss)

    return runner.explained(problem, v, estimator, explain, measure=measure)


def check_given(y: TargetLike | None) -> None:
    """Raise where there are no responses: losses are of predictions beside these."""
    if y is None:
        raise InputError(
            "y",
            got="None",
            wanted="the responses to judge predictions by",
            hint=[Call("cs.shapley_effects", "model, X"), ", which needs none"],
        )


def _count(repeats: Any) -> int:
    if isinstance(repeats, bool) or not isinstance(repeats, Integral) or repeats < 2:
        raise InputError(
            "repeats",
            got=f"{repeats!r}",
            wanted="a whole number of two or more, or None",
            hint=[Set("repeats", 10), "; errors are found by comparing repeats"],
        )
    return int(repeats)
