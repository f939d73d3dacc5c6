"""Mean absolute SHAP: how far each feature moves the model's output, a heuristic outside the framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.examples import without
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.per_example import about_visits, estimator_for, examples_of, rules_by_example, rules_for
from clarysage._measures.problem import Setting
from clarysage._measures.rules import observer_of
from clarysage._measures.run import explained_run
from clarysage._measures.shap_values import NotForShapError, tree_solution
from clarysage.errors import InputError
from clarysage.estimators import SolvedGame, estimate
from clarysage.estimators.absolute import Absolute
from clarysage.estimators.per_example import PerExample
from clarysage.execution.parallel import as_executor
from clarysage.games import PredictivePower, pointwise
from clarysage.inference.estimate import Estimate
from clarysage.inference.stopping import Deadline
from clarysage.protocols import Estimator

BACKENDS = ("auto", "shap", "own")
AFFORDABLE_VISITS = 2_000_000  # of trees, by an example and a background row: some twenty seconds where they are deep


def mean_absolute_shap(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    background: Any = None,
    removal: Any = "marginal",
    method: Any = "auto",
    backend: str = "auto",
    groups: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    tolerance: float | None = 0.025,
    walks: int | None = None,
    budget: float | None = None,
    deadline: float | None = None,
    n_jobs: Any = None,
    checkpoint: Any = None,
    progress: bool | None = None,
    feature_names: Sequence[str] | None = None,
    rng: Any = None,
) -> Any:
    r"""Mean absolute SHAP: the mean over examples of the absolute Shapley value of the model's output.

    .. math:: \psi_i = E\Big[\sum_k |\phi_i(v_{f,X,k})|\Big], \qquad v_{f,x,k}(S) = f_S(x_S)_k

    A heuristic (Table 1): it tells how far a feature moves the output, not whether that makes predictions any better,
    and its values add up to nothing. ``y`` is not looked at.

    Parameters
    ----------
    model, X, background, removal, groups, sample_weight, feature_names, n_jobs, checkpoint, progress, rng : as in
        :func:`~clarysage.sage`. The output is what the model predicts: numbers for a regression, probabilities for a
        classifier that has them, not log-odds. Of two classes it is the probability of the second; that of the first
        moves as far the other way, and is not counted again. Of several outputs the absolute values are added up, as
        the stacked bars of shap's summary plot are.
    method : "auto", "exact" or "paired walks", for values of our own
    backend : "shap" for exact values of trees by the shap package (a regression, or a forest of class frequencies;
        columns of numbers, no groups, marginal removal), "own" for ours, "auto" for shap's where it is installed, has
        exact ones and would not take long, unless there is a deadline or a method was asked for
    tolerance, walks, budget, deadline : as in :func:`~clarysage.mean_loss_shap`

    Returns
    -------
    Explanation. ``per_example`` (N, p) are SHAP values with their signs for one output, and sums over outputs of
    absolute values for several; either way ``values`` are means of their sizes, less what follows.

    Notes
    -----
    An absolute value of a sampled number is too large on average. What noise adds to sizes is estimated and taken off;
    as much may be left, and counts as an error of ``values``, so that a run goes on until it is small.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> explanation = mean_absolute_shap(lambda X: 3 * X[:, 0] - X[:, 1], X, rng=0)
    >>> bool(np.allclose(explanation.values, [3, 1, 0] * np.abs(X - X.mean(axis=0)).mean(axis=0)))
    True
    """
    if not isinstance(backend, str) or backend.lower() not in BACKENDS:
        raise InputError("backend", got=f"{backend!r}", wanted=f"one of {', '.join(map(repr, BACKENDS))}")
    rules = rules_by_example(tolerance, walks, budget, deadline)
    executor, kept = as_executor(n_jobs), Kept.at(checkpoint)
    setting = Setting.of(
        model, without(X, y), None, sample_weight, background=background, removal=removal, groups=groups,
        feature_names=feature_names, rng=kept.rng(rng),
    )  # fmt: skip
    f_S = setting.removal.restrict(setting.f, setting.X)
    v = pointwise(f_S, setting.X, players=setting.players, sample_weight=setting.sample_weight)
    v = replace(v, rows_in_vain=v.rows_in_vain + setting.rows_spent)
    v, estimator, notes = _ready(model, v, rules, method, walks, backend.lower())
    notes = [*v.remarks, *notes, *about_manifold(v, setting.removal, setting.entropy)]

    def explanation(result: Estimate) -> Any:
        return _explained(setting, v, result, estimator.name, [*notes, *about_visits(result)])

    stop = rules_for(v, rules, walks)
    point = kept.of(setting, v, measure="mean absolute shap", estimator=estimator, rules=stop)

    def estimated() -> Estimate:
        return estimate(v, estimator, stop=stop, executor=executor, seed=setting.entropy,
                        observer=observer_of(progress, stop), checkpoint=point)  # fmt: skip

    return explained_run(estimated, explanation)


def _ready(
    model: Any, v: PredictivePower, rules: Sequence[Any], method: Any, walks: int | None, backend: str
) -> tuple[PredictivePower, Estimator[Any], list[str]]:
    """The game, with shap's values where they are wanted and to be had, an estimator, and what to say of both."""
    is_free = method == "auto" and not any(isinstance(rule, Deadline) for rule in rules)
    if backend == "shap" or (backend == "auto" and is_free):
        try:
            most = np.inf if backend == "shap" else AFFORDABLE_VISITS
            known = replace(v, given_closed_form=tree_solution(model, v, most_visits=most))
            assert known.closed_form is not None
            return known, Absolute(SolvedGame(reaches=False)), [f"Exact: {known.closed_form.how}."]
        except NotForShapError as error:
            if backend == "shap":
                raise InputError("backend", got=f"'shap' where {error}", wanted="a model that shap explains exactly",
                                 hint="backend='own'") from None  # fmt: skip
    inner, why = estimator_for(v, method, rules, walks)
    if isinstance(inner, (PerExample, SolvedGame)):
        inner = replace(inner, reaches=False)  # sizes are no sums of what background rows bring
    return v, Absolute(inner), why


def _explained(setting: Setting, v: PredictivePower, result: Estimate, method: str, notes: Sequence[str]) -> Any:
    """The explanation, which has no total: sizes add up to nothing, whatever the ends of the game are."""
    nothing = np.zeros((len(v.weights), 1))
    one = replace(v, losses=v.losses[:1], ends=(nothing, nothing))
    found = setting.explanations(one, result, measure="mean absolute shap", method=method, notes=notes)[0]
    apart, order = examples_of(result, v.weights), list(setting.order)
    values = apart.values if len(v.losses) == 1 else np.abs(apart.values)
    return replace(
        found,
        total=None,
        base=None,
        constant=None,
        loss="none",
        per_example=values.sum(axis=1)[:, order],
        per_example_error=np.sqrt(apart.variance).sum(axis=1)[:, order],  # at most: outputs err together
    )
