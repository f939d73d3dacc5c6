"""Mean loss SHAP: Shapley values of every example's own loss, and their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clarysage._measures.checkpoint_identity import Kept
from clarysage._measures.off_manifold import about_manifold
from clarysage._measures.per_example import about_visits, estimator_for, examples_of, rules_by_example, rules_for
from clarysage._measures.problem import Setting
from clarysage._measures.rules import observer_of
from clarysage._measures.run import explained_run
from clarysage.errors import InputError
from clarysage.estimators import estimate
from clarysage.execution.parallel import as_executor
from clarysage.inference.estimate import Estimate


def mean_loss_shap(
    model: Any,
    X: Any,
    y: Any = None,
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
    n_jobs: Any = None,
    checkpoint: Any = None,
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
    model, X, y, background, removal, loss, groups, sample_weight, feature_names, n_jobs, checkpoint, progress,
        rng : as in :func:`~clarysage.sage`
    method : "auto" (exact where that is cheap, else walks), "exact" or "paired walks"
    tolerance : stop when the largest standard error of the means is below this share of their range, and every example
        has had four pairs of walks at least
    walks : pairs of walks of each example, two or more, in place of a tolerance, where values are sampled. Errors of
        single examples are larger than those of the means, by about the root of how many examples there are, and with
        few walks are rough themselves
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
    rules = rules_by_example(tolerance, walks, budget, deadline)
    executor, kept = as_executor(n_jobs), Kept.at(checkpoint)
    if y is None:
        raise InputError("y", got="None", wanted="the responses of the examples, since values are shares of a loss",
                         hint="mean_absolute_shap for values of the model's output")  # fmt: skip
    setting = Setting.of(
        model, X, y, sample_weight, background=background, removal=removal, groups=groups, feature_names=feature_names,
        rng=kept.rng(rng),
    )  # fmt: skip
    v, notes = setting.game(loss)
    estimator, why = estimator_for(v, method, rules, walks)
    stop = rules_for(v, rules, walks)
    notes += [*v.remarks, *why, *about_manifold(v, setting.removal, setting.entropy)]

    def explanations(result: Estimate) -> Any:
        found = setting.explanations(
            v, result, measure="mean loss shap", method=estimator.name, notes=[*notes, *about_visits(result)]
        )
        apart, order = examples_of(result, v.weights), list(setting.order)
        each = [
            replace(one, per_example=values[:, order], per_example_error=np.sqrt(variance[:, order]))
            for one, values, variance in zip(
                found, np.moveaxis(apart.values, 1, 0), np.moveaxis(apart.variance, 1, 0), strict=True
            )
        ]
        return each if isinstance(loss, (list, tuple)) else each[0]

    point = kept.of(setting, v, measure="mean loss shap", estimator=estimator, rules=stop)

    def estimated() -> Estimate:
        return estimate(v, estimator, stop=stop, executor=executor, seed=setting.entropy,
                        observer=observer_of(progress, stop), checkpoint=point)  # fmt: skip

    return explained_run(estimated, explanations)
