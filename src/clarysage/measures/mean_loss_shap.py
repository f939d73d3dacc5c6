"""Mean loss SHAP: Shapley values of every example's own loss, and their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage.errors import InputError
from clarysage.estimate import Estimate, StopReason
from clarysage.estimators import Exact, SolvedGame, choose, estimate
from clarysage.estimators.per_example import FEWEST_PASSES, PerExample
from clarysage.execution.parallel import as_executor
from clarysage.explanation import Explanation
from clarysage.games import PredictivePower
from clarysage.inference.apart import Apart, apart_of
from clarysage.inference.stopping import Budget, Converged, Deadline
from clarysage.losses.choice import is_auto
from clarysage.measures.off_manifold import about_manifold
from clarysage.measures.rules import observer_of, rules_of
from clarysage.measures.setting import Setting
from clarysage.protocols import Estimator

PAIRS_WORTH_EXACT = 32  # of walks an example: what exact values may cost, since errors of single examples fall slowly
MOST_PLAYERS = 20


def mean_loss_shap(
    model: Any,
    X: Any,
    y: Any,
    *,
    background: Any = None,
    removal: Any = "marginal",
    loss: Any = "auto",
    method: Any = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    walks: int | None = None,
    budget: float | None = None,
    deadline: float | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    r"""Mean loss SHAP: the Shapley values of the loss of each example, averaged over examples.

    .. math:: \phi_i = E[\phi_i(v_{f,X,Y})], \qquad v_{f,x,y}(S) = -\ell(f_S(x_S), y)

    The loss is that of the averaged prediction f_S (Eq. 1), not the average of losses of single hybrid rows, which is
    another game. By linearity the mean is the SAGE value; what is new is ``explanation.per_example``, at the price of
    walks for every example: :func:`~clarysage.sage` has the mean for much less.

    Parameters
    ----------
    model, X, y, background, removal, loss, groups, sample_weight, feature_names, n_jobs, progress, rng : as in
        :func:`~clarysage.sage`
    method : "auto" (exact where that is cheap, else walks), "exact" or "paired walks"
    tolerance : stop when the largest standard error of the means is below this share of their range, and every example
        has had two pairs of walks at least
    walks : pairs of walks of each example, two or more, in place of a tolerance: errors of single examples, which are
        about the square root of their number larger than those of the means, fall as one over its root
    budget, deadline : model rows and seconds; a run that they end has looked at some examples less often than at
        others, or not at all, and says so

    Returns
    -------
    Explanation, or a list of them for a list of losses. ``per_example`` (N, p) are the values of single examples, each
    row adding up to what all features take off the loss of that example; ``per_example_error`` their standard errors,
    zeros where they are exact. Both are NaN where nothing is known: for examples without weight or that a deadline or a
    budget left out, and errors of those looked at once.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> explanation = mean_loss_shap(lambda X: 3 * X[:, 0] + X[:, 1], X, 3 * X[:, 0] + X[:, 1], rng=0)
    >>> explanation.per_example.shape, bool(np.allclose(explanation.per_example.mean(axis=0), explanation.values))
    ((50, 3), True)
    """
    rules = _rules(tolerance, walks, budget, deadline)
    executor = as_executor(n_jobs)
    if y is None:
        raise InputError("y", got="None", wanted="the responses of the examples, since values are shares of a loss",
                         hint="mean_absolute_shap for values of the model's output")  # fmt: skip
    setting = Setting.of(
        model, X, background=background, removal=removal, groups=groups, feature_names=feature_names, rng=rng
    )
    f_S = setting.removal.restrict(setting.f, setting.X)
    v = PredictivePower.of(f_S, loss, setting.X, y, players=setting.players, sample_weight=sample_weight)
    v = replace(v, rows_in_vain=setting.rows_spent) if setting.rows_spent else v
    estimator, why = estimator_for(v, method, rules)
    stop = [*rules, *([] if walks is None else [Walks(walks, int((v.weights > 0).sum()))])]
    notes = [f"Loss {v.losses[0].name!r} was chosen."] if is_auto(loss) else []
    notes += [*v.remarks, *why, *about_manifold(v, setting.removal, setting.entropy)]

    def explanations(result: Estimate) -> Any:
        found = setting.explanations(
            v, result, measure="mean loss shap", method=estimator.name, notes=[*notes, *about_visits(result)]
        )
        each = with_examples(found, result, v.weights, setting.order)
        return each if isinstance(loss, (list, tuple)) else each[0]

    try:
        result = estimate(v, estimator, stop=stop, executor=executor, seed=setting.entropy,
                          observer=observer_of(progress, stop))  # fmt: skip
    except Exception as error:
        if hasattr(error, "estimate"):
            error.explanation = explanations(error.estimate)  # type: ignore[attr-defined]
        raise
    return explanations(result)


class Walks:
    """The rule that every example has had so many pairs of walks."""

    def __init__(self, pairs: int, examples: int) -> None:
        self.draws = pairs * examples

    def __call__(self, estimate: Estimate) -> StopReason | None:
        return StopReason.RULE if estimate.draws >= self.draws else None


def estimator_for(v: PredictivePower, method: Any, rules: Sequence[Any]) -> tuple[Estimator[Any], list[str]]:
    """An estimator that keeps examples apart, and why, where it was chosen."""
    if isinstance(method, (PerExample, Exact, SolvedGame)):
        return method, []
    name = method.lower().replace("_", " ").strip() if isinstance(method, str) else None
    if name not in ("auto", "exact", "paired walks"):
        raise InputError("method", got=f"{method!r}", wanted="'auto', 'exact' or 'paired walks', which keep examples "
                         "apart")  # fmt: skip
    if v.n_players == 1 or name == "exact":
        return Exact(), []
    if name == "paired walks":
        return PerExample(), []
    chosen, why = choose(v, rules)
    if isinstance(chosen, (Exact, SolvedGame)):
        return chosen, [why]
    limits = [rule.rows for rule in rules if isinstance(rule, Budget)]
    fits = v.n_players <= MOST_PLAYERS and not any(isinstance(rule, Deadline) for rule in rules)
    fits = fits and v.rows_spent + Exact().rows(v, 2**v.n_players) <= min(limits, default=np.inf)
    if fits and 2**v.n_players <= PAIRS_WORTH_EXACT * 2 * v.n_players:
        return Exact(), [f"Method 'exact' was chosen: all coalitions take no more than {PAIRS_WORTH_EXACT} pairs of "
                         "walks an example."]  # fmt: skip
    return PerExample(), [why]


def with_examples(
    found: Sequence[Explanation], result: Estimate, weights: np.ndarray, order: Sequence[int]
) -> list[Explanation]:
    """Explanations, one a loss, with the values of single examples."""
    apart = examples_of(result, weights)
    return [
        replace(
            one,
            per_example=apart.values[:, place][:, list(order)],
            per_example_error=np.sqrt(apart.variance[:, place][:, list(order)]),
        )
        for place, one in enumerate(found)
    ]


def examples_of(result: Estimate, weights: np.ndarray) -> Apart:
    """Values of all examples (N, L, p), NaN for those that are not known."""
    there = weights > 0
    found = None if result.reach is None else apart_of(result.reach, weights[there])
    if found is None:  # no example's loss changes: see _finished of the loop
        nothing = np.zeros((int(there.sum()), *result.values.shape))
        found = Apart(nothing, nothing)
    return found.spread(there)


def about_visits(result: Estimate) -> list[str]:
    """What to say of examples that were looked at less often than others."""
    visits = None if result.reach is None or result.reach.apart is None else result.reach.apart.visits
    if visits is None:
        return []
    never, once = int((visits == 0).sum()), int((visits == 1).sum())
    if never or once:
        return [f"Of {len(visits):,} examples {never:,} were not looked at and {once:,} once: their values, and the "
                "errors of both, are not known. A larger budget or a later deadline would help."]  # fmt: skip
    fewest, most = int(visits.min()), int(visits.max())
    return [f"Every example had {fewest if fewest == most else f'{fewest} or {most}'} pairs of walks."]


def _rules(tolerance: Any, walks: Any, budget: Any, deadline: Any) -> list[Any]:
    if walks is None:
        return rules_of(tolerance, budget, deadline, None)
    is_whole = isinstance(walks, (int, np.integer)) and not isinstance(walks, bool)
    if not is_whole or walks < FEWEST_PASSES:
        raise InputError("walks", got=f"{walks!r}", wanted="a whole number of pairs of walks an example, 2 or more")
    rules = rules_of(tolerance or Converged().tolerance, budget, deadline, None)
    return [rule for rule in rules if not isinstance(rule, Converged)]
